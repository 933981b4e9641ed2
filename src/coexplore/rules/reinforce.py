"""REINFORCE: independent exploration.

    p = σ(Wᵀx + b),  H ~ Ber(p)
    W ← W + α (R − V) x (H − p)ᵀ        b ← b + α (R − V) (H − p)

    learning signal   baseline       in the paper
    reward            probability    eq:rei1
    advantage         probability    eq:rei2, "REINFORCE (indep)"
    advantage         none           eq:rei3

Source: Williams (1992); without the baseline and for rewards of 0 and 1, Barto and Anandan (1985) with no penalty.
"""

from typing import ClassVar

from coexplore.laws import Activity
from coexplore.rules.baseline import Baseline, Expectation, Nothing, Predicted, Probability
from coexplore.rules.eligibility import Alone, Eligibility, Pair
from coexplore.rules.layer import Layer
from coexplore.rules.rule import Local
from coexplore.settings import part
from coexplore.units import Affine


class Reinforce(Local[Affine, Activity]):
    name: ClassVar[str] = "reinforce"
    title: ClassVar[str] = "REINFORCE, independent exploration"

    baseline: Baseline = part(
        Probability(), "what is subtracted from H", options=(Nothing, Probability, Predicted), without=("pairs",)
    )

    def eligibility(self, layer: Layer[Affine, Activity], E: Expectation) -> Eligibility:
        x, H = layer.x, layer.h
        return Eligibility(W=Pair(x, H - E.mean), b=Alone(H - E.mean))
