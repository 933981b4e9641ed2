"""MAP propagation: Gaussian units whose values move, once the action is known, to what makes it likely.

    μ = softplus(Wᵀx + b),  H ~ Normal(μ, v)
    then, the action clamped, `relax_steps` times in all layers at once:   H ← H + ½ v ∂ log Pr(H, A | S) / ∂H
    W ← W + α δ x ((H − μ) σ(Wᵀx + b) / v)ᵀ,  b likewise: REINFORCE at the relaxed values

Where the right answer is clamped instead of an action, the values move towards it and δ is 1.
σ is softplus' derivative. The network does the moving (`network.relax`); everything else is this layer's own.
"""

from typing import ClassVar

import jax
from jaxtyping import Array, Float, Key

from coexplore.fields import Scalar, choice, count, number
from coexplore.rules.base import Above, Activity, Feedback, Rule
from coexplore.units import Affine, drive, glorot, outer


class MapProp(Rule):
    name: ClassVar[str] = "map-prop"
    title: ClassVar[str] = "MAP propagation"

    variance: Scalar = number(1.0, "v, variance of a unit", low=0.0, open_low=True)
    relax_steps: int = count(20, "how often the values move after the action", low=0)
    centring: str = choice("both", "signal R − V, or R itself", options=("activity", "both"))

    @property
    def relax_rate(self) -> Scalar:
        """½ v."""
        return 0.5 * self.variance

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Affine:
        return glorot(D, N, key)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        mu = jax.nn.softplus(drive(params, x))
        noise = jax.random.normal(key, (1, *mu.shape), mu.dtype)
        return Activity(h=mu + self.variance**0.5 * noise[0], draws=noise)

    def credit(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Affine:
        d = drive(params, x)
        e = (activity.h - jax.nn.softplus(d)) * jax.nn.sigmoid(d) / self.variance
        return outer(x, (feedback.weight if self.relax_steps else feedback.delta) * e)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """Up to the density's constant, which moves nothing."""
        return -((activity.h - jax.nn.softplus(d)) ** 2).sum(axis=1) / (2 * self.variance)

    def below(self, params: Affine, x: Float[Array, "B D"], activity: Activity, feedback: Feedback) -> Feedback:
        """Values that moved towards the right answer are themselves right answers to the layer underneath."""
        above = Above(params, lambda d: self.log_probability(params, d, activity))
        return Feedback(feedback.delta, above, feedback.graded and self.relax_steps > 0)
