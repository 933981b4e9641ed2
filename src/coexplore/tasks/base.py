"""What a network is trained on.

A task says what the network sees (`size` numbers) and what draws its action (the law `output`, of `outputs` units).
Most tasks end after one step: they `sample` states, the network `observe`s them, and each action earns a `reward`.
An environment, of many steps, is stepped by an engine of its own.
"""

from abc import abstractmethod
from typing import Any, ClassVar

from jaxtyping import Array, Key

from coexplore.rules.laws import Output
from coexplore.settings import Checked


class AnyTask(Checked):
    name: ClassVar[str]
    title: ClassVar[str]
    batch: ClassVar[int]  # episodes per update, if nobody says otherwise
    episodes: ClassVar[int]  # of a run, likewise

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of an observation."""

    @property
    @abstractmethod
    def output(self) -> Output:
        """How actions are drawn."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many output units that takes."""

    @property
    def missing(self) -> str | None:
        """Why it cannot be had here, in one line."""
        return None

    @property
    def graded(self) -> bool:
        """Whether the output is given the right answer, the reward being its log-probability, rather than to draw."""
        return False

    @property
    def chance(self) -> float:
        """The mean reward of a guess; nan where nobody knows."""
        return float("nan")

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Where the mean reward of a run lies: from that of a guess to the largest there is; None if nobody knows.

        A run is not expected to do worse than guessing. Where one does, statistics take the smallest value seen."""
        return None


class Task(AnyTask):
    """A task whose episodes are one state, one action and its reward. States are whatever the task makes of them."""

    @abstractmethod
    def sample(self, B: int, key: Key[Array, ""]) -> Any:
        """B states."""

    @abstractmethod
    def observe(self, state: Any) -> Any:
        """What the network sees of them: numbers [B, D]."""

    @abstractmethod
    def reward(self, state: Any, action: Any) -> Any:
        """R(s, a), one per episode."""

    @abstractmethod
    def answer(self, state: Any) -> Any:
        """The best action in each state."""
