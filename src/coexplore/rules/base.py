"""The interface of a learning rule.

A rule explores (draws the layer's activity) and then gives credit (the direction in which its
parameters should move). It sees the layer's input x, what it drew, and a `Feedback` from above.
Batch axis B, inputs D, units N; in equations H is `h`, S is `x` for the first hidden layer.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Key

from coexplore import fields

CENTRINGS = ("none", "activity", "reward", "both")


class AbstractActivity(eqx.Module):
    """What a layer did: `h` goes up, `draws` are the random numbers behind it, a rule adds what its credit needs."""

    h: eqx.AbstractVar[Float[Array, "B N"]]
    draws: eqx.AbstractVar[Any]


class Feedback(eqx.Module):
    """What comes back from above.

    `delta` is the signal: R − V or R, as the rule's centring asks; one for all units ("B 1") or one each.
    `above(h)` is log Pr(what the next layer drew | this layer had sent it h), one an episode; None at the output.
    A rule that reads `delta` alone is local.
    """

    delta: Float[Array, "B #N"]
    above: Callable[[Float[Array, "B N"]], Float[Array, " B"]] | None = None


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
    def log_probability(self, params: Any, x: Float[Array, "B D"], activity: Any) -> Float[Array, " B"]:
        """log Pr(all that the layer drew | its input were x)."""

    def below(self, params: Any, x: Float[Array, "B D"], activity: Any, feedback: Feedback) -> Feedback:
        """The message to the layer underneath; by default the signal, passed on."""
        return Feedback(feedback.delta, lambda x: self.log_probability(params, x, activity))
