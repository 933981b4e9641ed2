"""Algorithm 1 in straightforward PyTorch, eager, as one would write it for a first experiment. Another yardstick."""

import torch


class TorchTraining:
    def __init__(self, N=64, T=25, c=0.25, k=4, B=16, alpha=0.005):
        torch.set_num_threads(1)
        self.N, self.T, self.c, self.k, self.D, self.B = N, T, c, k, k + 2**k, B
        D = self.D
        self.critic = torch.nn.Sequential(torch.nn.Linear(D, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        self.W = torch.randn(D, N) * (2 / (D + N)) ** 0.5
        self.b, self.W_rec = torch.zeros(N), torch.zeros(N, N)
        self.W_out, self.b_out = torch.randn(N) * (2 / (N + 1)) ** 0.5, torch.zeros(())
        self.mine = [self.W, self.b, self.W_rec, self.W_out, self.b_out]
        self.adam = torch.optim.Adam([*self.mine, *self.critic.parameters()], lr=alpha, maximize=True)

    def update(self):
        bits = torch.randint(0, 2, (self.B, self.D))
        s = 2.0 * bits - 1
        with torch.no_grad():
            d = s @ self.W + self.b
            h = torch.bernoulli(torch.sigmoid(d))
            for _ in range(self.T):
                h = torch.bernoulli(torch.sigmoid(self.c * (h @ self.W_rec) + d))
            p = torch.sigmoid(h @ self.W_out + self.b_out)
            a = torch.bernoulli(p)
            address = (bits[:, : self.k] * 2 ** torch.arange(self.k - 1, -1, -1)).sum(dim=1)
            r = torch.where(a == bits[torch.arange(self.B), self.k + address], 1.0, -1.0)
        V = self.critic(s)[:, 0]
        delta = (r - V).detach()
        self.adam.zero_grad()
        (delta * V).mean().backward()
        e, e_out = delta[:, None] * h, delta * (a - p)
        off = 1 - torch.eye(self.N)
        gradients = [s.T @ e, e.sum(dim=0), self.c * (h.T @ e) * off, e_out @ h, e_out.sum()]
        for parameter, gradient in zip(self.mine, gradients, strict=True):
            parameter.grad = gradient / self.B
        self.adam.step()
        return r.mean()
