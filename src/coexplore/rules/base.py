"""The interface of a learning rule.

A layer draws by its law (laws.py) and learns by its rule: `credit` is the direction in which its parameters should
move. A rule sees the layer's input x, what was drawn, and a `Feedback` from above.
Batch axis B, inputs D, units N; in equations H is `h`, S is `x` for the first hidden layer.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.rules.laws import Bernoulli, Law
from coexplore.settings import Checked
from coexplore.units import Affine, drive

CENTRINGS = ("none", "activity", "reward", "both")
OF_THE_LAW = ("init", "explore", "log_probability")


class Above(eqx.Module):
    """log Pr(what the next layer drew | this layer had sent it h), one per episode, as a function of h.

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

    def of_bits(self) -> "Above":
        """The same as a function of H where 2H − 1 is sent: Wᵀ(2H − 1) + b = (2W)ᵀH + b − Wᵀ1."""
        W, b = self.params.W, self.params.b
        return Above(Affine(2 * W, b - W.sum(axis=0)), self.of_drive)


class Feedback(eqx.Module):
    """What comes back from above.

    `delta` is the signal: R − V or R, as the rule's centring asks; one for all units ("B 1") or one each.
    `above` tells how likely the next layer's draw was; None at the output. A rule that reads `delta` alone is local,
    if the critic behind `delta` is.
    `graded`: the output was given the right answer, so `above` is the reward itself, as a function of h.
    `of_output`: the next layer is the output.
    """

    delta: Float[Array, "B #N"]
    above: Any = None
    graded: bool = eqx.field(default=False, static=True)
    of_output: bool = eqx.field(default=False, static=True)

    @property
    def weight(self) -> Float[Array, "B #N"]:
        """What a slope of `above` counts for: δ; but 1 where it is the reward's own."""
        return jnp.ones_like(self.delta) if self.graded else self.delta


class Rule(Checked):
    """One layer's way to learn. Numbers are leaves, structure is static."""

    name: ClassVar[str]
    title: ClassVar[str]
    # Whether its message to the layer underneath is a slope to follow, and not the odds of what was drawn.
    surrogate: ClassVar[bool] = False
    centring: eqx.AbstractVar[str]
    # Which code of the user's this is; set where a Run is made, empty for rules of ours (run/editions.py).
    edition: str = eqx.field(default="", static=True, init=False)

    @classmethod
    def usual(cls) -> "Rule":
        """With every setting at its default."""
        return cls()  # type: ignore[call-arg]  # a rule that can be made has a centring

    @property
    def law(self) -> Law:
        """How the layer draws: independent binary units, unless a rule says otherwise."""
        return Bernoulli()

    @property
    def paces(self) -> dict[str, Any]:
        """Parameters, by name, whose rate is a multiple of their layer's."""
        return {}

    @property
    def own(self) -> tuple[str, ...]:
        """Parameters, by name, that learn by themselves: what `lesson` says, whatever the signal. Their credit is 0."""
        return ()

    def lesson(self, params: Any, x: Float[Array, "B D"], activity: Any) -> dict[str, Any]:
        """The ascent direction of `own`, by name, a mean over the batch."""
        return {}

    def signal(self, params: Any, delta: Float[Array, " B"]) -> Float[Array, " B"]:
        """What the layer learns from where others learn from this: the same, unless it has a way to centre it."""
        return delta

    @property
    def centres_reward(self) -> bool:
        """Whether the signal is δ = R − V rather than R."""
        return self.centring in ("reward", "both")

    @property
    def centres_activity(self) -> bool:
        """Whether the rule subtracts the expected activity."""
        return self.centring in ("activity", "both")

    @abstractmethod
    def credit(self, params: Any, x: Float[Array, "B D"], activity: Any, feedback: Feedback) -> Any:
        """The ascent direction: like `params`, a mean over the batch.

        Linear in `feedback.delta` where agents learn over the steps of an environment. A rule that follows a slope of
        `feedback.above` gives the layer underneath a slope to follow by a `below` of its own.
        """

    def below(self, params: Any, x: Float[Array, "B D"], activity: Any, feedback: Feedback) -> Feedback:
        """The message to the layer underneath; by default the signal, passed on, and the odds of this layer's draw."""
        return Feedback(feedback.delta, odds(self.law, params, activity))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in OF_THE_LAW:
            if name in cls.__dict__:  # it would never be called
                raise TypeError(
                    f"{cls.__name__}.{name}: a rule gives credit; `{name}` belongs to its law (rules/laws.py)"
                )


def odds(law: Law, params: Any, activity: Any) -> Above:
    """How likely it was that a layer of this law drew what it did, as a function of what it heard."""
    return Above(params, lambda d: law.log_probability(params, d, activity))
