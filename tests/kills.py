"""Two processes share a study, and now one, now the other, now both are killed at random moments and started again.

    python tests/kills.py FOLDER KILLS [SEED]

FOLDER/whole is a study that nobody disturbed, FOLDER/0, FOLDER/1 … are those that were killed: as many as it takes. No
death may leave less than was finished before it.
"""

import contextlib
import hashlib
import itertools
import os
import random
import signal
import sys
import time
from pathlib import Path

from coexplore import Boltzmann, Multiplexer, Reinforce, Run, grid
from coexplore.store import Store
from coexplore.study import group, study, work

RUN = Run(rule=Boltzmann(steps=5), hidden=(12,), task=Multiplexer(bits=2), episodes=16 * 20_000)
RUNS = grid(RUN, seed=range(10), coupling=[0.1, 0.5]) + grid(RUN, rule=Reinforce(), seed=range(4))
LONGEST = 0.5  # seconds that a process lives after its first checkpoint


class Process:
    """One of the two, by fork: importing everything would take longer than it lives."""

    def __init__(self, folder):
        self.status, self.id = None, os.fork()
        if self.id == 0:
            with contextlib.suppress(BaseException):
                self.train(folder)
            os._exit(2)
        self.began = folder.parent / f"began-{self.id}"

    def train(self, folder):
        """With checkpoints every few milliseconds, so that deaths meet files that are being written."""
        group.CHUNK_SECONDS, work.CHECKPOINT_SECONDS, work.DEARER = 0.002, 0.0, 0
        adopt, began = Store.adopt_checkpoint, folder.parent / f"began-{os.getpid()}"
        Store.adopt_checkpoint = lambda *arguments: (began.touch(), adopt(*arguments))[1]
        done = study(RUNS, "cpu", progress=False, threads=1, store=folder)
        os._exit(0 if len(done.results) == len(RUNS) and not done.problems else 1)

    def over(self, how=os.WNOHANG):
        """Whether it has ended."""
        if self.status is None and (ended := os.waitpid(self.id, how))[0]:
            self.status = os.waitstatus_to_exitcode(ended[1])
            self.began.unlink(missing_ok=True)
        return self.status is not None

    def end(self, number=None):
        """Give it a signal, or none, and wait until it has ended."""
        if number is not None and not self.over():
            os.kill(self.id, number)
        self.over(0)


def finished(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).digest() for path in folder.glob("[!.]*.safetensors")}


def disturb(folder, most, chance):
    """Kill at most so often until the study is done; how often it was."""
    kills, before, pair = 0, {}, [Process(folder), Process(folder)]
    while kills < most and not any(process.over() for process in pair):
        victims = pair if chance.random() < 0.2 else [chance.choice(pair)]
        until = time.monotonic() + chance.choice([0, 20, 20, 20])  # most deaths come while it trains
        while not (victims[0].began.exists() or victims[0].over()) and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, LONGEST))
        for process in victims:
            process.end(signal.SIGKILL)
            kills += process.status == -signal.SIGKILL
        after = finished(folder)
        assert before.items() <= after.items(), "a finished run was lost, or is another"
        before = after
        pair = [Process(folder) if process.status == -signal.SIGKILL else process for process in pair]
    for process in pair:
        process.end()
        assert process.status == 0, f"it ended with status {process.status}"
    return kills


def main(folder, most, seed=0):
    chance, kills, began = random.Random(seed), 0, time.monotonic()
    whole = Process(folder / "whole")
    whole.end()
    assert whole.status == 0
    for i in itertools.count():
        kills += disturb(folder / str(i), most - kills, chance)
        half = sum(".safetensors." in path.name for path in (folder / str(i)).rglob(".*"))
        seconds = time.monotonic() - began
        print(f"{kills} kills, {i + 1} studies, {half} files half written, {seconds:.0f} s", flush=True)
        if kills >= most:
            return


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    Path(place).mkdir(parents=True, exist_ok=True)
    main(Path(place), *map(int, numbers))
