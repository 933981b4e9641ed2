"""Agent steps a second on CartPole: ten runs of the control engine against one run in plain NumPy, same algorithm; then
many runs of the functional engine, whose environments are compiled, against 64 of the control engine on all cores.

`python benchmarks/control_speed.py`. The ratio is what counts. Where JAX has a GPU (or with --gpu) the functional
engine has 4,096 runs there, the control engine this machine's cores, and NumPy is left out: about a minute.
PPO is one run of Stable-Baselines3's, if that is installed, with the settings of its zoo.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import itertools
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import jax
import numpy as np
from rich.progress import track

from coexplore import Boltzmann, Critic, Recurrent, Reinforce, Run, grid
from coexplore.engines import control, functional
from coexplore.tasks.control import Control

RULES = {
    "REINFORCE": Reinforce(),
    "Algorithm 2, T = 2": Recurrent(),
    "Algorithm 1, T = 25": Boltzmann(),
}
SIZES, GAMMA, LAMBDA, RATE = (64, 32), 0.98, 0.8, 0.001
SLICE, ROUNDS = control.SECONDS, 12
STEPPED, COMPILED = "CartPole-v1", "phys2d/CartPole-v1"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Plain:
    """One run as one would write it down: lists of arrays, a loop over them for the traces and for Adam."""

    def __init__(self, rule, rng):
        self.rule, self.rng, self.env = rule, rng, gymnasium.make("CartPole-v1")
        self.coupled = not isinstance(rule, Reinforce)
        sizes = (4, *SIZES, 1)
        self.actor = [p for D, N in itertools.pairwise(sizes) for p in self.layer(D, N)]
        self.recurrent = [np.zeros((N, N), np.float32) for N in SIZES] if self.coupled else []
        self.critic = [p for D, N in itertools.pairwise(sizes) for p in self.layer(D, N)]
        self.params = [*self.actor, *self.recurrent, *self.critic]
        self.m, self.v, self.z = ([np.zeros_like(p) for p in self.params] for _ in range(3))
        self.t, self.episode = 0, 0
        self.s = self.env.reset(seed=0)[0]

    def layer(self, D, N):
        return self.rng.normal(0, (2 / (D + N)) ** 0.5, (D, N)).astype(np.float32), np.zeros(N, np.float32)

    def draw(self, p):
        return (self.rng.random(p.shape, np.float32) < p).astype(np.float32)

    def act(self):
        """The action, and the credit of everything that was drawn for δ = 1."""
        credit, lateral, x = [], [], self.s
        for i in range(len(SIZES)):
            d = x @ self.actor[2 * i] + self.actor[2 * i + 1]
            h, e, e_rec = self.hidden(i, d)
            credit += [np.outer(x, e), e]
            lateral += [] if e_rec is None else [e_rec]
            x = h
        p = sigmoid(x @ self.actor[-2] + self.actor[-1])
        a = self.draw(p)
        return int(a[0]), [*credit, np.outer(x, a - p), a - p, *lateral]

    def hidden(self, i, d):
        p = sigmoid(d)
        h = self.draw(p)
        if not self.coupled:
            return h, h - p, None
        c, W = self.rule.coupling, self.recurrent[i]
        e, e_rec = np.zeros_like(d), np.zeros_like(W)
        for t in range(self.rule.steps):
            before, p = h, sigmoid(c * (h @ W) + d)
            h = self.draw(p)
            if isinstance(self.rule, Recurrent):
                mine = self.rule.trace_decay ** (self.rule.steps - 1 - t) * (h - p)
                e, e_rec = e + mine, e_rec + c * np.outer(before, mine)
        if isinstance(self.rule, Boltzmann):
            e, e_rec = h, c * np.outer(h, h) * (1 - np.eye(len(h), dtype=np.float32))
        return h, e, e_rec

    def value(self, s):
        """V(s), and its gradient."""
        x, seen = s, []
        for i in range(len(SIZES)):
            seen.append((x, x @ self.critic[2 * i] + self.critic[2 * i + 1]))
            x = np.logaddexp(0, seen[-1][1])
        v, back, slopes = (x @ self.critic[-2] + self.critic[-1])[0], self.critic[-2][:, 0], []
        for i in reversed(range(len(SIZES))):
            below, d = seen[i]
            back = back * sigmoid(d)
            slopes = [np.outer(below, back), back, *slopes]
            back = self.critic[2 * i] @ back
        return v, [*slopes, x[:, None], np.ones(1, np.float32)]

    def step(self):
        a, credit = self.act()
        v, slopes = self.value(self.s)
        after, r, terminated, truncated, _ = self.env.step(a)
        self.z = [GAMMA * LAMBDA * z + e for z, e in zip(self.z, [*credit, *slopes], strict=True)]
        self.adam(r + (0 if terminated else GAMMA * self.value(after)[0]) - v)
        self.s = after
        if terminated or truncated:
            self.episode += 1
            self.s, self.z = self.env.reset(seed=self.episode)[0], [np.zeros_like(p) for p in self.params]

    def adam(self, delta):
        self.t += 1
        for i, z in enumerate(self.z):
            g = delta * z
            self.m[i] += 0.1 * (g - self.m[i])
            self.v[i] += 0.001 * (g**2 - self.v[i])
            m, v = self.m[i] / (1 - 0.9**self.t), self.v[i] / (1 - 0.999**self.t)
            self.params[i] += RATE * m / (np.sqrt(v) + 1e-8)


def in_numpy(rule):
    """Steps, and the seconds they took, slice by slice."""
    plain = Plain(rule, np.random.default_rng(0))
    for _ in range(200):
        plain.step()
    while True:
        began, steps = time.perf_counter(), 0
        while time.perf_counter() < began + SLICE:
            plain.step()
            steps += 1
        yield steps, time.perf_counter() - began


def runs_of(rule, count, env=STEPPED):
    task = Control(env=env, scaling="none", discount=GAMMA, actor_trace=LAMBDA, critic_trace=LAMBDA)
    critic = Critic("softplus", SIZES)
    run = Run(rule=rule, task=task, hidden=SIZES, critic=critic, learning_rate=RATE, episodes=1_000_000)
    return grid(run, seed=range(count))


def steps_of(state):
    if isinstance(state, control.State):
        return sum(world.steps for world in state.worlds)
    return int(np.asarray(state.worlds.tally.steps)[: len(state.runs)].sum())


def engine(rule):
    """The same of ten runs side by side."""
    return on_all_cores(control, runs_of(rule, 10), jax.devices()[0], threads=1)


def on_all_cores(module, runs, device, threads=CORES):
    """The same of many runs in groups, a thread for each core: every group has its turn in a slice."""

    def advanced(state, updates):
        with jax.default_device(device):  # which every thread has of its own
            return module.advance(state, updates)

    with jax.default_device(device):
        states = [module.start(group) for group in module.groups(runs)]
    states = [advanced(advanced(state, 0), 2) for state in states]
    with ThreadPoolExecutor(threads) as pool:
        while True:
            began, before = time.perf_counter(), sum(map(steps_of, states))
            states = list(pool.map(lambda state: advanced(state, state.runs[0].updates), states))
            yield sum(map(steps_of, states)) - before, time.perf_counter() - began


def per_second(*sides, rounds):
    """Of each side. In turns, so that a busy moment of the machine slows all."""
    slices = list(itertools.islice(zip(*sides, strict=True), rounds))
    return [steps / seconds for steps, seconds in np.sum(slices, axis=0)]


def beside_numpy():
    print(f"{'steps a second':<24}{'NumPy, 1 run':>14}{'control, 10 runs':>18}{'ratio':>8}")
    for name, rule in track(RULES.items(), "measuring", transient=True):
        plain, ours = per_second(in_numpy(rule), engine(rule), rounds=ROUNDS)
        print(f"{name:<24}{plain:>14,.0f}{ours:>18,.0f}{ours / plain:>8.1f}", flush=True)


def compiled(gpu):
    """The functional engine beside the control engine, which is always on the CPU."""
    count, where = (4096, jax.devices()[0]) if gpu else (64, jax.devices("cpu")[0])
    print(f"on {where.device_kind}; control on {CORES} cores")
    columns = f"{'control, 64 runs':>18}{f'functional, {count:,} runs':>24}{'ratio':>8}"
    print(f"{'steps a second':<24}{columns}")
    for name, rule in track(RULES.items(), "measuring", transient=True):
        began = time.perf_counter()
        sides = (
            on_all_cores(control, runs_of(rule, 64), jax.devices("cpu")[0]),
            on_all_cores(functional, runs_of(rule, count, COMPILED), where),
        )
        stepped, ours = per_second(*sides, rounds=2)
        seconds = f"  ({time.perf_counter() - began:.0f} s)"
        print(f"{name:<24}{stepped:>18,.0f}{ours:>24,.0f}{ours / stepped:>8.1f}{seconds}", flush=True)


def ppo(steps=30_000):
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError:
        print("PPO is left out: stable_baselines3 is not installed")
        return
    settings = {"n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0}
    model = PPO("MlpPolicy", make_vec_env(STEPPED, 8), learning_rate=0.001, clip_range=0.2, device="cpu", **settings)
    began = time.perf_counter()
    model.learn(steps)
    print(f"{'PPO, 1 run':<24}{steps / (time.perf_counter() - began):>18,.0f}")


def main():
    gpu = "--gpu" in sys.argv[1:] or jax.default_backend() != "cpu"
    if not gpu:
        beside_numpy()
    compiled(gpu)
    ppo()


if __name__ == "__main__":
    main()
