"""The cpu engine: the paper's network in C++, one run on one core.

It trains one hidden layer of binary units on the multiplexer, with the rules of `RULES`; the rest is xla's.
"""

import dataclasses
import functools
import importlib
import platform
from typing import Any

import jax
import numpy as np

from coexplore import network
from coexplore.engines import fused
from coexplore.fields import Linear
from coexplore.result import Result, bin_sizes, bins
from coexplore.rules import Boltzmann, Recurrent, Reinforce, StraightThrough, UnbiasedWeightMax
from coexplore.rules.chain import Coupled
from coexplore.run import Run

RULES = (Reinforce, Boltzmann, Recurrent, StraightThrough, UnbiasedWeightMax)
MOST_UNITS, MOST_BATCH = 256, 64
RANDOM_WORDS = 32
TENSORS = ("params", "moments", "random", "curve", "done")  # what a checkpoint keeps of a state


@dataclasses.dataclass(frozen=True)
class State:
    """Everything is a flat array, so that a checkpoint is a copy."""

    runs: tuple[Run, ...]
    params: Any
    moments: Any  # both of Adam's, one after the other
    random: Any
    curve: Any  # sums of reward; the means come at the end
    done: int
    reward: Any


@functools.cache
def kernel() -> Any:
    """The compiled module with the best instructions that this processor has, or None where none was built."""
    try:
        generic = importlib.import_module("coexplore.engines.cpu._kernel_generic")
    except ImportError:
        return None
    return importlib.import_module("coexplore.engines.cpu._kernel_avx2") if generic.has_avx2() else generic


def missing() -> str | None:
    return "it was not built: no C++ compiler when coexplore was installed" if kernel() is None else None


def supports(run: Run) -> str | None:
    if type(run.rules[0]) not in RULES:
        return f"it has no {run.rules[0].name}"
    widest = max(run.hidden[0], *(run.critic.widths if run.critic else (1,)))
    if widest > MOST_UNITS or run.batch > MOST_BATCH:
        return f"it takes at most {MOST_UNITS} units and batches of {MOST_BATCH}"
    return fused.refused(run)


def groups(runs: list[Run]) -> list[list[Run]]:
    return [[run] for run in runs]


def start(runs: list[Run]) -> State:
    (run,) = runs
    params = _packed(run, network.init(run))
    random = np.zeros(RANDOM_WORDS, np.uint32)
    kernel().seed(run.seed, random)
    curve = np.zeros(bins(run.updates))
    return State((run,), params, np.zeros(2 * len(params), np.float32), random, curve, 0, np.full(1, np.nan))


def advance(state: State, updates: int) -> State:
    n = min(updates, state.runs[0].updates - state.done)
    return _moved(state, n, lambda *arguments: kernel().advance(*arguments, n))


def finish(state: State) -> list[Result]:
    (run,) = state.runs
    curve = (state.curve / bin_sizes(run.updates)).astype(np.float32)
    return [Result(run, "cpu", curve, _unpacked(run, state.params), built())]


def built() -> dict[str, Any]:
    return {"kernel": kernel().__name__.rpartition("_")[2], "machine": platform.machine()}


def params(state: State) -> list[network.Params]:
    return [_unpacked(state.runs[0], state.params)]


def tensors(state: State) -> list[dict[str, np.ndarray]]:
    return [{name: np.asarray(getattr(state, name)) for name in TENSORS}]


def restore(runs: list[Run], tensors: list[dict[str, np.ndarray]]) -> State:
    (run,), (saved,) = runs, tensors
    arrays = {name: saved[name].copy() for name in TENSORS if name != "done"}
    return State((run,), **arrays, done=int(saved["done"]), reward=np.full(1, np.nan))


def update_with_draws(state: State) -> tuple[State, dict[str, Any]]:
    """One update, and all that was drawn in it: s [B, D], u and h [T+1, B, N], u_a and a [B]."""
    (run,) = state.runs
    rule, B, N = run.rules[0], run.batch, run.hidden[0]
    rows = rule.steps + 1 if isinstance(rule, Boltzmann | Recurrent) else 1
    shapes = {"s": (B, run.task.size), "u": (rows, B, N), "h": (rows, B, N), "u_a": (B,), "a": (B,)}
    draws = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    flat = [array.reshape(-1) for array in draws.values()]
    return _moved(state, 1, lambda *arguments: kernel().record(*arguments, *flat)), draws


def _moved(state: State, n: int, work: Any) -> State:
    """The state after `work`, which changes its arrays in place, has done n updates on copies of them."""
    (run,) = state.runs
    params, moments, random, curve = (x.copy() for x in (state.params, state.moments, state.random, state.curve))
    m, v = np.split(moments, 2)
    total = work(_shape(run), _numbers(run), run.updates, params, m, v, random, curve, state.done)
    reward = np.full(1, total / n) if n else state.reward
    return State(state.runs, params, moments, random, curve, state.done + n, reward)


def _shape(run: Run) -> Any:
    rule, critic = run.rules[0], run.critic
    expected = isinstance(rule, UnbiasedWeightMax) and rule.expected
    return kernel().Shape(
        "expected" if expected else rule.name,
        critic.activation if critic else "none",
        run.hidden[0],
        getattr(rule, "steps", 1),
        run.batch,
        critic.width if critic else 1,
        run.task.bits,
        run.task.encoding == "signed",
        run.task.rewards == "signed",
        rule.centres_reward,
        rule.centres_activity,
    )


def _numbers(run: Run) -> tuple[float, ...]:
    """(start, stop) of coupling, centring strength and the three learning rates; then the trace decay."""
    rule, rates = run.rules[0], run.learning_rates
    values = (getattr(rule, "coupling", 0.0), getattr(rule, "centring_strength", 1.0), *rates, *rates[-1:])[:5]
    pairs = [(x.start, x.stop) if isinstance(x, Linear) else (x, x) for x in values]
    return *(float(end) for pair in pairs for end in pair), float(getattr(rule, "trace_decay", 0.0))


def _layout(run: Run) -> dict[str, tuple[int, tuple[int, int], tuple[int, int]]]:
    """Where each array lies in the flat vector: its start, its shape there (rows padded) and its own."""
    D, N, C = run.task.size, run.hidden[0], run.critic.width if run.critic else 1
    names = ["W", "b", "W_rec", "W_out", "b_out", "V", "v", "w", "w_0"]
    own = [(D, N), (1, N), (N, N), (1, N), (1, 1), (D, C), (1, C), (1, C), (1, 1)]
    offsets = _shape(run).offsets
    if not isinstance(run.rules[0], Boltzmann | Recurrent):
        names[2:3], own[2:3], offsets = [], [], [*offsets[:2], *offsets[3:]]
    if run.critic is None:
        names, own = names[:-4], own[:-4]
    padded = [(rows, -(-columns // 8) * 8) for rows, columns in own]
    return {name: (at, wide, mine) for name, at, wide, mine in zip(names, offsets, padded, own, strict=False)}


def _packed(run: Run, params: network.Params) -> np.ndarray:
    hidden, output = params.layers
    arrays = {"W": hidden.W, "b": hidden.b, "W_out": output.W.T, "b_out": output.b}
    if isinstance(hidden, Coupled):
        arrays["W_rec"] = hidden.W_rec
    if params.critic is not None:
        critic = params.critic
        arrays |= {"V": critic.hidden.W, "v": critic.hidden.b, "w": critic.output.W.T, "w_0": critic.output.b}
    flat = np.zeros(_shape(run).offsets[-1], np.float32)
    for name, (at, wide, mine) in _layout(run).items():
        rows = flat[at : at + wide[0] * wide[1]].reshape(wide)
        rows[:, : mine[1]] = np.asarray(arrays[name]).reshape(mine)
    return flat


def _unpacked(run: Run, flat: np.ndarray) -> network.Params:
    x = {}
    for name, (at, wide, mine) in _layout(run).items():
        x[name] = flat[at : at + wide[0] * wide[1]].reshape(wide)[:, : mine[1]].copy()
    hidden = [x["W"], x["b"][0], *([x["W_rec"]] if "W_rec" in x else [])]
    critic = [x["V"], x["v"][0], x["w"].T, x["w_0"][0]] if run.critic else []
    structure = jax.tree.structure(jax.eval_shape(lambda: network.init(run)))
    return jax.tree.unflatten(structure, [*hidden, x["W_out"].T, x["b_out"][0], *critic])
