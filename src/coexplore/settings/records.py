"""Records whose fields have specs: declared, checked, turned into plain data and made again from it."""

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax

from coexplore.settings.refusals import refusal
from coexplore.settings.schedules import Linear
from coexplore.settings.specs import Choice, Count, Number, Spec, Switch, Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

PLAIN = (float, int, str)  # what most fields hold: nothing that JAX could be tracing
Json = Any  # type: ignore[explicit-any]  # what json.loads gives: whoever reads it must check it

T = TypeVar("T")
Record = TypeVar("Record", bound=DataclassInstance)
This = TypeVar("This", bound="Checked")


def field(default: T, spec: Spec, static: bool = True) -> T:
    """A dataclass field with its spec; static fields are structure, the others numbers that an engine may trace.

    To a type checker it is what its default is, as with dataclasses' own fields.
    """
    return eqx.field(default=default, static=static, metadata={"spec": spec})


def number(
    default: T,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    schedule: bool = False,
) -> T:
    """A setting that is a number from `low` (not itself, if `open_low`) to `high`; `default` is what it is if not
    given, and `help` what it is for. An engine may trace it; with `schedule` it may change while a run trains.
    """
    return field(default, Number(help, low, high, open_low, schedule), static=False)


def count(default: T, help: str, *, low: int = 0, high: int | None = None) -> T:
    """A setting that is a whole number, `low` to `high`, and shapes the computation; `default`, `help` as of number."""
    return field(default, Count(help, low, high))


def choice(default: T, help: str, *, options: tuple[str, ...]) -> T:
    """A setting that is one of the words in `options`; `default` and `help` as of number."""
    return field(default, Choice(help, options))


def switch(default: T, help: str) -> T:
    """A setting that is true or false; `default` and `help` are as of number."""
    return field(default, Switch(help))


def specs(record: DataclassInstance | type[DataclassInstance]) -> Mapping[str, Spec]:
    """Field name → spec, for a record or its class."""
    return _specs(record if isinstance(record, type) else type(record))


@functools.cache  # every check, description and digest of a Run asks
def _specs(kind: type[DataclassInstance]) -> Mapping[str, Spec]:
    fields = {f.name: f.metadata["spec"] for f in dataclasses.fields(kind) if "spec" in f.metadata}
    return types.MappingProxyType(fields)


@functools.cache
def plain_defaults(kind: type[DataclassInstance]) -> Mapping[str, Json]:
    """Field name → default, as plain data."""
    with_spec = [f for f in dataclasses.fields(kind) if "spec" in f.metadata]
    return {f.name: plain(f.default) for f in with_spec if f.default is not dataclasses.MISSING}


class Checked(eqx.Module):
    """A record that refuses bad values when it is made (numbers under JAX's tracing pass unseen)."""

    def replaced(self: This, **fields: object) -> This:
        """Copy with `fields` replaced, without calling `__init__`: a class unpickled by Ray cannot be called."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__ | fields)
        return other

    def __check_init__(self) -> None:
        for name, spec in specs(self).items():
            value = getattr(self, name)
            if isinstance(value, PLAIN) or not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)):
                spec.check(name, value)


def checked(record: Record) -> Record:
    """The record with every field checked and normalised (1 becomes 1.0 in a number's place)."""
    changed = {}
    for name, spec in specs(record).items():
        given = getattr(record, name)
        value = spec.check(name, given)
        if type(value) is not type(given) or value != given:
            changed[name] = value
    return dataclasses.replace(record, **changed) if changed else record


def describe(record: DataclassInstance) -> dict[str, Json]:
    """The record as plain data for JSON: its fields but those that are None, a schedule as {"start": …, "stop": …}."""
    return {name: plain(value) for name in specs(record) if (value := getattr(record, name)) is not None}


def plain(value: Value) -> Json:
    if isinstance(value, Linear):
        return {"start": value.start, "stop": value.stop}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def unplain(value: Json) -> Json:
    """The inverse of `plain`."""
    if isinstance(value, dict) and set(value) == {"start", "stop"}:
        return Linear(value["start"], value["stop"])
    return tuple(unplain(each) for each in value) if isinstance(value, list) else value


def build(make: type[Record], values: dict[str, Json]) -> Record:
    """The inverse of `describe`: checks every name and value before anything is made of it."""
    known = specs(make)
    for name in values:
        if name not in known:
            raise refusal("field", name, f"fields of {make.__name__}: {', '.join(known) or 'none'}", known)
    return make(**{name: known[name].check(name, unplain(value)) for name, value in values.items()})
