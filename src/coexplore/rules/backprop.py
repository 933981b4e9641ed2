"""Plain backprop: deterministic units, nothing drawn; what the other rules are measured against.

    H = f(Wᵀx + b)
    g = ∂ log P(A | H) / ∂H                           (the layer above gives it)
    W ← W + α δ x (g f′(Wᵀx + b))ᵀ,  b likewise

Where the reward itself is a known function of H, its slope stands for δ g. The layer underneath sees through this one.
Not local: g needs the weights above.

Source: Rumelhart, Hinton and Williams (1986).
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.rules.base import Above, Feedback, Rule
from coexplore.rules.laws import Activity, Law
from coexplore.settings import choice
from coexplore.units import Affine, drive, glorot, outer

ACTIVATIONS = {"relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "softplus": jax.nn.softplus}


class Function(Law):
    """H = f(d): no draw, so whatever moves below moves it too."""

    activation: str = eqx.field(static=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        h = ACTIVATIONS[self.activation](drive(params, x))
        return Activity(h=h, draws=jnp.zeros((1, *h.shape), h.dtype))

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """What was not drawn was certain."""
        return jnp.zeros(d.shape[0], d.dtype)

    def settled(self, params: Affine, x: Float[Array, "B D"], h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return ACTIVATIONS[self.activation](drive(params, x))


class Backprop(Rule):
    name: ClassVar[str] = "backprop"
    title: ClassVar[str] = "plain backprop, deterministic units"

    activation: str = choice("relu", "f, what a unit makes of its drive", options=tuple(ACTIVATIONS))
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    @property
    def law(self) -> Function:
        return Function(self.activation)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        g = feedback.above.slope(activity.h)
        _, times_slope = jax.vjp(ACTIVATIONS[self.activation], drive(params, x))
        return outer(x, *times_slope(feedback.weight * g))

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        f, above = ACTIVATIONS[self.activation], feedback.above
        return Feedback(feedback.delta, Above(params, lambda d: above(f(d))), feedback.graded)
