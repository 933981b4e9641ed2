"""Runs that froze: some layer of binary units, or the output, does the same in every state, and nothing was learned.

There every score H − p is 0, so that no reward moves it again. Docs: freezing.md.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from numpy.typing import NDArray

from coexplore import network
from coexplore.network import Actor, Params
from coexplore.programs import in_our_config, jit
from coexplore.run.needs import needed
from coexplore.run.run import Run
from coexplore.settings import at_the_end
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import Task

STATES = 256
MOST, HELD = 10**11, 10**9  # multiplications that a look at a network may cost, and bytes; more would not end
Rates = Mapping[str, NDArray[Any]]  # type: ignore[explicit-any]  # of any type
State = Any  # type: ignore[explicit-any]  # whatever a task makes of it
FIRING = "firing."  # … and the number of the layer: how often each of its units fires
NEAR_CHANCE, RARELY = 0.05, 0.01

# For programs that run a few times per run: compiling them thoroughly would cost more than it saves.
QUICKLY = {"xla_backend_optimization_level": 1}


def frozen(run: Run, last: float, seen: Rates, params: Params | None) -> bool:
    """From the reward of the last quarter and from what was seen of the final parameters, or else from these."""
    if not abs(last - run.task.chance) < NEAR_CHANCE:
        return False
    rates: Rates = {name: x[-1] for name, x in seen.items() if name.startswith(FIRING)}
    if not rates and params is not None and isinstance(run.task, Task) and not run.task.missing and within_reach(run):
        rates = firing(run, params)
    return stuck(run, rates)


def may_freeze(run: Run) -> bool:
    """Whether such a run can be frozen: some layer or the output is binary, and the reward of a guess is known."""
    if not math.isfinite(run.task.chance):
        return False
    return any(rule.law.binary for rule in run.rules) or (not run.task.missing and run.task.output.binary)


def within_reach(run: Run) -> bool:
    """Whether somebody may look at what its network does: a chain may be too long for that."""
    if needed(run)["steps"] > HELD:
        return False
    pairs = zip(run.sizes, run.sizes[1:], strict=False)
    passes = max(law.passes for law in run.network.actor.laws)
    return STATES * passes * (sum(a * b for a, b in pairs) + sum(N * N for N in run.hidden)) <= MOST


def stuck(run: Run, rates: Rates) -> bool:
    """Whether every unit of some binary layer fires in none of the states, or in all."""
    binary = [rates.get(f"{FIRING}{i}") for i in _binary(run.setting, *kinds_in(run))]
    return any(bool(np.all((x < RARELY) | (x > 1 - RARELY))) for x in binary if x is not None)


@functools.lru_cache(maxsize=10_000)  # thousands of seeds share it
def _binary(run: Run, *kinds: type) -> list[int]:
    """The places of its layers of binary units."""
    return [i for i, law in enumerate(run.network.actor.laws) if law.binary]


def kinds_in(run: Run) -> list[type]:
    """Of its rules and its task: runs are equal by their names, and what these mean may be changed in a notebook."""
    return [*map(type, run.rules), type(run.task)]


@in_our_config
def firing(run: Run, params: Params) -> Rates:
    """How often each unit fires in the fixed states, with schedules at their end."""
    assert isinstance(run.task, Task)
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        actor = jax.tree.map(np.float32, at_the_end(run.network.actor))
        rates = _firing(actor, run.task.holding(on_device(run.task.load(), cpu)), params, *fixed(run.task))
    return {f"{FIRING}{i}": np.asarray(x) for i, x in enumerate(rates)}


@functools.lru_cache(maxsize=16)  # no more: a task may hold much
def fixed(task: Task) -> tuple[State, Key[Array, ""]]:
    """The states in which networks are looked at, and the key of what they draw there."""
    state_key, act_key = jax.random.split(jax.random.key(0))
    return task.sample(STATES, state_key), act_key


@functools.partial(jit, compiler_options=QUICKLY)
def _firing(actor: Actor, task: Task, params: Params, state: State, key: Key[Array, ""]) -> list[Array]:
    return [activity.h.mean(axis=0) for activity in network.act(actor, params, task.observe(state), key)]
