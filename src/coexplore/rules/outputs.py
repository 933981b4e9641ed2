"""What draws the action: one choice of several, or numbers. Each learns by δ ∇ log P(A | H), as REINFORCE does.

softmax    P(a) = e^(d_a / τ) / Σ e^(d / τ),  d = Wᵀx + b, and the first action's d is fixed at 0
           credit: δ (H − p) / τ, H one bit an action but the first; with two actions it is a Bernoulli unit
gaussian   A ~ Normal(Wᵀx + b, v),  credit: δ (A − Wᵀx − b) / v
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore.fields import Scalar, choice, number
from coexplore.rules.base import Above, Activity, Feedback, Rule
from coexplore.units import Affine, drive, glorot, outer


class Softmax(Rule):
    name: ClassVar[str] = "softmax"
    title: ClassVar[str] = "one of several actions"

    temperature: Scalar = number(1.0, "τ, how evenly actions are drawn", low=0.0, open_low=True)
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def probabilities(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Of every action but the first."""
        return jax.nn.softmax(_with_first(d / self.temperature), axis=1)[:, 1:]

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.probabilities(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], 1), p.dtype)
        below = jnp.cumsum(p, axis=1)  # u falls into action i's stretch: Σ_{j<i} p_j ≤ u < Σ_{j≤i} p_j
        return Activity(h=((u[0] >= below - p) & (u[0] < below)).astype(p.dtype), draws=u)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        p = self.probabilities(drive(params, x))
        return outer(x, feedback.delta * (activity.h - p) / self.temperature)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        logits = d / self.temperature
        return (activity.h * logits).sum(axis=1) - jax.nn.logsumexp(_with_first(logits), axis=1)

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        """Given the right answer, its log-probability is the reward itself."""
        above = Above(params, lambda d: self.log_probability(params, d, activity))
        return Feedback(feedback.delta, above, feedback.graded)

    def likeliest(self, d: Float[Array, "B N"]) -> Int[Array, " B"]:
        """The most probable action."""
        return jnp.argmax(_with_first(d), axis=1)


class Gaussian(Rule):
    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "actions that are numbers"

    variance: Scalar = number(1.0, "v, variance of a number", low=0.0, open_low=True)
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        mu = drive(params, x)
        noise = jax.random.normal(key, (1, *mu.shape), mu.dtype)
        return Activity(h=mu + self.variance**0.5 * noise[0], draws=noise)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        return outer(x, feedback.delta * (activity.h - drive(params, x)) / self.variance)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """Up to the density's constant, which moves nothing."""
        return -((activity.h - d) ** 2).sum(axis=1) / (2 * self.variance)


def _with_first(logits: Float[Array, "B N"]) -> Float[Array, "B N+1"]:
    return jnp.pad(logits, ((0, 0), (1, 0)))
