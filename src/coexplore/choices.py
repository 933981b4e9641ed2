"""What a flag may hold that is more than a number: a task's name, a rule for each layer, a value for each layer."""

import dataclasses
import importlib
from typing import Any

from coexplore import rules
from coexplore.fields import Choice, Spec, refuse
from coexplore.rules import Rule
from coexplore.run import TASKS
from coexplore.tasks.base import Task
from coexplore.tasks.control import Control, environments


@dataclasses.dataclass(frozen=True)
class TaskName:
    help: str = "what to train on"

    @property
    def allowed(self) -> str:
        return f"{' | '.join(name for name in TASKS if name != Control.name)} | a Gymnasium environment, as CartPole-v1"

    def check(self, name: str, value: Any) -> Task:
        if not isinstance(value, Task):
            return self.parse(name, value)
        return value

    def parse(self, name: str, text: str) -> Task:
        if text in TASKS and text != Control.name:
            return TASKS[text]()
        module, _, env = text.rpartition(":")
        if module:
            _imported(name, text, module)
        known = environments()
        if env not in known:
            raise refuse(name, text, self.allowed, [*TASKS, *known])
        return Control(env=env)

    def show(self, value: Any) -> str:
        return value.env if isinstance(value, Control) else value.name


def _imported(name: str, text: str, module: str) -> None:
    """A package that registers environments, named by the user as Gymnasium would have it."""
    try:
        importlib.import_module(module)
    except Exception as error:  # somebody else's code may fail in any way
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise refuse(name, text, f"a module that can be imported ({why})") from error


@dataclasses.dataclass(frozen=True)
class Layers:
    help: str = "a rule for each hidden layer, instead of RULE"
    allowed: str = "names of rules, such as boltzmann,reinforce"

    def check(self, name: str, value: Any) -> tuple[Rule, ...]:
        if not isinstance(value, tuple):
            return self.parse(name, value)
        return value

    def parse(self, name: str, text: str) -> tuple[Rule, ...]:
        return tuple(rules.find(each)() for each in str(text).split(","))  # type: ignore[call-arg]

    def show(self, value: Any) -> str:
        return ",".join(rule.name for rule in value)


@dataclasses.dataclass(frozen=True)
class EachLayer:
    """A rule's setting: one value, or one for each of the layers whose rule has it."""

    one: Spec

    @property
    def help(self) -> str:
        return self.one.help

    @property
    def allowed(self) -> str:
        return self.one.allowed

    def beside(self, other: Spec) -> "EachLayer":
        """For layers whose rules call a setting the same: what either allows. Each rule still checks its own."""
        if isinstance(self.one, Choice) and isinstance(other, Choice):
            return EachLayer(Choice(other.help, tuple(dict.fromkeys((*self.one.options, *other.options)))))
        return EachLayer(other)

    def check(self, name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.one.check(name, each) for each in value)
        return self.one.check(name, value)

    def parse(self, name: str, text: str) -> Any:
        parts = tuple(self.one.parse(name, part) for part in text.split("/"))
        return parts[0] if len(parts) == 1 else parts

    def show(self, value: Any) -> str:
        return "/".join(map(self.one.show, value)) if isinstance(value, tuple) else self.one.show(value)
