"""Q3: what would the depressing half of R-STDP add, and what is its basis?

The paper's rules only potentiate: "it remains to be seen whether it can benefit learning and what the theoretical basis
is". Ours, by enumeration (tests/test_depression.py): pre without post is a constant centre under H, a baseline that is
free where V is right and trades one error for another where it is not; Algorithm 2 has one already, P. The other forms
change the direction of the update, or slow a part of it.

The criteria were written before any run with a depression. Known were: one trial of Algorithm 1 with the centre ½ (.683
in a million episodes), the figures at the paper's settings, `binary` among them (inputs of −1/+1 are learned better
than 0/1), and `tuned`. η = 1 is judged, which is the centre ½; one million episodes, so that a rate that falls falls
four times as fast as where it was tuned.
"""

from coexplore.paper.defaults import ALG_1, ALG_2
from coexplore.paper.evidence import Evidence
from coexplore.paper.measures import Measure, first, last, reward
from coexplore.paper.open_figures.depression import BITS_1, FORMS, OF_W_REC, ONE_SIDED, TUNED_1, TUNED_2, depressed
from coexplore.paper.verdict import MARGIN, Part, above, below, claim, similar
from coexplore.run import Run
from coexplore.stats.estimates import Estimate

WITHOUT_POST, WITHOUT_PRE = FORMS


def gain(at: Evidence, run: Run, form: str, eta: float = 1.0, measure: Measure = reward) -> Estimate:
    """Of the depression over none."""
    return at.difference(depressed(run, form, eta), run, measure)


@claim("Q3.1", "depression", "Algorithm 1 learns faster where pre without post is depressed")
def q3_1(at: Evidence) -> list[Part]:
    """First-quarter reward at η = 1 higher than without depression."""
    return [above("η = 1 over none, first quarter", gain(at, ALG_1, WITHOUT_POST, measure=first))]


@claim("Q3.2", "depression", "Algorithm 1 ends no lower where pre without post is depressed")
def q3_2(at: Evidence) -> list[Part]:
    """Last-quarter reward at η = 1 not more than 0.03 below that without depression."""
    return [above("η = 1 over none, last quarter", gain(at, ALG_1, WITHOUT_POST, measure=last), -MARGIN)]


@claim("Q3.3", "depression", "Tuned Algorithm 1 gains by depressing pre without post")
def q3_3(at: Evidence) -> list[Part]:
    """Reward at η = 1 higher than without depression, both at the setting that was tuned without it."""
    return [above("tuned, η = 1 over none", gain(at, TUNED_1, WITHOUT_POST))]


@claim("Q3.4", "depression", "Algorithm 1 gains by depressing post without pre where inputs are 0/1, not where −1/+1")
def q3_4(at: Evidence) -> list[Part]:
    """Reward at η = 1 higher than without depression with inputs of 0/1; with −1/+1, which have it as printed, not more
    than 0.03 higher."""
    bits, signed = gain(at, BITS_1, WITHOUT_PRE), gain(at, ALG_1, WITHOUT_PRE)
    return [above("inputs 0/1, η = 1 over none", bits), below("inputs −1/+1, η = 1 over none", signed, MARGIN)]


@claim("Q3.5", "depression", "Algorithm 1 gains nothing by depressing pairs of which one is active")
def q3_5(at: Evidence) -> list[Part]:
    """Reward at η = 0.5 and 1 not more than 0.03 above that without depression."""
    form = OF_W_REC[ALG_1]
    return [below(f"η = {eta:g} over none", gain(at, ALG_1, form, eta), MARGIN) for eta in (0.5, 1.0)]


@claim("Q3.6", "depression-in-time", "Algorithm 2, which is centred, is hurt by depressing pre without post")
def q3_6(at: Evidence) -> list[Part]:
    """Reward at η = 1 lower than without depression."""
    return [below("η = 1 over none", gain(at, ALG_2, WITHOUT_POST))]


@claim("Q3.7", "depression-in-time", "Algorithm 2 with the reward alone centred gains by depressing pre without post")
def q3_7(at: Evidence) -> list[Part]:
    """Reward at η = 1 higher than without depression, P not subtracted in either."""
    return [above("P not subtracted, η = 1 over none", gain(at, ONE_SIDED, WITHOUT_POST))]


@claim("Q3.8", "depression-in-time", "Depression at η = 1 does in Algorithm 2 what subtracting P does")
def q3_8(at: Evidence) -> list[Part]:
    """Reward at η = 1 with P not subtracted not more than 0.03 below that of Algorithm 2."""
    found = at.difference(depressed(ONE_SIDED, WITHOUT_POST, 1.0), ALG_2)
    return [above("η = 1 in place of P", found, -MARGIN)]


@claim("Q3.9", "depression-in-time", "Up to η = 0.5 depressing post before pre makes no difference to Algorithm 2")
def q3_9(at: Evidence) -> list[Part]:
    """Reward at η = 0.25 and 0.5 within 0.03 of that without depression."""
    found = {eta: gain(at, ALG_2, OF_W_REC[ALG_2], eta) for eta in (0.25, 0.5)}
    return [part for eta, estimate in found.items() for part in similar(f"η = {eta:g} over none", estimate)]


@claim("Q3.10", "depression-in-time", "Tuned Algorithm 2 gains by no form of depression")
def q3_10(at: Evidence) -> list[Part]:
    """Reward at η = 0.25 and 1 not more than 0.03 above that without, of each form at the setting that was tuned."""
    every = [(form, eta) for form in (*FORMS, OF_W_REC[ALG_2]) for eta in (0.25, 1.0)]
    return [below(f"{form}, η = {eta:g} over none", gain(at, TUNED_2, form, eta), MARGIN) for form, eta in every]


CLAIMS = [q3_1, q3_2, q3_3, q3_4, q3_5, q3_6, q3_7, q3_8, q3_9, q3_10]
