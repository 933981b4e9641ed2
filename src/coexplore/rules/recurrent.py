"""Algorithm 2: coordinated exploration with a recurrent layer.

    H₍ₜ₎ and P₍ₜ₎ = E[H₍ₜ₎ | H₍ₜ₋₁₎, x] of the chain (laws/chain.py)
    e₍ₜ₎ = λ^(T−t) (H₍ₜ₎ − P₍ₜ₎)
    W_rec ← W_rec + α c (R − V) Σₜ H₍ₜ₋₁₎ e₍ₜ₎ᵀ              (eq:rn4)
    W     ← W     + α   (R − V) Σₜ x e₍ₜ₎ᵀ                   (eq:rn5)
    b     ← b     + α   (R − V) Σₜ e₍ₜ₎                      (eq:rn6)

The sums are the eligibility traces z_rec and z of the algorithm box, written out. The first draw H₍₀₎ gets no credit,
as in the box: W and b are learned with that bias. Where the units hear 2H − 1 of each other (`chain_signals`) that
stands for H₍ₜ₋₁₎ in ΔW_rec. Adam cancels any factor of ΔW_rec, c too: c only scales the recurrence, `recurrent_rate`
the rate.

Source: Chung (2022), section 2.3; each step: Williams (1992).
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float

from coexplore.laws import Coupled, Path, Synchronous
from coexplore.rules.baseline import Baseline, Expectation, Nothing, Predicted, Probability
from coexplore.rules.eligibility import Alone, Eligibility, Pair
from coexplore.rules.layer import Layer
from coexplore.rules.rule import Local
from coexplore.settings import Scalar, choice, count, number, part
from coexplore.units import SIGNALS


class Recurrent(Local[Coupled, Path]):
    name: ClassVar[str] = "recurrent"
    title: ClassVar[str] = "Algorithm 2, coordinated exploration with a recurrent layer"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(2, "T, recurrent steps", low=1)
    trace_decay: Scalar = number(0.25, "λ, decay of the eligibility trace", low=0.0, high=1.0)
    chain_signals: str = choice("binary", "what units hear of each other: H, or 2H − 1 if signed", options=SIGNALS)
    recurrent_rate: Scalar = number(1.0, "W_rec's learning rate, as a multiple of its layer's", low=0.0, open_low=True)
    baseline: Baseline = part(
        Probability(), "what is subtracted from H", options=(Nothing, Probability, Predicted), without=("pairs",)
    )

    @property
    def law(self) -> Synchronous:
        return Synchronous(self.coupling, self.steps, self.chain_signals)

    @property
    def rates(self) -> dict[str, Scalar]:
        return {"W_rec": self.recurrent_rate}

    def eligibility(self, layer: Layer[Coupled, Path], E: Expectation) -> Eligibility:
        x, H = layer.x, layer.drawn.H
        e = self.decay(x.dtype)[:, None, None] * (H[1:] - E.mean)
        return Eligibility(W=Pair(x, e), b=Alone(e), W_rec=Pair(self.law.heard(H[:-1]), e, self.coupling))

    def decay(self, dtype: DTypeLike) -> Float[Array, " T"]:
        """λ^(T−t)."""
        return self.trace_decay ** jnp.arange(self.steps - 1, -1, -1, dtype=dtype)
