"""A look inside single runs: what their snapshots saw, the recurrent weights, the energy."""

import collections
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from coexplore.report.energy import energies
from coexplore.report.settings import Settings, short
from coexplore.results.choosing import ranked
from coexplore.run import Result, by_setting

MOST = 20


def inside(results: Sequence[Result], settings: Settings) -> list[dict[str, Any]]:
    return [_look(result, settings) for result in chosen_runs(results)]


def chosen_runs(results: Sequence[Result]) -> list[Result]:
    """One seed of a setting, its first with parameters and snapshots: of each rule and task the best setting, then the
    best of the others. The task with most settings comes first, for tasks pay differently."""
    groups = by_setting(results)
    settings = collections.Counter(run.task.label for run in groups)
    best = sorted(ranked(groups, groups), key=lambda run: -settings[run.task.label])
    first = {(run.task.label, *(rule.name for rule in run.rules)): run for run in reversed(best)}
    of_rules = set(first.values())
    ordered = dict.fromkeys([*(run for run in best if run in of_rules), *best])
    found = (next(filter(_can_be_seen, sorted(groups[run], key=lambda result: result.seed)), None) for run in ordered)
    return list(itertools.islice(filter(None, found), MOST))  # files are opened only until there are enough


def _can_be_seen(result: Result) -> bool:
    return len(times(result)) > 1 and result.params is not None


def times(result: Result) -> np.ndarray:
    """Updates at which there are snapshots."""
    return result.snapshots.get("updates", np.zeros(0))


def _look(result: Result, settings: Settings) -> dict[str, Any]:
    seen = result.snapshots
    return {
        "setting": settings.place[result.setting],
        "seed": result.run.seed,
        "episodes": [int(t) * result.run.batch for t in times(result)],
        "firing": {name: _rows(x.T) for name, x in seen.items() if name.startswith("firing.") and x.shape[1] > 1},
        "norms": {n.removeprefix("norm."): _row(x) for n, x in seen.items() if n.startswith("norm.")},
        "critic_error": _row(seen["critic_error"]) if "critic_error" in seen else None,
        "W_rec": {str(i): _rows(p.W_rec) for i, p in enumerate(_layers(result)) if hasattr(p, "W_rec")},
        "energy": energies(result),
    }


def _layers(result: Result) -> tuple[Any, ...]:
    return () if result.params is None else result.params.layers


def _rows(x: Any) -> list[list[float | None]]:
    return [_row(row) for row in np.asarray(x)]


def _row(x: Any) -> list[float | None]:
    return [short(value) for value in np.asarray(x, dtype=float).ravel()]
