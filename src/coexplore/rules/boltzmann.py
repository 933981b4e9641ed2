"""Algorithm 1: coordinated exploration with a Boltzmann machine.

    H = H₍T₎ of the chain (rules/chain.py)
    W_rec ← W_rec + α c (R − V) H Hᵀ, off the diagonal       (eq:bm4)
    W     ← W     + α   (R − V) x Hᵀ                         (eq:bm5)
    b     ← b     + α   (R − V) H                            (eq:bm6)

Centring the reward stands in for the negative phase. With `centring` activity (signal R) or both (R − V) there is one:
H Hᵀ − κ E[H Hᵀ] for H Hᵀ and H − κ E[H] for H, the means taken over M further chains (eq:bm1 – bm3). The other
centrings need no chains but estimate what to subtract, of H or of δ (centring.py).

Where the units hear s = 2H − 1 of each other (`chain_signals`) the law is ∝ exp((Wᵀx + b)·h + ¼ c sᵀ W_rec s), and
½ s sᵀ stands for H Hᵀ. Adam cancels any factor of ΔW_rec, c too: c only scales the recurrence; `recurrent_rate` scales
the rate. `depression` adds the half of R-STDP that all of this leaves out (depression.py).

W_rec stays symmetric because its update is. Exact for H from the Boltzmann law
Pr(h) ∝ exp((Wᵀx + b)·h + ½ c hᵀ W_rec h), which one-by-one sampling approaches as T grows;
synchronous sampling, the paper's, approaches another law.

Source: Chung (2022), section 2.2; the law: Ackley, Hinton and Sejnowski (1985).
"""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.rules.base import CENTRINGS, Feedback, Rule
from coexplore.rules.centring import LEARNED, OWN, beside, equipped, expected, surprise
from coexplore.rules.chain import Coupled, Lazy, OneByOne, Synchronous
from coexplore.rules.depression import ALONE, FORMS, after, alone, before
from coexplore.rules.laws import AbstractActivity, Law
from coexplore.rules.layer_reward import REWARDS, passed_down, rewarded
from coexplore.settings import Scalar, choice, count, number, refusal
from coexplore.units import SIGNALS, outer, sent

SAMPLERS: dict[str, type[Synchronous | OneByOne]] = {"synchronous": Synchronous, "lazy": Lazy, "one-by-one": OneByOne}


class Phases(AbstractActivity):
    """The chain whose end goes up, and M further chains per episode (their batch axis is M·B) where there are any."""

    h: Float[Array, "B N"]
    draws: Any
    positive: Any
    negative: Any


class Chains(Law):
    """A chain, and `further` chains beside it that only its credit looks at."""

    binary: ClassVar[bool] = True

    chain: Synchronous | OneByOne
    further: int = eqx.field(static=True)
    centring: str = eqx.field(default="reward", static=True)

    def init(self, D: int, N: int, key: Key[Array, ""]) -> Coupled:
        return equipped(self.centring, self.chain.init(D, N, key))

    def explore(self, params: Coupled, x: Float[Array, "B D"], key: Key[Array, ""]) -> Phases:
        positive_key, negative_key = jax.random.split(key)
        positive = self.chain.explore(params, x, positive_key)
        negative = None
        if self.further:
            negative = self.chain.explore(params, jnp.tile(x, (self.further, 1)), negative_key)
        return Phases(h=positive.h, draws=positive.draws, positive=positive, negative=negative)

    def log_probability(self, params: Coupled, d: Float[Array, "B N"], activity: Phases) -> Float[Array, " B"]:
        return self.chain.log_probability(params, d, activity.positive)

    def log_last(self, params: Coupled, d: Float[Array, "B N"], activity: Phases) -> Float[Array, " B"]:
        return self.chain.log_last(params, d, activity.positive)

    @property
    def passes(self) -> int:
        return self.chain.passes


class Boltzmann(Rule):
    name: ClassVar[str] = "boltzmann"
    title: ClassVar[str] = "Algorithm 1, coordinated exploration with a Boltzmann machine"

    coupling: Scalar = number(0.25, "c, strength of the recurrent connections", low=0.0, schedule=True)
    steps: int = count(25, "T, sampling steps", low=1)
    sampler: str = choice(
        "synchronous", "all units at once, each of them half of the time, or one at a time", options=tuple(SAMPLERS)
    )
    centring: str = choice(
        "reward",
        "what is centred: activity and both need further chains, mean centres δ; the others estimate E[H]",
        options=(*CENTRINGS, *LEARNED),
    )
    chains: int = count(1, "M, further chains that estimate E[H] and E[H Hᵀ]", low=1)
    centring_strength: Scalar = number(1.0, "κ, how much of the estimates is subtracted", low=0.0, schedule=True)
    pair_strength: Scalar = number(
        0.0, "ρ, how much of E Eᵀ is subtracted for W_rec where centring estimates E alone", low=0.0, schedule=True
    )
    chain_signals: str = choice("binary", "what units hear of each other: H, or 2H − 1 if signed", options=SIGNALS)
    recurrent_rate: Scalar = number(1.0, "W_rec's learning rate, as a multiple of its layer's", low=0.0, open_low=True)
    centring_rate: Scalar = number(
        1.0, "learning rate of what centring learns, as a multiple of its layer's", low=0.0, open_low=True
    )
    depression: str = choice("none", "what is depressed, besides what is potentiated", options=(*FORMS, ALONE))
    depression_strength: Scalar = number(1.0, "η, how much it is depressed", low=0.0, schedule=True)
    layer_reward: str = choice(
        "global",
        "what a layer under another learns from: δ, or Weight Max's rewards to it, by what is drawn above",
        options=REWARDS,
    )

    def __check_init__(self) -> None:
        if self.depression == ALONE and (self.chain_signals == "signed" or self.centring == "learned"):
            raise refusal("depression", ALONE, "another with a signed chain (½ s sᵀ has it) or learned centring")

    @property
    def law(self) -> Chains:
        chain = SAMPLERS[self.sampler](self.coupling, self.steps, self.chain_signals)
        return Chains(chain, self.chains if self.centres_activity else 0, self.centring)

    @property
    def paces(self) -> dict[str, Scalar]:
        return {"W_rec": self.recurrent_rate, **dict.fromkeys("UuQm", self.centring_rate)}

    @property
    def centres_reward(self) -> bool:
        return self.centring in ("reward", "both", *LEARNED)

    @property
    def own(self) -> tuple[str, ...]:
        return OWN.get(self.centring, ())

    def lesson(self, params: Any, x: Float[Array, "B D"], activity: Phases) -> dict[str, Any]:
        return surprise(self.centring, params, x, activity.h, self.chain_signals) if self.own else {}

    def signal(self, params: Any, delta: Float[Array, " B"]) -> Float[Array, " B"]:
        return delta - params.m if self.centring == "mean" else delta

    def credit(self, params: Any, x: Float[Array, "B D"], activity: Phases, feedback: Feedback) -> Any:
        given, feedback = feedback, rewarded(self.layer_reward, activity.h, feedback)
        credit = self.hebbian(x, activity.h, feedback.delta)
        if self.centring == "mean":
            return dataclasses.replace(beside(params, credit), m=given.delta.mean())
        if self.centring in LEARNED:
            return beside(params, self.less_expected(params, x, credit, feedback.delta))
        if activity.negative is None:
            return credit
        M, kappa = self.chains, self.centring_strength
        means = self.hebbian(jnp.tile(x, (M, 1)), activity.negative.h, jnp.tile(feedback.delta, (M, 1)))
        return jax.tree.map(lambda positive, negative: positive - kappa * negative, credit, means)

    def below(self, params: Any, x: Float[Array, "B D"], activity: Phases, feedback: Feedback) -> Feedback:
        return passed_down(self.law, self.layer_reward, params, activity, feedback)

    def hebbian(self, x: Float[Array, "B D"], h: Float[Array, "B N"], delta: Float[Array, "B #N"]) -> Coupled:
        """Batch means of c δ H Hᵀ (signed: ½ c δ s sᵀ) off the diagonal, δ x Hᵀ and δ H; less what is depressed."""
        s, share = sent(h, self.chain_signals), 0.5 if self.chain_signals == "signed" else 1.0
        off_diagonal = 1 - jnp.eye(h.shape[1], dtype=h.dtype)
        form, eta = self.depression, self.depression_strength
        forward, lateral = outer(before(form, eta, x), delta * after(form, eta, h)), outer(s, share * delta * s).W
        if form == ALONE:
            lateral = lateral - 0.5 * eta * alone(h, delta)
        return Coupled(W=forward.W, b=forward.b, W_rec=self.coupling * lateral * off_diagonal)

    def less_expected(
        self, params: Any, x: Float[Array, "B D"], credit: Coupled, delta: Float[Array, "B #N"]
    ) -> Coupled:
        """δ (H − κE) from δ H; δ (H Hᵀ − ρ E Eᵀ) from δ H Hᵀ, or with κ (E Eᵀ + Q) where that is learned."""
        kappa, rho = self.centring_strength, self.pair_strength
        mean = self.hebbian(x, expected(self.centring, params, x), delta)
        pairs = mean.W_rec
        if self.centring == "learned":
            share = 0.5 if self.chain_signals == "signed" else 1.0
            off_diagonal = 1 - jnp.eye(params.b.size, dtype=x.dtype)
            rho, pairs = kappa, pairs + self.coupling * share * delta.mean() * params.Q * off_diagonal
        return Coupled(credit.W - kappa * mean.W, credit.b - kappa * mean.b, credit.W_rec - rho * pairs)
