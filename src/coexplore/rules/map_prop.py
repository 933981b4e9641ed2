"""MAP propagation: Gaussian units whose values move, once the action is known, to what makes it likely.

    μ = softplus(Wᵀx + b),  H ~ Normal(μ, v)
    then, the action clamped, `relax_steps` times in all layers at once:   H ← H + η ½ v ∂ log Pr(H, A | S) / ∂H
    W ← W + α δ x ((H − μ) σ(Wᵀx + b) / v)ᵀ,  b likewise: REINFORCE at the relaxed values

Where the right answer is clamped instead of an action, the values move towards it and δ is 1.
σ is softplus' derivative. The network does the moving (`network.relax`); everything else is this layer's own.

η is 1, unless that makes the episode less likely: it is the first of 1, ½, ¼, … for which the last values have

    log Pr(H, A | S) ≥ what it was for the values that were drawn

Why: the ascent diverges where η ½ v times the largest curvature of log Pr exceeds 2, and the layer above adds up to
‖w‖² / (its variance) to this layer's 1 / v. With η so chosen it cannot: log Pr is, up to constants, a sum of terms that
are at most 0, −‖H − μ‖² / 2v of every layer among them, and none of them is below what the sum was at the start.
If no η down to 2⁻³² will do, H stays as drawn.

η stays 1 where a single layer relaxes and all above it are bits: they pull a unit by at most Σ |w| (over τ of a
softmax), so that it cannot get further from μ than v Σ |w|, or than it was drawn.

Source: Chung (2021).
"""

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from coexplore.laws import Activity, FeedForward, noisy
from coexplore.rules.layer import Layer, Message, likelihood
from coexplore.rules.rule import Rule
from coexplore.settings import Scalar, count, number
from coexplore.units import Affine, drive, outer


class Relaxing(FeedForward):
    """H ~ Normal(softplus(d), v), and moves once the action is known."""

    variance: Scalar
    steps: int = eqx.field(static=True)

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        return noisy(jax.nn.softplus(drive(params, x)), self.variance, key)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """Up to the density's constant, which moves nothing."""
        return -((activity.h - jax.nn.softplus(d)) ** 2).sum(axis=1) / (2 * self.variance)

    @property
    def relax_steps(self) -> int:
        return self.steps

    @property
    def relax_rate(self) -> Scalar:
        """½ v."""
        return 0.5 * self.variance


class MapProp(Rule[Affine, Activity]):
    name: ClassVar[str] = "map-prop"
    title: ClassVar[str] = "MAP propagation"

    variance: Scalar = number(1.0, "v, variance of a unit", low=0.0, open_low=True)
    relax_steps: int = count(20, "how often the values move after the action", low=0)

    @property
    def law(self) -> Relaxing:
        return Relaxing(self.variance, self.relax_steps)

    def credit(self, layer: Layer[Affine, Activity], signal: Float[Array, "B 1"], above: Message) -> Affine:
        d = drive(layer.params, layer.x)
        e = (layer.h - jax.nn.softplus(d)) * jax.nn.sigmoid(d) / self.variance
        return outer(layer.x, (above.weight(signal) if self.relax_steps else signal) * e)

    def message(self, layer: Layer[Affine, Activity], above: Message) -> Message:
        """Values that moved towards the right answer are themselves right answers to the layer below."""
        return likelihood(layer, above.graded and self.relax_steps > 0)


def relax_together(rules: Sequence[Rule]) -> bool:
    """Whether several layers of a network relax at once."""
    return sum(isinstance(rule, MapProp) and rule.relax_steps > 0 for rule in rules) > 1
