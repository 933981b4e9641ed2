"""The depressing half of R-STDP, for the rules of coupled layers, which as printed only potentiate.

δ stands before all of it, η is the depression's strength, m = η / (1 + η). From x to H, and b as if its x were 1:

    pre-without-post     x H − η x (1 − H)  =  (1 + η) x (H − m)
    post-without-pre     x H − η (1 − x) H  =  (1 + η) (x − m) H
    one-without-other    H_i H_j − ½ η (H_i (1 − H_j) + (1 − H_i) H_j), in Algorithm 1's W_rec: both fire at once
    post-before-pre      G − η Gᵀ for G = ΔW_rec, in Algorithm 2: G_ji is of unit j, then i; Gᵀ_ji of unit i, then j

So the first two are constant centres, under H and under x. A common factor is nothing to Adam. "Without pre" is 1 − x
whatever x is: on inputs of −1/+1, 2 times the bits less 1, this is 1 + 2η on the bits, and as printed it is 1 already.

Sources of R-STDP: Izhikevich (2007), Florian (2007).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore.settings import Scalar
from coexplore.units import outer

ALONE, BACKWARDS = "one-without-other", "post-before-pre"
FORMS = ("none", "pre-without-post", "post-without-pre")


def after(form: str, eta: Scalar, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """What stands for H: H − η (1 − H) where what is without post is depressed."""
    return h - eta * (1 - h) if form == "pre-without-post" else h


def before(form: str, eta: Scalar, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """What stands for x: x − η (1 − x) where what is without pre is depressed."""
    return x - eta * (1 - x) if form == "post-without-pre" else x


def alone(h: Float[Array, "B N"], delta: Float[Array, "B #N"]) -> Float[Array, "N N"]:
    """Batch mean of δ (H_i (1 − H_j) + (1 − H_i) H_j)."""
    return jnp.asarray(outer(h, delta * (1 - h)).W + outer(1 - h, delta * h).W)
