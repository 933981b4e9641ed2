"""The table of tuning.md: what becomes of figure 3 when each rule has its best α and c, of the first grid of `tuned`.

    python docs/first_grid.py --store runs

The first grid (α constant and falling, times c for the two algorithms, the rest as in the paper; seeds 1000 – 1004) is
in results/tuned/first-grid.safetensors; this chooses from it, trains what was chosen on seeds 2000 – 2019, adds that to
the pack and prints the table. `coexplore tune` does both for one rule, from nothing.
"""

import argparse
from pathlib import Path

from coexplore import Run, grid, load, train
from coexplore.paper.tuned_tables import described
from coexplore.paper.tunings import BY_KERNEL, SIZES, tuned_places
from coexplore.results.choosing import ranked
from coexplore.results.tables import markdown, with_interval
from coexplore.run import by_setting
from coexplore.stats.estimates import window
from coexplore.store import pack
from coexplore.study.search import Trials

PACK = Path(__file__).parents[1] / "results" / "tuned" / "first-grid.safetensors"
CHOOSE, JUDGE = range(1000, 1005), range(2000, 2020)
N, MEASURES = 64, ("reward", "first", "last")
SEARCHES = tuned_places(4_000_000, SIZES["paper"], [N], BY_KERNEL)
WORDS = {"reward": "all episodes", "first": "first quarter", "last": "last quarter"}


def chosen(results: list) -> dict[tuple[str, str], Run]:
    """The best setting by measure and rule."""
    trained = by_setting(r for r in results if r.seed in CHOOSE)
    grids = {place.label: search.grid(Trials()) for place, search in SEARCHES.items()}
    return {(by, label): ranked(first, trained, by)[0] for by in MEASURES for label, first in grids.items()}


def table(results: list) -> str:
    """Mean reward of the judging seeds at what was chosen, and how many settings that was the best of, in Markdown."""
    trained, rows = by_setting(r for r in results if r.seed in JUDGE), []
    tried = {place.label: len(search.grid(Trials())) for place, search in SEARCHES.items()}
    for (by, label), run in chosen(results).items():
        rows.append([WORDS[by], label, with_interval(window(trained[run], by)), described(run), f"{tried[label]}"])
    rows.sort(key=lambda row: ([*WORDS.values()].index(row[0]), -float(row[2].split()[0])))
    return markdown(["chosen and judged by", "", "reward", "setting", "tried"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="runs")
    options = parser.parse_args()
    first = [result for result in load(PACK) if result.seed in CHOOSE]
    runs = [run for best in dict.fromkeys(chosen(first).values()) for run in grid(best, seed=JUDGE)]
    results = [*first, *train(runs, engine="cpu", store=options.store)]
    pack(results, PACK, {result.setting for result in results})
    print(table(load(PACK)))


if __name__ == "__main__":
    main()
