"""Result: what a finished run leaves behind."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from numpy.typing import ArrayLike, NDArray

from coexplore import network
from coexplore.network import Params
from coexplore.run.accuracy import accuracy
from coexplore.run.curve import bin_sizes
from coexplore.run.run import Run
from coexplore.settings import Json, at_the_end, refusal

Tensor = NDArray[Any]  # type: ignore[explicit-any]  # of any shape and type
Tensors = dict[str, Tensor]


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """`curve` holds the mean reward of each of P equal stretches of training, `params` the final parameters.

    `snapshots` has what a study saw at K moments of the training: `updates` [K], `firing.0` [K, N] (and so on, up to
    the output unit), `critic_error` [K], `norm.NAME` [K] for each parameter and, where inputs are held out,
    `accuracy` [K]. Without a store it is empty.
    """

    run: Run
    engine: str
    curve: NDArray[np.float32]
    params: Params | None  # a pack keeps those of one seed per setting
    provenance: dict[str, Json] = dataclasses.field(default_factory=dict)
    snapshots: Tensors = dataclasses.field(default_factory=dict)

    @property
    def episodes(self) -> NDArray[np.float64]:
        """Episodes trained by the end of each point of the curve."""
        P = len(self.curve)
        return np.arange(1, P + 1, dtype=np.float64) * (self.run.episodes / P)

    @property
    def reward(self) -> float:
        """Mean reward over all episodes."""
        sizes = bin_sizes(self.run.updates)
        weights = sizes.reshape(len(self.curve), -1).sum(axis=1)  # a packed curve has fewer points than there are bins
        return float(np.average(self.curve, weights=weights))

    @property
    def first(self) -> float:
        """Mean reward over the first quarter of the curve."""
        return float(np.mean(self.curve[: max(1, len(self.curve) // 4)]))

    @property
    def last(self) -> float:
        """Mean reward over the last quarter of the curve."""
        return float(np.mean(self.curve[-max(1, len(self.curve) // 4) :]))

    @property
    def collapsed(self) -> bool:
        """Every unit of a layer frozen at 0 or 1, and the reward at chance: a result, but one to be told of.

        At large c the hidden units freeze; at large N the output unit may, before it has learned anything.
        """
        firing = [x[-1] for name, x in self.snapshots.items() if name.startswith("firing.")]
        frozen = any(bool(np.all((f < 0.01) | (f > 0.99))) for f in firing)
        return frozen and abs(self.last - self.run.task.chance) < 0.05

    @functools.cached_property
    def accuracy(self) -> float | None:
        """How often the likeliest label is right on held-out inputs; None where there are none, or no parameters."""
        if "accuracy" in self.snapshots:
            return float(self.snapshots["accuracy"][-1])
        return None if self.params is None else accuracy(self.run.task, at_the_end(self.run.network), self.params)

    def act(self, states: ArrayLike, key: int | Key[Array, ""]) -> Tensor:
        """An action for each observation [B, D]: a whole number, or a row of numbers; `key` is a JAX key or a seed."""
        s = jnp.asarray(np.asarray(states, dtype=np.float32))
        if s.ndim != 2 or s.shape[1] != self.run.task.size:
            raise refusal("states", list(s.shape), f"observations of shape [batch, {self.run.task.size}]")
        if self.params is None:
            raise refusal("params", None, "a result with parameters; this pack kept those of another seed")
        if isinstance(key, int):
            key = jax.random.key(key)
        net = at_the_end(self.run.network)
        activities = network.act(net, jax.tree.map(jnp.asarray, self.params), s, key)
        return np.asarray(network.action(net, activities))


def by_setting(results: Iterable[Result]) -> dict[Run, list[Result]]:
    """Results that differ in nothing but the seed, together."""
    settings: dict[Run, list[Result]] = {}
    for result in results:
        settings.setdefault(result.run.setting, []).append(result)
    return settings
