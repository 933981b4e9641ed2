"""The algorithm boxes again, in plain NumPy, one episode and one unit at a time, in float64, as the paper prints them.

Nothing here is shared with the package. An update is replayed from the draws that an engine used: states, uniforms,
and the engine's own bits, which settle a draw only where the uniform is within 1e-6 of the probability.
"""

import itertools

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


def sent(h, signals):
    """What a binary unit tells others."""
    return 2 * h - 1 if signals == "signed" else h


# One episode of one layer: what it sends up, and its eligibility (the update's direction for a signal of 1) -----------


def reinforce(params, s, drawn, coin, kappa, predicted=False):
    """Independent units; κ p is subtracted from the activity, or κ times what units predict."""
    N = len(params["b"])
    h, z = np.zeros(N), np.zeros(N)
    for i in range(N):
        p = sigma(params["W"][:, i] @ s + params["b"][i])
        h[i] = coin(p, drawn["u"][0, i], drawn["h"][i])
        z[i] = h[i] - kappa * (estimate("predicted", params, s, i) if predicted else p)
    own = own_credit("predicted", s, h, (h - z) / kappa) if predicted else {}
    return h, {"W": np.outer(s, z), "b": z} | own


def algorithm_1(params, s, drawn, coin, c, T, signals, depression, lazy=False):
    """Algorithm 1, synchronous; lazy: a unit whose uniform is not below ½ stays as it is."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["H"][0, i]) for i in range(N)])
    for t in range(1, T + 1):
        new = np.zeros(N)
        for i in range(N):
            p = sigma(c * (W_rec[:, i] @ sent(h, signals)) + W[:, i] @ s + b[i])
            if lazy and drawn["u"][t, i] >= 0.5:
                new[i] = h[i]
            else:
                new[i] = coin(p, drawn["u"][t, i] * (2 if lazy else 1), drawn["H"][t, i])
        h = new
    return h, hebbian(h, s, c, signals, *depression)


def algorithm_1_lazy(*given):
    return algorithm_1(*given, lazy=True)


def algorithm_1_one_by_one(params, s, drawn, coin, c, T, signals, depression):
    """Algorithm 1 with Gibbs sampling: in a step N single units, chosen at random, are drawn anew."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["h_0"][i]) for i in range(N)])
    for t in range(1, T + 1):
        for n in range(N):
            i = drawn["unit"][t - 1, n]
            p = sigma(c * (W_rec[:, i] @ sent(h, signals)) + W[:, i] @ s + b[i])
            h[i] = coin(p, drawn["u"][t, n], drawn["bits"][t - 1, n])
    return h, hebbian(h, s, c, signals, *depression)


def without(form, eta, here, there):
    """Activity there, without its fellow here, is depressed as well."""
    return here - eta * (1 - here) if form == there else here


def hebbian(h, s, c, signals, form, eta):
    """form and eta: what is depressed, and how much."""
    N = len(h)
    W_rec = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                pair = h[i] * h[j] if signals == "binary" else 0.5 * (2 * h[i] - 1) * (2 * h[j] - 1)
                if form == "one-without-other":
                    pair -= eta / 2 * (h[i] * (1 - h[j]) + (1 - h[i]) * h[j])
                W_rec[j, i] = c * pair
    pre, post = without(form, eta, s, "post-without-pre"), without(form, eta, h, "pre-without-post")
    return {"W_rec": W_rec, "W": np.outer(pre, post), "b": post.copy()}


def algorithm_2(params, s, drawn, coin, c, T, lambda_, kappa, signals, predicted, form, eta):
    """Algorithm 2, with its eligibility traces; form and eta: what is depressed, and how much."""
    W, b, W_rec = params["W"], params["b"], params["W_rec"]
    N = len(b)
    h = np.array([coin(sigma(W[:, i] @ s + b[i]), drawn["u"][0, i], drawn["H"][0, i]) for i in range(N)])
    z_rec, z = np.zeros((N, N)), np.zeros(N)
    E = [estimate("predicted", params, s, i) if predicted else None for i in range(N)]
    for t in range(1, T + 1):
        new = np.zeros(N)
        for i in range(N):
            p = sigma(c * (W_rec[:, i] @ sent(h, signals)) + W[:, i] @ s + b[i])
            new[i] = coin(p, drawn["u"][t, i], drawn["H"][t, i])
            e = without(form, eta, new[i], "pre-without-post") - kappa * (E[i] if predicted else p)
            z_rec[:, i] = lambda_ * z_rec[:, i] + e * without(form, eta, sent(h, signals), "post-without-pre")
            z[i] = lambda_ * z[i] + e
        h = new
    if form == "post-before-pre":
        z_rec = np.array([[z_rec[j, i] - eta * z_rec[i, j] for i in range(N)] for j in range(N)])
    own = own_credit("predicted", s, h, np.array(E)) if predicted else {}
    return h, {"W_rec": c * z_rec, "W": np.outer(without(form, eta, s, "post-without-pre"), z), "b": z} | own


def negative_phase(box, params, s, drawn, coin, c, T, signals, depression, kappa):
    """Algorithm 1 with a negative phase: the means over M further chains are subtracted."""
    h, eligibility = box(params, s, drawn, coin, c, T, signals, depression)
    chains = drawn.get("negative", [])
    for further in chains:
        _, mean = box(params, s, further, coin, c, T, signals, depression)
        eligibility = {name: z - kappa * mean[name] / len(chains) for name, z in eligibility.items()}
    return h, eligibility


def learned(box, params, s, drawn, coin, c, T, signals, depression, kappa):
    """Algorithm 1 less what units expect of themselves; `own` is what they learn of that, whatever the reward."""
    h, eligibility = box(params, s, drawn, coin, c, T, signals, depression)
    N, signed = len(h), signals == "signed"
    E = np.array([sigma((params["W"] + params["U"])[:, i] @ s + (params["b"] + params["u"])[i]) for i in range(N)])
    mean = hebbian(E, s, c, signals, *depression)
    eligibility["W"] = eligibility["W"] - kappa * mean["W"]
    eligibility["b"] = eligibility["b"] - kappa * mean["b"]
    Q = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                expected = (2 * E[i] - 1) * (2 * E[j] - 1) if signed else E[i] * E[j]
                pair = (2 * h[i] - 1) * (2 * h[j] - 1) if signed else h[i] * h[j]
                eligibility["W_rec"][j, i] -= kappa * c * (0.5 if signed else 1.0) * (expected + params["Q"][j, i])
                Q[j, i] = pair - expected - params["Q"][j, i]
    return h, eligibility | {"own": {"U": np.outer(s, h - E), "u": h - E, "Q": Q}}


def estimate(baseline, params, s, i):
    """What unit i is said to do when x = s."""
    x = {"half": 0.0, "drive": params["W"][:, i] @ s + params["b"][i]}.get(baseline, 0.0)
    if baseline == "usual":
        x = params["u"][i]
    if baseline == "predicted":
        x = params["U"][:, i] @ s + params["u"][i]
    return sigma(x)


def own_credit(baseline, s, h, E):
    directions = {"U": np.outer(s, h - E), "u": h - E}
    return {"own": {name: directions[name] for name in {"usual": "u", "predicted": "Uu"}.get(baseline, "")}}


def estimated(box, params, s, drawn, coin, c, T, signals, depression, kappa, rho, baseline):
    """Algorithm 1 less an estimate of what each unit does."""
    h, eligibility = box(params, s, drawn, coin, c, T, signals, depression)
    E = np.array([estimate(baseline, params, s, i) for i in range(len(h))])
    mean = hebbian(E, s, c, signals, *depression)
    eligibility = {name: z - (rho if name == "W_rec" else kappa) * mean[name] for name, z in eligibility.items()}
    return h, eligibility | own_credit(baseline, s, h, E)


def with_mean(box, params, s, drawn, coin, c, T, signals, depression, kappa):
    """Algorithm 1 that learns the mean of its signal."""
    h, eligibility = box(params, s, drawn, coin, c, T, signals, depression)
    return h, eligibility | {"m": np.ones(())}


# A reward for each layer: Weight Max's to all of its units, one draw of the layer above after another ----------------


def surprises(rule, layer, x, drawn):
    """(a − p) of every draw of a layer, unit by unit: [draws, N]. Of a lazy unit what it says of its input."""
    N, c = len(layer["b"]), rule.get("coupling", 0.0)
    d = np.array([layer["W"][:, i] @ x + layer["b"][i] for i in range(N)])
    if "bits" in drawn:
        h, found = drawn["h_0"].copy(), [drawn["h_0"] - sigma(d)]
        for unit, bits in zip(drawn["unit"], drawn["bits"], strict=True):
            found.append(np.zeros(N))
            for i, bit in zip(unit, bits, strict=True):
                found[-1][i] += bit - sigma(c * (layer["W_rec"][:, i] @ sent(h, rule["chain_signals"])) + d[i])
                h[i] = bit
        return found
    H = drawn["H"] if "H" in drawn else drawn["h"][None]
    found = [H[0] - sigma(d)]
    for before, h in itertools.pairwise(H):
        p = sigma(c * (layer["W_rec"].T @ sent(before, rule["chain_signals"])) + d)
        e = h - p
        if rule.get("sampler") == "lazy":
            chance = np.where(h == 1, p, 1 - p)
            e = e * np.where(h == before, chance / (chance + 1), 1)
        found.append(e)
    return found


def layer_rewards(rules, layers, inputs, hs, drawn, step):
    """R of each hidden layer for δ = 1, from the last one down; δ itself where a layer has none of its own."""
    R, L = [1.0] * len(hs), len(hs) - 1
    for k in reversed(range(L - 1)):
        if rules[k].get("variant") != "layer-reward":
            continue
        errors = surprises(rules[k + 1], layers[k + 1], inputs[k + 1], drawn[k + 1])
        errors = errors[-1:] if rules[k + 1].get("variant_by") == "last" else errors
        total = 0.0
        for i, bit in enumerate(hs[k]):
            for e in errors:
                for j, error in enumerate(e):
                    total += 2 * bit * step * layers[k + 1]["W"][i, j] * error * R[k + 1]
        R[k] = total
    return R


# Rules that need the layer above: eligibilities of all hidden layers, from what the whole network drew; `step` is how
# much what a unit sends differs between 0 and 1: 2 where signals are signed -------------------------------------------


def straight_through(layers, inputs, hs, ps, rules, step):
    """g from the top down; it passes a drawn bit as p(1 − p), or as 1 for the identity version."""
    found = []
    g = step * layers[-1]["W"] @ (hs[-1] - ps[-1])
    for layer, x, p, rule in reversed(list(zip(layers[:-1], inputs, ps, rules, strict=False))):
        e = g * p * (1 - p) if rule["slope"] == "sigmoid" else g
        found.insert(0, {"W": np.outer(x, e), "b": e})
        g = step * layer["W"] @ e
    return found


def weight_max(layers, inputs, hs, ps, rules, step):
    """R_i = 2 Σ_j w_ij H_i (a_j − p_j) R_j, and REINFORCE with it."""
    found, R = [], np.ones(1)
    for k in reversed(range(len(layers) - 1)):
        above, N = layers[k + 1], len(hs[k])
        mine = np.zeros(N)
        for i in range(N):
            errors = [above["W"][i, j] * hs[k][i] * (hs[k + 1][j] - ps[k + 1][j]) * R[j] for j in range(len(R))]
            mine[i] = 2 * step * sum(errors)
        R = mine
        z = R * (hs[k] - ps[k])
        found.insert(0, {"W": np.outer(inputs[k], z), "b": z})
    return found


def unbiased_weight_max(layers, inputs, hs, ps, rules, step):
    """R_i = H_i (1 − Π_j P(a_j | H, H_i = 0) / P(a_j | H)); or the whole product with (H_i − p_i) averaged over H_i."""

    def likelihood(k, h):
        p = sigma(layers[k + 1]["W"].T @ sent(h, "signed" if step == 2 else "binary") + layers[k + 1]["b"])
        return np.prod(np.where(hs[k + 1] == 1, p, 1 - p))

    found = []
    for k in range(len(layers) - 1):
        z = np.zeros(len(hs[k]))
        for i, p in enumerate(ps[k]):
            off, on = hs[k].copy(), hs[k].copy()
            off[i], on[i] = 0, 1
            P_0, P_1 = likelihood(k, off), likelihood(k, on)
            if rules[k]["expected"]:
                z[i] = p * (1 - p) * (P_1 - P_0) / (p * P_1 + (1 - p) * P_0)
            else:
                z[i] = hs[k][i] * (1 - P_0 / likelihood(k, hs[k])) * (hs[k][i] - p)
        found.append({"W": np.outer(inputs[k], z), "b": z})
    return found


def softplus(x):
    return np.log1p(np.exp(x))


def relaxed(layers, s, a, hs, rules, eta):
    """The values after all steps uphill, each η ½ v times the slope."""
    for _ in range(rules[0]["relax_steps"]):
        slopes = []
        for k, h in enumerate(hs):
            below = s if k == 0 else hs[k - 1]
            slope = -(h - softplus(layers[k]["W"].T @ below + layers[k]["b"])) / rules[k]["variance"]
            above = layers[k + 1]
            d = above["W"].T @ h + above["b"]
            last = k + 1 == len(hs)
            e = a - sigma(d) if last else (hs[k + 1] - softplus(d)) * sigma(d) / rules[k + 1]["variance"]
            slopes.append(slope + above["W"] @ e)
        hs = [h + eta * 0.5 * rule["variance"] * slope for h, rule, slope in zip(hs, rules, slopes, strict=True)]
    return hs


def log_joint(layers, s, a, hs, rules):
    """log Pr(H, A | S): Gaussians around softplus, then bits. Constants are left out."""
    total = 0.0
    for layer, x, h, rule in zip(layers, [s, *hs], hs, rules, strict=False):
        total -= sum((h - softplus(layer["W"].T @ x + layer["b"])) ** 2) / (2 * rule["variance"])
    d = layers[-1]["W"].T @ hs[-1] + layers[-1]["b"]
    return total + sum(a * d - softplus(d))


def map_propagation(layers, s, a, hs, rules):
    """Relax all hidden layers at once with the action clamped, then the score at the relaxed values, the output too.

    Several layers begin again with half the step where they ended less likely than they were drawn.
    """
    drawn, eta = hs, 1.0
    hs = relaxed(layers, s, a, drawn, rules, eta)
    while len(drawn) > 1 and not log_joint(layers, s, a, hs, rules) >= log_joint(layers, s, a, drawn, rules):
        eta /= 2
        hs = relaxed(layers, s, a, drawn, rules, eta)
    found = []
    for layer, x, h, rule in zip(layers, [s, *hs], hs, rules, strict=False):
        d = layer["W"].T @ x + layer["b"]
        e = (h - softplus(d)) * sigma(d) / rule["variance"]
        found.append({"W": np.outer(x, e), "b": e})
    e = a - sigma(layers[-1]["W"].T @ hs[-1] + layers[-1]["b"])
    return [*found, {"W": np.outer(hs[-1], e), "b": e}]


ACTIVATIONS = {
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "sigmoid": (sigma, lambda x: sigma(x) * (1 - sigma(x))),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "softplus": (softplus, sigma),
}


def backprop(layers, inputs, hs, ps, rules, step):
    """Errors from the top down, each times the slope of the unit that they pass."""
    found, g = [], layers[-1]["W"] @ (hs[-1] - ps[-1])
    for layer, x, rule in reversed(list(zip(layers[:-1], inputs, rules, strict=False))):
        e = g * ACTIVATIONS[rule["activation"]][1](layer["W"].T @ x + layer["b"])
        found.insert(0, {"W": np.outer(x, e), "b": e})
        g = layer["W"] @ e
    return found


BACKWARD = {
    "backprop": backprop,
    "ste": straight_through,
    "weight-max": weight_max,
    "unbiased-weight-max": unbiased_weight_max,
}


# The whole update -----------------------------------------------------------------------------------------------------


def multiplexer_reward(s, a, bits, signed):
    """The reward from what the network sees: an input above 0 (or at 1) is a set bit."""
    state = s > 0
    address = sum(2 ** (bits - 1 - j) for j in range(bits) if state[j])
    right = bool(state[bits + address]) == (a == 1)
    return 1.0 if right else (-1.0 if signed else 0.0)


def critic_value(critic, s, activation):
    """V(s) and its gradient."""
    if activation == "mean":
        return critic["output"]["b"][0], {"output": {"b": np.ones(1)}}
    if activation == "linear":
        V = sum(w * x for w, x in zip(critic["output"]["W"][:, 0], s, strict=True)) + critic["output"]["b"][0]
        return V, {"output": {"W": s[:, None], "b": np.ones(1)}}
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
    baseline = rule.get("baseline", "probability")  # the output has p, and other rules have it in their credit
    predicted = baseline == "predicted"
    kappa = 0.0 if baseline == "none" else numbers.get("baseline_strength", 1.0)
    if rule["name"] == "backprop":
        f = ACTIVATIONS[rule["activation"]][0]
        return lambda layer, s, drawn, coin: (f(layer["W"].T @ s + layer["b"]), None)
    if rule["name"] == "reinforce" or rule["name"] in BACKWARD:
        return lambda *a: reinforce(*a, kappa=kappa, predicted=predicted)
    if rule["name"] == "map-prop":
        return lambda layer, s, drawn, coin: (
            softplus(layer["W"].T @ s + layer["b"]) + np.sqrt(rule["variance"]) * drawn["u"][0],
            None,
        )
    depression = rule.get("variant_form", "none"), numbers.get("variant_strength", 0.0)
    if rule["name"] == "recurrent":
        given = [numbers["coupling"], rule["steps"], numbers["trace_decay"], kappa, rule["chain_signals"], predicted]
        return lambda *a: algorithm_2(*a, *given, *depression)
    box = {"synchronous": algorithm_1, "lazy": algorithm_1_lazy, "one-by-one": algorithm_1_one_by_one}[rule["sampler"]]
    given = [numbers["coupling"], rule["steps"], rule["chain_signals"], depression, kappa]
    if baseline in ("half", "drive", "usual", "predicted"):
        return lambda *a: estimated(box, *a, *given, numbers["baseline_pairs"], baseline)
    centred = rule["learning_signal"] == "centred-advantage"
    credited = with_mean if centred else learned if baseline == "learned" else negative_phase
    return lambda *a: credited(box, *a, *given)


OUTPUT = {"name": "reinforce", "learning_signal": "advantage"}


def gradient(run, numbers, params, draws, coin):
    """The mean over the batch of the update direction of each layer, then of the critic (or None)."""
    task, sending = run["task"], run["signals"]
    rules = [*numbers["rules"], OUTPUT]
    total, B = None, len(draws["s"])
    for e in range(B):
        s = np.asarray(draws["s"][e], float)
        x, hs, inputs, eligibilities, each = s, [], [s], [], []
        for rule, layer, drawn in zip(rules, params["layers"], draws["layers"], strict=True):
            mine = {name: value[e] for name, value in drawn.items() if name != "negative"}
            if "negative" in drawn:
                chains = len(drawn["negative"]["u"]) // B
                mine["negative"] = [{k: v[m * B + e] for k, v in drawn["negative"].items()} for m in range(chains)]
            h, eligibility = layer_of(rule, rule)(layer, x, mine, coin)
            eligibilities.append(eligibility)
            each.append(mine)
            hs.append(h)
            x = h if rule["name"] in ("backprop", "map-prop") else sent(h, sending)
            inputs.append(x)
        if rules[0]["name"] in BACKWARD:
            ps = [sigma(layer["W"].T @ i + layer["b"]) for layer, i in zip(params["layers"], inputs, strict=False)]
            step = 2 if sending == "signed" else 1
            eligibilities[:-1] = BACKWARD[rules[0]["name"]](params["layers"], inputs, hs, ps, rules, step)
        if rules[0]["name"] == "map-prop":
            eligibilities = map_propagation(params["layers"], s, hs[-1], hs[:-1], rules[:-1])
        r = multiplexer_reward(s, hs[-1][0], task["bits"], task["rewards"] == "signed")
        assert r == draws["r"][e]
        v, critic_gradient = 0.0, None
        if params["critic"] is not None:
            v, critic_gradient = critic_value(params["critic"], s, run["critic"]["activation"])
        delta = r - v
        signals = [r if rule["learning_signal"] == "reward" else delta for rule in rules]
        for i, (rule, layer) in enumerate(zip(rules, params["layers"], strict=True)):
            signals[i] -= layer["m"] if rule["learning_signal"] == "centred-advantage" else 0.0
        shares = layer_rewards(rules, params["layers"], inputs, hs, each, 2 if sending == "signed" else 1)
        own = [z.pop("own", {}) for z in eligibilities]
        mine = [
            scaled(z, signal * share / B) | scaled(by_itself, 1 / B) | scaled({"m": signal} if "m" in z else {}, 1 / B)
            for z, signal, share, by_itself in zip(eligibilities, signals, shares, own, strict=True)
        ]
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
