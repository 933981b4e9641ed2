"""Compiled programs of ours: of which a process can hold only so many, and whose numbers have 32 bits."""

import functools
import itertools
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jax

P = ParamSpec("P")
T = TypeVar("T")

MAPPINGS, LIMIT = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
EVERY = 16  # calls between two looks, which take milliseconds; each may stand for some 400 mappings
OURS_GO, ALL_GO = 0.5, 0.75  # shares of the mappings beyond which our programs are forgotten, and all programs
_calls = itertools.count()
_programs: weakref.WeakSet[Any] = weakref.WeakSet()
_lock = threading.Lock()  # of the set, which threads add to while another goes through it


def jit(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """Compile as `jax.jit` does, into programs that `make_room` can forget."""
    program = jax.jit(function, **options)
    with _lock:
        _programs.add(program)
    return program


def make_room() -> None:
    """Forget our programs before the process dies of them.

    JAX keeps whatever it compiles. A program has some mappings of memory, of which Linux gives a process 65,530; a
    process that has no more is ended in the middle of LLVM.
    """
    if next(_calls) % EVERY or not (MAPPINGS.exists() and LIMIT.exists()) or _mapped() <= OURS_GO:
        return
    with _lock:
        ours = list(_programs)
    for program in ours:
        program.clear_cache()
    if _mapped() > ALL_GO:  # those of the user, and small ones of single operations, which JAX forgets with all others
        forget()


def forget() -> None:
    """Forget all compiled programs."""
    jax.clear_caches()  # type: ignore[no-untyped-call]


def _mapped() -> float:
    """The share of its mappings that the process has taken."""
    return MAPPINGS.read_bytes().count(b"\n") / int(LIMIT.read_text())


def in_32_bits(function: Callable[P, T]) -> Callable[P, T]:
    """Whoever computes with JAX in 64 bits gets from us what everybody does: with other numbers, and other draws, a run
    would be another under the same digest."""

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
            return function(*given, **named)
        if not hasattr(jax, "enable_x64"):  # before jax 0.8
            with jax.experimental.disable_x64():  # type: ignore[attr-defined]
                return function(*given, **named)
        with jax.enable_x64(False):
            return function(*given, **named)

    return called
