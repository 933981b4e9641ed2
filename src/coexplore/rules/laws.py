"""How a layer draws. What it learns from its draws is the rule's affair.

    Bernoulli   H ~ Ber(σ(d))                            binary units that explore independently
    Softmax     P(a) = e^(d_a / τ) / Σ e^(d / τ)         one action of several; the first one's d is fixed at 0
    Gaussian    A ~ Normal(d, v)                         actions that are numbers

d = Wᵀx + b is the drive. All three can draw the action: an output learns by δ ∇ log P(A | H), which is its score in d.
Actions of several parts have laws of their own, in several.py.
Laws that only one rule has stand in that rule's file; the chain of Algorithms 1 and 2 is in chain.py.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore import units
from coexplore.settings import Scalar
from coexplore.units import Affine, drive, glorot


class AbstractActivity(eqx.Module):
    """What a layer did: `h` goes up, `draws` are the random numbers behind it; a law adds what credit needs."""

    h: eqx.AbstractVar[Float[Array, "B N"]]
    draws: eqx.AbstractVar[Any]


class Activity(AbstractActivity):
    """One draw of a layer (from one number per unit, part, or one for all), and nothing more to remember."""

    h: Float[Array, "B N"]
    draws: Float[Array, "1 B M"]


class Law(eqx.Module):
    """Numbers are leaves, structure is static, as in the rule that it belongs to."""

    binary: ClassVar[bool] = False  # whether H is 0 or 1, so that it may be sent up as −1 or 1, and freeze

    @abstractmethod
    def init(self, D: int, N: int, key: Key[Array, ""]) -> Any:
        """The layer's parameters before learning."""

    @abstractmethod
    def explore(self, params: Any, x: Float[Array, "B D"], key: Key[Array, ""]) -> Any:
        """Draw the layer's activity given its input: an `AbstractActivity`."""

    @abstractmethod
    def log_probability(self, params: Any, d: Float[Array, "B N"], activity: Any) -> Float[Array, " B"]:
        """log Pr(all that the layer drew | its drive Wᵀx + b were d)."""

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

    def settled(self, params: Any, x: Float[Array, "B D"], h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Where the layer stands if its values were moved to h and those below it to x."""
        return h


class Output(Law):
    """A law that can draw the action."""

    @abstractmethod
    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        """δ ∂ log P(h) / ∂d."""

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


class Bernoulli(Output):
    binary: ClassVar[bool] = True

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = units.probability(drive(params, x))
        u = jax.random.uniform(key, (1, *p.shape), p.dtype)
        return Activity(h=units.draw(p, u[0]), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        return units.log_probability(activity.h, d).sum(axis=1)

    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        return delta * (h - units.probability(d))

    def action(self, h: Float[Array, "B N"]) -> Int[Array, " B"]:
        return chosen(h)

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return units.probability(d)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, " B"]:
        return most_probable(mean)


class Softmax(Output):
    """H has one bit per action but the first; with two actions it is a Bernoulli unit."""

    binary: ClassVar[bool] = True

    temperature: Scalar = 1.0

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def probabilities(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Of every action but the first."""
        return jax.nn.softmax(_first_at_0(d / self.temperature), axis=1)[:, 1:]

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.probabilities(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], 1), p.dtype)
        return Activity(h=picked(p, u[0]), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        logits = d / self.temperature
        return (activity.h * logits).sum(axis=1) - jax.nn.logsumexp(_first_at_0(logits), axis=1)

    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        return delta * (h - self.probabilities(d)) / self.temperature

    def action(self, h: Float[Array, "B N"]) -> Int[Array, " B"]:
        return chosen(h)

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return self.probabilities(d)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, " B"]:
        return most_probable(mean)

    def likeliest(self, d: Float[Array, "B N"]) -> Int[Array, " B"]:
        """The most probable action."""
        return jnp.argmax(_first_at_0(d), axis=1)


class Gaussian(Output):
    """What is done is scale · A + shift; a network whose drives start around 0 need not learn an offset first."""

    variance: Scalar = 1.0
    scale: Scalar = 1.0
    shift: Scalar = 0.0

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        return noisy(drive(params, x), self.variance, key)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """Up to the density's constant, which moves nothing."""
        return -((activity.h - d) ** 2).sum(axis=1) / (2 * self.variance)

    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        return delta * (h - d) / self.variance

    def action(self, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return self.scale * h + self.shift

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return d

    def decided(self, mean: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return self.scale * mean + self.shift


def noisy(mu: Float[Array, "B N"], variance: Scalar, key: Key[Array, ""]) -> Activity:
    """H ~ Normal(μ, v)."""
    noise = jax.random.normal(key, (1, *mu.shape), mu.dtype)
    return Activity(h=mu + variance**0.5 * noise[0], draws=noise)


def picked(p: Float[Array, "B N"], u: Float[Array, "B 1"]) -> Float[Array, "B N"]:
    """One of the choices, or the first and no bit, by where u falls: Σ_{j<i} p_j ≤ u < Σ_{j≤i} p_j."""
    below = jnp.cumsum(p, axis=1)
    return ((u >= below - p) & (u < below)).astype(p.dtype)


def chosen(h: Float[Array, "B N"]) -> Int[Array, " B"]:
    """Which one of the choices the bits say: the first where all are 0."""
    return h.astype(jnp.int32) @ jnp.arange(1, h.shape[1] + 1, dtype=jnp.int32)


def with_first(p: Float[Array, "B N"]) -> Float[Array, "B N+1"]:
    """The probabilities of all choices, from those of all but the first."""
    return jnp.concatenate([1 - p.sum(axis=1, keepdims=True), p], axis=1)


def most_probable(p: Float[Array, "B N"]) -> Int[Array, " B"]:
    return jnp.argmax(with_first(p), axis=1)


def _first_at_0(logits: Float[Array, "B N"]) -> Float[Array, "B N+1"]:
    return jnp.pad(logits, ((0, 0), (1, 0)))
