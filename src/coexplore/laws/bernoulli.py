"""Independent binary units:  H ~ Ber(p),  p = σ(d)."""

import jax
from jaxtyping import Array, Float, Key

from coexplore import units
from coexplore.laws.law import Activity, Choice
from coexplore.units import Affine, drive


class Bernoulli(Choice):
    """H ~ Ber(σ(d)). As an output: one unit, which chooses between two actions."""

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        p = units.probability(drive(params, x))
        u = jax.random.uniform(key, (1, *p.shape), p.dtype)
        return Activity(h=units.draw(p, u[0]), draws=u)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        return units.log_probability(activity.h, d).sum(axis=1)

    def mean(self, params: Affine, x: Float[Array, "B D"], activity: Activity) -> Float[Array, "B N"]:
        return units.probability(drive(params, x))

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return units.probability(d)
