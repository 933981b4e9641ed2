"""Numbers:  A ~ Normal(d, v)."""

import jax
from jaxtyping import Array, Float, Key

from coexplore.laws.law import Activity, Output
from coexplore.settings import Scalar
from coexplore.units import Affine, drive


class Gaussian(Output):
    """What is done is scale · A + shift; a network whose drives start around 0 need not learn an offset first."""

    variance: Scalar = 1.0
    scale: Scalar = 1.0
    shift: Scalar = 0.0

    @property
    def dispersion(self) -> Scalar:
        return self.variance

    def explore(self, params: Affine, x: Float[Array, "B D"], key: Key[Array, ""]) -> Activity:
        return noisy(drive(params, x), self.variance, key)

    def log_probability(self, params: Affine, d: Float[Array, "B N"], activity: Activity) -> Float[Array, " B"]:
        """Up to the density's constant, which moves nothing."""
        return -((activity.h - d) ** 2).sum(axis=1) / (2 * self.variance)

    def action(self, h: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return self.scale * h + self.shift

    def expected(self, d: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return d

    def decided(self, mean: Float[Array, "B N"]) -> Float[Array, "B N"]:
        return self.scale * mean + self.shift


def noisy(mu: Float[Array, "B N"], variance: Scalar, key: Key[Array, ""]) -> Activity:
    """H ~ Normal(μ, v)."""
    noise = jax.random.normal(key, (1, *mu.shape), mu.dtype)
    return Activity(h=mu + variance**0.5 * noise[0], draws=noise)
