"""Eligibilities: what a draw is credited with, a matrix e for each parameter and episode that the signal multiplies.

    ΔW = mean over the batch of signal · e

A rule writes e as a sum of products pre postᵀ. The signal goes into `post` before the product is taken over the whole
batch, so that no matrix of a single episode is ever made. Only `times` sees the signal, and it is linear in it.
"""

import dataclasses
from abc import abstractmethod
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.settings import Scalar

P = TypeVar("P")


class Term(eqx.Module):
    """The eligibility of one parameter."""

    @abstractmethod
    def times(self, signal: Float[Array, "B #N"]) -> Array:
        """Batch mean of signal · e."""

    def __add__(self, other: "Term") -> "Term":
        return Sum((self, other))

    def __sub__(self, other: "Term") -> "Term":
        return self if isinstance(other, Zero) else Sum((self, Scaled(-1.0, other)))

    def __rmul__(self, scale: Scalar | Float[Array, "N N"]) -> "Term":
        return Scaled(scale, self)

    @property
    def T(self) -> "Term":
        """The transposed matrix."""
        return Transposed(self)


class Pair(Term):
    """`scale` · `pre` `post`ᵀ, summed over the steps of a layer that is drawn several times.

    `pre` [B, D] with `post` [T, B, N] is x (Σₜ e₍ₜ₎)ᵀ, `pre` [T, B, N] with `post` [T, B, N] is Σₜ H₍ₜ₎ e₍ₜ₎ᵀ.
    """

    pre: Float[Array, "*S B D"]
    post: Float[Array, "*T B N"]
    scale: Scalar = 1.0

    def times(self, signal: Float[Array, "B #N"]) -> Float[Array, "D N"]:
        post = _summed(self.post * signal, self.pre.ndim)
        return self.scale * jnp.einsum("...bj,...bi->ji", self.pre, post) / self.pre.shape[-2]


class Alone(Term):
    """`post`, summed over steps: the eligibility of a bias, whose input is 1."""

    post: Float[Array, "*T B N"]

    def times(self, signal: Float[Array, "B #N"]) -> Float[Array, " N"]:
        post = _summed(self.post * signal, 2)
        return jnp.einsum("bi->i", post) / post.shape[0]


class Same(Term):
    """`matrix`, the same in every episode: something that is learned, as Q of the baseline `learned`."""

    matrix: Float[Array, "N N"]

    def times(self, signal: Float[Array, "B #N"]) -> Float[Array, "N N"]:
        return signal.mean() * self.matrix


class Zero(Term):
    """The eligibility 0. Subtracting it leaves the program, and so the bits of the result, as they are."""

    def times(self, signal: Float[Array, "B #N"]) -> Array:
        return jnp.zeros(())

    def __rmul__(self, scale: Scalar | Float[Array, "N N"]) -> "Term":
        return self


class Scaled(Term):
    """A term times a number, or entry by entry times a matrix."""

    scale: Scalar | Float[Array, "N N"]
    term: Term

    def times(self, signal: Float[Array, "B #N"]) -> Array:
        return self.scale * self.term.times(signal)


class Transposed(Term):
    """The transposed matrix of a term."""

    term: Term

    def times(self, signal: Float[Array, "B #N"]) -> Array:
        return self.term.times(signal).T


class Sum(Term):
    """Terms added up."""

    terms: tuple[Term, ...]

    def times(self, signal: Float[Array, "B #N"]) -> Array:
        first, *others = (term.times(signal) for term in self.terms)
        return sum(others, first)


def off_diagonal(term: Term, N: int) -> Term:
    """The term without the diagonal of its matrix: a unit does not hear itself."""
    return (1 - jnp.eye(N)) * term


class Eligibility(eqx.Module):
    """A term for each parameter, by its name. A parameter without a term does not learn from the signal."""

    terms: dict[str, Term]

    def __init__(self, **terms: Term) -> None:
        self.terms = terms

    def __getitem__(self, name: str) -> Term:
        return self.terms[name]

    def times(self, signal: Float[Array, "B #N"], params: P) -> P:
        """The credit: like `params`, the batch mean of signal · e."""
        return filled(params, {name: term.times(signal) for name, term in self.terms.items()})


def filled(params: P, some: dict[str, Array]) -> P:
    """A record like `params` with the arrays `some` by their names, and zeros for the rest."""
    return dataclasses.replace(jax.tree.map(jnp.zeros_like, params), **some)


def _summed(x: Array, ndim: int) -> Array:
    """x summed over all axes but the last `ndim`."""
    return x.sum(axis=tuple(range(x.ndim - ndim))) if x.ndim > ndim else x
