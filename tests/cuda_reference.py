"""The cuda engine's updates again, in NumPy and float64, from the same random numbers, Philox and all."""

import numpy as np

from coexplore import Boltzmann, Linear, Recurrent, StraightThrough, UnbiasedWeightMax

KEY = (0x243F6A88, 0x85A308D3)
STATES, ACTION = 0xFFFFFFFF, 0xFFFFFFFE


def philox(counter, key, rounds=7):
    """Philox4x32 of counters [4, ...]."""
    c, k = np.array(counter, np.uint64), list(key)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(rounds):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = np.stack(
            [
                (second >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]),
                second & low,
                (first >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]),
                first & low,
            ]
        )
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def words(who, update, seed, what):
    who, update, seed, what = np.broadcast_arrays(who, update, seed, what)
    return philox([who, update, seed, what], KEY)


def uniform(word):
    return (2.0 * (word >> np.uint64(9)) + 1) / 2**24


def draws(run, t):
    """S as bits [16, D], u of H₍₀₎ … [T+1, 16, N] and u of A [16] in update t."""
    inputs = words(np.arange(run.task.size), t, run.seed, STATES)[0]
    s = (inputs[None, :] >> np.arange(16, dtype=np.uint64)[:, None] & np.uint64(1)).astype(bool)
    rows = run.rule.steps + 1 if isinstance(run.rule, Boltzmann | Recurrent) else 1
    step, b, unit = np.ogrid[:rows, :16, : run.hidden[0]]
    four = words(4 * unit + b % 8 // 2, t, run.seed, step)
    word = np.take_along_axis(four, (2 * (b // 8) + b % 2 + 0 * (step + unit))[None], axis=0)[0]
    return s, uniform(word), uniform(words(np.arange(16), t, run.seed, ACTION)[0])


def sigma(x):
    return 1 / (1 + np.exp(-x))


def at(x, progress):
    return x.at(progress) if isinstance(x, Linear) else x


class Reference:
    """One run: `params` and `m`, `v` are dicts of float64 arrays, `last` the draws and bits of the last update."""

    halves = True  # whether numbers between units have half precision

    def __init__(self, run, params=None):
        self.run, self.t = run, 0
        self.params = named(params or run.init())
        self.ties = self.draws = 0
        self.m, self.v = ({k: np.zeros_like(x) for k, x in self.params.items()} for _ in range(2))

    def update(self, bits=None, tie=1e-6):
        """`bits`, another engine's draws, settle what is too close to call."""
        self.tie = tie if bits else 0.0
        run, x = self.run, self.params
        self.progress = self.t / max(run.updates - 1, 1)
        s, u, u_a, H, P, x_out, a, r, hidden, delta = self.act(self.t, bits)
        h = self.sent(H[-1])
        signal = (delta if run.rule.learning_signal.centred else r)[:, None]
        g = self.hidden_credit(s, H, P, x_out, a, signal)
        e_out = delta * (a - sigma(x_out))
        g |= {"W_out": (h.T @ e_out)[:, None] / 16, "b_out": e_out.mean(keepdims=True)}
        if run.critic:
            slope = hidden > 0 if run.critic.activation == "relu" else 1 - hidden**2
            back = delta[:, None] * x["w"][:, 0] * slope
            g |= {"V": s.T @ back / 16, "v": back.mean(axis=0)}
            g |= {"w": (hidden.T @ delta)[:, None] / 16, "w_0": delta.mean(keepdims=True)}
        self.last = {"s": s, "u": u, "h": H, "u_a": u_a, "a": a}
        self.gradient, self.reward = g, r.mean()
        self.ascend(g)

    def act(self, t, bits=None):
        """The batch of update t up to its rewards."""
        run, x = self.run, self.params
        state, u, u_a = draws(run, t)
        s = np.where(state, 1.0, -1.0 if run.task.encoding == "signed" else 0.0)
        H, P = self.chain(s, u, bits and bits["h"])
        x_out = self.sent(H[-1]) @ x["W_out"][:, 0] + x["b_out"]
        a = self.fired(sigma(x_out), u_a, bits and bits["a"])
        r = np.where(run.task.answer(state) == (a == 1), 1.0, -1.0 if run.task.rewards == "signed" else 0.0)
        hidden, value = self.critic(s)
        return s, u, u_a, H, P, x_out, a, r, hidden, r - value

    def look(self, progress, tie=1e-6):
        """Firing rates and the critic's error on the states that all runs are looked at in."""
        self.run, self.progress, self.tie = self.run.with_seed(0), progress, tie
        batches = [self.act(0xE0000000 + i) for i in range(16)]
        drawn = [(H[-1], a, delta) for _, _, _, H, _, _, a, _, _, delta in batches]
        h, a, delta = (np.concatenate(x) for x in zip(*drawn, strict=True))
        return {
            "firing.0": h.mean(axis=0),
            "firing.1": a.mean(keepdims=True),
            "critic_error": np.sqrt(np.mean(delta**2)),
        }

    def chain(self, s, u, bits):
        """H₍₀₎ … H₍T₎ and the probabilities behind them."""
        x, rule = self.params, self.run.rule
        d = s @ x["W"] + x["b"]
        P = [sigma(d)]
        H = [self.fired(P[0], u[0], None if bits is None else bits[0])]
        for t in range(1, len(u)):
            P.append(sigma(at(rule.coupling, self.progress) * (self.heard(H[-1]) @ x["W_rec"]) + d))
            lazy, theirs = getattr(rule, "sampler", "") == "lazy", None if bits is None else bits[t]
            drawn = self.fired(P[-1], u[t] * (2 if lazy else 1), theirs)
            H.append(np.where(lazy & (u[t] >= 0.5), H[-1], drawn))
        return np.array(H), np.array(P)

    def sent(self, h):
        """What the output hears."""
        return 2 * h - 1 if self.run.signals == "signed" else h

    def heard(self, h):
        """What the units hear of each other."""
        return 2 * h - 1 if self.run.rule.chain_signals == "signed" else h

    def fired(self, p, u, bits):
        close = np.abs(u - p) < self.tie
        self.draws, self.ties = self.draws + p.size, self.ties + close.sum()
        return np.where(close & (bits is not None), bits, u < p).astype(float)

    def critic(self, s):
        if self.run.critic is None:
            return None, 0.0
        x, d = self.params, s @ self.params["V"] + self.params["v"]
        hidden = np.maximum(d, 0) if self.run.critic.activation == "relu" else np.tanh(d)
        return hidden, hidden @ x["w"][:, 0] + x["w_0"]

    def hidden_credit(self, s, H, P, x_out, a, signal):
        rule, h, p = self.run.rule, H[-1], P[-1]
        w = self.params["W_out"][:, 0] * (2 if self.run.signals == "signed" else 1)  # that firing adds to x_out
        kappa = at(rule.baseline.strength, self.progress) if rule.baseline.name == "probability" else 0.0
        c = at(getattr(rule, "coupling", 0.0), self.progress)
        extra = {}
        if isinstance(rule, Boltzmann):
            e = signal * h
            heard = self.heard(h)
            pairs = heard.T @ (signal * heard) / 2 if rule.chain_signals == "signed" else h.T @ e
            extra = {"W_rec": c * pairs * (1 - np.eye(len(w))) / 16}
            if rule.baseline.name in ("half", "drive", "predicted"):
                E = self.expected(s)
                e = signal * (h - at(rule.baseline.strength, self.progress) * E)
                mean = self.told(self.heard(E))
                rho = at(rule.baseline.pairs, self.progress) * (0.5 if rule.chain_signals == "signed" else 1.0)
                extra["W_rec"] -= c * rho * (mean.T @ (signal * mean)) * (1 - np.eye(len(w))) / 16
                if rule.baseline.name == "predicted":
                    extra |= {"U": s.T @ (h - E) / 16, "u": (h - E).mean(axis=0)}
        elif isinstance(rule, Recurrent):
            T = rule.steps
            each = [rule.trace_decay ** (T - t) * signal * (H[t] - kappa * P[t]) for t in range(1, T + 1)]
            e = sum(each)
            heard = self.heard(H[:-1])
            extra = {"W_rec": c * sum(before.T @ mine for before, mine in zip(heard, each, strict=True)) / 16}
        elif isinstance(rule, StraightThrough):
            e = signal * (a - sigma(x_out))[:, None] * w * p * (1 - p)
        elif isinstance(rule, UnbiasedWeightMax):
            sign = (2 * a - 1)[:, None]
            off = x_out[:, None] - h * w
            P_0, P_1, P_h = (sigma(sign * x) for x in (off, off + w, x_out[:, None]))
            if rule.expected:
                e = signal * p * (1 - p) * (P_1 - P_0) / (p * P_1 + (1 - p) * P_0)
            else:
                e = signal * h * (1 - P_0 / P_h) * (h - p)
        else:
            e = signal * (h - kappa * p)
        return {"W": s.T @ e / 16, "b": e.mean(axis=0), **extra}

    def told(self, x):
        """As units tell each other numbers."""
        return np.float16(x).astype(float) if self.halves else x

    def expected(self, s):
        x = self.params
        d = {"half": 0 * (s @ x["W"]), "drive": s @ x["W"] + x["b"]}
        return sigma(d[self.run.rule.baseline.name] if self.run.rule.baseline.name in d else s @ x["U"] + x["u"])

    def ascend(self, g):
        rates = dict(zip(("hidden", "output", "critic"), self.run.learning_rates, strict=False))
        parts = {"W": "hidden", "b": "hidden", "W_rec": "hidden", "W_out": "output", "b_out": "output"}
        parts |= {"U": "hidden", "u": "hidden"}
        self.t += 1
        for k, gradient in g.items():
            self.m[k] = 0.9 * self.m[k] + 0.1 * gradient
            self.v[k] = 0.999 * self.v[k] + 0.001 * gradient**2
            m, v = self.m[k] / (1 - 0.9**self.t), self.v[k] / (1 - 0.999**self.t)
            rate = at(rates[parts.get(k, "critic")], self.progress)
            rate *= self.run.rule.recurrent_rate if k == "W_rec" else 1
            rate *= self.run.rule.baseline.rate if k in ("U", "u") else 1
            self.params[k] = self.params[k] + rate * m / (np.sqrt(v) + 1e-8)


def named(params):
    """Parameters by their names in layout.cuh, as float64."""
    hidden, output = params.layers
    found = {"W": hidden.W, "b": hidden.b, "W_out": output.W, "b_out": output.b}
    if hasattr(hidden, "W_rec"):
        found["W_rec"] = hidden.W_rec
    if (own := params.parts[0].baseline) is not None:
        found |= {"U": own.U, "u": own.u}
    if params.critic is not None:
        critic = params.critic
        found |= {"V": critic.hidden.W, "v": critic.hidden.b, "w": critic.output.W, "w_0": critic.output.b}
    return {k: np.asarray(x, np.float64) for k, x in found.items()}
