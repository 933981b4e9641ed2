"""How the rules are compared on tasks with labels, on results made up for the purpose."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from coexplore import load
from coexplore.beyond.pictures import draw
from coexplore.beyond.supervised import COMPARISONS, RATES, SEEDS, TUNING, chosen, final, find, rows, settings, table
from coexplore.beyond.supervised import tuning as tuning_runs
from coexplore.fields import FieldError
from coexplore.result import Result, bins
from coexplore.rules import BUILT_IN

DIGITS = COMPARISONS["digits"]


def made_up(run):
    """Rewarded most at the middle rate; accurate the more the higher the rate is, which must not count."""
    reward = {0.001: 0.2, 0.005: 0.6, 0.02: 0.4}[run.learning_rate] + 0.01 * run.seed
    curve = np.full(bins(run.updates), reward, np.float32)
    accuracy = np.linspace(0.1, 0.5 + 10 * run.learning_rate + 0.002 * run.seed, 21, dtype=np.float32)
    return Result(run, "xla", curve, None, {}, {"accuracy": accuracy})


@pytest.fixture(scope="module")
def results():
    runs = tuning_runs(DIGITS)
    best = chosen(DIGITS, map(made_up, runs))
    return [made_up(run) for run in dict.fromkeys([*runs, *final(best, SEEDS)])]


def test_every_rule_is_trained_with_both_rewards_alike_but_for_the_rate():
    runs = settings(DIGITS)
    assert [(run.task.rewards, run.rules[0].name) for run in runs] == [
        (rewards, name) for rewards in ("drawn", "loss") for name in BUILT_IN
    ]
    shared = {(run.hidden, run.batch, run.episodes, run.critic.width) for run in runs}
    assert shared == {((64,), 16, 160_000, 64)}
    assert len(tuning_runs(DIGITS)) == len(runs) * len(RATES) * TUNING


def test_the_rate_is_chosen_by_the_reward_while_training_and_not_by_what_is_held_out(results):
    assert {run.learning_rate for run in chosen(DIGITS, results)} == {0.005}
    # Seeds beyond those of the tuning have no say: only the best rate has them.
    lucky = [dataclasses.replace(r, curve=r.curve - 9) if r.run.seed >= TUNING else r for r in results]
    assert {run.learning_rate for run in chosen(DIGITS, lucky)} == {0.005}


def test_rows_and_tables_have_means_and_intervals_over_all_seeds(results):
    found = rows(DIGITS, results)
    assert len(found) == 2 * len(BUILT_IN)
    assert {len(row.results) for row in found} == {SEEDS}
    assert found[0].accuracy.mean == pytest.approx(0.559)
    text = table(DIGITS, found)
    assert text.count("| `") == len(found)
    assert "R = log P(label); 10 seeds, 95 % intervals:" in text
    assert "| `backprop` | 0.005 | 0.645 [0.623, 0.667] | 0.559 [0.555, 0.563] |" in text


def test_the_picture_is_drawn(results, tmp_path):
    assert draw(DIGITS, rows(DIGITS, results), tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_comparison_that_there_is_not_is_named_in_one_line():
    with pytest.raises(FieldError, match=r"comparison: 'digit' is not allowed \(did you mean 'digits'\?\)"):
        find("digit")


def test_the_tables_in_this_repository_are_those_of_the_runs_in_it():
    folder = Path(__file__).parents[1] / "results" / "supervised"
    written = (folder / "tables.md").read_text()
    for path in folder.glob("*.safetensors"):
        comparison = COMPARISONS[path.stem]
        assert table(comparison, rows(comparison, load(path))) in written
