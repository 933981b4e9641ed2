"""Algorithm 2: coordinated exploration with a recurrent layer.

    H₍ₜ₎ and P₍ₜ₎ = E[H₍ₜ₎ | H₍ₜ₋₁₎, x] of the chain (rules/chain.py)
    e₍ₜ₎ = λ^(T−t) (H₍ₜ₎ − κ P₍ₜ₎)
    W_rec ← W_rec + α c (R − V) Σₜ H₍ₜ₋₁₎ e₍ₜ₎ᵀ              (eq:rn4)
    W     ← W     + α   (R − V) Σₜ x e₍ₜ₎ᵀ                   (eq:rn5)
    b     ← b     + α   (R − V) Σₜ e₍ₜ₎                      (eq:rn6)

The sums are the eligibility traces z_rec and z of the algorithm box, written out. The first draw H₍₀₎
gets no credit, as in the box: W and b are learned with that bias. κ = 1 unless `centring_strength` says else.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.fields import Scalar, choice, count, number
from coexplore.rules import chain
from coexplore.rules.base import CENTRINGS, Feedback, Rule
from coexplore.units import outer


class Recurrent(Rule):
    name: ClassVar[str] = "recurrent"
    title: ClassVar[str] = "Algorithm 2, coordinated exploration with a recurrent layer"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(2, "T, recurrent steps", low=1)
    trace_decay: Scalar = number(0.25, "λ, decay of the eligibility trace", low=0.0, high=1.0)
    centring: str = choice("both", "what is centred: the activity, the reward, both or none", options=CENTRINGS)
    centring_strength: Scalar = number(1.0, "κ, how much of E[H] is subtracted", low=0.0, schedule=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> chain.Coupled:
        return chain.init(D, N, key)

    def explore(self, params: chain.Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> chain.Path:
        return chain.synchronous(params, self.coupling, self.steps, x, key)

    def credit(
        self, params: chain.Coupled, x: Float[Array, "B D"], activity: chain.Path, feedback: Feedback
    ) -> chain.Coupled:
        T, B, _ = activity.P.shape
        c, lambda_ = self.coupling, self.trace_decay
        kappa = self.centring_strength if self.centres_activity else 0.0
        decay = lambda_ ** jnp.arange(T - 1, -1, -1, dtype=x.dtype)
        e = decay[:, None, None] * (activity.H[1:] - kappa * activity.P) * feedback.delta
        forward = outer(x, e.sum(axis=0))
        return chain.Coupled(
            W_rec=c * jnp.einsum("tbj,tbi->ji", activity.H[:-1], e) / B,
            W=forward.W,
            b=forward.b,
        )

    def log_probability(
        self, params: chain.Coupled, d: Float[Array, "B N"], activity: chain.Path
    ) -> Float[Array, " B"]:
        return activity.log_probability(params, self.coupling, d)
