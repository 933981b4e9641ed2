"""Tasks of one's own: the smallest interface, arrays, functions; what is compiled of them, and what is refused."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Bandit, Boolean, Dataset, Digits, Multiplexer, Reinforce, Run, Task, count, number, train
from coexplore.engines import xla
from coexplore.run import flat, labels
from coexplore.settings import FieldError

TINY = {"rule": Reinforce(), "hidden": (4,), "episodes": 160, "critic": None}


class Mine(Task):
    """The multiplexer again, as a user would write it."""

    name, title = "my-multiplexer", "k address bits choose one of 2ᵏ data bits"
    bits: int = count(1, "k", low=1, high=6)

    @property
    def size(self):
        return self.bits + 2**self.bits

    def sample(self, B, key):
        return jax.random.bernoulli(key, 0.5, (B, self.size))

    def observe(self, state):
        return jnp.where(state, jnp.float32(1), jnp.float32(-1))

    def reward(self, state, action):
        places = 2 ** np.arange(self.bits)[::-1].astype(np.int32)
        address = (state[:, : self.bits].astype(jnp.int32) * places).sum(axis=1)
        bit = jnp.take_along_axis(state[:, self.bits :], address[:, None], axis=1)[:, 0]
        return jnp.where(bit == (action == 1), jnp.float32(1), jnp.float32(-1))


def test_the_interface_carries_the_multiplexer_to_the_same_bits():
    own, ours = train([Run(task=Mine(bits=1), **TINY), Run(task=Multiplexer(bits=1), **TINY)], "xla", progress=False)
    assert np.array_equal(own.curve, ours.curve)
    assert np.array_equal(own.params.layers[0].W, ours.params.layers[0].W)
    assert own.run != ours.run
    with pytest.raises(FieldError, match="it does not train my-multiplexer"):
        train(own.run, "cpu", progress=False)


# Arrays ---------------------------------------------------------------------------------------------------------------


def test_inputs_labels_and_split_are_what_was_given():
    x, y = np.arange(24).reshape(6, 2, 2), ["b", "a", "c", "a", "b", "c"]
    task = Dataset(x, y, held_out=[5, 1], name="letters")
    assert (task.size, task.classes, task.outputs, task.label) == (4, 3, 2, "letters")
    assert (task.data.trained.tolist(), task.data.held_out.tolist()) == ([0, 2, 3, 4], [5, 1])
    assert task.observe(jnp.asarray([2])).tolist() == [[8.0, 9.0, 10.0, 11.0]]
    assert task.answer(jnp.arange(6)).tolist() == [1, 0, 2, 0, 1, 2]
    assert set(np.asarray(task.sample(200, jax.random.key(0))).tolist()) == {0, 2, 3, 4}
    assert len(Dataset(x, y, held_out=1 / 3).data.held_out) == 2
    assert (Dataset(x, y).chance, Dataset(x, y, rewards="loss").graded) == (pytest.approx(2 / 3 - 1), True)


def test_the_hash_is_over_inputs_labels_and_split_and_nothing_else():
    """Golden: another way to hash would make stored runs strangers to their data."""
    x, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 1, 0])
    one = Dataset(x, y, held_out=[3])
    parts = [x.astype("<f4"), y.astype("<i4"), np.array([0, 1, 2], "<i4"), np.array([3], "<i4")]
    assert one.sha256 == hashlib.sha256(b"(4, 2)" + b"".join(part.tobytes() for part in parts)).hexdigest()
    assert Dataset(x.tolist(), [False, True, True, False], held_out=(3,), rewards="loss").sha256 == one.sha256
    others = [Dataset(x + 1, y, [3]), Dataset(x, 1 - y, [3]), Dataset(x, y, [2]), Dataset(x.reshape(4, 2, 1), y, 0.0)]
    assert len({task.sha256 for task in (one, *others)}) == 5
    assert Run(task=one, **TINY).digest != Run(task=others[0], **TINY).digest
    described = Run(task=one, **TINY).to_dict()
    assert Run.from_dict(described).digest == Run(task=one, **TINY).digest
    assert described["task"].keys() == {"name", "called", "sha256", "inputs", "labels", "rewards"}


def test_whoever_changes_their_array_later_changes_nothing():
    x, y = np.zeros((4, 2), np.float32), np.array([0, 1, 1, 0])
    task = Dataset(x, y)
    x[:] = 7
    assert task.data.x.max() == 0
    assert Dataset(x, y).sha256 != task.sha256


X, Y = np.eye(4), [0, 1, 0, 1]
BAD = {
    "x: [4] is not allowed; give an array of numbers, an input in each row": lambda: Dataset(np.ones(4), Y),
    "x: 'list' is not allowed; give an array of numbers": lambda: Dataset([["a"], ["b"]], [0, 1]),
    "x: 'nan or inf' is not allowed; give numbers that are finite in float32": lambda: Dataset(X * 1e39, Y),
    "y: [3] is not allowed; give a label for each of 4 inputs": lambda: Dataset(X, [0, 1, 0]),
    "y: 'float64' is not allowed; give labels that are whole numbers or words": lambda: Dataset(X, [0.5, 1, 0, 1]),
    "y: 1 is not allowed; give at least two different labels": lambda: Dataset(X, [2, 2, 2, 2]),
    "held_out: 0.95 is not allowed; give a number from 0 to 0.9": lambda: Dataset(X, Y, 0.95),
    "held_out: '2 rows' is not allowed; give a fraction": lambda: Dataset(X, Y, [1, 1]),
    "held_out: '1 rows' is not allowed; give a fraction from 0 to 0.9, or different rows": lambda: Dataset(X, Y, [4]),
    "name: 'a b' is not allowed; give letters, digits": lambda: Dataset(X, Y, name="a b"),
    "rewards: 'los' is not allowed (did you mean 'loss'?)": lambda: Dataset(X, Y, rewards="los"),
    "reward: None is not allowed; give a function": lambda: Bandit(name="a", version="1"),
    "version: 'a b' is not allowed; give letters": lambda: Bandit(abs, name="a", version="a b"),
    "name: '' is not allowed; give letters": lambda: Bandit(abs),
    "actions: 1 is not allowed; give a whole number of at least 2": lambda: Bandit(
        abs, actions=1, name="a", version="1"
    ),
    "name: 'digits' is not allowed; give one that no task of ours has": lambda: Run(task=Dataset(X, Y, name="digits")),
    "name: 'control' is not allowed; give one": lambda: Run(task=Bandit(abs, name="control", version="1")),
}


@pytest.mark.parametrize("line", BAD)
def test_what_cannot_be_trained_on_is_refused_in_a_line(line):
    with pytest.raises(FieldError) as raised:
        BAD[line]()
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


# Functions ------------------------------------------------------------------------------------------------------------


def test_a_function_is_known_by_its_name_and_version():
    def reward(state, action):
        return jnp.where((action == 1) == (state[:, 0] > 0), 1.0, 0.0)

    one = Bandit(reward, size=2, name="sign", version="1")
    same = Bandit(lambda s, a: jnp.zeros(len(s)), size=2, name="sign", version="1")  # a change of code is not noticed
    two = Bandit(reward, size=2, name="sign", version="2", sample=lambda B, key: jnp.ones((B, 2)))
    runs = [Run(task=task, **TINY) for task in (one, same, two)]
    assert runs[0] == runs[1] != runs[2]
    assert [flat(run)["task_edition"] for run in runs] == ["1", "1", "2"]
    assert two.sample(3, jax.random.key(0)).tolist() == [[1.0, 1.0]] * 3
    assert one.sample(3, jax.random.key(0)).shape == (3, 2)
    states = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]])
    assert Run.from_dict(runs[2].to_dict()).task.reward(states, jnp.asarray([1, 1])).tolist() == [1.0, 0.0]
    gone = {**runs[2].to_dict()["task"], "version": "3"}
    stranger = Run.from_dict({**runs[2].to_dict(), "task": gone})
    with pytest.raises(FieldError, match="the function 'sign', version '3', is not here; make the Bandit"):
        train(stranger, progress=False)


@pytest.mark.learning
def test_a_bandit_is_learned():
    task = Bandit(lambda s, a: jnp.where((a == 1) == (s[:, 0] > 0), 1.0, -1.0), size=1, name="easy", version="1")
    run = Run(rule=Reinforce(), hidden=(8,), task=task, episodes=16 * 400, learning_rate=0.02)
    assert train(run, progress=False)[0].last > 0.6  # guessing: 0


# What is compiled -----------------------------------------------------------------------------------------------------


def sizes(jaxpr):
    """Of everything that a program computes, loops included."""
    for equation in jaxpr.eqns:
        yield from (out.aval.size for out in equation.outvars if hasattr(out.aval, "size"))
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "jaxpr")):
            if hasattr(value, "jaxpr"):
                yield from sizes(value.jaxpr)


def test_data_are_an_argument_of_the_program_and_there_once_whatever_the_number_of_runs():
    """60,000 inputs of 784 numbers, ten classes: no constant, no copy for each run, and one on the device."""
    x = np.zeros((60_000, 784), np.float32)
    task = Dataset(x, np.arange(60_000) % 10, held_out=range(50_000, 60_000), name="many")
    placed = []
    for width in (1, 8):
        runs = [Run(task=task, **TINY).with_seed(seed) for seed in range(width)]
        assert xla.groups(runs)[0][0].task is task
        state = xla.start(runs, width=width)
        arguments = (state.program, state.data, state.keys, np.int32(10), state.progress)
        program = jax.make_jaxpr(xla._update_group)(*arguments)
        assert sum(np.size(const) for const in program.consts) < 1000
        assert max(sizes(program.jaxpr)) < x.size / 100
        assert sum(leaf.size for leaf in jax.tree.leaves(arguments)) < x.size * 1.01
        placed.append(state.data.x)
    assert placed[0] is placed[1]


def test_runs_are_grouped_only_with_those_that_read_the_same_arrays():
    class Shifted(Task):
        name, title = "shifted", "its data depend on a number, which would share a program"
        size = 1
        level: float = number(1.0, "which data")

        def load(self):
            return TABLES[self.level]

        def sample(self, B, key):
            return jax.random.randint(key, (B,), 0, 3)

        def observe(self, state):
            return self.data[state][:, None]

        def reward(self, state, action):
            return self.data[state]

    TABLES = {level: np.full(3, level, np.float32) for level in (-1.0, 1.0)}
    low, high = (Run(task=Shifted(level), **TINY) for level in TABLES)
    assert xla._shape(low) == xla._shape(low.with_seed(1)) != xla._shape(high)
    assert train(low, progress=False)[0].reward == -1


@pytest.mark.parametrize("task", [Digits(), Boolean(bits=3)])
def test_our_own_data_are_arguments_too(task):
    state = xla.start([Run(task=task, **TINY)])
    program = jax.make_jaxpr(xla._update_group)(state.program, state.data, state.keys, np.int32(10), state.progress)
    assert sum(np.size(const) for const in program.consts) < 20
    assert state.data.x.shape == task.data.x.shape


def test_two_data_sets_of_one_name_are_two_settings_with_two_labels():
    runs = [Run(task=Dataset(X + shift, Y, name="same"), **TINY) for shift in (0, 1)]
    assert runs[0] != runs[1]
    assert len(set(labels(runs))) == 2
