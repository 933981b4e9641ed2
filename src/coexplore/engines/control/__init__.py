"""The control engine: agents in JAX, a group of runs in one compiled step, their Gymnasium environments stepped beside.

Online actor-critic with eligibility traces. In every step of an environment:

    δ = r + γ V(s′) − V(s)                               V(s′) = 0 where the episode terminated
    θ ← θ + α Adam(mean over environments of δ z)        one trace z per environment
    z ← 0 where the episode ended;  A ~ network at s′;  z ← γ λ z + eligibility of A

An "update" is what `run.batch` episodes take, since nobody knows beforehand how many steps that will be; of a run with
a budget of steps it is one step of each environment.
Groups have one fixed width, padded, because the low bits of a result depend on it.
"""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from coexplore import network
from coexplore.engines import xla
from coexplore.engines.base import Fault, fitting, said
from coexplore.engines.blame import of_agent
from coexplore.engines.control.agent import Pace, compiled, fresh, numbers, pace, shapes, unravelled, unscaled
from coexplore.engines.control.worlds import Worlds, answer_size, control, mean_returns, rehearsed
from coexplore.engines.program import padded, stack
from coexplore.network import Params
from coexplore.run.curve import full_bins
from coexplore.run.result import Result, Tensor, Tensors
from coexplore.run.run import Run
from coexplore.settings import Json
from coexplore.tasks.control import Control
from coexplore.tasks.env_args import Arguments

name, stream = "control", 2
title = "JAX beside Gymnasium: any rule, any environment, ten runs at a time"
waits, snapshots = False, False

WIDTH = 10  # runs that share a step
LARGE = 4096  # numbers of an observation: pictures, say
SECONDS = 0.4  # after which `advance` comes back, whatever it was asked for: episodes may be long


@dataclasses.dataclass(frozen=True)
class State:
    """The worlds move on by themselves when they are stepped: a state that was advanced cannot be gone back to."""

    runs: tuple[Run, ...]
    step: Any  # compiled for their shape
    program: Any  # a row of numbers for each run: a call costs the more the more arrays it is given
    pace: Pace
    keys: Any
    agents: list[Any]  # a list of arrays, which JAX takes apart faster than records
    actions: Any  # drawn, and not yet taken
    answers: Tensor  # of all environments: each of the worlds writes its own part
    worlds: tuple[Worlds, ...]  # of each run
    finals: tuple[Params | None, ...]  # the parameters of each run that is done
    reward: NDArray[np.float64]

    @property
    def done(self) -> int:
        return min(world.updates for world in self.worlds)

    @property
    def steps(self) -> int:
        """Of all environments so far."""
        return sum(world.steps for world in self.worlds)

    @property
    def lost(self) -> dict[int, str]:
        """The runs that go no further, by place, and what was not finite first."""
        return {i: world.lost for i, world in enumerate(self.worlds) if world.lost}


def missing() -> str | None:
    return None


def prepare() -> None:
    """Nothing to do."""


def supports(run: Run) -> str | None:
    return None if isinstance(run.task, Control) else "it steps environments"


def caution(run: Run) -> str | None:
    task = control(run)
    known, size = rehearsed(task.env, task.env_arg, task.edition), task.size
    cautions = {
        "does not repeat itself from the same seed: a run that is interrupted will start again": not known.replayable,
        "sets no limit to an episode, which may last for ever; --max-steps sets one": not (
            known.ends or task.max_steps
        ),
        f"shows {size:,} numbers at a time, each with a weight to every unit: expect slow steps": size > LARGE,
    }
    told = [line for line, applies in cautions.items() if applies]
    return f"{task.env} {'; it '.join(told)}" if told else None


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    alike = defaultdict(list)
    for run in runs:
        alike[jax.tree.structure(numbers(run)), *_world(run), run.hidden, run.updates].append(run)
    return [same[i : i + WIDTH] for same in alike.values() for i in range(0, len(same), WIDTH)]


def start(runs: list[Run]) -> State:
    answers = np.zeros((WIDTH, runs[0].batch, answer_size(runs[0])), np.float32)
    state = _placed(runs, answers, [Worlds(run, mine) for run, mine in zip(runs, answers, strict=False)])
    agents, actions = _act(state, state.agents)
    return dataclasses.replace(state, agents=agents, actions=actions)


def _placed(runs: list[Run], answers: Tensor, worlds: Sequence[Worlds]) -> State:
    """These worlds with agents that have learned nothing."""
    filled = padded(runs, WIDTH)
    programs = stack([numbers(run) for run in filled])
    agents = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[fresh(run) for run in filled])
    return State(
        runs=tuple(runs),
        step=compiled(*shapes(runs[0]), *map(jax.tree.structure, (programs, agents)), runs[0].task.size),
        program=jnp.stack(jax.tree.leaves(programs), axis=1),
        pace=jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(pace, filled)),
        keys=jnp.stack([network.root_keys(run.seed)[1] for run in filled]),
        agents=jax.tree.leaves(agents),
        actions=None,
        answers=answers,
        worlds=tuple(worlds),
        finals=(None,) * len(runs),
        reward=np.full(len(runs), np.nan),
    )


def advance(state: State, updates: int) -> State:
    goal, until = state.done + updates, time.perf_counter() + SECONDS
    agents, actions, finals = state.agents, state.actions, list(state.finals)
    for world in state.worlds:
        world.recent.clear()
    if updates:
        _check_agents(state, agents, actions, finals)
    while state.done < goal and time.perf_counter() < until:
        _step(state.worlds, np.asarray(actions))
        agents, actions = _act(state, agents)
        _check_agents(state, agents, actions, finals)
        for i, world in enumerate(state.worlds):
            if world.finished and finals[i] is None:
                finals[i] = _params(state.runs[i], agents, i)
    reward = np.array([np.mean(world.recent) if world.recent else np.nan for world in state.worlds])
    return dataclasses.replace(state, agents=agents, actions=actions, finals=tuple(finals), reward=reward)


def _step(worlds: Sequence[Worlds], taken: Tensor) -> None:
    """Somebody else's environment may fail in any way: that is a fault of its run."""
    for world, mine in zip(worlds, taken, strict=False):
        try:
            world.step(mine)
        except Fault:
            raise
        except Exception as error:
            raise world.fault(f"it raises {said(error)}") from error


def finish(state: State) -> list[Result]:
    ended = zip(state.runs, state.worlds, params(state), strict=True)
    return [Result(run, name, world.curve, final, {**built(), **_lived(world)}) for run, world, final in ended]


def _lived(world: Worlds) -> dict[str, Json]:
    """What the run's length does not tell."""
    return {"steps": world.steps, **({"episodes": world.episodes} if world.budget else {})}


def built() -> dict[str, Json]:
    import gymnasium

    return {**xla.built(), "gymnasium": gymnasium.__version__, "width": WIDTH}


def params(state: State) -> list[Params]:
    runs = enumerate(zip(state.runs, state.finals, strict=True))
    return [_params(run, state.agents, i) if final is None else final for i, (run, final) in runs]


def look(state: State) -> Tensors:
    """An environment has no states to look at as one likes."""
    return {}


def tensors(state: State) -> list[Tensors]:
    """Of an environment that cannot be replayed nothing is worth keeping."""
    if not rehearsed(*_world(state.runs[0])).replayable:
        return [{"done": np.asarray(0)} for _ in state.runs]
    arrays = [np.asarray(array) for array in (*state.agents, state.actions)]
    saved = []
    for i, world in enumerate(state.worlds):
        final = {} if state.finals[i] is None else {"final": np.asarray(ravel_pytree(state.finals[i])[0])}
        mine = {f"agent.{k}": array[i] for k, array in enumerate(arrays)}
        saved.append({**mine, **world.tensors(), **final, "done": np.asarray(state.done)})
    return saved


def restore(runs: list[Run], tensors: list[Tensors]) -> State:
    if "agent.0" not in tensors[0]:
        return start(runs)
    answers = np.zeros((WIDTH, runs[0].batch, answer_size(runs[0])), np.float32)
    state = _placed(runs, answers, [Worlds(*each) for each in zip(runs, answers, tensors, strict=False)])
    kinds = [(x.shape[1:], x.dtype) for x in state.agents]
    drawn = tensors[0][f"agent.{len(kinds)}"]
    arrays = [
        jnp.asarray(np.stack([fitting(saved, f"agent.{k}", *kind) for saved in padded(tensors, WIDTH)]))
        for k, kind in enumerate([*kinds, ((runs[0].batch, *drawn.shape[1:]), drawn.dtype)])
    ]
    finals = [
        _named(run, saved["final"]) if "final" in saved else None for run, saved in zip(runs, tensors, strict=True)
    ]
    return dataclasses.replace(state, agents=arrays[:-1], actions=arrays[-1], finals=tuple(finals))


def width(tensors: Tensors) -> None:
    """There is one width."""


def curve(run: Run, tensors: Tensors) -> NDArray[np.float64]:
    if "world.sums" not in tensors:
        return np.zeros(0)
    full = full_bins(int(tensors["done"]), run.updates)
    ended = tensors.get("world.ended", np.zeros(0))
    return mean_returns(run, tensors["world.sums"][:full], ended[:full])


def _act(state: State, agents: list[Any]) -> tuple[list[Any], Any]:
    """Let every agent learn from what its environments answered, and draw its next actions."""
    return state.step(state.program, state.pace, state.keys, agents, state.answers.copy())


def _check_agents(state: State, agents: list[Any], actions: Any, finals: Sequence[Params | None]) -> None:
    """Runs that are not done and whose parameters or actions are no longer finite go no further."""
    sound = np.isfinite(agents[0]).all(axis=1) & np.isfinite(actions).reshape(WIDTH, -1).all(axis=1)
    for i, (run, world) in enumerate(zip(state.runs, state.worlds, strict=True)):
        if not sound[i] and finals[i] is None and not world.lost:
            params, ascent = (_named(run, array[i]) for array in agents[:2])
            world.lose(of_agent(run, params, ascent, world.steps))


def _world(run: Run) -> tuple[str, Arguments, str]:
    return control(run).env, control(run).env_arg, control(run).edition


def _params(run: Run, agents: list[Any], i: int) -> Params:
    """For observations as the environment gives them, whatever the agent scaled them by."""
    agent = jax.tree.unflatten(jax.tree.structure(fresh(run)), [array[i] for array in agents])
    raw = unravelled(*shapes(run), agent.weights)
    return jax.tree.map(np.asarray, raw if control(run).scaling == "none" else unscaled(raw, agent.scale))


def _named(run: Run, weights: Any) -> Params:
    return jax.tree.map(np.asarray, unravelled(*shapes(run), weights))
