"""A softmax in which every action has a drive of its own: P(a) = e^(d_a / τ) / Σ e^(d / τ).

The policies are those of `laws.Softmax`, where the first action's drive is fixed at 0; what differs is where they start
and how they learn: here a drawn action raises its own drive whichever it is, and no action is set apart.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore.rules.laws import Activity, Output
from coexplore.settings import Scalar
from coexplore.units import Affine, drive, glorot


class Categorical(Output):
    """H has one bit per action, and one of them is 1."""

    binary: ClassVar[bool] = True

    temperature: Scalar = 1.0

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.expected(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], 1), p.dtype)
        chosen = (u[0] >= jnp.cumsum(p, axis=1)[:, :-1]).sum(axis=1)  # how many stretches lie wholly below u
        return Activity(h=jax.nn.one_hot(chosen, p.shape[1], dtype=p.dtype), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        return (activity.h * jax.nn.log_softmax(d / self.temperature, axis=1)).sum(axis=1)

    def score(self, d: Float[Array, "B N"], h: Float[Array, "B N"], delta: Float[Array, "B 1"]) -> Float[Array, "B N"]:
        return delta * (h - self.expected(d)) / self.temperature

    def action(self, h: Float[Array, "B N"]) -> Int[Array, " B"]:
        return jnp.argmax(h, axis=1).astype(jnp.int32)

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """The probabilities of all actions."""
        return jax.nn.softmax(d / self.temperature, axis=1)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, " B"]:
        return jnp.argmax(mean, axis=1).astype(jnp.int32)

    def told(self, N: int) -> str:
        return f"{N} actions"

    def every(self, N: int) -> Array:
        return jnp.arange(N, dtype=jnp.int32)
