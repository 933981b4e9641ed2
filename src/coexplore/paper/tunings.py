"""Figures in which every rule is at its best: what is searched at each place. The others are at the paper's settings.

At a place (a rule at a size) rate and coupling are searched as a product first, at the paper's values of the rest; then
the rest around the best of that; then rate and coupling again around the new best, with any other setting changed
alone, until nothing near it is better or the rounds are used up. Where the best lies at the edge of a grid that goes on
beyond it. The best over all episodes, in the first and in the last quarter are three searches that share runs.
"""

import functools
from collections.abc import Sequence

from coexplore.paper.defaults import NS
from coexplore.paper.figure import resized
from coexplore.paper.open_tunings import OPEN
from coexplore.paper.spaces import (
    CRITICS,
    SIGNALS,
    around,
    coupled,
    couplings,
    next_rates,
    next_to,
    others,
    rates,
)
from coexplore.paper.tuning import (
    BY_KERNEL,
    KINDS,
    KNOWN,
    LARGE_NS,
    LARGE_RULES,
    MOST,
    Place,
    Searches,
    Size,
    Tuning,
)
from coexplore.results.choosing import MEASURES
from coexplore.rules import Recurrent
from coexplore.run import Run, change, grid
from coexplore.study.search import Search, Seeds, Trials, outcome


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
} | OPEN
