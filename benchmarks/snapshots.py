"""What snapshots and the store cost beside training: the time with a store over the time without.

Two ratios: of processor time, and of elapsed time, in which the disk counts. All trainings run in one process, the two
kinds in turns after one of each that is not counted. `--snapshots COUNT` takes so many snapshots of each run in place
of the usual number.
"""

import argparse
import tempfile
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coexplore import Run, grid, rules
from coexplore.study import study


def seconds(runs: list[Run], **how: Any) -> NDArray[np.float64]:
    """Processor time and elapsed time to train the runs."""
    began = np.array([time.process_time(), time.perf_counter()])
    done = study(runs, "cpu", progress=False, **how)
    assert done.trained == len(runs)
    return np.array([time.process_time(), time.perf_counter()]) - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rule", default="boltzmann")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--episodes", type=int, default=16_000)
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--snapshots", type=int)
    options = parser.parse_args()
    run = Run(rule=rules.usual(options.rule), hidden=options.units, episodes=options.episodes)
    runs = grid(run, seed=range(options.runs))
    ratios = []
    for turn in range(options.turns + 1):
        bare = seconds(runs)
        with tempfile.TemporaryDirectory() as folder:
            kept = seconds(runs, store=folder, snapshots=options.snapshots)
        if turn:
            ratios.append(kept / bare)
            print(
                "{:.2f} s bare, {:.2f} s with a store: {:.2f} times; elapsed {:.2f} times".format(
                    bare[0], kept[0], *ratios[-1]
                ),
                flush=True,
            )
    print("median of {}: {:.2f} times; elapsed {:.2f} times".format(len(ratios), *np.median(ratios, axis=0)))


if __name__ == "__main__":
    main()
