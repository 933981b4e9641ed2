"""Records whose fields have specs: declared, checked, turned into plain data and made again from it.

A field holds a value, or a part: one of a few small records with settings of their own. A person and a file meet the
settings of a record flat, those of a part prefixed with the name of the field that holds it:

    Boltzmann(baseline=Predicted(pairs=0.5))   ↔   {"baseline": "predicted", "baseline_pairs": 0.5}
"""

import dataclasses
import functools
import math
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

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


# Declaring ------------------------------------------------------------------------------------------------------------


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


def part(default: T, help: str, *, options: tuple[type["Part"], ...], without: tuple[str, ...] = ()) -> T:
    """A setting that holds one of the parts in `options`, given by keyword; `default` and `help` as of number.

    `without`: settings of these parts that have no effect in this record. A part may be given by its name.

    Raises:
        TypeError: if an option is no Part, or has no name of its own.
    """
    for option in options:
        if not (isinstance(option, type) and issubclass(option, Part)):
            raise TypeError(f"options: {option!r} is not allowed; give subclasses of Part")
        if not isinstance(getattr(option, "name", None), str):
            raise TypeError(f"{option.__name__}.name: the part has none; give one, as name = 'running-mean'")
    named = {option.name: option for option in options}
    if len(named) < len(options):
        names = ", ".join(option.name for option in options)
        raise TypeError(f"options: {names}: two parts have one name; give each its own")
    return eqx.field(
        default=default,
        kw_only=True,
        converter=lambda given: named[given]() if isinstance(given, str) and given in named else given,
        metadata={"spec": OneOf(help, options, without)},
    )


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


class Part(Checked):
    """A piece of a record: one of the choices that a field has, by its name, with settings of its own."""

    name: ClassVar[str]


@dataclasses.dataclass(frozen=True)
class OneOf:
    """The spec of a field that holds a part."""

    help: str
    options: tuple[type[Part], ...]
    without: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        return " | ".join(option.name for option in self.options)

    def check(self, name: str, value: object) -> Part:
        """The part itself, or by its name with every setting at its default."""
        if isinstance(value, str):
            return next(option() for option in self.options if option.name == self.parse(name, value))
        if not isinstance(value, Part):
            raise refusal(name, value, self.allowed)
        if type(value) not in self.options:
            names = [option.name for option in self.options]  # a subclass may have the name of one
            raise refusal(name, value if value.name in names else value.name, self.allowed)
        for setting in self.without:
            if setting in specs(value) and getattr(value, setting) != _defaults(type(value))[setting]:
                raise refusal(f"{name}_{setting}", getattr(value, setting), "it to a rule in which it has an effect")
        return value

    def parse(self, name: str, text: str) -> str:
        """The name of a part: a record that gets it keeps the settings which the old and the new part share."""
        names = [option.name for option in self.options]
        if text not in names:
            raise refusal(name, text, self.allowed, names)
        return text

    def show(self, value: object) -> str:
        return value.name if isinstance(value, Part) else str(value)

    def settings(self, kind: type[Part]) -> Mapping[str, Spec]:
        """The settings of one of the parts that have an effect here."""
        return {name: spec for name, spec in specs(kind).items() if name not in self.without}

    def having(self, setting: str) -> list[str]:
        """Names of the parts that have a setting."""
        return [option.name for option in self.options if setting in self.settings(option)]

    def check_has(self, name: str, chosen: Part, setting: str, value: object) -> None:
        """Check that the part has a setting, which in another one would be without effect."""
        if setting not in self.settings(type(chosen)):
            having = " or ".join(self.having(setting))
            raise refusal(f"{name}_{setting}", value, f"it with {name} {having}, not {chosen.name}")


# What a record has ----------------------------------------------------------------------------------------------------


def specs(record: DataclassInstance | type[DataclassInstance]) -> Mapping[str, Spec]:
    """Field name → spec, for a record or its class."""
    return _specs(record if isinstance(record, type) else type(record))


@functools.cache  # every check, description and digest of a Run asks
def _specs(kind: type[DataclassInstance]) -> Mapping[str, Spec]:
    fields = {f.name: f.metadata["spec"] for f in dataclasses.fields(kind) if "spec" in f.metadata}
    return types.MappingProxyType(fields)


@functools.cache
def flat_specs(kind: type[DataclassInstance]) -> Mapping[str, Spec]:
    """Every setting that records of a class may have, by its flat name."""
    found: dict[str, Spec] = {}
    for name, spec in specs(kind).items():
        found[name] = spec
        if isinstance(spec, OneOf):
            every = [each for option in spec.options for each in spec.settings(option).items()]
            found |= {f"{name}_{own}": each for own, each in every}
    return types.MappingProxyType(found)


def flat_values(record: DataclassInstance) -> dict[str, Value]:
    """The settings that this record has, by their flat names: those of its parts too, and of no other parts."""
    return dict(_flat_values(record))


def _flat_values(record: DataclassInstance) -> Iterator[tuple[str, Value]]:
    for name, spec in specs(record).items():
        value = getattr(record, name)
        yield name, value
        if isinstance(spec, OneOf):
            yield from ((f"{name}_{own}", getattr(value, own)) for own in spec.settings(type(value)))


def parts_in(record: DataclassInstance) -> list[Part]:
    """The parts that a record holds."""
    return [value for value in (getattr(record, name) for name in specs(record)) if isinstance(value, Part)]


def kinds_of_parts(kind: type[DataclassInstance]) -> list[type[Part]]:
    """The classes of all parts that records of a class may hold."""
    return [option for spec in specs(kind).values() if isinstance(spec, OneOf) for option in spec.options]


def checked(record: Record) -> Record:
    """The record with every field checked and normalised (1 becomes 1.0 in a number's place)."""
    changed = {}
    for name, spec in specs(record).items():
        given = getattr(record, name)
        value = spec.check(name, given)
        value = checked(value) if isinstance(value, Part) else value
        same = value is given if isinstance(value, Part) else value == given  # parts of 1 and of 1.0 are equal
        if type(value) is not type(given) or not same:
            changed[name] = value
    return dataclasses.replace(record, **changed) if changed else record


def with_setting(record: Record, name: str, value: object) -> Record:
    """The record with one setting changed, by its flat name. A new part keeps the settings that it shares with the old.

    Raises:
        FieldError: if the record has no such setting; also if its part has not, though another one would have it.
    """
    for field_name, spec in specs(record).items():
        old = getattr(record, field_name)
        setting = name.removeprefix(f"{field_name}_")
        if name == field_name:
            new = spec.check(name, value)
            if isinstance(spec, OneOf) and isinstance(new, Part) and isinstance(value, str):
                shared = spec.settings(type(old)).keys() & spec.settings(type(new)).keys()
                new = dataclasses.replace(new, **{each: getattr(old, each) for each in shared})
            return dataclasses.replace(record, **{name: new})
        if isinstance(spec, OneOf) and setting != name and spec.having(setting):
            spec.check_has(field_name, old, setting, value)
            return dataclasses.replace(record, **{field_name: dataclasses.replace(old, **{setting: value})})
    raise refusal("setting", name, f"one of {', '.join(flat_specs(type(record)))}", flat_specs(type(record)))


# Plain data -----------------------------------------------------------------------------------------------------------


def describe(record: DataclassInstance) -> dict[str, Json]:
    """The record as plain data for JSON: its settings by flat name, but those that are None; a schedule as
    {"start": …, "stop": …}."""
    return {name: plain(value) for name, value in _flat_values(record) if value is not None}


def differing(record: DataclassInstance) -> dict[str, Json]:
    """The settings that are not at their default, as plain data. Those of a part have the defaults of that part."""
    usual = plain_defaults(type(record))
    for name, spec in specs(record).items():
        if isinstance(spec, OneOf):
            chosen: type[Part] = type(getattr(record, name))
            usual |= {f"{name}_{own}": plain(_defaults(chosen)[own]) for own in spec.settings(chosen)}
    return {name: value for name, value in describe(record).items() if value != usual[name]}


def plain_defaults(kind: type[DataclassInstance]) -> dict[str, Json]:
    """Field name → default, as plain data."""
    return {name: plain(value) for name, value in _defaults(kind).items()}


@functools.cache
def _defaults(kind: type[DataclassInstance]) -> Mapping[str, Value]:
    with_spec = [f for f in dataclasses.fields(kind) if "spec" in f.metadata]
    return {f.name: f.default for f in with_spec if f.default is not dataclasses.MISSING}


def plain(value: Value) -> Json:
    if isinstance(value, Linear):
        return {"start": value.start, "stop": value.stop}
    if isinstance(value, Part):
        return value.name
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def unplain(value: Json) -> Json:
    """The inverse of `plain`."""
    if isinstance(value, dict) and set(value) == {"start", "stop"}:
        return Linear(value["start"], value["stop"])
    return tuple(unplain(each) for each in value) if isinstance(value, list) else value


def build(make: type[Record], values: Mapping[str, Json]) -> Record:
    """The inverse of `describe` and of `differing`: checks every name and value before anything is made of it."""
    known = flat_specs(make)
    for name in values:
        if name not in known:
            raise refusal("field", name, f"fields of {make.__name__}: {', '.join(known) or 'none'}", known)
    fields: dict[str, object] = {}
    for name, spec in specs(make).items():
        if isinstance(spec, OneOf):
            fields[name] = _built_part(spec, name, values, _defaults(make)[name])
        elif name in values:
            fields[name] = spec.check(name, unplain(values[name]))
    return make(**fields)


def _built_part(spec: OneOf, name: str, values: Mapping[str, Json], default: Value | Part) -> Part:
    """The part that these flat names mean."""
    chosen = spec.check(name, values.get(name, default))
    own = {}
    for flat, given in values.items():
        setting = flat.removeprefix(f"{name}_")
        if setting != flat and spec.having(setting):
            spec.check_has(name, chosen, setting, given)
            own[setting] = specs(chosen)[setting].check(flat, unplain(given))
    made = dataclasses.replace(chosen, **own)
    return default if isinstance(default, Part) and made == default else made  # what repr leaves out
