"""Searches for one setting that is first early and late: Algorithm 1 centred by what each unit predicts of itself.

Two figures. `one-rule` is at full length and at every N: one setting per N, the best over all episodes, beside the two
algorithms of the paper, each at the setting that `tuned` and `scaling` chose by the first, by the last quarter and by
all episodes; at N = 64 also the centres ½ and σ(Wᵀx + b), none, and no coupling, all searched alike. `centres` has
every control with one grid, at a quarter of the length: further chains, and the prediction in REINFORCE and in
Algorithm 2, are trained by xla alone.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

from coexplore.paper.defaults import ALG_1, ALG_2, INDEPENDENT
from coexplore.paper.figure import resized
from coexplore.paper.open_tunings.at_their_best import ALGORITHM_2, PRINTED, known
from coexplore.paper.spaces import Rate, at_rate, coupled, rate_of
from coexplore.paper.tuning import Place, Searches, Size, Tuning
from coexplore.results.choosing import MEASURES
from coexplore.run import Run, change, grid
from coexplore.settings import Linear
from coexplore.study.search import Search, Seeds, Trials, outcome

PREDICTED, HALF, DRIVE, UNCOUPLED = "predicted", "½", "its drive", "predicted, c = 0"
SMALL, LARGE, FROM = (8, 16, 32, 64, 96, 128), (256, 512), 128
STARTS = (0.002, 0.005, 0.008, 0.012, 0.02, 0.05)
FINE = (0.001, 0.002, 0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.05, 0.08, 0.12)
COUPLINGS = (0.25, Linear(0.4, 0.1), Linear(0.75, 0.1))
MORE_COUPLINGS = (0.05, 0.1, *COUPLINGS, Linear(0.4, 0.05), Linear(0.5, 0.05))
PAIRS, STEPS, CRITICS, SIGNALS = (0.0, 0.5, Linear(0.0, 1.0)), (10, 25, 51), (None, 0.002), ("binary", "signed")
CHOOSE, MORE, FIRST_JUDGE = range(4000, 4005), range(4005, 4015), 6000
JUDGES = {64: 1000, 256: 100, 512: 40}  # seeds that judge; elsewhere MANY: an interval above −0.03 takes so many
MANY, MOST = 250, 16


def falling(runs: Iterable[Run], starts: Sequence[float]) -> list[Run]:
    """Each at every rate, falling to a twentieth."""
    return [at_rate(run, Rate(start, True)) for run in runs for start in starts]


@functools.cache
def others(run: Run) -> list[Run]:
    """Every combination of the settings besides rate and coupling."""
    pairs = {"baseline_pairs": list(PAIRS)} if run.rules[0].baseline.name != "none" else {}
    runs = grid(run, signals=list(SIGNALS), steps=list(STEPS), **pairs)
    return [at_rate(each, rate_of(run)._replace(critic=critic)) for each in runs for critic in CRITICS]


@functools.cache
def near(run: Run) -> list[Run]:
    """The rates on either side with every coupling."""
    couplings = grid(run, coupling=list(MORE_COUPLINGS)) if run.rules[0].coupling else [run]  # type: ignore[attr-defined]
    return [each for one in couplings for each in (one, *_beside(one))]


def _beside(run: Run) -> list[Run]:
    rate = rate_of(run)
    below, above = [x for x in FINE if x < rate.start * (1 - 1e-9)], [x for x in FINE if x > rate.start * (1 + 1e-9)]
    return [at_rate(run, rate._replace(start=start)) for start in (*below[-1:], *above[:1])]


def judges(N: int, size: Size) -> range:
    """As many as the scale has."""
    many = JUDGES.get(N, MANY) if len(size.seeds.judge) > 10 else len(size.seeds.judge)
    return range(FIRST_JUDGE, FIRST_JUDGE + many)


def one_setting(run: Run, size: Size, N: int) -> Search:
    """Rate and coupling, the rest, then rate and coupling again; chosen by the reward over all episodes alone."""
    runs = grid(run, coupling=list(COUPLINGS)) if run.rules[0].coupling else [run]  # type: ignore[attr-defined]
    first, quick = falling(runs, STARTS if len(size.seeds.judge) > 10 else STARTS[1:3]), len(size.seeds.judge) <= 10
    seeds = Seeds(CHOOSE[:2] if quick else CHOOSE, judges(N, size), MORE[:1] if quick else MORE, 3 if quick else 10)
    return Search(lambda _: first, seeds, (others, near) if quick else (others, near, near), MEASURES, one=True)


def _moved(smaller: Search, N: int, trials: Trials) -> list[Run]:
    """What is best in a smaller layer, at this size, with the rates and couplings that larger layers like."""
    best = change(outcome(smaller, trials).chosen["reward"], "units", N)
    slower = _beside(best)[:1] + [each for one in _beside(best)[:1] for each in _beside(one)[:1]]
    return [best, *slower, *(each for one in (best, *slower) for each in grid(one, coupling=[0.1, Linear(0.4, 0.05)]))]


def one_rule_places(episodes: int, size: Size, sizes: Sequence[int] = (*SMALL, *LARGE)) -> Searches:
    """The rule at each N beside both algorithms; other centres, and no coupling, at N = 64."""
    searches: dict[Place, Search] = {}
    centred = resized(change(ALG_1, "baseline", "predicted"), episodes)
    for N in sizes:
        if N in LARGE:
            smaller, seeds = searches[Place("", PREDICTED, FROM)], Seeds(CHOOSE[:3], judges(N, size))
            first = functools.partial(_moved, smaller, N)
            searches[Place("", PREDICTED, N)] = Search(first, seeds, (), MEASURES, MOST, (smaller,), one=True)
        else:
            searches[Place("", PREDICTED, N)] = one_setting(change(centred, "units", N), size, N)
        for label in (PRINTED, ALGORITHM_2):
            rivals = {by: resized(run, episodes) for by, run in known(label, N).items()}
            seeds = size.fewer if N in LARGE else size.seeds  # those that judged them there
            searches[Place("", label, N)] = Search(lambda _: (), seeds, (), MEASURES, given=rivals)
    return searches | (_controls(resized(ALG_1, episodes), size) if 64 in sizes else {})


def _controls(run: Run, size: Size) -> dict[Place, Search]:
    centres = {HALF: ("half", 0.25), DRIVE: ("drive", 0.25), UNCOUPLED: ("predicted", 0.0)}
    searches = {}
    for label, (baseline, c) in {**centres, "as printed, searched alike": ("none", 0.25)}.items():
        search = one_setting(change(change(run, "baseline", baseline), "coupling", c), size, 64)
        few = search.seeds._replace(judge=search.seeds.judge[:MANY])
        searches[Place("", label, 64)] = dataclasses.replace(search, seeds=few)
    return searches


def _given(runs: list[Run], _: Trials) -> list[Run]:
    return runs


# Every control with one grid ------------------------------------------------------------------------------------------

CENTRES = {
    "as printed": change(ALG_1, "baseline", "none"),
    "½": change(ALG_1, "baseline", "half"),
    "running mean": change(ALG_1, "baseline", "usual"),
    "its drive": change(ALG_1, "baseline", "drive"),
    "predicted": change(ALG_1, "baseline", "predicted"),
    "predicted, c = 0": change(change(ALG_1, "baseline", "predicted"), "coupling", 0.0),
    "1 further chain": change(ALG_1, "baseline", "chains"),
    "16 further chains": change(change(ALG_1, "baseline", "chains"), "baseline_chains", 16),
    "REINFORCE": INDEPENDENT,
    "REINFORCE, predicted": change(INDEPENDENT, "baseline", "predicted"),
    "Algorithm 2": ALG_2,
    "Algorithm 2, predicted": change(ALG_2, "baseline", "predicted"),
}
RATES, GRID_COUPLINGS = (0.002, 0.005, 0.01, 0.02, 0.05), (0.25, Linear(0.4, 0.1))


def centres_places(episodes: int, size: Size, only: Sequence[str] = tuple(CENTRES)) -> Searches:
    """The same rates, couplings, signals and critics for all, 64 units."""
    quick = len(size.seeds.judge) <= 10
    judge = range(FIRST_JUDGE, FIRST_JUDGE + (3 if quick else 100))
    seeds = Seeds(CHOOSE[:2] if quick else CHOOSE, judge)
    searches = {}
    for label in only:
        run = resized(CENTRES[label], episodes)
        has_coupling = coupled(run) and run.rules[0].coupling  # type: ignore[attr-defined]
        runs = grid(run, coupling=list(GRID_COUPLINGS)) if has_coupling else [run]
        runs = [each for one in runs for each in grid(one, signals=list(SIGNALS))]
        starts = RATES[1:3] if quick else RATES
        first = [at_rate(each, Rate(start, True, critic)) for each in runs for start in starts for critic in CRITICS]
        searches[Place("", label, 64)] = Search(functools.partial(_given, first), seeds, (), MEASURES, one=True)
    return searches


TUNINGS = (
    Tuning("one-rule", "One local rule, first early and late", "N, hidden units", one_rule_places, question=True),
    Tuning("centres", "What to centre by", "N, hidden units", centres_places, part=4, question=True),
)
