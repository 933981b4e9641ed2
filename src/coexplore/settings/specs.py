"""What one field may hold. A spec checks a value, parses the text of a flag, and shows a value as that text."""

import contextlib
import dataclasses
import math
import numbers
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, SupportsInt, TypeAlias, runtime_checkable

from coexplore.settings.refusals import refusal
from coexplore.settings.schedules import Linear, Schedulable

# What a field holds, once it is checked.
if TYPE_CHECKING:
    from coexplore.settings.records import Part

    Value: TypeAlias = "bool | int | str | Schedulable | Part | tuple[Value, ...] | None"
else:  # beartype knows no type that is made of itself
    Value = object

MOST = 2**31 - 1  # of any count: engines have 32 bits for it
LARGEST = 3.4e38  # number: engines have 32 bits for it


@runtime_checkable
class Spec(Protocol):
    """`check` and `parse` give the normalised value or raise a FieldError."""

    @property
    def help(self) -> str: ...
    @property
    def allowed(self) -> str: ...
    def check(self, name: str, value: object) -> Value: ...
    def parse(self, name: str, text: str) -> Value: ...
    def show(self, value: object) -> str: ...


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

    def check(self, name: str, value: object) -> Schedulable:
        if type(value) is Linear and self.schedule:  # the code of a subclass would be no part of the run
            start, stop = self.check(name, value.start), self.check(name, value.stop)
            return start if start == stop else Linear(start, stop)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise refusal(name, value, self.allowed)
        x = _as_float(value)
        if LARGEST < abs(x) < math.inf:
            raise refusal(name, value, f"at most {LARGEST:g}")
        if not (math.isfinite(x) and self.low <= x <= self.high) or (self.open_low and x == self.low):
            raise refusal(name, value, self.allowed)
        return x

    def parse(self, name: str, text: str) -> Schedulable:
        ends = text.split("..") if self.schedule else [text]
        try:
            values = [float(end) for end in ends]
        except ValueError:
            raise refusal(name, text, self.allowed) from None
        if len(values) > 2:
            raise refusal(name, text, self.allowed)
        return self.check(name, values[0] if len(values) == 1 else Linear(*values))

    def show(self, value: object) -> str:
        return f"{value.start}..{value.stop}" if isinstance(value, Linear) else f"{value}"


def _as_float(value: numbers.Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer with more than 308 digits
        return math.inf


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

    def check(self, name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value // 1:
            raise refusal(name, value, self.allowed)
        assert isinstance(value, SupportsInt)  # every number is that has no fraction
        whole = int(value)
        if whole > MOST and self.high is None:
            raise refusal(name, value, f"at most {MOST}")
        if whole < self.low or (self.high is not None and whole > self.high):
            raise refusal(name, value, self.allowed)
        return whole

    def parse(self, name: str, text: str) -> int:
        value: float = math.nan
        for kind in (float, int):  # 1e6 is a whole number too
            with contextlib.suppress(ValueError):
                value = kind(text)
        if isinstance(value, float) and not math.isfinite(value):
            raise refusal(name, text, self.allowed)
        return self.check(name, value)

    def show(self, value: object) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Choice:
    help: str
    options: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        return " | ".join(self.options)

    def check(self, name: str, value: object) -> str:
        if value not in self.options:
            raise refusal(name, value, self.allowed, self.options)
        return str(value)

    parse = check

    def show(self, value: object) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Text:
    help: str
    pattern: str
    allowed: str

    def check(self, name: str, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise refusal(name, value, self.allowed)
        return value

    parse = check

    def show(self, value: object) -> str:
        return str(value)


@dataclasses.dataclass(frozen=True)
class Switch:
    help: str
    allowed: str = "yes | no"

    def check(self, name: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise refusal(name, value, self.allowed)
        return value

    def parse(self, name: str, text: str) -> bool:
        if text not in ("yes", "no"):
            raise refusal(name, text, self.allowed, ("yes", "no"))
        return text == "yes"

    def show(self, value: object) -> str:
        return "yes" if value else "no"


def checked_path(name: str, given: object) -> Path:
    """Where something is or will be, as somebody gives it."""
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else b""
    if not isinstance(path, str) or "\0" in path:
        raise refusal(name, given, "a path, as text or pathlib has it")
    return Path(path)
