"""What claims are judged by: the results of a setting, and what is found among them."""

import collections
import contextlib
import functools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coexplore.paper.defaults import ALG_1
from coexplore.paper.figure import Figure, length, resized
from coexplore.paper.figures import FIGURES, signed
from coexplore.paper.measures import Measure, reward
from coexplore.run import Result, Run, labels
from coexplore.settings import FieldError
from coexplore.stats.estimates import Estimate, difference, kendall, level

FEW, RESAMPLES = 5, 10_000  # the paper's seeds; how often so many of ours are drawn


Row = Mapping[str, Any]  # of a table of what was measured (checkpoints.py)
MANY = 50  # seeds of a setting
FRESH = 1000  # seeds below were looked at while the claims were judged first; those from here on never before


class NotRun(LookupError):
    """A claim needs a setting that there are no results of; the message names it."""


class Contest(NamedTuple):
    """Who is said to be the best of whom; an entrant may be several settings, of which it enters with the best."""

    entrants: Mapping[Hashable, Sequence[Run]]
    winners: set[Any]
    measure: Measure


class How(NamedTuple):
    """How evidence is read: every setting with signed signals; the best of several chosen as it was until 2026-11-19
    (`Evidence.best`); and of candidates, as a tuple, one that is judged in the place of the best."""

    as_signed: bool = False
    as_before: bool = False
    instead: Mapping[tuple[Run, ...], Run] = MappingProxyType({})


class Evidence:
    """Results by setting, trained for so many episodes; it remembers what it was asked for.

    `near`: of candidates that one was chosen from, those that are as good as the best (`chosen`)."""

    def __init__(self, results: Iterable[Result], episodes: int, measured: Sequence[Row] = ()) -> None:
        self.episodes = episodes
        self.measured = measured  # of networks on their way
        self.usual: int | None = None  # how long runs should be, where that is not the paper's length
        self._used: set[Run] = set()
        self._groups: list[int] = []
        self.how = How()
        self.near: dict[tuple[Run, ...], list[Run]] = {}
        self.chose = 0  # seeds, which are not judged
        self._found: dict[Run, dict[int, Result]] = {}
        for result in unmixed([result for result in results if length(result.setting) == episodes]):
            self._found.setdefault(result.setting, {}).setdefault(result.seed, result)  # of two engines, the first

    def fresh(self, how: How | None = None) -> "Evidence":
        """The same results, with nothing asked for yet, read in the same way or in another."""
        other = Evidence((), self.episodes, self.measured)
        other._found, other.usual, other.how = self._found, self.usual, how or self.how
        return other

    @property
    def seeds(self) -> int:
        """Of the smallest group that was compared."""
        return min(self._groups, default=0)

    @property
    def first_seed(self) -> int:
        return min((min(self._found[setting]) for setting in self._used), default=0)

    @property
    def used(self) -> list[Result]:
        return [result for setting in self._used for result in self._found[setting].values()]

    def by_seed(self, setting: Run) -> dict[int, Result]:
        with contextlib.suppress(FieldError):  # nobody trains for so long in batches as large as these
            own = resized(signed(setting) if self.how.as_signed else setting, self.episodes).setting
            if found := self._found.get(own):
                self._used.add(own)
                return found
        raise NotRun(f"{labels([setting])[0]} (N = {setting.hidden[0]})")

    def results(self, setting: Run) -> list[Result]:
        """By seed."""
        found = self.by_seed(setting)
        return [found[seed] for seed in sorted(found)]

    def _shared(self, settings: Iterable[Run]) -> tuple[list[int], list[dict[int, Result]]]:
        """The seeds that all of them have, and their results."""
        groups = [self.by_seed(setting) for setting in settings]
        if not (seeds := sorted(set.intersection(*map(set, groups)))):
            raise NotRun("a seed that all settings share")
        return seeds, groups

    def best(self, candidates: Sequence[Run]) -> tuple[Run, list[Result]]:
        """The candidate with the most reward over all episodes, and the results to draw of it.

        Each of these is of the candidate that is best without that seed: what is drawn owes nothing to the luck of a
        seed, but where two candidates tie it mixes them. Verdicts rested on this until 2026-11-19.
        """
        if len(candidates) == 1:
            return candidates[0], self.results(candidates[0])
        seeds, groups = self._shared(candidates)
        rewards = np.array([[group[seed].reward for seed in seeds] for group in groups])
        total = rewards.sum(axis=1, keepdims=True)
        without = total - rewards if len(seeds) > 1 else rewards
        judged = [groups[i][seed] for i, seed in zip(without.argmax(axis=0), seeds, strict=True)]
        return candidates[int(total.argmax())], judged

    def chosen(
        self, candidates: Sequence[Run], measure: Measure = reward, apart: bool = True
    ) -> tuple[Run, list[Result]]:
        """The best candidate by what is judged, and its results.

        The first half of the seeds that all have chooses and the other half is judged; if not `apart`, all seeds do
        both. `near` keeps the candidates whose mean is within one standard error of the best on the seeds that chose.
        """
        if len(candidates) == 1:
            return candidates[0], self.results(candidates[0])
        if self.how.as_before:
            return self.best(candidates)
        seeds, groups = self._shared(candidates)
        half = max(1, len(seeds) // 2) if apart else len(seeds)
        self.chose = max(self.chose, len(seeds) // 2 if apart else 0)
        found = np.array([[measure.of(group[seed]) for seed in seeds[:half]] for group in groups])
        mean = found.mean(axis=1)
        order = np.argsort(-mean, kind="stable")
        error = found[order[0]].std(ddof=1) / math.sqrt(half) if half > 1 else 0.0
        key = tuple(candidates)
        self.near[key] = [key[i] for i in order if mean[i] >= mean[order[0]] - error]
        run = self.how.instead.get(key, self.near[key][0])
        group = groups[key.index(run)]
        return run, [group[seed] for seed in seeds[half:] or seeds]

    def level(self, setting: Run, measure: Measure) -> Estimate:
        same = self.results(setting)
        return level(self.values(same, measure), measure.bounds(same[0].setting.task))

    def difference(self, a: Run, b: Run, measure: Measure = reward) -> Estimate:
        """Of a over b, in reward over all episodes unless something else is measured."""
        return self.between(self.results(a), self.results(b), measure)

    def paired(self, a: Run, b: Run, measure: Measure = reward) -> Estimate:
        """Of a over b, seed by seed, for two settings whose runs of one seed start from the same weights.

        By Student: a difference of two rewards may lie anywhere between −1 and 1, and bounds so wide would undo what is
        gained."""
        seeds, (of_a, of_b) = self._shared([a, b])
        pairs = [measure.of(of_a[seed]) - measure.of(of_b[seed]) for seed in seeds]
        return level(self.counted(pairs))

    def between(self, a: list[Result], b: list[Result], measure: Measure = reward) -> Estimate:
        return difference(self.values(a, measure), self.values(b, measure), measure.bounds(a[0].setting.task))

    def counted(self, values: Sequence[float]) -> Sequence[float]:
        """Values of one seed each, which are to be compared."""
        self._groups.append(len(values))
        return values

    def values(self, results: list[Result], measure: Measure) -> list[float]:
        try:
            return list(self.counted([measure.of(result) for result in results]))
        except FieldError:  # a pack may have kept scores alone, and this asks for a curve
            setting = results[0].setting
            raise NotRun(f"{labels([setting])[0]} (N = {setting.hidden[0]}) with its curve") from None

    def trend_of_best(self, sweeps: dict[int, dict[float, Run]]) -> Estimate:
        """Rank correlation (Kendall's τ) of N with the c that is best at N, worked out for each seed by itself."""
        seeds, groups = self._shared(run for sweep in sweeps.values() for run in sweep.values())
        rewards = np.array([[group[seed].reward for seed in seeds] for group in groups])
        best = rewards.reshape(len(sweeps), -1, len(seeds)).argmax(axis=1)  # [N, seeds]
        couplings = [list(sweep) for sweep in sweeps.values()]
        self._groups.append(len(seeds))
        rows = [[c[i] for c, i in zip(couplings, column, strict=True)] for column in best.T]
        return level([kendall(list(sweeps), row) for row in rows], (-1.0, 1.0))

    def named(self, contests: Sequence[Contest]) -> float | None:
        """How often the means of five of the seeds name the winner that the paper does, in all contests at once; None
        where the settings do not share more than five seeds."""
        entrants = [runs for contest in contests for runs in contest.entrants.values()]
        try:
            seeds, _ = self._shared(run for runs in entrants for run in runs)
        except NotRun:
            return None
        if len(seeds) <= FEW:
            return None
        right = np.ones(RESAMPLES, bool)
        for entered, winners, measure in contests:
            scores = np.array([self._drawn(runs, seeds, measure) for runs in entered.values()])
            right &= np.isin(scores.argmax(axis=0), [i for i, name in enumerate(entered) if name in winners])
        return float(right.mean())

    def _drawn(self, candidates: Sequence[Run], seeds: list[int], measure: Measure) -> NDArray[np.floating]:
        """The mean over five seeds, drawn again and again, of the candidate with the most reward over them."""
        groups, places = [self.by_seed(run) for run in candidates], five(len(seeds))
        scores = [_means([measure.of(group[seed]) for seed in seeds], places) for group in groups]
        if len(groups) == 1:
            return scores[0]
        chosen = np.argmax([_means([group[seed].reward for seed in seeds], places) for group in groups], axis=0)
        return np.take_along_axis(np.array(scores), chosen[None], axis=0)[0]


def _means(values: list[float], places: NDArray[np.integer]) -> NDArray[np.floating]:
    return np.asarray(values)[places].mean(axis=1)


@functools.lru_cache(maxsize=2)
def five(n: int) -> NDArray[np.integer]:
    """Five different ones of n, many times."""
    return np.argpartition(np.random.default_rng(0).random((RESAMPLES, n)), FEW, axis=1)[:, :FEW]


def unmixed(results: Sequence[Result]) -> list[Result]:
    """Without those of the figures' runs whose seeds have been looked at, or without those whose have not: of the two
    kinds, at each length of training, the one of which there are fewer is left out. Others stay."""
    known = {run for run in {result.setting for result in results} if _of_a_figure(run)}
    kinds = [(length(r.setting), r.seed >= FRESH) if r.setting in known else None for r in results]
    counts = collections.Counter(kinds)
    out = {(n, fresh) for n, fresh in filter(None, counts) if counts[n, fresh] < counts[n, not fresh]}
    return [result for result, kind in zip(results, kinds, strict=True) if kind not in out]


def _of_a_figure(run: Run) -> bool:
    """Whether a figure has it, at whatever length."""
    with contextlib.suppress(FieldError):  # in such batches nobody trains for as long as the paper does
        return resized(run, ALG_1.episodes) in _settings()
    return False


@functools.cache
def _settings() -> set[Run]:
    """Of all figures, as if each were trained for as long as the paper's."""
    return {resized(run, ALG_1.episodes) for figure in FIGURES.values() for run in figure.settings()}


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


def many_seeds(results: Sequence[Result]) -> tuple[set[Run], set[Run]]:
    """Settings of the figures with so many seeds that a pack is large: those whose curves nobody draws, and those whose
    curves are drawn, but for the headline's, which can be looked into."""
    counts = collections.Counter(result.setting for result in results)
    many = {run for run, count in counts.items() if count >= MANY and _of_a_figure(run)}
    curves = {run for figure in FIGURES.values() if figure.kind in ("curves", "compute") for run in figure.settings()}
    drawn = {run for run in many if resized(run, ALG_1.episodes) in curves}
    headline = {run for run in drawn if resized(run, ALG_1.episodes) in FIGURES["headline"].settings()}
    return many - drawn, drawn - headline


def passed_over(results: Sequence[Result]) -> set[Run]:
    """Settings that only served to choose: another one was better at their place, and no figure draws their curves."""
    over: set[Run] = set()
    kept: set[Run] = set()
    for episodes in {length(r.run) for r in results if length(r.run) % ALG_1.batch == 0}:
        evidence = Evidence(results, episodes)
        for figure in FIGURES.values():
            for candidates in (each for places in figure.lines.values() for each in places.values()):
                with contextlib.suppress(NotRun):
                    best = evidence.best(candidates)[0]
                    if len(candidates) > 1 or figure.kind in ("curves", "compute"):
                        kept.add(resized(best, episodes))
                        over.update(resized(run, episodes) for run in candidates)
    return over - kept
