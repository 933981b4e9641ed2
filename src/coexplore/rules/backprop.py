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

from coexplore.laws import Activity, FeedForward
from coexplore.rules.layer import Layer, Message
from coexplore.rules.rule import Rule
from coexplore.settings import choice
from coexplore.units import Affine, drive, outer

ACTIVATIONS = {"relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "softplus": jax.nn.softplus}


class Function(FeedForward):
    """H = f(d): no draw, so whatever moves below moves it too."""

    activation: str = eqx.field(static=True)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        h = ACTIVATIONS[self.activation](drive(params, x))
        return Activity(h=h, draws=jnp.zeros((1, *h.shape), h.dtype))

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """What was not drawn was certain."""
        return jnp.zeros(d.shape[0], d.dtype)

    def settled(self, params: Affine, x: Float[Array, "B D"], h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return ACTIVATIONS[self.activation](drive(params, x))


class Backprop(Rule[Affine, Activity]):
    name: ClassVar[str] = "backprop"
    title: ClassVar[str] = "plain backprop, deterministic units"

    activation: str = choice("relu", "f, what a unit makes of its drive", options=tuple(ACTIVATIONS))

    @property
    def law(self) -> Function:
        return Function(self.activation)

    def credit(self, layer: Layer[Affine, Activity], signal: Float[Array, "B 1"], above: Message) -> Affine:
        g = above.slope(layer.h)
        _, times_slope = jax.vjp(ACTIVATIONS[self.activation], drive(layer.params, layer.x))
        return outer(layer.x, *times_slope(above.weight(signal) * g))

    def message(self, layer: Layer[Affine, Activity], above: Message) -> Message:
        """The layer below sees through this one."""
        f = ACTIVATIONS[self.activation]
        return Message(layer.params, lambda d: above(f(d)), above.graded)
