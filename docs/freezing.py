"""The runs and the picture of freezing.md: how many runs freeze, by size and by depth, without and with the cures.

    python docs/freezing.py --store runs --out results/freezing

What was trained is kept in the store: the same command goes on where it was stopped.
"""

import argparse
from pathlib import Path

from coexplore import Backprop, Boltzmann, Recurrent, Reinforce, Run, StraightThrough, grid, load, train
from coexplore.paper.defaults import C
from coexplore.results import plots
from coexplore.results.tables import markdown, with_interval
from coexplore.run import by_setting
from coexplore.stats.estimates import SHARE, summary, window
from coexplore.store import pack, write

BASES = {"Algorithm 2, c = 0.5": Recurrent(0.5), "Algorithm 2": Recurrent(), "REINFORCE": Reinforce()}
PLACES = {
    "Algorithm 2, c = 0.5": {"N = 32": 32, "N = 64": 64, "N = 96": 96, "N = 128": 128},
    "Algorithm 2": {"1 layer": 64, "2 layers": (64, 64), "3 layers": (64, 64, 64)},
    "REINFORCE": {"1 layer": 64, "2 layers": (64, 64), "3 layers": (64, 64, 64)},
}
CURES = {
    "as in the paper": {},
    "fan-in": {"rate_scaling": "fan-in"},
    "signed": {"signals": "signed"},
    "signed, the chain too": {"signals": "signed", "chain_signals": "signed"},
}
SHADES = ("#9a3b26", "#c9a227", "#4c78a8", "#1b3a5c")
EPISODES, SEEDS = 320_000, 20

# What is learned with one to three layers of 64 units where nothing freezes; α is the paper's where none is named.
CURED = {
    "`reinforce`, signed": Run(rule=Reinforce(), signals="signed"),
    "`recurrent`, signed, the chain too": Run(rule=Recurrent(chain_signals="signed"), signals="signed"),
    "`boltzmann`": Run(rule=Boltzmann()),
    "`ste`, signed": Run(rule=StraightThrough(), signals="signed"),
    "`backprop`, fan-in": Run(rule=Backprop(), rate_scaling="fan-in"),
    "`backprop`, α = 0.001": Run(rule=Backprop(), learning_rate=0.001),
}
# The rates of hidden layer, output and critic at which Algorithm 2 with 128 units freezes, and at which it does not.
RATES = {
    "the paper's": 0.005,
    "output 0.002": (0.005, 0.002, 0.005),
    "output 0.001": (0.005, 0.001, 0.005),
    "critic 0.02": (0.005, 0.005, 0.02),
}
LONGER, FRESH, DEPTHS = 1_000_000, range(1000, 1020), (1, 2, 3)


def setting(rule: str, units: object, cure: str) -> Run | None:
    changes = CURES[cure]
    if "chain_signals" in changes and not hasattr(BASES[rule], "chain_signals"):
        return None
    (run,) = grid(Run(rule=BASES[rule], episodes=EPISODES), units=units, **changes)
    return run


def settings() -> dict[tuple[str, str, str], Run]:
    """By rule, place and cure."""
    every = {
        (rule, place, cure): setting(rule, units, cure)
        for rule, places in PLACES.items()
        for place, units in places.items()
        for cure in CURES
    }
    return {key: run for key, run in every.items() if run is not None}


def table(results: list) -> str:
    """How many of how many runs froze, in Markdown."""
    trained, runs = by_setting(results), settings()
    rows = []
    for rule, place in dict.fromkeys(key[:2] for key in runs):
        cells = [trained.get(runs[rule, place, cure], ()) if (rule, place, cure) in runs else () for cure in CURES]
        rows.append(
            [rule, place, *(f"{sum(r.frozen for r in same)} of {len(same)}" if same else "–" for same in cells)]
        )
    return markdown(["", "", *CURES], rows)


def by_rate(results: list) -> str:
    """How many runs froze at other rates of the output and of the critic, in Markdown."""
    trained = by_setting(results)
    counts = [f"{sum(r.frozen for r in trained[run])} of {len(trained[run])}" for run in at_rates()]
    return markdown([*RATES], [counts])


def at_rates() -> list[Run]:
    return grid(Run(rule=Recurrent(), hidden=128, episodes=EPISODES), learning_rate=list(RATES.values()))


def longer(results: list) -> str:
    """How many runs of Algorithm 2 froze in the paper's four million episodes, by coupling and size, in Markdown."""
    trained, rows = by_setting(results), []
    for signals in ("binary", "signed"):
        for N in (64, 96, 128):
            runs = grid(Run(rule=Recurrent()), units=N, signals=signals, coupling=C)
            counts = (f"{sum(r.frozen for r in trained[run])} of {len(trained[run])}" for run in runs)
            rows.append([signals, f"N = {N}", *counts])
    return markdown(["", "", *(f"c = {c:g}" for c in C)], rows)


def learned(results: list) -> str:
    """The last quarter's reward and how many runs froze, in Markdown."""
    trained, rows = by_setting(results), []
    for label, run in CURED.items():
        same = [trained[deeper(run, L)] for L in DEPTHS]
        rows.append([label, *(f"{with_interval(window(x, 'last'))}, {sum(r.frozen for r in x)} froze" for x in same)])
    return markdown(["", "1 layer", "2 layers", "3 layers"], rows)


def deeper(run: Run, L: int) -> Run:
    (deep,) = grid(run, units=(64,) * L, episodes=LONGER)
    return deep


def draw(results: list, path: Path) -> None:
    """A panel for each rule: the share of frozen runs, with its 95 % interval."""
    trained, runs = by_setting(results), settings()
    page, axes = plots.panels(len(PLACES))
    for panel, (rule, places) in zip(axes, PLACES.items(), strict=True):
        cures = [cure for cure in CURES if (rule, next(iter(places)), cure) in runs]
        for i, cure in enumerate(cures):
            found = [summary([float(r.frozen) for r in trained[runs[rule, place, cure]]], SHARE) for place in places]
            at = [j + (i - (len(cures) - 1) / 2) * 0.2 for j in range(len(places))]
            ends = [[x.mean - x.low for x in found], [x.high - x.mean for x in found]]
            shade = SHADES[list(CURES).index(cure)]
            panel.bar(at, [x.mean for x in found], 0.18, yerr=ends, capsize=2, color=shade, label=cure)
        panel.set_xticks(range(len(places)), list(places))
        panel.set_title(rule, size=10)
        panel.set_ylim(0, 1.05)
        panel.set_ylabel("share that froze" if panel.get_ylabel() else "")
    plots.add_shared_legend(page, axes[0], f"{EPISODES:,} episodes, {SEEDS} seeds, 95 % intervals")
    plots.save(page, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="runs")
    parser.add_argument("--out", default="results/freezing", type=Path)
    options = parser.parse_args()
    runs = [run for base in dict.fromkeys(settings().values()) for run in grid(base, seed=range(SEEDS))]
    runs += [run for base in CURED.values() for L in DEPTHS for run in grid(deeper(base, L), seed=FRESH)]
    runs += [run for base in at_rates() for run in grid(base, seed=range(2 * SEEDS))]
    results = train(runs, store=options.store)
    options.out.mkdir(parents=True, exist_ok=True)
    pack(results, options.out / "freezing.safetensors", {run.setting for run in runs})
    kept = load(options.out / "freezing.safetensors")
    write(options.out / "freezing.md", f"{table(kept)}\n\n{by_rate(kept)}\n\n{learned(kept)}\n".encode())
    draw(kept, options.out / "freezing.png")
    print(table(kept), by_rate(kept), learned(kept), sep="\n\n")


if __name__ == "__main__":
    main()
