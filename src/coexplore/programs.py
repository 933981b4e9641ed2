"""Compiled programs of ours: the register by which they are forgotten, and the configuration of JAX that they need."""

import contextlib
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
_edits = 0  # how often code of the user's has changed
_context = jax.make_user_context(0)  # type: ignore[no-untyped-call]  # JAX uses again what it traced under this value
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
        jax.clear_caches()  # type: ignore[no-untyped-call]


def _mapped() -> float:
    """The share of its mappings that the process has taken."""
    return MAPPINGS.read_bytes().count(b"\n") / int(LIMIT.read_text())


def retrace() -> None:
    """Trace and compile anew whatever is called from now on, because code of the user's has changed."""
    global _edits  # noqa: PLW0603
    _edits += 1


def in_our_config(function: Callable[P, T]) -> Callable[P, T]:
    """Call a function with JAX configured as all of ours is, whatever the user has chosen.

    Numbers have 32 bits: with others, and other draws, a run would be another under the same digest. And JAX finds
    nothing that it has traced before the last `retrace`.
    """

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        with contextlib.ExitStack() as config:
            if jax.config.jax_enable_x64:  # type: ignore[attr-defined]
                config.enter_context(_narrow())
            if _edits:
                config.enter_context(_context(_edits))
            return function(*given, **named)

    return called


def _narrow() -> contextlib.AbstractContextManager[None]:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(False)
    return jax.experimental.disable_x64()  # type: ignore[attr-defined]  # before jax 0.8
