"""Algorithm 1: coordinated exploration with a Boltzmann machine.

    H = H₍T₎ of the chain (rules/chain.py)
    W_rec ← W_rec + α c (R − V) H Hᵀ, off the diagonal       (eq:bm4)
    W     ← W     + α   (R − V) x Hᵀ                         (eq:bm5)
    b     ← b     + α   (R − V) H                            (eq:bm6)

Centring the reward stands in for the negative phase. W_rec stays symmetric because its update is.
Exact for H from the Boltzmann law Pr(h) ∝ exp((Wᵀx + b)·h + ½ c hᵀ W_rec h), which one-by-one sampling
approaches as T grows; synchronous sampling, the paper's, approaches another law.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.fields import Scalar, choice, count, number
from coexplore.rules import chain
from coexplore.rules.base import Feedback, Rule

SAMPLERS: dict[str, Any] = {"synchronous": chain.synchronous, "one-by-one": chain.one_by_one}


class Boltzmann(Rule):
    name: ClassVar[str] = "boltzmann"
    title: ClassVar[str] = "Algorithm 1, coordinated exploration with a Boltzmann machine"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(25, "T, sampling steps", low=1)
    sampler: str = choice("synchronous", "all units at once, or one at a time", options=tuple(SAMPLERS))
    centring: str = choice("reward", "signal R − V, or R itself", options=("none", "reward"))

    def init(self, D: int, N: int, key: Key[Array, ""]) -> chain.Coupled:
        return chain.init(D, N, key)

    def explore(self, params: chain.Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> chain.Path | chain.Sweeps:
        return SAMPLERS[self.sampler](params, self.coupling, self.steps, x, key)

    def credit(
        self,
        params: chain.Coupled,
        x: Float[Array, "B D"],
        activity: chain.Path | chain.Sweeps,
        feedback: Feedback,
    ) -> chain.Coupled:
        B, N = activity.h.shape
        h, c = activity.h, self.coupling
        e = feedback.delta * h
        off_diagonal = 1 - jnp.eye(N, dtype=h.dtype)
        return chain.Coupled(
            W_rec=c * jnp.einsum("bj,bi->ji", h, e) / B * off_diagonal,
            W=jnp.einsum("bj,bi->ji", x, e) / B,
            b=jnp.einsum("bi->i", e) / B,
        )

    def log_probability(
        self, params: chain.Coupled, x: Float[Array, "B D"], activity: chain.Path | chain.Sweeps
    ) -> Float[Array, " B"]:
        return activity.log_probability(params, self.coupling, x)
