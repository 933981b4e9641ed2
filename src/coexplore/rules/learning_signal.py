"""What a layer's eligibility is multiplied by: one number per episode, whatever the layer drew.

    reward              R
    advantage           δ = R − V
    centred-advantage   δ − m                 Δm = α (δ − m)

m takes away only the error of V that all states share.
"""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.settings import Part, Scalar, number

S = TypeVar("S")  # parameters of the signal


class Signal(Part, Generic[S]):
    """What a layer's eligibility is multiplied by."""

    centred: ClassVar[bool]  # whether it asks for δ = R − V: in environments there is nothing else

    def init(self) -> S | None:
        """Its parameters before learning; None: it has none."""
        return None

    @property
    def rate(self) -> Scalar:
        """The learning rate of its parameters, as a multiple of their layer's."""
        return 1.0

    @abstractmethod
    def __call__(self, params: S, r: Float[Array, " B"], delta: Float[Array, " B"]) -> Float[Array, " B"]:
        """The signal from R and δ."""

    def credit(self, params: S, signal: Float[Array, " B"]) -> S | None:
        """The ascent direction of its parameters, linear in the signal."""
        return None


class Reward(Signal[None]):
    """The reward R, as it is paid."""

    name: ClassVar[str] = "reward"
    centred: ClassVar[bool] = False

    def __call__(self, params: None, r: Float[Array, " B"], delta: Float[Array, " B"]) -> Float[Array, " B"]:
        return r


class Advantage(Signal[None]):
    """The advantage δ = R − V; in environments the TD error."""

    name: ClassVar[str] = "advantage"
    centred: ClassVar[bool] = True

    def __call__(self, params: None, r: Float[Array, " B"], delta: Float[Array, " B"]) -> Float[Array, " B"]:
        return delta


class Mean(eqx.Module):
    """Parameters of CentredAdvantage."""

    m: Float[Array, ""]


class CentredAdvantage(Signal[Mean]):
    """δ − m, where m learns the mean of δ."""

    name: ClassVar[str] = "centred-advantage"
    centred: ClassVar[bool] = True

    rate: Scalar = number(1.0, "learning rate of m, as a multiple of its layer's", low=0.0, open_low=True)

    def init(self) -> Mean:
        return Mean(jnp.zeros(()))

    def __call__(self, params: Mean, r: Float[Array, " B"], delta: Float[Array, " B"]) -> Float[Array, " B"]:
        return delta - params.m

    def credit(self, params: Mean, signal: Float[Array, " B"]) -> Mean:
        return Mean(signal.mean())
