"""The algorithm boxes again, in plain NumPy, one episode and one unit at a time, in float64, as the paper prints them.

Nothing here is shared with the package. An update is replayed from the draws that an engine used: states, uniforms,
and the engine's own bits, which settle a draw only where the uniform is within 1e-6 of the probability.
"""

import numpy as np

TIE = 1e-6


def sigma(x):
    return 1.0 / (1.0 + np.exp(-x))


class Coin:
    """H ~ Ber(p) from a given uniform; counts the draws too close to call."""

    def __init__(self):
        self.draws = self.ties = 0

    def __call__(self, p, u, engines_bit):
        self.draws += 1
        if abs(u - p) < TIE:
            self.ties += 1
            return float(engines_bit)
        return 1.0 if u < p else 0.0


# One episode of one layer: what it sends up, and its eligibility (the update's direction for a signal of 1) -----------


def reinforce(params, s, drawn, coin, kappa):
    """Independent units; κ p is subtracted from the activity."""
    N = len(params["b"])
    h, z = np.zeros(N), np.zeros(N)
    for i in range(N):
        p = sigma(params["W"][:, i] @ s + params["b"][i])
        h[i] = coin(p, drawn["u"][0, i], drawn["h"][i])
        z[i] = h[i] - kappa * p
    return h, {"W": np.outer(s, z), "b": z}


def algorithm_1(params, s, drawn, coin, c, T):
    """Algorithm 1, synchronous."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["H"][0, i]) for i in range(N)])
    for t in range(1, T + 1):
        new = np.zeros(N)
        for i in range(N):
            new[i] = coin(sigma(c * (W_rec[:, i] @ h) + W[:, i] @ s + b[i]), drawn["u"][t, i], drawn["H"][t, i])
        h = new
    return h, hebbian(h, s, c)


def algorithm_1_one_by_one(params, s, drawn, coin, c, T):
    """Algorithm 1 with Gibbs sampling: in a step N single units, chosen at random, are drawn anew."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["h_0"][i]) for i in range(N)])
    for t in range(1, T + 1):
        for n in range(N):
            i = drawn["unit"][t - 1, n]
            p = sigma(c * (W_rec[:, i] @ h) + W[:, i] @ s + b[i])
            h[i] = coin(p, drawn["u"][t, n], drawn["bits"][t - 1, n])
    return h, hebbian(h, s, c)


def hebbian(h, s, c):
    N = len(h)
    W_rec = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                W_rec[j, i] = c * h[i] * h[j]
    return {"W_rec": W_rec, "W": np.outer(s, h), "b": h.copy()}


def algorithm_2(params, s, drawn, coin, c, T, lambda_, kappa):
    """Algorithm 2, with its eligibility traces."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["H"][0, i]) for i in range(N)])
    z_rec, z = np.zeros((N, N)), np.zeros(N)
    for t in range(1, T + 1):
        new = np.zeros(N)
        for i in range(N):
            p = sigma(c * (W_rec[:, i] @ h) + W[:, i] @ s + b[i])
            new[i] = coin(p, drawn["u"][t, i], drawn["H"][t, i])
            z_rec[:, i] = lambda_ * z_rec[:, i] + (new[i] - kappa * p) * h
            z[i] = lambda_ * z[i] + (new[i] - kappa * p)
        h = new
    return h, {"W_rec": c * z_rec, "W": np.outer(s, z), "b": z}


# The whole update -----------------------------------------------------------------------------------------------------


def multiplexer_reward(s, a, bits, signed):
    """The reward from what the network sees: an input above 0 (or at 1) is a set bit."""
    state = s > 0
    address = sum(2 ** (bits - 1 - j) for j in range(bits) if state[j])
    right = bool(state[bits + address]) == (a == 1)
    return 1.0 if right else (-1.0 if signed else 0.0)


def critic_value(critic, s, activation):
    """V(s) and its gradient."""
    x = critic["hidden"]["W"].T @ s + critic["hidden"]["b"]
    hidden = np.maximum(x, 0) if activation == "relu" else np.tanh(x)
    slope = (x > 0).astype(float) if activation == "relu" else 1 - hidden**2
    w = critic["output"]["W"][:, 0]
    back = w * slope
    gradient = {
        "hidden": {"W": np.outer(s, back), "b": back},
        "output": {"W": hidden[:, None], "b": np.ones(1)},
    }
    return w @ hidden + critic["output"]["b"][0], gradient


def layer_of(rule, numbers):
    """The function of one layer's episode for a rule's description, its numbers as they stand at this update."""
    kappa = numbers.get("centring_strength", 1.0) if rule["centring"] in ("activity", "both") else 0.0
    if rule["name"] == "reinforce":
        return lambda *a: reinforce(*a, kappa=kappa)
    if rule["name"] == "recurrent":
        return lambda *a: algorithm_2(*a, numbers["coupling"], rule["steps"], numbers["trace_decay"], kappa)
    box = algorithm_1 if rule["sampler"] == "synchronous" else algorithm_1_one_by_one
    return lambda *a: box(*a, numbers["coupling"], rule["steps"])


OUTPUT = {"name": "reinforce", "centring": "both"}


def gradient(run, numbers, params, draws, coin):
    """The mean over the batch of the update direction of each layer, then of the critic (or None)."""
    task = run["task"]
    rules = [*numbers["rules"], OUTPUT]
    total, B = None, len(draws["s"])
    for e in range(B):
        s = np.asarray(draws["s"][e], float)
        x, eligibilities = s, []
        for rule, layer, drawn in zip(rules, params["layers"], draws["layers"], strict=True):
            mine = {name: value[e] for name, value in drawn.items()}
            x, eligibility = layer_of(rule, rule)(layer, x, mine, coin)
            eligibilities.append(eligibility)
        r = multiplexer_reward(s, x[0], task["bits"], task["rewards"] == "signed")
        assert r == draws["r"][e]
        v, critic_gradient = 0.0, None
        if params["critic"] is not None:
            v, critic_gradient = critic_value(params["critic"], s, run["critic"]["activation"])
        delta = r - v
        signals = [delta if rule["centring"] in ("reward", "both") else r for rule in rules]
        mine = [scaled(z, signal / B) for z, signal in zip(eligibilities, signals, strict=True)]
        mine.append(None if critic_gradient is None else scaled(critic_gradient, delta / B))
        total = mine if total is None else [added(a, b) for a, b in zip(total, mine, strict=True)]
    return total


def scaled(tree, factor):
    return {k: scaled(v, factor) if isinstance(v, dict) else v * factor for k, v in tree.items()}


def added(a, b):
    if a is None:
        return None
    return {k: added(v, b[k]) if isinstance(v, dict) else v + b[k] for k, v in a.items()}


def adam(params, gradient, moments, t, alpha):
    """One step upwards of Adam on one array; t counts from 1."""
    m = 0.9 * moments[0] + 0.1 * gradient
    v = 0.999 * moments[1] + 0.001 * gradient**2
    step = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return params + alpha * step, (m, v)
