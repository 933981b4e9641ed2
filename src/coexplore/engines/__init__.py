"""The engines: different ways to train the same Run.

An engine is a module with
    groups(runs)             the runs dealt out as this engine trains them, each group sharing a shape
    start(runs)              the state of a group before its first update
    advance(state, updates)  the state after so many more updates; 0 compiles what the others will need
    finish(state)            the Results of a group whose updates are all done
    params(state)            the present parameters of each run
    tensors(state)           a checkpoint of each run: named arrays, one of which is `done`
    restore(runs, tensors)   the state again, to go on bit for bit; every run must have done equally many updates
    built()                  what the low bits of a result depend on besides the run, as plain data
    supports(run)            None, or why it cannot train this run
    caution(run)             (if it has one) None, or what a person should know before it trains this run
    missing()                None, or why it cannot train anything on this machine
A state has `runs`, `done` (updates so far) and `reward` (of each run, over the last advance).
Nothing outside the Run changes a result: not the grouping, not how the updates are cut into advances.
"""

import importlib
from types import ModuleType

from coexplore.fields import FieldError, refuse
from coexplore.run import Run

# In the order in which `auto` tries them.
TITLES = {
    "cuda": "CUDA: what cpu trains, up to 128 units in batches of 16, hundreds of runs at a time on an NVIDIA GPU",
    "cpu": "C++: one hidden layer of binary units on the multiplexer, several times faster",
    "xla": "JAX: any rule, any task of one step, on whatever device JAX has",
    "control": "JAX beside Gymnasium: any rule, any environment, ten runs at a time",
}

NO_GPU = "there is no NVIDIA GPU"  # nothing to tell a person about who did not ask for one

# Counts the versions of an engine's random numbers and arithmetic: results of another version are other results.
STREAMS = {"cuda": 1, "cpu": 1, "xla": 1, "control": 2}

# Engines whose threads only wait, so that they need no core.
ELSEWHERE = {"cuda"}


def find(name: str) -> ModuleType:
    if name not in TITLES:
        raise refuse("engine", name, f"one of auto, {', '.join(TITLES)}", ["auto", *TITLES])
    return importlib.import_module(f"coexplore.engines.{name}")


def caution(run: Run, name: str) -> str | None:
    """What a person should know before this engine trains the run."""
    warn = getattr(find(name), "caution", None)
    return warn(run) if warn else None


def choose(run: Run, name: str = "auto") -> str:
    """The engine for a run: the one asked for, or the first that can."""
    if run.task.missing:
        raise FieldError(run.task.missing)
    reasons = {}
    for each in TITLES if name == "auto" else [name]:
        reason = find(each).missing() or find(each).supports(run)
        if reason is None:
            return each
        reasons[each] = reason
    raise refuse("engine", name, "; ".join(f"another than {k}: {why}" for k, why in reasons.items()))
