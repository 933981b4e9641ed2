"""How far the chains of trained networks take turns between two states: the tables of docs/open-questions.md.

    python docs/turns.py            # from results/cpu/paper.safetensors, which keeps one network of each setting
    python docs/turns.py runs       # from all networks of a store

1. Of 64 units trained with T steps: how many bits of H₍ₜ₎ are those of H₍ₜ₋₁₎, and of H₍ₜ₋₂₎, in the last ten of 51
   steps.
2. Of 8 units, exactly: the smallest and the second largest eigenvalue of the matrix Pr(h → h′) over all 2⁸ states. A
   symmetric W_rec makes them real. Near −1, the chain takes turns; near 1, it hardly moves.
"""

import sys
from collections import defaultdict
from pathlib import Path

import jax
import numpy as np

import coexplore
from coexplore import Boltzmann, Run
from coexplore.laws import Lazy, Synchronous
from coexplore.results.tables import markdown

PACK = Path(__file__).parents[1] / "results" / "cpu" / "paper.safetensors"
STEPS, INPUTS = 51, 256
AGREEING = [Boltzmann(steps=T) for T in range(1, 202)] + [Boltzmann(c) for c in (0.5, 1.0)]
SMALL = [Boltzmann(c) for c in (0.1, 0.25, 0.5, 1.0)]


def inputs(count):
    return np.where(np.random.default_rng(0).random((count, 20)) < 0.5, -1.0, 1.0).astype(np.float32)


def networks(source, hidden):
    """The hidden layers that were trained, by rule."""
    found = defaultdict(list)
    for result in coexplore.load(source):
        run = result.setting
        if result.params is not None and run == Run(rule=run.rule, hidden=hidden):
            found[run.rule].append((result.params.layers[0], result.last))
    return found


def agreement(law, params):
    """The shares of bits that are those of one step before, and of two."""
    params, x = jax.tree.map(jax.numpy.asarray, (params, inputs(INPUTS)))
    H = np.asarray(law.explore(params, x, jax.random.key(1)).H)[-12:]
    return np.mean(H[2:] == H[1:-1]), np.mean(H[2:] == H[:-2])


def transitions(c, params, lazy):
    """Pr(h → h′) for each input, [x, h, h′]."""
    W, b, W_rec = (np.asarray(leaf, np.float64) for leaf in (params.W, params.b, params.W_rec))
    h = np.array([[k >> i & 1 for i in range(len(b))] for k in range(2 ** len(b))], float)
    x = (inputs(32) @ W + b)[:, None] + c * h @ W_rec
    p = 1 / (1 + np.exp(-x))[:, :, None]  # of every unit, where the chain is in h
    of_units = np.where(h, p, 1 - p)
    return (0.5 * (of_units + (h == h[:, None])) if lazy else of_units).prod(axis=-1)


def ends(kernel):
    """The smallest eigenvalue and the second largest, means over inputs; real parts where they are complex."""
    values = np.sort(np.linalg.eigvals(kernel).real, axis=1)
    return values[:, 0].mean(), values[:, -2].mean()


def main(source=PACK):
    heard = networks(source, 64)
    rows = []
    for rule in filter(heard.__contains__, AGREEING):
        same = [agreement(Synchronous(rule.coupling, STEPS), params) for params, _ in heard[rule]]
        lazy = [agreement(Lazy(rule.coupling, STEPS), params) for params, _ in heard[rule]]
        means = [*np.mean(same, axis=0), *np.mean(lazy, axis=0)]
        last = np.mean([reward for _, reward in heard[rule]])
        rows.append(
            [f"{rule.coupling:g}", str(rule.steps), str(len(same)), *(f"{x:.3f}" for x in means), f"{last:.2f}"]
        )
    head = ["c", "T", "networks", "one step before", "two steps before", "lazy, one", "lazy, two", "last quarter"]
    print(markdown(head, rows))
    small, rows = networks(source, 8), []
    for rule in filter(small.__contains__, SMALL):
        kernels = [[transitions(rule.coupling, params, lazy) for lazy in (False, True)] for params, _ in small[rule]]
        found = np.mean([[*ends(plain), *ends(lazy)] for plain, lazy in kernels], axis=0)
        rows.append([f"{rule.coupling:g}", str(len(kernels)), *(f"{x:.2f}" for x in found)])
    print(markdown(["c", "networks", "smallest", "second largest", "lazy, smallest", "lazy, second largest"], rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
