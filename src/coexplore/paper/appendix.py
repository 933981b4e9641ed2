"""What the paper's appendix says: sampling steps, trace decay, the best coupling at each size."""

from coexplore.paper.criteria import at_coupling, best_coupling, coupling_contest, falls
from coexplore.paper.defaults import ALG_1, ALG_2, NS, STEPS, C
from coexplore.paper.evidence import Contest, Evidence
from coexplore.paper.measures import first, last
from coexplore.paper.verdict import MARGIN, Part, above, below, between, claim, falling, similar
from coexplore.run import Run, change


def steps(run: Run, T: int) -> Run:
    return change(run, "steps", T)


@claim("A1.1", "figa1", "T ≥ 15 is enough for the speed of Algorithm 1")
def a1_1(at: Evidence) -> list[Part]:
    """First-quarter reward at T = 15, 20, 30 and 50 not more than 0.03 below that at the paper's 25."""
    found = {T: at.difference(steps(ALG_1, T), ALG_1, first) for T in (15, 20, 30, 50)}
    return [above(f"T = {T} over 25, first quarter", estimate, -MARGIN) for T, estimate in found.items()]


def _steps() -> list[Contest]:
    return [Contest({T: [steps(ALG_1, T)] for T in STEPS["boltzmann"]}, {25}, last)]


@claim("A1.2", "figa1", "T = 25 ends best", _steps)
def a1_2(at: Evidence) -> list[Part]:
    """The highest mean last-quarter reward, and no other can be better by 0.03; fails if one beats it by more."""
    found = {T: at.difference(ALG_1, steps(ALG_1, T), last) for T in STEPS["boltzmann"] if T != 25}
    return [above(f"T = 25 over {T}, last quarter", estimate, needs="mean") for T, estimate in found.items()]


@claim("A1.3", "figa1", "T = 50 ends slightly worse than T = 25")
def a1_3(at: Evidence) -> list[Part]:
    """Last-quarter reward lower, by less than 0.03."""
    return between("T = 50 over 25, last quarter", at.difference(steps(ALG_1, 50), ALG_1, last), -MARGIN, 0.0)


@claim("A1.4", "figa1", "Small T hurts Algorithm 1")
def a1_4(at: Evidence) -> list[Part]:
    """Reward at T = 1, 2 and 4 more than 0.03 below that at 25 (10 is neither small nor enough)."""
    return [below(f"T = {T} over 25", at.difference(steps(ALG_1, T), ALG_1), -MARGIN) for T in (1, 2, 4)]


def sweeps(run: Run) -> dict[int, dict[float, Run]]:
    return {N: {c: change(at_coupling(run, c), "units", N) for c in C} for N in NS}


ABOUT = {N: {0.40, 0.50, 0.75} if N <= 16 else {0.10, 0.25, 0.40} for N in NS}
BEST_OF_ALG_2 = {N: {c} for N, c in zip(NS, (1.0, 1.0, 0.75, 0.25, 0.25, 0.10), strict=True)}


def best_at_each_size(at: Evidence, run: Run, named: dict[int, set[float]]) -> list[Part]:
    return [part for N in NS for part in best_coupling(at, change(run, "units", N), named[N], f"N = {N}: ")]


def contest_at_each_size(run: Run, named: dict[int, set[float]]) -> list[Contest]:
    return [coupling_contest(change(run, "units", N), named[N]) for N in NS]


@claim("A2.1", "figa2", "The best c of Algorithm 1 falls as N grows")
def a2_1(at: Evidence) -> list[Part]:
    """Rank correlation of N and the best c, worked out seed by seed, below 0."""
    return [falling("rank correlation of N and the best c", at.trend_of_best(sweeps(ALG_1)))]


@claim(
    "A2.2",
    "figa2",
    "The best c of Algorithm 1 is about 0.5 for N ≤ 16 and about 0.25 above",
    lambda: contest_at_each_size(ALG_1, ABOUT),
)
def a2_2(at: Evidence) -> list[Part]:
    """ "About": that value or its neighbour in the list, so 0.4 to 0.75 and 0.1 to 0.4. At every N one of those has
    the highest mean reward, and none further off can be better by 0.03; fails where one beats it by more."""
    return best_at_each_size(at, ALG_1, ABOUT)


def alike(at: Evidence, runs: dict[str, Run], common: Run) -> list[Part]:
    """Curves that look the same: first and last quarter both within the margin of the common setting's."""
    windows = {"first": first, "last": last}
    found = {f"{x}, {w} quarter": at.difference(run, common, f) for x, run in runs.items() for w, f in windows.items()}
    return [part for name, estimate in found.items() for part in similar(name, estimate)]


@claim("A3.1", "figa3", "T makes almost no difference to Algorithm 2")
def a3_1(at: Evidence) -> list[Part]:
    """First- and last-quarter reward at every T within 0.03 of those at T = 2."""
    return alike(at, {f"T = {T} over 2": steps(ALG_2, T) for T in STEPS["recurrent"] if T != 2}, ALG_2)


@claim("A4.1", "figa4", "λ ≤ 0.5 makes almost no difference to Algorithm 2")
def a4_1(at: Evidence) -> list[Part]:
    """First- and last-quarter reward at λ = 0, 0.1, 0.4, 0.5 within 0.03 of those at 0.25."""
    return alike(at, {f"λ = {x} over 0.25": change(ALG_2, "trace_decay", x) for x in (0.0, 0.10, 0.40, 0.50)}, ALG_2)


@claim("A4.2", "figa4", "λ above 0.5 hurts Algorithm 2")
def a4_2(at: Evidence) -> list[Part]:
    """The reward at 0.99 is lower than at 0.5, and no step on the way raises it."""
    return falls(at, ALG_2, "trace_decay", [0.50, 0.75, 0.90, 0.99])


@claim("A5.1", "figa5", "The best c of Algorithm 2 falls as N grows", froze=True)
def a5_1(at: Evidence) -> list[Part]:
    """Rank correlation of N and the best c, worked out seed by seed, below 0."""
    return [falling("rank correlation of N and the best c", at.trend_of_best(sweeps(ALG_2)))]


@claim(
    "A5.2",
    "figa5",
    "For N = 8, 16, 32, 64, 96, 128 the best c of Algorithm 2 is 1, 1, 0.75, 0.25, 0.25, 0.10",
    lambda: contest_at_each_size(ALG_2, BEST_OF_ALG_2),
    froze=True,
)
def a5_2(at: Evidence) -> list[Part]:
    """At every N that c has the highest mean reward, and no other can be better by 0.03; fails where one beats it by
    more."""
    return best_at_each_size(at, ALG_2, BEST_OF_ALG_2)


APPENDIX = [a1_1, a1_2, a1_3, a1_4, a2_1, a2_2, a3_1, a4_1, a4_2, a5_1, a5_2]
