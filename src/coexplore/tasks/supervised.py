"""Classification: name the label of an input. A part of the inputs is held out: never trained on, only judged by.

    rewards    the output                  R
    drawn      draws a label               +1 if it is the right one, else −1
    loss       is given the right label    log P(label | H), minus the loss

A state is the place of an input in the data. The split is the same in every run.
"""

import functools
import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from numpy.typing import NDArray

from coexplore.laws import Softmax
from coexplore.settings import Number, choice, count, field
from coexplore.tasks.base import Task


class Data(NamedTuple):
    """Inputs [n, D] and labels [n]; the places of those to train on, and of those that are held out."""

    x: NDArray[np.float32]
    y: NDArray[np.int32]
    trained: NDArray[np.int32]
    held_out: NDArray[np.int32]


class Labelled(Task):
    """Gives its `Data` by `load`, and says how many `classes` they have."""

    rewards: str = choice(
        "drawn", "±1 for the label that was drawn, or log P(label), minus the loss", options=("drawn", "loss")
    )

    @property
    @abstractmethod
    def classes(self) -> int: ...

    @property
    def size(self) -> int:
        return self.data.x.shape[1]

    @property
    def actions(self) -> int:
        return self.classes

    @property
    def output(self) -> Softmax:
        return Softmax()

    @property
    def graded(self) -> bool:
        return self.rewards == "loss"

    @property
    def chance(self) -> float:
        """The mean reward of a guess."""
        return -math.log(self.classes) if self.graded else 2 / self.classes - 1

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """A log-probability has no smallest value."""
        return None if self.graded else (self.chance, 1.0)

    @property
    def label_names(self) -> NDArray[Any]:
        """What action i names, for each i."""
        return np.arange(self.classes)

    @property
    def possible_rewards(self) -> tuple[float, float]:
        return (-math.inf, 0.0) if self.graded else (-1.0, 1.0)

    @property
    def held_out_states(self) -> Int[Array, " n"]:
        return jnp.asarray(self.data.held_out)

    def sample(self, B: int, key: Key[Array, ""]) -> Int[Array, " B"]:
        """B inputs to train on, with replacement."""
        trained = jnp.asarray(self.data.trained)
        return trained[jax.random.randint(key, (B,), 0, len(trained))]

    def observe(self, state: Any) -> Float[Array, "B D"]:
        return jnp.asarray(self.data.x)[state]

    def answer(self, state: Any) -> Int[Array, " B"]:
        """The right label."""
        return jnp.asarray(self.data.y)[state]

    def reward(self, state: Any, action: Any) -> Float[Array, " B"]:
        """±1 for a label that was drawn."""
        return jnp.where(self.answer(state) == action, jnp.float32(1), jnp.float32(-1))


class Digits(Labelled):
    name: ClassVar[str] = "digits"
    title: ClassVar[str] = "scikit-learn's 1,797 handwritten digits of 8 × 8 pixels, 360 of them held out"

    @property
    def classes(self) -> int:
        return 10

    def load(self) -> Data:
        return _digits()


class Boolean(Labelled):
    name: ClassVar[str] = "boolean"
    title: ClassVar[str] = "parity and other functions of a few bits, a fifth of the inputs held out"

    function: str = choice("parity", "what to compute", options=("parity", "majority", "symmetry", "random"))
    bits: int = count(6, "k, input bits", low=3, high=12)
    held_out: float = field(0.2, Number("fraction of the inputs that is held out", low=0.0, high=0.9))

    @property
    def classes(self) -> int:
        return 2

    def load(self) -> Data:
        return _table(self.function, self.bits, self.held_out)


@functools.cache
def _digits() -> Data:
    """Pixels of 0 … 16 become −1 … 1."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return split(x / 8 - 1, y, 360)


@functools.cache
def _table(function: str, bits: int, held_out: float) -> Data:
    """All 2ᵏ inputs of −1 and +1."""
    words = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
    return split(2 * words - 1, FUNCTIONS[function](words), round(held_out * 2**bits))


# Of words [n, k] of bits. A tie is no majority; symmetry: it reads the same backwards; random: a table that stays.
FUNCTIONS: dict[str, Any] = {
    "parity": lambda words: words.sum(axis=1) % 2,
    "majority": lambda words: words.sum(axis=1) > words.shape[1] / 2,
    "symmetry": lambda words: (words == words[:, ::-1]).all(axis=1),
    "random": lambda words: np.random.RandomState(words.shape[1]).randint(0, 2, len(words)),
}


def split(x: NDArray[Any], y: NDArray[Any], held_out: int) -> Data:
    """The last of a fixed permutation are held out. RandomState is old, but its numbers are frozen for good."""
    places = np.random.RandomState(0).permutation(len(x)).astype(np.int32)
    kept = len(x) - held_out
    return Data(x.astype(np.float32, copy=False), y.astype(np.int32), places[:kept], places[kept:])
