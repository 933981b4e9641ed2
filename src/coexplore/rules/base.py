"""The interface of a learning rule.

A rule explores (draws the layer's activity) and then gives credit (the direction in which its
parameters should move). It sees the layer's input x, what it drew, and a `Feedback` from above.
Batch axis B, inputs D, units N; in equations H is `h`, S is `x` for the first hidden layer.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore import fields
from coexplore.units import drive

CENTRINGS = ("none", "activity", "reward", "both")


class AbstractActivity(eqx.Module):
    """What a layer did: `h` goes up, `draws` are the random numbers behind it, a rule adds what its credit needs."""

    h: eqx.AbstractVar[Float[Array, "B N"]]
    draws: eqx.AbstractVar[Any]


class Activity(AbstractActivity):
    """One draw of a layer (from one number a unit, or one for all), and nothing more to remember."""

    h: Float[Array, "B N"]
    draws: Float[Array, "1 B #N"]


class Above(eqx.Module):
    """log Pr(what the next layer drew | this layer had sent it h), one an episode, as a function of h.

    The next layer hears h only through its drive, Wᵀh + b; `of_drive` is the rest.
    """

    params: Any
    of_drive: Callable[[Float[Array, "B M"]], Float[Array, " B"]]

    def __call__(self, h: Float[Array, "B N"]) -> Float[Array, " B"]:
        return self.of_drive(drive(self.params, h))

    def slope(self, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Its derivative in h."""
        return jax.grad(lambda h: self(h).sum())(h)

    def flipped(self, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Its value with one unit flipped, for each unit."""
        flips = (1 - 2 * h)[:, :, None] * self.params.W
        return jax.vmap(self.of_drive, in_axes=1, out_axes=1)(drive(self.params, h)[:, None] + flips)


class Feedback(eqx.Module):
    """What comes back from above.

    `delta` is the signal: R − V or R, as the rule's centring asks; one for all units ("B 1") or one each.
    `above` tells how likely the next layer's draw was; None at the output. A rule that reads `delta` alone is local.
    `graded`: the output was given the right answer, so `above` is the reward itself, as a function of h.
    """

    delta: Float[Array, "B #N"]
    above: Any = None
    graded: bool = eqx.field(default=False, static=True)

    @property
    def weight(self) -> Float[Array, "B #N"]:
        """What a slope of `above` counts for: δ; but 1 where it is the reward's own."""
        return jnp.ones_like(self.delta) if self.graded else self.delta


class Rule(fields.Checked):
    """One layer's way to explore and to learn. Numbers are leaves, structure is static."""

    name: ClassVar[str]
    title: ClassVar[str]
    centring: eqx.AbstractVar[str]

    @property
    def centres_reward(self) -> bool:
        """Whether the signal is δ = R − V rather than R."""
        return self.centring in ("reward", "both")

    @property
    def centres_activity(self) -> bool:
        """Whether the rule subtracts the expected activity."""
        return self.centring in ("activity", "both")

    @abstractmethod
    def init(self, D: int, N: int, key: Key[Array, ""]) -> Any:
        """The layer's parameters before learning."""

    @abstractmethod
    def explore(self, params: Any, x: Float[Array, "B D"], key: Key[Array, ""]) -> Any:
        """Draw the layer's activity given its input: an `AbstractActivity`."""

    @abstractmethod
    def credit(self, params: Any, x: Float[Array, "B D"], activity: Any, feedback: Feedback) -> Any:
        """The ascent direction: like `params`, a mean over the batch, linear in `feedback.delta`."""

    @abstractmethod
    def log_probability(self, params: Any, d: Float[Array, "B N"], activity: Any) -> Float[Array, " B"]:
        """log Pr(all that the layer drew | its drive Wᵀx + b were d)."""

    def below(self, params: Any, x: Float[Array, "B D"], activity: Any, feedback: Feedback) -> Feedback:
        """The message to the layer underneath; by default the signal, passed on, and the odds of this layer's draw."""
        return Feedback(feedback.delta, Above(params, lambda d: self.log_probability(params, d, activity)))
