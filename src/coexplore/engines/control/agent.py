"""One agent: what it remembers, and what a step of its environments changes; pure functions, compiled for a group."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from coexplore import network
from coexplore.critic import Critic, CriticParams, Mean
from coexplore.engines.control.worlds import control
from coexplore.engines.program import BETAS, EPSILON, OPTIONS, Program, each_rate, program
from coexplore.network import Network, Params
from coexplore.programs import jit
from coexplore.rules import Outcome
from coexplore.rules.baseline import PairPrediction, Prediction
from coexplore.rules.layer import PartParams
from coexplore.run.run import Run
from coexplore.settings import schedule, worked_out
from coexplore.tasks.control import Control

LIMIT = 10.0  # of a scaled observation
OUTCOME = 2**31 - 2  # where the key of what learns outside the optimiser branches off from a step's
CRITICS = 2**31 - 1  # where the critic's random numbers branch off from a step's, far from those of the actor's layers


class Scale(eqx.Module):
    """How many observations were seen, their mean, and their summed squares around it."""

    count: Float[Array, ""]
    mean: Float[Array, " D"]
    squares: Float[Array, " D"]


class Agent(eqx.Module):
    """What a step changes in one run with B environments; its n parameters are one vector."""

    weights: Float[Array, " n"]
    m: Float[Array, " n"]  # Adam's running means of what was climbed, and of its square
    v: Float[Array, " n"]
    traces: Float[Array, "B n"]
    scale: Scale
    s: Float[Array, "B D"]  # what it acted on last
    t: Int[Array, ""]
    value: Float[Array, " B"] | None = None  # V(s) as it was when s was seen, of a critic that draws
    drawn: Any = None  # the last activities in each environment, where something learns outside the optimiser


class Seen(NamedTuple):
    """What the environments answered: the next observation, and where an episode ended the first of the new one."""

    after: Float[Array, "B D"]
    start: Float[Array, "B D"]
    r: Float[Array, " B"]
    terminated: Float[Array, " B"]
    truncated: Float[Array, " B"]
    progress: Float[Array, ""]  # of schedules, from 0 to 1


class Pace(eqx.Module):
    """How fast each parameter learns, in the first step and in the last, and how fast its trace fades."""

    start: Float[Array, " n"]
    stop: Float[Array, " n"]
    fading: Float[Array, " n"]


def fresh(run: Run) -> Agent:
    params = run.init()
    weights, _ = ravel_pytree(params)
    D, B, n = run.task.size, run.batch, weights.size
    scale = Scale(jnp.zeros(()), jnp.zeros(D), jnp.zeros(D))
    zero = jnp.asarray(0, jnp.int32)
    value = jnp.zeros(B) if run.critic and run.critic.laws else None
    drawn = nothing_drawn(numbers(run).network, params, D, B)
    return Agent(weights, jnp.zeros(n), jnp.zeros(n), jnp.zeros((B, n)), scale, jnp.zeros((B, D)), zero, value, drawn)


def nothing_drawn(net: Network, params: Params, D: int, B: int) -> Any:
    """Zeros in the place of what an agent drew last, if anything of its network learns outside the optimiser."""
    if not network.updates_itself(net):
        return None
    act = functools.partial(network.act, worked_out(net, 0.0).actor, params)
    shapes = jax.eval_shape(act, jnp.zeros((1, D)), jax.random.key(0))
    return jax.tree.map(lambda x: jnp.zeros((B, *x.shape), x.dtype), shapes)


def numbers(run: Run) -> Program:
    """What is compiled depends neither on the environment nor on what its worlds keep track of."""
    same = dataclasses.replace(control(run).bare(), env=Control.name, anneal=0, env_arg=(), max_steps=0, env_steps=0)
    return program(run, same)


def pace(run: Run) -> Pace:
    """Every part of the network has its own rate; actor and critic have their own traces."""
    params, task, lines = run.init(), control(run), [schedule(rate) for rate in run.learning_rates]
    start, stop = (each_rate(run.rules, params, [getattr(line, end) for line in lines]) for end in ("start", "stop"))
    actor, critic = task.discount * task.actor_trace, task.discount * task.critic_trace
    fading = Params(
        jax.tree.map(lambda _: actor, params.layers),
        jax.tree.map(lambda _: critic, params.critic),
        tuple(
            PartParams(  # what a baseline learns by itself it learns from the present alone
                jax.tree.map(lambda _: 0.0, own.baseline), jax.tree.map(lambda _: actor, own.learning_signal)
            )
            for own in params.parts
        ),
    )

    def spread(values: Params) -> Any:
        """Along the vector of parameters."""
        pairs = zip(jax.tree.leaves(values), jax.tree.leaves(params), strict=True)
        return jnp.asarray(np.concatenate([np.full(leaf.size, value, np.float32) for value, leaf in pairs]))

    return Pace(spread(start), spread(stop), spread(fading))


def shapes(run: Run) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    leaves, structure = jax.tree.flatten(jax.eval_shape(run.init))
    return structure, tuple(leaf.shape for leaf in leaves)


def unravelled(structure: Any, shapes: tuple[tuple[int, ...], ...], vector: Any) -> Params:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = [vector[end - size : end] for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)]
    return jax.tree.unflatten(structure, [part.reshape(s) for part, s in zip(parts, shapes, strict=True)])


@functools.cache
def compiled(structure: Any, shapes: tuple[tuple[int, ...], ...], program: Any, agent: Any, D: int) -> Any:
    """A step of a group; compiled once for each shape of network."""
    named = functools.partial(unravelled, structure, shapes)

    def one(numbers: Any, pace: Pace, key: Any, arrays: Any, answers: Any) -> Any:
        r, terminated, truncated, progress = answers[:, 2 * D :].T
        seen = Seen(answers[:, :D], answers[:, D : 2 * D], r, terminated, truncated, progress[0])
        numbers, arrays = jax.tree.unflatten(program, list(numbers)), jax.tree.unflatten(agent, arrays)
        after, actions = step(named, numbers, pace, key, arrays, seen)
        return jax.tree.leaves(after), actions

    return jit(jax.vmap(one), compiler_options=OPTIONS, donate_argnums=3)


def step(
    named: Callable[[Any], Params], program: Program, pace: Pace, key: Key[Array, ""], agent: Agent, seen: Seen
) -> tuple[Agent, Any]:
    """One run: learn from the last transition, then act on the next observation."""
    now = worked_out(program, seen.progress)
    scale, after, start = scaled(now.task.scaling, agent.scale, seen)
    before = named(agent.weights)
    keys = jax.random.split(jax.random.fold_in(key, agent.t), seen.r.size)
    delta, value = _td_error(now, before, agent, after, start, keys, seen)
    rates = pace.start + (pace.stop - pace.start) * seen.progress
    weights, m, v = _climb(rates, agent, _weighed(now, before, delta, agent.traces) / delta.size)
    if agent.drawn is not None:
        weights = _self_updated(now, before, named(weights), agent, delta, seen.r, keys)
    actions, eligible, drawn = jax.vmap(functools.partial(acted, now, named(weights)))(start, keys)
    ended = jnp.maximum(seen.terminated, seen.truncated)
    traces = pace.fading * ((1 - ended)[:, None] * agent.traces) + eligible
    drawn = None if agent.drawn is None else drawn
    return Agent(weights, m, v, traces, scale, start, agent.t + 1, value, drawn), actions


def _self_updated(
    now: Any, before: Params, climbed: Params, agent: Agent, delta: Any, r: Any, keys: Any
) -> Float[Array, " n"]:
    """The weights with what learns outside the optimiser: the mean of what each environment makes of it. In step 0
    nothing has been drawn yet."""

    def of_one(s: Any, activities: Any, r: Any, delta: Any, key: Any) -> Any:
        outcome = Outcome(r[None], delta[None], jax.random.fold_in(key, OUTCOME), agent.t - 1)
        return network.own_updates(now.network, before, s[None], activities, outcome)

    updates = jax.tree.map(lambda x: x.mean(axis=0), jax.vmap(of_one)(agent.s, agent.drawn, r, delta, keys))
    moved = ravel_pytree(network.with_updates(climbed, updates))[0]
    return jnp.where(agent.t > 0, moved, ravel_pytree(climbed)[0])


def scaled(scaling: str, scale: Scale, seen: Seen) -> tuple[Scale, Any, Any]:
    """Both observations as the network sees them, and what has been learned of their scale."""
    if scaling == "none":
        return scale, seen.after, seen.start
    B = seen.start.shape[0]  # every observation is acted on once, so these are all there are
    count, mean = scale.count + B, scale.mean + (seen.start - scale.mean).sum(axis=0) / (scale.count + B)
    squares = scale.squares + ((seen.start - scale.mean) * (seen.start - mean)).sum(axis=0)
    now = Scale(count, mean, squares)

    def seen_as(o: Array) -> Array:
        return jnp.clip((o - mean) / _width(now), -LIMIT, LIMIT)

    return now, seen_as(seen.after), seen_as(seen.start)


def _width(scale: Scale) -> Any:
    """The standard deviation; 1 for what has never moved."""
    return jnp.where(scale.squares > 0, jnp.sqrt(scale.squares / scale.count + 1e-8), 1.0)


def unscaled(params: Params, scale: Scale) -> Params:
    """The network that sees o as this one sees (o − mean) / width: the first layer, the critic's and a baseline that
    predicts activity from the input take the scale into their weights and biases. A critic that is a mean has none."""

    def first(layer: Any, W: str = "W", b: str = "b") -> Any:
        scaled = getattr(layer, W) / _width(scale)[:, None]
        return dataclasses.replace(layer, **{W: scaled, b: getattr(layer, b) - scale.mean @ scaled})

    critic = params.critic
    if critic is not None and not isinstance(critic.layers[0], Mean):
        lowest, *others = critic.layers
        critic = CriticParams.of([first(lowest), *others])
    own, *deeper = params.parts
    if isinstance(own.baseline, Prediction | PairPrediction):
        own = dataclasses.replace(own, baseline=first(own.baseline, "U", "u"))
    return Params((first(params.layers[0]), *params.layers[1:]), critic, (own, *deeper))


def _td_error(
    now: Any, params: Params, agent: Agent, after: Any, start: Any, keys: Any, seen: Seen
) -> tuple[Float[Array, " B"], Float[Array, " B"] | None]:
    """r + γ V(s′) − V(s); and, of a critic that draws, what V(s) will be in the next."""
    limit = now.task.reward_limit
    r = jnp.where(limit > 0, jnp.clip(seen.r, -limit, limit), seen.r)
    critic, value = now.network.critic, None
    if critic is None:
        return r, None
    B = r.size
    if critic.laws:
        drawn = functools.partial(_drawn_value, critic, params.critic)
        old, new, value = agent.value, jax.vmap(drawn)(after, keys), jax.vmap(drawn)(start, keys)
    else:
        values = critic.value(params.critic, jnp.concatenate([agent.s, after]))
        old, new = values[:B], values[B:]
    delta = r + now.task.discount * (1 - seen.terminated) * new - old
    return delta * (1 - seen.truncated) if now.task.truncation == "ignore" else delta, value


def _drawn_value(critic: Critic, params: CriticParams, s: Float[Array, " D"], key: Key[Array, ""]) -> Float[Array, ""]:
    return network.value(critic, params, s[None], jax.random.fold_in(key, CRITICS))[0]


def _weighed(now: Any, params: Params, delta: Float[Array, " B"], traces: Float[Array, "B n"]) -> Float[Array, " n"]:
    """Σ δ z over the environments, or of what a parameter learns from where that is not δ."""
    each = network.weights(now.network, params, delta)
    if each is None:
        return jnp.einsum("b,bn->n", delta, traces)
    pairs = zip(jax.tree.leaves(each), jax.tree.leaves(params), strict=True)
    along = [jnp.broadcast_to(signal[:, None], (delta.size, leaf.size)) for signal, leaf in pairs]
    return jnp.einsum("bn,bn->n", jnp.concatenate(along, axis=1), traces)


def _climb(rates: Float[Array, " n"], agent: Agent, ascent: Float[Array, " n"]) -> tuple[Any, Any, Any]:
    """Adam, upwards. Written out because optax divides three times for each parameter, which took a tenth of a step.

    In step 0 there is nothing to learn from: traces are 0, so nothing moves.
    """
    t, (b1, b2) = jnp.maximum(agent.t, 1).astype(jnp.float32), BETAS
    m = agent.m + (1 - b1) * (ascent - agent.m)
    v = agent.v + (1 - b2) * (ascent**2 - agent.v)
    first, second = 1 / (1 - b1**t), 1 / (1 - b2**t)
    return agent.weights + rates * first * m / (jnp.sqrt(second * v) + EPSILON), m, v


def acted(now: Any, params: Params, s: Float[Array, " D"], key: Key[Array, ""]) -> tuple[Any, Float[Array, " n"], Any]:
    """An action at s, what it adds to the trace, and the activities: a batch of one."""
    activities = network.act(now.network.actor, params, s[None], key)
    eligible = network.eligibility(now.network, params, s[None], activities, jax.random.fold_in(key, CRITICS))
    return network.action(now.network, activities)[0], ravel_pytree(eligible)[0], activities
