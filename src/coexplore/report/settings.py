"""Settings as the page has them: one mean curve and its spread for all seeds, and three numbers for each run."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coexplore.paper.measures import draws
from coexplore.results.listing import seed_summary
from coexplore.run import JUDGING, Result, Run, by_purpose, command, dashed, flat, thinned, written
from coexplore.run.result import NONE, Purpose
from coexplore.settings import specs
from coexplore.stats.bounded import Bounds, drawn
from coexplore.stats.estimates import student, window
from coexplore.stats.modes import bimodal
from coexplore.stats.seed_summary import NOTES, notes

DIGITS, FEWER = 4, 2  # of points that are drawn; of large ones
MOST_STRETCHES = 5  # of seeds without a gap, with a command each
WINDOWS = {"first": "first", "last": "last", "all": "reward"}  # as the page calls them, and a Result


def exact(x: Any) -> float | None:
    """What the page writes and calculates with, as exact as a float32: the page alone rounds. JSON has no NaN."""
    return None if x is None or not math.isfinite(x) else float(f"{x:.7g}")


def short(x: Any) -> float | None:
    """What is drawn, rounded here; where the page writes it, it does so as it is."""
    return None if x is None or not math.isfinite(x) else round(float(x), DIGITS if abs(x) < 10 else FEWER)


def spelled(seeds: range) -> str:
    """As --seeds takes them."""
    return str(len(seeds)) if seeds.start == 0 else f"{seeds.start}-{seeds[-1]}"


def own_seeds(same: Sequence[Result]) -> range:
    first = min(result.seed for result in same)
    return range(first, first + len(same))


def stretches(same: Sequence[Result]) -> list[range]:
    """The seeds, as ranges without gaps."""
    found: list[range] = []
    for seed in sorted(result.seed for result in same):
        start = found.pop().start if found and found[-1].stop == seed else seed
        found.append(range(start, seed + 1))
    return found


def _band(values: NDArray[np.floating], bounds: Bounds | None) -> dict[str, list[float | None]]:
    """The ends of the bounded intervals (without bounds, of Student's) at each point of curves [seeds, P]."""
    if bounds:
        low, high = drawn(values.T.astype(np.float64), bounds, every=10).interval
    else:
        half = float(student(len(values) - 1)) * values.std(axis=0, ddof=1) / math.sqrt(len(values))
        low, high = values.mean(axis=0) - half, values.mean(axis=0) + half
    return {"lows": [short(y) for y in low], "highs": [short(y) for y in high]}


def _cells(same: Sequence[Result]) -> dict[str, Any]:
    """What the runs came to in each window as tables say it, how many froze, and what to say of both."""
    found = {name: seed_summary(same, field) for name, field in WINDOWS.items()}
    frozen = found["all"].frozen
    return {
        "cells": {name: one.text.replace("-", "−") for name, one in found.items()},
        "frozen": frozen and str(frozen),
        "notes": list(map(NOTES.index, notes(found.values()))),
    }


def _learned(same: Sequence[Result], run: Run) -> dict[str, Any]:
    """The mean curve of the runs that learned, where others froze, and of how many runs the mean curve is."""
    curves = [result.curve for result in same if not result.frozen]
    if len(curves) in (0, len(same)):
        return {"averaged": len(same)}
    return {"averaged": len(curves), "learned": _mean_curve(thinned(curves, run.length)[1])}


def _mean_curve(values: NDArray[np.floating]) -> dict[str, list[float | None] | None]:
    """Of curves [seeds, P], with their standard deviation."""
    sd = [short(y) for y in values.std(axis=0, ddof=1)] if len(values) > 1 else None
    return {"mean": [short(y) for y in values.mean(axis=0)], "sd": sd}


def windows(same: Sequence[Result]) -> dict[str, list[float | None]]:
    """Mean, sd, low, high of each."""
    return {name: [exact(x) for x in window(same, field)] for name, field in WINDOWS.items()}


def seeds_apart(same: Sequence[Result]) -> dict[str, list[float | None]]:
    """Each run's value in those windows in which the runs come out in two kinds."""
    bounds, each = same[0].run.task.reward_range, {}
    for name, field in WINDOWS.items():
        values = [getattr(result, field) for result in same]
        if bimodal(values, bounds):
            each[name] = [short(x) for x in values]
    return each


class Settings:
    """Each setting, in the order of the results; `place` says where in `rows` it is. Seeds that chose a setting and
    seeds that judged it are two rows, and `place` is that of the judges. `of_figures` are rows of
    figures for which some runs of a setting are left out; their places follow those of `rows`."""

    def __init__(self, results: Sequence[Result]) -> None:
        groups = by_purpose(results)
        self.of_figures: list[dict[str, Any]] = []
        self._figures: dict[Run, int] = {}
        self.place = {run: i for i, (run, _) in enumerate(groups)}
        self.place |= {run: i for i, (run, purpose) in enumerate(groups) if purpose == JUDGING}
        self.axes: list[list[float]] = []  # the episodes that points of curves stand for: most curves share them
        self._axis: dict[tuple[float, ...], int] = {}
        described = {(run, purpose): flat(run) | {"trained_for": purpose} for run, purpose in groups}
        self._telling = telling = _telling(described.values())
        self.rules = sorted({name for run, _ in groups for rule in run.rules for name in specs(rule)} & telling)
        self.rows = [self._row(group, words, groups[group]) for group, words in described.items()]

    def place_in_figure(self, run: Run, same: Sequence[Result]) -> int:
        """Where the row of these results of a setting is, which may be fewer than there are."""
        if sorted(result.seed for result in same) == [seed for seed, *_ in self.rows[self.place[run]]["runs"]]:
            return self.place[run]
        if run not in self._figures:
            self._figures[run] = len(self.rows) + len(self.of_figures)
            self.of_figures.append(self._row((run, NONE), flat(run), same))
        return self._figures[run]

    def _row(self, group: Purpose, words: dict[str, str], same: Sequence[Result]) -> dict[str, Any]:
        run, purpose = group
        drawn = [result for result in same if result.has_curve]  # none of settings that only served to choose
        curves, bounds = [result.curve for result in drawn], run.task.reward_range
        x, values = thinned(curves, run.length) if curves else (np.zeros(0), np.zeros((1, 0)))
        return {
            "id": run.digest[:16] + (f"-{purpose}" if purpose != NONE else ""),
            "rule": words["rule"],
            "words": {dashed(name): written(text) for name, text in words.items() if name in self._telling},
            "episodes": run.length,
            "unit": run.unit,
            "command": _repeated(run, same),
            "draws": draws(run),
            "axis": self._shared(tuple(round(float(end), 1) for end in x)),
            **_mean_curve(values),
            **(_band(values, bounds) if len(curves) > 1 else {}),
            **_learned(drawn, run),
            "bounds": bounds,
            "possible": bounds or ([short(values.min()), short(values.max())] if curves else None),
            **windows(same),
            **_cells(same),
            "runs": [_run(result) for result in sorted(same, key=lambda result: result.run.seed)],
        }

    def _shared(self, axis: tuple[float, ...]) -> int:
        if axis not in self._axis:
            self._axis[axis] = len(self.axes)
            self.axes.append(list(axis))
        return self._axis[axis]


def _telling(described: Iterable[dict[str, str]]) -> set[str]:
    """Names of settings that have several values here; the page says of those what tells one line from another."""
    seen: dict[str, set[str]] = {}
    for words in described:
        for name, value in words.items():
            seen.setdefault(name, set()).add(value)
    return {name for name, values in seen.items() if len(values) > 1} - {"rule", "seed"}


def _repeated(run: Run, same: Sequence[Result]) -> str | None:
    """The commands that train these seeds of a setting and no others; None where there are none, or too many."""
    once, seeds = command(run, same[0].provenance), stretches(same)
    if once is None or len(seeds) > MOST_STRETCHES:
        return None
    return " && ".join(f"{once} --seeds {spelled(stretch)}" for stretch in seeds)


def _run(result: Result) -> list[Any]:
    numbers = [exact(getattr(result, field)) for field in WINDOWS.values()]
    return [result.run.seed, *numbers, int(result.frozen), result.engine]
