"""A public name as a section of the site: how it is called, what it says of itself, its arguments and its members."""

import dataclasses
import functools
import inspect
import re
import sys

import coexplore
from coexplore.settings import specs

WITH_MEMBERS = {"Linear", "Moment", "Result", "Rule", "Run", "Task", "Tuned"}
# What engines, stores and studies call, and nobody else.
INTERNAL = {"holding", "listed", "pass_by", "replaced", "stored", "usual", "writer"}


def entry(name):
    thing = getattr(coexplore, name)
    parts = [called(name, thing), told(thing), arguments(thing)]
    return "\n\n".join(part for part in (*parts, members(thing) if name in WITH_MEMBERS else "") if part)


def called(name, thing):
    """The call with its defaults; of STOP, which is none, the name."""
    if not callable(thing):
        return f"```text\ncoexplore.{name}\n```"
    stars = {inspect.Parameter.VAR_KEYWORD: "**"}
    words = [
        stars.get(each.kind, "") + each.name + ("" if each.default is each.empty else f"={shown(each.default)}")
        for each in parameters(thing)
    ]
    line = f"coexplore.{name}({', '.join(words)})"
    if len(line) > 100:
        line = f"coexplore.{name}(\n    " + ",\n    ".join(words) + ",\n)"
    return f"```text\n{line}\n```"


def parameters(thing):
    """Those that a person gives; `source` and `given` are kept by what makes tasks again."""
    every = inspect.signature(thing).parameters.values()
    named = [each for each in every if each.kind not in (each.VAR_KEYWORD,) or not dataclasses.is_dataclass(thing)]
    return [each for each in named if each.name not in ("source", "given", "iterable")]


def shown(value):
    return re.sub(r"(?<=\w)\(.*\)$", "()", repr(value)) if dataclasses.is_dataclass(value) else repr(value)


def told(thing):
    """Its docstring. A rule or a task without one of its own has its file's, which opens with the equations."""
    if not callable(thing):
        return "What a callback answers to stop a run."
    own = inspect.getdoc(thing) or ""
    if own.startswith(f"{thing.__name__}("):  # made by dataclasses
        own = inspect.cleandoc(sys.modules[thing.__module__].__doc__)
    return own


def arguments(thing):
    """A table of those that are settings, which say what they are and what they may be."""
    if not (isinstance(thing, type) and dataclasses.is_dataclass(thing) and specs(thing)):
        return ""
    defaults = {each.name: each.default for each in parameters(thing)}
    rows = [
        f"| `{name}` | `{shown(defaults[name])}` | {cell(spec.help)} | {cell(spec.allowed)} |"
        for name, spec in specs(thing).items()
        if name in defaults
    ]
    return "\n".join(["| argument | default | what it is | what it may be |", "| --- | --- | --- | --- |", *rows])


def cell(text):
    return text.replace("|", "\\|")


def members(thing):
    rows = [f"| `{name}{call}` | {cell(' '.join(text.split()))} |" for name, call, text in documented(thing)]
    return "\n".join(["| of it | |", "| --- | --- |", *rows]) if rows else ""


def documented(kind):
    """Public members with a docstring: name, how it is called, what it says."""
    for name, value in vars(kind).items():
        plain = value.__func__ if isinstance(value, classmethod) else getattr(value, "method", value)
        read = plain.fget if isinstance(plain, property) else getattr(plain, "func", None)
        text = inspect.getdoc(read if isinstance(plain, property | functools.cached_property) else plain)
        is_call = inspect.isfunction(plain)
        if name.startswith("_") or name in INTERNAL or not text or not (is_call or read):
            continue
        words = [each.name for each in inspect.signature(plain).parameters.values()][1:] if is_call else []
        yield name, f"({', '.join(words)})" if is_call else "", text
