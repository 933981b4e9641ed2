"""What is said of coordination, K0 – K6, by criteria that were written before the runs (seeds from 2000 on).

Known by then, from trials on seeds 400 – 409. With 32 units, α = 0.005 and two seeds, reward over all episodes at joint
shares 0, 0.5 and 1: backprop 0.92, 0.74, 0.54, REINFORCE 0.35, 0.24, 0.12, Algorithm 1 (T = 5, as printed) 0.36, 0.25,
0.04 at c = 0.25 and 0.34, 0.23, 0.06 at c = 0, Algorithm 2 0.36, 0.28, 0.11 and 0.35, 0.26, 0.11. On CartPole (400
episodes, ten seeds, α = 0.01) learned centring had 97 at c = 0.1 with a tenth of the rate for W_rec, 17 at c = 0.25
with the whole of it, REINFORCE 104. The quick scale (a tenth of the episodes, 8 and 16 units, seeds from 1000 on) was
run to see that all of it works; after that intervals of gains became Student's, and the judging seeds 100 and 400.
`coordination-in-time` and K6 were written when no run of any of it had been seen at the full scale, nor one in time.
A gain smaller than WIDE, a twentieth of the gap, counts as none.
"""

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from coexplore.beyond.coordination import (
    COUPLED,
    GAP,
    REINFORCE,
    NoGap,
    gain,
    gap,
    main_size,
    part_of,
    shares,
    sizes,
)
from coexplore.paper.evidence import Evidence, NotRun
from coexplore.paper.tuned import Comparison, slope
from coexplore.paper.tuned_claims import contest, steeper
from coexplore.paper.verdict import Claim, Part, Verdict, above, between, claim, judge
from coexplore.stats.estimates import Estimate

WIDE, MOST, ENOUGH = 0.05, 0.5, 0.9
IN_TIME = "coordination-in-time"


def judged(figure: str, found: Comparison) -> list[Verdict]:
    return [_judged(one, found) for one in CLAIMS if one.figure == figure]


def _judged(one: Claim, found: Comparison) -> Verdict:
    """Without a gap there is nothing to decide."""
    try:
        verdict = judge(one, found.fresh())
    except NoGap as why:
        return Verdict(one.id, one.text, "undecided", None, None, None, 0, str(why), one.figure, one.criterion)
    return dataclasses.replace(verdict, sentence=verdict.sentence.replace("coexplore reproduce", "coexplore beyond"))


def some(name: str, found: Estimate) -> Part:
    """A gain above 0; smaller than WIDE it is none."""
    return Part(name, found, 0.0, 1, "interval", WIDE)


@claim("K0", "coordination", "There is a gap: plain backprop is ahead of REINFORCE at every joint share")
def k0(at: Evidence) -> list[Part]:
    """Reward over all episodes, every rule at its best: at every joint share, with 64 units, backprop is more than 0.03
    above REINFORCE."""
    found = contest(at)
    N = main_size(found)
    return [above(f"joint share {share:g}", gap(found, share, N), GAP) for share in shares(found)]


def _helps(rule: str) -> Callable[[Evidence], list[Part]]:
    def parts(at: Evidence) -> list[Part]:
        """With 64 units, at each joint share of 0.5 and more the gain of the best c > 0 over c = 0 is above 0; fails
        where one is below −0.05 for sure, a tie if all that are not lie within 0.05 of 0."""
        found = contest(at)
        N, large = main_size(found), [share for share in shares(found) if share >= MOST]
        return [some(f"joint share {share:g}", gain(found, rule, {(share, N): 1.0})) for share in large]

    return parts


def _grows_with_share(rule: str) -> Callable[[Evidence], list[Part]]:
    def parts(at: Evidence) -> list[Part]:
        """With 64 units, the least-squares slope of the gain on the joint share is above 0, and the gain at the largest
        share is more than 0.05 above that at 0."""
        found = contest(at)
        N, every = main_size(found), np.asarray(shares(found))
        weights = (every - every.mean()) / ((every - every.mean()) ** 2).sum()
        rising = gain(found, rule, {(float(x), N): float(w) for x, w in zip(every, weights, strict=True)})
        ends = gain(found, rule, {(float(every.max()), N): 1.0, (0.0, N): -1.0})
        return [steeper("slope on the joint share", rising), above("largest share over 0", ends, WIDE)]

    return parts


def _none_without(rule: str) -> Callable[[Evidence], list[Part]]:
    def parts(at: Evidence) -> list[Part]:
        """With 64 units, at a joint share of 0 the gain lies between −0.05 and 0.05, its whole interval."""
        found = contest(at)
        return between("joint share 0", gain(found, rule, {(0.0, main_size(found)): 1.0}), -WIDE, WIDE)

    return parts


def _grows_with_size(rule: str) -> Callable[[Evidence], list[Part]]:
    def parts(at: Evidence) -> list[Part]:
        """At a joint share of 0.5 the least-squares slope of the gain on log₂ N is above 0; fails where it is below."""
        found = contest(at)
        if len(sizes(found)) < 2:
            raise NotRun("a second size")
        rising = gain(found, rule, {(MOST, N): w for N, w in slope(sizes(found)).items()})
        return [steeper("slope per doubling of N", rising)]

    return parts


def _of_each(
    id: str, text: str, made: Callable[[str], Callable[[Evidence], list[Part]]], figure: str = "coordination"
) -> Iterable[Claim]:
    """One for each of the two algorithms."""
    for i, rule in enumerate(COUPLED, start=1):
        yield claim(f"{id}.{i}", figure, text.format(rule))(made(rule))


@claim("K5", "centring", "With learned centring Algorithm 1 learns CartPole")
def k5(at: Evidence) -> list[Part]:
    """Return over all episodes, all tuned: that of Algorithm 1 with learned centring and c > 0 is above 0.9 of
    REINFORCE's, and above its own as printed, each with the whole interval of the difference."""
    found, mine = contest(at), "Algorithm 1, learned"
    enough = part_of(found, mine, REINFORCE, ENOUGH)
    printed = part_of(found, mine, "Algorithm 1, as printed", 1.0)
    return [Part(f"less {ENOUGH} of {REINFORCE}", enough, 0.0, 1), Part("over itself as printed", printed, 0.0, 1)]


CLAIMS = [
    k0,
    *_of_each("K1", "Where the reward is half joint or more, coordination helps {}", _helps),
    *_of_each("K2", "What coordination gains in {} grows with the joint share", _grows_with_share),
    *_of_each("K3", "Where nothing is joint, coordination gains nothing in {}", _none_without),
    *_of_each("K4", "What coordination gains in {} grows with N", _grows_with_size),
    k5,
    *_of_each(
        "K6", "Where the reward is told at the end, and half joint or more, coordination helps {}", _helps, IN_TIME
    ),
]
