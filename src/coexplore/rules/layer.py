"""What a rule sees of its layer, of the layer above and of the outcome.

Batch axis B, inputs D, units N; in equations H is `h`, S is `x` for the first hidden layer.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore.laws import AbstractActivity, Law
from coexplore.units import Affine, Weighted, drive

P = TypeVar("P", bound=Weighted)  # a layer's parameters
A = TypeVar("A", bound=AbstractActivity)  # what it drew


class Sizes(NamedTuple):
    """How many `inputs` and `units` a layer has, and how many units the layer `above` has and the `outputs`."""

    inputs: int
    units: int
    above: int
    outputs: int


class PartParams(eqx.Module):
    """Parameters of the parts of a layer's rule; None where a part learns nothing."""

    baseline: eqx.Module | None = None
    learning_signal: eqx.Module | None = None


class Layer(eqx.Module, Generic[P, A]):
    """One layer in one update.

    `law` is how it draws, `params` its parameters, `x` what it heard, `drawn` what it drew; `parts` has the parameters
    of its rule's parts.
    """

    law: Law[P, A]
    params: P
    x: Float[Array, "B D"]
    drawn: A
    parts: PartParams = PartParams()

    @property
    def h(self) -> Float[Array, "B N"]:
        """H, what it sent up (before signals are signed)."""
        return self.drawn.h


class Message(eqx.Module):
    """What a layer's draw is worth to the layer above it, whose parameters are `params`, as a function of h [B].

    It is log Pr(what was drawn above | h), or what the rule above puts in its place. h is heard only through the drive
    Wᵀh + b; `of_drive` is the rest. `graded`: it is the reward itself, because the output was given the right answer.
    `of_output`: the layer above is the output.
    """

    params: Weighted
    of_drive: Callable[[Float[Array, "B M"]], Float[Array, " B"]]
    graded: bool = eqx.field(default=False, static=True)
    of_output: bool = eqx.field(default=False, static=True)

    def __call__(self, h: Float[Array, "B N"]) -> Float[Array, " B"]:
        return self.of_drive(drive(self.params, h))

    def slope(self, h: Float[Array, "B N"], back: Float[Array, "N M"] | None = None) -> Float[Array, "B N"]:
        """Its derivative in h; with `back` in place of W on the way down."""
        if back is None:
            return jax.grad(lambda h: self(h).sum())(h)
        return jax.grad(lambda d: self.of_drive(d).sum())(drive(self.params, h)) @ back.T

    def flipped(self, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Its value with one unit flipped, for each unit."""
        flips = (1 - 2 * h)[:, :, None] * self.params.W
        return jax.vmap(self.of_drive, in_axes=1, out_axes=1)(drive(self.params, h)[:, None] + flips)

    def of_bits(self) -> "Message":
        """This message as a function of H where 2H − 1 is sent: Wᵀ(2H − 1) + b = (2W)ᵀH + b − Wᵀ1."""
        W, b = self.params.W, self.params.b
        return Message(Affine(2 * W, b - W.sum(axis=0)), self.of_drive, self.graded, self.of_output)

    def weight(self, signal: Float[Array, "B #N"]) -> Float[Array, "B #N"]:
        """What its slope counts for: the signal; but 1 where it is the reward's own slope."""
        return jnp.ones_like(signal) if self.graded else signal


def likelihood(layer: Layer[P, A], graded: bool = False, of_output: bool = False) -> Message:
    """log Pr(what the layer drew | what it heard)."""
    law, params, drawn = layer.law, layer.params, layer.drawn
    return Message(params, lambda d: law.log_probability(params, d, drawn), graded, of_output)


class Outcome(eqx.Module):
    """What came of the draws of an update: R (`r`), δ (`delta`), a `key` of the layer's own, the update's number `t`.

    In environments δ is the TD error of the transition that follows the draws.
    """

    r: Float[Array, " B"]
    delta: Float[Array, " B"]
    key: Key[Array, ""]
    t: Int[Array, ""]
