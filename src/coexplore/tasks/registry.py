"""The tasks by name: ours, and those that other packages offer under the entry point `coexplore.tasks`."""

from collections.abc import Mapping

from coexplore.settings import (
    INSTALL,
    Count,
    FieldError,
    Unknown,
    latest,
    loaded,
    module_named,
    offered,
    refusal,
    shown,
)
from coexplore.tasks.bandit import Bandit
from coexplore.tasks.base import GROUP, NAME, AnyTask
from coexplore.tasks.control import Control
from coexplore.tasks.dataset import Dataset
from coexplore.tasks.joint import JointBits
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Boolean, Digits

BY_NAME: dict[str, type[AnyTask]] = {task.name: task for task in (Multiplexer, Digits, Boolean, JointBits)}
FORMS = (Control, Dataset, Bandit)  # which need more than a name
TASKS = {**BY_NAME, **{task.name: task for task in FORMS}}


def known() -> Mapping[str, object]:
    """Every name by which a task may be asked for; a plug-in is not imported before that."""
    return {**offered(GROUP), **BY_NAME}


def named(name: str) -> AnyTask:
    """The task of a name among `known`; a plug-in may offer a class, or a task as it is."""
    if name in BY_NAME:
        return BY_NAME[name]()
    task = made(loaded(offered(GROUP)[name], "task"), f"task: {name!r}")
    called = task.label if isinstance(task.name, str) else task.name  # whatever somebody has put there
    if not isinstance(called, str) or called != name:
        raise FieldError(f"task: {name!r} stands for one that is called {shown(called)}; name them alike")
    return task


def made(found: object, what: str) -> AnyTask:
    """The task that a module has under some name: as it is, or of that class with every setting at its default."""
    if isinstance(found, type) and issubclass(found, AnyTask):
        try:
            return found()
        except TypeError as error:
            raise FieldError(f"{what} cannot be made: {error}") from error
    if not isinstance(found, AnyTask):
        raise FieldError(f"{what} is no task, but a {type(found).__name__}")
    return found


def find(name: str) -> type[AnyTask]:
    """What a file names: one of ours, the latest class of that name that somebody has defined, or an installed one."""
    if name in TASKS:
        return TASKS[name]
    if task := latest(AnyTask, name):
        return task
    if name not in offered(GROUP):
        raise Unknown(f"task: {name!r} is not one of ours, nor installed here; {INSTALL.format('task')}")
    try:
        return type(named(name))
    except FieldError as error:
        raise Unknown(str(error)) from error


def asked(name: str) -> type[AnyTask]:
    """The class of task that a person names: as a file may, or as MODULE:NAME, whose module is then imported."""
    if ":" in name:
        if task := of_module("task", name):
            return type(task)
        raise refusal("task", name, "a task that this module has")
    try:
        return find(name)
    except Unknown:
        raise refusal("task", name, f"one of {', '.join(known())}, or MODULE:NAME of your own", known()) from None


def of_module(field: str, text: str) -> AnyTask | None:
    """The task that a person names as MODULE:NAME; None if the module has nothing of that name."""
    module, _, own = text.rpartition(":")
    found = getattr(module_named(field, text, module), own, None)
    if found is None:
        return None
    task = made(found, f"{field}: {text!r}")
    check(task)
    return task


def check(task: AnyTask) -> None:
    """That a task of the user's own can be told from ours, and found again by what a file says of it."""
    kind = type(task)
    if kind in TASKS.values():
        if task.label in set(TASKS) - {task.name}:
            raise refusal("name", task.label, "one that no task of ours has")
        return
    NAME.check("name", getattr(task, "name", None))
    if task.name in TASKS:
        raise refusal("name", task.name, f"one that no task of ours has to {kind.__name__}")
    for part in ("batch", "episodes"):
        Count("", low=1).check(f"{kind.__name__}.{part}", getattr(task, part, None))
