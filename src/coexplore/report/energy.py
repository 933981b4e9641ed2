"""The paper's energy picture on real data: E(h) along the sampling steps of a Boltzmann layer.

    E(h) = −(d·h + ½ c hᵀ W_rec h),  d = Wᵀx + b;  ¼ c sᵀ W_rec s, s = 2h − 1, where the chain's signals are signed

The chain is that of laws/chain.py in NumPy: a few hundred paths are drawn sooner than a program is compiled for them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from coexplore.laws import Synchronous, TwoPhase
from coexplore.programs import in_our_config
from coexplore.report.settings import short
from coexplore.run import Result
from coexplore.run.frozen import within_reach
from coexplore.settings import at_the_end
from coexplore.tasks.base import Task
from coexplore.tasks.multiplexer import Multiplexer

INPUTS, DRAWS, PATHS = 4, 64, 3
LONGEST = 10_000  # steps of a chain that is drawn: there are more than a page has points


@in_our_config
def energies(result: Result) -> dict[str, Any] | None:
    """Before and after learning, on a few inputs; None where the first layer has no such chain or one too long to be
    drawn, where there are no parameters, and for environments, whose states cannot be chosen."""
    law, task = at_the_end(result.run.rules[0]).law, result.run.task
    chain = law.chain if isinstance(law, TwoPhase) else None
    if type(chain) is not Synchronous or chain.steps > LONGEST:
        return None
    if result.params is None:
        return None
    if not isinstance(task, Task) or task.missing or not within_reach(result.run):
        return None
    states = task.sample(INPUTS, jax.random.key(0))
    x = np.repeat(np.asarray(task.observe(states)), DRAWS, axis=0)
    learned = {"before": result.run.init().layers[0], "after": result.params.layers[0]}
    with np.errstate(all="ignore"):  # weights may be as large as floats can be
        along = {when: _described(_energies(params, chain, x)) for when, params in learned.items()}
    return {"inputs": _named(task, states), **along}


def energy(h: np.ndarray, d: np.ndarray, c: float, W_rec: np.ndarray, signals: str = "binary") -> np.ndarray:
    s, share = _sent(h, signals), 0.25 if signals == "signed" else 0.5
    return -((d * h).sum(axis=-1) + share * c * (s @ W_rec * s).sum(axis=-1))


def path(
    d: np.ndarray, c: float, W_rec: np.ndarray, u: Iterable[np.ndarray], signals: str = "binary"
) -> Iterator[np.ndarray]:
    """H₍₀₎ … H₍T₎ of the synchronous chain, from T + 1 times uniforms [B, N]."""
    h = None
    for u_t in u:
        h = (u_t < _sigmoid(d if h is None else c * _sent(h, signals) @ W_rec + d)).astype(float)
        yield h


def _energies(params: Any, chain: Synchronous, x: np.ndarray) -> np.ndarray:
    W, b, W_rec = (np.asarray(leaf, np.float64) for leaf in (params.W, params.b, params.W_rec))
    d, c, signals = x @ W + b, float(chain.coupling), chain.signals
    rng = np.random.default_rng(0)
    u = (rng.random(d.shape) for _ in range(chain.steps + 1))
    return np.stack([energy(h, d, c, W_rec, signals) for h in path(d, c, W_rec, u, signals)])


def _sent(h: np.ndarray, signals: str) -> np.ndarray:
    return 2 * h - 1 if signals == "signed" else h


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _described(E: np.ndarray) -> list[dict[str, Any]]:
    """For each input the mean over draws, its spread and a few single paths, step by step."""
    each = E.reshape(len(E), INPUTS, DRAWS)
    return [
        {
            "mean": [short(e) for e in each[:, i].mean(axis=1)],
            "sd": [short(e) for e in each[:, i].std(axis=1, ddof=1)],
            "paths": [[short(e) for e in each[:, i, j]] for j in range(PATHS)],
        }
        for i in range(INPUTS)
    ]


def _named(task: Task, states: Any) -> list[str]:
    answers = task.answer(states)
    if answers is None:
        return [f"state {i + 1}" for i in range(INPUTS)]
    right = [f"right answer {int(answer)}" for answer in answers]
    if not isinstance(task, Multiplexer):
        return right
    words = ["".join("1" if bit else "0" for bit in state) for state in np.asarray(states)]
    named = [f"address {bits[: task.bits]}, data {bits[task.bits :]}" for bits in words]
    return [f"{bits}, {answer}" for bits, answer in zip(named, right, strict=True)]
