"""How the rules are compared on tasks with labels, on results made up for the purpose."""

import numpy as np
import pytest
from scipy.special import stdtrit

from coexplore.beyond import control
from coexplore.beyond.pictures import draw
from coexplore.beyond.supervised import COMPARISONS, RATES, SEEDS, TUNING, chosen, final, rows, settings, table
from coexplore.beyond.supervised import tuning as tuning_runs
from coexplore.cli.beyond import beyond_command
from coexplore.rules import BUILT_IN
from coexplore.run import Result, bins, grid
from coexplore.settings import FieldError

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
    judged = final(DIGITS, map(made_up, runs), range(SEEDS))
    assert not set(judged) & set(runs)
    return [made_up(run) for run in (*runs, *judged)]


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
    lucky = [r.replaced(curve=r.curve - 9) if r.run.seed >= TUNING else r for r in results]
    assert {run.learning_rate for run in chosen(DIGITS, lucky)} == {0.005}


def test_rows_and_tables_have_means_and_intervals_over_the_seeds_that_did_not_choose(results):
    found = rows(DIGITS, results)
    assert len(found) == 2 * len(BUILT_IN)
    assert {len(row.results) for row in found} == {SEEDS}
    assert found[0].accuracy.mean == pytest.approx(0.565)
    text = table(DIGITS, found)
    assert text.count("| `") == len(found)
    assert "R = log P(label); 10 seeds (α chosen on 3 others), 95 % intervals:" in text
    backprop = [line for line in text.splitlines() if line.startswith("| `backprop` | 0.005 | 0.675")]
    assert len(backprop) == 2
    assert "0.675 [0.653, 0.697]" in backprop[1]  # log-probabilities have no bounds, rewards of ±1 do
    assert "0.675 [0.653, 0.697]" not in backprop[0]


def test_the_picture_is_drawn(results, tmp_path):
    assert draw(DIGITS, rows(DIGITS, results), tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_comparison_that_there_is_not_is_named_in_one_line():
    with pytest.raises(FieldError, match=r"comparison: 'digit' is not allowed \(did you mean 'digits'\?\)"):
        beyond_command(["digit"])


CARTPOLE = control.COMPARISONS["cartpole"]


def played(run, seeds=control.SEEDS):
    """Returns that are the higher the nearer c is to 0.1, and differ from seed to seed."""
    c = getattr(run.rules[0], "coupling", 0.1)
    return [
        Result(each, "control", np.full(bins(each.updates), 100 - abs(c - 0.1) * 50 + each.seed, np.float32), None)
        for each in grid(run, seed=range(seeds))
    ]


def test_couplings_are_chosen_by_the_average_return_of_the_first_seeds():
    tuned = [result for run in control.tuning(CARTPOLE) if run.seed == 0 for result in played(run, control.TUNING)]
    assert len(tuned) == 2 * len(control.COUPLINGS) * control.TUNING
    best = control.chosen(CARTPOLE, tuned)
    assert {run.rules[0].coupling for run in best[-8:] if hasattr(run.rules[0], "coupling")} == {0.1, 0.25}
    late = [r.replaced(curve=r.curve - 99) if r.run.rules[0].coupling == 0.1 else r for r in tuned]
    assert 0.1 not in {getattr(run.rules[0], "coupling", None) for run in control.chosen(CARTPOLE, late)}


def test_the_table_of_an_environment_stands_beside_what_was_published(tmp_path):
    seeds = control.TUNING + control.SEEDS
    results = [result for run in control.chosen(CARTPOLE, []) for result in played(run, seeds)]
    final = control.final(CARTPOLE, [], range(control.SEEDS))
    found = control.rows(CARTPOLE, [result for result in results if result.run in final])
    assert {len(row.results) for kind in found.values() for row in kind} == {control.SEEDS}
    text = control.table(CARTPOLE, found)
    assert "| `weight-max` | 104.5 (3.0) [102.3, 106.7] | 104.5 (3.0) [102.3, 106.7] | 390.38 (43.25) | short |" in text
    # Its coupling was chosen, so other seeds judge: five further up, and worth five more.
    assert "| `recurrent`, c = 0.0 | 104.5 (3.0) [102.3, 106.7] | 104.5 (3.0) [102.3, 106.7] |\n" in text
    assert "10 runs (c chosen on 5 others), mean (sd)" in text
    assert draw(CARTPOLE, found, tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_published_number_is_met_where_a_shortfall_of_a_tenth_is_excluded():
    """By Welch's interval worked out here; ten runs were published, with the spread of the runs themselves."""
    ours = np.array([130.0, 140, 150, 160, 130, 140, 150, 160, 145, 145])
    his = np.array([90.0, 110] * 5)  # mean 100, and 10 on either side of it
    parts = [np.var(x, ddof=1) / 10 for x in (ours, his)]
    df = sum(parts) ** 2 / sum(part**2 / 9 for part in parts)
    low, high = (ours.mean() - his.mean() + sign * stdtrit(df, 0.975) * sum(parts) ** 0.5 for sign in (-1, 1))
    for off, word in ((-10 - low, "met"), (-10 - high, "short")):
        at_the_edge = ours + off  # where this end of the interval is a tenth below
        side = 1e-6 if word == "met" else -1e-6
        assert control.meets(at_the_edge + side, (100, 10)) == word
        assert control.meets(at_the_edge - side, (100, 10)) == "undecided"
    assert control.meets([-104.0, -105, -103, -104], (-100, 1)) == "met"  # a tenth of a size, whatever its sign
    assert control.meets([-120.0, -121, -119, -120], (-100, 1)) == "short"
    assert control.meets([300.0], (100, 10)) == "undecided"


def test_every_environment_is_the_one_of_its_presets():
    for one in control.COMPARISONS.values():
        assert {run.task.env for entry in (*one.author, *one.equal) for run in entry.candidates} == {one.title}
