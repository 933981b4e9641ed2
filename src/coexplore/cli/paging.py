"""Long output through a pager, as git does it: only on a terminal, and only what does not fit."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

from rich.console import Console

FITTING = "FRX"  # options of less: leave what fits on the screen, keep colours, keep the screen afterwards


@contextlib.contextmanager
def page(console: Console) -> Iterator[Console]:
    """A console whose output is shown at the end, page by page where somebody looks at it."""
    if not sys.stdout.isatty():
        yield console
        return
    with console.capture() as captured:
        yield console
    show(captured.get())


def show(text: str) -> None:
    words = shlex.split(os.environ.get("PAGER", "less"))
    if not words or shutil.which(words[0]) is None:
        sys.stdout.write(text)
        return
    pager = subprocess.Popen(words, stdin=subprocess.PIPE, env={"LESS": FITTING, **os.environ}, encoding="utf-8")
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # seen enough
        pager.communicate(text)
    pager.wait()
