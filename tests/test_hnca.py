"""`hnca` names the expected form of unbiased Weight Max, which is its author's formula."""

import numpy as np
import pytest

from coexplore import HNCA, Boltzmann, Reinforce, Result, Rule, Run, UnbiasedWeightMax
from coexplore.cli import train as cli
from coexplore.cli import tune
from coexplore.cli.modules import import_selected
from coexplore.run import command, select
from coexplore.settings import FieldError

EXPECTED = UnbiasedWeightMax(expected=True)

# The same runs ------------------------------------------------------------------------------------------------------


def asked(line):
    return cli.described_runs(cli.read(line.split()))


def test_in_python_it_is_unbiased_weight_max():
    assert Run(rule=HNCA()).digest == Run(rule=EXPECTED).digest
    assert repr(HNCA()) == repr(EXPECTED)
    assert Run(rule=HNCA()).to_dict()["rule"] == {"name": "unbiased-weight-max", "expected": True, "centring": "both"}
    assert HNCA(centring="activity") == UnbiasedWeightMax(expected=True, centring="activity")


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("hnca", Run(rule=EXPECTED)),
        ("hnca --expected", Run(rule=EXPECTED)),
        ("hnca --centring activity --units 5-4", Run(rule=HNCA("activity"), hidden=(5, 4))),
        ("--layers hnca,reinforce --units 5-4", Run(rule=(EXPECTED, Reinforce()), hidden=(5, 4))),
        (
            "--layers hnca,unbiased-weight-max --units 5-4 --expected yes/no",
            Run(rule=(EXPECTED, UnbiasedWeightMax()), hidden=(5, 4)),
        ),
    ],
)
def test_on_the_command_line_it_is_the_same_run_and_the_command_of_the_run_repeats_it(line, run):
    assert asked(line) == [run]
    assert asked(command(run).removeprefix("coexplore train ")) == [run]


def test_it_stands_beside_the_rule_whose_name_it_is():
    assert asked("hnca unbiased-weight-max") == [Run(rule=EXPECTED), Run(rule=UnbiasedWeightMax())]


@pytest.mark.parametrize(
    "line",
    [
        "hnca --expected no",
        "hnca --expected yes no",
        "hnca unbiased-weight-max --expected no",
        "hnca --units 5-4 --expected yes/no",
        "--layers unbiased-weight-max,hnca --units 5-4 --expected yes/no",
    ],
)
def test_a_flag_that_contradicts_it_is_refused(line):
    with pytest.raises(FieldError, match=r"^expected: 'no' is not allowed; give yes, [^\n]*unbiased-weight-max[^\n]*$"):
        asked(line)


def test_so_is_such_a_grid_to_tune(tmp_path):
    with pytest.raises(FieldError, match=r"^expected: 'no' is not allowed; give yes, "):
        tune.tune_command(["hnca", "--grid", "expected=yes,no"])


def test_selections_know_it():
    runs = [
        Run(rule=rule, hidden=(4, 3))
        for rule in (EXPECTED, UnbiasedWeightMax(), Boltzmann(), (HNCA("activity"), Reinforce()))
    ]
    results = [Result(run, "xla", np.zeros(1000, np.float32), None) for run in runs]
    for text, k in (
        ("rule=hnca", [0]),
        ("rule=unbiased-weight-max", [0, 1]),
        ("rule=hnca,rule=boltzmann", [0, 2]),
        ("rule=hnca+reinforce", [3]),
        ("rule=unbiased-weight-max+reinforce", [3]),
        ("rule=hnca,expected=no", []),
    ):
        import_selected(text)  # as the command does before it reads a store
        assert [result.run for result in select(results, text)] == [runs[each] for each in k]


def test_lists_help_and_completion_know_it(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (line,) = [line for line in here("list").stdout.splitlines() if line.split()[:1] == ["hnca"]]
    assert "unbiased-weight-max --expected yes" in line
    told = here("train", "hnca", "--help").stdout
    assert told.startswith("usage: coexplore train")
    assert "These are the flags of hnca:" in told
    assert "yes | no [yes]" in " ".join(told.partition("--expected VALUE")[2].partition("--centring")[0].split())
    both = here("train", "hnca", "unbiased-weight-max", "--help").stdout
    assert "[hnca yes, unbiased-weight-max no]" in " ".join(both.split())
    offers = {action.dest: words for action, words in cli.train_parser().offers}
    assert "hnca" in offers["rule"]
    assert "hnca" in offers["layers"]


def test_files_have_the_name_of_the_rule_and_no_rule_of_ones_own_may_have_this_one():
    with pytest.raises(FieldError, match=r"^rule: 'hnca' is not allowed; give 'unbiased-weight-max' with "):
        Run.from_dict({"rule": {"name": "hnca"}})

    class Mine(Rule):
        name, title, centring = "hnca", "mine", "both"

        def credit(self, params, x, activity, feedback):
            return params

    with pytest.raises(FieldError, match=r"^name: 'hnca' is not allowed; give one to Mine "):
        Run(rule=Mine())
