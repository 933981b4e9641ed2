"""`make fuzz SECONDS=600`: attempts of every kind in two processes, for as long as one likes.

Each attempt has a seed, so that what fell can be tried again: `PYTHONPATH=tests python -m fuzz --again KIND SEED`. An
attempt falls by what it says of itself, by an exception, by taking too long or too much memory, and by its process.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import multiprocessing.connection
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from fuzz.worker import crowding, tried_once, work

MOST_SECONDS, MOST_BYTES = 20.0, 2 * 10**9
WORN_BYTES, WORN_MAPPINGS = 15 * 10**8, 25_000  # of a process between attempts, whose programs JAX keeps: it is renewed
SHARES = {"commands": 6, "files": 6}  # of the time, where the others have one: they are many, and some of them train
GLANCE = 0.05  # seconds between two looks at a process that is busy
LINES, ALIKE = 40, 60  # lines of falls that are shown; characters in which those are the same that are one
COMPILED = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
HERE = Path(__file__).parent


def kinds():
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef attempt(" in path.read_text())


def most_held(pid):
    """Bytes of memory that a process has held at once since `forget_most`."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return 1024 * int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])
    return 0


def forget_most(pid):
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


class Worker:
    """A process, and what it tries just now. Those that follow each other at a place share what JAX has compiled."""

    def __init__(self, home, place):
        self.place, self.scratch = place, Path(tempfile.mkdtemp(dir=home))
        os.environ |= {**COMPILED, "JAX_COMPILATION_CACHE_DIR": str(Path(home) / f"compiled-{place}")}
        self.pipe, theirs = mp.Pipe()
        self.process = mp.get_context("spawn").Process(target=work, args=(theirs, self.scratch), daemon=True)
        self.process.start()
        theirs.close()
        self.kind = self.seed = None

    def begin(self, kind, seed):
        forget_most(self.process.pid)
        self.kind, self.seed, self.began, self.bytes = kind, seed, time.monotonic(), 0
        self.pipe.send((kind, seed))

    def look(self):
        """None while it tries; then what fell, what was tried, and whether this process may go on."""
        seconds = time.monotonic() - self.began
        self.bytes = max(self.bytes, most_held(self.process.pid))
        if self.bytes > MOST_BYTES:
            return f"held {self.bytes / 1e9:.1f} GB", {}, False
        try:
            if self.pipe.poll():
                return *self.pipe.recv(), not self.worn()
        except (EOFError, OSError):
            self.process.join(5)
            crash = self.scratch / "crash"
            at = crash.read_text().partition("File ")[2].splitlines()[:1] if crash.exists() else ["before it began"]
            return f"killed its process (status {self.process.exitcode}) {' '.join(at)}", {}, False
        return (f"took over {seconds:.0f} s", {}, False) if seconds > MOST_SECONDS * crowding() else None

    def worn(self):
        with contextlib.suppress(OSError):
            mappings = Path(f"/proc/{self.process.pid}/maps").read_bytes().count(b"\n")
            return self.bytes > WORN_BYTES or mappings > WORN_MAPPINGS
        return True

    def end(self):
        self.process.kill()
        self.process.join()
        shutil.rmtree(self.scratch, ignore_errors=True)


class Tally:
    """Of each kind: how many were tried, for how long, and what fell."""

    def __init__(self, names):
        self.names = names
        self.count, self.seconds, self.slowest = (collections.Counter(dict.fromkeys(names, 0)) for _ in range(3))
        self.most, self.tried = collections.Counter(), collections.defaultdict(collections.Counter)
        self.falls = collections.defaultdict(list)

    def add(self, worker, fell, tried):
        kind, seconds = worker.kind, time.monotonic() - worker.began
        self.count[kind] += 1
        self.seconds[kind] += seconds
        self.slowest[kind] = max(self.slowest[kind], seconds)
        self.most[kind] = max(self.most[kind], worker.bytes)
        self.tried[kind].update(tried)
        if fell:
            self.falls[kind].append(f"{fell} (--again {kind} {worker.seed})")

    def next(self):
        """The kind that has had the least of its share of the time."""
        return min(self.names, key=lambda kind: (self.seconds[kind] / SHARES.get(kind, 1), self.count[kind]))

    def show(self):
        for kind in self.names:
            print(
                f"{kind}: {self.count[kind]:,} tried, {len(self.falls[kind])} fell; "
                f"{self.slowest[kind]:.1f} s and {self.most[kind] / 1e9:.1f} GB at most"
            )
            if self.tried[kind]:
                print("  " + ", ".join(f"{count:,} {name}" for name, count in sorted(self.tried[kind].items())))
            alike = collections.defaultdict(list)
            for line in self.falls[kind]:
                alike[line[:ALIKE]].append(line)
            for same in list(alike.values())[:LINES]:
                print(f"  fell: {min(same, key=len)}" + (f" and {len(same) - 1} like it" if same[1:] else ""))
            if len(alike) > LINES:
                print(f"  … and {len(alike) - LINES} more")


def fuzz(names, seconds, processes, seed):
    """Try, and return the tally."""
    tally, until = Tally(names), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="coexplore-fuzz-") as home:
        workers = [Worker(home, place) for place in range(processes)]
        try:
            while workers:
                for worker in list(workers):
                    found = worker.look() if worker.kind else (None, {}, True)
                    if found is None:
                        continue
                    fell, tried, sound = found
                    if worker.kind:
                        tally.add(worker, fell, tried)
                    if time.monotonic() > until or not sound:
                        worker.end()
                        workers.remove(worker)
                    if time.monotonic() < until:
                        if not sound:
                            workers.append(worker := Worker(home, worker.place))
                        worker.begin(tally.next(), seed := seed + 1)
                mp.connection.wait([worker.pipe for worker in workers], GLANCE)
        finally:
            for worker in workers:
                worker.end()
    return tally


def main():
    parser = argparse.ArgumentParser("make fuzz", description="Attack for as long as one likes.")
    parser.add_argument("kind", nargs="*", help=f"some of {', '.join(kinds())} [all]")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="where the seeds of attempts begin [anywhere]")
    parser.add_argument("--again", nargs=2, metavar=("KIND", "SEED"), help="one attempt, in this process")
    asked = parser.parse_args()
    if asked.again:
        with tempfile.TemporaryDirectory() as folder:
            print(tried_once(asked.again[0], int(asked.again[1]), Path(folder)) or "held")
        return
    seed = random.randrange(10**9) if asked.seed is None else asked.seed
    tally = fuzz(asked.kind or kinds(), asked.seconds, asked.processes, seed)
    tally.show()
    sys.exit(any(tally.falls.values()))


if __name__ == "__main__":
    main()
