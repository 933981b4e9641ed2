"""The fields that a Run is made of: what each may hold, how it is checked, written and read.

A rule, a task or a critic declares its fields with `number`, `count` and `choice`; the checks,
the JSON, the command line's flags and the help texts all follow from that one declaration.
"""

import dataclasses
import difflib
import math
import numbers
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Float


class FieldError(ValueError):
    """A field holds a value that it may not hold; the message is one line for the user."""


class Linear(eqx.Module):
    """A number that moves in a straight line from `start` at the first update to `stop` at the last."""

    start: "float | int | Float[Array, '']"
    stop: "float | int | Float[Array, '']"

    def at(self, progress: "float | Float[Array, '']") -> Any:
        """start + (stop − start)·progress, progress running from 0 to 1."""
        return self.start + (self.stop - self.start) * progress


Record = TypeVar("Record")
if TYPE_CHECKING:
    Scalar = Any  # a schedule in a Run, a plain number by the time a rule computes with it
else:
    Scalar = float | int | Linear | Float[Array, ""]


@runtime_checkable
class Spec(Protocol):
    """What a field may hold. `check` returns the normalised value or raises a FieldError."""

    @property
    def help(self) -> str: ...
    @property
    def allowed(self) -> str: ...
    def check(self, name: str, value: Any) -> Any: ...
    def parse(self, name: str, text: str) -> Any: ...
    def show(self, value: Any) -> str: ...


def refuse(name: str, value: object, allowed: str, options: Iterable[str] = ()) -> FieldError:
    near = difflib.get_close_matches(str(value), list(options), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return FieldError(f"{name}: {value!r} is not allowed{hint}; give {allowed}")


@dataclasses.dataclass(frozen=True)
class Number:
    help: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    schedule: bool = False

    @property
    def allowed(self) -> str:
        if self.high < math.inf:
            words = f"a number from {self.low:g} to {self.high:g}"
        else:
            words = f"a finite number {'above' if self.open_low else 'of at least'} {self.low:g}"
        return words + (", or a schedule such as 0.4..0.1" if self.schedule else "")

    def check(self, name: str, value: Any) -> Any:
        if isinstance(value, Linear) and self.schedule:
            start, stop = self.check(name, value.start), self.check(name, value.stop)
            return start if start == stop else Linear(start, stop)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise refuse(name, value, self.allowed)
        x = float(value)
        if not (math.isfinite(x) and self.low <= x <= self.high) or (self.open_low and x == self.low):
            raise refuse(name, value, self.allowed)
        return x

    def parse(self, name: str, text: str) -> Any:
        ends = text.split("..") if self.schedule else [text]
        try:
            values = [float(end) for end in ends]
        except ValueError:
            raise refuse(name, text, self.allowed) from None
        if len(values) > 2:
            raise refuse(name, text, self.allowed)
        return self.check(name, values[0] if len(values) == 1 else Linear(*values))

    def show(self, value: Any) -> str:
        return f"{value.start}..{value.stop}" if isinstance(value, Linear) else f"{value}"


@dataclasses.dataclass(frozen=True)
class Count:
    help: str
    low: int = 0
    high: int | None = None

    @property
    def allowed(self) -> str:
        if self.high is None:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"

    def check(self, name: str, value: Any) -> int:
        whole = isinstance(value, numbers.Real) and not isinstance(value, bool) and value == value // 1
        if not whole or value < self.low or (self.high is not None and value > self.high):
            raise refuse(name, value, self.allowed)
        return int(value)

    def parse(self, name: str, text: str) -> int:
        try:
            value: float = int(text)
        except ValueError:
            try:
                value = float(text)  # 1e6 is a whole number too
            except ValueError:
                raise refuse(name, text, self.allowed) from None
        return self.check(name, value)

    def show(self, value: Any) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Choice:
    help: str
    options: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        return " | ".join(self.options)

    def check(self, name: str, value: Any) -> str:
        if value not in self.options:
            raise refuse(name, value, self.allowed, self.options)
        return str(value)

    parse = check

    def show(self, value: Any) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of each layer; with `bare`, one layer is a number and not a tuple of one."""

    help: str
    bare: bool = False
    allowed: str = "whole numbers of at least 1, such as 64, or 64-32 for two layers"

    def check(self, name: str, value: Any) -> Any:
        layers = value if isinstance(value, tuple | list) else (value,)
        try:
            layers = tuple(Count("", low=1).check(name, N) for N in layers)
        except FieldError:
            layers = ()
        if not layers:
            raise refuse(name, value, self.allowed)
        return layers[0] if self.bare and len(layers) == 1 else layers

    def parse(self, name: str, text: str) -> Any:
        if not re.fullmatch(r"[0-9]+(-[0-9]+)*", text):
            raise refuse(name, text, self.allowed)
        return self.check(name, [int(N) for N in text.split("-")])

    def show(self, value: Any) -> str:
        return "-".join(map(str, value if isinstance(value, tuple) else (value,)))


@dataclasses.dataclass(frozen=True)
class Text:
    help: str
    pattern: str
    allowed: str

    def check(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise refuse(name, value, self.allowed)
        return value

    parse = check

    def show(self, value: Any) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Switch:
    help: str
    allowed: str = "yes | no"

    def check(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse(name, value, self.allowed)
        return value

    def parse(self, name: str, text: str) -> bool:
        if text not in ("yes", "no"):
            raise refuse(name, text, self.allowed, ("yes", "no"))
        return text == "yes"

    def show(self, value: Any) -> str:
        return "yes" if value else "no"


def field(default: Any, spec: Spec, static: bool = True) -> Any:
    """A dataclass field with its spec; static fields are structure, the others numbers that an engine may trace."""
    return eqx.field(default=default, static=static, metadata={"spec": spec})


def number(
    default: float,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    schedule: bool = False,
) -> Any:
    return field(default, Number(help, low, high, open_low, schedule), static=False)


def count(default: int, help: str, *, low: int = 0, high: int | None = None) -> Any:
    return field(default, Count(help, low, high))


def choice(default: str, help: str, *, options: tuple[str, ...]) -> Any:
    return field(default, Choice(help, options))


def switch(default: bool, help: str) -> Any:
    return field(default, Switch(help))


def specs(record: Any) -> dict[str, Spec]:
    """Field name → spec, for a record or its class."""
    return {f.name: f.metadata["spec"] for f in dataclasses.fields(record) if "spec" in f.metadata}


def defaults(record: Any) -> dict[str, Any]:
    return {f.name: f.default for f in dataclasses.fields(record) if "spec" in f.metadata}


class Checked(eqx.Module):
    """A record that refuses bad values when it is made (numbers under JAX's tracing pass unseen)."""

    def __check_init__(self) -> None:
        for name, spec in specs(self).items():
            value = getattr(self, name)
            if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)):
                spec.check(name, value)


def checked(record: Record) -> Record:
    """The record with every field checked and normalised (1 becomes 1.0 in a number's place)."""
    values = {name: spec.check(name, getattr(record, name)) for name, spec in specs(record).items()}
    return dataclasses.replace(record, **values)  # type: ignore[type-var]


def describe(record: Any) -> dict[str, Any]:
    """The record as plain data for JSON: its fields, a schedule as {"start": …, "stop": …}."""
    return {name: plain(getattr(record, name)) for name in specs(record)}


def plain(value: Any) -> Any:
    if isinstance(value, Linear):
        return {"start": value.start, "stop": value.stop}
    return [plain(v) for v in value] if isinstance(value, tuple) else value


def unplain(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"start", "stop"}:
        return Linear(value["start"], value["stop"])
    return tuple(unplain(v) for v in value) if isinstance(value, list) else value


def build(make: type[Record], values: dict[str, Any]) -> Record:
    """The inverse of `describe`: checks every name and value before anything is made of it."""
    known = specs(make)
    for name in values:
        if name not in known:
            raise refuse("field", name, f"fields of {make.__name__}: {', '.join(known) or 'none'}", known)
    return make(**{name: known[name].check(name, unplain(value)) for name, value in values.items()})
