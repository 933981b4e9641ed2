"""Speed on a GPU: us per update of a whole group of runs, by rule, units and runs; the paper's runs; xla's widths.

The time of an update of 132 runs is the time in which all 132 do one. Each figure is the best of three launches.
"""

import time

import jax

from coexplore import Boltzmann, Recurrent, Reinforce, Run, StraightThrough, UnbiasedWeightMax, grid
from coexplore.engines import cuda
from coexplore.engines.base import NO_GPU
from coexplore.paper import figures
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.study import study

UNITS = (8, 16, 32, 64, 96, 128)
RUNS = (1, 132, 264, 396)
LARGER = (64, 128, 192, 256, 384, 512)
LONG = 16 * 100_000_000  # episodes enough never to be at the end


def group(rule, N, runs):
    """Many runs, of which a few seeds repeat: what they compute does not matter here."""
    few = cuda.start(grid(Run(rule=rule, hidden=(N,), episodes=LONG), seed=range(min(runs, 4))))
    saved = cuda.tensors(few)
    return cuda.restore(*zip(*[(few.runs[i % len(saved)], saved[i % len(saved)]) for i in range(runs)], strict=True))


def microseconds(advance, state, seconds=0.1):
    """Of an update, once compiled; launches last about so many seconds."""
    state, updates, best = advance(advance(state, 0), 100), 200, float("inf")
    for _ in range(4):
        began = time.perf_counter()
        state = advance(state, updates)
        spent = time.perf_counter() - began
        best = min(best, spent / updates)
        updates = max(200, int(seconds / best))
    return 1e6 * best


def table(title, rule, units=UNITS, runs=RUNS):
    print(f"\n{title}: us per update of so many runs\n  units" + "".join(f"{n:>9} runs" for n in runs))
    for N in units:
        cells = [microseconds(cuda.advance, group(rule, N, n)) for n in runs]
        print(f"  {N:>5}" + "".join(f"{us:>14.2f}" for us in cells), flush=True)


def larger():
    """Layers that a run shares out among several blocks, which leave room for fewer runs at a time."""
    rules = {"Algorithm 1, T = 25": Boltzmann(), "Algorithm 2, T = 2": Recurrent(), "REINFORCE": Reinforce()}
    for title, rule in rules.items():
        table(title, rule, LARGER, (1, 132))


def against_xla(runs=40):
    from coexplore.engines import xla

    mine = microseconds(cuda.advance, group(Boltzmann(), 64, runs))
    state = xla.start(grid(Run(rule=Boltzmann(), episodes=LONG), seed=range(runs)), width=runs)
    theirs = microseconds(xla.advance, state)
    print(f"\nAlgorithm 1, {runs} runs: cuda {mine:.2f} us, xla {theirs:.1f} us: {theirs / mine:.1f} times", flush=True)


def wide_groups():
    """xla's groups of 64 and of 1024 runs; and how long a group takes to start."""
    from coexplore.engines import xla

    for title, rule in (("Algorithm 1, T = 25", Boltzmann()), ("Algorithm 2, T = 2", Recurrent())):
        for width in (64, 1024):
            began = time.perf_counter()
            state = xla.advance(xla.start(grid(Run(rule=rule, episodes=LONG), seed=range(width)), width), 0)
            ready = time.perf_counter() - began
            us = microseconds(xla.advance, state, seconds=0.5)
            each = f"{us / width:.2f} per run; {ready:.1f} s to start and compile"
            print(f"xla, {title}, {width:>4} runs: {us:.0f} us per update, {each}", flush=True)


def looks(runs=132):
    """A snapshot of a group, against snapshots of its runs by the engines that have no kernel for that."""
    from coexplore.engines.look import look

    state = cuda.advance(group(Boltzmann(), 64, runs), 0)
    params = cuda.params(state)
    mine = best(lambda: cuda.look(state))
    theirs = best(lambda: [look(run, now, state.done) for run, now in zip(state.runs, params, strict=True)])
    print(
        f"\na look at {runs} runs: {1e3 * mine:.2f} ms, in JAX {1e3 * theirs:.0f} ms: {theirs / mine:.0f} times",
        flush=True,
    )


def best(work, times=4):
    """Seconds."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return min(spent)


def whole_paper():
    runs = figures.runs([name for name, figure in FIGURES.items() if not figure.ours], *SCALES["paper"])
    began = time.perf_counter()
    done = study(runs, engine="cuda", progress=False)
    whole = time.perf_counter() - began
    episodes = sum(run.episodes for run in runs)
    print(
        f"\nthe paper: {len(runs)} runs, {episodes:.2e} episodes: {done.seconds:.1f} s of training, "
        f"{done.compile_seconds:.1f} s to start, {whole:.1f} s in all",
        flush=True,
    )
    for rule in (Boltzmann(), Recurrent(), Reinforce(), StraightThrough(), UnbiasedWeightMax()):
        same = [r for r in done.results if r.run.setting == Run(rule=rule)]
        first, last = (sum(x) / len(same) for x in zip(*((r.first, r.last) for r in same), strict=True))
        print(f"  {rule.name:<21} 64 units: reward {first:.3f} in the first quarter, {last:.3f} in the last")


def main():
    figures_of_cuda()
    if jax.default_backend() != "cpu":
        wide_groups()


def figures_of_cuda():
    if why := cuda.missing():
        if why != NO_GPU:
            print(f"no figures of the cuda engine: {why}")
        return
    table("Algorithm 1, T = 25", Boltzmann())
    table("Algorithm 2, T = 2", Recurrent())
    larger()
    for rule in (Reinforce(), StraightThrough(), UnbiasedWeightMax()):
        table(rule.name, rule, (8, 64, 128), (1, 132))
    looks()
    whole_paper()
    against_xla()


if __name__ == "__main__":
    main()
