"""How fast the chain of Algorithm 1 forgets where it began, along the training of eight units: of open-questions.md.

    python docs/mixing.py train results/questions    # two minutes of two cores: networks along their training
    python docs/mixing.py results/questions          # from these: mixing.md and mixing.png

Exact, over all 2⁸ states, for each input: the smallest and the second largest eigenvalue of the matrix Pr(h → h′); the
gap 1 − |λ| of the one farthest from 0 (1 / gap steps make the chain forget); and how far, in total variation, the law
of H₍T₎ is from that of H₍T+1₎: what it matters that T is odd. A lazy matrix can have complex eigenvalues: of those the
real parts, and for the gap the moduli.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of matrices so small, threads wait for each other

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.special import expit

from coexplore import Boltzmann, Run
from coexplore.engines import cpu
from coexplore.results import plots
from coexplore.results.tables import markdown

N, SEEDS, INPUTS = 8, range(3100, 3104), 8
COUPLINGS, SAMPLERS, TS = (0.5, 1.0), ("synchronous", "lazy"), (10, 11)
SETTINGS = [(c, sampler, T) for c in COUPLINGS for sampler in SAMPLERS for T in TS]
EPISODES = (100_000, 400_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000)
STATES = np.array([[k >> i & 1 for i in range(N)] for k in range(2**N)], float)
MEASURES = ("smallest", "second largest", "gap", "T to T + 1")


def name(c, sampler, T):
    return f"c = {c:g}, {sampler}, T = {T}"


def trained(run, episodes=EPISODES):
    """W, b, W_rec and the reward since the last of these points, at each of them."""
    state, found = cpu.start([run]), []
    for point in episodes:
        state = cpu.advance(state, point // run.batch - state.done)
        layer = cpu.params(state)[0].layers[0]
        found.append({"W": layer.W, "b": layer.b, "W_rec": layer.W_rec, "reward": state.reward[0]})
    return {key: np.array([each[key] for each in found], np.float32) for key in found[0]}


def train(folder):
    runs = [(s, Run(rule=Boltzmann(s[0], s[2], sampler=s[1]), hidden=N, seed=i)) for s in SETTINGS for i in SEEDS]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(trained, [run for _, run in runs]))
    same = {s: [x for (mine, _), x in zip(runs, found, strict=True) if mine == s] for s in SETTINGS}
    save_file(
        {f"{name(*s)}, {key}": np.stack([x[key] for x in each]) for s, each in same.items() for key in each[0]},
        Path(folder) / "mixing.safetensors",
    )


def inputs():
    return np.where(np.random.default_rng(0).random((INPUTS, 20)) < 0.5, -1.0, 1.0)


def matrix(c, sampler, W, b, W_rec, x):
    """Pr(h → h′) for one input; in both chains the units of h′ are independent given h."""
    heard = x @ W + b + c * STATES @ W_rec
    on, off = expit(heard), expit(-heard)
    if sampler == "lazy":
        on, off = (on + STATES) / 2, (off + 1 - STATES) / 2
    on, off = (np.log(np.maximum(p, 1e-300)) for p in (on, off))
    return np.exp(on @ STATES.T + off @ (1 - STATES).T)


def symmetric(c, W, b, W_rec, x):
    """√π(h) Pr(h → h′) / √π(h′) of the synchronous chain, which can be reversed.

    π(h) ∝ exp(d·h) Π (1 + exp(d + c W_rec h)), so that of all this the square roots cancel to what is below.
    """
    d, heard = x @ W + b, c * STATES @ W_rec
    each = STATES @ d - np.logaddexp(0, d + heard).sum(axis=1)
    return np.exp(0.5 * (each[:, None] + each) + heard @ STATES.T)


def eigenvalues(c, sampler, W, b, W_rec, x):
    if sampler == "lazy":
        return np.linalg.eigvals(matrix(c, sampler, W, b, W_rec, x))
    return np.linalg.eigvalsh(symmetric(c, W, b, W_rec, x))


def measured(c, sampler, T, W, b, W_rec):
    """MEASURES of one network, means over inputs."""
    found = []
    for x in inputs():
        values = eigenvalues(c, sampler, W, b, W_rec, x)
        real, size = np.sort(values.real), np.sort(np.abs(values))
        law = np.where(STATES, expit(x @ W + b), expit(-x @ W - b)).prod(axis=1)
        kernel = matrix(c, sampler, W, b, W_rec, x)
        law = law @ np.linalg.matrix_power(kernel, T)
        found.append((real[0], real[-2], 1 - size[-2], np.abs(law @ kernel - law).sum() / 2))
    return np.mean(found, axis=0)


def along(kept, setting):
    """Reward and MEASURES of every seed [seeds, EPISODES, 5]."""
    c, sampler, T = setting
    W, b, W_rec, reward = (kept[f"{name(*setting)}, {key}"].astype(float) for key in ("W", "b", "W_rec", "reward"))
    shape = reward.shape
    rest = [[measured(c, sampler, T, W[i, k], b[i, k], W_rec[i, k]) for k in range(shape[1])] for i in range(shape[0])]
    return np.concatenate([reward[:, :, None], rest], axis=2)


def rows(setting, found):
    c, sampler, T = setting
    means = found.mean(axis=0)
    return [
        [f"{c:g}", sampler, str(T), f"{n:,}", *(f"{x:.2f}" for x in row)]
        for n, row in zip(EPISODES, means, strict=True)
    ]


def table(found):
    head = ["c", "sampler", "T", "episodes", "reward", *MEASURES]
    return markdown(head, [row for setting, each in found.items() for row in rows(setting, each)])


def draw(found, path):
    """At the strongest coupling: the gap, and what it matters that T is odd."""
    figure, axes = plots.panels(2)
    for panel, measure in zip(axes, (3, 4), strict=True):
        mine = {f"{s[1]}, T = {s[2]}": x[:, :, measure] for s, x in found.items() if s[0] == COUPLINGS[-1]}
        lines = plots.lines(dict.fromkeys(mine, "boltzmann"))
        plots.traces(panel, {key: {"x": np.array(EPISODES), "y": y} for key, y in mine.items()}, lines)
    axes[0].set_ylabel("spectral gap of the chain")
    axes[1].set_ylabel("the law of H(T) from that of H(T + 1)")
    axes[0].get_legend().remove()
    figure.supxlabel(f"{N} units, c = {COUPLINGS[-1]:g}, mean ± sd over {len(SEEDS)} seeds", size=8)
    plots.save(figure, path)


def main(folder):
    kept = load_file(Path(folder) / "mixing.safetensors")
    found = {setting: along(kept, setting) for setting in SETTINGS}
    (Path(folder) / "mixing.md").write_text(table(found) + "\n")
    draw(found, Path(folder) / "mixing.png")


if __name__ == "__main__":
    train(sys.argv[2]) if sys.argv[1] == "train" else main(sys.argv[1])
