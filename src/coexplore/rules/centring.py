"""What Algorithm 1 may learn in order to centre its updates, where a critic that lags leaves δ off centre.

    mean      δ − m for δ                                        Δm = α (δ − m)
    learned   H − E for H,  E = σ((W + U)ᵀx + b + u)             ΔU = α x (H − E)ᵀ,  Δu = α (H − E)
              H Hᵀ − E Eᵀ − Q for H Hᵀ                           ΔQ = α (H Hᵀ − E Eᵀ − Q)

Each unit predicts its own activity from its input, each pair how much more often it fires together than apart. Neither
looks at δ nor has a trace: they are predictions. A unit knows its own drive, so that U, which begins at 0, has to learn
only what the others add to it: at c = 0 E is right from the start, and this is REINFORCE.

What is subtracted depends on x alone, and costs no bias where E[δ | x] = 0. Where δ is off by a constant, nothing is
left of that once the predictions are right: without Q, E Eᵀ would leave the covariance of units that listen to each
other, so that a δ above 0 makes them listen more. (H − E)(H − E)ᵀ would too, and would lose a part of the gradient.
m takes away only the error that all states share. Where units hear s = 2H − 1, s and 2E − 1 stand for H and E in Q.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.chain import Coupled
from coexplore.units import drive, outer, sent

LEARNED = ("mean", "learned")


class Averaging(Coupled):
    """Parameters of a coupled layer that learns the mean of its signal."""

    m: Float[Array, ""]


class Expecting(Coupled):
    """Parameters of a coupled layer that learns to expect its own activity."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]
    Q: Float[Array, "N N"]


def equipped(centring: str, layer: Coupled) -> Coupled:
    """The layer with what this centring learns, before it has learned anything."""
    if centring == "mean":
        return Averaging(layer.W, layer.b, layer.W_rec, m=jnp.zeros((), layer.b.dtype))
    if centring == "learned":
        zeros = map(jnp.zeros_like, (layer.W, layer.b, layer.W_rec))
        return Expecting(layer.W, layer.b, layer.W_rec, *zeros)
    return layer


def expected(params: Expecting, x: Float[Array, "B D"]) -> Float[Array, "B N"]:
    """E."""
    return units.probability(drive(params, x) + x @ params.U + params.u)


def surprise(
    params: Expecting, x: Float[Array, "B D"], h: Float[Array, "B N"], signals: str
) -> dict[str, Float[Array, "..."]]:
    """The ascent directions of U, u and Q, means over the batch."""
    e = expected(params, x)
    forward, s, s_e = outer(x, h - e), sent(h, signals), sent(e, signals)
    together = jnp.einsum("bi,bj->ij", s, s) - jnp.einsum("bi,bj->ij", s_e, s_e)
    off_diagonal = 1 - jnp.eye(h.shape[1], dtype=h.dtype)
    return {"U": forward.W, "u": forward.b, "Q": (together / x.shape[0] - params.Q) * off_diagonal}
