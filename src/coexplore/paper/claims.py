"""What the paper's sentences say, and the verdict on each: figures 2 to 5 and the cost (the appendix is beside it).

Each criterion was written before these claims had been judged; docs/claims.md says what was known by then. Where one
was changed later, that before stands beside it, with the reason. "Reward" is the mean over all episodes unless a window
is named; "first" and "last" are the first and last quarter of the training (1e6 of the paper's 4e6 episodes). "Its best
c" is best by what is judged, on one half of the seeds, and judged on the other.
"""

import dataclasses
import itertools
from collections.abc import Iterable

from coexplore.paper.appendix import APPENDIX
from coexplore.paper.criteria import at_coupling, best_coupling, coupling_contest, falls, rises
from coexplore.paper.defaults import ALG_1, ALG_2, INDEPENDENT, NS, RULES, C
from coexplore.paper.evidence import Contest, Evidence, How
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, UNCRITICISED, held
from coexplore.paper.measures import Measure, fall, fall_or_frozen, first, last, learned, quarter, within_budget
from coexplore.paper.theory import THEORY
from coexplore.paper.verdict import (
    MARGIN,
    MIXED,
    Claim,
    Former,
    Part,
    Verdict,
    above,
    below,
    between,
    claim,
    judge,
    similar,
)
from coexplore.run import Result
from coexplore.stats.estimates import Estimate


def verdicts(results: Iterable[Result], episodes: int = SCALES["paper"].episodes) -> list[Verdict]:
    """Every claim, judged by those of the results that were trained for so many episodes, and the theory."""
    evidence = Evidence(results, episodes)
    return [*(_judged(claim, evidence) for claim in CLAIMS), *THEORY]


def _judged(claim: Claim, evidence: Evidence) -> Verdict:
    """As the paper ran it and, where runs froze, with signed signals, if those were trained."""
    verdict = judge(claim, evidence.fresh())
    other = judge(claim, evidence.fresh(How(as_signed=True))) if claim.froze else None
    return (
        verdict if other is None or other.verdict == "not run" else dataclasses.replace(verdict, signed=other.verdict)
    )


@claim("F2.1", "fig2", "Two-sided REINFORCE beats Algorithm 1 at c = 0")
def f2_1(at: Evidence) -> list[Part]:
    """Its reward is higher."""
    return [above("REINFORCE over Algorithm 1 at c = 0", at.difference(INDEPENDENT, at_coupling(ALG_1, 0.0)))]


@claim("F2.2", "fig2", "Algorithm 1's reward rises from c = 0 to 0.25")
def f2_2(at: Evidence) -> list[Part]:
    """The reward at 0.25 is higher than at 0, and no step on the way up lowers it."""
    return rises(at, ALG_1, "coupling", [0.0, 0.05, 0.10, 0.25])


@claim("F2.3", "fig2", "Algorithm 1's best c is 0.25", lambda: [coupling_contest(ALG_1, {0.25})])
def f2_3(at: Evidence) -> list[Part]:
    """The highest mean reward, and no other c can be better by 0.03; fails if another beats it by more than that."""
    return best_coupling(at, ALG_1, {0.25})


@claim("F2.4", "fig2", "At c = 0.25 the first 1e6 episodes of Algorithm 1 beat REINFORCE clearly")
def f2_4(at: Evidence) -> list[Part]:
    """First-quarter reward higher by more than 0.03, what elsewhere counts as similar."""
    return [above("Algorithm 1 over REINFORCE, first quarter", at.difference(ALG_1, INDEPENDENT, first), MARGIN)]


@claim("F2.5", "fig2", "At c = 0.25 the whole curve of Algorithm 1 is better than REINFORCE's")
def f2_5(at: Evidence) -> list[Part]:
    """Higher reward in each quarter of the training."""
    ordinals = ("first", "second", "third", "last")
    found = {word: at.difference(ALG_1, INDEPENDENT, quarter(i)) for i, word in enumerate(ordinals)}
    return [above(f"Algorithm 1 over REINFORCE, {word} quarter", estimate) for word, estimate in found.items()]


@claim("F2.6", "fig2", "Above c = 0.25 Algorithm 1 gets worse")
def f2_6(at: Evidence) -> list[Part]:
    """The reward at 1 is lower than at 0.25, and no step on the way raises it."""
    return falls(at, ALG_1, "coupling", [0.25, 0.40, 0.50, 0.75, 1.0])


@claim("F2.7", "fig2", "For c ≥ 0.75 the end of Algorithm 1 is unstable")
def f2_7(at: Evidence) -> list[Part]:
    """Unstable: in the last quarter the reward is at some time more than 0.03 below what it had been before (means
    of twentieths of the training; on average over seeds). A steady curve, high or low, has no such fall, and a frozen
    run has none either."""
    return [above(f"fall at c = {c}", at.level(at_coupling(ALG_1, c), fall), MARGIN) for c in (0.75, 1.0)]


def contest(at: Evidence, N: int, label: str, other: str, measure: Measure) -> Estimate:
    """One rule over another at N units, each with its best c."""
    return at.between(best_of(at, label, N, measure), best_of(at, other, N, measure), measure)


def best_of(at: Evidence, label: str, N: int, measure: Measure) -> list[Result]:
    return at.chosen(FIGURES["fig3"].lines[label][N], measure)[1]


def everywhere(at: Evidence, label: str, others: Iterable[str], measure: Measure) -> dict[str, Estimate]:
    """One rule over others at every size."""
    return {f"N = {N} against {other}": contest(at, N, label, other, measure) for N in NS for other in others}


def best_rule(label: str, measure: Measure) -> list[Contest]:
    """One rule against all others at every size, each with its best c."""
    lines = FIGURES["fig3"].lines
    return [Contest({rule: lines[rule][N] for rule in RULES}, {label}, measure) for N in NS]


def others(*labels: str) -> list[str]:
    return [label for label in RULES if label not in labels]


@claim(
    "F3.1",
    "fig3",
    "Algorithm 1 has the best first-1e6 reward of all rules, at each N",
    lambda: best_rule("Algorithm 1", first),
    former=MIXED,
)
def f3_1(at: Evidence) -> list[Part]:
    """At every N the highest mean, and no other rule can be better by 0.03; fails where one beats it by more."""
    found = everywhere(at, "Algorithm 1", others("Algorithm 1"), first)
    return [above(name, estimate, needs="mean") for name, estimate in found.items()]


@claim("F3.2", "fig3", "Algorithm 1 is faster than STE backprop at every N", former=MIXED)
def f3_2(at: Evidence) -> list[Part]:
    """Higher first-quarter reward at every N."""
    return [above(name, estimate) for name, estimate in everywhere(at, "Algorithm 1", ["STE backprop"], first).items()]


@claim("F3.3", "fig3", "The speed of Algorithm 1 scales well with N", former=MIXED)
def f3_3(at: Evidence) -> list[Part]:
    """First-quarter reward at N = 128 more than 0.03 above that at 8, and no step to a larger N costs more than 0.03
    (levelling off is no fault)."""
    runs = {N: best_of(at, "Algorithm 1", N, first) for N in NS}
    steps = [(f"N = {b} over {a}", at.between(runs[b], runs[a], first)) for a, b in itertools.pairwise(NS)]
    gain = above("N = 128 over 8", at.between(runs[128], runs[8], first), MARGIN)
    return [gain, *(above(name, found, -MARGIN, needs="nothing") for name, found in steps)]


@claim(
    "F3.4",
    "fig3",
    "Algorithm 2 is moderately faster than REINFORCE and gains little from N",
    froze=True,
    former=MIXED,
)
def f3_4(at: Evidence) -> list[Part]:
    """Higher first-quarter reward than REINFORCE at every N; its gain from N = 8 to 128, four doublings, below
    0.12, so below the 0.03 of "slightly" for each."""
    faster = everywhere(at, "Algorithm 2", ["REINFORCE"], first)
    small, large = (best_of(at, "Algorithm 2", N, first) for N in (8, 128))
    gain = below("N = 128 over 8", at.between(large, small, first), 4 * MARGIN)
    return [*(above(name, found) for name, found in faster.items()), gain]


@claim("F4.1", "fig4", "Algorithm 1's last-1e6 reward is similar to the rivals' (Algorithm 2 aside)", former=MIXED)
def f4_1(at: Evidence) -> list[Part]:
    """Within 0.03 of each rival at every N, in either direction."""
    found = everywhere(at, "Algorithm 1", others("Algorithm 1", "Algorithm 2"), last)
    return [part for name, estimate in found.items() for part in similar(name, estimate)]


@claim(
    "F4.2",
    "fig4",
    "Algorithm 2's last-1e6 reward is the best at every N",
    lambda: best_rule("Algorithm 2", last),
    froze=True,
    former=MIXED,
)
def f4_2(at: Evidence) -> list[Part]:
    """At every N the highest mean, and no other rule can be better by 0.03; fails where one beats it by more."""
    found = everywhere(at, "Algorithm 2", others("Algorithm 2"), last)
    return [above(name, estimate, needs="mean") for name, estimate in found.items()]


def f5_1_unpaired(at: Evidence) -> list[Part]:
    """Reward lower, by less than 0.03."""
    found = at.difference(at_coupling(ALG_2, 0.0), INDEPENDENT)
    return between("Algorithm 2 at c = 0 over REINFORCE", found, -MARGIN, 0.0)


UNPAIRED = Former(
    "2026-11-15",
    "Runs of one seed start from the same weights, and so the two rewards of a seed are alike: what they share is no "
    "noise of their difference.",
    f5_1_unpaired,
)


@claim("F5.1", "fig5", "Algorithm 2 at c = 0, λ = 0.25 is slightly worse than REINFORCE", former=UNPAIRED)
def f5_1(at: Evidence) -> list[Part]:
    """Reward lower, by less than 0.03, seed by seed: both start from the same weights (Student's interval)."""
    found = at.paired(at_coupling(ALG_2, 0.0), INDEPENDENT)
    return between("Algorithm 2 at c = 0 over REINFORCE, seed by seed", found, -MARGIN, 0.0)


@claim("F5.2", "fig5", "Algorithm 2 improves up to c = 0.25")
def f5_2(at: Evidence) -> list[Part]:
    """The reward at 0.25 is higher than at 0, and no step on the way up lowers it."""
    return rises(at, ALG_2, "coupling", [0.0, 0.05, 0.10, 0.25])


@claim("F5.3", "fig5", "Algorithm 2's best c is 0.25", lambda: [coupling_contest(ALG_2, {0.25})])
def f5_3(at: Evidence) -> list[Part]:
    """The highest mean reward, and no other c can be better by 0.03; fails if another beats it by more than that."""
    return best_coupling(at, ALG_2, {0.25})


@claim("F5.4", "fig5", "At c = 0.25 Algorithm 2 beats REINFORCE early and late")
def f5_4(at: Evidence) -> list[Part]:
    """Higher reward in the first and in the last quarter."""
    found = {"first": at.difference(ALG_2, INDEPENDENT, first), "last": at.difference(ALG_2, INDEPENDENT, last)}
    return [above(f"Algorithm 2 over REINFORCE, {word} quarter", estimate) for word, estimate in found.items()]


@claim("F5.5", "fig5", "At c = 0.25 Algorithm 2 is slower than Algorithm 1 but ends higher")
def f5_5(at: Evidence) -> list[Part]:
    """Lower reward in the first quarter, higher in the last."""
    name = "Algorithm 2 over Algorithm 1, {} quarter"
    slower = below(name.format("first"), at.difference(ALG_2, ALG_1, first))
    return [slower, above(name.format("last"), at.difference(ALG_2, ALG_1, last))]


@claim("F5.6", "fig5", "Above c = 0.25 Algorithm 2 gets worse")
def f5_6(at: Evidence) -> list[Part]:
    """The reward at 1 is lower than at 0.25, and no step on the way raises it."""
    return falls(at, ALG_2, "coupling", [0.25, 0.40, 0.50, 0.75, 1.0])


def f5_7_of_falls_alone(at: Evidence) -> list[Part]:
    """The fall that F2.7 measures is below 0.03 at every c."""
    return [below(f"fall at c = {c}", at.level(at_coupling(ALG_2, c), fall), MARGIN) for c in C]


FALLS_ALONE = Former(
    "2026-11-15",
    "A run that froze has no fall, and so counted as stable. The criterion was changed after it had held on 20 seeds.",
    f5_7_of_falls_alone,
)


@claim("F5.7", "fig5", "The end of Algorithm 2 is stable at every c", former=FALLS_ALONE)
def f5_7(at: Evidence) -> list[Part]:
    """The fall that F2.7 measures is below 0.03 at every c. A frozen run is not stable: it counts as the largest fall
    there can be."""
    return [below(f"fall at c = {c}", at.level(at_coupling(ALG_2, c), fall_or_frozen), MARGIN) for c in C]


def c1_above_chance(at: Evidence) -> list[Part]:
    """Last-quarter reward, as a share of the way from guessing to perfect: below 0.03 for 1, above it for 2."""
    found = [at.level(run, learned) for run in UNCRITICISED]
    return [below("Algorithm 1 above chance", found[0], MARGIN), above("Algorithm 2 above chance", found[1], MARGIN)]


ABOVE_CHANCE = Former(
    "2026-11-15",
    "The output learns too, and earns most of that on top of a hidden layer that is held at its start: reward above "
    "chance does not tell whether the hidden layer learns.",
    c1_above_chance,
)


@claim(
    "C1",
    "no-critic",
    "Without a critic and with rewards ≥ 0 Algorithm 1 does not learn, Algorithm 2 does",
    froze=True,
    former=ABOVE_CHANCE,
)
def c1(at: Evidence) -> list[Part]:
    """Last-quarter reward, as a share of the way from guessing to perfect, above that of the same network whose hidden
    layer is held at its start, so that its output alone learns: below 0.03 for 1, above it for 2. Seed by seed: both
    start from the same weights (Student's interval)."""
    found = [at.paired(run, held(run), learned) for run in UNCRITICISED]
    name = "Algorithm {} above its hidden layer held, seed by seed"
    return [below(name.format(1), found[0], MARGIN), above(name.format(2), found[1], MARGIN)]


@claim("C2", "compute", "Algorithm 1 draws H 26 times an episode, Algorithm 2 three times: the lead of 1 has its price")
def c2(at: Evidence) -> list[Part]:
    """Allowed as many draws of H as REINFORCE makes in all of its training, Algorithm 1 has less reward at the end
    (last quarter of what the draws allow) than REINFORCE has. The paper states the cost and not this comparison."""
    found = at.difference(INDEPENDENT, ALG_1, within_budget)
    return [above("REINFORCE over Algorithm 1 at equal draws", found)]


BODY = [f2_1, f2_2, f2_3, f2_4, f2_5, f2_6, f2_7, f3_1, f3_2, f3_3, f3_4, f4_1, f4_2]
BODY += [f5_1, f5_2, f5_3, f5_4, f5_5, f5_6, f5_7]
CLAIMS = [*BODY, *APPENDIX, c1, c2]
