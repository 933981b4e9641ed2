"""What `coexplore reproduce` costs after training: pack, verdicts and pictures of made-up runs of every figure.

python benchmarks/verdicts.py --seeds 200
"""

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np

from coexplore.paper.claims import verdicts
from coexplore.paper.evidence import many_seeds, passed_over
from coexplore.paper.figures import FIGURES, runs
from coexplore.run import Result
from coexplore.store import load, pack


def made_up(seeds: range) -> list[Result]:
    """Every run of every figure: a noisy curve that rises, with what an engine and a store would tell of it."""
    rng, results = np.random.default_rng(0), []
    for run in runs(FIGURES, 4_000_000, seeds):
        rise = np.linspace(0, rng.uniform(0.5, 1.0), 1000) + rng.normal(0, 0.05, 1000)
        finished = f"2026-11-18T01:00:{run.seed // 60:02}+00:00"
        told = {"device": "a GPU", "finished": finished, "seconds": round(rng.random(), 3)}
        told["sha256"] = hashlib.sha256(run.digest.encode()).hexdigest()
        seen = {"firing.0": rng.random((3, run.hidden[0])).astype(np.float32)}
        results.append(Result(run, "cuda", rise.astype(np.float32), None, told, seen))
    return results


def timed(what: str, function, *given):  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    found = function(*given)
    print(f"{what:30} {time.perf_counter() - start:6.1f} s")
    return found


def cost(seeds: range) -> None:
    from coexplore.paper.pictures import draw

    results = timed("made up", made_up, seeds)
    print(f"{len(results):,} runs, {len({result.setting for result in results})} settings")
    judged = timed("verdicts", verdicts, results)
    with tempfile.TemporaryDirectory() as folder:
        timed("pictures", lambda: [draw(figure, results, folder) for figure in FIGURES.values()])
        path = Path(folder) / "all.safetensors"
        undrawn, brief = many_seeds(results)
        timed("pack", pack, results, path, passed_over(results) | undrawn, brief)
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        again = timed("verdicts from the pack, read", lambda: verdicts(load(path)))
        same = [a.sentence == b.sentence and a.verdict == b.verdict for a, b in zip(judged, again, strict=True)]
        print(f"{sum(same)} of {len(same)} verdicts are the same, to every digit shown")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many, from 1000 on")
    cost(range(1000, 1000 + parser.parse_args().seeds))
