"""The k-bit multiplexer: k address bits (most significant first) choose one of 2ᵏ data bits; name that bit.

All k + 2ᵏ bits are fair coins. The network sees −1/+1 (or 0/1) and earns +1 for the right answer, else −1 (or 0).
"""

from typing import Any, ClassVar

import jax
from jaxtyping import Array, Bool, Key

from coexplore.settings import choice, count
from coexplore.tasks.base import Task


class Multiplexer(Task):
    name: ClassVar[str] = "multiplexer"
    title: ClassVar[str] = "k-bit multiplexer, one step, reward for naming the addressed bit"
    episodes: ClassVar[int] = 4_000_000

    bits: int = count(4, "k, address bits", low=1, high=6)
    encoding: str = choice("signed", "inputs −1/+1 or 0/1", options=("signed", "binary"))
    rewards: str = choice("signed", "rewards −1/+1 or 0/1", options=("signed", "binary"))

    @property
    def size(self) -> int:
        """k + 2ᵏ, the length of an observation."""
        return self.bits + 2**self.bits

    @property
    def chance(self) -> float:
        """The mean reward of a guess."""
        return 0.0 if self.rewards == "signed" else 0.5

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.chance, 1.0

    @property
    def possible_rewards(self) -> tuple[float, float]:
        return (-1.0 if self.rewards == "signed" else 0.0), 1.0

    def sample(self, B: int, key: Key[Array, ""]) -> Bool[Array, "B D"]:
        """B states: every bit a fair coin."""
        return jax.random.bernoulli(key, 0.5, (B, self.size))

    def observe(self, state: Any) -> Any:
        """What the network sees of a state; NumPy in, NumPy out."""
        return _levels(state, self.encoding)

    def reward(self, state: Any, action: Any) -> Any:
        """R(s, a) for states [B, D] and actions [B] in {0, 1}; NumPy in, NumPy out."""
        return _levels(self.answer(state) == (action == 1), self.rewards)

    def answer(self, state: Any) -> Any:
        """The addressed data bit."""
        xp = state.__array_namespace__()
        place = xp.asarray([2**i for i in reversed(range(self.bits))])
        address = xp.where(state[:, : self.bits], place, 0).sum(axis=1)
        return xp.take_along_axis(state[:, self.bits :], address[:, None], axis=1)[:, 0]


def _levels(x: Any, levels: str) -> Any:
    """Truth values as numbers: −1/+1 if signed, 0/1 if binary."""
    xp = x.__array_namespace__()
    return xp.where(x, xp.float32(1), xp.float32(-1 if levels == "signed" else 0))
