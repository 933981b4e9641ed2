"""What claims are judged by: the results of a setting, and numbers read off their curves."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from coexplore.paper.figures import ALG_1, FIGURES, Figure, resized
from coexplore.results.choosing import ranked
from coexplore.results.stats import Estimate, difference, kendall, level
from coexplore.run import Result, Run, labels

STRETCHES = 20
ENOUGH_TO_SPLIT = 10  # seeds
Measure = Callable[[Result], float]


class NotRun(LookupError):
    """A claim needs a setting that there are no results of; the message names it."""


class Evidence:
    """Results by setting, trained for so many episodes; it remembers what it was asked for."""

    def __init__(self, results: Iterable[Result], episodes: int) -> None:
        self.episodes = episodes
        self.used: dict[Run, Result] = {}
        self._groups: list[int] = []
        self._found: dict[Run, dict[int, Result]] = {}
        for result in results:
            if result.run.episodes == episodes:  # two engines may have trained the same run: the first one counts
                self._found.setdefault(result.run.setting, {}).setdefault(result.run.seed, result)

    def fresh(self) -> "Evidence":
        """The same results, with nothing asked for yet."""
        other = Evidence((), self.episodes)
        other._found = self._found
        return other

    @property
    def seeds(self) -> int:
        """Of the smallest group that was compared."""
        return min(self._groups, default=0)

    @property
    def frozen(self) -> int:
        return sum(result.frozen for result in self.used.values())

    def results(self, setting: Run) -> list[Result]:
        """By seed."""
        found = self._found.get(resized(setting, self.episodes).setting)
        if not found:
            raise NotRun(f"{labels([setting])[0]} (N = {setting.hidden[0]})")
        same = [found[seed] for seed in sorted(found)]
        self.used |= {result.run: result for result in same}
        return same

    def best(self, candidates: Sequence[Run]) -> tuple[Run, list[Result]]:
        """The candidate with the most reward over all episodes, and the results to judge it by.

        With ten seeds or more one half of them chooses and the other is judged: with fewer, the winner's luck stays in.
        """
        groups = [self.results(run) for run in candidates]
        half = min(map(len, groups)) // 2 if min(map(len, groups)) >= ENOUGH_TO_SPLIT else None
        trained = dict(zip(candidates, groups, strict=True))
        chosen = ranked(candidates, {run: same[:half] for run, same in trained.items()})[0]
        return chosen, trained[chosen][half:] if len(groups) > 1 else trained[chosen]

    def level(self, setting: Run, measure: Measure) -> Estimate:
        return level(self.values(self.results(setting), measure))

    def difference(self, a: Run, b: Run, measure: Measure | None = None) -> Estimate:
        """Of a over b, in reward over all episodes unless something else is measured."""
        return self.between(self.results(a), self.results(b), measure or reward)

    def between(self, a: list[Result], b: list[Result], measure: Measure) -> Estimate:
        return difference(self.values(a, measure), self.values(b, measure))

    def values(self, results: list[Result], measure: Measure) -> list[float]:
        self._groups.append(len(results))
        return [measure(result) for result in results]

    def trend_of_best(self, sweeps: dict[int, dict[float, Run]]) -> Estimate:
        """Rank correlation (Kendall's τ) of N with the c that is best at N, worked out for each seed by itself."""
        found = {N: {c: self.results(run) for c, run in sweep.items()} for N, sweep in sweeps.items()}
        seeds = set.intersection(*({r.run.seed for r in same} for sweep in found.values() for same in sweep.values()))

        def best(sweep: dict[float, list[Result]], seed: int) -> float:
            return max(sweep, key=lambda c: next(r.reward for r in sweep[c] if r.run.seed == seed))

        self._groups.append(len(seeds))
        if not seeds:
            raise NotRun("a seed that all sizes share")
        return level([kendall(list(found), [best(sweep, seed) for sweep in found.values()]) for seed in sorted(seeds)])


Found = dict[str, dict[Any, tuple[Run, list[Result]]]]  # by line and place: the setting that was best, its results


def found(figure: Figure, evidence: Evidence) -> tuple[Found, int]:
    """What there is of a figure, and how many of its places have runs missing."""
    lines: Found = {}
    missing = 0
    for label, places in figure.lines.items():
        for x, candidates in places.items():
            try:
                lines.setdefault(label, {})[x] = evidence.best(candidates)
            except NotRun:
                missing += 1
    return {label: places for label, places in lines.items() if places}, missing


def passed_over(results: Sequence[Result]) -> set[Run]:
    """Settings that only served to choose: another one was better at their place, and no figure draws their curves."""
    over: set[Run] = set()
    kept: set[Run] = set()
    for episodes in {r.run.episodes for r in results if r.run.episodes % ALG_1.batch == 0}:
        evidence = Evidence(results, episodes)
        for figure in FIGURES.values():
            for candidates in (each for places in figure.lines.values() for each in places.values()):
                with contextlib.suppress(NotRun):
                    best = evidence.best(candidates)[0]
                    if len(candidates) > 1 or figure.kind in ("curves", "compute"):
                        kept.add(resized(best, episodes))
                        over.update(resized(run, episodes) for run in candidates)
    return over - kept


def reward(result: Result) -> float:
    return result.reward


def first(result: Result) -> float:
    return result.first


def last(result: Result) -> float:
    return result.last


def quarter(i: int) -> Measure:
    """Mean reward of the i-th quarter of the training."""
    return lambda result: float(np.array_split(result.curve, 4)[i].mean())


def fall(result: Result) -> float:
    """How far the reward is, at worst in the last quarter, below the best it had been before.

    Of twenty stretches of the training each is averaged: the noise that is left (0.01 at most) is no fall.
    """
    stretches = np.array([part.mean() for part in np.array_split(result.curve, STRETCHES)])
    return float((np.maximum.accumulate(stretches) - stretches)[-STRETCHES // 4 :].max())


def learned(result: Result) -> float:
    """Reward of the last quarter, 0 for guessing and 1 for never being wrong, whatever the rewards are."""
    return (result.last - result.run.task.chance) / (1 - result.run.task.chance)


def draws(run: Run) -> int:
    """How often an episode draws a hidden layer: each T + 1 times where there is a chain, else once."""
    return sum(rule.law.passes for rule in run.rules)


def within_budget(result: Result) -> float:
    """Reward of the last quarter of a training that stops when H was drawn as often as there were episodes."""
    points = max(4, len(result.curve) // draws(result.run))
    return float(result.curve[points - points // 4 : points].mean())
