"""What is subtracted of H, or of δ, where no further chains estimate it: the negative phase as each unit can tell it.

    mean       δ − m for δ                                       Δm = α (δ − m)

    half       H − κE for H,  E = ½
    drive      the same,      E = σ(Wᵀx + b)
    usual      the same,      E = σ(u)                           Δu = α (H − E)
    predicted  the same,      E = σ(Uᵀx + u)                     ΔU = α x (H − E)ᵀ,  Δu = α (H − E)
               H Hᵀ − ρ E Eᵀ for H Hᵀ, in each of the four

    learned    H − κE for H,  E = σ((W + U)ᵀx + b + u)           ΔU and Δu as above
               H Hᵀ − κ (E Eᵀ + Q) for H Hᵀ                      ΔQ = α (H Hᵀ − E Eᵀ − Q)

A unit predicts its own activity from its input, a pair how much more often it fires together than apart. Predictions
begin at U = u = Q = 0, do not look at δ and have no trace. With `learned` a unit knows its own drive, so that U has to
learn only what the others add to it: at c = 0 E is right from the start, and this is REINFORCE.

What is subtracted depends on x alone, so that with V the critic's value, for any law of H given x and any E(x),

    E[δ (H − κE) | x] = Cov(R, H | x) + (E[R | x] − V) (E[H | x] − κE)

and at κ = 1 the bias is the product of two errors: of V, and of E. E Eᵀ is not the negative phase of the pairs: it
leaves (E[R | x] − V) Cov(H_i, H_j | x), so that a δ above 0 makes units that listen to each other listen more; Q takes
the mean of that away. (H − E)(H − E)ᵀ is a third rule, which would lose a part of the gradient. m takes away only the
error of V that all states share. Where units hear s = 2H − 1, s and 2E − 1 stand for H and E in the pairs.

Sources: `usual` has the form of Legenstein and others (2010); the bias as a sum, Frémaux and others (2010).
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.chain import Coupled
from coexplore.units import Affine, drive, outer, sent

ESTIMATED = ("half", "drive", "usual", "predicted")
LEARNED = ("mean", "learned", *ESTIMATED)
OWN = {"usual": ("u",), "predicted": ("U", "u"), "learned": ("U", "u", "Q")}  # what learns whatever δ is


class Averaging(Coupled):
    """Parameters of a coupled layer that learns the mean of its signal."""

    m: Float[Array, ""]


class Habitual(Coupled):
    """Parameters of a coupled layer that learns how often each unit fires."""

    u: Float[Array, " N"]


class Predicting(Coupled):
    """Parameters of a coupled layer whose units learn to predict themselves."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]


class PredictingAlone(Affine):
    """The same of a layer that is not coupled."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]


class Expecting(Coupled):
    """Parameters of a coupled layer that learns to expect its own activity, and that of pairs."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]
    Q: Float[Array, "N N"]


def equipped(centring: str, layer: Any) -> Any:
    """The layer with what this centring learns, before it has learned anything."""
    W, b = jnp.zeros_like(layer.W), jnp.zeros_like(layer.b)
    if not isinstance(layer, Coupled):
        return PredictingAlone(layer.W, layer.b, W, b) if centring == "predicted" else layer
    coupled = layer.W, layer.b, layer.W_rec
    if centring == "mean":
        return Averaging(*coupled, m=jnp.zeros((), layer.b.dtype))
    if centring == "usual":
        return Habitual(*coupled, b)
    if centring == "predicted":
        return Predicting(*coupled, W, b)
    return Expecting(*coupled, W, b, jnp.zeros_like(layer.W_rec)) if centring == "learned" else layer


def expected(centring: str, params: Any, x: Float[Array, "B D"]) -> Float[Array, "B N"]:
    """E."""
    d = drive(params, x) if centring in ("drive", "learned") else jnp.zeros_like(x @ params.W)
    d = d + x @ params.U if centring in ("predicted", "learned") else d
    return units.probability(d + params.u if centring in OWN else d)


def surprise(
    centring: str, params: Any, x: Float[Array, "B D"], h: Float[Array, "B N"], signals: str = "binary"
) -> dict[str, Float[Array, "..."]]:
    """The ascent directions of what the centring learns by itself, means over the batch."""
    e = expected(centring, params, x)
    forward, s, s_e = outer(x, h - e), sent(h, signals), sent(e, signals)
    directions = {"U": forward.W, "u": forward.b}
    if centring == "learned":
        together = jnp.einsum("bi,bj->ij", s, s) - jnp.einsum("bi,bj->ij", s_e, s_e)
        directions["Q"] = (together / x.shape[0] - params.Q) * (1 - jnp.eye(h.shape[1], dtype=h.dtype))
    return {name: directions[name] for name in OWN[centring]}


def beside(params: Any, credit: Affine | Coupled) -> Any:
    """This credit for a layer that also learns by itself, in which signals have no part."""
    own = {field.name: getattr(credit, field.name) for field in dataclasses.fields(credit)}
    return dataclasses.replace(jax.tree.map(jnp.zeros_like, params), **own)
