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

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.rules.base import Above, Feedback, odds

REWARDS = ("global", "path", "last")


def share(reward: str, h: Float[Array, "B N"], feedback: Feedback) -> Float[Array, "B 1"]:
    """R for δ = 1: the layers above have put theirs into `above`."""
    if reward == "global" or feedback.of_output:
        return jnp.ones_like(h[:, :1])
    return 2 * (h * feedback.above.slope(h)).sum(axis=1, keepdims=True)


def rewarded(reward: str, h: Float[Array, "B N"], feedback: Feedback) -> Feedback:
    """R in place of δ."""
    if reward == "global" or feedback.of_output:
        return feedback
    return eqx.tree_at(lambda f: f.delta, feedback, feedback.weight * share(reward, h, feedback))


def passed_down(law: Any, reward: str, params: Any, activity: Any, feedback: Feedback) -> Feedback:
    """The layer underneath sees R/δ · log Pr(a), as under Weight Max."""
    if reward == "global":
        return Feedback(feedback.delta, odds(law, params, activity))
    R = jax.lax.stop_gradient(share(reward, activity.h, feedback))[:, 0]
    log_p = law.log_last if reward == "last" else law.log_probability
    graded = feedback.graded and not feedback.of_output  # the last hidden layer's reward is δ, graded or not
    return Feedback(feedback.delta, Above(params, lambda d: R * log_p(params, d, activity)), graded)
