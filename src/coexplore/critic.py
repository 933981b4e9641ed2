"""The critic V(s): a network of deterministic units that estimates E[R | S = s], trained by backprop."""

from collections.abc import Iterable

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from coexplore.settings import Checked, Units, choice, field
from coexplore.units import Affine, drive, glorot

ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jax.nn.tanh, "softplus": jax.nn.softplus}


class CriticParams(eqx.Module):
    hidden: Affine
    output: Affine
    deeper: tuple[Affine, ...] = ()  # hidden layers above the first

    @property
    def layers(self) -> tuple[Affine, ...]:
        """From the first to the output."""
        return (self.hidden, *self.deeper, self.output)

    @classmethod
    def of(cls, layers: Iterable[Affine]) -> "CriticParams":
        first, *deeper, output = layers
        return cls(first, output, tuple(deeper))


class Critic(Checked):
    activation: str = choice("relu", "the critic's hidden units", options=tuple(ACTIVATIONS))
    width: int | tuple[int, ...] = field(64, Units("how many hidden units the critic has", bare=True))

    @property
    def widths(self) -> tuple[int, ...]:
        return self.width if isinstance(self.width, tuple) else (self.width,)

    def init(self, D: int, key: Key[Array, ""]) -> CriticParams:
        hidden_key, output_key, *deeper_keys = _keys(key, len(self.widths) - 1)
        sizes = zip(self.widths[:-1], self.widths[1:], deeper_keys, strict=True)
        return CriticParams(
            glorot(D, self.widths[0], hidden_key),
            glorot(self.widths[-1], 1, output_key),
            tuple(glorot(*shape_and_key) for shape_and_key in sizes),
        )

    def value(self, params: CriticParams, s: Float[Array, "B D"]) -> Float[Array, " B"]:
        """V(s)."""
        h = s
        for layer in (params.hidden, *params.deeper):
            h = ACTIVATIONS[self.activation](drive(layer, h))
        return drive(params.output, h)[:, 0]

    def credit(self, params: CriticParams, s: Float[Array, "B D"], delta: Float[Array, " B"]) -> CriticParams:
        """Ascent on δ·V(s), a mean over the batch: δ ∇V(s)."""
        _, pull = jax.vjp(lambda params: self.value(params, s), params)
        return pull(delta / s.shape[0])[0]


def _keys(key: Key[Array, ""], deeper: int) -> list[Key[Array, ""]]:
    """The first two do not depend on how many follow."""
    return [*jax.random.split(key), *jax.random.split(jax.random.fold_in(key, 1), deeper)]
