"""Editions of a user's rules and tasks: which code a Run means, and whether that code is still the one that is here.

Code of ours is known by its name. Any other is known by the `version` that its class declares or else by a hash of what
it does (code_hash.py), worked out where the Run is made. The edition is part of the Run's description and its digest.
"""

import weakref
from collections.abc import Iterable
from typing import TypeVar

from coexplore.code_hash import code_hash
from coexplore.programs import retrace
from coexplore.rules import Rule
from coexplore.settings import Json, is_ours, kinds_of_parts, refusal
from coexplore.tasks.base import VERSION, AnyTask

UNKNOWN = "unknown"  # of a part that was read from a file which does not tell its edition
Part = TypeVar("Part", Rule, AnyTask)
Hashes = weakref.WeakKeyDictionary[object, str]  # of functions and classes
_latest: dict[str, Hashes] = {}  # of all that a class names, by what that is called


def may_have_edition(kind: type[Rule] | type[AnyTask]) -> bool:
    """Whether a class runs code of the user's: its own, or functions and environments that it is given."""
    return not is_ours(kind) or (issubclass(kind, AnyTask) and kind.code is not AnyTask.code)


def edition_here(part: Rule | AnyTask) -> str:
    """The edition of the code that this process has; empty where all of it is ours or installed."""
    kind = type(part)
    own: tuple[object, ...] = () if is_ours(kind) else (kind, *_own_parts(kind))
    if own and "version" in vars(kind):
        return str(VERSION.check(f"{kind.__name__}.version", kind.version))  # type: ignore[union-attr]
    code = (*own, *(part.code if isinstance(part, AnyTask) else ()))
    return _worked_out(kind, code) if code else ""


def _own_parts(kind: type[Rule] | type[AnyTask]) -> list[type]:
    """The user's classes of parts that objects of the class may hold: all of them, so that the edition does not depend
    on which one is held."""
    return [each for each in kinds_of_parts(kind) if not is_ours(each)]


def _worked_out(kind: type, code: tuple[object, ...]) -> str:
    parts: dict[object, str] = {}
    try:
        found = code_hash(*code, parts=parts)
    except RecursionError:
        wanted = "a class that declares one, as version = '1': its code names what is nested too deeply to be hashed"
        raise refusal(f"{kind.__name__}.version", None, wanted) from None
    known = _latest.setdefault(f"{kind.__module__}.{kind.__qualname__}", Hashes())
    if any(known.get(part, own) != own for part, own in parts.items()):
        retrace()  # JAX may have traced this function when it named other code
    known.update(parts)
    return found


def with_edition(part: Part) -> Part:
    """The part with the edition of the code that is here, unless a file has told another."""
    if part.edition == UNKNOWN and is_ours(type(part)):
        return having_edition(part, "")
    return having_edition(part, part.edition or edition_here(part))


def having_edition(part: Part, edition: str) -> Part:
    """The part with another edition."""
    if part.edition == edition:
        return part
    other = part.replaced(edition=edition)
    if not edition:
        del other.__dict__["edition"]  # as in a part that was never told one: the two are equal
    return other


def with_told_edition(part: Part, told: Json, from_file: bool) -> Part:
    """The part with the edition that a description tells; a person who tells none means the code that is here."""
    if told is None:
        return part.replaced(edition=UNKNOWN) if from_file else part
    return part.replaced(edition=VERSION.check("edition", told))


def edition_of(part: Rule | AnyTask) -> dict[str, Json]:
    """The edition as a part's description has it."""
    return {} if part.edition in ("", UNKNOWN) else {"edition": part.edition}


def difference(part: Rule | AnyTask) -> str:
    """A line if the code that is here is not the part's edition; else empty."""
    here = edition_here(part)
    if part.edition == here:
        return ""
    name = f"task {part.label!r}" if isinstance(part, AnyTask) else f"rule {part.name!r}"
    return f"{name}: the run means edition {part.edition or UNKNOWN} of its code, here is edition {here or UNKNOWN}"


def first_difference(parts: Iterable[Rule | AnyTask]) -> str:
    """A line about the first part whose edition is not that of the code that is here; empty if there is none."""
    return next(filter(None, map(difference, parts)), "")
