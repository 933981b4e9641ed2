"""Numbers that are read off a result, and where each can lie."""

import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coexplore.run import Result, Run
from coexplore.stats.bounded import Bounds
from coexplore.tasks.base import AnyTask

STRETCHES, POINTS = 20, 200


class Measure(NamedTuple):
    """A number of a result, and between which two it lies on a task."""

    of: Callable[[Result], float]
    bounds: Callable[[AnyTask], Bounds | None] = lambda task: task.reward_range


def _whole_range(task: AnyTask) -> Bounds:
    """Of a fall: from nothing to all that lies between guessing and the largest reward."""
    assert task.reward_range is not None
    low, high = task.reward_range
    return 0.0, high - low


def quarter(i: int) -> Measure:
    """Mean reward of the i-th quarter of the training."""
    return Measure(lambda result: float(np.array_split(result.curve, 4)[i].mean()))


def _fall(result: Result) -> float:
    """How far the reward is, at worst in the last quarter, below the best it had been before.

    Of twenty stretches of the training each is averaged: the noise that is left (0.01 at most) is no fall.
    """
    edges = np.linspace(0, len(result.curve), STRETCHES + 1).astype(int)
    stretches = np.add.reduceat(result.curve.astype(np.float64), edges[:-1]) / np.diff(edges)
    return float((np.maximum.accumulate(stretches) - stretches)[-STRETCHES // 4 :].max())


def _fall_or_frozen(result: Result) -> float:
    """The same; a run that froze has nothing left to lose, so it counts as one that lost all there is."""
    return _whole_range(result.setting.task)[1] if result.frozen else _fall(result)


def _learned(result: Result) -> float:
    """Reward of the last quarter, 0 for guessing and 1 for never being wrong, whatever the rewards are."""
    chance = result.setting.task.chance
    return (result.last - chance) / (1 - chance)


def draws(run: Run) -> int:
    """How often an episode draws a hidden layer: each T + 1 times where there is a chain, else once."""
    return sum(rule.law.passes for rule in run.rules)


def _within_budget(result: Result) -> float:
    """Reward of the last quarter of a training that stops when H was drawn as often as there were episodes.

    Read off a curve of 200 points, which is what packs keep."""
    P = len(result.curve)
    curve = result.curve.reshape(POINTS, -1).mean(axis=1) if P % POINTS == 0 else result.curve
    points = max(4, len(curve) // draws(result.run))
    return float(curve[points - points // 4 : points].mean())


reward, first, last = (Measure(operator.attrgetter(name)) for name in ("reward", "first", "last"))
fall, fall_or_frozen = Measure(_fall, _whole_range), Measure(_fall_or_frozen, _whole_range)
learned = Measure(_learned, lambda task: (0.0, 1.0))
within_budget = Measure(_within_budget)
