"""Runs that have lost their numbers (one is infinite, or none, in a parameter or a reward), and whose fault it is.

A rule's credit, a task's reward or too large a step. On `xla` the update in which it happened is looked for and done
again; agents in environments are looked at after every step, so that what was lost first is known.
"""

from collections.abc import Container

import jax
import numpy as np

from coexplore.engines import xla
from coexplore.engines.base import S
from coexplore.engines.guard import rule_names, task_name
from coexplore.engines.watched import named_leaves, not_finite, too_large
from coexplore.network import Params
from coexplore.run.run import Run


def lost(before: S, after: S, known: Container[int]) -> dict[int, str]:
    """A line on each run, by its place, that was lost on the way from one state to the other; not of those known."""
    if hasattr(after, "lost"):  # engines of environments look after every step
        return {i: line for i, line in after.lost.items() if i not in known}
    assert isinstance(before, xla.State)  # others train what is ours alone
    assert isinstance(after, xla.State)
    updates, found = after.done - before.done, _without_numbers(after)
    return {i: _of_update(_last_good(before, i, updates), i) for i in found if i not in known}


def of_agent(run: Run, params: Params, ascent: Params, steps: int) -> str:
    """What was not finite first in an agent's step: what it climbed (or Adam's mean of it), a parameter, the action."""
    if names := not_finite(ascent):
        if run.critic and len(names) == len(named_leaves(ascent)):
            return f"critic: the TD error is not finite, in step {steps}; a lower learning rate may help"
        return _of_credit(run, names, f"step {steps}")
    if names := not_finite(params):
        return _of_step(run, names, f"{steps} steps")
    rules = ", ".join(dict.fromkeys(rule_names(run)))
    return f"{rules}: the action is not finite, in step {steps + 1}; a lower learning rate may help"


def _without_numbers(state: xla.State) -> list[int]:
    """The places of the runs in whose reward or parameters a number is infinite or none."""
    found = zip(np.isfinite(state.reward), xla.params(state), strict=True)
    return [i for i, (finite, params) in enumerate(found) if not finite or not_finite(params)]


def _last_good(state: xla.State, i: int, updates: int) -> xla.State:
    """The state whose next update is the one that loses the run."""
    while updates > 1:
        middle = xla.advance(state, updates // 2)
        if i in _without_numbers(middle):
            updates //= 2
        else:
            state, updates = middle, updates - updates // 2
    return state


def _of_update(state: xla.State, i: int) -> str:
    run, (after, draws) = state.runs[i], xla.update_with_draws(state)
    for name, array in (("observe", draws.s), ("reward", draws.r)):
        if not np.all(np.isfinite(array[i])) and not (name == "reward" and run.task.graded):
            return f"{task_name(run)}: what {name} gives is not finite, in update {after.done}"
    credit = jax.tree.map(lambda mean: np.asarray(mean)[i], after.progress.moments.mu)  # Adam's mean has a tenth of it
    if names := not_finite(credit):
        return _of_credit(run, names, f"update {after.done}")
    return _of_step(run, not_finite(xla.params(after)[i]), f"{after.done} updates")


def _of_credit(run: Run, names: list[str], when: str) -> str:
    who, name = _owner(run, names)
    return f"{who}: {name} of credit is not finite, in {when}" if who else too_large(names)


def _of_step(run: Run, names: list[str], length: str) -> str:
    """Parameters that credits which are numbers have made so."""
    who, name = _owner(run, names)
    how = f"is no longer finite after {length}; a lower learning rate may help"
    return f"{who}: {name} {how}" if who else too_large(names)


def _owner(run: Run, names: list[str]) -> tuple[str | None, str]:
    """Whose the first of these parameters of a hidden layer is, and what its owner calls it."""
    for name in names:
        part, _, rest = name.partition(".")
        place, _, own = rest.partition(".")
        if part in ("layers", "parts") and int(place) < len(run.hidden):
            return rule_names(run)[int(place)], own
    return None, names[0]
