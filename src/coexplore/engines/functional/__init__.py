"""The functional engine: environments that are functions in JAX, compiled with the agents that learn in them.

What is learned, and how, is the control engine's (engines/control); nothing is left to Python between two steps. On a
CPU groups have one width, padded, and more of them share the cores; on a GPU it is a power of two from 64 to 4096:
the low bits of a result depend on it, so results and checkpoints state it, and an interrupted run goes on in its own.
Every first state and every transition has a key that follows from the run's seed, the environment's place, the episode
and the step: neither neighbours nor how the steps are cut into advances change anything.
"""

import dataclasses
import functools
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from numpy.typing import NDArray

from coexplore import network
from coexplore.engines import control as stepped
from coexplore.engines import xla
from coexplore.engines.base import checked_width, fitting
from coexplore.engines.blame import of_agent
from coexplore.engines.control.agent import numbers, pace, shapes, unscaled
from coexplore.engines.control.worlds import control, mean_returns, of_environment
from coexplore.engines.functional.loop import About, Shape, compiled, sound, train_key
from coexplore.engines.program import padded
from coexplore.engines.threefry import fused
from coexplore.engines.watched import named_leaves
from coexplore.network import Network, Params
from coexplore.programs import jit
from coexplore.run.curve import bins, full_bins
from coexplore.run.result import Result, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.tasks.control import Control
from coexplore.tasks.functional import Functions, functions

name, stream = "functional", 1
title = "JAX: any rule, environments that are functions in JAX, thousands of runs at a time"
waits, snapshots = False, False

MOST = 2**33  # bytes of a group: more runs would not be faster, and may be too much for a GPU
SECONDS = 0.4  # after which `advance` comes back, whatever it was asked for: episodes may be long
FIRST = 64  # steps, before anybody knows how long they take


@dataclasses.dataclass(frozen=True)
class State:
    """A state that was advanced is spent: its arrays are used again."""

    runs: tuple[Run, ...]
    shape: Shape
    about: Any
    worlds: Any  # a World, each array with an axis of runs
    reward: NDArray[np.float64]
    episodes: NDArray[np.int32]  # of each run
    rate: float = 0.0  # steps a second
    lost: Mapping[int, str] = dataclasses.field(default_factory=dict)  # who goes no further, and what was not finite

    @property
    def done(self) -> int:
        return int(np.delete(self.episodes, list(self.lost)).min(initial=self.shape.episodes)) // self.shape.batch

    @property
    def steps(self) -> int:
        """Of all environments of all runs."""
        return int(np.asarray(self.worlds.tally.steps)[: len(self.runs)].sum())

    @property
    def width(self) -> int:
        return self.worlds.total.shape[0]


def missing() -> str | None:
    return None


def prepare() -> None:
    """Nothing to do."""


def supports(run: Run) -> str | None:
    if not isinstance(run.task, Control) or not _functions(run):
        return "it trains environments that are functions in JAX"
    if run.task.env_steps:
        return "it trains for episodes"
    return "its critic does not draw" if run.critic and run.critic.laws else None


def _functions(run: Run) -> Functions | None:
    task = control(run)
    return functions(task.env, task.env_arg, task.max_steps, task.edition)


def caution(run: Run) -> str | None:
    found = _functions(run)
    return None if found and found.limit else stepped.caution(run)


def widths() -> tuple[int, int]:
    """Of the narrowest and the widest groups."""
    return (8, 8) if jax.default_backend() == "cpu" else (64, 4096)


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    alike, shape = defaultdict(list), functools.cache(_shape)  # which does not depend on the seed
    for run in runs:
        alike[shape(run.setting)].append(run)
    return [group for shape, same in alike.items() for group in _cut(same, shape)]


def _cut(same: list[Run], shape: Shape) -> list[list[Run]]:
    """In groups as wide as they may be."""
    narrow, wide = widths()
    each = 4 * (6 + shape.batch) * sum(int(np.prod(leaf)) for leaf in shape.shapes)
    while wide > narrow and wide * each > MOST:
        wide //= 2
    return [same[i : i + wide] for i in range(0, len(same), wide)]


def _shape(run: Run) -> Shape:
    """What runs of a group share."""
    found = _functions(run)
    assert found
    block = 1 if jax.default_backend() == "cpu" else 32  # a GPU waits for whoever looks
    structure = jax.tree.structure(numbers(run))
    return Shape(found, structure, *shapes(run), run.episodes, run.batch, bins(run.updates), block)


def start(runs: list[Run], width: int | None = None) -> State:
    return _state(runs, _about(runs, width or _width(len(runs))))


def _state(runs: list[Run], about: About) -> State:
    shape = _shape(runs[0])
    worlds = compiled(shape)[0](about.key, _weights(runs, len(about.anneal)))
    return State(tuple(runs), shape, about, worlds, np.full(len(runs), np.nan), np.zeros(len(runs), np.int32))


def _about(runs: list[Run], width: int) -> About:
    """Work that seeds of a setting have in common is done once."""

    @functools.cache
    def of(setting: Run) -> tuple[Any, Any]:
        return np.array(jax.tree.leaves(numbers(setting)), np.float32), jax.tree.map(np.asarray, pace(setting))

    filled = padded(runs, width)
    rows, paces = zip(*(of(run.setting) for run in filled), strict=True)
    keys = _train_keys(np.array([run.seed for run in filled], np.uint32))
    if any(law.passes > 1 for law in runs[0].network.actor.laws):
        keys = fused(keys)  # of chains: what draws once is drawn sooner by JAX's own
    anneal = np.array([control(run).anneal for run in filled], np.float32)
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *paces)
    return About(jnp.asarray(np.stack(rows)), stacked, keys, jnp.asarray(anneal))


def _weights(runs: list[Run], width: int) -> Any:
    """Before anything is learned. Seeds of a setting begin together."""
    of_setting: dict[Run, list[Run]] = defaultdict(list)
    for run in dict.fromkeys(runs):
        of_setting[run.setting].append(run)
    weights: dict[Run, Any] = {}
    for setting, same in of_setting.items():
        seeds = np.array([run.seed for run in same], np.uint32)
        weights |= zip(same, np.asarray(_first_weights(setting.network, setting.sizes, seeds)), strict=True)
    return jnp.asarray(np.stack(padded([weights[run] for run in runs], width)))


@functools.partial(jit, static_argnames="sizes")
def _first_weights(net: Network, sizes: tuple[int, ...], seeds: Any) -> Float[Array, "k n"]:
    """As `Run.init` has them, each run's in a row."""
    return jax.vmap(lambda seed: ravel_pytree(network.init(net, sizes, network.root_keys(seed)[0]))[0])(seeds)


def _width(runs: int) -> int:
    """The narrowest that has room for them."""
    width, _ = widths()
    while width < runs:
        width *= 2
    return width


_compiling: dict[Any, threading.Lock] = defaultdict(threading.Lock)


def advance(state: State, updates: int) -> State:
    goal, until = state.done + updates, time.perf_counter() + SECONDS
    state = _looked(state)
    if updates == 0:
        with _compiling[state.shape, state.width]:  # threads that need the same program compile it once
            return _advanced(state, goal, 0)
    state = _advanced(state, goal, FIRST)  # at least: it must move on
    while state.done < goal and (left := until - time.perf_counter()) > 0:
        state = _advanced(state, goal, max(FIRST, int(left * state.rate)))
    sums, counts = np.asarray(state.worlds.tally.recent, np.float64).T[:, : len(state.runs)]
    reward = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return dataclasses.replace(state, reward=reward)


def _looked(state: State) -> State:
    """From now on returns are recent."""
    worlds = eqx.tree_at(lambda worlds: worlds.tally.recent, state.worlds, jnp.zeros((state.width, 2)))
    return dataclasses.replace(state, worlds=worlds)


def _advanced(state: State, goal: int, steps: int) -> State:
    began, before = time.perf_counter(), int(state.worlds.agent.t.max())
    lost = np.array(padded([i in state.lost for i in range(len(state.runs))], state.width))
    worlds = compiled(state.shape)[1](state.about, state.worlds, np.int32(steps), np.int32(goal), lost)
    episodes = np.asarray(worlds.tally.episodes)[: len(state.runs)]
    newly = np.flatnonzero(~(np.asarray(_sound(worlds)) | lost)[: len(state.runs)]).tolist()
    found = {**state.lost, **{i: _first_lost(state.runs[i], state.shape, worlds, i) for i in newly}}
    rate = (int(worlds.agent.t.max()) - before) / (time.perf_counter() - began)
    return dataclasses.replace(state, worlds=worlds, episodes=episodes, rate=rate, lost=found)


def _first_lost(run: Run, shape: Shape, worlds: Any, i: int) -> str:
    """What was not finite first in this run's last step: an answer of its environments, or something of its agent."""
    agent, seen, steps = worlds.agent, worlds.seen, int(worlds.tally.steps[i])
    if not all(np.isfinite(answer[i]).all() for answer in seen[:3]):
        what = "an observation" if np.isfinite(seen.r[i]).all() else "a reward"
        return of_environment(run, f"{what} is not finite, {f'in step {steps}' if steps else 'after reset'}")
    params, ascent = (jax.tree.map(np.asarray, shape.named(each[i])) for each in (agent.weights, agent.m))
    return of_agent(run, params, ascent, steps)


def finish(state: State) -> list[Result]:
    sums, steps = (np.asarray(x) for x in (state.worlds.tally.sums, state.worlds.tally.steps))
    ended = zip(state.runs, sums, steps, params(state), strict=False)
    about = {**built(), "width": state.width}
    return [
        Result(run, name, mean_returns(run, sums).astype(np.float32), final, {**about, "steps": int(steps)})
        for run, sums, steps, final in ended
    ]


def built() -> dict[str, Json]:
    import gymnasium

    return {**xla.built(), "gymnasium": gymnasium.__version__}


def params(state: State) -> list[Params]:
    """For observations as the environment gives them, whatever the agents scaled them by."""
    agent, scaled = state.worlds.agent, control(state.runs[0]).scaling != "none"
    named = jax.tree.map(np.asarray, (_unscaled if scaled else _named)(state.shape, agent))
    return [jax.tree.map(lambda leaf, g=g: leaf[g], named) for g in range(len(state.runs))]


def look(state: State) -> Tensors:
    """An environment has no states to look at as one likes."""
    return {}


def tensors(state: State) -> list[Tensors]:
    about = {"done": np.asarray(state.done), "width": np.asarray(state.width)}
    arrays = {name: np.asarray(leaf) for name, leaf in named_leaves(state.worlds).items()}
    return [{**{name: array[g] for name, array in arrays.items()}, **about} for g in range(len(state.runs))]


def restore(runs: list[Run], tensors: list[Tensors]) -> State:
    state = start(runs, width(tensors[0]))
    saved, structure = padded(tensors, state.width), jax.tree.structure(state.worlds)
    leaves = [
        jnp.asarray(np.stack([fitting(one, name, leaf.shape[1:], leaf.dtype) for one in saved]))
        for name, leaf in named_leaves(state.worlds).items()
    ]
    worlds = jax.tree.unflatten(structure, leaves)
    return dataclasses.replace(state, worlds=worlds, episodes=np.asarray(worlds.tally.episodes)[: len(runs)])


def width(tensors: Tensors) -> int:
    return checked_width(tensors, widths())


def curve(run: Run, tensors: Tensors) -> NDArray[np.float64]:
    return mean_returns(run, tensors["tally.sums"])[: full_bins(int(tensors["done"]), run.updates)]


@functools.partial(jit, static_argnums=0)
def _named(shape: Shape, agent: Any) -> Any:
    return jax.vmap(shape.named)(agent.weights)


@functools.partial(jit, static_argnums=0)
def _unscaled(shape: Shape, agent: Any) -> Any:
    return jax.vmap(lambda agent: unscaled(shape.named(agent.weights), agent.scale))(agent)


_train_keys = jit(jax.vmap(train_key))
_sound = jit(sound)
