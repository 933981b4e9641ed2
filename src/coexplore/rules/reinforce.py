"""REINFORCE: independent exploration.

    p = σ(Wᵀx + b),  H ~ Ber(p)
    W ← W + α · signal · (H − κ p) xᵀ        b ← b + α · signal · (H − κ p)

    centring   signal   κ      in the paper
    none       R        0
    activity   R        1      eq:rei1
    both       R − V    1      eq:rei2, "REINFORCE (indep)"
    reward     R − V    0      eq:rei3
    predicted  R − V    1      E = σ(Uᵀx + u), which the layer learns (centring.py), in the place of p

`centring_strength` is κ where the activity is centred.

Source: Williams (1992); without the baseline and for rewards of 0 and 1, Barto and Anandan (1985) with no penalty.
"""

from typing import Any, ClassVar

from jaxtyping import Array, Float, Key

from coexplore import units
from coexplore.rules.base import CENTRINGS, Feedback, Rule
from coexplore.rules.centring import OWN, beside, equipped, expected, surprise
from coexplore.rules.laws import Activity, Bernoulli
from coexplore.settings import Scalar, choice, number
from coexplore.units import Affine, drive, outer


class Predicted(Bernoulli):
    """Independent units that also learn to predict themselves."""

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Any:
        return equipped("predicted", super().init(D, N, key))


class Reinforce(Rule):
    name: ClassVar[str] = "reinforce"
    title: ClassVar[str] = "REINFORCE, independent exploration"

    centring: str = choice(
        "both",
        "what is centred: the activity, the reward, both or none; predicted: both, E being learned",
        options=(*CENTRINGS, "predicted"),
    )
    centring_strength: Scalar = number(1.0, "κ, how much of E[H] is subtracted", low=0.0, schedule=True)

    @property
    def law(self) -> Bernoulli:
        return Predicted() if self.centring == "predicted" else Bernoulli()

    @property
    def centres_reward(self) -> bool:
        return self.centring in ("reward", "both", "predicted")

    @property
    def own(self) -> tuple[str, ...]:
        return OWN.get(self.centring, ())

    def lesson(self, params: Any, x: Float[Array, "B D"], activity: Activity) -> dict[str, Any]:
        return surprise(self.centring, params, x, activity.h) if self.own else {}

    def credit(self, params: Any, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        if self.centring == "predicted":
            E = expected(self.centring, params, x)
            return beside(params, outer(x, feedback.delta * (activity.h - self.centring_strength * E)))
        kappa = self.centring_strength if self.centres_activity else 0.0
        p = units.probability(drive(params, x))
        return outer(x, feedback.delta * (activity.h - kappa * p))
