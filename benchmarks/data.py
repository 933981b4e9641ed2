"""Data of one's own, as large as MNIST: what a compiled group holds, and how long it takes to compile, by its runs.

    python benchmarks/data.py

60,000 synthetic inputs of 784 numbers, ten classes. Memory is what XLA's own analysis of the compiled program says; the
data are to be in it once, whatever the number of runs.
"""

import time

import numpy as np

from coexplore import Dataset, Reinforce, Run
from coexplore.engines import xla

WIDTHS = (1, 8, 64)


def main() -> None:
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 10, 60_000)
    began = time.perf_counter()
    task = Dataset(draws.random((60_000, 784), np.float32), labels, held_out=range(50_000, 60_000), name="synthetic")
    megabytes = task.data.x.nbytes / 1e6
    print(f"data: {megabytes:.0f} MB, hashed and copied in {time.perf_counter() - began:.2f} s\n")
    print("| runs | arguments, MB | of them the data | the rest, MB per run | working memory, MB | compiled in, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for width in WIDTHS:
        runs = [Run(rule=Reinforce(), task=task, hidden=64, seed=seed) for seed in range(width)]
        state = xla.start(runs, width=width)
        began = time.perf_counter()
        arguments = (state.program, state.data, state.keys, np.int32(runs[0].updates), state.progress, np.int32(1))
        compiled = xla._advance.lower(*arguments).compile()
        seconds, found = time.perf_counter() - began, compiled.memory_analysis()
        held, working = found.argument_size_in_bytes / 1e6, found.temp_size_in_bytes / 1e6
        rest = (held - megabytes) / width
        print(f"| {width} | {held:.0f} | {megabytes:.0f} | {rest:.2f} | {working:.2f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
