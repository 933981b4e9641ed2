"""Rules and tasks as plain data: their fields, and the name by which they are found again."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from coexplore.rules import Rule
from coexplore.settings import FieldError, Json, Unknown, build, describe, plain_defaults, reason, refusal
from coexplore.tasks.base import AnyTask

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

Part = TypeVar("Part", Rule, AnyTask)


def check_named(kind: str, part: Rule | AnyTask) -> None:
    """What every rule and every task must say of itself."""
    for name in ("name", "title"):
        if not isinstance(value := asked(kind, part, name), str):
            raise refusal(f"{type(part).__name__}.{name}", value, "a text")
    for name in ("batch", "episodes") if kind == "task" else ():
        asked(kind, part, name)  # what they may be, the Run will see


def asked(kind: str, part: Rule | AnyTask, name: str) -> Json:
    """What a part says of itself; if it cannot, a line tells why."""
    try:
        return getattr(part, name)
    except FieldError:
        raise
    except (Exception, SystemExit) as error:
        raise FieldError(f"{kind}: {type(part).__name__} does not say its {name}: {reason(error)}") from error


def describe_named(part: Rule | AnyTask) -> dict[str, Json]:
    return {"name": part.name, **describe(part)}


def build_named(data: Json, find: Callable[[str], type[Part]]) -> Part:
    """The inverse of `describe_named`."""
    data = dict(data)
    kind = find(data.pop("name"))
    try:
        return build(kind, data)
    except (FieldError, TypeError) as error:
        if kind.__module__.startswith("coexplore."):
            raise
        raise Unknown(f"{kind.name!r} is another here than where it was written: {error}") from None


def named(part: Rule | AnyTask) -> dict[str, Json]:
    """Its name, and what differs from its defaults."""
    return {"name": part.name, **differing(part, plain_defaults(type(part)))}


def differing(record: DataclassInstance, usual: Mapping[str, Json]) -> dict[str, Json]:
    """The fields that are not as usual."""
    return {name: value for name, value in describe(record).items() if value != usual[name]}
