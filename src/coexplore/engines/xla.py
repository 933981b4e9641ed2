"""The xla engine: a run as compiled chunks of updates in JAX, for any rule and any task.

Runs of one shape share one compilation, whatever their seeds and numbers and however long a chunk is.
They are vmapped in groups of one fixed width, the last group padded, since the low bits of a result
depend on the width. On a CPU that width is 1: a core is better used by a run of its own than by a wide vmap.
"""

import dataclasses
import platform
import threading
from collections import defaultdict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from coexplore import network
from coexplore.critic import CriticParams
from coexplore.fields import Linear
from coexplore.network import Params
from coexplore.result import Result, bin_sizes, bins
from coexplore.run import Run

COUNTS = ("t", "bin", "phase")  # how far a group is: the same for all its runs
BETAS, EPSILON = (0.9, 0.999), 1e-8
ADAM = optax.scale_by_adam(*BETAS, EPSILON)


class Program(eqx.Module):
    """What the compiled update needs to know of a run: its numbers, each as a schedule, are leaves."""

    layers: Any
    critic: Any
    task: Any
    rates: Any
    batch: int = eqx.field(static=True)


class Training(eqx.Module):
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
    training: Training
    reward: Any  # of each run, over the last advance

    @property
    def done(self) -> int:
        return int(self.training.t)


class Draws(eqx.Module):
    """All that one update of a run drew, and the rewards (stacked for a group), so that a test can replay it."""

    s: Float[Array, "B D"]
    activities: Any
    r: Float[Array, " B"]


def missing() -> str | None:
    return None


def supports(run: Run) -> str | None:
    return None if run.task.one_step else "it has no environments"


def usual_width() -> int:
    return 1 if jax.default_backend() == "cpu" else 64


def groups(runs: list[Run]) -> list[list[Run]]:
    shapes = defaultdict(list)
    for run in runs:
        shapes[_shape(run)].append(run)
    width = usual_width()
    return [same[i : i + width] for same in shapes.values() for i in range(0, len(same), width)]


def start(runs: list[Run], width: int | None = None) -> State:
    width = width or usual_width()
    padded = [*runs, *[runs[-1]] * (width - len(runs))]
    params = stack([network.init(run) for run in padded])
    zero = jnp.asarray(0, jnp.int32)
    training = Training(params, _moments(params), jnp.zeros((width, bins(runs[0].updates))), zero, zero, zero)
    programs = stack([program(run) for run in padded])
    keys = jnp.stack([network.root_keys(run.seed)[1] for run in padded])
    return State(tuple(runs), programs, keys, training, np.full(len(runs), np.nan))


_compiling: dict[Any, threading.Lock] = defaultdict(threading.Lock)


def advance(state: State, updates: int) -> State:
    if updates == 0:
        with _compiling[_shape(state.runs[0])]:  # threads that need the same program compile it once
            return _advanced(state, 0)
    return _advanced(state, min(updates, state.runs[0].updates - state.done))


def _advanced(state: State, n: int) -> State:
    U = state.runs[0].updates
    training, rewards = _advance(state.program, state.keys, np.int32(U), state.training, np.int32(n))
    reward = np.asarray(rewards)[: len(state.runs)] / n if n else state.reward
    return dataclasses.replace(state, training=training, reward=reward)


def finish(state: State) -> list[Result]:
    results = []
    for run, sums, final in zip(state.runs, np.asarray(state.training.curve), params(state), strict=False):
        results.append(Result(run, "xla", sums / bin_sizes(run.updates).astype(np.float32), final, built()))
    return results


def built() -> dict[str, Any]:
    return {"jax": jax.__version__, "device": jax.devices()[0].device_kind, "machine": platform.machine()}


def params(state: State) -> list[Params]:
    return _each(state, state.training.params)


def tensors(state: State) -> list[dict[str, np.ndarray]]:
    counts = {name: np.asarray(getattr(state.training, name)) for name in COUNTS}
    saved = _each(state, (state.training.params, state.training.moments, state.training.curve))
    return [
        {**dict(zip(map(str, range(len(leaves))), leaves, strict=True)), **counts, "done": counts["t"]}
        for leaves in map(jax.tree.leaves, saved)
    ]


def restore(runs: list[Run], tensors: list[dict[str, np.ndarray]]) -> State:
    state = start(runs)
    old = state.training
    width, (leaves, structure) = old.curve.shape[0], jax.tree.flatten((old.params, old.moments, old.curve))
    padded = [*tensors, *[tensors[-1]] * (width - len(tensors))]
    stacked = [jnp.asarray(np.stack([saved[str(i)] for saved in padded])) for i in range(len(leaves))]
    counts = {name: jnp.asarray(tensors[0][name]) for name in COUNTS}
    return dataclasses.replace(state, training=Training(*jax.tree.unflatten(structure, stacked), **counts))


def _each(state: State, tree: Any) -> list[Any]:
    """The tree of each run, without the group's axis and without the padding."""
    tree = jax.tree.map(np.asarray, tree)
    return [jax.tree.map(lambda leaf, g=g: leaf[g], tree) for g in range(len(state.runs))]


def update_with_draws(state: State) -> tuple[State, Draws]:
    """One update, and all that was drawn in it."""
    program, keys, training = state.program, state.keys, state.training
    training, draws = _one_update(program, keys, np.int32(state.runs[0].updates), training)
    return dataclasses.replace(state, training=training), draws


def program(run: Run, task: Any = None) -> Program:
    numbers = (network.layers(run), run.critic, task or run.task, run.learning_rates)
    layers, critic, task, rates = jax.tree.map(schedule, numbers, is_leaf=_is_schedule)
    return Program(layers, critic, task, rates, run.batch)


def _shape(run: Run) -> Any:
    return jax.tree.structure(program(run)), run.hidden, run.updates


def at(program: Program, progress: Any) -> Any:
    """The numbers that hold at this point of the training."""
    return jax.tree.map(lambda x: x.at(progress), program, is_leaf=_is_schedule)


def _is_schedule(x: Any) -> bool:
    return isinstance(x, Linear)


def schedule(x: Any) -> Linear:
    """A number as a schedule, so that constants and schedules share a compilation."""
    return x if isinstance(x, Linear) else Linear(x, x)


def stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves), jnp.float32), *trees)


def _update(program: Program, key: Key[Array, ""], progress: Any, params: Params, moments: Any) -> Any:
    """One update of one run: sample S, draw H and A, observe R, give credit, step."""
    now = at(program, progress)
    state_key, act_key = jax.random.split(key)
    state = now.task.sample(now.batch, state_key)
    s = now.task.observe(state)
    drawn = network.act(now.layers, params, s, act_key)
    activities, r = network.outcome(now.task, now.layers, params, state, drawn)
    credit = network.learn(now.layers, now.critic, params, s, activities, r, now.task.graded)
    return *_ascend(params, moments, credit, now.rates), Draws(s, activities, r)


def _ascend(params: Params, moments: Any, credit: Params, rates: tuple[Any, ...]) -> tuple[Params, Any]:
    """Adam, upwards, every part of the network at its own rate."""
    with jax.numpy_dtype_promotion("standard"):  # optax mixes an integer step count with floats
        steps, moments = ADAM.update(credit, moments)

    def climb(part: Any, step: Any, rate: Any) -> Any:
        return jax.tree.map(lambda p, dp: p + rate * dp, part, step)

    layers = tuple(map(climb, params.layers, steps.layers, rates))
    if params.critic is None:
        return Params(layers, None), moments
    of_critic = map(climb, params.critic.layers, steps.critic.layers, rates[len(layers) :])
    return Params(layers, CriticParams.of(of_critic)), moments


def _update_group(program: Program, keys: Any, U: Any, training: Training) -> tuple[Training, Draws]:
    """The next update of every run of a group, and the curve kept up to date."""
    t, P = training.t, training.curve.shape[1]
    progress = t.astype(jnp.float32) / jnp.maximum(U - 1, 1).astype(jnp.float32)
    update_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, t)
    params, moments, draws = jax.vmap(_update, (0, 0, None, 0, 0))(
        program, update_keys, progress, training.params, training.moments
    )
    curve = training.curve.at[:, training.bin].add(draws.r.mean(axis=1))
    full = training.phase + P >= U
    phase = training.phase + P - jnp.where(full, U, 0)
    return Training(params, moments, curve, t + 1, training.bin + full.astype(jnp.int32), phase), draws


def _updates(program: Program, keys: Any, U: Any, training: Training, n: Any) -> tuple[Training, Any]:
    """n updates, and each run's sum of rewards over them."""

    def body(_: Any, carry: tuple[Training, Any]) -> tuple[Training, Any]:
        training, draws = _update_group(program, keys, U, carry[0])
        return training, carry[1] + draws.r.mean(axis=1)

    return jax.lax.fori_loop(0, n, body, (training, jnp.zeros(training.curve.shape[0])))


# The arithmetic of one update is small: threads inside it would cost more than they give.
OPTIONS = {"xla_cpu_multi_thread_eigen": False}
_moments = jax.jit(jax.vmap(ADAM.init))
_advance = jax.jit(_updates, compiler_options=OPTIONS)
_one_update = jax.jit(_update_group, compiler_options=OPTIONS)
