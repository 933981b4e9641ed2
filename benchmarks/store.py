"""A store of 100,000 finished runs: how long it takes to list, to select, to report and to find them again. And 5,000
seeds of one setting that `train` finds again, beside one seed: how many times as long, and as much memory.

The runs are made up (1,000 settings of 100 seeds, two sizes of network) and written through the store; only the disk is
not waited for. Every command is a process of its own, whose time and memory are the system's word.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from coexplore import Multiplexer, Reinforce, Run, grid
from coexplore.run import Result
from coexplore.store import Store

RESUME = """
import resource, sys, time
sys.path.insert(0, {here!r})
from store import asked
from coexplore.study import study
runs = asked({count})
began = time.perf_counter()
done = study(runs, "cpu", progress=False, store={folder!r})
assert len(done.results) == len(runs) and not done.trained
print(time.perf_counter() - began)
"""


def asked(count: int) -> list[Run]:
    """The runs, settings after settings."""
    base = Run(rule=Reinforce(), task=Multiplexer(bits=2), episodes=16 * 20_000)
    rates = np.round(np.geomspace(1e-4, 1e-1, max(1, count // 200)), 8).tolist()
    return grid(base, units=[64, 32], learning_rate=rates, seed=range(100))


SEEDS = 5000
OF_ONE = Run(rule=Reinforce(), task=Multiplexer(bits=2), hidden=64, episodes=16 * 2_000)


def make(folder: Path, runs: list[Run]) -> None:
    os.fsync = lambda handle: None  # a made-up store may be lost
    store, rng = Store(folder), np.random.default_rng(0)
    params = {size: Run(rule=Reinforce(), hidden=size, task=Multiplexer(bits=2)).init() for size in (64, 32)}
    for run in runs:
        curve = rng.uniform(-1, 1, 1000).astype(np.float32)
        seen = {
            "updates": np.arange(21) * (run.updates // 20),
            "firing.0": rng.uniform(size=(21, *run.hidden)).astype(np.float32),
        }
        about = {"machine": "x86_64", "kernel": "avx2", "seconds": 1.0, "finished": "2026-01-01T00:00:00+00:00"}
        store.save(Result(run, "cpu", curve, params[run.hidden[0]], about, seen))


def told(name: str, words: list[str]) -> tuple[float, float]:
    """Run it, and say what it took: seconds of a core, and the most GB of any that ran so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    printed = process.communicate()[0]
    assert process.returncode == 0, name
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    core = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    inside = f", {float(printed):.1f} s of it in study()" if words[1] == "-c" else ""
    most = after.ru_maxrss / 2**20
    told = f"{time.perf_counter() - began:.1f} s ({core:.1f} s of a core{inside}), at most {most:.2f} GB so far"
    print(f"{name}: {told}", flush=True)
    return core, most


def found_again(folder: Path, command: str) -> None:
    """Many seeds beside one."""
    make(folder, [OF_ONE.with_seed(seed) for seed in range(SEEDS)])
    flags = "--bits 2 --units 64 --episodes 32000 --engine cpu"
    words = [command, "train", "reinforce", *flags.split(), "--store", str(folder), "--seeds"]
    one = told("one seed found again", [*words, "1"])
    for name in (f"{SEEDS:,} seeds found again", "the same, once the store has listed them"):
        many = told(name, [*words, str(SEEDS)])
        print(f"  {many[0] / one[0]:.1f} times as long as one, {many[1] / one[1]:.1f} times as much memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--folder", help="keep the store here, and use it if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch) / "store"
        command = str(Path(sys.executable).parent / "coexplore")
        found_again(Path(scratch) / "seeds", command)
        if not folder.exists():
            began = time.perf_counter()
            make(folder, asked(options.runs))
            print(f"{options.runs:,} runs written in {time.perf_counter() - began:.0f} s")
        shutil.rmtree(folder / ".index", ignore_errors=True)
        select = ["--store", str(folder), "--select"]
        told("runs --select units=64, without an index", [command, "runs", *select, "units=64"])
        told("runs --select units=64", [command, "runs", *select, "units=64"])
        told("runs --select units=64,seed=3", [command, "runs", *select, "units=64,seed=3"])
        resume = RESUME.format(here=str(Path(__file__).parent), count=options.runs, folder=str(folder))
        told("resuming a finished study", [sys.executable, "-c", resume])
        report = ["report", "--store", str(folder), "--out", str(Path(scratch) / "report.html")]
        told("report", [command, *report])


if __name__ == "__main__":
    main()
