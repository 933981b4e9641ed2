"""Files that appear whole or not at all, and one line where the machine does not let us write them."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class Unwritable(OSError):
    """A disk that is full, a folder that may not be written to: nobody's run is to blame. One line for the user."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever fails in here failed while that file was written."""
    try:
        yield
    except OSError as error:
        why = f"cannot be written ({error.strerror or error})"
        raise Unwritable(error.errno or errno.EIO, why, str(path)) from None


def write(path: Path, data: bytes) -> None:
    """Write under a temporary name, then rename: nobody ever sees half a file."""
    with writing(path):
        try:
            _write(path, data)
        except FileNotFoundError:  # somebody removed the folder meanwhile: make it again
            _write(path, data)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
