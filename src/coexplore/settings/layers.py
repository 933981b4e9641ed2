"""Settings that may differ from layer to layer: `64-32` units, rates of `.01/.001`, a coupling of `0.25/0.1`."""

import dataclasses
import re

from coexplore.settings.records import OneOf
from coexplore.settings.refusals import FieldError, refusal
from coexplore.settings.schedules import Schedulable
from coexplore.settings.specs import MOST, Choice, Count, Number, Spec, Value

MOST_LAYERS = 100  # more would take hours to compile


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of each layer; with `bare`, one layer is a number and not a tuple of one; `optional`: or None."""

    help: str
    bare: bool = False
    optional: bool = False
    allowed: str = "whole numbers of at least 1, such as 64, or 64-32 for two layers"

    def check(self, name: str, value: object) -> int | tuple[int, ...] | None:
        if value is None and self.optional:
            return None
        layers = value if isinstance(value, tuple | list) else (value,)
        if len(layers) > MOST_LAYERS:
            raise refusal(name, value, f"at most {MOST_LAYERS} layers")
        try:
            layers = tuple(Count("", low=1, high=MOST).check(name, N) for N in layers)
        except FieldError:
            layers = ()
        if not layers:
            raise refusal(name, value, self.allowed)
        return layers[0] if self.bare and len(layers) == 1 else layers

    def parse(self, name: str, text: str) -> int | tuple[int, ...] | None:
        if not re.fullmatch(r"[0-9]{1,20}(-[0-9]{1,20})*", text):
            raise refusal(name, text, self.allowed)
        return self.check(name, [int(N) for N in text.split("-")])

    def show(self, value: object) -> str:
        return "-".join(map(str, value if isinstance(value, tuple) else (value,)))


@dataclasses.dataclass(frozen=True)
class Rates:
    """One learning rate, or one for each hidden layer, the output and (where there is one) the critic or its layers.

    A part whose rate is 0 keeps the parameters that it starts with. At least one rate is above 0 at some time.
    """

    help: str
    one: Number = Number("", low=0.0, schedule=True)
    allowed: str = (
        "a finite number above 0, or a schedule such as 0.4..0.1, "
        "or one for each part of the network as .01/.001/.0001, where 0 keeps a part as it starts"
    )

    def check(self, name: str, value: object) -> Schedulable | tuple[Schedulable, ...]:
        rates = value if isinstance(value, tuple | list) and value else (value,)
        try:
            rates = tuple(self.one.check(name, rate) for rate in rates)
        except FieldError:
            raise refusal(name, value, self.allowed) from None
        if not any(rate != 0 for rate in rates):
            raise refusal(name, rates[0] if len(rates) == 1 else rates, self.allowed)
        return rates[0] if len(rates) == 1 else rates

    def parse(self, name: str, text: str) -> Schedulable | tuple[Schedulable, ...]:
        try:
            rates = [self.one.parse(name, part) for part in text.split("/")]
        except FieldError:
            raise refusal(name, text, self.allowed) from None
        return self.check(name, rates)

    def show(self, value: object) -> str:
        return "/".join(map(self.one.show, value if isinstance(value, tuple) else (value,)))


@dataclasses.dataclass(frozen=True)
class Positive:
    """A number above 0, or one for each layer."""

    help: str
    one: Number = Number("", low=0.0, open_low=True)
    allowed: str = "a finite number above 0, or one for each layer as .003/.01/.05"

    def check(self, name: str, value: object) -> float | tuple[float, ...]:
        layers = value if isinstance(value, tuple | list) and value else (value,)
        try:
            numbers = tuple(float(self.one.check(name, each)) for each in layers)
        except FieldError:
            raise refusal(name, value, self.allowed) from None
        return numbers[0] if len(numbers) == 1 else numbers

    def parse(self, name: str, text: str) -> float | tuple[float, ...]:
        return self.check(name, [self.one.parse(name, part) for part in text.split("/")])

    def show(self, value: object) -> str:
        return "/".join(map(str, value if isinstance(value, tuple) else (value,)))


@dataclasses.dataclass(frozen=True)
class EachLayer:
    """A rule's setting: one value, or one for each of the layers whose rule has it."""

    one: Spec

    @property
    def help(self) -> str:
        return self.one.help

    @property
    def allowed(self) -> str:
        return self.one.allowed

    def beside(self, other: Spec) -> "EachLayer":
        """For layers whose rules call a setting the same: what either allows. Each rule still checks its own."""
        if isinstance(self.one, Choice) and isinstance(other, Choice):
            return EachLayer(Choice(other.help, tuple(dict.fromkeys((*self.one.options, *other.options)))))
        if isinstance(self.one, OneOf) and isinstance(other, OneOf):
            without = tuple(name for name in self.one.without if name in other.without)
            return EachLayer(OneOf(other.help, tuple(dict.fromkeys((*self.one.options, *other.options))), without))
        return EachLayer(other)

    def check(self, name: str, value: object) -> Value:
        if isinstance(value, tuple):
            return tuple(self.one.check(name, each) for each in value)
        return self.one.check(name, value)

    def parse(self, name: str, text: str) -> Value:
        parts = tuple(self.one.parse(name, part) for part in text.split("/"))
        return parts[0] if len(parts) == 1 else parts

    def show(self, value: object) -> str:
        return "/".join(map(self.one.show, value)) if isinstance(value, tuple) else self.one.show(value)
