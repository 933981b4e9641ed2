"""The tasks by name."""

from coexplore.settings import refusal
from coexplore.tasks.base import AnyTask
from coexplore.tasks.control import Control
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean, Digits

TASKS: dict[str, type[AnyTask]] = {task.name: task for task in (Multiplexer, Digits, Boolean, Control)}


def find(name: str) -> type[AnyTask]:
    """One of ours, or a task of the user's own: the latest class of that name that somebody has defined."""
    if name in TASKS:
        return TASKS[name]
    classes: list[type] = [AnyTask]
    for each in classes:
        classes += each.__subclasses__()
    for task in reversed(classes):
        if getattr(task, "name", None) == name:
            return task
    raise refusal("task", name, f"one of {', '.join(TASKS)}", TASKS)
