"""Agents and their environments in one loop that is compiled: pure functions, for a group of runs.

A step is that of the control engine, whose agents these are. Runs that are over, and all runs once the group is as far
as it should go, are frozen: what is computed for them is thrown away.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from coexplore import network
from coexplore.engines.control.agent import Agent, Pace, Scale, Seen, nothing_drawn, step, unravelled
from coexplore.engines.program import OPTIONS, Program
from coexplore.programs import jit
from coexplore.tasks.functional import Functions

ENVIRONMENTS = np.uint32(2**32 - 1)  # the key that a run's environments begin with: agents never get that far


class Tally(eqx.Module):
    """What a run counts: its steps, its episodes, their returns."""

    steps: Int[Array, ""]
    episodes: Int[Array, ""]
    sums: Float[Array, " P"]  # of the returns in each bin of the curve
    bin: Int[Array, ""]  # ⌊u·P / U⌋ for the update u under way …
    phase: UInt32[Array, ""]  # … and u·P mod U; the product itself would overflow
    recent: Float[Array, " 2"]  # the sum of returns since somebody last looked, and how many
    sound: Bool[Array, ""]  # whether all that was seen was a number


class World(eqx.Module):
    """One run: its agent, its B environments, and how far they are."""

    agent: Agent
    actions: Any  # drawn, and not yet taken
    state: Any
    keys: UInt32[Array, "B 2"]
    elapsed: Int[Array, " B"]  # steps of the episode under way
    episode: Int[Array, " B"]  # how many came before it
    total: Float[Array, " B"]
    seen: Seen
    tally: Tally


class About(NamedTuple):
    """A run in numbers: a row of its program's, how fast it learns, and its key."""

    numbers: Any
    pace: Pace
    key: Any
    anneal: Any  # steps after which schedules are at their end; 0: with the last episode


class Shape(NamedTuple):
    """What is compiled: for runs of one network, one environment and one length."""

    functions: Functions
    program: Any  # its structure
    params: Any
    shapes: tuple[tuple[int, ...], ...]
    episodes: int
    batch: int
    points: int  # of the curve
    block: int  # steps between two looks at how far the group is: where looking costs, several

    def named(self, weights: Any) -> Any:
        return unravelled(self.params, self.shapes, weights)

    def numbers(self, row: Any) -> Program:
        return jax.tree.unflatten(self.program, list(row))


@functools.cache
def compiled(shape: Shape) -> tuple[Any, Any]:
    """How a group begins, and how it goes on."""

    def go_on(about: Any, worlds: Any, steps: Any, goal: Any, lost: Any) -> Any:
        """Until a run that was not lost before has lost its numbers, at the latest."""

        def updates(worlds: Any) -> Any:
            return jnp.where(lost, shape.episodes, worlds.tally.episodes).min() // shape.batch

        def one(worlds: Any, _: Any) -> tuple[Any, None]:
            here = (worlds.tally.episodes < shape.episodes) & (updates(worlds) < goal) & ~lost
            here = here & sound(worlds) if shape.block > 1 else here  # without blocks `on` has asked
            return jax.vmap(functools.partial(_step, shape))(about, worlds, here), None

        def body(carry: Any) -> Any:
            done, worlds = carry
            worlds, _ = jax.lax.scan(one, worlds, length=shape.block)
            return done + shape.block, worlds

        def on(carry: Any) -> Any:
            others = [(part | lost[:, None]).all() for part in _finite(carry[1])]  # sooner than run by run
            return (carry[0] < steps) & (updates(carry[1]) < goal) & functools.reduce(jnp.logical_and, others)

        return jax.lax.while_loop(on, body, (jnp.int32(0), worlds))[1]

    begin = jit(jax.vmap(functools.partial(_begin, shape)))
    return begin, jit(go_on, compiler_options=OPTIONS, donate_argnums=1)


def sound(worlds: World) -> Bool[Array, " G"]:
    """Of a group, which runs have seen nothing but numbers, are made of them, and are about to do one."""
    return functools.reduce(jnp.logical_and, [part.all(axis=1) for part in _finite(worlds)])


def _finite(worlds: World) -> list[Bool[Array, "G _"]]:
    """Of a group, run by run: where weights and actions are numbers, and whether all that was seen was."""
    parts = [jnp.isfinite(part) for part in (worlds.agent.weights, worlds.actions)]
    return [part.reshape(part.shape[0], -1) for part in (*parts, worlds.tally.sound)]


def _keys(key: Any, episode: Any) -> Any:
    """Of each environment's episode of this number."""
    mine = jax.random.key_data(jax.random.fold_in(key, ENVIRONMENTS))
    of_place = jax.vmap(jax.random.fold_in, (None, 0))(mine, jnp.arange(episode.size))
    return jax.vmap(jax.random.fold_in)(of_place, episode)


def _begin(shape: Shape, key: Any, weights: Float[Array, " n"]) -> World:
    """A run before its first step: nothing is drawn yet."""
    B = shape.batch
    none, zeros = jnp.zeros(B, jnp.int32), jnp.zeros(B)
    state, keys, start = jax.vmap(shape.functions.begin)(_keys(key, none))
    seen = Seen(jnp.zeros_like(start), start, zeros, zeros, zeros, jnp.zeros(()))
    zero, sums = jnp.int32(0), jnp.zeros(shape.points)
    tally = Tally(zero, zero, sums, zero, jnp.uint32(0), jnp.zeros(2), jnp.asarray(True))
    action, (n,), D = shape.functions.action, weights.shape, start.shape[1]
    scale, none_yet = Scale(jnp.zeros(()), jnp.zeros(D), jnp.zeros(D)), jnp.zeros((B, D))
    net = shape.numbers(jnp.zeros(shape.program.num_leaves)).network
    drawn = nothing_drawn(net, shape.named(weights), D, B)
    agent = Agent(weights, jnp.zeros(n), jnp.zeros(n), jnp.zeros((B, n)), scale, none_yet, zero, drawn=drawn)
    return World(agent, jnp.zeros((B, *action.shape), action.dtype), state, keys, none, none, zeros, seen, tally)


def _step(shape: Shape, about: About, before: World, here: Any) -> World:
    """One step of a run, if it is `here` and not frozen: its environments', then its agent's. The first is the agent's
    alone, which has to act before it is answered."""
    answered = here & (before.agent.t > 0)
    after, returns = _stepped(shape, about, before)
    returns = jnp.where(answered, returns, 0)
    sums = before.tally.sums.at[before.tally.bin].add(returns[0])
    if shape.batch > 1:  # some of the episodes that ended may belong to the next update
        sums = sums.at[after.tally.bin].add(returns[1])
    after = _either(answered, after, before)
    still = jnp.where(here, 1.0, 0.0)  # a rate of 0 freezes weights; to choose between old and new takes twice as long
    pace = dataclasses.replace(about.pace, start=still * about.pace.start, stop=still * about.pace.stop)
    agent, actions = step(shape.named, shape.numbers(about.numbers), pace, about.key, before.agent, after.seen)
    if agent.drawn is not None:  # what learns outside the optimiser has no rate
        agent = dataclasses.replace(agent, weights=_either(here, agent.weights, before.agent.weights))
    if shape.block > 1:  # those that are not `here` may go on
        weights, was = agent.weights, (before.agent, before.actions)
        agent, actions = _either(here, (agent, actions), was)
        agent = dataclasses.replace(agent, weights=weights)
    else:  # those are over, and nothing but their weights and their scale will be asked for
        agent = dataclasses.replace(agent, scale=_either(here, agent.scale, before.agent.scale))
    tally = dataclasses.replace(after.tally, sums=sums)
    return dataclasses.replace(after, agent=agent, actions=actions, tally=tally)


def _either(here: Any, one: Any, other: Any) -> Any:
    return jax.tree.map(lambda x, y: x if x is y else jnp.where(here, x, y), one, other)


def _stepped(shape: Shape, about: About, before: World) -> tuple[World, Any]:
    """The environments one step later, and the returns that ended in this update and in the next.

    They are asked one after another: once the last episode of the run is over, nobody is asked any more, and what the
    others answered before stands.
    """
    was, moved = before.tally, _moved(shape, before)
    number = was.episodes + jnp.cumsum(moved.ended) - moved.ended
    asked = number < shape.episodes
    ended = jnp.where(asked, moved.ended, 0)
    over, episode = ended > 0, before.episode + ended
    first = jax.vmap(shape.functions.begin)(_keys(about.key, episode))
    state, keys, start = _chosen(over, first, (moved.state, moved.keys, moved.o))
    progress = _progress(shape, about, was, ended[0])
    answers = Seen(moved.o, start, moved.r, moved.terminated, moved.truncated, progress)
    seen = _chosen(asked, answers, before.seen._replace(progress=progress))
    returns, now = jnp.where(over, moved.total, 0), number // shape.batch == was.episodes // shape.batch
    split = jnp.stack([jnp.where(now, returns, 0).sum(), jnp.where(now, 0, returns).sum()])
    tally = _counted(shape, was, asked.sum(dtype=jnp.int32), ended.sum(), returns.sum(), seen)
    counts = jnp.where(over, 0, moved.elapsed), episode, jnp.where(over, 0, moved.total)
    return World(before.agent, before.actions, state, keys, *counts, seen, tally), split


class Moved(NamedTuple):
    """What the environments of a run answer."""

    state: Any
    keys: Any
    o: Any
    r: Any
    terminated: Any
    truncated: Any
    ended: Any
    elapsed: Any
    total: Any


def _moved(shape: Shape, before: World) -> Moved:
    """An episode is cut short at its limit, unless it is over anyway."""
    functions, elapsed = shape.functions, before.elapsed + 1
    state, keys, o, r, terminated = jax.vmap(functions.take)(before.state, before.keys, before.actions)
    cut = elapsed >= functions.limit if functions.limit else jnp.zeros_like(terminated)
    truncated = (cut & ~terminated).astype(jnp.float32)
    ended, terminated = (terminated | cut).astype(jnp.int32), terminated.astype(jnp.float32)
    return Moved(state, keys, o, r, terminated, truncated, ended, elapsed, before.total + r)


def _chosen(mask: Any, one: Any, other: Any) -> Any:
    """For each environment one thing or the other."""
    return jax.tree.map(
        lambda x, y: x if x is y else jnp.where(mask.reshape(mask.shape + (1,) * (x.ndim - 1)), x, y), one, other
    )


def _counted(shape: Shape, was: Tally, steps: Any, ended: Any, returns: Any, seen: Any) -> Tally:
    episodes = was.episodes + ended
    U, P = shape.episodes // shape.batch, shape.points
    moved = episodes // shape.batch > was.episodes // shape.batch
    phase = was.phase + np.uint32(P)
    full = moved & (phase >= np.uint32(U))
    phase = jnp.where(moved, jnp.where(full, phase - np.uint32(U), phase), was.phase)
    recent = was.recent + jnp.stack([returns, ended.astype(jnp.float32)])
    finite = functools.reduce(jnp.logical_and, [jnp.isfinite(x).all() for x in seen[:3]])
    place = jnp.minimum(was.bin + full.astype(jnp.int32), P - 1)
    return Tally(was.steps + steps, episodes, was.sums, place, phase, recent, was.sound & finite)


def _progress(shape: Shape, about: About, was: Tally, ended: Any) -> Any:
    """How far schedules are once the first environment has answered, and its episode has ended or not."""
    by_steps = (was.steps + 1).astype(jnp.float32) / jnp.maximum(about.anneal, 1)
    by_episodes = (was.episodes + ended).astype(jnp.float32) / np.float32(shape.episodes)
    return jnp.minimum(1.0, jnp.where(about.anneal > 0, by_steps, by_episodes))


def train_key(seed: Any) -> Any:
    return network.root_keys(seed)[1]
