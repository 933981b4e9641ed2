"""One action of several:  P(a) = e^(d_a / τ) / Σ e^(d / τ).

    Softmax       the first action's d is fixed at 0; with two actions it is a Bernoulli unit
    Categorical   every action has a d of its own

The policies of the two are the same; they differ in where they start and how they learn: in a Categorical a drawn
action raises its own drive whichever it is, and no action is set apart.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore.laws.law import Activity, Choice
from coexplore.settings import Scalar
from coexplore.units import Affine, drive


class Softmax(Choice):
    """H has one bit per action but the first; with two actions it is a Bernoulli unit."""

    temperature: Scalar = 1.0

    @property
    def dispersion(self) -> Scalar:
        return self.temperature

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return jax.nn.softmax(_first_at_0(d / self.temperature), axis=1)[:, 1:]

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.expected(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], 1), p.dtype)
        return Activity(h=picked(p, u[0]), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        logits = d / self.temperature
        return (activity.h * logits).sum(axis=1) - jax.nn.logsumexp(_first_at_0(logits), axis=1)

    def likeliest(self, d: Float[Array, "B N"]) -> Int[Array, " B"]:
        """The most probable action."""
        return jnp.argmax(_first_at_0(d), axis=1)


class Categorical(Choice):
    """H has one bit per action, and one of them is 1."""

    temperature: Scalar = 1.0

    @property
    def dispersion(self) -> Scalar:
        return self.temperature

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """The probabilities of all actions."""
        return jax.nn.softmax(d / self.temperature, axis=1)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.expected(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], 1), p.dtype)
        drawn = (u[0] >= jnp.cumsum(p, axis=1)[:, :-1]).sum(axis=1)  # how many stretches lie wholly below u
        return Activity(h=jax.nn.one_hot(drawn, p.shape[1], dtype=p.dtype), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        return (activity.h * jax.nn.log_softmax(d / self.temperature, axis=1)).sum(axis=1)

    def action(self, h: Float[Array, "B N"]) -> Int[Array, " B"]:
        return jnp.argmax(h, axis=1).astype(jnp.int32)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, " B"]:
        return jnp.argmax(mean, axis=1).astype(jnp.int32)

    def told(self, N: int) -> str:
        return f"{N} actions"

    def every(self, N: int) -> Array:
        return jnp.arange(N, dtype=jnp.int32)


def picked(p: Float[Array, "B N"], u: Float[Array, "B 1"]) -> Float[Array, "B N"]:
    """One of the choices, or the first and no bit, by where u falls: Σ_{j<i} p_j ≤ u < Σ_{j≤i} p_j."""
    below = jnp.cumsum(p, axis=1)
    return ((u >= below - p) & (u < below)).astype(p.dtype)


def _first_at_0(logits: Float[Array, "B N"]) -> Float[Array, "B N+1"]:
    return jnp.pad(logits, ((0, 0), (1, 0)))
