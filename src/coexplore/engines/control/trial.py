"""An environment that is somebody's own is played for a few steps before agents learn in it."""

import math
from typing import Any

import numpy as np

from coexplore.engines.base import Fault, said
from coexplore.engines.control.worlds import World, control, rehearsed
from coexplore.run.run import Run
from coexplore.tasks.control import strange
from coexplore.tasks.env_args import Arguments

STEPS, LONGEST = 20, 60  # of the trial; letters of what is shown
_tried: set[tuple[str, Arguments, str]] = set()


def try_out(run: Run) -> None:
    """Raise a Fault where the environment is not as Gymnasium's interface has it."""
    task = control(run)
    env, args, edition = tried = task.env, task.env_arg, task.edition
    if tried in _tried or not strange(env):
        return
    try:
        _play(World(run, 0), run.task.size)
        rehearsed(env, args, edition)
    except Fault as wrong:
        raise Fault(f"environment {env!r}: {wrong}") from None
    except Exception as error:
        raise Fault(f"environment {env!r}: it raises {said(error)}") from error
    _tried.add(tried)


def _play(world: World, size: int) -> None:
    world.env.action_space.seed(0)
    over, parts = True, "an observation, a reward, terminated, truncated and a dictionary"
    for _ in range(STEPS):
        if over:
            first = world.env.reset(seed=0)
            _check("reset", first, isinstance(first, tuple) and len(first) == 2, "an observation and a dictionary")
            _check_seen("reset", first[0], np.asarray(world.flat(first[0])), size)
        told = world.env.step(world.env.action_space.sample())
        _check("step", told, isinstance(told, tuple) and len(told) == 5, parts)
        _check_seen("step", told[0], np.asarray(world.flat(told[0])), size)
        _check("step", told[1], math.isfinite(float(told[1])), "a reward that is finite")
        over = bool(told[2]) or bool(told[3])


def _check_seen(what: str, o: Any, flat: Any, size: int) -> None:
    numbers = f"{size} number{'s' * (size > 1)}, not an array of shape {list(flat.shape)}"
    _check(what, o, flat.shape == (size,), f"observations of {numbers}")
    _check(what, o, bool(np.all(np.isfinite(flat))), "observations that are finite")


def _check(what: str, found: object, fits: bool, wanted: str) -> None:
    if not fits:
        shown = " ".join(repr(found).split())
        shown = f"{shown[:LONGEST]}…" if len(shown) > LONGEST else shown
        raise Fault(f"{what} gives {shown}, and should give {wanted}")
