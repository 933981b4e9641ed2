"""Rules and tasks as plain data: their fields, and the name by which they are found again."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from coexplore import variants
from coexplore.rules import Rule
from coexplore.rules.renamed import advice, written_now
from coexplore.run.editions import edition_of, may_have_edition, with_told_edition
from coexplore.run.upgrade import upgraded
from coexplore.settings import (
    FieldError,
    Json,
    Unknown,
    build,
    describe,
    differing,
    is_ours,
    parts_in,
    reason,
    refusal,
    shown,
    specs,
)
from coexplore.tasks.base import AnyTask, Task

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

Part = TypeVar("Part", Rule, AnyTask)
SETTINGS = "a setting made with number, count, choice or switch"
ARRAYS = "; large arrays are what `load` gives"


def check_named(kind: str, part: Rule | AnyTask) -> None:
    """What every rule and every task must say of itself."""
    for name in ("name", "title"):
        if not isinstance(value := asked(kind, part, name), str):
            raise refusal(f"{type(part).__name__}.{name}", value, "a text")
    for name in ("batch", "episodes") if kind == "task" else ():
        asked(kind, part, name)  # what they may be, the Run will see
    check_fields(part)


def check_fields(part: Rule | AnyTask) -> None:
    """Check that the settings of a user's class, and of the parts it holds, are all that distinguishes its objects.

    Raises:
        FieldError: if a field has no spec, or if a custom `__init__` does not take the settings by their names.
    """
    for record in (part, *parts_in(part)):
        if not is_ours(type(record)):
            _check_own_fields(record)


def _check_own_fields(part: "DataclassInstance") -> None:
    kind = type(part)
    ours = {field.name for base in kind.__mro__ if is_ours(base) and dataclasses.is_dataclass(base)
            for field in dataclasses.fields(base)}  # fmt: skip
    for name in (*(field.name for field in dataclasses.fields(kind)), *vars(part)):
        if name not in ours and name not in specs(kind):
            wanted = SETTINGS + ARRAYS * isinstance(part, Task)
            raise refusal(f"{kind.__name__}.{name}", "a field without a spec", wanted)
    settings = describe(part)
    try:
        same = describe(build(kind, settings)) == settings
    except (Exception, SystemExit) as error:
        raise FieldError(
            f"{kind.__name__}.__init__: it must take every setting by its name ({reason(error)})"
        ) from None
    if not same:
        raise FieldError(f"{kind.__name__}.__init__: it must leave every setting as it is given")


def asked(kind: str, part: Rule | AnyTask, name: str) -> Json:
    """What a part says of itself; if it cannot, a line tells why."""
    try:
        return getattr(part, name)
    except FieldError:
        raise
    except (Exception, SystemExit) as error:
        raise FieldError(f"{kind}: {type(part).__name__} does not say its {name}: {reason(error)}") from error


def describe_named(part: Rule | AnyTask) -> dict[str, Json]:
    """The part as plain data: its name, what tells it from others of that name, every setting."""
    return {**_identity(part), **describe(part)}


def named(part: Rule | AnyTask) -> dict[str, Json]:
    """Its name, what tells it from others of that name, and the settings that are not at their defaults."""
    return {**_identity(part), **differing(part)}


def _identity(part: Rule | AnyTask) -> dict[str, Json]:
    variant = {"variant": part.variant} if isinstance(part, Rule) and part.variant else {}
    return {"name": part.name, **variant, **edition_of(part)}


def build_named(data: Json, find: Callable[[str], type[Part]], from_file: bool = False) -> Part:
    """The inverse of `describe_named` and of `named`.

    A description in a file keeps its edition, even if that is unknown, and may have former names.
    """
    data = dict(data)
    kind: type[Json] = find(data["name"])
    if is_ours(kind) and issubclass(kind, Rule):
        data = upgraded(data) if from_file else data
        check_names(kind.name, data)
        if variant := data.pop("variant", None):
            kind = variants.find(kind.name, variant)
    del data["name"]
    told = data.pop("edition", None) if may_have_edition(kind) else None
    try:
        part = build(kind, data)
        return with_told_edition(part, told, from_file) if may_have_edition(kind) else part
    except (FieldError, TypeError) as error:
        if is_ours(kind):
            raise
        raise Unknown(f"{kind.name!r} is another here than where it was written: {error}") from None


def check_names(rule: str, data: Mapping[str, Json]) -> None:
    """Check that a person's description of a rule of ours has no former setting.

    Raises:
        FieldError: if it has one; the line says how it is written now.
    """
    for name, value in data.items():
        if now := advice(rule, name, value):
            raise written_now(f"{name}: {shown(value)}", now)
