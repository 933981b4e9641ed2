"""How long a report of 3,000 runs takes to make and to open, and how large it is: `make bench-report` prints it.

The runs are made up (600 settings of five seeds, with parameters and snapshots of one seed each, as a pack keeps them).
"""

import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import chromium, missing, offline

from coexplore import Result, grid
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.report.data import report
from coexplore.report.html import page
from coexplore.run import change
from coexplore.store import pack, read

RUNS, SEEDS = 3000, 5


def made_up():
    """The paper's settings and ours, then variations of them until there are enough."""
    episodes = SCALES["paper"].episodes
    settings = dict.fromkeys(run for figure in FIGURES.values() for run in figure.settings(episodes))
    more = (change(run, "learning_rate", 0.001 * k) for k in range(1, 9) for run in list(settings))
    while len(settings) < RUNS // SEEDS:
        settings[next(more)] = None
    rng, params = np.random.default_rng(0), {}
    for i, run in enumerate(run for setting in settings for run in grid(setting, seed=range(SEEDS))):
        curve = np.linspace(0, rng.random(), 1000) + 0.1 * rng.standard_normal(1000)
        whole = run.seed == 0
        shape = (run.hidden, run.rules[0].name, run.critic is None)
        if whole and shape not in params:
            params[shape] = jax.tree.map(np.asarray, run.init())
        seen = {
            "updates": np.arange(21) * 12500,
            "firing.0": rng.random((21, run.hidden[0])),
            "critic_error": rng.random(21),
        }
        about = {"seconds": 20.0, "finished": "2026-01-01", "n": i}
        yield Result(
            run, "cpu", curve.astype(np.float32), params.get(shape) if whole else None, about, seen if whole else {}
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "pack.safetensors", Path(folder) / "report.html"
        pack(list(made_up()), source)
        print(f"pack: {source.stat().st_size / 1e6:.1f} MB")
        began, cpu = time.perf_counter(), time.process_time()
        results, _ = read(source)
        print(
            f"read {len(results)} runs: {time.perf_counter() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU"
        )
        began, cpu = time.perf_counter(), time.process_time()
        out.write_text(page(report(results, "made up")).html)
        print(f"made: {time.perf_counter() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU")
        print(f"file: {out.stat().st_size / 1e6:.1f} MB")
        if why := missing():
            sys.exit(why)
        with chromium() as browser:
            offline(browser)
            for _ in range(3):
                began = time.perf_counter()
                browser.get(out.as_uri())
                shown = browser.execute_script("return performance.now()")
                print(f"opened: {time.perf_counter() - began:.2f} s ({shown / 1000:.2f} s by the page's own clock)")


if __name__ == "__main__":
    main()
