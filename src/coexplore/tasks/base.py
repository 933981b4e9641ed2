"""What a network is trained on.

A task says what the network sees (`size` numbers) and how its action is drawn (`law`, by `outputs` units). Most tasks
end after one step: they `sample` states, the network `observe`s them, and each action earns a `reward`. An environment
(`one_step` is false) is stepped by an engine of its own.
"""

from abc import abstractmethod
from typing import ClassVar

from coexplore.fields import Checked


class Task(Checked):
    name: ClassVar[str]
    title: ClassVar[str]
    batch: ClassVar[int]  # episodes an update, if nobody says otherwise
    episodes: ClassVar[int]  # of a run, likewise
    one_step: ClassVar[bool] = True

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of an observation."""

    @property
    @abstractmethod
    def law(self) -> str:
        """How actions are drawn: bernoulli, softmax or gaussian (rules/outputs.py)."""

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
