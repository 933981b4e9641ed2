"""REINFORCE: independent exploration.

    p = σ(Wᵀx + b),  H ~ Ber(p)
    W ← W + α · signal · (H − κ p) xᵀ        b ← b + α · signal · (H − κ p)

    centring   signal   κ      in the paper
    none       R        0
    activity   R        1      eq:rei1
    both       R − V    1      eq:rei2, "REINFORCE (indep)"
    reward     R − V    0      eq:rei3

`centring_strength` is κ where the activity is centred.
"""

from typing import ClassVar

from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.base import CENTRINGS, Feedback, Rule
from coexplore.rules.laws import Activity
from coexplore.settings import Scalar, choice, number
from coexplore.units import Affine, drive, outer


class Reinforce(Rule):
    name: ClassVar[str] = "reinforce"
    title: ClassVar[str] = "REINFORCE, independent exploration"

    centring: str = choice("both", "what is centred: the activity, the reward, both or none", options=CENTRINGS)
    centring_strength: Scalar = number(1.0, "κ, how much of E[H] is subtracted", low=0.0, schedule=True)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        kappa = self.centring_strength if self.centres_activity else 0.0
        p = units.probability(drive(params, x))
        return outer(x, feedback.delta * (activity.h - kappa * p))
