"""Several layers, each with a rule of its own, as the command line and grids ask for them."""

import itertools

import pytest

from coexplore import Boltzmann, Critic, Linear, MapProp, Recurrent, Reinforce, Run
from coexplore import StraightThrough as STE
from coexplore import UnbiasedWeightMax as Unbiased
from coexplore.cli import train as cli
from coexplore.cli.parser import Shown
from coexplore.rules import BUILT_IN
from coexplore.rules.baseline import Nothing
from coexplore.rules.learning_signal import Reward
from coexplore.run import command, flat, grid, labels
from coexplore.settings import FieldError

MIXED = (Boltzmann(), Reinforce())
ASKED_FOR = {
    "--layers boltzmann,reinforce --units 64-32": Run(rule=MIXED, hidden=(64, 32)),
    "boltzmann --units 64-32": Run(hidden=(64, 32)),
    "boltzmann --units 64-32 --coupling 0.25/0.1": Run(rule=(Boltzmann(0.25), Boltzmann(0.1)), hidden=(64, 32)),
    "--layers boltzmann,reinforce,recurrent --units 8-8-4 --coupling 0.4..0.1/0.5 --steps 5/3": Run(
        rule=(Boltzmann(Linear(0.4, 0.1), 5), Reinforce(), Recurrent(0.5, 3)), hidden=(8, 8, 4)
    ),
    "--layers boltzmann,map-prop --units 8-4 --learning-signal reward/advantage": Run(
        rule=(Boltzmann(learning_signal=Reward()), MapProp()), hidden=(8, 4)
    ),
    "--layers unbiased-weight-max,unbiased-weight-max --units 4-4 --expected yes/no": Run(
        rule=(Unbiased(expected=True), Unbiased()), hidden=(4, 4)
    ),
    "reinforce --critic-width 64-32 --critic softplus --units 8-8 --learning-rate .02/2e-4/2e-5/.04/4e-5/4e-6": Run(
        rule=Reinforce(),
        hidden=(8, 8),
        critic=Critic("softplus", (64, 32)),
        learning_rate=(0.02, 2e-4, 2e-5, 0.04, 4e-5, 4e-6),
    ),
    "reinforce --critic linear --learning-rate .01/.001/.02": Run(
        rule=Reinforce(), critic=Critic("linear"), learning_rate=(0.01, 0.001, 0.02)
    ),
    "boltzmann --critic mean": Run(critic=Critic("mean")),
}


def asked(line):
    return cli.described_runs(cli.read(line.split()))


@pytest.mark.parametrize("line", ASKED_FOR)
def test_a_line_makes_the_run_it_says(line):
    assert asked(line) == [ASKED_FOR[line]]


EVERY_PAIR = [
    Run(rule=(lower(), upper()), hidden=(6, 5)) for lower, upper in itertools.product(BUILT_IN.values(), repeat=2)
]
ODD = [
    Run(rule=(MapProp(0.3), Reinforce()), hidden=(64, 32), batch=128, learning_rate=(0.04, 4e-5, 4e-6), critic=None),
    Run(
        rule=(Reinforce(), Boltzmann(sampler="one-by-one"), Reinforce(baseline=Nothing(), learning_signal=Reward())),
        hidden=(3, 2, 1),
        seed=7,
    ),
    Run(rule=(Recurrent(trace_decay=0.0), STE(), Recurrent(trace_decay=1.0)), hidden=(3, 2, 1)),
]


@pytest.mark.parametrize("run", [*ASKED_FOR.values(), *EVERY_PAIR, *ODD], ids=lambda run: run.digest[:8])
def test_the_command_of_a_run_repeats_it(run):
    assert asked(command(run).removeprefix("coexplore train ")) == [run]


def test_layers_sizes_and_values_make_a_grid_and_leave_alone_what_has_no_such_setting():
    runs = asked("--layers boltzmann,reinforce ste,reinforce --units 8-4 4-4 --coupling 0.1 0.2 --seeds 3")
    assert len(runs) == len(set(runs)) == (2 + 1) * 2 * 3
    assert {run.rules[0].coupling for run in runs if run.rules[0].name == "boltzmann"} == {0.1, 0.2}
    same = grid(Run(hidden=(8, 4)), layers=[MIXED, "ste,reinforce"], seed=range(2))
    assert {flat(run)["layers"] for run in same} == {"boltzmann,reinforce", "ste,reinforce"}
    assert labels(same)[0] == "boltzmann+reinforce"


WRONG = {
    "--layers boltzmann,reinforce": "rule: 'boltzmann,reinforce' .* one rule per hidden layer, of which 64 has 1$",
    "--layers boltzmann,reinforce --units 8-8-8": "rule: 'boltzmann,reinforce' .* of which 8-8-8 has 3$",
    "--layers boltzmann,reinforc --units 8-8": "rule: 'reinforc' .*did you mean 'reinforce'",
    "--layers boltzmann, --units 8-8": "rule: '' is not allowed",
    "--layers --units 8-8": "--layers: expected at least one argument$",
    "--units 8-8": "rule: '' is not allowed; give one of .* or --layers$",
    "ste --layers boltzmann,reinforce --units 8-8": "rule: 'ste' is not allowed; .* or --layers$",
    "boltzmann --units 8-8 --coupling 0.1/0.2/0.3": "coupling: '0.1/0.2/0.3' .*; give one value, or 2: one per layer",
    "--layers boltzmann,ste --units 8-8 --coupling 0.1/0.2": "coupling: .*; give one value, or 1: one per layer",
    "--layers boltzmann,ste --units 8-8 --coupling 0.1/x": "coupling: 'x' is not allowed; give a finite number",
    "--layers boltzmann,ste --units 8-8 --learning-signal mean": "learning_signal: 'mean' .*; give reward | advantage",
    "--layers boltzmann,ste --units 8-8 --learning-signal centred-advantage": "learning_signal: .* reward | advantage$",
    "--layers boltzmann,ste --units 8-8 --trace-decay 0.5": "flag: '--trace-decay' is not allowed",
    "--layers ste,map-prop --units 8-8 --preset author": "preset: 'author' .*; give one that ste has: none$",
    "boltzmann --critic-width 64-x": "critic_width: '64-x' is not allowed",
    "boltzmann --critic mean --critic-width 64": "critic_width: 64 is not allowed; give no width where .* mean$",
    "boltzmann --critic linear --learning-rate .1/.1/.1/.1": "learning_rate: .* one rate, or 3: ",
    "boltzmann --critic-width 64-32 --learning-rate .1/.1/.1/.1/.1/.1": "learning_rate: .* one rate, or 3 or 5: ",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_does_not_fit_is_refused_in_one_line(line):
    with pytest.raises(FieldError, match=WRONG[line].replace("|", r"\|")) as refused:
        asked(line)
    assert "\n" not in str(refused.value)


def test_such_a_line_ends_the_command_with_status_2(here):
    done = here("train", "--layers", "boltzmann,reinforce")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_help_says_what_layers_are(capsys):
    with pytest.raises(Shown):
        cli.train_command(["boltzmann", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "a rule for each hidden layer, instead of RULE: names of rules, such as boltzmann,reinforce" in text
    assert "64-32 means two layers" in text
