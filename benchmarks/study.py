"""What a study adds to the training: the share of snapshots, and how long a finished figure takes the second time."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from coexplore.paper.figures import SCALES, runs
from coexplore.study import group, study

spent = 0.0
plain = group.snapshot


def timed(*arguments):
    global spent  # noqa: PLW0603 (one thread, one counter)
    began = time.perf_counter()
    seen = plain(*arguments)
    spent += time.perf_counter() - began
    return seen


def main() -> None:
    group.snapshot = timed
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        wanted = runs(["headline"], *SCALES["paper"])
        study(wanted, "cpu", threads=1, store=folder)
        whole = time.perf_counter() - began
        print(
            f"{len(wanted)} runs at full length: {whole:.1f} s on one core, snapshots {100 * spent / whole:.2f} % of it"
        )
        words = ["reproduce", "headline", "--engine", "cpu", "--store", folder, "--out", folder]
        began = time.perf_counter()
        subprocess.run([Path(sys.executable).parent / "coexplore", *words], check=True, stdout=subprocess.DEVNULL)
        print(f"the same figure again, pictures and verdicts included: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
