"""Weight Maximization: every unit is rewarded for how much its outgoing weights carried.

    p = σ(Wᵀx + b),  H ~ Ber(p);  unit i learns by REINFORCE from a reward R_i of its own:
    W ← W + α x (R (H − p))ᵀ,  b likewise

    weight-max            R_i = 2 H_i Σ_j w_ij (a_j − p_j) R_j,  from the top down, R = δ at the output
    unbiased-weight-max   R_i = δ H_i (1 − Pr(a | H, H_i = 0) / Pr(a | H)),  a all that the next layer drew
       … expected         R_i (H_i − p_i) replaced by its mean over H_i given a and the other units:
                          δ p (1 − p) (P₁ − P₀) / (p P₁ + (1 − p) P₀),  P_h = Pr(a | H with H_i = h)
       … of a known R(H)  R_i = H_i (R(H) − R(H, H_i = 0)),  expected p (1 − p) (R(H, H_i = 1) − R(H, H_i = 0))

The unbiased forms are exact at any depth and width; the plain one is their first order and is biased.

Sources: Chung (2022, AAAI); expected: HNCA, Young (2020, 2022); of a known R(H): Titsias and Lázaro-Gredilla (2015).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.base import Above, Feedback, Rule
from coexplore.rules.laws import Activity
from coexplore.settings import choice, switch
from coexplore.units import Affine, drive, outer

SIGNALS = ("activity", "both")


class WeightMax(Rule):
    name: ClassVar[str] = "weight-max"
    title: ClassVar[str] = "Weight Maximization"
    surrogate: ClassVar[bool] = True

    centring: str = choice("both", "signal R − V, or R itself", options=SIGNALS)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        R = feedback.weight * self.share(activity, feedback)
        p = units.probability(drive(params, x))
        return outer(x, R * (activity.h - p))

    def share(self, activity: Activity, feedback: Feedback) -> Float[Array, "B N"]:
        """R_i for δ = 1; the slope of Σ_j R_j log p_j(a_j | H) in H_i is Σ_j w_ij (a_j − p_j) R_j."""
        return 2 * activity.h * feedback.above.slope(activity.h)

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        """The layer underneath sees Σ_j R_j log p_j, each unit weighed by its own reward."""
        R = jax.lax.stop_gradient(self.share(activity, feedback))
        above = Above(params, lambda d: (R * units.log_probability(activity.h, d)).sum(axis=1))
        return Feedback(feedback.delta, above, feedback.graded)


class UnbiasedWeightMax(Rule):
    name: ClassVar[str] = "unbiased-weight-max"
    title: ClassVar[str] = "unbiased Weight Maximization"

    expected: bool = switch(False, "average over the unit's own draw: the same mean, less variance")
    centring: str = choice("both", "signal R − V, or R itself", options=SIGNALS)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        h, p = activity.h, units.probability(drive(params, x))
        gain = log_gain(feedback.above, h)
        if feedback.graded:  # what is gained is reward: nothing was drawn above
            return outer(x, gain * (p * (1 - p) if self.expected else h * (h - p)))
        if self.expected:
            return outer(x, feedback.delta * p * (1 - p) * mean_advantage(gain, p))
        R = feedback.delta * h * -jnp.expm1(-gain)
        return outer(x, R * (h - p))


def HNCA(centring: str = "both") -> UnbiasedWeightMax:
    """Hindsight Network Credit Assignment (Young, 2020): `UnbiasedWeightMax(expected=True)`.

    It prints, and is kept in files, as `UnbiasedWeightMax`. `centring` is that of `UnbiasedWeightMax`: "both" for the
    signal R − V, "activity" for R.
    """
    return UnbiasedWeightMax(expected=True, centring=centring)


def log_gain(above: Above, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
    """log P₁ − log P₀ for every unit: what was drawn above, had this one unit fired or not."""
    return (2 * h - 1) * (above(h)[:, None] - above.flipped(h))


def mean_advantage(gain: Float[Array, "B N"], p: Float[Array, "B N"]) -> Float[Array, "B N"]:
    """(P₁ − P₀) / (p P₁ + (1 − p) P₀) from log P₁ − log P₀, with nothing that can overflow."""
    less = jnp.exp(-jnp.abs(gain))
    return jnp.sign(gain) * (1 - less) / jnp.where(gain > 0, p + (1 - p) * less, p * less + (1 - p))
