"""Rules as a reader of docs/extend.md might write them, one of each kind."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from coexplore import (
    Activity,
    Affine,
    Alone,
    Baseline,
    Boltzmann,
    Eligibility,
    Expectation,
    FeedForward,
    Local,
    Message,
    Nothing,
    Pair,
    Probability,
    Recurrent,
    Rule,
    drive,
    glorot,
    number,
    outer,
    part,
    probability,
)


class Population(Rule):
    """ΔW = α (R − V) x (H − κ mean(H))ᵀ"""

    name, title = "own-population", "centred on the layer's mean activity"
    strength: float = number(1.0, "κ, how much of the mean is subtracted", low=0.0, schedule=True)

    def credit(self, layer, signal, above):
        mean = layer.h.mean(axis=1, keepdims=True)
        return outer(layer.x, signal * (layer.h - self.strength * mean))


class Aligned(Affine):
    B: Float[Array, "N M"]


class FeedbackAlignment(Rule):
    """ΔW = α δ x (g p (1 − p))ᵀ,  g = B e, e the slope of the layer above in its drive"""

    name, title = "own-alignment", "feedback alignment through drawn bits"
    scale: float = number(1.0, "what B is multiplied by at first", low=0.0, open_low=True, schedule=True)

    def init(self, sizes, key):
        forward, back = jax.random.split(key)
        W = glorot(sizes.inputs, sizes.units, forward)
        return Aligned(W.W, W.b, self.scale * glorot(sizes.units, sizes.above, back).W)

    def slope(self, layer, above):
        return above.slope(layer.h, layer.params.B)

    def credit(self, layer, signal, above):
        p = probability(drive(layer.params, layer.x))
        return outer(layer.x, above.weight(signal) * self.slope(layer, above) * p * (1 - p))

    def message(self, layer, above):
        g = jax.lax.stop_gradient(self.slope(layer, above))
        return Message(layer.params, lambda d: (g * probability(d)).sum(axis=1), above.graded)


class Habits(Affine):
    mean: Float[Array, " N"]
    seen: Float[Array, "6 N"]


class Homeostasis(Rule):
    """ΔW = α (R − V) x (H − m)ᵀ,  m ← m + (mean(H) − m) / τ,  b = ½ − m; b has a credit too, which must not count.

    `seen` sums up all that `update` is told: R, δ, δ H, δ x₁, a random number and the update's number.
    """

    name, title = "own-homeostasis", "a threshold that follows each unit's mean activity"
    tau: float = number(20.0, "τ, updates over which the mean forgets", low=1.0)

    def init(self, sizes, key):
        start = glorot(sizes.inputs, sizes.units, key)
        return Habits(start.W, start.b, jnp.full(sizes.units, 0.5), jnp.zeros((6, sizes.units)))

    def credit(self, layer, signal, above):
        return outer(layer.x, signal * (layer.h - layer.params.mean))

    def update(self, layer, outcome):
        h, delta, t = layer.h, outcome.delta[:, None], outcome.t.astype(jnp.float32)
        mean = layer.params.mean + (h.mean(axis=0) - layer.params.mean) / self.tau
        luck = jax.random.uniform(outcome.key)
        told = (outcome.r.mean(), delta.mean(), (delta * h).mean(axis=0), (delta * layer.x).mean(axis=0)[0], luck, t)
        seen = jnp.stack([jnp.broadcast_to(each, mean.shape) for each in told])
        return {"mean": mean, "b": 0.5 - mean, "seen": layer.params.seen + seen}


class Noisy(FeedForward):
    """H = 1 where d + ξ > 0,  ξ ~ Normal(0, σ²)"""

    binary = True
    sigma: float = 1.0

    def p(self, d):
        return 0.5 * (1 + jax.lax.erf(d / (self.sigma * math.sqrt(2))))

    def explore(self, params, x, key):
        p = self.p(drive(params, x))
        u = jax.random.uniform(key, (1, *p.shape), p.dtype)
        return Activity(h=(u[0] < p).astype(p.dtype), draws=u)

    def log_probability(self, params, d, activity):
        p = jnp.clip(self.p(d), 1e-6, 1 - 1e-6)
        return jnp.where(activity.h == 1, jnp.log(p), jnp.log1p(-p)).sum(axis=1)

    def mean(self, params, x, activity):
        return self.p(drive(params, x))


class Probit(Local):
    """ΔW = α (R − V) x (φ(d/σ) / (σ p (1 − p)) (H − P))ᵀ"""

    name, title = "own-probit", "REINFORCE of probit units"
    sigma: float = number(1.0, "σ of the noise", low=0.0, open_low=True)
    baseline: Baseline = part(Probability(), "what is subtracted", options=(Nothing, Probability))

    @property
    def law(self):
        return Noisy(self.sigma)

    def eligibility(self, layer, E):
        d, p = drive(layer.params, layer.x) / self.sigma, layer.law.mean(layer.params, layer.x, layer.drawn)
        density = jnp.exp(-d * d / 2) / math.sqrt(2 * math.pi)
        e = density / (self.sigma * p * (1 - p) + 1e-6) * (layer.h - E.mean)
        return Eligibility(W=Pair(layer.x, e), b=Alone(e))


class Running(eqx.Module):
    mean: Float[Array, " N"]


class RunningMean(Baseline):
    """E ← E + (mean(H) − E) / τ"""

    name = "running-mean"
    tau: float = number(20.0, "τ, updates over which it forgets", low=1.0)

    def init(self, sizes):
        return Running(jnp.full(sizes.units, 0.5))

    def __call__(self, params, layer):
        return Expectation(jnp.broadcast_to(params.mean, layer.h.shape))

    def update(self, params, layer, outcome):
        return {"mean": params.mean + (layer.h.mean(axis=0) - params.mean) / self.tau}


class Eager(Boltzmann):
    """Algorithm 1 less a running mean of each unit's activity."""

    name, title = "own-boltzmann", "Algorithm 1 against a running mean"
    baseline: Baseline = part(RunningMean(), "what is subtracted from H", options=(RunningMean, Nothing))


class Patient(Recurrent):
    """Algorithm 2 less a running mean in the place of P."""

    name, title = "own-recurrent", "Algorithm 2 against a running mean"
    baseline: Baseline = part(RunningMean(), "what is subtracted from H", options=(RunningMean, Probability))
