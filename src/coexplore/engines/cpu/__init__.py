"""The cpu engine: the paper's network in C++, one run on one core.

It trains one hidden layer of binary units on the multiplexer, with the rules that its kernel names; the rest is xla's.
"""

import dataclasses
import functools
import importlib
import platform
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from coexplore.engines.base import fitting
from coexplore.engines.look import look as look_at_one
from coexplore.engines.one_layer import (
    centre,
    chain,
    form,
    multiplexer,
    numbers,
    predicts,
    refused,
    steps,
    structure,
    subtracts_probability,
)
from coexplore.laws import Coupled, Lazy
from coexplore.network import Params
from coexplore.rules.baseline import Prediction
from coexplore.run.curve import bin_sizes, bins, full_bins
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json

name, stream = "cpu", 1
title = "C++: one hidden layer of binary units on the multiplexer, several times faster"
waits, snapshots = False, True

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


def prepare() -> None:
    """Nothing to do."""


def supports(run: Run) -> str | None:
    if reason := refused(run):
        return reason
    limits = kernel()
    if max(run.hidden[0], _critic_units(run)) > limits.MOST_UNITS or run.batch > limits.MOST_BATCH:
        return f"it takes at most {limits.MOST_UNITS} units and batches of {limits.MOST_BATCH}"
    return f"it takes at most {limits.MOST_STEPS} steps" if steps(run) > limits.MOST_STEPS else None


def caution(run: Run) -> str | None:
    return None


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    return [[run] for run in runs]


def start(runs: list[Run]) -> State:
    (run,) = runs
    params = _packed(run, run.init())
    random = np.zeros(kernel().RANDOM_WORDS, np.uint32)
    kernel().seed(run.seed, random)
    moments, sums = np.zeros(2 * len(params), np.float32), np.zeros(bins(run.updates))
    return State((run,), params, moments, random, sums, 0, np.full(1, np.nan))


def advance(state: State, updates: int) -> State:
    n = min(updates, state.runs[0].updates - state.done)
    return _moved(state, n, lambda *arguments: kernel().advance(*arguments, n))


def finish(state: State) -> list[Result]:
    (run,) = state.runs
    means = (state.curve / bin_sizes(run.updates)).astype(np.float32)
    return [Result(run, name, means, _unpacked(run, state.params), built())]


def built() -> dict[str, Json]:
    return {"kernel": kernel().__name__.rpartition("_")[2], "machine": platform.machine()}


def params(state: State) -> list[Params]:
    return [_unpacked(state.runs[0], state.params)]


def look(state: State) -> Tensors:
    return look_at_one(state.runs[0], params(state)[0], state.done)


def tensors(state: State) -> list[Tensors]:
    return [{tensor: np.asarray(getattr(state, tensor)) for tensor in TENSORS}]


def restore(runs: list[Run], tensors: list[Tensors]) -> State:
    (run,), (saved,) = runs, tensors
    fresh = start(runs)
    like = {tensor: getattr(fresh, tensor) for tensor in TENSORS if tensor != "done"}
    arrays = {tensor: fitting(saved, tensor, x.shape, x.dtype).copy() for tensor, x in like.items()}
    return State((run,), **arrays, done=int(saved["done"]), reward=np.full(1, np.nan))


def width(tensors: Tensors) -> None:
    """Groups are of one run."""


def curve(run: Run, tensors: Tensors) -> NDArray[np.float64]:
    full = full_bins(int(tensors["done"]), run.updates)
    return tensors["curve"][:full] / bin_sizes(run.updates)[:full]


def update_with_draws(state: State) -> tuple[State, Tensors]:
    """One update, and all that was drawn in it: s [B, D], u and h [T+1, B, N], u_a and a [B]."""
    (run,) = state.runs
    B, N = run.batch, run.hidden[0]
    rows = steps(run) + 1 if chain(run) else 1
    shapes = {"s": (B, run.task.size), "u": (rows, B, N), "h": (rows, B, N), "u_a": (B,), "a": (B,)}
    draws = {kind: np.zeros(shape, np.float32) for kind, shape in shapes.items()}
    flat = [array.reshape(-1) for array in draws.values()]
    return _moved(state, 1, lambda *arguments: kernel().record(*arguments, *flat)), draws


def _moved(state: State, n: int, work: Callable[..., float]) -> State:
    """The state after `work`, which changes its arrays in place, has done n updates on copies of them."""
    (run,) = state.runs
    params, moments, random, sums = (x.copy() for x in (state.params, state.moments, state.random, state.curve))
    m, v = np.split(moments, 2)
    total = work(_shape(run), _flat_numbers(run), run.updates, params, m, v, random, sums, state.done)
    reward = np.full(1, total / n) if n else state.reward
    return State(state.runs, params, moments, random, sums, state.done + n, reward)


def _shape(run: Run) -> Any:
    rule, task, critic, drawn = run.rules[0], multiplexer(run), run.critic, chain(run)
    return kernel().Shape(
        form(run),
        critic.activation if critic else "none",
        run.hidden[0],
        steps(run),
        run.batch,
        _critic_units(run),
        task.bits,
        task.encoding == "signed",
        task.rewards == "signed",
        rule.learning_signal.centred,
        subtracts_probability(run),
        run.signals == "signed",
        drawn is not None and drawn.signals == "signed",
        centre(run),
        isinstance(drawn, Lazy),
    )


def _critic_units(run: Run) -> int:
    """Columns of V; 1 where the critic has no hidden units, or there is none."""
    return run.critic.widths[0] if run.critic and run.critic.widths else 1


def _parts_of_critic(run: Run) -> tuple[str, ...]:
    """Its arrays, in the order of its tree."""
    if run.critic is None:
        return ()
    if run.critic.widths:
        return ("V", "v", "w", "w_0")
    return ("v",) if run.critic.activation == "mean" else ("V", "v")


def _flat_numbers(run: Run) -> tuple[float, ...]:
    """(start, stop) of coupling, the strengths of the baseline and the three learning rates; then the plain ones."""
    *pairs, decay, recurrent_rate, baseline_rate = numbers(run)
    return *(end for pair in pairs for end in pair), decay, recurrent_rate, baseline_rate


def _layout(run: Run) -> dict[str, tuple[int, tuple[int, int], tuple[int, int]]]:
    """Where each array lies in the flat vector: its start, its shape there (rows padded) and its own."""
    D, N, C = run.task.size, run.hidden[0], _critic_units(run)
    names = ["W", "b", "W_rec", "W_out", "b_out", "V", "v", "w", "w_0", "U", "u"]
    own = [(D, N), (1, N), (N, N), (1, N), (1, 1), (D, C), (1, C), (1, C), (1, 1), (D, N), (1, N)]
    of_critic = [part in _parts_of_critic(run) for part in ("V", "v", "w", "w_0")]
    there = [True, True, chain(run) is not None, True, True, *of_critic, *[predicts(run)] * 2]
    every = zip(names, _shape(run).offsets[:-1], own, there, strict=True)
    return {part: (at, (mine[0], -(-mine[1] // 8) * 8), mine) for part, at, mine, here in every if here}


def _packed(run: Run, params: Params) -> np.ndarray:
    hidden, output = params.layers
    arrays = {"W": hidden.W, "b": hidden.b, "W_out": output.W.T, "b_out": output.b}
    if isinstance(hidden, Coupled):
        arrays["W_rec"] = hidden.W_rec
    if isinstance(baseline := params.parts[0].baseline, Prediction):
        arrays |= {"U": baseline.U, "u": baseline.u}
    arrays |= dict(zip(_parts_of_critic(run), jax.tree.leaves(params.critic), strict=True))
    flat = np.zeros(_shape(run).offsets[-1], np.float32)
    for part, (at, wide, mine) in _layout(run).items():
        rows = flat[at : at + wide[0] * wide[1]].reshape(wide)
        rows[:, : mine[1]] = np.asarray(arrays[part]).reshape(mine)
    return flat


def _unpacked(run: Run, flat: np.ndarray) -> Params:
    x = {}
    for part, (at, wide, mine) in _layout(run).items():
        x[part] = flat[at : at + wide[0] * wide[1]].reshape(wide)[:, : mine[1]].copy()
    hidden = [x["W"], x["b"][0], *([x["W_rec"]] if "W_rec" in x else [])]
    critic = [x[part] if part == "V" else x[part].T if part == "w" else x[part][0] for part in _parts_of_critic(run)]
    baseline = [x["U"], x["u"][0]] if "U" in x else []
    return jax.tree.unflatten(structure(run), [*hidden, x["W_out"].T, x["b_out"][0], *critic, *baseline])
