"""What a law is: how a layer draws its activity from its input.

d = Wᵀx + b is the drive of a layer. What a layer learns from its draws is its rule's affair.
"""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore.settings import Scalar
from coexplore.units import Affine, Weighted, glorot

P = TypeVar("P", bound=Weighted)  # the layer's parameters
A = TypeVar("A", bound="AbstractActivity")  # what it drew


class AbstractActivity(eqx.Module):
    """What a layer did: `h` goes up, `draws` are the random numbers behind it; a law adds what credit needs."""

    h: eqx.AbstractVar[Float[Array, "B N"]]
    draws: eqx.AbstractVar[Array | eqx.Module]


class Activity(AbstractActivity):
    """One draw of a layer: `h`, from `draws`, random numbers of which there is one per unit, per part or for all."""

    h: Float[Array, "B N"]
    draws: Float[Array, "1 B M"]


class Law(eqx.Module, Generic[P, A]):
    """How a layer draws. Numbers are leaves, structure is static, as in the rule that the law belongs to."""

    binary: ClassVar[bool] = False  # whether H is 0 or 1, so that it may be sent up as −1 or 1, and freeze

    @abstractmethod
    def init(self, D: int, N: int, key: Key[Array, ""]) -> P:
        """The layer's parameters before learning, with at least W [D, N] and b [N]."""

    @abstractmethod
    def explore(self, params: P, x: Float[Array, "B D"], key: Key[Array, ""]) -> A:
        """Draw the layer's activity given its input."""

    @abstractmethod
    def log_probability(self, params: P, d: Float[Array, "B N"], activity: A) -> Float[Array, " B"]:
        """log Pr(all that the layer drew | its drive Wᵀx + b were d)."""

    def mean(self, params: P, x: Float[Array, "B D"], activity: A) -> Float[Array, "*T B N"]:
        """E of each draw, given what the units heard before it."""
        raise NotImplementedError(f"{type(self).__name__} does not say the mean of its draws")

    def heard(self, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """What the units hear of each other, where they do."""
        return h

    @property
    def passes(self) -> int:
        """How often the layer is drawn per episode."""
        return 1

    # Where values may move once the action is known (`network.relax`) a law says how often, how far, and where it then
    # stands. Most laws have nothing to say: what they drew stays as it is.
    @property
    def relax_steps(self) -> int:
        return 0

    @property
    def relax_rate(self) -> Scalar:
        """What the slope of the log-probability counts for in a step."""
        return 0.0

    def settled(self, params: P, x: Float[Array, "B D"], h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Where the layer stands if its values were moved to h and those below it to x."""
        return h


class FeedForward(Law[Affine, Activity]):
    """A law whose parameters are weights and biases, and nothing else."""

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)


class Output(FeedForward):
    """A law that can draw the action. The output learns by δ ∇ log P(A | H)."""

    @property
    def dispersion(self) -> Scalar:
        """What the score is divided by: the temperature of choices, the variance of numbers."""
        return 1.0

    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        """δ ∂ log P(h) / ∂d = δ (h − E[H]) / dispersion."""
        return delta * (h - self.expected(d)) / self.dispersion

    @abstractmethod
    def action(self, h: Float[Array, "B N"]) -> Array:
        """A, from what the units drew: whole numbers [B] where it is a choice, [B, parts] where it is several, else
        numbers [B, N]."""

    @abstractmethod
    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """E[H]: of choices the probabilities of all but the first."""

    @abstractmethod
    def decided(self, mean: Float[Array, "B N"]) -> Array:
        """The most probable A where E[H] is this, or its mean where it is numbers."""

    def told(self, N: int) -> str:
        """What an action is, in words: networks fit where these are the same."""
        return f"{N + 1} actions" if self.binary else f"actions of {N} numbers"

    def every(self, N: int) -> Array | None:
        """All actions, one after another; None where they cannot be counted, or are too many to list."""
        return jnp.arange(N + 1, dtype=jnp.int32) if self.binary else None


class Choice(Output):
    """A law of one action of several. H has one bit per action but the first, which is fixed at a drive of 0."""

    binary: ClassVar[bool] = True

    def action(self, h: Float[Array, "B N"]) -> Int[Array, " B"]:
        return chosen(h)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, " B"]:
        return most_probable(mean)


def chosen(h: Float[Array, "B N"]) -> Int[Array, " B"]:
    """Which one of the choices the bits say: the first where all are 0."""
    return h.astype(jnp.int32) @ jnp.arange(1, h.shape[1] + 1, dtype=jnp.int32)


def with_first(p: Float[Array, "B N"]) -> Float[Array, "B N+1"]:
    """The probabilities of all choices, from those of all but the first."""
    return jnp.concatenate([1 - p.sum(axis=1, keepdims=True), p], axis=1)


def most_probable(p: Float[Array, "B N"]) -> Int[Array, " B"]:
    """The most probable choice, from the probabilities of all but the first."""
    return jnp.argmax(with_first(p), axis=1)
