"""The tasks by name."""

from coexplore.settings import refusal
from coexplore.tasks.base import Task
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean, Digits

TASKS: dict[str, type[Task]] = {task.name: task for task in (Multiplexer, Digits, Boolean, Control)}


def find(name: str) -> type[Task]:
    if name not in TASKS:
        raise refusal("task", name, f"one of {', '.join(TASKS)}", TASKS)
    return TASKS[name]
