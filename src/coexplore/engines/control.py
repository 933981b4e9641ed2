"""The control engine: agents in JAX, a group of runs in one compiled step, their Gymnasium environments stepped beside.

Online actor-critic with eligibility traces. In every step of an environment:

    δ = r + γ V(s′) − V(s)                               V(s′) = 0 where the episode terminated
    θ ← θ + α Adam(mean over environments of δ z)        one trace z an environment
    z ← 0 where the episode ended;  A ~ network at s′;  z ← γ λ z + eligibility of A

An "update" is what `run.batch` episodes take, since nobody knows beforehand how many steps that will be.
Groups have one fixed width, padded, because the low bits of a result depend on it.
"""

import dataclasses
import functools
import itertools
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from coexplore import network
from coexplore.critic import CriticParams
from coexplore.engines import xla
from coexplore.engines.worlds import Worlds, answer_size, replayable
from coexplore.network import Params
from coexplore.result import Result
from coexplore.run import Run
from coexplore.tasks.control import Control

WIDTH = 5  # runs that share a step
SECONDS = 0.4  # after which `advance` comes back, whatever it was asked for: episodes may be long
LIMIT = 10.0  # of a scaled observation


class Scale(eqx.Module):
    """How many observations were seen, their mean, and their summed squares around it."""

    count: Float[Array, ""]
    mean: Float[Array, " D"]
    squares: Float[Array, " D"]


class Agent(eqx.Module):
    """What a step changes in one run with B environments; its n parameters are one vector."""

    weights: Float[Array, " n"]
    moments: Any
    traces: Float[Array, "B n"]
    scale: Scale
    s: Float[Array, "B D"]  # what it acted on last
    t: Int[Array, ""]


class Seen(NamedTuple):
    """What the environments answered: the next observation, and where an episode ended the first of the new one."""

    after: Float[Array, "B D"]
    start: Float[Array, "B D"]
    r: Float[Array, " B"]
    terminated: Float[Array, " B"]
    truncated: Float[Array, " B"]
    progress: Float[Array, ""]  # of schedules, from 0 to 1


@dataclasses.dataclass
class State:
    runs: tuple[Run, ...]
    step: Any  # compiled for their shape
    program: list[Any]  # this and the agents are lists of arrays, which JAX takes apart faster than records
    keys: Any
    agents: list[Any]
    actions: Any  # drawn, and not yet taken
    answers: np.ndarray  # of all environments: each of the worlds writes its own part
    worlds: list[Worlds]  # of each run
    finals: list[Any]  # the parameters of each run that is done, else None
    reward: Any

    @property
    def done(self) -> int:
        return min(world.updates for world in self.worlds)


def missing() -> str | None:
    return None


def supports(run: Run) -> str | None:
    return run.task.missing if not run.task.one_step else "it steps environments"


def caution(run: Run) -> str | None:
    if replayable(run.task.env):
        return None
    return f"{run.task.env} does not repeat itself from the same seed: a run that is interrupted will start again"


def groups(runs: list[Run]) -> list[list[Run]]:
    shapes = defaultdict(list)
    for run in runs:
        shapes[jax.tree.structure(_program(run)), run.task.env, run.hidden, run.updates].append(run)
    return [same[i : i + WIDTH] for same in shapes.values() for i in range(0, len(same), WIDTH)]


def start(runs: list[Run]) -> State:
    state = _prepared(runs)
    state.worlds = [Worlds(run, answers) for run, answers in zip(runs, state.answers, strict=False)]
    _act(state)
    return state


def _prepared(runs: list[Run]) -> State:
    """Everything but the worlds."""
    padded = [*runs, *[runs[-1]] * (WIDTH - len(runs))]
    program = xla.stack([_program(run) for run in padded])
    agents = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[_agent(run) for run in padded])
    return State(
        runs=tuple(runs),
        step=_compiled(*_shapes(runs[0]), *map(jax.tree.structure, (program, agents)), runs[0].task.size),
        program=jax.tree.leaves(program),
        keys=jnp.stack([network.root_keys(run.seed)[1] for run in padded]),
        agents=jax.tree.leaves(agents),
        actions=None,
        answers=np.zeros((WIDTH, runs[0].batch, answer_size(runs[0])), np.float32),
        worlds=[],
        finals=[None] * len(runs),
        reward=np.full(len(runs), np.nan),
    )


def advance(state: State, updates: int) -> State:
    """So many more updates, or fewer if they take long."""
    goal, until = state.done + updates, time.perf_counter() + SECONDS
    for world in state.worlds:
        world.recent.clear()
    while state.done < goal and time.perf_counter() < until:
        taken = np.asarray(state.actions)
        for world, actions in zip(state.worlds, taken, strict=False):
            world.step(actions)
        _act(state)
        for i, world in enumerate(state.worlds):
            if world.finished and state.finals[i] is None:
                state.finals[i] = _params(state, i)
    state.reward = np.array([np.mean(world.recent) if world.recent else np.nan for world in state.worlds])
    return state


def finish(state: State) -> list[Result]:
    made = zip(state.runs, state.worlds, state.finals, strict=True)
    return [Result(run, "control", world.curve, final, {**built(), "steps": world.steps}) for run, world, final in made]


def built() -> dict[str, Any]:
    import gymnasium

    return {**xla.built(), "gymnasium": gymnasium.__version__}


def params(state: State) -> list[Params]:
    return [_params(state, i) if final is None else final for i, final in enumerate(state.finals)]


def tensors(state: State) -> list[dict[str, np.ndarray]]:
    """Of an environment that cannot be replayed nothing is worth keeping."""
    if not replayable(state.runs[0].task.env):
        return [{"done": np.asarray(0)} for _ in state.runs]
    arrays = [np.asarray(array) for array in (*state.agents, state.actions)]
    made = []
    for i, world in enumerate(state.worlds):
        final = {} if state.finals[i] is None else {"final": np.asarray(ravel_pytree(state.finals[i])[0])}
        mine = {f"agent.{k}": array[i] for k, array in enumerate(arrays)}
        made.append({**mine, **world.tensors(), **final, "done": np.asarray(state.done)})
    return made


def restore(runs: list[Run], tensors: list[dict[str, np.ndarray]]) -> State:
    if "agent.0" not in tensors[0]:
        return start(runs)
    state = _prepared(runs)
    padded = [*tensors, *[tensors[-1]] * (WIDTH - len(tensors))]
    arrays = [np.stack([saved[f"agent.{k}"] for saved in padded]) for k in range(len(state.agents) + 1)]
    *state.agents, state.actions = map(jnp.asarray, arrays)
    for i, (run, saved) in enumerate(zip(runs, tensors, strict=True)):
        state.worlds.append(Worlds(run, state.answers[i], saved))
        if "final" in saved:
            state.finals[i] = _named(run, saved["final"])
    return state


def _act(state: State) -> None:
    """Let every agent learn from what its environments answered, and draw its next actions."""
    state.agents, state.actions = state.step(state.program, state.keys, state.agents, state.answers.copy())


def _program(run: Run) -> xla.Program:
    """What is compiled depends neither on the environment nor on what its worlds keep track of."""
    return xla.program(run, dataclasses.replace(run.task, env=Control.name, anneal=0))


def _agent(run: Run) -> Agent:
    weights, _ = ravel_pytree(network.init(run))
    D, B = run.task.size, run.batch
    scale = Scale(jnp.zeros(()), jnp.zeros(D), jnp.zeros(D))
    zero = jnp.asarray(0, jnp.int32)
    return Agent(weights, xla.ADAM.init(weights), jnp.zeros((B, weights.size)), scale, jnp.zeros((B, D)), zero)


def _params(state: State, i: int) -> Params:
    return _named(state.runs[i], np.asarray(state.agents[0][i]))  # the first of an agent's arrays are its weights


def _named(run: Run, weights: Any) -> Params:
    structure, shapes = _shapes(run)
    return jax.tree.map(np.asarray, _unravelled(structure, shapes, weights))


def _shapes(run: Run) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda: network.init(run)))
    return structure, tuple(leaf.shape for leaf in leaves)


def _unravelled(structure: Any, shapes: tuple[tuple[int, ...], ...], vector: Any) -> Params:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = [vector[end - size : end] for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)]
    return jax.tree.unflatten(structure, [part.reshape(s) for part, s in zip(parts, shapes, strict=True)])


@functools.cache
def _compiled(structure: Any, shapes: tuple[tuple[int, ...], ...], program: Any, agent: Any, D: int) -> Any:
    """A step of a group; compiled once for each shape of network."""
    unravelled = functools.partial(_unravelled, structure, shapes)

    def step(numbers: Any, key: Any, arrays: Any, answers: Any) -> Any:
        r, terminated, truncated, progress = answers[:, 2 * D :].T
        seen = Seen(answers[:, :D], answers[:, D : 2 * D], r, terminated, truncated, progress[0])
        numbers, arrays = jax.tree.unflatten(program, numbers), jax.tree.unflatten(agent, arrays)
        after, actions = _step(unravelled, numbers, key, arrays, seen)
        return jax.tree.leaves(after), actions

    return jax.jit(jax.vmap(step), compiler_options=xla.OPTIONS, donate_argnums=2)


def _step(unravelled: Any, program: xla.Program, key: Key[Array, ""], agent: Agent, seen: Seen) -> tuple[Agent, Any]:
    """One run: learn from the last transition, then act on the next observation."""
    now = xla.at(program, seen.progress)
    scale, after, start = _scaled(now.task.scaling, agent.scale, seen)
    delta = _td_error(now, unravelled(agent.weights), agent.s, after, seen)
    weights, moments = _climb(now, unravelled, agent, jnp.einsum("b,bn->n", delta, agent.traces) / delta.size)
    params = unravelled(weights)
    keys = jax.random.split(jax.random.fold_in(key, agent.t), delta.size)
    actions, eligible = jax.vmap(functools.partial(_acted, now, params))(start, keys)
    ended = jnp.maximum(seen.terminated, seen.truncated)
    of_actor, of_critic = now.task.discount * now.task.actor_trace, now.task.discount * now.task.critic_trace
    fading = _spread(params, itertools.repeat(of_actor), itertools.repeat(of_critic))
    traces = fading * ((1 - ended)[:, None] * agent.traces) + eligible
    return Agent(weights, moments, traces, scale, start, agent.t + 1), actions


def _scaled(scaling: str, scale: Scale, seen: Seen) -> tuple[Scale, Any, Any]:
    """Both observations as the network sees them, and what has been learned of their scale."""
    if scaling == "none":
        return scale, seen.after, seen.start
    B = seen.start.shape[0]  # every observation is acted on once, so these are all there are
    count, mean = scale.count + B, scale.mean + (seen.start - scale.mean).sum(axis=0) / (scale.count + B)
    squares = scale.squares + ((seen.start - scale.mean) * (seen.start - mean)).sum(axis=0)
    width = jnp.sqrt(squares / count + 1e-8)
    width = jnp.where(squares > 0, width, 1.0)

    def scaled(o: Array) -> Array:
        return jnp.clip((o - mean) / width, -LIMIT, LIMIT)

    return Scale(count, mean, squares), scaled(seen.after), scaled(seen.start)


def _td_error(now: Any, params: Params, s: Any, after: Any, seen: Seen) -> Float[Array, " B"]:
    """r + γ V(s′) − V(s)."""
    limit = now.task.reward_limit
    r = jnp.where(limit > 0, jnp.clip(seen.r, -limit, limit), seen.r)
    if now.critic is None:
        return r
    B = r.size
    values = now.critic.value(params.critic, jnp.concatenate([s, after]))
    delta = r + now.task.discount * (1 - seen.terminated) * values[B:] - values[:B]
    return delta * (1 - seen.truncated) if now.task.truncation == "ignore" else delta


def _climb(now: Any, unravelled: Any, agent: Agent, ascent: Float[Array, " n"]) -> tuple[Any, Any]:
    """Adam, upwards, every part at its own rate; before the first step there is nothing to learn from."""
    with jax.numpy_dtype_promotion("standard"):  # optax mixes an integer step count with floats
        steps, moments = xla.ADAM.update(ascent, agent.moments)
    L = len(now.layers)
    rates = _spread(unravelled(agent.weights), now.rates[:L], now.rates[L:])
    moved = (agent.weights + rates * steps, moments)
    return jax.tree.map(lambda new, old: jnp.where(agent.t > 0, new, old), moved, (agent.weights, agent.moments))


def _acted(now: Any, params: Params, s: Float[Array, " D"], key: Key[Array, ""]) -> tuple[Any, Float[Array, " n"]]:
    """An action at s, and what it adds to the trace: a batch of one."""
    activities = network.act(now.layers, params, s[None], key)
    eligible = network.eligibility(now.layers, now.critic, params, s[None], activities)
    return network.action(now.layers, activities)[0], ravel_pytree(eligible)[0]


def _spread(params: Params, layers: Iterable[Any], critic: Iterable[Any]) -> Float[Array, " n"]:
    """A number for each part of the network, as a vector over its parameters."""

    def filled(part: Any, value: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, value), part)

    of_critic = None if params.critic is None else CriticParams.of(map(filled, params.critic.layers, critic))
    return ravel_pytree(Params(tuple(map(filled, params.layers, layers)), of_critic))[0]
