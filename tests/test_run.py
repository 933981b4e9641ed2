"""Run: its checks, its JSON, its digest, grids, labels and the command that repeats it."""

import dataclasses
import json
import subprocess
import sys

import pytest

from coexplore import (
    Boltzmann,
    Boolean,
    Critic,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    grid,
)
from coexplore.rules.baseline import Chains, Half, Learned, Nothing, Predicted, Probability
from coexplore.rules.learning_signal import Reward
from coexplore.run import PRESETS, change, command, flat, labels, written
from coexplore.run.run import without_defaults
from coexplore.settings import FieldError

SOME = [
    Run(),
    Run(rule=Recurrent(coupling=Linear(0.4, 0.1), trace_decay=0.5), hidden=(64, 32), seed=3),
    Run(rule=(Reinforce(baseline=Nothing()), Boltzmann(sampler="one-by-one")), hidden=(8, 4), critic=None),
    Run(rule=Reinforce(), critic=Critic("tanh", 32), task=Multiplexer(2, "binary", "binary"), batch=8, episodes=800),
    Run(learning_rate=(0.01, Linear(0.001, 0.0001), 0.005)),
    Run(rule=UnbiasedWeightMax(expected=True)),
    Run(rule=Boltzmann(baseline=Chains(strength=Linear(1.0, 0.5), chains=4))),
    dataclasses.replace(PRESETS["map-prop"]["author"], seed=2),
    Run(rule=Reinforce(), critic=Critic("linear")),
    Run(rule=Reinforce(), critic=Critic("mean"), learning_rate=(0.01, 0.005, 0.001)),
]


@pytest.mark.parametrize("run", SOME, ids=range(len(SOME)))
def test_a_run_survives_its_json(run):
    again = Run.from_dict(json.loads(json.dumps(run.to_dict())))
    assert again == run
    assert again.to_dict() == run.to_dict() == json.loads(json.dumps(run.to_dict()))


GOLDEN = [
    "cd6cd87cc922e6d4",
    "dd904c4cc16d45e9",
    "e8a43735a2ee43ca",
    "0c4bd11d65a279fa",
    "79c86de5b718de9d",
    "536a0b315a9ef9ae",
    "524e89d60cb5ace2",
    "7c23ccde9267f237",
    "4a680a45c031a88e",
    "b405e8170dce10d4",
]
RENAMED = {
    "e8a43735a2ee43ca": "47cf908184232673",
    "524e89d60cb5ace2": "4d1cb8b72ffb26cc",
}  # settings that were called otherwise at first


def test_digests_never_change():
    """Golden: stores name their files by these. A new field, or a new default, must not move them."""
    assert [run.digest[:16] for run in SOME] == [RENAMED.get(first, first) for first in GOLDEN]
    assert [run.digest_in_file()[:16] for run in SOME] == GOLDEN


def test_digests_agree_on_what_is_the_same_and_differ_on_what_is_not():
    assert Run(rule=Boltzmann(coupling=1)) == Run(rule=Boltzmann(coupling=1.0))
    assert Run(rule=Boltzmann(baseline=Half(pairs=1))) == Run(rule=Boltzmann(baseline=Half(pairs=1.0)))
    assert Run(rule=Boltzmann(coupling=Linear(0.5, 0.5))) == Run(rule=Boltzmann(coupling=0.5))
    assert Run(rule=(Reinforce(), Reinforce()), hidden=(4, 2)) == Run(rule=Reinforce(), hidden=(4, 2))
    assert Run(batch=16) == Run()
    assert len({*SOME, *grid(Run(), seed=range(3))}) == len(SOME) + 2


def test_the_digest_depends_only_on_what_differs_from_the_defaults():
    assert without_defaults(Run()) == {"rule": {"name": "boltzmann"}}
    linear = Run(critic=Critic("linear"))
    assert without_defaults(linear) == {"rule": {"name": "boltzmann"}, "critic": {"activation": "linear"}}
    assert without_defaults(Run(rule=Recurrent(steps=3), seed=1)) == {
        "rule": {"name": "recurrent", "steps": 3},
        "seed": 1,
    }


BAD = {
    "steps": lambda: Boltzmann(steps=0),
    "coupling": lambda: Boltzmann(coupling=-0.1),
    "coupling ": lambda: Boltzmann(coupling=float("nan")),
    "coupling  ": lambda: Boltzmann(coupling=float("inf")),
    "coupling   ": lambda: Run(rule=Boltzmann(coupling=Linear(0.4, -0.1))),
    "trace_decay": lambda: Recurrent(trace_decay=1.5),
    "trace_decay ": lambda: Recurrent(trace_decay=Linear(0.0, 1.0)),
    "baseline": lambda: Reinforce(baseline=Learned()),
    "baseline ": lambda: Run.from_dict({"rule": {"name": "reinforce", "baseline": "bothh"}}),
    "strength": lambda: Reinforce(baseline=Probability(strength=-1.0)),
    "baseline_strength": lambda: Run.from_dict({"rule": {"name": "reinforce", "baseline_strength": -1.0}}),
    "baseline_strength ": lambda: change(Run(rule=Boltzmann()), "baseline_strength", 0.5),
    "baseline_pairs": lambda: grid(Run(), baseline=["none", "half"], baseline_pairs=[0.0, 0.5]),
    "sampler": lambda: Boltzmann(sampler="gibbs"),
    "bits": lambda: Multiplexer(bits=7),
    "encoding": lambda: Multiplexer(encoding="one-hot"),
    "rewards": lambda: Multiplexer(rewards="big"),
    "units": lambda: Run(hidden=(64, 0)),
    "units ": lambda: Run(hidden=()),
    "episodes": lambda: Run(episodes=0),
    "episodes ": lambda: Run(episodes=100),
    "batch": lambda: Run(batch=0),
    "learning_rate": lambda: Run(learning_rate=0.0),
    "learning_rate ": lambda: Run(learning_rate=(0.1, 0.2)),
    "learning_rate  ": lambda: Run(learning_rate=-0.1),
    "learning_rate   ": lambda: Run(learning_rate=(0.0, 0.0, 0.0)),
    "learning_rate    ": lambda: Run(learning_rate=(0.005, 0.005, -0.1)),
    "learning_rate     ": lambda: Run(learning_rate=Linear(0.0, 0.0)),
    "activation": lambda: Critic("sigmoid"),
    "width": lambda: Critic(width=0),
    "seed": lambda: Run(seed=-1),
    "rule": lambda: Run(rule=(Reinforce(),) * 2),
    "rule ": lambda: Run.from_dict({"rule": {"name": "boltzman"}}),
    "task": lambda: Run.from_dict({"task": {"name": "maze"}}),
    "field": lambda: Run.from_dict({"rule": {"name": "boltzmann", "couplng": 1.0}}),
    "field ": lambda: Run.from_dict({"epochs": 4}),
    "setting": lambda: grid(Run(rule=Reinforce()), coupling=[0.1]),
    "critic_width": lambda: grid(Run(critic=None), critic_width=[3]),
    # without effect
    "critic_variance": lambda: Critic(variance=0.3),
    "critic_variance  ": lambda: Critic("softplus", rule="map-prop", variance=(0.1, 0.1)),
    "critic_variance ": lambda: grid(Run(critic=Critic("softplus")), critic_variance=[0.3, 0.4]),
    "learning_rate      ": lambda: Run(learning_rate=(0.01, 0.01, 0.01)),
    "learning_rate       ": lambda: Run(critic=Critic(width=(3, 2)), learning_rate=(0.1, 0.2, 0.1, 0.1, 0.1)),
    "variant": lambda: grid(Run(hidden=4), variant="layer-reward"),
    "learning_signal": lambda: Run(rule=StraightThrough(learning_signal=Reward()), task=Boolean("loss")),
    "learning_signal ": lambda: Run(
        rule=(UnbiasedWeightMax(learning_signal=Reward()), MapProp()), hidden=(3, 2), task=Boolean("loss")
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_gets_one_line_that_names_the_field_the_value_and_what_is_right(name):
    with pytest.raises(FieldError) as raised:
        BAD[name]()
    message = str(raised.value)
    assert message.startswith(f"{name.strip()}: ")
    assert "is not allowed" in message
    assert "give " in message
    assert "\n" not in message


def test_another_part_keeps_the_settings_that_both_parts_have():
    run = Run(rule=Boltzmann(baseline=Half(strength=0.5, pairs=0.25)))
    runs = grid(run, baseline=["predicted", "chains", "none"])
    kept = [Predicted(strength=0.5, pairs=0.25), Chains(strength=0.5), Nothing()]
    assert [each.rules[0].baseline for each in runs] == kept


def test_a_setting_of_a_part_goes_to_the_layers_whose_part_has_it():
    run = Run(rule=(Reinforce(), Boltzmann(baseline=Half())), hidden=(4, 3))
    (both,) = grid(run, baseline_strength=0.5)
    assert [rule.baseline for rule in both.rules] == [Probability(strength=0.5), Half(strength=0.5)]
    (second,) = grid(run, baseline="predicted", baseline_pairs=0.5)
    assert [rule.baseline for rule in second.rules] == [Predicted(), Predicted(pairs=0.5)]
    (each,) = grid(run, baseline=[("predicted", "chains")], baseline_chains=2)
    assert [rule.baseline for rule in each.rules] == [Predicted(), Chains(chains=2)]


def test_a_rate_may_be_0_for_some_parts_and_at_the_end_of_a_schedule():
    held = Run(rule=Reinforce(), learning_rate=(0, 0.005, Linear(0.01, 0.0)))
    assert held.learning_rates == (0.0, 0.005, Linear(0.01, 0.0), Linear(0.01, 0.0))
    assert command(held) == "coexplore train reinforce --learning-rate 0.0/0.005/0.01..0.0"
    assert Run.from_dict(held.to_dict()) == held
    assert change(Run(), "learning_rate", Linear(0.01, 0.0)).learning_rates == (Linear(0.01, 0.0),) * 4


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(FieldError, match="did you mean 'boltzmann'"):
        Run.from_dict({"rule": {"name": "boltzman"}})
    with pytest.raises(FieldError, match="did you mean 'coupling'"):
        grid(Run(), couplng=[1])


def test_values_of_the_wrong_kind_are_refused_where_nothing_else_checks_types():
    """In a process of its own, without the type checks that these tests run under."""
    code = """
from coexplore import *
for make in (lambda: Boltzmann(steps=2.5), lambda: Boltzmann(coupling="a"), lambda: Boltzmann(coupling=True),
             lambda: Run(rule="boltzmann"), lambda: Run(hidden="x"), lambda: Run(task=3), lambda: Run(critic="relu"),
             lambda: train(3), lambda: train([3])):
    try:
        make()
    except (ValueError, TypeError) as error:
        print(error)
    else:
        print("accepted")
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 9
    assert all("is not allowed" in line for line in lines)


def test_grid_makes_every_combination_in_order():
    runs = grid(Run(rule=Boltzmann()), coupling=[0.1, 0.2], seed=range(3))
    assert [(run.rule.coupling, run.seed) for run in runs] == [(c, s) for c in (0.1, 0.2) for s in range(3)]
    deep = grid(Run(), units=[(8, 4), 16], critic=["none", "tanh"], rule=[Reinforce(), Recurrent()])
    assert len(set(deep)) == 8
    assert deep[0].hidden == (8, 4)
    assert deep[0].critic is None


def test_labels_say_what_differs_and_nothing_else():
    runs = [*grid(Run(), coupling=[0.0, 0.5], seed=range(2)), Run(rule=Reinforce())]
    assert labels(runs) == [
        "boltzmann coupling=0",
        "boltzmann coupling=0",
        "boltzmann coupling=0.5",
        "boltzmann coupling=0.5",
        "reinforce",
    ]


def test_the_command_of_a_run_repeats_it():
    from coexplore.cli import train as cli

    for run in SOME:
        assert cli.described_runs(cli.read(command(run).removeprefix("coexplore train ").split())) == [run]


def test_flat_names_are_the_flags():
    run = dataclasses.replace(SOME[1], seed=1)
    assert flat(run)["units"] == "64-32"
    assert flat(run)["coupling"] == "0.4..0.1"
    assert flat(run)["seed"] == "1"


def test_labels_have_numbers_as_a_person_writes_them():
    run = Run(rule=Boltzmann())
    rates = [2 * 1e-6 + 4e-22, 0.1 + 0.2, 1.0]
    assert labels([change(run, "learning_rate", rate) for rate in rates]) == [
        f"boltzmann learning-rate={text}" for text in ("2e-6", "0.3", "1")
    ]
    assert written("0.4..0.10000000000000002/5e-06, v1.20, 64-64") == "0.4..0.1/5e-6, v1.20, 64-64"
