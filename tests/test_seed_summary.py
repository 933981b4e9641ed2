"""What runs of one setting came to: against scipy, and as every table says it."""

import io
import json
import math

import numpy as np
import pytest
import scipy.stats

from coexplore import Backprop, Boltzmann, Control, Digits, Multiplexer, Reinforce, Result, Run, Tuned, grid
from coexplore.cli.tables import candidate_table, described_settings, evaluation_table, result_table
from coexplore.results.listing import Results, seed_summary
from coexplore.run.contents import Held, Scores
from coexplore.run.evaluation import Evaluation
from coexplore.run.frozen import may_freeze
from coexplore.settings import FieldError
from coexplore.stats.estimates import clopper_pearson, level
from coexplore.stats.seed_summary import ALL_NOTE, BEYOND_NOTE, FEW_NOTE, FROZEN_NOTE, METHOD, SeedSummary, notes

FIVE = (0.76, 0.79, 0.80, 0.82, 0.84)
SEVENTEEN = tuple(0.78 + 0.002 * i for i in range(17))
CARTPOLE = (93.4, 480.2, 500.0, 500.0, 500.0)


def summed(values, froze=(), **more):
    return SeedSummary(values, froze, **{"may_freeze": True, "bounds": (0.0, 1.0), "possible": (-1.0, 1.0)} | more)


def of_returns(values):
    return SeedSummary(values, possible=(0.0, 500.0))


def made(run, value, froze=False):
    """A result that nobody trained."""
    curve = np.full(4, value, np.float32)
    return Result.stored(run, "cpu", Held(curve, None, {}), {}, Scores(value, value, value, froze, None), curve)


def results(values, froze=(), run=None):
    every = [(value, False) for value in values] + [(value, True) for value in froze]
    return Results(made((run or Run()).with_seed(seed), *one) for seed, one in enumerate(every))


def text_of(table, width=300):
    from rich.console import Console

    console = Console(width=width, markup=False, file=io.StringIO())
    console.print(table)
    return " ".join(console.file.getvalue().split())


# Against scipy --------------------------------------------------------------------------------------------------------


def test_the_interval_of_the_runs_that_learned_is_students():
    for values in (FIVE, SEVENTEEN, CARTPOLE):
        found, known = summed(values, (0.0, 0.01)), scipy.stats.ttest_1samp(values, 0).confidence_interval()
        assert (found.mean, found.sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
        assert (found.low, found.high) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(("count", "n"), [(0, 5), (5, 5), (3, 20), (112, 200), (1, 1)])
def test_the_interval_of_a_share_is_cloppers_and_pearsons(count, n):
    low, high = clopper_pearson(count, n)
    assert low == pytest.approx(0 if count == 0 else scipy.stats.beta.ppf(0.025, count, n - count + 1))
    assert high == pytest.approx(1 if count == n else scipy.stats.beta.ppf(0.975, count + 1, n - count))
    assert (low, high) == pytest.approx(tuple(scipy.stats.binomtest(count, n).proportion_ci()))


# As it is told --------------------------------------------------------------------------------------------------------


def test_five_seeds_that_learned_have_students_interval_and_none_of_five_froze():
    found = summed(FIVE)
    assert found.text == "0.802 ± 0.030 [0.764, 0.840]"
    assert str(found.frozen) == "0 of 5 [0, 0.52]"
    assert notes([found]) == [FROZEN_NOTE]


def test_of_twenty_of_which_three_froze_those_that_learned_are_told_and_all_beside_them():
    found = summed(SEVENTEEN, (0.0, 0.01, -0.01))
    of_all = level([*SEVENTEEN, 0.0, 0.01, -0.01], (0.0, 1.0))
    assert found.text == f"0.796 ± 0.010 [0.791, 0.801]; all 0.677 [{of_all.low:.3f}, {of_all.high:.3f}]"
    assert str(found.frozen) == "3 of 20 [0.032, 0.38]"
    assert str(found) == f"{found.text}; frozen 3 of 20 [0.032, 0.38]"
    assert notes([found]) == [FROZEN_NOTE, ALL_NOTE]
    assert (found.of_all[1], found.of_all[2]) == (of_all.low, of_all.high)


def test_below_twenty_runs_the_mean_of_all_has_no_interval():
    found = summed(SEVENTEEN[:16], (0.0, 0.01, -0.01))
    assert found.text.endswith("; all 0.669")
    assert math.isnan(found.of_all[1])
    assert found.to_dict()["low_of_all"] is None


def test_below_five_runs_that_learned_the_values_are_told():
    assert summed((0.8, 0.76, 0.82)).text == "0.793 (0.760, 0.800, 0.820)"
    assert summed((0.8,)).text == "0.800"
    found = summed((0.8, 0.76), (0.0,) * 18)
    assert math.isnan(found.low)
    assert found.text.startswith("0.780 (0.760, 0.800); all 0.078 [")
    assert notes([found]) == [FEW_NOTE, FROZEN_NOTE, ALL_NOTE]
    assert notes([summed((0.8,), may_freeze=False)]) == []


def test_where_all_froze_the_summary_says_so():
    found = summed((), (0.0, 0.02))
    assert (found.text, notes([found])) == ("all froze: 0.010", [FROZEN_NOTE])
    assert str(found.frozen) == "2 of 2 [0.16, 1]"
    told = found.to_dict()
    assert (told["seeds"], told["frozen"], told["mean_of_all"], told["frozen_high"]) == (2, 2, 0.01, 1.0)
    assert {told[name] for name in ("mean", "sd", "low", "high", "low_of_all", "high_of_all")} == {None}


def test_an_end_that_no_run_can_reach_is_marked_and_the_values_are_shown():
    found = of_returns(CARTPOLE)
    assert found.high > 500 > found.mean
    assert found.beyond == (False, True)
    assert found.text == "414.7 ± 179.8 [191.4, 638.0!] (93.4, 480.2, 500.0, 500.0, 500.0)"
    assert notes([found]) == [BEYOND_NOTE]
    assert of_returns(tuple(500.0 - i for i in range(5))).beyond == (False, False)
    many = of_returns((380.0, *(500.0 - i / 100 for i in range(11))))
    assert many.text.endswith("!] (380.0, 499.9, 499.9, 499.9, 499.9, …, 500.0, 500.0, 500.0, 500.0, 500.0)")


def test_settings_whose_runs_cannot_freeze_have_no_share_of_frozen_runs():
    assert summed(FIVE, may_freeze=False).frozen is None
    assert may_freeze(Run(rule=Boltzmann()))
    assert may_freeze(Run(rule=Backprop()))  # of the multiplexer the output is a binary unit
    assert may_freeze(Run(rule=Reinforce(), task=Digits()))
    assert not may_freeze(Run(rule=Boltzmann(), task=Control()))  # where nobody knows what a guess earns


def test_runs_of_an_environment_that_is_not_here_are_told_too(monkeypatch):
    mine = results(CARTPOLE, run=Run(task=Control()))

    def gone(*args):
        raise FieldError("env: 'CartPole-v1' is not here")

    monkeypatch.setattr("coexplore.tasks.control.spaces", gone)
    assert "638.0!" in repr(mine)


def test_what_is_possible_is_what_tasks_say():
    assert Multiplexer().possible_rewards == (-1.0, 1.0)
    assert Multiplexer(rewards="binary").possible_rewards == (0.0, 1.0)
    assert Digits(rewards="loss").possible_rewards == (-math.inf, 0.0)
    assert Control().possible_rewards == (0.0, 500.0)
    assert Control(max_steps=200).possible_rewards == (0.0, 200.0)
    assert Control(env="Acrobot-v1").possible_rewards == (-500.0, 0.0)
    assert Control(env="LunarLander-v3").possible_rewards == (-math.inf, math.inf)
    assert Control(env_arg={"sutton_barto_reward": True}).possible_rewards == (-math.inf, math.inf)


# Where it is told -----------------------------------------------------------------------------------------------------


def test_every_table_says_the_same_and_names_the_method():
    mine = results(SEVENTEEN, (0.0, 0.01, -0.01))
    found = seed_summary(mine, "last")
    (run,), share = {one.setting for one in mine}, "3 of 20 [0.032, 0.38]"
    printed, shown = repr(mine).splitlines(), text_of(result_table(mine))
    assert printed[0] == f"20 runs (cpu), 3 of them frozen; reward: {METHOD}"
    assert printed[2].split()[0] == "boltzmann"
    for told in (printed[2], mine._repr_html_(), shown):
        assert [told.count(part) for part in found.text.split("; ")] == [2, 2]  # of both quarters
        assert share in told
    assert METHOD in shown
    tuned = Tuned("last", run, {run: found}, mine)
    assert METHOD in text_of(candidate_table(tuned))
    parts = (*found.text.split("; "), share, ALL_NOTE)
    assert all(part in text_of(candidate_table(tuned)) for part in parts)
    assert repr(tuned).endswith(f"last on 20 seeds that judge: {found.text}; frozen {share}")
    evaluated = {one: Evaluation(np.array([one.last, one.last]), (0.0, 1.0)) for one in mine}
    assert all(part in text_of(evaluation_table(evaluated, None)) for part in (*parts, METHOD))


def test_json_has_the_numbers_of_every_setting():
    mine = results(FIVE)
    (told,) = json.loads(json.dumps(described_settings(mine), allow_nan=False))
    assert told["run"] == Run().to_dict()
    assert told["last"] == seed_summary(mine, "last").to_dict()
    assert set(told) == {"run", "trained_for", "reward", "first", "last"}
    assert (told["last"]["seeds"], told["last"]["frozen"]) == (5, 0)
    assert (told["last"]["low"], told["last"]["high"]) == pytest.approx((0.764, 0.840), abs=1e-3)


def test_no_interval_below_twenty_seeds_but_students_and_cloppers_and_pearsons(monkeypatch):
    """Gaffke's, which is the only one of another kind, is not asked for."""
    monkeypatch.setattr("coexplore.stats.estimates.drawn", None)
    for n in range(1, 20):
        mine = results(np.linspace(0.7, 0.8, n), (0.0, 0.0)[: 20 - n - 1])
        assert "frozen" in repr(mine)
        assert result_table(mine).row_count == 1
    with pytest.raises(TypeError):
        repr(results(np.linspace(0.7, 0.8, 19), (0.0,)))


def test_a_sweep_says_that_its_best_is_to_be_judged_on_other_seeds():
    note = "best of 3: judge it on other seeds (`coexplore tune`)"
    swept = Results(made(run, 0.5) for run in grid(Run(), coupling=[0.1, 0.2, 0.3]))
    other = [made(Run(rule=Reinforce()), 0.4)]
    assert repr(swept).splitlines()[-1] == repr(swept + other).splitlines()[-1] == note
    assert note in text_of(result_table(swept))
    assert note not in text_of(result_table(swept, judged=True))
    assert "best of" not in repr(Results([swept[0], *other]))
