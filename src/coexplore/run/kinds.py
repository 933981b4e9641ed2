"""The two settings that decide which others there are: the task, and a rule for each layer."""

import dataclasses
import importlib

from coexplore import rules
from coexplore.rules import Rule
from coexplore.settings import refusal
from coexplore.tasks.base import AnyTask
from coexplore.tasks.control import Control, environments
from coexplore.tasks.registry import TASKS


@dataclasses.dataclass(frozen=True)
class TaskName:
    help: str = "what to train on"

    @property
    def allowed(self) -> str:
        return f"{' | '.join(name for name in TASKS if name != Control.name)} | a Gymnasium environment, as CartPole-v1"

    def check(self, name: str, value: object) -> AnyTask:
        return value if isinstance(value, AnyTask) else self.parse(name, str(value))

    def parse(self, name: str, text: str) -> AnyTask:
        if text in TASKS and text != Control.name:
            return TASKS[text]()
        module, _, env = text.rpartition(":")
        if module:
            _import(name, text, module)
        known = environments()
        if env not in known:
            raise refusal(name, text, self.allowed, [*TASKS, *known])
        return Control(env=env)

    def show(self, value: object) -> str:
        if isinstance(value, Control):
            return value.env
        return value.name if isinstance(value, AnyTask) else str(value)


def _import(name: str, text: str, module: str) -> None:
    """A package that registers environments, named by the user as Gymnasium would have it."""
    try:
        importlib.import_module(module)
    except Exception as error:  # somebody else's code may fail in any way
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise refusal(name, text, f"a module that can be imported ({why})") from error


@dataclasses.dataclass(frozen=True)
class Layers:
    help: str = "a rule for each hidden layer, instead of RULE"
    allowed: str = "names of rules, such as boltzmann,reinforce"

    def check(self, name: str, value: object) -> tuple[Rule, ...]:
        return value if isinstance(value, tuple) else self.parse(name, str(value))

    def parse(self, name: str, text: str) -> tuple[Rule, ...]:
        return tuple(rules.find(each).usual() for each in text.split(","))

    def show(self, value: object) -> str:
        return ",".join(rule.name for rule in value) if isinstance(value, tuple) else str(value)
