"""A machine that fails: from some call on, the file system below a folder says no."""

import contextlib
import errno
import os
import threading
from pathlib import Path

CALLS = ("mkdir", "open", "fsync", "replace", "rename")  # by which something new comes to be
READ_ONLY = (*CALLS, "unlink")


class Machine:
    """Counts the calls, and refuses those from the `k`-th on, or that one alone, with this error."""

    def __init__(self, folder, k=None, error=errno.ENOSPC, once=False, calls=CALLS):
        self.folder, self.k, self.error, self.once, self.calls = Path(folder), k, error, once, calls
        self.count, self.before = 0, None
        self.lock = threading.RLock()  # what one thread does has happened, or not, when another's call is refused

    def refuses(self, name, args):
        if name == "mkdir" and os.path.exists(args[0]):
            return False
        if name == "open" and not args[1] & (os.O_CREAT | os.O_TMPFILE):
            return False
        path = None if name == "fsync" else Path(args[0]).absolute()
        if path and self.folder not in (path, *path.parents):
            return False
        self.count += 1
        due = self.k is not None and (self.count == self.k + 1 or (self.count > self.k and not self.once))
        if due and self.before is None:
            self.before = kept(self.folder)
        return due

    def wrapped(self, name, real):
        def call(*args, **more):
            with self.lock:
                if self.refuses(name, args):
                    raise OSError(self.error, os.strerror(self.error), str(args[0]))
                return real(*args, **more)

        return call

    @contextlib.contextmanager
    def failing(self):
        real = {name: getattr(os, name) for name in self.calls}
        for name in self.calls:
            setattr(os, name, self.wrapped(name, real[name]))
        try:
            yield self
        finally:
            for name in self.calls:
                setattr(os, name, real[name])


def half_written(folder):
    return [path for path in Path(folder).rglob(".*") if path.is_file() and ".locks" not in path.parts]


def kept(folder):
    """What must not be lost: files under their final names."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path): path.read_bytes() for path in files if ".locks" not in path.parts}
