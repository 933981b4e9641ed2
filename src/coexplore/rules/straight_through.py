"""Straight-through backprop: the bits that were drawn go up, gradients come down as if nothing had been drawn.

    p = σ(Wᵀx + b),  H ~ Ber(p)
    g = ∂ log P(A | H) / ∂H                         (the layer above gives it)
    W ← W + α δ x (g p (1 − p))ᵀ,  b likewise       the message down is W (g p (1 − p))

With `slope = identity` the factor p (1 − p) is left out. Not local: g needs the weights above.

Source: Bengio, Léonard and Courville (2013).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.base import Above, Feedback, Rule
from coexplore.rules.laws import Activity
from coexplore.settings import choice
from coexplore.units import Affine, drive, outer


class StraightThrough(Rule):
    name: ClassVar[str] = "ste"
    title: ClassVar[str] = "straight-through backprop"
    surrogate: ClassVar[bool] = True

    slope: str = choice("sigmoid", "the derivative taken through a drawn bit", options=("sigmoid", "identity"))
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        g = feedback.above.slope(activity.h)
        p = units.probability(drive(params, x))
        through = p * (1 - p) if self.slope == "sigmoid" else 1.0
        return outer(x, feedback.weight * g * through)

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        """The layer underneath sees g·p (g·drive for `identity`), whose slope in x is the message."""
        g = jax.lax.stop_gradient(feedback.above.slope(activity.h))
        through = units.probability if self.slope == "sigmoid" else jnp.asarray
        return Feedback(feedback.delta, Above(params, lambda d: (g * through(d)).sum(axis=1)), feedback.graded)
