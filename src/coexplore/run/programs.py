"""Compiled programs, of which a process can hold only so many."""

import itertools
from pathlib import Path

import jax

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
