"""The two settings that decide which others there are: the task, and a rule for each layer."""

import dataclasses

from coexplore import rules
from coexplore.rules import Rule
from coexplore.settings import refusal
from coexplore.tasks import registry
from coexplore.tasks.base import AnyTask
from coexplore.tasks.control import Control, environments


@dataclasses.dataclass(frozen=True)
class TaskName:
    help: str = "what to train on"

    @property
    def allowed(self) -> str:
        names = " | ".join(registry.known())
        return f"{names} | a Gymnasium environment, as CartPole-v1 | MODULE:NAME of your own"

    def check(self, name: str, value: object) -> AnyTask:
        return value if isinstance(value, AnyTask) else self.parse(name, str(value))

    def parse(self, name: str, text: str) -> AnyTask:
        if text in registry.known():
            return registry.named(text)
        module, _, own = text.rpartition(":")
        if module and (task := registry.of_module(name, text)):
            return dataclasses.replace(task, source=text)
        known = environments()
        if own not in known:
            wanted = f"a task or an environment that {module} has" if module else self.allowed
            raise refusal(name, text, wanted, [*registry.known(), *known])
        return Control(env=own, source=text if module else "")

    def show(self, value: object) -> str:
        return value.label if isinstance(value, AnyTask) else str(value)


@dataclasses.dataclass(frozen=True)
class Layers:
    help: str = "a rule for each hidden layer, instead of RULE"
    allowed: str = "names of rules, such as boltzmann,reinforce, or MODULE:NAME of your own"

    def check(self, name: str, value: object) -> tuple[Rule, ...]:
        return value if isinstance(value, tuple) else self.parse(name, str(value))

    def parse(self, name: str, text: str) -> tuple[Rule, ...]:
        return tuple(map(rules.usual, text.split(",")))

    def show(self, value: object) -> str:
        return ",".join(rule.name for rule in value) if isinstance(value, tuple) else str(value)
