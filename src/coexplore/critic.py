"""The critic V(s): a network with one hidden layer that estimates E[R | S = s], trained by backprop."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from coexplore.fields import Checked, choice, count
from coexplore.units import Affine, drive, glorot

ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jax.nn.tanh}


class CriticParams(eqx.Module):
    hidden: Affine
    output: Affine


class Critic(Checked):
    activation: str = choice("relu", "the critic's hidden units", options=tuple(ACTIVATIONS))
    width: int = count(64, "how many hidden units the critic has", low=1)

    def init(self, D: int, key: Key[Array, ""]) -> CriticParams:
        hidden_key, output_key = jax.random.split(key)
        return CriticParams(glorot(D, self.width, hidden_key), glorot(self.width, 1, output_key))

    def value(self, params: CriticParams, s: Float[Array, "B D"]) -> Float[Array, " B"]:
        """V(s)."""
        return drive(params.output, ACTIVATIONS[self.activation](drive(params.hidden, s)))[:, 0]

    def credit(self, params: CriticParams, s: Float[Array, "B D"], delta: Float[Array, " B"]) -> CriticParams:
        """Ascent on δ·V(s), a mean over the batch: δ ∇V(s)."""
        _, pull = jax.vjp(lambda params: self.value(params, s), params)
        return pull(delta / s.shape[0])[0]
