"""The depressing half of R-STDP, for the rules of coupled layers, which as printed only potentiate.

δ stands before all of it, η is the depression's strength, m = η / (1 + η). From x to H, and b as if its x were 1:

    pre-without-post     x H − η x (1 − H)  =  (1 + η) x (H − m)
    post-without-pre     x H − η (1 − x) H  =  (1 + η) (x − m) H
    one-without-other    H_i H_j − ½ η (H_i (1 − H_j) + (1 − H_i) H_j), in Algorithm 1's W_rec: both fire at once
    post-before-pre      G − η Gᵀ for G = ΔW_rec, in Algorithm 2: G_ji is of unit j, then i; Gᵀ_ji of unit i, then j

The first two are constant baselines, under H and under x. A common factor is nothing to Adam. "Without pre" is 1 − x
whatever x is: on inputs of −1/+1, 2 times the bits less 1, this is 1 + 2η on the bits, and as printed it is 1 already.

Sources of R-STDP: Izhikevich (2007), Florian (2007).
"""

import dataclasses
from typing import ClassVar

from jaxtyping import Array, Float

from coexplore.laws import Coupled, Path, Phases
from coexplore.rules import Boltzmann, Recurrent, Rule
from coexplore.rules.baseline import Expectation, Learned
from coexplore.rules.eligibility import Alone, Eligibility, Pair, Term, off_diagonal
from coexplore.rules.layer import Layer
from coexplore.settings import Scalar, choice, number, refusal

BEFORE_OR_AFTER, ALONE, BACKWARDS = ("pre-without-post", "post-without-pre"), "one-without-other", "post-before-pre"
ETA = "η, how much it is depressed"


class DepressedBoltzmann(Boltzmann):
    """Algorithm 1 with depression: of x or H, and E likewise, in W and b; or of one unit without the other in W_rec."""

    variant: ClassVar[str] = "depression"

    variant_form: str = choice("pre-without-post", "what is depressed", options=(*BEFORE_OR_AFTER, ALONE))
    variant_strength: Scalar = number(1.0, ETA, low=0.0, schedule=True)

    def __check_init__(self) -> None:
        if self.variant_form == ALONE and (self.chain_signals == "signed" or isinstance(self.baseline, Learned)):
            raise refusal("variant_form", ALONE, "another with a signed chain (½ s sᵀ has it) or the baseline learned")

    def eligibility(self, layer: Layer[Coupled, Phases], E: Expectation) -> Eligibility:
        form, eta = self.variant_form, self.variant_strength
        W_rec = super().eligibility(layer, E)["W_rec"]
        if form == ALONE:
            less = alone(layer.h) if E.values is None else alone(layer.h) - E.pair_strength * alone(E.values)
            W_rec = W_rec - off_diagonal(self.coupling * 0.5 * eta * less, layer.h.shape[1])
        drawn = dataclasses.replace(layer.drawn, h=after(form, eta, layer.h))
        layer = dataclasses.replace(layer, x=before(form, eta, layer.x), drawn=drawn)
        E = E if E.value is None else dataclasses.replace(E, value=after(form, eta, E.value))
        return Eligibility(**{**super().eligibility(layer, E).terms, "W_rec": W_rec})


class DepressedRecurrent(Recurrent):
    """Algorithm 2 with depression: H₍ₜ₎ is depressed in e₍ₜ₎, P₍ₜ₎ is not; x and H₍ₜ₋₁₎ as what comes before."""

    variant: ClassVar[str] = "depression"

    variant_form: str = choice("pre-without-post", "what is depressed", options=(*BEFORE_OR_AFTER, BACKWARDS))
    variant_strength: Scalar = number(1.0, ETA, low=0.0, schedule=True)

    def eligibility(self, layer: Layer[Coupled, Path], E: Expectation) -> Eligibility:
        form, eta = self.variant_form, self.variant_strength
        x, H = layer.x, layer.drawn.H
        e = self.decay(x.dtype)[:, None, None] * (after(form, eta, H[1:]) - E.mean)
        G: Term = Pair(before(form, eta, self.law.heard(H[:-1])), e, self.coupling)
        W_rec = G - eta * G.T if form == BACKWARDS else G
        return Eligibility(W=Pair(before(form, eta, x), e), b=Alone(e), W_rec=W_rec)


VARIANTS: dict[str, type[Rule]] = {"boltzmann": DepressedBoltzmann, "recurrent": DepressedRecurrent}


def after(form: str, eta: Scalar, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """What stands for H: H − η (1 − H) where what is without post is depressed."""
    return h - eta * (1 - h) if form == "pre-without-post" else h


def before(form: str, eta: Scalar, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """What stands for x: x − η (1 − x) where what is without pre is depressed."""
    return x - eta * (1 - x) if form == "post-without-pre" else x


def alone(h: Float[Array, "*K B N"]) -> Term:
    """H (1 − H)ᵀ + (1 − H) Hᵀ."""
    return Pair(h, 1 - h) + Pair(1 - h, h)
