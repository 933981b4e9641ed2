"""Runs that have lost their numbers (one is infinite, or none, in a parameter or a reward), and whose fault it is.

A rule's credit, a task's reward or too large a step. On `xla` the update in which it happened is looked for and done
again; elsewhere the rule's first credit must tell.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from coexplore import network
from coexplore.engines import xla
from coexplore.engines.base import Engine, S
from coexplore.engines.guard import rule_names, task_name
from coexplore.engines.watched import not_finite, too_large
from coexplore.network import Network, Params
from coexplore.programs import jit
from coexplore.run.run import Run
from coexplore.settings import worked_out
from coexplore.tasks.base import Task


def lost(engine: Engine[S], state: S) -> list[int]:
    """The places of the runs that have no numbers left after an advance. Environments answer for their own rewards."""
    rewards = np.isfinite(state.reward) if isinstance(state.runs[0].task, Task) else np.ones(len(state.runs))
    found = zip(rewards, engine.params(state), strict=True)
    return [i for i, (finite, params) in enumerate(found) if not finite or not_finite(params)]


def blame(engine: Engine[S], before: S, after: S, i: int) -> str:
    """A line on the run at this place, which was lost on the way from one state to the other."""
    if isinstance(before, xla.State) and isinstance(after, xla.State):
        return _of_update(_last_good(before, i, after.done - before.done), i)
    run = after.runs[i]
    if names := _first_credit(run):
        return _of_credit(run, names, "the first update")
    return _of_step(run, not_finite(engine.params(after)[i]), after.done)


def _last_good(state: xla.State, i: int, updates: int) -> xla.State:
    """The state whose next update is the one that loses the run."""
    while updates > 1:
        middle = xla.advance(state, updates // 2)
        if i in lost(xla, middle):
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
    return _of_step(run, not_finite(xla.params(after)[i]), after.done)


def _of_credit(run: Run, names: list[str], when: str) -> str:
    who, name = _owner(run, names)
    return f"{who}: {name} of credit is not finite, in {when}" if who else too_large(names)


def _of_step(run: Run, names: list[str], updates: int) -> str:
    """Parameters that credits which are numbers have made so."""
    who, name = _owner(run, names)
    how = f"is no longer finite after {updates} updates; a lower learning rate may help"
    return f"{who}: {name} {how}" if who else too_large(names)


def _owner(run: Run, names: list[str]) -> tuple[str | None, str]:
    """Whose the first of these parameters of a hidden layer is, and what its owner calls it."""
    for name in names:
        part, _, rest = name.partition(".")
        place, _, own = rest.partition(".")
        if part == "layers" and int(place) < len(run.hidden):
            return rule_names(run)[int(place)], own
    return None, names[0]


def _first_credit(run: Run) -> list[str]:
    """The parameters whose credit is not finite when an agent first acts, on an observation of zeros."""

    @jit
    def credit(net: Network, s: Float[Array, "1 D"], key: Key[Array, ""]) -> Params:
        params = run.init()
        return network.eligibility(net, params, s, network.act(net.actor, params, s, key))

    net = jax.tree.map(np.float32, worked_out(run.network, 0.0))
    return not_finite(credit(net, jnp.zeros((1, run.task.size)), jax.random.key(0)))
