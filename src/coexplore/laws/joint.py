"""Actions of several parts: a team of agents, which draw independently given the layer below them.

    Bits        H_i ~ Ber(σ(d_i / τ)), one unit each            A = H, k bits
    Softmaxes   one softmax for each part, with its own draw    A_j, the choice of each part

A part's d are those of its choices but the first, which is fixed at 0, as in `Softmax`; H has the parts one after
another. log P(A) is a sum over parts, so that one δ teaches all of them, each by its own score.
"""

from collections.abc import Iterator
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from coexplore import units
from coexplore.laws.law import Activity, Output, chosen, most_probable
from coexplore.laws.softmax import Softmax, picked
from coexplore.settings import Scalar
from coexplore.units import Affine, drive

MOST = 4096  # joint actions: more are not listed


class Bits(Output):
    binary: ClassVar[bool] = True

    temperature: Scalar = 1.0

    @property
    def dispersion(self) -> Scalar:
        return self.temperature

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.expected(drive(params, x))
        u = jax.random.uniform(key, (1, *p.shape), p.dtype)
        return Activity(h=units.draw(p, u[0]), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        return units.log_probability(activity.h, d / self.temperature).sum(axis=1)

    def action(self, h: Float[Array, "B N"]) -> Int[Array, "B N"]:
        return h.astype(jnp.int32)

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return units.probability(d / self.temperature)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, "B N"]:
        return (mean > 0.5).astype(jnp.int32)

    def told(self, N: int) -> str:
        return f"actions of {N} bits"

    def every(self, N: int) -> Int[Array, "A N"] | None:
        return _all_of((2,) * N)


class Softmaxes(Output):
    """`parts`: how many choices each of them has."""

    binary: ClassVar[bool] = True

    parts: tuple[int, ...] = eqx.field(static=True)
    temperature: Scalar = 1.0

    @property
    def dispersion(self) -> Scalar:
        return self.temperature

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = self.expected(drive(params, x))
        u = jax.random.uniform(key, (1, p.shape[0], len(self.parts)), p.dtype)
        each = [picked(mine, u[0, :, j : j + 1]) for j, mine in enumerate(self._split(p))]
        return Activity(h=jnp.concatenate(each, axis=1), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        drawn = (Activity(h=h, draws=activity.draws) for h in self._split(activity.h))
        one = Softmax(self.temperature)
        each = [one.log_probability(params, *part) for part in zip(self._split(d), drawn, strict=True)]
        return jnp.stack(each).sum(axis=0)

    def action(self, h: Float[Array, "B N"]) -> Int[Array, "B parts"]:
        return jnp.stack([chosen(mine) for mine in self._split(h)], axis=1)

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        one = Softmax(self.temperature)
        return jnp.concatenate([one.expected(mine) for mine in self._split(d)], axis=1)

    def decided(self, mean: Float[Array, "B N"]) -> Int[Array, "B parts"]:
        return jnp.stack([most_probable(mine) for mine in self._split(mean)], axis=1).astype(jnp.int32)

    def told(self, N: int) -> str:
        return f"actions of {len(self.parts)} choices ({', '.join(map(str, self.parts))})"

    def every(self, N: int) -> Int[Array, "A parts"] | None:
        return _all_of(self.parts)

    def _split(self, x: Float[Array, "B N"]) -> Iterator[Float[Array, "B n"]]:
        """Its columns, part by part."""
        start = 0
        for choices in self.parts:
            yield x[:, start : start + choices - 1]
            start += choices - 1


def together(parts: tuple[int, ...], temperature: Scalar = 1.0) -> Bits | Softmaxes:
    """The law of actions with so many choices in each part."""
    return Bits(temperature) if set(parts) == {2} else Softmaxes(parts, temperature)


def _all_of(parts: tuple[int, ...]) -> Int[Array, "A parts"] | None:
    """Every joint action."""
    if np.prod(parts, dtype=float) > MOST:
        return None
    return jnp.asarray(np.indices(parts).reshape(len(parts), -1).T, jnp.int32)
