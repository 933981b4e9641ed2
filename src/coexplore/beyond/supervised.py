"""Every rule on a task with labels: the same network, batch, optimiser, critic and budget, each at its best rate.

The rate is the best of RATES by the reward while training (the last quarter, mean over TUNING seeds), never by what is
held out, and judged on other seeds. One hidden layer of 64 units, both kinds of reward.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coexplore.results.choosing import ranked
from coexplore.results.tables import counted, markdown, with_interval
from coexplore.rules import OURS
from coexplore.run import Result, Run, by_setting, grid
from coexplore.run.accuracy import HEADING
from coexplore.stats.estimates import SHARE, Summary, summary, window
from coexplore.tasks.supervised import Boolean, Digits, Labelled

RATES = [0.001, 0.005, 0.02]
TUNING, SEEDS = 3, 10
REWARDS = {"drawn": "R = ±1 for a drawn label", "loss": "R = log P(label)"}


class Comparison(NamedTuple):
    name: str
    title: str
    task: Digits | Boolean


COMPARISONS = {
    comparison.name: comparison
    for comparison in (
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


def rivals(comparison: Comparison) -> list[list[Run]]:
    """Settings among which one is chosen, by its rate."""
    return [grid(base, learning_rate=RATES) for base in settings(comparison)]


def tuning(comparison: Comparison) -> list[Run]:
    """The runs that the rates are chosen by."""
    return [run for several in rivals(comparison) for each in several for run in grid(each, seed=range(TUNING))]


def chosen(comparison: Comparison, results: Iterable[Result]) -> list[Run]:
    """Each setting at its best rate; one of which nothing is trained is left out."""
    trained = by_setting(results)
    orders = [ranked(several, trained, "last", range(TUNING)) for several in rivals(comparison)]
    return [order[0] for order in orders if order]


def final(comparison: Comparison, results: Iterable[Result], seeds: range) -> list[Run]:
    """The runs that what was chosen is judged by: none of their seeds had a say in it."""
    afresh = seeds if seeds.start >= TUNING else range(TUNING, TUNING + len(seeds))
    return [run for best in chosen(comparison, results) for run in grid(best, seed=afresh)]


def rows(comparison: Comparison, results: Iterable[Result]) -> list[Row]:
    results = list(results)
    trained = by_setting(result for result in results if result.run.seed >= TUNING)
    rows = []
    for run in chosen(comparison, results):
        if same := trained.get(run):
            reward, accuracy = window(same, "last"), summary([_judged(r) for r in same], SHARE)
            rows.append(Row(run.rules[0].name, _rewards(run), _rate(run), reward, accuracy, same))
    return rows


def _rewards(run: Run) -> str:
    assert isinstance(run.task, Labelled)
    return run.task.rewards


def _rate(run: Run) -> float:
    assert isinstance(run.learning_rate, float)
    return run.learning_rate


def _judged(result: Result) -> float:
    return float("nan") if result.accuracy is None else result.accuracy


def table(comparison: Comparison, rows: Sequence[Row]) -> str:
    """In Markdown, a section for the comparison."""
    text = [f"## {comparison.title}", ""]
    for rewards, words in REWARDS.items():
        mine = sorted((row for row in rows if row.rewards == rewards), key=lambda row: -row.accuracy.mean)
        seeds = counted([len(row.results) for row in mine])
        text += [f"{words}; {seeds} seeds (α chosen on {TUNING} others), 95 % intervals:", ""]
        headings = ["rule", "α", "reward, last quarter", HEADING]
        cells = [[f"`{r.rule}`", f"{r.rate:g}", with_interval(r.reward), with_interval(r.accuracy)] for r in mine]
        text += [markdown(headings, cells), ""]
    return "\n".join(text)


def accuracies(rows: Iterable[Row]) -> dict[str, dict[str, Summary]]:
    """By kind of reward, then by rule: what bars show."""
    by_reward: dict[str, dict[str, Summary]] = {}
    for row in rows:
        by_reward.setdefault(REWARDS[row.rewards], {})[row.rule] = row.accuracy
    return by_reward


def learning(rows: Iterable[Row]) -> dict[str, dict[str, Mapping[str, np.ndarray]]]:
    """By kind of reward, then by rule: episodes [K] and held-out accuracy [seeds, K] at the moments of snapshots."""
    by_reward: dict[str, dict[str, Mapping[str, np.ndarray]]] = {}
    for row in rows:
        y = np.stack([result.snapshots["accuracy"] for result in row.results])
        x = np.linspace(0, row.results[0].run.episodes, y.shape[1])
        by_reward.setdefault(REWARDS[row.rewards], {})[row.rule] = {"x": x, "y": y}
    return by_reward
