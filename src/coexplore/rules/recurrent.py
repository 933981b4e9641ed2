"""Algorithm 2: coordinated exploration with a recurrent layer.

    H₍ₜ₎ and P₍ₜ₎ = E[H₍ₜ₎ | H₍ₜ₋₁₎, x] of the chain (rules/chain.py)
    e₍ₜ₎ = λ^(T−t) (H₍ₜ₎ − κ P₍ₜ₎)
    W_rec ← W_rec + α c (R − V) Σₜ H₍ₜ₋₁₎ e₍ₜ₎ᵀ              (eq:rn4)
    W     ← W     + α   (R − V) Σₜ x e₍ₜ₎ᵀ                   (eq:rn5)
    b     ← b     + α   (R − V) Σₜ e₍ₜ₎                      (eq:rn6)

The sums are the eligibility traces z_rec and z of the algorithm box, written out. The first draw H₍₀₎
gets no credit, as in the box: W and b are learned with that bias. κ = 1 unless `centring_strength` says else. With
`centring` predicted, E = σ(Uᵀx + u), which the layer learns (centring.py), takes the place of P₍ₜ₎.
Where the units hear 2H − 1 of each other (`chain_signals`) that stands for H₍ₜ₋₁₎ in ΔW_rec. Adam cancels any factor of
ΔW_rec, c too: c only scales the recurrence, `recurrent_rate` the rate. `depression` adds the half of
R-STDP that is left out: H₍ₜ₎ − η (1 − H₍ₜ₎) for H₍ₜ₎ in e₍ₜ₎, or so for x and H₍ₜ₋₁₎, or G − η Gᵀ for G = ΔW_rec.

Source: Chung (2022), section 2.3; each step: Williams (1992).
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.rules.base import CENTRINGS, Feedback, Rule
from coexplore.rules.centring import OWN, beside, equipped, expected, surprise
from coexplore.rules.chain import Coupled, Path, Synchronous
from coexplore.rules.depression import BACKWARDS, FORMS, after, before
from coexplore.rules.layer_reward import REWARDS, passed_down, rewarded
from coexplore.settings import Scalar, choice, count, number
from coexplore.units import SIGNALS, outer, sent


class Predicted(Synchronous):
    """The chain of units that also learn to predict themselves."""

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Any:
        return equipped("predicted", super().init(D, N, key))


class Recurrent(Rule):
    name: ClassVar[str] = "recurrent"
    title: ClassVar[str] = "Algorithm 2, coordinated exploration with a recurrent layer"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(2, "T, recurrent steps", low=1)
    trace_decay: Scalar = number(0.25, "λ, decay of the eligibility trace", low=0.0, high=1.0)
    centring: str = choice(
        "both",
        "what is centred: the activity, the reward, both or none; predicted: both, E being learned",
        options=(*CENTRINGS, "predicted"),
    )
    centring_strength: Scalar = number(1.0, "κ, how much of E[H] is subtracted", low=0.0, schedule=True)
    chain_signals: str = choice("binary", "what units hear of each other: H, or 2H − 1 if signed", options=SIGNALS)
    recurrent_rate: Scalar = number(1.0, "W_rec's learning rate, as a multiple of its layer's", low=0.0, open_low=True)
    depression: str = choice("none", "what is depressed, besides what is potentiated", options=(*FORMS, BACKWARDS))
    depression_strength: Scalar = number(1.0, "η, how much it is depressed", low=0.0, schedule=True)
    layer_reward: str = choice(
        "global",
        "what a layer under another learns from: δ, or Weight Max's rewards to it, by what is drawn above",
        options=REWARDS,
    )

    @property
    def law(self) -> Synchronous:
        law = Predicted if self.centring == "predicted" else Synchronous
        return law(self.coupling, self.steps, self.chain_signals)

    @property
    def paces(self) -> dict[str, Scalar]:
        return {"W_rec": self.recurrent_rate}

    @property
    def centres_reward(self) -> bool:
        return self.centring in ("reward", "both", "predicted")

    @property
    def centres_activity(self) -> bool:
        return self.centring in ("activity", "both", "predicted")

    @property
    def own(self) -> tuple[str, ...]:
        return OWN.get(self.centring, ())

    def lesson(self, params: Any, x: Float[Array, "B D"], activity: Path) -> dict[str, Any]:
        return surprise(self.centring, params, x, activity.h) if self.own else {}

    def credit(self, params: Any, x: Float[Array, "B D"], activity: Path, feedback: Feedback) -> Coupled:
        T, B, _ = activity.P.shape
        c, lambda_ = self.coupling, self.trace_decay
        kappa = self.centring_strength if self.centres_activity else 0.0
        decay = lambda_ ** jnp.arange(T - 1, -1, -1, dtype=x.dtype)
        R = rewarded(self.layer_reward, activity.h, feedback).delta
        P = expected(self.centring, params, x) if self.own else activity.P
        form, eta = self.depression, self.depression_strength
        e = decay[:, None, None] * (after(form, eta, activity.H[1:]) - kappa * P) * R
        forward = outer(before(form, eta, x), e.sum(axis=0))
        heard = before(form, eta, sent(activity.H[:-1], self.chain_signals))
        W_rec = c * jnp.einsum("tbj,tbi->ji", heard, e) / B
        if form == BACKWARDS:
            W_rec = W_rec - eta * W_rec.T
        credit = Coupled(W=forward.W, b=forward.b, W_rec=W_rec)
        return beside(params, credit) if self.own else credit

    def below(self, params: Any, x: Float[Array, "B D"], activity: Path, feedback: Feedback) -> Feedback:
        return passed_down(self.law, self.layer_reward, params, activity, feedback)
