"""A lock on a file that several processes may want; the system frees it when a process dies."""

import contextlib
import errno
import fcntl
import functools
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

from coexplore.files import writing

LACKING = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # what a file system without locks answers


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Gives whether the lock is ours. The file is there for as long as somebody holds it.

    Where there are no locks everybody has them: processes then train the same runs, to the same bits."""
    with writing(path):
        handle = _try(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):  # one that stays behind is free all the same
                if _is_at(handle, path):  # another's is there if the folder was removed and made again
                    path.unlink()  # while it is held: whoever waits at the old file sees that it is gone
            os.close(handle)


def no_locks(folder: Path) -> str | None:
    """What the system says where files of that folder cannot be locked. Other troubles show when somebody locks."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                return error.strerror if error.errno in LACKING else None
    return None


def _try(path: Path) -> int | None:
    """A handle on the lock, or None if another process has it."""
    _allow_many()
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # somebody removed the folder meanwhile: make it again
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if not _lock(handle):
                    os.close(handle)
                    return None
                if _is_at(handle, path):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its last holder removed this file after we had opened it


def _lock(handle: int) -> bool:
    """Whether it is ours now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in LACKING:
            raise
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether it is still the file of that name."""
    return os.path.samestat(os.fstat(handle), path.stat())


@functools.cache
def _allow_many() -> None:
    """Let this process hold as many locks as the system allows: a GPU trains thousands of runs at a time."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual, most), most))
