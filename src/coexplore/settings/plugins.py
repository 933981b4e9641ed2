"""Code of others: what their packages offer under an entry point, and modules that a person names.

Both are imported only when they are asked for.
"""

import functools
import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from coexplore.settings.refusals import FieldError, reason, refusal

INSTALL = "install or import what defines it, which a command does with --select {}=MODULE:NAME"


def offered(group: str) -> Mapping[str, EntryPoint]:
    """Those of a group, as `coexplore.rules`, by name."""
    return _offered(group, tuple(sys.path))


@functools.lru_cache(maxsize=8)  # every file that names one asks; what is installed is looked through once
def _offered(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    return {plug.name: plug for plug in entry_points(group=group)}


def is_ours(kind: type) -> bool:
    """Whether a class belongs to this library."""
    return kind.__module__.partition(".")[0] == "coexplore"


def loaded(plug: EntryPoint, kind: str) -> object:
    """What it offers; `kind` is what a person calls it: rule or task."""
    try:
        return plug.load()
    except (Exception, SystemExit) as error:  # somebody else's code may fail in any way
        raise FieldError(f"{kind}: {plug.name!r} cannot be loaded: {reason(error)}") from error


def module_named(field: str, value: str, module: str) -> ModuleType:
    """Import the module that a person's `value` of a field names, as `python -m` would find it: in the current folder,
    then wherever Python looks.
    """
    if module.endswith(".py") or not all(map(str.isidentifier, module.split("."))):
        raise refusal(field, value, "MODULE:NAME, where the module is named as `import` does: my_rules:MyRule")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # the module's own code may fail in any way
        raise refusal(field, value, f"a module that can be imported ({reason(error)})") from error


def latest(base: type, name: str) -> type | None:
    """The class under `base` that somebody has defined with that name; the last one, where a notebook has several."""
    classes = [base]
    for each in classes:
        classes += each.__subclasses__()
    names = ((getattr(each, "name", None), each) for each in reversed(classes))
    return next((each for own, each in names if isinstance(own, str) and own == name), None)
