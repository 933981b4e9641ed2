"""What layers are made of: weights that give a drive d, Bernoulli-logistic units that fire with probability σ(d)."""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

SIGNALS = ("binary", "signed")
INITIAL = ("normal", "uniform")  # Glorot's two laws


def probability(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Pr(H = 1) = σ(x), of a unit whose drive is `x`."""
    return jax.nn.sigmoid(x)


def draw(p: Float[Array, "*shape"], u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """H ~ Ber(p) from a uniform u: H = 1 where u < p."""
    return (u < p).astype(p.dtype)


def log_probability(h: Float[Array, "*shape"], x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log Pr(H = h) = h·x − log(1 + eˣ)."""
    return h * x - jax.nn.softplus(x)


def sent(h: Float[Array, "*shape"], signals: str) -> Float[Array, "*shape"]:
    """What binary units tell others: H, or 2H − 1 where signals are signed."""
    return 2 * h - 1 if signals == "signed" else h


@runtime_checkable
class Weighted(Protocol):
    """Parameters of any layer: weights `W` [D, N] and biases `b` [N], beside which there may be others."""

    @property
    def W(self) -> Float[Array, "D N"]: ...
    @property
    def b(self) -> Float[Array, " N"]: ...


class Affine(eqx.Module):
    """Parameters of a feedforward layer: weights `W` [D, N] and biases `b` [N]."""

    W: Float[Array, "D N"]
    b: Float[Array, " N"]


def drive(params: Weighted, x: Float[Array, "B D"]) -> Float[Array, "B N"]:
    """Wᵀx + b: what the units of a layer with `params` W and b make of what they hear, `x`."""
    return x @ params.W + params.b


def outer(x: Float[Array, "B D"], e: Float[Array, "B N"]) -> Affine:
    """Mean over the batch of x eᵀ for the weights and of e for the biases: how every feedforward layer learns. `x` is
    what the layer hears, `e` what each of its units makes of the signal.
    """
    return Affine(W=jnp.einsum("bj,bi->ji", x, e) / x.shape[0], b=jnp.einsum("bi->i", e) / x.shape[0])


def glorot(D: int, N: int, key: Key[Array, ""]) -> Affine:
    """Weights ~ Normal(0, 2 / (D + N)), drawn with `key` for `D` inputs and `N` units, and biases of zero."""
    return Affine(W=(2.0 / (D + N)) ** 0.5 * jax.random.normal(key, (D, N)), b=jnp.zeros(N))


def evenly(W: Float[Array, "D N"]) -> Float[Array, "D N"]:
    """Glorot's uniform law from a draw of his normal one: each weight's quantile, between −√(6 / (D + N)) and its
    opposite."""
    D, N = W.shape
    return (6.0 / (D + N)) ** 0.5 * jax.lax.erf(W * (0.25 * (D + N)) ** 0.5)
