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
from coexplore.laws import Activity
from coexplore.rules.layer import Layer, Message
from coexplore.rules.rule import Rule
from coexplore.settings import choice
from coexplore.units import Affine, drive, outer


class StraightThrough(Rule[Affine, Activity]):
    name: ClassVar[str] = "ste"
    title: ClassVar[str] = "straight-through backprop"

    slope: str = choice("sigmoid", "the derivative taken through a drawn bit", options=("sigmoid", "identity"))

    def credit(self, layer: Layer[Affine, Activity], signal: Float[Array, "B 1"], above: Message) -> Affine:
        g = above.slope(layer.h)
        p = units.probability(drive(layer.params, layer.x))
        through = p * (1 - p) if self.slope == "sigmoid" else 1.0
        return outer(layer.x, above.weight(signal) * g * through)

    def message(self, layer: Layer[Affine, Activity], above: Message) -> Message:
        """g·p (g·drive for `identity`), whose slope in x is the message of the equation."""
        g = jax.lax.stop_gradient(above.slope(layer.h))
        through = units.probability if self.slope == "sigmoid" else jnp.asarray
        return Message(layer.params, lambda d: (g * through(d)).sum(axis=1), above.graded)
