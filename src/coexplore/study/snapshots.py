"""When to look at networks while they learn, and what was seen, one moment after another."""

from collections.abc import Sequence

import numpy as np

from coexplore.run.result import Tensors
from coexplore.run.run import Run

MOMENTS = 20
UNIT_UPDATES = 16_000  # updates × hidden units, which train for several times as long as a snapshot takes


def usual(run: Run) -> int:
    """How often to look at a run's network on its way if nobody says: MOMENTS times, or less often if it is short.

    The number depends on the updates and the hidden units alone, which the runs of a group share.
    """
    return min(MOMENTS, run.updates * sum(run.hidden) // UNIT_UPDATES)


def moments(updates: int, count: int) -> list[int]:
    """The counts of updates at which to look: before the first, after the last, evenly between; with 0, at the end."""
    return sorted({updates * i // count for i in range(count + 1)}) if count else [updates]


def of_each(seen: Sequence[Tensors], before: Sequence[Tensors]) -> list[Tensors]:
    """What was seen of each run: `seen` at one moment after the other, a row per run, after what was seen `before`."""
    moments = {name: np.stack([rows[name] for rows in seen], axis=1) for name in seen[0]} if seen else {}
    return [_joined(old, {name: x[g] for name, x in moments.items()}) for g, old in enumerate(before)]


def _joined(before: Tensors, after: Tensors) -> Tensors:
    if not (before and after):
        return before or after
    both = [name for name, x in before.items() if name in after and x.shape[1:] == after[name].shape[1:]]
    return {name: np.concatenate([before[name], after[name]]) for name in both}
