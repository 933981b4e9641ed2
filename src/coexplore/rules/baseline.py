"""Baselines: what is subtracted from a draw H, and from the pairs H Hᵀ where a rule learns from pairs.

    none          H                                 H Hᵀ
    probability   H − κ P                                                 P = E[H | what the unit heard], of each draw
    chains        H − κ E                           H Hᵀ − κ E[H Hᵀ]      means over M further draws: the negative phase

A unit can also estimate E[H | x] by itself:

    half          H − κ E,  E = ½                   H Hᵀ − ρ E Eᵀ
    drive         H − κ E,  E = σ(Wᵀx + b)          H Hᵀ − ρ E Eᵀ
    usual         H − κ E,  E = σ(u)                H Hᵀ − ρ E Eᵀ         Δu = α (H − E)
    predicted     H − κ E,  E = σ(Uᵀx + u)          H Hᵀ − ρ E Eᵀ         ΔU = α x (H − E)ᵀ,  Δu = α (H − E)
    learned       H − κ E,  E = σ((W+U)ᵀx + b + u)  H Hᵀ − κ (E Eᵀ + Q)   ΔU, Δu as above; ΔQ = α (H Hᵀ − E Eᵀ − Q)

What a unit learns here begins at U = u = Q = 0. It does not depend on the signal and has no trace. With `learned` a
unit knows its own drive, so that U has to learn only what the other units add: at c = 0 E is right from the start, and
the rule is REINFORCE.

E depends on x alone. So with V the critic's value, for any law of H given x and any E(x),

    E[δ (H − κE) | x] = Cov(R, H | x) + (E[R | x] − V) (E[H | x] − κE)

At κ = 1 the bias is the product of two errors: of V, and of E. E Eᵀ is not the negative phase of the pairs: it leaves
(E[R | x] − V) Cov(H_i, H_j | x), so that units with something in common are reinforced while V is too low; Q takes the
mean of that away. (H − E)(H − E)ᵀ would lose a part of the gradient. Where units hear s = 2H − 1, s and 2E − 1 stand
for H and E in the pairs.

Sources: `usual` has the form of Legenstein and others (2010); the bias as a sum, Frémaux and others (2010).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import units
from coexplore.rules.eligibility import Pair, Same, Term, Zero
from coexplore.rules.layer import Layer, Outcome, Sizes
from coexplore.settings import Part, Scalar, count, number
from coexplore.units import drive, outer

S = TypeVar("S")  # parameters of the baseline
STRENGTH = "κ, how much of E is subtracted"
PAIRS = "ρ, how much of E Eᵀ is subtracted for W_rec"
RATE = "learning rate of what the baseline learns, as a multiple of its layer's"


class Expectation(eqx.Module):
    """What a baseline subtracts: `strength` · `value` from H, `pair_strength` · (Σₖ valuesₖ valuesₖᵀ + covariance) from
    H Hᵀ.

    `values` are E itself, or the K draws that it is the mean of; None: nothing is subtracted from H Hᵀ. `covariance` is
    what E Eᵀ lacks of E[H Hᵀ]: Q.
    """

    value: Float[Array, "*T B N"] | None = None
    strength: Scalar = 1.0
    values: Float[Array, "*K B N"] | None = None
    pair_strength: Scalar = 0.0
    covariance: Float[Array, "N N"] | None = None

    @property
    def mean(self) -> Float[Array, "*T B N"] | float:
        """What is subtracted from H."""
        return 0.0 if self.value is None else self.strength * self.value

    def pairs(self, heard: Callable[[Array], Array]) -> Term:
        """What is subtracted from H Hᵀ, of what units hear of each other: H itself, or 2H − 1."""
        if self.values is None:
            return Zero()
        s = heard(self.values)
        product = Pair(s, s)
        return self.pair_strength * (product if self.covariance is None else product + Same(self.covariance))


class Baseline(Part, Generic[S]):
    """What is subtracted from a draw. Its own parameters, if it has any, learn whatever the signal is."""

    @property
    def rate(self) -> Scalar:
        """The learning rate of its parameters, as a multiple of their layer's."""
        return 1.0

    @property
    def further(self) -> int:
        """How many draws of the layer it needs besides the one that is sent up."""
        return 0

    def init(self, sizes: Sizes) -> S | None:
        """Its parameters before learning; None: it has none."""
        return None

    @abstractmethod
    def __call__(self, params: S, layer: Layer) -> Expectation:
        """What is subtracted."""

    def credit(self, params: S, layer: Layer) -> S | None:
        """The ascent direction of its parameters, a mean over the batch; None: they do not learn by ascent."""
        return None

    def update(self, params: S, layer: Layer, outcome: Outcome) -> dict[str, Array]:
        """New values, by name, of parameters that learn outside the optimiser."""
        return {}


class Nothing(Baseline[None]):
    """No baseline: 0 is subtracted from a draw."""

    name: ClassVar[str] = "none"

    def __call__(self, params: None, layer: Layer) -> Expectation:
        return Expectation()


class Probability(Baseline[None]):
    """P, the mean of each draw given what the unit heard."""

    name: ClassVar[str] = "probability"

    strength: Scalar = number(1.0, STRENGTH, low=0.0, schedule=True)

    def __call__(self, params: None, layer: Layer) -> Expectation:
        return Expectation(layer.law.mean(layer.params, layer.x, layer.drawn), self.strength)


class Chains(Baseline[None]):
    """Means over further draws of the layer, of H and of H Hᵀ."""

    name: ClassVar[str] = "chains"

    strength: Scalar = number(1.0, STRENGTH, low=0.0, schedule=True)
    chains: int = count(1, "M, further chains that estimate E[H] and E[H Hᵀ]", low=1)

    @property
    def further(self) -> int:
        return self.chains

    def __call__(self, params: None, layer: Layer) -> Expectation:
        h = layer.drawn.further
        return Expectation(h.mean(axis=0), self.strength, h, self.strength / self.chains)


class Estimated(Baseline[S]):
    """E is a unit's own estimate of its activity."""

    strength: Scalar = number(1.0, STRENGTH, low=0.0, schedule=True)
    pairs: Scalar = number(0.0, PAIRS, low=0.0, schedule=True)

    @abstractmethod
    def estimate(self, params: S, layer: Layer) -> Float[Array, "B N"]:
        """E."""

    def __call__(self, params: S, layer: Layer) -> Expectation:
        E = self.estimate(params, layer)
        return Expectation(E, self.strength, E, self.pairs)


class Half(Estimated[None]):
    """E = ½."""

    name: ClassVar[str] = "half"

    def estimate(self, params: None, layer: Layer) -> Float[Array, "B N"]:
        return jnp.full_like(layer.h, 0.5)


class Drive(Estimated[None]):
    """E = σ(Wᵀx + b)."""

    name: ClassVar[str] = "drive"

    def estimate(self, params: None, layer: Layer) -> Float[Array, "B N"]:
        return units.probability(drive(layer.params, layer.x))


class Habit(eqx.Module):
    """Parameters of Usual."""

    u: Float[Array, " N"]


class Usual(Estimated[Habit]):
    """E = σ(u): how often the unit fires on the whole."""

    name: ClassVar[str] = "usual"

    rate: Scalar = number(1.0, RATE, low=0.0, open_low=True)

    def init(self, sizes: Sizes) -> Habit:
        return Habit(jnp.zeros(sizes.units))

    def estimate(self, params: Habit, layer: Layer) -> Float[Array, "B N"]:
        return units.probability(jnp.zeros_like(layer.h) + params.u)

    def credit(self, params: Habit, layer: Layer) -> Habit:
        return Habit(outer(layer.x, layer.h - self.estimate(params, layer)).b)


class Prediction(eqx.Module):
    """Parameters of Predicted."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]


class Predicted(Estimated[Prediction]):
    """E = σ(Uᵀx + u): the unit predicts itself from its input."""

    name: ClassVar[str] = "predicted"

    rate: Scalar = number(1.0, RATE, low=0.0, open_low=True)

    def init(self, sizes: Sizes) -> Prediction:
        return Prediction(jnp.zeros((sizes.inputs, sizes.units)), jnp.zeros(sizes.units))

    def estimate(self, params: Prediction, layer: Layer) -> Float[Array, "B N"]:
        return units.probability(layer.x @ params.U + params.u)

    def credit(self, params: Prediction, layer: Layer) -> Prediction:
        forward = outer(layer.x, layer.h - self.estimate(params, layer))
        return Prediction(forward.W, forward.b)


class PairPrediction(eqx.Module):
    """Parameters of Learned: of units, and of pairs of units."""

    U: Float[Array, "D N"]
    u: Float[Array, " N"]
    Q: Float[Array, "N N"]


class Learned(Baseline[PairPrediction]):
    """E = σ((W + U)ᵀx + b + u) of units, and E Eᵀ + Q of pairs."""

    name: ClassVar[str] = "learned"

    strength: Scalar = number(1.0, STRENGTH, low=0.0, schedule=True)
    rate: Scalar = number(1.0, RATE, low=0.0, open_low=True)

    def init(self, sizes: Sizes) -> PairPrediction:
        D, N = sizes.inputs, sizes.units
        return PairPrediction(jnp.zeros((D, N)), jnp.zeros(N), jnp.zeros((N, N)))

    def estimate(self, params: PairPrediction, layer: Layer) -> Float[Array, "B N"]:
        return units.probability(drive(layer.params, layer.x) + layer.x @ params.U + params.u)

    def __call__(self, params: PairPrediction, layer: Layer) -> Expectation:
        E = self.estimate(params, layer)
        return Expectation(E, self.strength, E, self.strength, params.Q)

    def credit(self, params: PairPrediction, layer: Layer) -> PairPrediction:
        E, heard, B = self.estimate(params, layer), layer.law.heard, layer.x.shape[0]
        forward, s, s_E = outer(layer.x, layer.h - E), heard(layer.h), heard(E)
        Q = (s.T @ s - s_E.T @ s_E) / B - params.Q
        return PairPrediction(forward.W, forward.b, Q * (1 - jnp.eye(params.u.size)))
