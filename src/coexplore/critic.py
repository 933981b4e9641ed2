"""The critic V(s): a network that estimates E[R | S = s].

Two critics have no hidden units, and so learn without backpropagation, by what is at the two ends of a synapse and δ:

    linear    V(s) = wᵀs + b    Δw = α δ s    Δb = α δ
    mean      V(s) = b                        Δb = α δ

Both start at 0. The others have hidden units (`relu`, `tanh`, `softplus`), and learn by `backprop` or by `map-prop`.

By `backprop` hidden units are deterministic, and the critic climbs δ ∇V(s). By `map-prop` they are Gaussian, as the
actor's are in MAP propagation: layer l draws H_l ~ Normal(softplus(W_lᵀ H_{l−1} + b_l), v_l), and the output draws a
prediction A ~ Normal(μ, v), μ = wᵀH + b. The value of s is μ, given what the hidden layers drew. Then, A clamped, the
values move uphill on log Pr(H, A | S), 20 times by η ½ v_l of its slope (η as in map_prop.py), and what δ multiplies
(by way of the trace) is

    ∇ log Pr(H, A | S) / (A − μ)        both where the values have come to rest

which for the output is H / v. Why the division: at rest the slope in every H_l is 0, so that (H_l − μ_l) / v_l is
what comes down from above, (A − μ) / v times the chain of weights and slopes; it is backprop's gradient of μ at those
values, times (A − μ) / v. Divided, it is that gradient over v whatever was drawn, and as v_l → 0 it is ∇V(s) / v.

The equations, the order (μ before the values move, the division after) and that V is μ and not A are those of the code
released with Chung's "MAP propagation algorithm" (github.com/stephen-chung-mh/map_prop); an earlier draft multiplies by
A − μ, which for a δ that does not depend on A gives the same direction on average, weighed by (A − μ)².
"""

from collections.abc import Iterable
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from coexplore.laws import Gaussian, Law
from coexplore.rules.map_prop import Relaxing
from coexplore.settings import Checked, Positive, Units, choice, field, refusal
from coexplore.units import Affine, drive, glorot

ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jax.nn.tanh, "softplus": jax.nn.softplus}
WITHOUT_UNITS = ("linear", "mean")
WIDTH, VARIANCE = 64, 0.1
RELAX_STEPS = 20


class Mean(eqx.Module):
    """Parameters of a critic that does not read s."""

    b: Float[Array, " 1"]


class CriticParams(eqx.Module):
    hidden: Affine | None  # None where there are no hidden units
    output: Affine | Mean
    deeper: tuple[Affine, ...] = ()  # hidden layers above the first

    @property
    def below(self) -> tuple[Affine, ...]:
        """The hidden layers, from the first."""
        return (*([] if self.hidden is None else [self.hidden]), *self.deeper)

    @property
    def layers(self) -> "tuple[Affine | Mean, ...]":
        """From the first to the output."""
        return (*self.below, self.output)

    @classmethod
    def of(cls, layers: "Iterable[Affine | Mean]") -> "CriticParams":
        *below, output = layers
        hidden = cast("list[Affine]", below)
        return cls(hidden[0] if hidden else None, output, tuple(hidden[1:]))


class Critic(Checked):
    activation: str = choice(
        "relu", "the critic's hidden units; linear and mean have none", options=(*ACTIVATIONS, *WITHOUT_UNITS)
    )
    width: int | tuple[int, ...] | None = field(
        WIDTH, Units(f"how many hidden units the critic has, {WIDTH} if not given", bare=True, optional=True)
    )
    rule: str = choice("backprop", "how the critic learns", options=("backprop", "map-prop"))
    variance: float | tuple[float, ...] = field(
        VARIANCE, Positive("variance of the critic's layers, the output's last, where it learns by map-prop")
    )

    def __init__(
        self,
        activation: str = "relu",
        width: int | tuple[int, ...] | None = None,
        rule: str = "backprop",
        variance: float | tuple[float, ...] = VARIANCE,
    ) -> None:
        self.activation, self.rule, self.variance = activation, rule, variance
        self.width = WIDTH if width is None and activation not in WITHOUT_UNITS else width

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.activation in WITHOUT_UNITS:
            for name, usual in (("width", None), ("rule", "backprop"), ("variance", VARIANCE)):
                if (value := getattr(self, name)) != usual:
                    raise refusal(f"critic_{name}", value, f"no {name} where the critic is {self.activation}")
        if self.rule == "map-prop" and self.activation != "softplus":
            raise refusal("critic_rule", self.rule, f"backprop where the critic's units are {self.activation}")
        if self.rule == "backprop" and self.variance != VARIANCE:
            raise refusal("critic_variance", self.variance, "it to a critic that learns by map-prop")
        if isinstance(self.variance, tuple) and len(self.variance) != len(self.widths) + 1:
            count = len(self.widths) + 1
            raise refusal("critic_variance", self.variance, f"one value, or {count}: hidden layers, output")
        if isinstance(self.variance, tuple) and len(set(self.variance)) == 1:
            raise refusal("critic_variance", self.variance, f"{self.variance[0]}: it is that of all layers")

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each hidden layer; () where there are none."""
        if self.width is None:
            return ()
        return self.width if isinstance(self.width, tuple) else (self.width,)

    def sizes(self, D: int) -> tuple[int, ...]:
        """Of what it reads of D inputs, the hidden layers and the output."""
        return (0 if self.activation == "mean" else D, *self.widths, 1)

    @property
    def laws(self) -> tuple[Law, ...]:
        """How each layer draws, the output last; none where nothing is drawn."""
        if self.rule == "backprop":
            return ()
        layers = len(self.widths) + 1
        *hidden, output = self.variance if isinstance(self.variance, tuple) else (self.variance,) * layers
        return (*(Relaxing(v, RELAX_STEPS) for v in hidden), Gaussian(output))

    def init(self, D: int, key: Key[Array, ""]) -> CriticParams:
        if not self.widths:
            b = jnp.zeros(1)
            return CriticParams.of([Mean(b) if self.activation == "mean" else Affine(W=jnp.zeros((D, 1)), b=b)])
        hidden_key, output_key, *deeper_keys = _keys(key, len(self.widths) - 1)
        sizes = zip(self.widths[:-1], self.widths[1:], deeper_keys, strict=True)
        return CriticParams(
            glorot(D, self.widths[0], hidden_key),
            glorot(self.widths[-1], 1, output_key),
            tuple(glorot(*shape_and_key) for shape_and_key in sizes),
        )

    def value(self, params: CriticParams, s: Float[Array, "B D"]) -> Float[Array, " B"]:
        """V(s)."""
        if isinstance(params.output, Mean):
            return jnp.broadcast_to(params.output.b, s.shape[:1])
        h = s
        for layer in params.below:
            h = ACTIVATIONS[self.activation](drive(layer, h))
        return drive(params.output, h)[:, 0]

    def credit(self, params: CriticParams, s: Float[Array, "B D"], delta: Float[Array, " B"]) -> CriticParams:
        """Ascent on δ·V(s), a mean over the batch: δ ∇V(s)."""
        _, pull = jax.vjp(lambda params: self.value(params, s), params)
        return pull(delta / s.shape[0])[0]


def _keys(key: Key[Array, ""], deeper: int) -> list[Key[Array, ""]]:
    """The first two do not depend on how many follow."""
    return [*jax.random.split(key), *jax.random.split(jax.random.fold_in(key, 1), deeper)]
