"""Algorithms 1 and 2 in straightforward NumPy: whole batches at a time, float32, nothing clever. The yardstick."""

import numpy as np


class NumpyTraining:
    """One run on the 4-bit multiplexer; `boltzmann` chooses Algorithm 1, otherwise Algorithm 2."""

    def __init__(self, boltzmann, N=64, T=25, c=0.25, lambda_=0.25, k=4, B=16, alpha=0.005, seed=0):
        self.boltzmann, self.N, self.T, self.c, self.lambda_ = boltzmann, N, T, c, lambda_
        self.k, self.D, self.B, self.alpha, self.t = k, k + 2**k, B, alpha, 0
        self.rng = np.random.default_rng(seed)

        def glorot(D, N):
            return (self.rng.normal(size=(D, N)) * np.sqrt(2 / (D + N))).astype(np.float32)

        self.params = {
            "W": glorot(self.D, N),
            "b": np.zeros(N, np.float32),
            "W_rec": np.zeros((N, N), np.float32),
            "W_out": glorot(N, 1)[:, 0],
            "b_out": np.zeros((), np.float32),
            "V": glorot(self.D, 64),
            "v": np.zeros(64, np.float32),
            "w": glorot(64, 1)[:, 0],
            "w0": np.zeros((), np.float32),
        }
        self.m = {name: np.zeros_like(p) for name, p in self.params.items()}
        self.v = {name: np.zeros_like(p) for name, p in self.params.items()}

    def update(self):
        p, B, N = self.params, self.B, self.N
        bits = self.rng.integers(0, 2, (B, self.D))
        s = (2 * bits - 1).astype(np.float32)
        d = s @ p["W"] + p["b"]
        h = self.draw(d)
        z_rec, z = np.zeros((B, N, N), np.float32), np.zeros((B, N), np.float32)
        for _ in range(self.T):
            x = self.c * (h @ p["W_rec"]) + d
            new = self.draw(x)
            if not self.boltzmann:
                e = new - sigma(x)
                z_rec = self.lambda_ * z_rec + h[:, :, None] * e[:, None, :]
                z = self.lambda_ * z + e
            h = new
        x_out = h @ p["W_out"] + p["b_out"]
        a = self.draw(x_out)
        address = bits[:, : self.k] @ (2 ** np.arange(self.k - 1, -1, -1))
        r = np.where(a == bits[np.arange(B), self.k + address], 1, -1).astype(np.float32)
        hidden = np.maximum(s @ p["V"] + p["v"], 0)
        delta = r - (hidden @ p["w"] + p["w0"])
        back = delta[:, None] * (hidden > 0) * p["w"]
        e_out = delta * (a - sigma(x_out))
        if self.boltzmann:
            z = h
            g_rec = self.c * ((h * delta[:, None]).T @ h) / B
            np.fill_diagonal(g_rec, 0)
        else:
            g_rec = self.c * np.einsum("b,bji->ji", delta, z_rec) / B
        self.adam(
            {
                "W": s.T @ (delta[:, None] * z) / B,
                "b": delta @ z / B,
                "W_rec": g_rec,
                "W_out": e_out @ h / B,
                "b_out": e_out.mean(),
                "V": s.T @ back / B,
                "v": back.mean(axis=0),
                "w": delta @ hidden / B,
                "w0": delta.mean(),
            }
        )
        return r.mean()

    def draw(self, x):
        return (self.rng.random(x.shape, dtype=np.float32) < sigma(x)).astype(np.float32)

    def adam(self, gradient):
        self.t += 1
        for name, g in gradient.items():
            self.m[name] = 0.9 * self.m[name] + 0.1 * g
            self.v[name] = 0.999 * self.v[name] + 0.001 * g**2
            m, v = self.m[name] / (1 - 0.9**self.t), self.v[name] / (1 - 0.999**self.t)
            self.params[name] = self.params[name] + self.alpha * m / (np.sqrt(v) + 1e-8)


def sigma(x):
    return 1 / (1 + np.exp(-x))
