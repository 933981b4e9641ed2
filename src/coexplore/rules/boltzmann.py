"""Algorithm 1: coordinated exploration with a Boltzmann machine.

    H = H₍T₎ of the chain (laws/chain.py)
    W_rec ← W_rec + α c (R − V) H Hᵀ, off the diagonal       (eq:bm4)
    W     ← W     + α   (R − V) x Hᵀ                         (eq:bm5)
    b     ← b     + α   (R − V) H                            (eq:bm6)

The update is the gradient of E[R] if H has the Boltzmann law Pr(h) ∝ exp((Wᵀx + b)·h + ½ c hᵀ W_rec h) and V is
E[R | S]. One-by-one sampling approaches this law as T grows; synchronous sampling, the paper's, approaches another one.
W_rec stays symmetric because its update is.

No negative phase is needed where V is right. A baseline adds one (baseline.py): with `chains` what is subtracted from
H and H Hᵀ is their mean over M further chains (eq:bm1 – bm3).

Where the units hear s = 2H − 1 of each other (`chain_signals`), the law is ∝ exp((Wᵀx + b)·h + ¼ c sᵀ W_rec s), and
½ s sᵀ stands for H Hᵀ. Adam cancels any factor of ΔW_rec, c too: c scales the recurrence alone, `recurrent_rate` the
learning rate.

Source: Chung (2022), section 2.2; the law: Ackley, Hinton and Sejnowski (1985).
"""

from typing import ClassVar

from coexplore.laws import Chain, Coupled, Lazy, OneByOne, Phases, Synchronous, TwoPhase
from coexplore.rules.baseline import Baseline, Chains, Drive, Expectation, Half, Learned, Nothing, Predicted, Usual
from coexplore.rules.eligibility import Alone, Eligibility, Pair, off_diagonal
from coexplore.rules.layer import Layer
from coexplore.rules.learning_signal import Advantage, CentredAdvantage, Reward, Signal
from coexplore.rules.rule import Local
from coexplore.settings import Scalar, choice, count, number, part
from coexplore.units import SIGNALS

SAMPLERS: dict[str, type[Chain]] = {"synchronous": Synchronous, "lazy": Lazy, "one-by-one": OneByOne}


class Boltzmann(Local[Coupled, Phases]):
    name: ClassVar[str] = "boltzmann"
    title: ClassVar[str] = "Algorithm 1, coordinated exploration with a Boltzmann machine"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(25, "T, sampling steps", low=1)
    sampler: str = choice("synchronous", "all units at once, each with probability ½, or one", options=tuple(SAMPLERS))
    chain_signals: str = choice("binary", "what units hear of each other: H, or 2H − 1 if signed", options=SIGNALS)
    recurrent_rate: Scalar = number(1.0, "W_rec's learning rate, as a multiple of its layer's", low=0.0, open_low=True)
    learning_signal: Signal = part(
        Advantage(), "R, R − V, or R − V less its mean", options=(Reward, Advantage, CentredAdvantage)
    )
    baseline: Baseline = part(
        Nothing(),
        "what is subtracted from H and H Hᵀ",
        options=(Nothing, Chains, Half, Drive, Usual, Predicted, Learned),
    )

    @property
    def law(self) -> TwoPhase:
        return TwoPhase(SAMPLERS[self.sampler](self.coupling, self.steps, self.chain_signals), self.baseline.further)

    @property
    def rates(self) -> dict[str, Scalar]:
        return {"W_rec": self.recurrent_rate}

    def eligibility(self, layer: Layer[Coupled, Phases], E: Expectation) -> Eligibility:
        x, H, heard = layer.x, layer.h, self.law.heard
        half = 0.5 if self.chain_signals == "signed" else 1.0
        together = Pair(heard(H), heard(H)) - E.pairs(heard)
        return Eligibility(
            W=Pair(x, H - E.mean),
            b=Alone(H - E.mean),
            W_rec=off_diagonal(self.coupling * half * together, H.shape[1]),
        )
