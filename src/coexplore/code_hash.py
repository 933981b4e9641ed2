"""A hash of what a user's classes and functions do.

It changes where the code computes something else, and with no comment, docstring, type hint or place in the file. It
is over compiled code and not over source text, which a notebook, a REPL or a worker of a cluster may not have:
instructions with the constants and names that they use, nested code included, and for classes the values of plain
attributes. Whatever this code names is followed as far as it is the user's own: other functions, classes, modules and
values. Of installed packages only names count, and files that the code reads are not seen. Values that the code itself
changes, such as a counter or a cache, count as they were when this process first saw them.
"""

import bisect
import collections
import contextlib
import dataclasses
import dis
import functools
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LENGTH = 16  # hexadecimal digits: 64 bits
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
IGNORED = {"EXTENDED_ARG", "NOP", "CACHE"}  # instructions that depend on line numbers or on the size of the code
LABELS = {"__doc__", "__firstlineno__", "__static_attributes__"}  # what the body of a class stores about itself
SIGNATURE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
FOR_PEOPLE = {"name", "title"}  # attributes of a rule or a task that change nothing it computes
GENERATED = "__create_fn__"  # where dataclasses write methods
GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
OUTER = {*GLOBALS, "LOAD_DEREF"}
METHODS = {"LOAD_METHOD", "LOAD_ATTR"}
CHANGING = {"add", "append", "appendleft", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}
MAKERS = {"__init__", "__post_init__", "__new__"}
CONTAINERS = (list, dict, set, collections.deque)
OF_MODULES = {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__builtins__"}
MAIN = ("__main__", "__mp_main__")
PACKAGES = {"site-packages", "dist-packages"}
OURS = "coexplore"
_first_seen: dict[tuple[int, str], tuple[object, str]] = {}  # of values that code changes; the owner is held


def code_hash(*code: object, parts: dict[object, str] | None = None) -> str:
    """Hash what these classes, functions or values do.

    Args:
        code: what is hashed.
        parts: gets the hash of every function and class that was followed, if it is given.

    Raises:
        RecursionError: if what the code names is nested too deeply to be followed.
    """
    hashes = _Hashes(code, _Hashes(code).names_changed())
    found = [f"{sys.version_info[0]}.{sys.version_info[1]}", *map(hashes.of, code)]
    if parts is not None:
        parts |= {x: own for own, x in hashes.known.values() if isinstance(x, types.FunctionType | type)}
    return hashlib.sha256(repr(found).encode()).hexdigest()[:LENGTH]


def is_own(module: str | None) -> bool:
    """Whether a module is the user's own: neither ours, nor Python's, nor of an installed package."""
    package = _package(module)
    if package in (OURS, *sys.stdlib_module_names):
        return False
    return package in MAIN or PACKAGES.isdisjoint(part for place in _places(package) for part in Path(place).parts)


def _places(package: str) -> list[str]:
    """Files and folders of a package, imported or not; none if it was never in a file."""
    found = sys.modules.get(package)
    if found is None:
        spec = importlib.util.find_spec(package)
        return [place for place in (spec.origin, *(spec.submodule_search_locations or ())) if place] if spec else []
    return [place for place in (getattr(found, "__file__", None), *getattr(found, "__path__", ())) if place]


def _package(module: str | None) -> str:
    return (module or "__main__").partition(".")[0]


class _Hashes:
    """Hashes of objects, each worked out once. The packages that define `code` are the user's own in any case."""

    def __init__(self, code: Sequence[object], changed: Collection[str] = ()) -> None:
        self.given, self.changed, self.changes = code, changed, set[str]()
        modules = (getattr(each, "__module__", None) or type(each).__module__ for each in code)
        self.homes = {*map(_package, modules)} - {OURS, "builtins"}
        self.roots = {base for each in code if isinstance(each, type) for base in each.__mro__}
        self.known: dict[int, tuple[str, object]] = {}  # by id; the object is held, so that its id stays its own
        self.stack: list[int] = []

    def names_changed(self) -> set[str]:
        """Names of attributes and variables that any of the code followed from `code` changes."""
        for each in self.given:
            self.of(each)
        return self.changes

    def value(self, owner: object, name: str, x: Any) -> str:
        """The hash of an attribute or a variable; of one that the code changes, as this process first saw it."""
        if name not in self.changed or isinstance(x, types.FunctionType | type | types.ModuleType):
            return self.of(x)
        key = (x, "") if isinstance(x, CONTAINERS) else (owner, name)  # a container is changed in place
        first = _first_seen.setdefault((id(key[0]), key[1]), (key[0], self.of(x)))
        return first[1]

    def of(self, x: Any) -> str:
        """The hash of any object; of one that contains itself, how far up it stands."""
        if type(x) in PLAIN:
            return f"{type(x).__name__} {hex(x) if type(x) is int else repr(x)}"
        if id(x) in self.stack:
            return f"again {len(self.stack) - self.stack.index(id(x))}"
        if id(x) not in self.known:
            self.stack.append(id(x))
            try:
                parts = [type(x).__qualname__, *map(str, self.parts(x))]
            finally:
                self.stack.pop()
            self.known[id(x)] = hashlib.sha256(repr(parts).encode()).hexdigest(), x
        return self.known[id(x)][0]

    def parts(self, x: Any) -> Iterator[str]:
        """What distinguishes an object: strings to be hashed together."""
        read = next((read for kind, read in READERS if isinstance(x, kind)), None)
        if read:
            yield from read(self, x)
        elif hasattr(type(x), "__array__"):
            yield from self.array(x)
        elif type(x).__name__ == "PjitFunction":
            yield from self.jitted(x)
        elif name := self.public_name(x):
            yield name
        else:
            yield from self.instance(x)

    def is_own(self, module: str | None) -> bool:
        return _package(module) in self.homes or is_own(module)

    # Code

    def code(self, code: types.CodeType, names: Mapping[str, Any]) -> Iterator[str]:
        """The instructions, jumps by the place that they lead to; then what the names that they load stand for."""
        steps = _instructions(code)
        self.changes |= set(_changed_by(code, steps))
        places = [step.offset for step in steps]
        for step in steps:
            if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                yield f"{step.opname} {bisect.bisect_left(places, step.argval)}"
            elif isinstance(step.argval, types.CodeType):
                yield from self.code(step.argval, names)
            else:
                yield f"{step.opname} {self.of(step.argval)}"
        yield f"{code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount} {code.co_flags & SIGNATURE}"
        yield code.co_exceptiontable.hex()
        loaded = {step.argval for step in steps if step.opname in GLOBALS} & set(names) - OF_MODULES
        yield from self.followed(names, loaded, code)
        for module in self.imported(steps, names):
            yield from self.followed(vars(module), code.co_names, code)

    def followed(self, names: Mapping[str, Any], used: Iterable[str], code: types.CodeType) -> Iterator[str]:
        """The values of the names used; of the user's own modules among them, what the code may use of those."""
        for name in sorted(set(used) & set(names)):
            x = names[name]
            if isinstance(x, types.ModuleType) and self.is_own(x.__name__):
                yield from self.followed(vars(x), code.co_names, code)
            else:
                yield self.value(names, name, x)

    def imported(self, steps: list[dis.Instruction], names: Mapping[str, Any]) -> Iterator[types.ModuleType]:
        """The user's own modules that the code imports when it is called."""
        for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                with contextlib.suppress(Exception):  # the code itself will tell what is wrong
                    name = importlib.util.resolve_name("." * level.argval + step.argval, names.get("__package__"))
                    if self.is_own(name):
                        yield importlib.import_module(name)

    def function(self, f: types.FunctionType) -> Iterator[str]:
        """A function of the user's own by its code; of a package's, its name and what its maker was given."""
        own = self.is_own(f.__module__)
        if not own and "<locals>" not in f.__qualname__:
            yield _full_name(f.__module__, f.__qualname__)
            return
        yield from self.code(f.__code__, f.__globals__) if own else [_full_name(f.__module__, f.__qualname__)]
        yield from map(self.of, (f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)))
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # a cell that is still empty
                yield from self.followed({name: cell.cell_contents}, [name], f.__code__)

    def jitted(self, x: Any) -> Iterator[str]:
        """A function that JAX has compiled, by its state: one that another process has sent has no `__wrapped__`."""
        state = x.__getstate__()
        yield from map(self.of, (state["fun"], state["static_argnums"], state["static_argnames"]))

    def kind(self, kind: type) -> Iterator[str]:
        """A class: what it and its parents of the user's own define, and the names of their other parents."""
        if not self.is_own(kind.__module__):
            yield _full_name(kind.__module__, kind.__qualname__)
            return
        for each in kind.__mro__:
            if self.is_own(each.__module__):
                others = [base for base in each.__bases__ if not self.is_own(base.__module__)]
                yield f"class {[_full_name(base.__module__, base.__qualname__) for base in others]}"
                for name, member in sorted(vars(each).items()):
                    if _is_written(name, member) and not (name in FOR_PEOPLE and each in self.roots):
                        yield f"{name} {self.value(each, name, member)}"

    # Values

    def items(self, x: Iterable[Any]) -> Iterator[str]:
        yield from map(self.of, x)

    def mapping(self, x: Mapping[Any, Any]) -> Iterator[str]:
        for key, value in x.items():
            yield f"{self.of(key)} {self.of(value)}"

    def array(self, x: Any) -> Iterator[str]:
        """Type, shape and bytes; of JAX's keys, their data."""
        with contextlib.suppress(Exception):
            if str(getattr(x, "dtype", "")).startswith("key<"):
                x = sys.modules["jax"].random.key_data(x)
            found = np.asarray(x)
            if found.dtype.hasobject:
                yield from map(self.of, (found.shape, found.ravel().tolist()))
            else:
                yield f"{found.dtype.str} {found.shape} {hashlib.sha256(found.tobytes()).hexdigest()}"

    def instance(self, x: Any) -> Iterator[str]:
        """Any other object: its class, what it wraps and its attributes; one of Python's own by how it shows itself."""
        wrapped = getattr(x, "__wrapped__", None)
        yield from map(self.of, (type(x), wrapped))
        if _package(type(x).__module__) in sys.stdlib_module_names:
            yield re.sub(r" at 0x[0-9a-f]+", "", repr(x))
            return
        names = {each.name for each in dataclasses.fields(x)} if dataclasses.is_dataclass(x) else set()
        names |= {name for kind in type(x).__mro__ for name in _slots(kind) if hasattr(x, name)}
        names |= {name for name in getattr(x, "__dict__", ()) if not (name.startswith("__") or _is_made_late(x, name))}
        for name in sorted(names):
            value = getattr(x, name, None)
            if wrapped is None or isinstance(value, types.FunctionType):  # what else JAX keeps tells file and line
                yield f"{name} {self.value(x, name, value)}"

    def public_name(self, x: Any) -> str | None:
        """MODULE.NAME of what an installed package offers by that name, such as a function that JAX has compiled."""
        module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
        if not (isinstance(module, str) and isinstance(name, str)) or self.is_own(module):
            return None
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return _full_name(module, name) if found is x else None


def _full_name(module: str, name: str) -> str:
    """MODULE.NAME; without the module if it is ours, since a later release may rename it."""
    return f"{OURS if _package(module) == OURS else module}.{name}"


def _changed_by(code: types.CodeType, steps: list[dis.Instruction]) -> Iterator[str]:
    """Names of attributes, and of variables outside of the function, that this code changes.

    What is assigned while an object is made (`__init__`) is its description and not a change.
    """
    named: dict[object, str] = {}  # the names of outer variables, by where in the file they stand
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        stored = step.opname == "STORE_GLOBAL" or (step.opname == "STORE_ATTR" and code.co_name not in MAKERS)
        method = after.argval if after and after.opname in METHODS else None
        if stored or (step.opname in OUTER and method in CHANGING):
            yield step.argval
        elif step.opname in OUTER:
            named[_beginning(step)] = step.argval
        elif step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") and _beginning(step) in named:
            yield named[_beginning(step)]


def _beginning(step: dis.Instruction) -> object:
    """Line and column of the expression that an instruction belongs to; None where they are not kept."""
    return step.positions and (step.positions.lineno, step.positions.col_offset)


def _slots(kind: type) -> list[str]:
    """Names of the attributes that a class keeps in slots; a class that Ray has sent has the names alone."""
    found = vars(kind).get("__slots__", ())
    names = [found] if isinstance(found, str) else found
    return [f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name for name in names]


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    """Without those that depend on line numbers, and without what the body of a class says of itself."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in IGNORED]
    stored = {i for i, step in enumerate(steps) if step.opname == "STORE_NAME" and step.argval in LABELS}
    return [step for i, step in enumerate(steps) if i not in stored and i + 1 not in stored]


def _is_written(name: str, member: Any) -> bool:
    """Whether a person wrote this member of a class, and for what it computes."""
    if name.startswith("__") and name.endswith("__"):
        plain = inspect.unwrap(member) if callable(member) else getattr(member, "__func__", None)
        return isinstance(plain, types.FunctionType) and not plain.__code__.co_qualname.startswith(GENERATED)
    return not (name.startswith("_abc_") or isinstance(member, types.MemberDescriptorType))


def _is_made_late(x: Any, name: str) -> bool:
    """Whether an attribute is made at its first use: a cached property, the random numbers of a Gymnasium space."""
    return name == "_np_random" or isinstance(getattr(type(x), name, None), functools.cached_property)


Reader = Callable[[_Hashes, Any], Iterable[str]]
READERS: list[tuple[type | tuple[type, ...], Reader]] = [
    (types.CodeType, lambda hashes, x: hashes.code(x, {})),
    (types.FunctionType, _Hashes.function),
    (type, _Hashes.kind),
    (types.ModuleType, lambda hashes, x: [x.__name__]),
    (types.BuiltinFunctionType, lambda hashes, x: [_full_name(str(x.__module__), x.__qualname__)]),
    (types.MethodType, lambda hashes, x: hashes.items((x.__func__, x.__self__))),
    ((staticmethod, classmethod), lambda hashes, x: hashes.items((x.__func__,))),
    (property, lambda hashes, x: hashes.items((x.fget, x.fset, x.fdel))),
    (functools.cached_property, lambda hashes, x: hashes.items((x.func,))),
    (functools.partial, lambda hashes, x: hashes.items((x.func, x.args, x.keywords))),
    ((np.ndarray, np.generic), _Hashes.array),
    ((types.SimpleNamespace, functools.partialmethod), lambda hashes, x: hashes.mapping(vars(x))),
    ((tuple, list, collections.deque), _Hashes.items),
    ((set, frozenset), lambda hashes, x: sorted(map(hashes.of, x))),
    (Mapping, _Hashes.mapping),
]
