"""A reward of its own for every hidden layer: all that Weight Maximization would pay its units, in one number.

    R⁽ˡ⁾ = Σᵢ 2 Hᵢ Σⱼ wᵢⱼ (aⱼ − pⱼ) R⁽ˡ⁺¹⁾ = 2 (H · ∇_H log Pr(a | H)) R⁽ˡ⁺¹⁾,   R = δ in the last hidden layer

    last   a is what the layer above drew last and sent up, p = Pr(a = 1 | what its units heard then)
    path   a is all that it drew, H₍₀₎ … H₍T₎: aⱼ − pⱼ is summed over the draws

R stands for δ in the layer's update, W_rec's too. The mean over the units is R over their number, a factor that Adam
cancels: it would be no other rule. E[R | H] = 2 H·∇Q(H), where Q(H) = E[R⁽ˡ⁺¹⁾ | H], counts a product of k units' bits
k times: right to first order in the weights above (and path alone: `last` leaves out what a coupled layer's earlier
draws did), biased beyond. It does not vanish in the mean, whatever V is.

Source of the unit's reward: Chung (2022, AAAI), Weight Maximization.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.rules import Boltzmann, Recurrent, Rule
from coexplore.rules.layer import Layer, Message
from coexplore.settings import choice

HELP = "which draws above a layer is rewarded for: all of them, or the last"
BY = ("path", "last")


class Rewarded:
    """A rule in which R⁽ˡ⁾ stands for the signal; the layers above have put theirs into `above`."""

    variant: ClassVar[str] = "layer-reward"
    variant_by: str

    def credit(self, layer: Layer, signal: Float[Array, "B 1"], above: Message) -> Any:
        R = signal if above.of_output else above.weight(signal) * share(layer, above)
        return super().credit(layer, R, above)  # type: ignore[misc]  # of the rule that it is mixed into

    def message(self, layer: Layer, above: Message) -> Message:
        """R/δ · log Pr(a), as under Weight Max. The reward of the last hidden layer is δ, graded or not."""
        R = jax.lax.stop_gradient(share(layer, above))[:, 0]
        law: Any = layer.law
        log_p = law.log_last if self.variant_by == "last" else law.log_probability
        params, drawn = layer.params, layer.drawn
        return Message(params, lambda d: R * log_p(params, d, drawn), above.graded and not above.of_output)


class RewardedBoltzmann(Rewarded, Boltzmann):  # type: ignore[misc]  # the credit is Boltzmann's, for another signal
    """Algorithm 1 with a reward for each layer."""

    variant_by: str = choice("path", HELP, options=BY)


class RewardedRecurrent(Rewarded, Recurrent):  # type: ignore[misc]  # likewise
    """Algorithm 2 with a reward for each layer."""

    variant_by: str = choice("path", HELP, options=BY)


VARIANTS: dict[str, type[Rule]] = {"boltzmann": RewardedBoltzmann, "recurrent": RewardedRecurrent}


def share(layer: Layer, above: Message) -> Float[Array, "B 1"]:
    """R for δ = 1."""
    if above.of_output:
        return jnp.ones_like(layer.h[:, :1])
    return 2 * (layer.h * above.slope(layer.h)).sum(axis=1, keepdims=True)
