"""What a study costs beside its training.

`study.py` compares the demo's runs with and without a store, in process times of one process: what the store, the
snapshots and the checkpoints add. `study.py --reproduce 5 100` runs `coexplore reproduce` of the paper's ten figures
with so many seeds, from command to pictures, and says where the time went. It is meant for a GPU, whose kernels should
be compiled already: run it once before.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict

PAPER = ["fig2", "fig3", "fig4", "fig5", *(f"figa{i}" for i in range(1, 7))]
BEGAN = time.perf_counter()
spent: dict[str, float] = defaultdict(float)
lock = threading.Lock()


def timed(owner, name: str, part: str) -> None:
    """Let what is spent in this function be counted; over all threads."""
    plain = getattr(owner, name)

    def counted(*arguments, **more):
        began = time.perf_counter()
        try:
            return plain(*arguments, **more)
        finally:
            with lock:
                spent[part] += time.perf_counter() - began

    setattr(owner, name, counted)


def reproduce_here(words: list[str]) -> None:
    """The command in this process, with its parts timed; they are printed as one JSON object, last."""
    from coexplore import cli
    from coexplore.cli import reproduce, results
    from coexplore.store import Store
    from coexplore.study.group import Group

    timed(results, "study", "study")
    timed(reproduce, "verdicts", "verdicts")
    timed(reproduce, "_draw", "pictures")
    for name, part in (("__init__", "first parameters"), ("train_chunk", "training"), ("look", "snapshots")):
        timed(Group, name, part)
    timed(Group, "results", "results")
    timed(Store, "save", "store")
    timed(Store, "save_checkpoint", "checkpoints")
    sys.argv = ["coexplore", "reproduce", *words]
    with contextlib.suppress(SystemExit):
        cli.main()
    print(json.dumps({**spent, "whole": time.perf_counter() - BEGAN}))


def reproduce(seeds: int, engine: str, figures: list[str], scale: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [*figures, "--seeds", str(seeds), "--engine", engine, "--scale", scale]
        words += ["--store", f"{folder}/runs", "--out", f"{folder}/figures"]
        began = time.perf_counter()
        child = [sys.executable, __file__, "--here", *words]
        done = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True)
        whole = time.perf_counter() - began
        parts = json.loads(done.stdout.splitlines()[-1])
        names = os.listdir(f"{folder}/runs")
    count = sum(name.endswith(".safetensors") for name in names)
    start = whole - sum(parts[part] for part in ("study", "verdicts", "pictures"))
    print(f"{seeds} seeds, {count} runs: {whole:.1f} s from command to pictures")
    print(f"  start {start:.1f} s, study {parts['study']:.1f} s, ", end="")
    print(f"verdicts {parts['verdicts']:.1f} s, pictures {parts['pictures']:.1f} s")
    inside = ("first parameters", "training", "snapshots", "results", "store", "checkpoints")
    print("  inside the study, over all threads: ", end="")
    print(", ".join(f"{part} {parts.get(part, 0.0):.1f} s" for part in inside), flush=True)


def demo(turns: int) -> None:
    """The demo's runs without a store and with one, in turns."""
    from coexplore.paper.figure import SCALES
    from coexplore.paper.figures import runs
    from coexplore.study import study

    wanted = runs(["headline"], *SCALES["paper"])
    costs: dict[str, list[float]] = {"bare": [], "with a store": []}
    for turn in range(turns):
        for kind, all_spent in costs.items():
            with tempfile.TemporaryDirectory() as folder:
                began = time.process_time()
                done = study(wanted, "cpu", store=folder if kind == "with a store" else None)
                assert done.trained == len(wanted)
                all_spent.append(time.process_time() - began)
        more = 100 * (costs["with a store"][turn] / costs["bare"][turn] - 1)
        print(f"demo, {len(wanted)} runs: {costs['bare'][turn]:.1f} s of a core bare, {more:+.1f} % with a store")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reproduce", nargs="+", type=int, metavar="SEEDS")
    parser.add_argument("--engine", default="cuda")
    parser.add_argument("--figures", nargs="+", default=PAPER)
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    for seeds in options.reproduce or ():
        reproduce(seeds, options.engine, options.figures, options.scale)
    if not options.reproduce:
        demo(options.turns)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        reproduce_here(sys.argv[2:])
    else:
        main()
