"""Every rule on a task with labels: the same network, batch, optimiser, critic and budget, each at its best rate.

The rate is the best of RATES by the reward while training (the last quarter, mean over TUNING seeds), never by what is
held out. One hidden layer of 64 units, both kinds of reward.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from coexplore.flags import grid
from coexplore.result import Result, by_setting
from coexplore.rules import OURS
from coexplore.run import Run
from coexplore.stats import Summary, summary
from coexplore.tasks.supervised import Boolean, Digits

RATES = [0.001, 0.005, 0.02]
TUNING, SEEDS = 3, 10
REWARDS = {"drawn": "R = ±1 for a drawn label", "loss": "R = log P(label)"}


class Comparison(NamedTuple):
    name: str
    title: str
    task: Digits | Boolean


COMPARISONS = {
    one.name: one
    for one in (
        Comparison("digits", "Handwritten digits, 8 × 8 pixels", Digits()),
        Comparison("parity", "Parity of six bits", Boolean(function="parity", bits=6)),
    )
}


class Row(NamedTuple):
    """One rule with one kind of reward, at its best rate."""

    rule: str
    rewards: str
    rate: float
    reward: Summary  # while training, over the last quarter
    accuracy: Summary  # on what was held out
    results: list[Result]


def settings(comparison: Comparison) -> list[Run]:
    """Each rule with each kind of reward, its rate not yet chosen."""
    return [
        run
        for rewards in REWARDS
        for rule in OURS
        for run in grid(Run(rule=rule(), task=comparison.task), rewards=rewards)
    ]


def tuning(comparison: Comparison) -> list[Run]:
    """The runs that the rates are chosen by."""
    return [run for one in settings(comparison) for run in grid(one, learning_rate=RATES, seed=range(TUNING))]


def chosen(comparison: Comparison, results: Iterable[Result]) -> list[Run]:
    """Each setting at its best rate; one of which nothing is trained is left out."""
    tuned = [result for result in results if result.run.seed < TUNING]
    found = {run: float(np.mean([r.last for r in same])) for run, same in by_setting(tuned).items()}
    best = []
    for one in settings(comparison):
        if rates := [run for run in grid(one, learning_rate=RATES) if run in found]:
            best.append(max(rates, key=lambda run: found[run]))
    return best


def final(best: Iterable[Run], seeds: int) -> list[Run]:
    return [run for one in best for run in grid(one, seed=range(seeds))]


def rows(comparison: Comparison, results: Iterable[Result]) -> list[Row]:
    results = list(results)
    trained = by_setting(results)
    made = []
    for run in chosen(comparison, results):
        same = trained[run]
        reward, accuracy = summary([r.last for r in same]), summary([_judged(r) for r in same])
        made.append(Row(run.rules[0].name, run.task.rewards, run.learning_rate, reward, accuracy, same))
    return made


def _judged(result: Result) -> float:
    return float("nan") if result.accuracy is None else result.accuracy


def table(comparison: Comparison, found: Iterable[Row]) -> str:
    """In Markdown, a section for the comparison."""
    lines = [f"## {comparison.title}", ""]
    for rewards, words in REWARDS.items():
        mine = [row for row in found if row.rewards == rewards]
        seeds = "/".join(map(str, sorted({len(row.results) for row in mine})))
        lines += [f"{words}; {seeds} seeds, 95 % intervals:", ""]
        lines += ["| rule | α | reward, last quarter | held-out accuracy |", "| --- | --- | --- | --- |"]
        ordered = sorted(mine, key=lambda row: -row.accuracy.mean)
        lines += [f"| `{r.rule}` | {r.rate:g} | {_shown(r.reward)} | {_shown(r.accuracy)} |" for r in ordered]
        lines.append("")
    return "\n".join(lines)


def _shown(value: Summary) -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def accuracies(found: Iterable[Row]) -> dict[str, dict[str, Summary]]:
    """By kind of reward, then by rule: what bars show."""
    made: dict[str, dict[str, Summary]] = {}
    for row in found:
        made.setdefault(REWARDS[row.rewards], {})[row.rule] = row.accuracy
    return made


def learning(found: Iterable[Row]) -> dict[str, dict[str, Mapping[str, np.ndarray]]]:
    """By kind of reward, then by rule: episodes [K] and held-out accuracy [seeds, K] at the moments of snapshots."""
    made: dict[str, dict[str, Mapping[str, np.ndarray]]] = {}
    for row in found:
        y = np.stack([result.snapshots["accuracy"] for result in row.results])
        x = np.linspace(0, row.results[0].run.episodes, y.shape[1])
        made.setdefault(REWARDS[row.rewards], {})[row.rule] = {"x": x, "y": y}
    return made
