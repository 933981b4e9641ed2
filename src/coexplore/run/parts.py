"""Rules and tasks as plain data: their fields, and the name by which they are found again."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from coexplore.rules import Rule
from coexplore.settings import Json, build, describe, plain_defaults
from coexplore.tasks.base import AnyTask

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

Part = TypeVar("Part", Rule, AnyTask)


def describe_named(part: Rule | AnyTask) -> dict[str, Json]:
    return {"name": part.name, **describe(part)}


def build_named(data: Json, find: Callable[[str], type[Part]]) -> Part:
    """The inverse of `describe_named`."""
    return build(find(data["name"]), {name: value for name, value in data.items() if name != "name"})


def named(part: Rule | AnyTask) -> dict[str, Json]:
    """Its name, and what differs from its defaults."""
    return {"name": part.name, **differing(part, plain_defaults(type(part)))}


def differing(record: DataclassInstance, usual: Mapping[str, Json]) -> dict[str, Json]:
    """The fields that are not as usual."""
    return {name: value for name, value in describe(record).items() if value != usual[name]}
