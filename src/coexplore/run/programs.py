"""Compiled programs: of which a process can hold only so many, and whose numbers have 32 bits."""

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
T = TypeVar("T")

MAPPINGS, LIMIT = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
EVERY = 16  # calls between two looks, which take milliseconds; each may stand for some 400 mappings
_calls = itertools.count()


def make_room() -> None:
    """JAX keeps whatever it has compiled, and each program some mappings of memory, of which Linux gives a process
    65,530. Who has none left is ended in the middle of LLVM: so forget all programs when half of them are taken."""
    if next(_calls) % EVERY or not (MAPPINGS.exists() and LIMIT.exists()):
        return
    if 2 * MAPPINGS.read_bytes().count(b"\n") > int(LIMIT.read_text()):
        jax.clear_caches()  # type: ignore[no-untyped-call]


def forget() -> None:
    """Forget compiled programs."""
    jax.clear_caches()  # type: ignore[no-untyped-call]


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
