"""Classification: the data, learning, accuracy on held-out inputs, the command."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Boolean, Critic, Dataset, Digits, Reinforce, Result, Run, load, train
from coexplore.cli import _main
from coexplore.rules import BUILT_IN, Boltzmann, MapProp, StraightThrough
from coexplore.settings import FieldError
from coexplore.store import pack

# Data -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "n", "held_out"), [(Digits(), 1797, 360), (Boolean(bits=5), 32, 6)])
def test_the_split_is_fixed_and_nothing_is_on_both_sides(task, n, held_out):
    data = task.data
    assert sorted([*data.trained, *data.held_out]) == list(range(n))
    assert len(task.held_out_states) == held_out
    drawn = np.asarray(task.sample(20_000, jax.random.key(0)))
    assert set(drawn) == set(data.trained.tolist())
    x = task.observe(task.held_out_states)
    assert x.shape == (held_out, task.size)
    assert (float(x.min()), float(x.max())) == (-1, 1)


def test_the_split_of_the_digits_never_changes():
    """Golden: another split would be another task under the same name."""
    assert Digits().data.held_out[:5].tolist() == [1442, 455, 584, 147, 160]
    assert Digits().data.y[:10].tolist() == list(range(10))


WORDS = {(0, 0, 0, 0): 0, (1, 0, 0, 0): 1, (1, 0, 0, 1): 9, (1, 1, 0, 0): 3, (1, 1, 1, 0): 7}  # and their places


@pytest.mark.parametrize(
    ("function", "labels"), [("parity", [0, 1, 0, 0, 1]), ("majority", [0, 0, 0, 0, 1]), ("symmetry", [1, 0, 1, 0, 0])]
)
def test_functions_are_right_on_words_made_by_hand(function, labels):
    task, places = Boolean(function=function, bits=4), jnp.asarray(list(WORDS.values()))
    assert task.observe(places).tolist() == [[2 * bit - 1 for bit in word] for word in WORDS]
    assert task.answer(places).tolist() == labels


def test_the_random_function_is_one_fixed_table_of_about_as_many_ones_as_zeros():
    answers = np.asarray(Boolean(function="random", bits=10).data.y)
    assert 0.4 < answers.mean() < 0.6
    assert np.array_equal(answers, Boolean(function="random", bits=10, held_out=0.5).data.y)


def test_rewards_and_chance():
    task, places = Digits(), jnp.arange(10)
    assert task.reward(places, jnp.full(10, 3)).tolist() == [1.0 if label == 3 else -1.0 for label in range(10)]
    assert task.chance == pytest.approx(-0.8)
    assert Digits(rewards="loss").chance == pytest.approx(np.log(0.1))
    assert (Boolean().chance, Boolean(rewards="loss").chance) == (0, pytest.approx(np.log(0.5)))


# Training -------------------------------------------------------------------------------------------------------------

SMALL = {"hidden": (16,), "critic": Critic(width=16), "learning_rate": 0.02}


@pytest.mark.learning
@pytest.mark.parametrize("rewards", ["drawn", "loss"])
@pytest.mark.parametrize("rule", BUILT_IN.values(), ids=BUILT_IN)
def test_every_rule_learns_a_majority_and_names_it_on_inputs_it_has_not_seen(rule, rewards, optimised):
    made = rule(steps=3) if rule is Boltzmann else rule()
    task = Boolean(function="majority", bits=7, rewards=rewards)
    (result,) = train(Run(rule=made, task=task, episodes=16 * 1200, **SMALL), progress=False)
    assert result.accuracy > 0.8  # guessing: 0.5
    assert result.last > task.chance + (0.4 if rewards == "drawn" else 0.25)


def test_accuracy_is_the_same_from_the_network_its_snapshots_and_a_pack(tmp_path):
    runs = [Run(rule=Reinforce(), task=Boolean(), episodes=1600, seed=seed, **SMALL) for seed in range(2)]
    plain = train(runs, progress=False, snapshots=4)
    stored = train(runs, progress=False, snapshots=4, store=tmp_path)
    pack(stored, tmp_path / "pack.safetensors")
    packed = load(tmp_path / "pack.safetensors")
    assert packed[1].params is None
    for one, two, three in zip(plain, stored, packed, strict=True):
        assert one.accuracy == two.accuracy == three.accuracy
        assert list(two.snapshots["updates"]) == [0, 25, 50, 75, 100]
        assert np.array_equal(one.snapshots["accuracy"], two.snapshots["accuracy"])
        assert len(set(one.snapshots["accuracy"])) > 1
        assert one.accuracy * 130 == pytest.approx(round(one.accuracy * 130), abs=1e-3)  # 13 inputs, 10 draws


def test_there_is_no_accuracy_where_nothing_is_held_out():
    for task in (Boolean(held_out=0.0), None):
        run = Run(rule=Reinforce(), episodes=64, **SMALL, **({} if task is None else {"task": task}))
        assert train(run, progress=False)[0].accuracy is None


def sign(task):
    """A network that names label 1 where its input is positive, else label 0; 5 inputs and a sixth to train on."""
    run = Run(rule=Reinforce(), task=task, hidden=1, critic=None, episodes=16)
    params = run.init()
    weights = ((40.0, 0.0), (40.0, -20.0))  # of the hidden unit, which draws with σ(±40), and of the output
    layers = [
        dataclasses.replace(layer, W=jnp.full_like(layer.W, W), b=jnp.full_like(layer.b, b))
        for layer, (W, b) in zip(params.layers, weights, strict=True)
    ]
    return Result(run, "xla", np.zeros(1, np.float32), dataclasses.replace(params, layers=tuple(layers)))


INPUTS = np.array([[-1], [1], [-1], [1], [1], [1]])


@pytest.mark.parametrize("labels", [["ant", "ant", "bee", "bee", "bee", "ant"], [3, 3, 7, 7, 7, 3]])
def test_the_confusion_matrix_counts_held_out_inputs_by_their_label_and_by_the_one_named(labels):
    result = sign(Dataset(INPUTS, labels, held_out=range(5)))
    found = result.confusion()
    assert found.counts.tolist() == [[1, 1], [1, 2]]  # ants at −1 and 1; bees at −1, 1 and 1
    assert found.labels.tolist() == labels[1:3]
    assert np.trace(found.counts) / found.counts.sum() == pytest.approx(result.accuracy) == pytest.approx(3 / 5)
    seen = result.evaluate()
    assert (1 + seen.mean) / 2 == pytest.approx(3 / 5)
    assert (seen.held_out, seen.deterministic, len(seen.rewards)) == (True, False, 5)


def test_what_has_no_confusion_matrix_is_refused_in_one_line():
    run = Run(rule=Reinforce(), hidden=2, critic=None, episodes=16)
    for task, line in {
        None: "task: 'multiplexer' is not allowed; give one with labels: digits, boolean or a Dataset",
        Boolean(held_out=0.0): "held_out: 0 is not allowed; give a task of which inputs are held out",
    }.items():
        one = run if task is None else dataclasses.replace(run, task=task)
        with pytest.raises(FieldError) as raised:
            Result(one, "xla", np.zeros(1, np.float32), one.init()).confusion()
        assert str(raised.value) == line


def test_map_propagation_under_straight_through_is_refused_for_a_graded_reward():
    mix = {"rule": (MapProp(), StraightThrough()), "hidden": (3, 2)}
    Run(**mix, task=Digits())
    with pytest.raises(FieldError, match="rewards: 'loss' is not allowed; give drawn to map-prop under ste") as raised:
        Run(**mix, task=Digits(rewards="loss"))
    assert "\n" not in str(raised.value)


# The command ----------------------------------------------------------------------------------------------------------

COMMAND = Path(sys.executable).parent / "coexplore"


@pytest.mark.learning
def test_the_command_trains_and_shows_the_accuracy():
    words = "train backprop --task digits --rewards loss --units 8 --episodes 1600 --seeds 2"
    done = subprocess.run([COMMAND, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "held-out accuracy, one draw" in done.stdout
    (row,) = (row for row in done.stdout.splitlines() if row.startswith("│ backprop"))
    assert row.count("(") == 3  # of two seeds the values


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--task digit", "task: 'digit' is not allowed (did you mean 'digits'?)"),
        ("--task digits --rewards signed", "rewards: 'signed' is not allowed; give drawn | loss"),
        ("--task boolean --function party", "function: 'party' is not allowed (did you mean 'parity'?)"),
        ("--task boolean --bits 20", "bits: 20 is not allowed; give a whole number from 3 to 12"),
        ("--task boolean --held-out 1", "held_out: 1.0 is not allowed; give a number from 0 to 0.9"),
    ],
)
def test_a_bad_value_gets_one_line(words, line):
    with pytest.raises(FieldError) as raised:
        _main(["train", "ste", *words.split()])
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


def test_the_report_looks_inside_such_runs():
    from coexplore.report.energy import energies

    (result,) = train(Run(rule=Boltzmann(steps=2), task=Boolean(), episodes=64, **SMALL), progress=False)
    assert all(name in ("right answer 0", "right answer 1") for name in energies(result)["inputs"])
