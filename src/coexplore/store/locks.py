"""A lock on a file that several processes may want; the system frees it when a process dies."""

import contextlib
import fcntl
import functools
import os
import resource
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Gives whether the lock is ours. The file is there for as long as somebody holds it."""
    handle = _try(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            path.unlink(missing_ok=True)  # while it is held: whoever waits at the old file sees that it is gone
            os.close(handle)


def _try(path: Path) -> int | None:
    """A handle on the lock, or None if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _allow_many()
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        os.close(handle)  # its last holder removed this file after we had opened it


@functools.cache
def _allow_many() -> None:
    """Let this process hold as many locks as the system allows: a GPU trains thousands of runs at a time."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual, most), most))
