"""What a network is trained on.

A task says what the network sees (`size` numbers) and what draws its action (the law `output`, of `outputs` units).
A `Task` ends after one step: it `sample`s states, the network `observe`s them, and each action earns a `reward`.
An environment, of many steps, is stepped by an engine of its own.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import equinox as eqx
from jaxtyping import Array, Key

from coexplore.laws import Bernoulli, Output, Softmax, together
from coexplore.settings import Checked, Text

GROUP = "coexplore.tasks"  # of entry points
This = TypeVar("This", bound="AnyTask")
Mine = TypeVar("Mine", bound="Task")
NAME = Text("what it is called", r"\w[\w.-]*", "letters, digits, dots and dashes, such as my-task")
VERSION = Text("which version of the code", r"\w[\w.-]*", "letters, digits, dots and dashes, such as '1'")


class AnyTask(Checked):
    """What tasks of one step and environments share."""

    name: ClassVar[str]
    title: ClassVar[str] = "a task of your own"
    batch: ClassVar[int] = 16  # episodes per update, if nobody says otherwise
    episodes: ClassVar[int] = 160_000  # of a run, likewise
    in_name: ClassVar[tuple[str, ...]] = ()  # fields that its label says, and no flag changes

    # MODULE:NAME, where the user said so: for the command that repeats a run. Neither in files nor in digests.
    source: str = eqx.field(default="", static=True, kw_only=True)
    # Which code of the user's this is; set where a Run is made, empty for tasks of ours (run/editions.py).
    edition: str = eqx.field(default="", static=True, init=False)

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
    def label(self) -> str:
        """What a person calls it."""
        return self.name

    @property
    def revision(self) -> str:
        """What distinguishes a task of ours from another one with its label: a hash of data, a version; else empty."""
        return ""

    @property
    def code(self) -> tuple[object, ...]:
        """Classes and functions of the user's that are not the task's own class, such as those of an environment."""
        return ()

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

    @property
    def possible_rewards(self) -> tuple[float, float]:
        """The least and the greatest mean reward that a run can have; infinite where nobody knows."""
        return -math.inf, self.reward_range[1] if self.reward_range else math.inf

    def bare(self: This) -> This:
        """As it is compiled: without what only people and files need."""
        return self.replaced(source="")


class Task(AnyTask):
    """A task whose episodes are one state, one action and its reward.

    Give it a `name`, the `size` of an observation, how many `actions` there are to choose from, `sample` and `reward`;
    and `observe`, where the network sees anything but the state itself. States are whatever the task makes of them. All
    of it must be pure and in JAX: it is compiled into the update. Settings are declared as a rule's are, with `number`,
    `count`, `choice` and `switch`.
    """

    # In a compiled program: what `load` gives, on the device, so that it is an argument and no constant.
    given: Any = eqx.field(default=None, kw_only=True)

    @property
    def actions(self) -> int | tuple[int, ...]:
        """How many there are: an action is a whole number from 0. Where k act at once, how many there are for each."""
        return 2

    @property
    def output(self) -> Output:
        if isinstance(self.actions, tuple):
            return together(self.actions)
        return Bernoulli() if self.actions == 2 else Softmax()

    @property
    def outputs(self) -> int:
        """One per action but the first, whose logit is fixed at 0."""
        parts = self.actions if isinstance(self.actions, tuple) else (self.actions,)
        return sum(parts) - len(parts)

    @abstractmethod
    def sample(self, B: int, key: Key[Array, ""]) -> Any:
        """B states."""

    def observe(self, state: Any) -> Any:
        """What the network sees of them: numbers [B, D]."""
        return state

    @abstractmethod
    def reward(self, state: Any, action: Any) -> Any:
        """R(s, a), one per episode, for actions [B], or [B, k] where there are several at once."""

    def answer(self, state: Any) -> Any:
        """The best action in each state; None where nobody knows."""
        return None

    def load(self) -> Any:
        """Large arrays that the functions read as `self.data`: the same ones at every call, and not made from numbers
        that a grid may change."""
        return None

    @property
    def data(self) -> Any:
        """What `load` gives; in a compiled program it is on the device, once for all runs."""
        return self.load() if self.given is None else self.given

    def holding(self: Mine, arrays: Any) -> Mine:
        """The same with its data at hand; arrays are leaves."""
        return self.bare().replaced(given=arrays)
