"""Coordinated exploration: the chain of draws that Algorithms 1 and 2 share.

    H₍₀₎ ~ Ber(σ(Wᵀx + b))
    H₍ₜ₎ ~ Ber(σ(c W_recᵀ H₍ₜ₋₁₎ + Wᵀx + b)),  t = 1 … T             (eq:ss1)

Where `signals` are signed the units hear 2H₍ₜ₋₁₎ − 1 of each other.

Synchronous: all units at once. Lazy: the same, but in each step a unit is drawn anew with probability ½ only and
otherwise stays as it is, so that units which follow each other cannot take turns for ever. One-by-one: a step is N
single draws, each of a unit chosen at random while the others stand still (Gibbs sampling, eq:exp3).

Source: Chung (2022); `lazy` is this project's.
"""

from abc import abstractmethod
from typing import ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from coexplore import units
from coexplore.laws.law import AbstractActivity, Law
from coexplore.settings import Scalar
from coexplore.units import drive, glorot, sent


class Coupled(eqx.Module):
    """Parameters of a layer whose units hear each other."""

    W: Float[Array, "D N"]
    b: Float[Array, " N"]
    W_rec: Float[Array, "N N"]


A = TypeVar("A", bound=AbstractActivity)


class Chain(Law[Coupled, A]):
    """What the samplers share. `signals`: what units hear of each other, H or 2H − 1."""

    binary: ClassVar[bool] = True

    coupling: Scalar
    steps: int = eqx.field(static=True)
    signals: str = eqx.field(default="binary", static=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Coupled:
        """W_rec starts at zero: exploration is independent until coordination is learned."""
        affine = glorot(D, N, key)
        return Coupled(W=affine.W, b=affine.b, W_rec=jnp.zeros((N, N)))

    def heard(self, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return sent(h, self.signals)

    @abstractmethod
    def log_last(self, params: Coupled, d: Float[Array, "B N"], activity: A) -> Float[Array, " B"]:
        """log Pr(what the last step drew | all before it and the drive d)."""

    @property
    def passes(self) -> int:
        return self.steps + 1


class Path(AbstractActivity):
    """Synchronous steps: H₍₀₎ … H₍T₎, the probabilities P behind H₍₁₎ … H₍T₎, and the last as h."""

    P: Float[Array, "T B N"]
    H: Float[Array, "T+1 B N"]
    h: Float[Array, "B N"]
    draws: Float[Array, "T+1 B N"]


class Synchronous(Chain[Path]):
    """All units at once."""

    def explore(self, params: Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> Path:
        c, T, d = self.coupling, self.steps, drive(params, x)
        u = jax.random.uniform(key, (T + 1, *d.shape), d.dtype)

        def step(h: Array, u: Array) -> tuple[Array, tuple[Array, Array]]:
            p = units.probability(c * (self.heard(h) @ params.W_rec) + d)
            h = self.drawn(p, u, h)
            return h, (h, p)

        h_0 = units.draw(units.probability(d), u[0])
        h, (H, P) = jax.lax.scan(step, h_0, u[1:])
        return Path(H=jnp.concatenate([h_0[None], H]), P=P, h=h, draws=u)

    def log_probability(self, params: Coupled, d: Float[Array, "B N"], activity: Path) -> Float[Array, " B"]:
        """log Pr(H₍₀₎ … H₍T₎ | the drive d)."""
        c, H = self.coupling, activity.H
        first = units.log_probability(H[0], d)
        later = self.log_drawn(H[1:], c * (self.heard(H[:-1]) @ params.W_rec) + d, H[:-1])
        return (first + later.sum(axis=0)).sum(axis=1)

    def log_last(self, params: Coupled, d: Float[Array, "B N"], activity: Path) -> Float[Array, " B"]:
        """log Pr(H₍T₎ | H₍T−1₎ and the drive d)."""
        before, h = activity.H[-2:-1], activity.H[-1:]
        drawn = self.log_drawn(h, self.coupling * (self.heard(before) @ params.W_rec) + d, before)
        return drawn[0].sum(axis=1)

    def mean(self, params: Coupled, x: Float[Array, "B D"], activity: Path) -> Float[Array, "T B N"]:
        """P₍₁₎ … P₍T₎, where each step draws all units anew."""
        return activity.P

    def drawn(self, p: Float[Array, "B N"], u: Float[Array, "B N"], before: Float[Array, "B N"]) -> Array:
        """H₍ₜ₎ from uniforms."""
        return units.draw(p, u)

    def log_drawn(self, h: Float[Array, "T B N"], x: Float[Array, "T B N"], before: Float[Array, "T B N"]) -> Array:
        """log Pr(H₍ₜ₎ = h) of each unit, where it hears x."""
        return units.log_probability(h, x)


class Lazy(Synchronous):
    """One uniform decides both: below ½ the unit is drawn by twice of it."""

    def drawn(self, p: Float[Array, "B N"], u: Float[Array, "B N"], before: Float[Array, "B N"]) -> Array:
        return jnp.where(u < 0.5, units.draw(p, 2 * u), before)

    def mean(self, params: Coupled, x: Float[Array, "B D"], activity: Path) -> Float[Array, "T B N"]:
        """½ (P₍ₜ₎ + H₍ₜ₋₁₎)."""
        return 0.5 * (activity.P + activity.H[:-1])

    def log_drawn(self, h: Float[Array, "T B N"], x: Float[Array, "T B N"], before: Float[Array, "T B N"]) -> Array:
        stayed = jnp.where(h == before, 0.0, -jnp.inf)
        return jnp.logaddexp(units.log_probability(h, x), stayed) - jnp.log(2.0)


class SingleDraws(eqx.Module):
    """Uniforms u, the first row for H₍₀₎; u[t, b, n] then drives the n-th single draw of step t, of unit[t-1, b, n]."""

    unit: Int[Array, "T B N"]
    u: Float[Array, "T+1 B N"]


class Sweeps(AbstractActivity):
    """One-by-one steps: H₍₀₎, the bit of every single draw, H₍T₎."""

    h_0: Float[Array, "B N"]
    bits: Float[Array, "T B N"]
    h: Float[Array, "B N"]
    draws: SingleDraws


class OneByOne(Chain[Sweeps]):
    """One unit at a time, chosen at random."""

    def explore(self, params: Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> Sweeps:
        T, d = self.steps, drive(params, x)
        u_key, unit_key = jax.random.split(key)
        u = jax.random.uniform(u_key, (T + 1, *d.shape), d.dtype)
        unit = jax.random.randint(unit_key, (T, *d.shape), 0, d.shape[1])

        def step(h: Array, drawn: tuple[Array, Array]) -> tuple[Array, Array]:
            i, u = drawn
            bit = units.draw(units.probability(self.input(params, d, h, i)), u)
            return _put(h, i, bit), bit

        h_0 = units.draw(units.probability(d), u[0])
        h, bits = jax.lax.scan(step, h_0, (_singly(unit), _singly(u[1:])))
        bits = jnp.swapaxes(bits.reshape(T, d.shape[1], d.shape[0]), 1, 2)
        return Sweeps(h_0=h_0, bits=bits, h=h, draws=SingleDraws(unit=unit, u=u))

    def log_probability(self, params: Coupled, d: Float[Array, "B N"], activity: Sweeps) -> Float[Array, " B"]:
        """log Pr(H₍₀₎ and every bit | the drive d and the units chosen)."""
        later = self._log_bits(params, d, activity)
        return units.log_probability(activity.h_0, d).sum(axis=1) + later.sum(axis=0)

    def log_last(self, params: Coupled, d: Float[Array, "B N"], activity: Sweeps) -> Float[Array, " B"]:
        """log Pr(the last N single bits | all before them and the drive d)."""
        return self._log_bits(params, d, activity)[-d.shape[1] :].sum(axis=0)

    def _log_bits(self, params: Coupled, d: Float[Array, "B N"], activity: Sweeps) -> Float[Array, "draws B"]:
        """log Pr of every single bit, one after another."""

        def step(h: Array, drawn: tuple[Array, Array]) -> tuple[Array, Array]:
            i, bit = drawn
            return _put(h, i, bit), units.log_probability(bit, self.input(params, d, h, i))

        return jax.lax.scan(step, activity.h_0, (_singly(activity.draws.unit), _singly(activity.bits)))[1]

    def input(self, params: Coupled, d: Float[Array, "B N"], h: Float[Array, "B N"], i: Int[Array, " B"]) -> Array:
        """c Σⱼ W_recⱼᵢ hⱼ + dᵢ for the one unit i of each episode."""
        chosen = jnp.take_along_axis(d, i[:, None], axis=1)[:, 0]
        heard = self.heard(h)
        return self.coupling * jnp.einsum("bj,jb->b", heard, params.W_rec[:, i]) + chosen


def _singly(x: Array) -> Array:
    """[T, B, N] → [T·N, B]: one single draw per episode at a time."""
    return jnp.swapaxes(x, 1, 2).reshape(-1, x.shape[1])


def _put(h: Array, i: Array, bit: Array) -> Array:
    return h.at[jnp.arange(h.shape[0]), i].set(bit)


class Phases(AbstractActivity):
    """The draw of the positive phase, which is sent up, and M of the negative one, if there is one (batch axis M·B)."""

    h: Float[Array, "B N"]
    draws: Array | eqx.Module
    positive: AbstractActivity
    negative: AbstractActivity | None

    @property
    def further(self) -> Float[Array, "M B N"]:
        """H of the further draws."""
        assert self.negative is not None, "only baselines that ask for further draws look at them"
        h = self.negative.h
        return h.reshape(-1, self.h.shape[0], h.shape[1])


class TwoPhase(Law[Coupled, Phases]):
    """A chain, drawn once to be sent up, and `further` times for a baseline that estimates the mean of the draws."""

    binary: ClassVar[bool] = True

    chain: Chain
    further: int = eqx.field(default=0, static=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Coupled:
        return self.chain.init(D, N, key)

    def explore(self, params: Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> Phases:
        up, beside = jax.random.split(key)
        first = self.chain.explore(params, x, up)
        others = self.chain.explore(params, jnp.tile(x, (self.further, 1)), beside) if self.further else None
        return Phases(h=first.h, draws=first.draws, positive=first, negative=others)

    def log_probability(self, params: Coupled, d: Float[Array, "B N"], activity: Phases) -> Float[Array, " B"]:
        return self.chain.log_probability(params, d, activity.positive)

    def log_last(self, params: Coupled, d: Float[Array, "B N"], activity: Phases) -> Float[Array, " B"]:
        return self.chain.log_last(params, d, activity.positive)

    def heard(self, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.chain.heard(h)

    @property
    def passes(self) -> int:
        return self.chain.passes
