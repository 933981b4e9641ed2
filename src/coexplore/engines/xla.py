"""The xla engine: a run as compiled chunks of updates in JAX, for any rule and any task of one step.

Runs of one shape share one compilation, whatever their seeds and numbers and however long a chunk is.
They are vmapped in groups of few widths, padded, since the low bits of a result depend on the width: results and
checkpoints state it where it is not 1, and an interrupted run goes on in its own. On a CPU it is 1: a core is better
used by a run of its own than by a wide vmap. On a GPU it is a power of two from 64 to 1024.
"""

import dataclasses
import functools
import platform
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key
from numpy.typing import NDArray

from coexplore import network
from coexplore.engines.base import checked_width, fitting
from coexplore.engines.look import look as look_at_one
from coexplore.engines.look import look_at_group
from coexplore.engines.program import BETAS, EPSILON, OPTIONS, Program, data_of, each_rate, padded, program, stack
from coexplore.engines.threefry import fused
from coexplore.network import Params
from coexplore.programs import jit
from coexplore.rules import Outcome
from coexplore.run.curve import bin_sizes, bins, full_bins
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json, worked_out
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import Task

name, stream = "xla", 1
title = "JAX: any rule, any task of one step, on whatever device JAX has"
waits, snapshots = False, True

COUNTS = ("t", "bin", "phase")  # how far a group is: the same for all its runs
OUTCOME = 2  # where the key of what learns outside the optimiser branches off from an update's
MOST = 2**32  # bytes of a group: more runs would not be faster, and may be too much for a GPU
ADAM = optax.scale_by_adam(*BETAS, EPSILON)


class Progress(eqx.Module):
    """What an update changes, for a group of G runs."""

    params: Any
    moments: Any
    curve: Float[Array, "G P"]  # sums of reward; the means come at the end
    t: Int[Array, ""]  # updates done
    bin: Int[Array, ""]  # ⌊t·P / U⌋, the bin of the curve that the next update falls into …
    phase: Int[Array, ""]  # … and t·P mod U; the product itself would overflow


@dataclasses.dataclass(frozen=True)
class State:
    runs: tuple[Run, ...]
    program: Program
    keys: Any
    progress: Progress
    reward: NDArray[np.float64]
    data: Any = None  # of their task: on the device once, for all of them

    @property
    def done(self) -> int:
        return int(self.progress.t)

    @property
    def width(self) -> int:
        return self.progress.curve.shape[0]


class Draws(eqx.Module):
    """All that one update of a run drew, and the rewards (stacked for a group), so that a test can replay it."""

    s: Float[Array, "B D"]
    activities: Any
    r: Float[Array, " B"]


def missing() -> str | None:
    return None


def prepare() -> None:
    """Nothing to do."""


def supports(run: Run) -> str | None:
    return None if isinstance(run.task, Task) else "it has no environments"


def caution(run: Run) -> str | None:
    return None


def widths() -> tuple[int, int]:
    """Of the narrowest and the widest groups."""
    return (1, 1) if jax.default_backend() == "cpu" else (64, 1024)


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    shapes, shape = defaultdict(list), functools.cache(_shape)  # which does not depend on the seed
    for run in runs:
        shapes[shape(run.setting)].append(run)
    return [group for same in shapes.values() for group in _cut(same)]


def _cut(same: list[Run]) -> list[list[Run]]:
    """In groups as wide as they may be."""
    narrow, wide = widths()
    if wide > narrow:
        each = _bytes(same[0])
        while wide > narrow and wide * each > MOST:
            wide //= 2
    return [same[i : i + wide] for i in range(0, len(same), wide)]


def _bytes(run: Run) -> int:
    """What a run holds during an update: parameters, moments, curve, and all that it draws."""
    one = start([run], width=1)
    held = jax.eval_shape(_update_group, one.program, one.data, one.keys, np.int32(run.updates), one.progress)
    return 4 * sum(leaf.size for leaf in jax.tree.leaves(held))


def start(runs: list[Run], width: int | None = None) -> State:
    width = width or _width(len(runs))
    params = stack(padded([run.init() for run in runs], width))
    zero = jnp.asarray(0, jnp.int32)
    progress = Progress(params, _moments(params), jnp.zeros((width, bins(runs[0].updates))), zero, zero, zero)
    one_program = functools.cache(program)  # for all seeds of a setting
    programs = stack(padded([one_program(run.setting) for run in runs], width))
    keys = _train_keys(np.array(padded([run.seed for run in runs], width), np.uint32))
    data = on_device(data_of(runs[0]))
    return State(tuple(runs), programs, keys, progress, np.full(len(runs), np.nan), data)


def _width(runs: int) -> int:
    """The narrowest that has room for them."""
    width, _ = widths()
    while width < runs:
        width *= 2
    return width


_compiling: dict[Any, threading.Lock] = defaultdict(threading.Lock)


def advance(state: State, updates: int) -> State:
    if updates == 0:
        with _compiling[_shape(state.runs[0]), state.width]:  # threads that need the same program compile it once
            return _advanced(state, 0)
    return _advanced(state, min(updates, state.runs[0].updates - state.done))


def _advanced(state: State, n: int) -> State:
    U = state.runs[0].updates
    progress, rewards = _advance(state.program, state.data, state.keys, np.int32(U), state.progress, np.int32(n))
    reward = np.asarray(rewards, np.float64)[: len(state.runs)] / n if n else state.reward
    return dataclasses.replace(state, progress=progress, reward=reward)


def finish(state: State) -> list[Result]:
    results, origin = [], {**built(), **({"width": state.width} if state.width > 1 else {})}
    for run, sums, final in zip(state.runs, np.asarray(state.progress.curve), params(state), strict=False):
        results.append(Result(run, name, sums / bin_sizes(run.updates).astype(np.float32), final, origin))
    return results


def built() -> dict[str, Json]:
    return {"jax": jax.__version__, "device": jax.devices()[0].device_kind, "machine": platform.machine()}


def params(state: State) -> list[Params]:
    return _each(state, state.progress.params)


def look(state: State) -> Tensors:
    if state.width > 1:
        return look_at_group(state.runs, state.program.network.actor, state.progress.params, state.done)
    return look_at_one(state.runs[0], params(state)[0], state.done)


def tensors(state: State) -> list[Tensors]:
    """The leaves of parameters, moments and curve, numbered in that order, and how far and wide the group is."""
    counts = {count: np.asarray(getattr(state.progress, count)) for count in COUNTS}
    about = {**counts, "done": counts["t"], **({"width": np.asarray(state.width)} if state.width > 1 else {})}
    own = _each(state, (state.progress.params, state.progress.moments, state.progress.curve))
    return [
        {**dict(zip(map(str, range(len(leaves))), leaves, strict=True)), **about}
        for leaves in map(jax.tree.leaves, own)
    ]


def restore(runs: list[Run], tensors: list[Tensors]) -> State:
    state, U = start(runs, width(tensors[0])), runs[0].updates
    old = state.progress
    leaves, structure = jax.tree.flatten((old.params, old.moments, old.curve))
    filled = padded(tensors, state.width)
    stacked = [
        jnp.asarray(np.stack([fitting(saved, str(i), leaf.shape[1:], leaf.dtype) for saved in filled]))
        for i, leaf in enumerate(leaves)
    ]
    done = int(tensors[0]["done"])
    counts = [jnp.asarray(count, jnp.int32) for count in (done, *divmod(done * bins(U), U))]
    return dataclasses.replace(state, progress=Progress(*jax.tree.unflatten(structure, stacked), *counts))


def width(tensors: Tensors) -> int:
    return checked_width(tensors, widths()) if "width" in tensors else widths()[0]  # once there was one, and unsaid


def curve(run: Run, tensors: Tensors) -> NDArray[np.float64]:
    sums = tensors[str(max(int(leaf) for leaf in tensors if leaf.isdecimal()))]
    full = full_bins(int(tensors["done"]), run.updates)
    return sums[:full] / bin_sizes(run.updates)[:full]


def _each(state: State, tree: Any) -> list[Any]:
    """The tree of each run, without the group's axis and without the padding."""
    tree = jax.tree.map(np.asarray, tree)
    return [jax.tree.map(lambda leaf, g=g: leaf[g], tree) for g in range(len(state.runs))]


def update_with_draws(state: State) -> tuple[State, Draws]:
    """One update, and all that was drawn in it."""
    U = np.int32(state.runs[0].updates)
    progress, draws = _one_update(state.program, state.data, state.keys, U, state.progress)
    return dataclasses.replace(state, progress=progress), draws


def _shape(run: Run) -> Any:
    """What runs of a group share. Their data too: a task may make others where its settings differ."""
    data = tuple(map(id, jax.tree.leaves(data_of(run))))
    return jax.tree.structure(program(run)), run.hidden, run.updates, data


def update(program: Program, data: Any, key: Key[Array, ""], progress: Any, params: Params, moments: Any) -> Any:
    """One update of one run: sample S, draw H and A, observe R, give credit, step."""
    now = worked_out(program, progress)
    task, actor = now.task.holding(data), now.network.actor
    state_key, act_key = jax.random.split(key)
    state = task.sample(now.batch, state_key)
    s = task.observe(state)
    drawn = network.act(actor, params, s, act_key)
    activities, r = network.outcome(task, actor, params, state, drawn)
    credit = network.learn(now.network, params, s, activities, r, task.graded)
    climbed, after = _ascend(now, params, moments, credit)
    if network.updates_itself(now.network):
        delta = network.advantage(now.network, params, s, r)
        outcome = Outcome(r, delta, jax.random.fold_in(key, OUTCOME), moments.count)
        climbed = network.with_updates(climbed, network.own_updates(now.network, params, s, activities, outcome))
    return climbed, after, Draws(s, activities, r)


def _ascend(now: Program, params: Params, moments: Any, credit: Params) -> tuple[Params, Any]:
    """Adam, upwards, every part of the network at its own rate."""
    with jax.numpy_dtype_promotion("standard"):  # optax mixes an integer step count with floats
        steps, moments = ADAM.update(credit, moments)

    rates = each_rate(now.network.rules, params, now.rates)
    return jax.tree.map(lambda p, dp, rate: p + rate * dp, params, steps, rates), moments


def _update_group(program: Program, data: Any, keys: Any, U: Any, before: Progress) -> tuple[Progress, Draws]:
    """The next update of every run of a group, and the curve kept up to date."""
    t, P = before.t, before.curve.shape[1]
    progress = t.astype(jnp.float32) / jnp.maximum(U - 1, 1).astype(jnp.float32)
    update_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, t)
    params, moments, draws = jax.vmap(update, (0, None, 0, None, 0, 0))(
        program, data, update_keys, progress, before.params, before.moments
    )
    curve = before.curve.at[:, before.bin].add(draws.r.mean(axis=1))
    full = before.phase + P >= U
    phase = before.phase + P - jnp.where(full, U, 0)
    return Progress(params, moments, curve, t + 1, before.bin + full.astype(jnp.int32), phase), draws


def _updates(program: Program, data: Any, keys: Any, U: Any, progress: Progress, n: Any) -> tuple[Progress, Any]:
    """n updates, and each run's sum of rewards over them."""

    def body(_: Any, carry: tuple[Progress, Any]) -> tuple[Progress, Any]:
        after, draws = _update_group(program, data, keys, U, carry[0])
        return after, carry[1] + draws.r.mean(axis=1)

    return jax.lax.fori_loop(0, n, body, (progress, jnp.zeros(progress.curve.shape[0])))


_train_keys = jit(jax.vmap(lambda seed: fused(network.root_keys(seed)[1])))
_moments = jit(jax.vmap(ADAM.init))
_advance = jit(_updates, compiler_options=OPTIONS)
_one_update = jit(_update_group, compiler_options=OPTIONS)
