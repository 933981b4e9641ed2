"""The cuda engine: the paper's network on an NVIDIA GPU, a thread block or a cluster of them per run, many at a time.

It trains one hidden layer of binary units on the multiplexer, with the rules of `layout.FAMILIES`; the rest is for the
other engines. Runs of as many units and updates, drawn alike, share a launch, on a stream of their own.
"""

import dataclasses
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from coexplore import network
from coexplore.engines.base import fitting
from coexplore.engines.cuda import device
from coexplore.engines.cuda.device import Kernel
from coexplore.engines.cuda.layout import (
    BATCH,
    CRITIC,
    INPUTS,
    SIZES,
    Shape,
    alike,
    described,
    family,
    held,
    pack,
    padded,
    settings,
    shape,
    unpack,
    variant,
)
from coexplore.engines.look import norm_names, progress_after
from coexplore.engines.one_layer import multiplexer, predicts, refused, steps, structure
from coexplore.network import Params
from coexplore.programs import jit
from coexplore.rules import Boltzmann, Reinforce
from coexplore.rules.baseline import Nothing, Predicted
from coexplore.run.curve import bin_sizes, bins, full_bins
from coexplore.run.result import Result, Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json

name, stream = "cuda", 1
title = (
    "CUDA: what cpu trains, but no linear or mean critic, up to 512 units in batches of 16, hundreds of runs at a time "
    "on an NVIDIA GPU"
)
waits, snapshots = True, True

ARRAYS = ("weights", "first", "second", "curve")  # what training changes
CRITICS = ("none", "relu", "tanh")
MOST_STEPS = 2**20
PER_MULTIPROCESSOR = 4  # runs of a group, at most


@dataclasses.dataclass(frozen=True)
class State:
    """A group of G runs. All arrays are the GPU's, flat, a row per run; an advance makes new ones."""

    runs: tuple[Run, ...]
    gpu: Any
    shape: Shape
    settings: Any
    weights: Any
    first: Any  # moments of Adam
    second: Any
    curve: Any  # rewarded answers; the mean rewards come at the end
    done: int
    reward: NDArray[np.float64]


def missing() -> str | None:
    return device.missing()


def prepare() -> None:
    """JAX makes the first parameters; it must not take most of the GPU's memory for itself."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def supports(run: Run) -> str | None:
    reason = refused(run)
    if reason is not None:
        return reason
    critic, width = (run.critic.activation, max(run.critic.widths, default=0)) if run.critic else ("none", 0)
    reasons = {
        f"it does not take critic {critic}": critic not in CRITICS,
        f"it takes at most {SIZES[-1]} units, and {CRITIC} in the critic": run.hidden[0] > SIZES[-1] or width > CRITIC,
        f"it takes batches of {BATCH}": run.batch != BATCH,
        f"it takes at most {max(INPUTS)} address bits": multiplexer(run).bits not in INPUTS,
        f"it takes at most {MOST_STEPS} steps": steps(run) > MOST_STEPS,
    }
    reason = next((reason for reason, applies in reasons.items() if applies), None)
    return reason or device.lacks(_shape([run]))


def caution(run: Run) -> str | None:
    return None


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that share a launch, those with most work first; where there are several GPUs, shares for each.

    Not too many in one: while a group is written down, the next one trains.
    """
    same = defaultdict(list)
    for run in runs:
        same[family(run), variant(run), run.hidden, steps(run), run.updates, run.critic is None].append(run)
    parts = [mine[i::n] for mine in same.values() for n in [_shares(mine)] for i in range(n)]
    return sorted(filter(None, parts), key=lambda part: -_work(part[0]))


def _shares(runs: list[Run]) -> int:
    """Into how many groups these runs go, as many for every GPU; a full one is a multiple of what a GPU holds."""
    gpus, processors = max(1, len(device.able())), device.multiprocessors()
    kind = shape(runs[0], PER_MULTIPROCESSOR * processors, processors)
    most = PER_MULTIPROCESSOR // kind.blocks * max(1, held(kind.blocks, kind.cluster, processors))
    return gpus * -(-len(runs) // (gpus * most))


def _work(run: Run) -> int:
    """How long a run takes, roughly: its steps follow one another, and a larger layer's take longer."""
    return run.updates * (4 + steps(run)) * (8 + padded(run) // 8)


def start(runs: list[Run]) -> State:
    gpu, kind = device.Gpu(), _shape(runs)
    weights = np.empty((len(runs), kind.length), np.uint32)
    for rows in alike(runs):
        weights[rows] = pack(runs[rows[0]], _first([runs[i] for i in rows]), kind.length)
    zeros = np.zeros(weights.shape, np.float32)
    counts = np.zeros((len(runs), bins(runs[0].updates)), np.uint32)
    return _placed(runs, gpu, kind, {"weights": weights, "first": zeros, "second": zeros, "curve": counts}, 0)


def _first(runs: list[Run]) -> list[Params]:
    """`run.init()` of runs that are alike. Rules of a kind begin alike, so that they share a compilation in JAX.

    One after the other by the program that every engine starts from: one for all at once would be compiled for twice
    as long, which costs more than it saves.
    """
    coupled = Boltzmann(baseline=Predicted() if predicts(runs[0]) else Nothing())
    rule = Reinforce() if family(runs[0]) == "independent" else coupled
    same = dataclasses.replace(runs[0], rule=rule).network
    with jax.default_device(jax.devices("cpu")[0]):
        first = [network.init(same, run.sizes, _first_key(np.uint32(run.seed))) for run in runs]
        evenly = network.spread_evenly
        return [evenly(p) if run.initial_weights == "uniform" else p for run, p in zip(runs, first, strict=True)]


@jit
def _first_key(seed: Any) -> Any:
    return network.root_keys(seed)[0]


def _shape(runs: list[Run]) -> Shape:
    return shape(runs[0], len(runs), device.multiprocessors())


def _placed(runs: list[Run], gpu: Any, kind: Shape, arrays: Tensors, done: int) -> State:
    with gpu.working(f"{len(runs)} runs"):
        mine = {key: gpu.put(array) for key, array in arrays.items()}
        about = gpu.put(settings(runs).view(np.uint8))
    return State(tuple(runs), gpu, kind, about, **mine, done=done, reward=np.full(len(runs), np.nan))


def advance(state: State, updates: int) -> State:
    n = min(updates, state.runs[0].updates - state.done)
    if n:
        return _launched(state, n)
    state.gpu.compiled(Kernel("train", state.shape))
    state.gpu.compiled(Kernel("look", state.shape.to_look))
    return state


def _launched(state: State, n: int, draws: dict[str, Any] | None = None) -> State:
    """The state n updates later; arrays in `draws` receive what was drawn."""
    gpu, run, G = state.gpu, state.runs[0], len(state.runs)
    kept = G * (steps(run) - 1) * state.shape.units * 4 if state.shape.family == "recurrent" else 0
    with gpu.working(f"{G} runs"):
        arrays = [getattr(state, key).copy() for key in ARRAYS]
        totals, errors, activity = gpu.put(np.zeros(G, np.uint32)), gpu.empty((kept, 4)), gpu.empty((kept, 2))
        streamed = gpu.empty((G * state.shape.cluster * state.shape.streamed * state.shape.threads, 4))
        numbers = (np.uint32(x) for x in (state.done, n, run.updates, state.curve.shape[1]))
        places = tuple(draws.values()) if draws else (np.uint64(0),) * 5
        arguments = (state.settings, *arrays, totals, errors, activity, streamed, *numbers, *places)
        gpu.launch(Kernel("train", state.shape, draws is not None), G, arguments)
    right = gpu.get(totals) / (BATCH * n)
    changed = dict(zip(ARRAYS, arrays, strict=True))
    return dataclasses.replace(state, **changed, done=state.done + n, reward=_level(state.runs, right))


def _level(runs: Sequence[Run], right: Tensor) -> NDArray[np.float64]:
    """Mean rewards from the shares of right answers, a row per run."""
    signed = np.array([multiplexer(run).rewards == "signed" for run in runs]).reshape(-1, *[1] * (right.ndim - 1))
    return np.where(signed, 2 * right - 1, right)


def finish(state: State) -> list[Result]:
    right = state.gpu.get(state.curve) / (BATCH * bin_sizes(state.runs[0].updates))
    curves = _level(state.runs, right).astype(np.float32)
    results = zip(state.runs, curves, params(state), strict=True)
    return [Result(run, name, means, final, built()) for run, means, final in results]


def width(tensors: Tensors) -> None:
    """Any number of runs goes on together."""


def curve(run: Run, tensors: Tensors) -> NDArray[np.float64]:
    full = full_bins(int(tensors["done"]), run.updates)
    return _level([run], tensors["curve"][None, :full] / (BATCH * bin_sizes(run.updates)[:full]))[0]


def built() -> dict[str, Json]:
    return {"device": device.name()}


def params(state: State) -> list[Params]:
    """The parameters of every run as they are now."""
    tree, words = structure(state.runs[0]), state.gpu.get(state.weights)
    found: dict[int, Params] = {}
    for rows in alike(state.runs):
        found |= dict(zip(rows, unpack(state.runs[rows[0]], words[rows], tree), strict=True))
    return [found[i] for i in range(len(state.runs))]


def look(state: State) -> Tensors:
    """See look.cu."""
    gpu, kind, runs = state.gpu, state.shape.to_look, state.runs
    progress = np.float32(progress_after(runs[0], state.done))
    with gpu.working(f"a look at {len(runs)} runs"):
        seen = gpu.empty((len(runs), kind.numbers_seen))
        gpu.launch(Kernel("look", kind), len(runs), (state.settings, state.weights, progress, seen))
    tree = structure(runs[0])
    names = norm_names(jax.tree.unflatten(tree, range(tree.num_leaves)))
    return described(runs[0], gpu.get(seen), names)


def tensors(state: State) -> list[Tensors]:
    arrays = {key: state.gpu.get(getattr(state, key)) for key in ARRAYS}
    done = np.asarray(state.done)
    return [{**{key: x[g] for key, x in arrays.items()}, "done": done} for g in range(len(state.runs))]


def restore(runs: list[Run], tensors: list[Tensors]) -> State:
    kind = _shape(runs)
    shapes = dict.fromkeys(ARRAYS, (kind.length,)) | {"curve": (bins(runs[0].updates),)}
    types = dict.fromkeys(ARRAYS, np.float32) | {"weights": np.uint32, "curve": np.uint32}
    arrays = {key: np.stack([fitting(saved, key, shapes[key], types[key]) for saved in tensors]) for key in ARRAYS}
    return _placed(runs, device.Gpu(), kind, arrays, int(tensors[0]["done"]))


def update_with_draws(state: State) -> tuple[State, Tensors]:
    """One update of a group of one, and all that was drawn in it: s [B, D], u and h [T+1, B, N], u_a and a [B]."""
    (run,) = state.runs
    rows = steps(run) + 1 if state.shape.chain else 1
    sizes = {"s": (BATCH, state.shape.inputs), "u": (rows, BATCH, state.shape.units)}
    sizes |= {"h": sizes["u"], "u_a": (BATCH,), "a": (BATCH,)}
    with state.gpu.working("the draws"):
        places = {kind: state.gpu.empty(size) for kind, size in sizes.items()}
    state = _launched(state, 1, places)
    draws = {kind: state.gpu.get(array) for kind, array in places.items()}
    cut = {"s": run.task.size, "u": run.hidden[0], "h": run.hidden[0]}
    return state, {kind: array[..., : cut.get(kind)] for kind, array in draws.items()}
