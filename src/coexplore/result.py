"""Result: what a finished run leaves behind."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from coexplore import network
from coexplore.accuracy import accuracy
from coexplore.fields import Linear, refuse
from coexplore.run import Run

POINTS = 125  # of a curve that is drawn


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
    params: network.Params | None  # a pack keeps those of one seed a setting
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)
    snapshots: dict[str, NDArray[Any]] = dataclasses.field(default_factory=dict)

    @property
    def episodes(self) -> NDArray[np.floating]:
        """Episodes trained by the end of each point of the curve."""
        P = len(self.curve)
        return np.arange(1, P + 1) * (self.run.episodes / P)

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
        return None if self.params is None else accuracy(self.run, at_the_end(network.layers(self.run)), self.params)

    def act(self, states: ArrayLike, key: Any) -> NDArray[Any]:
        """An action for each observation [B, D]: a whole number, or a row of numbers; `key` is a JAX key or a seed."""
        s = jnp.asarray(np.asarray(states, dtype=np.float32))
        if s.ndim != 2 or s.shape[1] != self.run.task.size:
            raise refuse("states", list(s.shape), f"observations of shape [batch, {self.run.task.size}]")
        if self.params is None:
            raise refuse("params", None, "a result with parameters; this pack kept those of another seed")
        if isinstance(key, int):
            key = jax.random.key(key)
        layers = at_the_end(network.layers(self.run))
        activities = network.act(layers, jax.tree.map(jnp.asarray, self.params), s, key)
        return np.asarray(network.action(layers, activities))


def at_the_end(tree: Any) -> Any:
    """Every schedule at its last value."""
    return jax.tree.map(lambda x: x.stop if isinstance(x, Linear) else x, tree, is_leaf=lambda x: isinstance(x, Linear))


def bins(updates: int) -> int:
    """P = min(1000, U), rounded down to a multiple of 4 once there are four updates."""
    P = min(1000, updates)
    return P - P % 4 if P >= 4 else P


def bin_sizes(updates: int) -> NDArray[np.int64]:
    """How many updates fall into each bin: update t belongs to bin ⌊t·P / U⌋."""
    P = bins(updates)
    edges = -(-np.arange(P + 1, dtype=np.int64) * updates // P)
    return np.diff(edges)


def by_setting(results: Iterable[Result]) -> dict[Run, list[Result]]:
    """Results that differ in nothing but the seed, together."""
    settings: dict[Run, list[Result]] = {}
    for result in results:
        settings.setdefault(result.run.setting, []).append(result)
    return settings


def thinned(same: Sequence[Result]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Episodes [P], rewards [seeds, P]: neighbouring points are averaged, single ones are mostly noise."""
    P = min(len(result.curve) for result in same)  # packed curves may stand beside whole ones
    values = np.stack([result.curve.reshape(P, -1).mean(axis=1) for result in same])
    starts = np.arange(0, P, -(-P // POINTS))
    sizes = np.diff([*starts, P])
    ends = np.cumsum(sizes) * (same[0].run.episodes / P)
    return ends, np.add.reduceat(values, starts, axis=1) / sizes
