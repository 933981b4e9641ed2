"""Plain backprop: deterministic units, nothing drawn; what the other rules are measured against.

    H = f(Wᵀx + b)
    g = ∂ log P(A | H) / ∂H                           (the layer above gives it)
    W ← W + α δ x (g f′(Wᵀx + b))ᵀ,  b likewise

Where the reward itself is a known function of H, its slope stands for δ g. The layer underneath sees through this one.
Not local: g needs the weights above.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.fields import choice
from coexplore.rules.base import Above, Activity, Feedback, Rule
from coexplore.units import Affine, drive, glorot, outer

ACTIVATIONS = {"relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "softplus": jax.nn.softplus}


class Backprop(Rule):
    name: ClassVar[str] = "backprop"
    title: ClassVar[str] = "plain backprop, deterministic units"

    activation: str = choice("relu", "f, what a unit makes of its drive", options=tuple(ACTIVATIONS))
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def follows(self, params: Affine, x: Float[Array, "B D"]) -> Float[Array, "B N"]:
        """H, which is no draw but a function of the input."""
        return ACTIVATIONS[self.activation](drive(params, x))

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        h = self.follows(params, x)
        return Activity(h=h, draws=jnp.zeros((1, *h.shape), h.dtype))

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        g = feedback.above.slope(activity.h)
        _, times_slope = jax.vjp(ACTIVATIONS[self.activation], drive(params, x))
        return outer(x, *times_slope(feedback.weight * g))

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """What was not drawn was certain."""
        return jnp.zeros(d.shape[0], d.dtype)

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        f, above = ACTIVATIONS[self.activation], feedback.above
        return Feedback(feedback.delta, Above(params, lambda d: above(f(d))), feedback.graded)
