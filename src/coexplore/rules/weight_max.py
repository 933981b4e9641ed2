"""Weight Maximization: every unit is rewarded for how much its outgoing weights carried.

    p = σ(Wᵀx + b),  H ~ Ber(p);  unit i learns by REINFORCE from a reward R_i of its own:
    W ← W + α x (R (H − p))ᵀ,  b likewise

    weight-max            R_i = 2 H_i Σ_j w_ij (a_j − p_j) R_j,  from the top down, R = δ at the output
    unbiased-weight-max   R_i = δ H_i (1 − Pr(a | H, H_i = 0) / Pr(a | H)),  a all that the next layer drew
       … expected         R_i (H_i − p_i) replaced by its mean over H_i given a and the other units:
                          δ p (1 − p) (P₁ − P₀) / (p P₁ + (1 − p) P₀),  P_h = Pr(a | H with H_i = h)
       … of a known R(H)  R_i = H_i (R(H) − R(H, H_i = 0)),  expected p (1 − p) (R(H, H_i = 1) − R(H, H_i = 0))

The unbiased forms are exact at any depth and width; the plain one is their first order and is biased.

Sources: Chung (2022, AAAI); expected: HNCA, Young (2020, 2022); of a known R(H): Titsias and Lázaro-Gredilla (2015).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.laws import Activity
from coexplore.rules.layer import Layer, Message
from coexplore.rules.learning_signal import Signal
from coexplore.rules.rule import Rule
from coexplore.settings import switch
from coexplore.units import Affine, drive, outer


class WeightMax(Rule[Affine, Activity]):
    name: ClassVar[str] = "weight-max"
    title: ClassVar[str] = "Weight Maximization"

    def credit(self, layer: Layer[Affine, Activity], signal: Float[Array, "B 1"], above: Message) -> Affine:
        R = above.weight(signal) * reward(layer.h, above)
        p = units.probability(drive(layer.params, layer.x))
        return outer(layer.x, R * (layer.h - p))

    def message(self, layer: Layer[Affine, Activity], above: Message) -> Message:
        """Σ_j R_j log p_j, each unit weighed by its own reward."""
        h, R = layer.h, jax.lax.stop_gradient(reward(layer.h, above))
        return Message(layer.params, lambda d: (R * units.log_probability(h, d)).sum(axis=1), above.graded)


def reward(h: Float[Array, "B N"], above: Message) -> Float[Array, "B N"]:
    """R_i for δ = 1; the slope of Σ_j R_j log p_j(a_j | H) in H_i is Σ_j w_ij (a_j − p_j) R_j."""
    return 2 * h * above.slope(h)


class UnbiasedWeightMax(Rule[Affine, Activity]):
    name: ClassVar[str] = "unbiased-weight-max"
    title: ClassVar[str] = "unbiased Weight Maximization"

    expected: bool = switch(False, "average over the unit's own draw: the same mean, less variance")

    def credit(self, layer: Layer[Affine, Activity], signal: Float[Array, "B 1"], above: Message) -> Affine:
        x, h, p = layer.x, layer.h, units.probability(drive(layer.params, layer.x))
        gain = log_gain(above, h)
        if above.graded:  # what is gained is reward: nothing was drawn above
            return outer(x, gain * (p * (1 - p) if self.expected else h * (h - p)))
        if self.expected:
            return outer(x, signal * p * (1 - p) * mean_advantage(gain, p))
        R = signal * h * -jnp.expm1(-gain)
        return outer(x, R * (h - p))


def HNCA(learning_signal: Signal = UnbiasedWeightMax.learning_signal) -> UnbiasedWeightMax:
    """Hindsight Network Credit Assignment (Young, 2020): `UnbiasedWeightMax(expected=True)`, of a
    `learning_signal`.

    It prints, and is kept in files, as `UnbiasedWeightMax`.
    """
    return UnbiasedWeightMax(expected=True, learning_signal=learning_signal)


def log_gain(above: Message, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
    """log P₁ − log P₀ for every unit: what was drawn above, had this one unit fired or not."""
    return (2 * h - 1) * (above(h)[:, None] - above.flipped(h))


def mean_advantage(gain: Float[Array, "B N"], p: Float[Array, "B N"]) -> Float[Array, "B N"]:
    """(P₁ − P₀) / (p P₁ + (1 − p) P₀) from log P₁ − log P₀, with nothing that can overflow."""
    less = jnp.exp(-jnp.abs(gain))
    return jnp.sign(gain) * (1 - less) / jnp.where(gain > 0, p + (1 - p) * less, p * less + (1 - p))
