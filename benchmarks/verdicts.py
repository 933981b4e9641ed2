"""What verdicts are worth and what they cost: the table of docs/verdicts.md, and `coexplore reproduce` after training.

python benchmarks/verdicts.py            # how often intervals cover, in Markdown: a minute
python benchmarks/verdicts.py --seeds 200   # pack, verdicts and pictures of made-up runs of every figure
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
from coexplore.results.tables import markdown
from coexplore.run import Result
from coexplore.stats.bounded import drawn
from coexplore.stats.estimates import summary
from coexplore.store import load, pack

RANGE = (0.0, 1.0)


def coverage(samples: int = 2000) -> str:
    """Runs freeze at 0 with some probability, and end around 0.9 or 0.98 otherwise."""
    rows = []
    for mean, sd in ((0.9, 0.02), (0.98, 0.005)):
        for share in (0.01, 0.05, 0.45):
            for n in (5, 20, 100):
                rng = np.random.default_rng(0)
                a, b = (_frozen(rng, n, share, mean, sd, samples) for _ in range(2))
                plain, truth = _frozen(rng, n, 0.0, 0.8, 0.02, samples), (1 - share) * mean
                of_a, of_b, of_plain = drawn(a, RANGE), drawn(b, RANGE, 1), drawn(plain, RANGE, 1)
                found = [of_a.interval, of_a.minus(of_b).interval, of_a.minus(of_plain).interval]
                inside = [_inside(*ends, at) for ends, at in zip(found, (truth, 0.0, truth - 0.8), strict=True)]
                student = np.array([summary(x)[2:] for x in a]).T
                width = float(np.mean(found[0][1] - found[0][0]))
                cells = [f"{x:.3f}" for x in (*inside, _inside(*student, truth), width)]
                rows.append([f"{mean} ± {sd}", f"{share:.0%}", str(n), *cells])
    headings = ["others", "frozen", "seeds", "mean", "a − b, both freeze", "a − b, a freezes", "Student's", "width"]
    return markdown(headings, rows)


def _frozen(rng: np.random.Generator, n: int, share: float, mean: float, sd: float, samples: int) -> np.ndarray:
    return np.where(rng.random((samples, n)) < share, 0.0, rng.normal(mean, sd, (samples, n)).clip(max=1))


def _inside(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


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
    parser.add_argument("--seeds", type=int, help="how many, from 1000 on")
    wanted = parser.parse_args().seeds
    if wanted:
        cost(range(1000, 1000 + wanted))
    else:
        print(coverage())
