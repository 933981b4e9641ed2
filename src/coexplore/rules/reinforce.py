"""REINFORCE: independent exploration.

    p = σ(Wᵀx + b),  H ~ Ber(p)
    W ← W + α · signal · (H − κ p) xᵀ        b ← b + α · signal · (H − κ p)

    centring   signal   κ      in the paper
    none       R        0
    activity   R        1      eq:rei1
    both       R − V    1      eq:rei2, "REINFORCE (indep)"
    reward     R − V    0      eq:rei3

`centring_strength` is κ where the activity is centred.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore import units
from coexplore.fields import Scalar, choice, number
from coexplore.rules.base import CENTRINGS, AbstractActivity, Feedback, Rule
from coexplore.units import Affine, drive, glorot


class Activity(AbstractActivity):
    """One draw of independent units."""

    h: Float[Array, "B N"]
    p: Float[Array, "B N"]
    draws: Float[Array, "1 B N"]


class Reinforce(Rule):
    name: ClassVar[str] = "reinforce"
    title: ClassVar[str] = "REINFORCE, independent exploration"

    centring: str = choice("both", "what is centred: the activity, the reward, both or none", options=CENTRINGS)
    centring_strength: Scalar = number(1.0, "κ, how much of E[H] is subtracted", low=0.0, schedule=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = units.probability(drive(params, x))
        u = jax.random.uniform(key, (1, *p.shape), p.dtype)
        return Activity(h=units.draw(p, u[0]), p=p, draws=u)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        B = x.shape[0]
        kappa = self.centring_strength if self.centres_activity else 0.0
        e = feedback.delta * (activity.h - kappa * activity.p)
        return Affine(W=jnp.einsum("bj,bi->ji", x, e) / B, b=jnp.einsum("bi->i", e) / B)

    def log_probability(self, params: Affine, x: Float[Array, "B D"], activity: Activity) -> Float[Array, " B"]:
        return units.log_probability(activity.h, drive(params, x)).sum(axis=1)
