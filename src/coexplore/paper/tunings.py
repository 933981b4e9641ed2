"""Figures in which every rule is at its best: what is searched at each place. The others are at the paper's settings.

At a place (a rule at a size) rate and coupling are searched as a product first, at the paper's values of the rest; then
the rest around the best of that; then rate and coupling again around the new best, with any other setting changed
alone, until nothing near it is better or the rounds are used up. Where the best lies at the edge of a grid that goes on
beyond it. The best over all episodes, in the first and in the last quarter are three searches that share runs.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from coexplore.paper.figure import SCALES, resized
from coexplore.paper.figures import NS, RULES
from coexplore.paper.spaces import (
    COUPLINGS,
    CRITICS,
    FALLING,
    SIGNALS,
    around,
    coupled,
    couplings,
    next_rates,
    next_to,
    others,
    rates,
)
from coexplore.results.choosing import MEASURES
from coexplore.results.palette import SHORT
from coexplore.rules import BUILT_IN, Recurrent, UnbiasedWeightMax
from coexplore.run import Run, change, grid
from coexplore.study.search import Search, Seeds, Trials, outcome

EXPECTED = "unbiased Weight Max, expected"
KINDS = {SHORT[name]: Run(rule=rule.usual()) for name, rule in BUILT_IN.items()}
KINDS[EXPECTED] = Run(rule=UnbiasedWeightMax(expected=True))
BY_KERNEL = (*RULES, EXPECTED)  # a fast engine has them; xla takes as long for one run as for a thousand of a shape
KNOWN, LARGE_NS = 128, (64, 128, 192, 256, 384, 512)  # the size whose best is known, and those searched next to it
LARGE_RULES = ("Algorithm 1", "Algorithm 2", "REINFORCE", EXPECTED, "STE backprop")
MOST = 24  # settings that each rule may try in larger layers


class Place(NamedTuple):
    """`panel` tells parts of a figure that are drawn apart; `at` is the place on the horizontal axis."""

    panel: str
    label: str
    at: int


Searches = Mapping[Place, Search]


class Size(NamedTuple):
    """How much is tried."""

    starts: Sequence[float]  # of the learning rate
    wide: Sequence[float]  # the same where a wider grid costs nothing
    couplings: Sequence[object]
    rounds: int
    seeds: Seeds
    fewer: Seeds  # where a run costs more; none that judged `scaling` before, when it tried less


SIZES = {
    "paper": Size(
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
        (*COUPLINGS[:8], *FALLING),
        3,
        Seeds(range(1000, 1005), range(1015, 1115), range(1005, 1015), 10),
        Seeds(range(1000, 1003), range(1025, 1065)),
    ),
    "quick": Size(
        (0.002, 0.005, 0.02),
        (0.002, 0.005, 0.02),
        (0.1, 0.25, FALLING[0]),
        1,
        Seeds(range(1000, 1002), range(1015, 1018), range(1005, 1006), 3),
        Seeds(range(1000, 1002), range(1025, 1028)),
    ),
}


@dataclasses.dataclass(frozen=True)
class Tuning:
    """`measures` are what is chosen by, a panel for each; a run has one `part`-th of a scale's episodes."""

    name: str
    title: str
    axis: str
    places: Callable[[int, Size], Searches]
    measures: tuple[str, ...] = MEASURES
    part: int = 1

    def length(self, episodes: int) -> int:
        """How many episodes its runs have where the scale has so many; a length that no scale has is the runs' own."""
        return episodes // self.part if episodes in {scale.episodes for scale in SCALES.values()} else episodes

    def searches(self, episodes: int) -> Searches:
        """At each place; the lengths of the smaller scale have the smaller search."""
        length, quick = self.length(episodes), SCALES["quick"].episodes // self.part
        return _searches(self.places, length, "quick" if length <= quick else "paper")


@functools.cache  # verdicts, pictures and tables ask, and making thousands of Runs takes a while
def _searches(places: Callable[[int, Size], Searches], episodes: int, size: str) -> Searches:
    return places(episodes, SIZES[size])


def tuned_places(episodes: int, size: Size, sizes: Sequence[int] = NS, only: Sequence[str] = tuple(KINDS)) -> Searches:
    """Each rule at each N; Weight Max and MAP propagation, which are slow to train, at N = 64."""
    searches = {}
    for label in only:
        for N in sizes if label not in ("Weight Max", "MAP propagation") else (64,):
            run = resized(change(KINDS[label], "units", N), episodes)
            searches[Place("", label, N)] = _whole(run, size) if label in BY_KERNEL else _at_once(run, size)
    return searches


def _whole(run: Run, size: Size) -> Search:
    """Rate and coupling, the rest, then both again."""
    first = rates(couplings(run, size.couplings), size.starts)
    return Search(lambda _: first, size.seeds, (others, *(around,) * size.rounds), MEASURES)


def _at_once(run: Run, size: Size) -> Search:
    """All combinations and a wider grid in one group of runs, on ten of the choosing seeds right away."""
    runs = grid(run, signals=list(SIGNALS)) if run.rules[0].law.binary else [run]
    first, seeds = rates(runs, size.wide, CRITICS), size.seeds
    ten = Seeds([*seeds.choose, *seeds.more][:10], seeds.judge)
    return Search(lambda _: first, ten, (next_rates,) * size.rounds, MEASURES)


def scaling_places(
    episodes: int,
    size: Size,
    sizes: Sequence[int] = LARGE_NS,
    bits: Sequence[int] = (4, 5),
    known_at: int = KNOWN,
    only: Sequence[str] = LARGE_RULES,
) -> Searches:
    """Next to the best that `tuned` found at N = 128; at most 24 settings each."""
    small = tuned_places(episodes, size, [known_at], only)
    searches = {}
    for k in bits:
        for label in only:
            known = small[Place("", label, known_at)]
            for N in sizes:
                first = functools.partial(_moved, known, N, k)
                steps = (next_to,) * (size.rounds + 1)  # the best rate at 512 units is several steps from that at 128
                searches[Place(f"{k} bits", label, N)] = Search(first, size.fewer, steps, MEASURES, MOST, (known,))
    return searches


def _moved(known: Search, N: int, bits: int, trials: Trials) -> list[Run]:
    """What is best there, at this size, and the rates next to it."""
    best = outcome(known, trials).chosen
    moved = [change(change(best[by], "units", N), "bits", bits) for by in ("first", "reward", "last")]
    return list(dict.fromkeys([*moved, *(near for run in dict.fromkeys(moved) for near in next_rates(run))]))


def depth_places(
    episodes: int, size: Size, depths: Sequence[int] = (1, 2, 3, 4), N: int = 64, only: Sequence[str] = tuple(KINDS)
) -> Searches:
    """Each rule at each depth, binary units with signed signals: rate, its scaling, and the coupling."""
    searches = {}
    for label in only:
        for L in depths:
            run = resized(change(KINDS[label], "units", (N,) * L), episodes)
            if run.rules[0].law.binary:
                run = change(run, "signals", "signed")
            if isinstance(run.rules[0], Recurrent) and L > 1:
                run = change(run, "chain_signals", "signed")
            searches[Place("", label, L)] = _deep(run, size)
    return searches


def _deep(run: Run, size: Size) -> Search:
    starts = [start for start in size.starts if start < 0.05]  # which no deeper network bears
    runs = grid(run, coupling=[0.1, 0.25]) if coupled(run) else [run]
    first = rates([each for one in runs for each in grid(one, rate_scaling=["none", "fan-in"])], starts)
    steps = (next_rates,) * min(size.rounds, 2)
    seeds = size.fewer._replace(judge=size.fewer.judge[:20])
    return Search(lambda _: first, seeds, steps, ("reward", "last"))


TUNINGS = {
    tuning.name: tuning
    for tuning in (
        Tuning("tuned", "Every rule at its best", "N, hidden units", tuned_places),
        Tuning("scaling", "Every rule at its best in larger layers", "N, hidden units", scaling_places),
        Tuning(
            "depth",
            "Every rule at its best, one to four hidden layers",
            "L, hidden layers of 64 units",
            depth_places,
            ("reward", "last"),
            part=4,
        ),
    )
}
