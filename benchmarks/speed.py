"""Speed, memory and import time, as ratios measured in one process on one pinned core.

Prints microseconds of CPU time an update and run, each the best of several rounds in which all candidates take turns.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ALL_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
if ALL_CORES:
    os.sched_setaffinity(0, {min(ALL_CORES)})

import subprocess
import sys
import time

from numpy_version import NumpyTraining

from coexplore import (
    Boltzmann,
    MapProp,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
    grid,
)
from coexplore.engines import cpu, xla
from coexplore.rules.baseline import Chains

ROUNDS = 5


class Xla:
    def __init__(self, rule, width):
        self.state = xla.start(grid(Run(rule=rule), seed=range(width)), width=width)
        self.width = width

    def updates(self, n):
        self.state = xla.advance(self.state, n)


class Cpu:
    width = 1

    def __init__(self, rule, N=64):
        self.state = cpu.start([Run(rule=rule, hidden=(N,), episodes=400_000_000)])

    def updates(self, n):
        self.state = cpu.advance(self.state, n)


class Numpy:
    width = 1

    def __init__(self, **kwargs):
        self.training = NumpyTraining(**kwargs)

    def updates(self, n):
        for _ in range(n):
            self.training.update()


def measured(candidates):
    """Microseconds of CPU time per update per run, the best of several rounds."""
    best = dict.fromkeys(candidates, float("inf"))
    counts = {}
    for name, candidate in candidates.items():
        candidate.updates(20)
        began = time.process_time()
        candidate.updates(20)
        counts[name] = max(20, int(20 * 0.5 / (time.process_time() - began)))
    for _ in range(ROUNDS):
        for name, candidate in candidates.items():
            began = time.process_time()
            candidate.updates(counts[name])
            spent = time.process_time() - began
            best[name] = min(best[name], 1e6 * spent / counts[name] / candidate.width)
    return best


def table(heading, best):
    print(f"\n{heading}: N = 64, batch 16, 4-bit multiplexer")
    yardstick = best.get("NumPy")
    for name, us in best.items():
        ratio = f"{yardstick / us:6.1f} times NumPy" if yardstick else ""
        print(f"  {name:<24}{us:8.0f} us per update and run {ratio}")


RULES = {
    "recurrent, T = 2": Recurrent(),
    "recurrent, T = 1": Recurrent(steps=1),
    "boltzmann, T = 25": Boltzmann(),
    "boltzmann, T = 25, M = 1": Boltzmann(baseline=Chains()),
    "reinforce": Reinforce(),
    "ste": StraightThrough(),
    "weight-max": WeightMax(),
    "unbiased-weight-max": UnbiasedWeightMax(),
    "… expected": UnbiasedWeightMax(expected=True),
    "map-prop": MapProp(),
}


def rivals():
    """Every rule beside Algorithm 2."""
    one, five = (measured({name: Xla(rule, width) for name, rule in RULES.items()}) for width in (1, 5))
    print("\nxla, N = 64: us per update and run, and as a multiple of Algorithm 2 with T = 1")
    for name in RULES:
        single, vmapped = one[name] / one["recurrent, T = 1"], five[name] / five["recurrent, T = 1"]
        print(f"  {name:<26}one run {one[name]:6.0f} ({single:5.2f})   five vmapped {five[name]:6.0f} ({vmapped:5.2f})")


PAPER = ["boltzmann, T = 25", "recurrent, T = 2", "reinforce", "ste", "unbiased-weight-max", "… expected"]


def fused():
    """The cpu engine beside xla with five runs vmapped; larger layers; two threads."""
    print(f"\ncpu ({cpu.kernel().__name__.rpartition('_')[2]}), N = 64: us per update and run")
    for name in PAPER:
        best = measured({"xla": Xla(RULES[name], 5), "cpu": Cpu(RULES[name])})
        print(
            f"  {name:<26}cpu {best['cpu']:6.1f}   xla {best['xla']:6.1f}   {best['xla'] / best['cpu']:5.1f} times xla"
        )
    best = measured({N: Cpu(Boltzmann(), N) for N in (16, 32, 64, 96, 128)})
    print("  boltzmann by N: " + ", ".join(f"{N}: {us:.0f}" for N, us in best.items()))
    print(f"  N = 128 takes {best[128] / best[64]:.1f} times N = 64")
    torch_ratio(best[64])
    print(f"  two threads do {threads_ratio():.2f} times the work of one")


def torch_ratio(us):
    try:
        from torch_version import TorchTraining
    except ImportError:
        print("  (install torch to compare with a PyTorch version)")
        return

    class Torch:
        width = 1

        def __init__(self):
            self.training = TorchTraining()

        def updates(self, n):
            for _ in range(n):
                self.training.update()

    slow = measured({"torch": Torch()})["torch"]
    print(f"  PyTorch, eager: {slow:.0f} us, cpu is {slow / us:.0f} times faster")


THREADS = """
import os, time
from coexplore import Run, grid, train
runs = grid(Run(episodes=16 * 20_000), seed=range(8))
train(runs[:1], engine="cpu", progress=False)
seconds = {}
for threads in (1, 2, 1, 2):
    began = time.perf_counter()
    train(runs, engine="cpu", progress=False, threads=threads)
    seconds[threads] = min(seconds.get(threads, 1e9), time.perf_counter() - began)
print(seconds[1] / seconds[2])
"""


def threads_ratio():
    return fresh(THREADS, cores=ALL_CORES)


def fresh(code, cores=None):
    """The number that a new process prints, on these cores."""
    pin = f"import os; os.sched_setaffinity(0, {cores})\n" if cores else ""
    done = subprocess.run([sys.executable, "-c", pin + code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def import_seconds(module):
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return min(fresh(code) for _ in range(5))


MEMORY = """
import resource
from coexplore import Run, grid
from coexplore.engines import cpu, xla
states = [xla.start([run]) for run in grid(Run(episodes=4_000_000), seed=range(5))]
for _ in range(3):
    states = [xla.advance(state, 500) for state in states]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main():
    for heading, rule, numpy in (
        ("Algorithm 1, T = 25", Boltzmann(), Numpy(boltzmann=True, T=25)),
        ("Algorithm 2, T = 2", Recurrent(), Numpy(boltzmann=False, T=2)),
    ):
        table(heading, measured({"NumPy": numpy, "xla, one run": Xla(rule, 1), "xla, five runs vmapped": Xla(rule, 5)}))
    rivals()
    if cpu.kernel():
        fused()
    print(f"\npeak memory, five runs of 4e6 episodes under way: {fresh(MEMORY):.0f} MiB")
    jax, package, all_of_it = map(import_seconds, ("jax", "coexplore", "coexplore.cli"))
    print(f"import: jax {jax:.2f} s, coexplore {package:.2f} s, everything the command needs {all_of_it:.2f} s")


if __name__ == "__main__":
    main()
