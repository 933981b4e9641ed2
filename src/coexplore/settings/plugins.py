"""What other packages offer under an entry point: known by name, and imported only when somebody asks for it."""

import functools
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from coexplore.settings.refusals import FieldError, reason


def offered(group: str) -> Mapping[str, EntryPoint]:
    """Those of a group, as `coexplore.rules`, by name."""
    return _offered(group, tuple(sys.path))


@functools.lru_cache(maxsize=8)  # every file that names one asks; what is installed is looked through once
def _offered(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    return {plug.name: plug for plug in entry_points(group=group)}


def loaded(plug: EntryPoint, kind: str) -> object:
    """What it offers; `kind` is what a person calls it: rule or task."""
    try:
        return plug.load()
    except (Exception, SystemExit) as error:  # somebody else's code may fail in any way
        raise FieldError(f"{kind}: {plug.name!r} cannot be loaded: {reason(error)}") from error


def latest(base: type, name: str) -> type | None:
    """The class under `base` that somebody has defined with that name; the last one, where a notebook has several."""
    classes = [base]
    for each in classes:
        classes += each.__subclasses__()
    names = ((getattr(each, "name", None), each) for each in reversed(classes))
    return next((each for own, each in names if isinstance(own, str) and own == name), None)
