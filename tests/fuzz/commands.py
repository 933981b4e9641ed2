"""Mutated command lines of every command, in this process, in a folder with a small store and some broken plug-ins.

What must hold: bad input is one line that begins with `coexplore: `, of sensible length and without control characters,
and status 2; a training that fails has such a line and status 1; nothing else is on standard error where nothing was
trained, and nothing takes long before it shows that it trains. A training that goes on is stopped as by Ctrl-C.
"""

import collections
import contextlib
import io
import os
import re
import shutil
import signal
import socketserver
import sys
import time

from fuzz import plugins
from fuzz.words import LINES, mutated
from fuzz.worker import crowding

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
ENOUGH, PATIENCE, TICK = 0.3, 12.0, 0.1  # seconds of training; until something is shown; between two looks
SMALL = ["--units", "5", "--bits", "1", "--episodes", "160"]
LONGEST = 1500  # characters of a line
SENSELESS = ("none of the 0", "object at 0x")
tried = collections.Counter()


def attempt(rng, folder):
    here, path = _furnished(folder), list(sys.path)
    if rng.random() < 0.1:
        words, name = plugins.written(rng, here), "plug-ins"
    else:
        words = mutated(rng, list(rng.choice(LINES)))
        name = words[0] if words and words[0] in {line[0] for line in LINES if line} else "no command"
    tried[name] += 1
    why = wrong(words, trains=rng.random() < 0.2)
    sys.path[:] = path
    return why and f"{why}: {words!r}"[:3000]


def wrong(words, trains=False):
    """What a command line did that it should not; None if it behaved. Most are stopped before anything is compiled."""
    status, err, late = called(words, trains)
    if late:
        return f"nothing was shown in {PATIENCE:.0f} s"
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("coexplore: ")]
    if not words:
        return None if status == 2 else f"status {status} without a word"
    if status not in (0, 1, 2, 130):
        return f"status {status}"
    more = [line for line in lines if not re.match(r"coexplore: \w+/\S+\.safetensors: ", line)]  # than files left out
    if (status and not ours) or (status == 2 and len(more or ours) != 1):
        return f"status {status} with {len(lines)} lines {lines[:2]}"
    if bad := [line for line in lines if "Traceback" in line] or list(filter(_bad, ours)):
        return f"status {status} with {bad[0]} {lines[lines.index(bad[0]) + 1 :][-6:]}"
    return None


def _bad(line):
    return (
        len(line) > LONGEST
        or len(line) < 15
        or any(words in line for words in SENSELESS)
        or ("none of the" in line and "is ''" in line)
        or any(not char.isprintable() for char in line)
        or "unexpected" in line
    )


def _furnished(folder):
    """The folder in which commands are called: it has a store, a file, a folder that looks like a file."""
    from coexplore import Boltzmann, Reinforce, Run, grid, train
    from coexplore.tasks.multiplexer import Multiplexer

    here = folder / "here"
    here.mkdir(exist_ok=True)
    os.chdir(here)
    if not (folder / "kept").exists():
        small = Run(task=Multiplexer(bits=1), hidden=(5,), episodes=160)
        train(
            grid(small, rule=[Boltzmann(), Reinforce()], seed=range(2)), engine="cpu", progress=False, store="../kept"
        )
    if not (here / "runs").is_dir():
        shutil.copytree(folder / "kept", here / "runs", symlinks=True)
    (here / "file").write_text("a file\n")
    for name in ("folder.png", "folder.html", "folder.csv", "folder.safetensors"):
        (here / name).mkdir(exist_ok=True)
    return here


def called(words, trains):
    """Its exit status, its standard error, and whether it had to be stopped before it showed anything."""
    from coexplore import cli

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=e) for e in ("strict", "backslashreplace"))
    watch, argv = Watch(time.monotonic() + 2 if words[:1] == ["evaluate"] else None, trains), sys.argv
    sys.argv = ["coexplore", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), watch:
            try:
                cli.main()
            except SystemExit as left:
                status = left.code
    finally:
        sys.argv = argv
    for stream in (out, err):
        with contextlib.suppress(ValueError):
            stream.flush()
    return status, b"" if err.closed else err.buffer.getvalue(), watch.late


class Watch:
    """Presses Ctrl-C when runs have trained for a while, or when nothing was shown for long; nobody is served, and the
    machine is a small one. `shown` is when something was: nobody is told how far an evaluation is."""

    def __init__(self, shown, trains):
        self.shown, self.trains = shown, trains

    def __enter__(self):
        from coexplore.run import needs
        from coexplore.study.progress import Shown

        self.late, self.began = False, time.monotonic()
        self.begin, self.serve, self.memory = Shown.begin, socketserver.BaseServer.serve_forever, needs.memory
        needs.memory = lambda: 4 * 10**8
        Shown.begin, socketserver.BaseServer.serve_forever = self._begun(Shown.begin), self._closed
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)

    def __exit__(self, *how):
        from coexplore.run import needs
        from coexplore.study.progress import Shown

        signal.setitimer(signal.ITIMER_REAL, 0)
        Shown.begin, socketserver.BaseServer.serve_forever, needs.memory = self.begin, self.serve, self.memory

    def _begun(self, begin):
        def begun(shown):
            self.shown = self.shown or time.monotonic()
            begin(shown)
            if not self.trains:
                raise KeyboardInterrupt

        return begun

    def _closed(self, *given, **named):
        raise KeyboardInterrupt

    def _look(self, *given):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            return  # it hears nothing any more, or not yet
        now = time.monotonic()
        if self.shown and now - self.shown > ENOUGH:
            self.shown = now + 1  # once more, should it be lost
            raise KeyboardInterrupt
        if not self.shown and now - self.began > PATIENCE * crowding():
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.late = True
            raise KeyboardInterrupt
