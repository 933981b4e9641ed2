"""The control engine: agents in JAX, a group of runs in one compiled step, their Gymnasium environments stepped beside.

Online actor-critic with eligibility traces. In every step of an environment:

    δ = r + γ V(s′) − V(s)                               V(s′) = 0 where the episode terminated
    θ ← θ + α Adam(mean over environments of δ z)        one trace z an environment
    z ← 0 where the episode ended;  A ~ network at s′;  z ← γ λ z + eligibility of A

An "update" is what `run.batch` episodes take, since nobody knows beforehand how many steps that will be.
Groups have one fixed width, padded, because the low bits of a result depend on it.
"""

import dataclasses
import time
from collections import defaultdict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from coexplore import network
from coexplore.engines import xla
from coexplore.engines.control.agent import Pace, compiled, fresh, pace, shapes, unravelled, unscaled
from coexplore.engines.control.worlds import Worlds, answer_size, replayable
from coexplore.network import Params
from coexplore.result import Result
from coexplore.run import Run
from coexplore.tasks.control import Control

WIDTH = 10  # runs that share a step
SECONDS = 0.4  # after which `advance` comes back, whatever it was asked for: episodes may be long


@dataclasses.dataclass
class State:
    runs: tuple[Run, ...]
    step: Any  # compiled for their shape
    program: Any  # a row of numbers for each run: a call costs the more the more arrays it is given
    pace: Pace
    keys: Any
    agents: list[Any]  # a list of arrays, which JAX takes apart faster than records
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
    return "it steps environments" if run.task.one_step else None


def caution(run: Run) -> str | None:
    if replayable(run.task.env):
        return None
    return f"{run.task.env} does not repeat itself from the same seed: a run that is interrupted will start again"


def groups(runs: list[Run]) -> list[list[Run]]:
    alike = defaultdict(list)
    for run in runs:
        alike[jax.tree.structure(_program(run)), run.task.env, run.hidden, run.updates].append(run)
    return [same[i : i + WIDTH] for same in alike.values() for i in range(0, len(same), WIDTH)]


def start(runs: list[Run]) -> State:
    state = _prepared(runs)
    state.worlds = [Worlds(run, answers) for run, answers in zip(runs, state.answers, strict=False)]
    _act(state)
    return state


def _prepared(runs: list[Run]) -> State:
    """Everything but the worlds."""
    padded = [*runs, *[runs[-1]] * (WIDTH - len(runs))]
    program = xla.stack([_program(run) for run in padded])
    agents = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[fresh(run) for run in padded])
    return State(
        runs=tuple(runs),
        step=compiled(*shapes(runs[0]), *map(jax.tree.structure, (program, agents)), runs[0].task.size),
        program=jnp.stack(jax.tree.leaves(program), axis=1),
        pace=jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(pace, padded)),
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

    return {**xla.built(), "gymnasium": gymnasium.__version__, "width": WIDTH}


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
    told = (state.program, state.pace, state.keys, state.agents, state.answers.copy())
    state.agents, state.actions = state.step(*told)


def _program(run: Run) -> xla.Program:
    """What is compiled depends neither on the environment nor on what its worlds keep track of."""
    return xla.program(run, dataclasses.replace(run.task, env=Control.name, anneal=0))


def _params(state: State, i: int) -> Params:
    """For observations as the environment gives them, whatever the agent scaled them by."""
    run = state.runs[i]
    agent = jax.tree.unflatten(jax.tree.structure(fresh(run)), [array[i] for array in state.agents])
    params = unravelled(*shapes(run), agent.weights)
    return jax.tree.map(np.asarray, params if run.task.scaling == "none" else unscaled(params, agent.scale))


def _named(run: Run, weights: Any) -> Params:
    return jax.tree.map(np.asarray, unravelled(*shapes(run), weights))
