"""Environments of every kind: what they show and take, what they are made with, how long they last."""

import dataclasses

import gymnasium
import jax
import numpy as np
import probes
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control.pendulum import PendulumEnv
from rich.progress import Progress, TextColumn

from coexplore import Critic, Linear, Reinforce, Run, train
from coexplore.cli import train as cli
from coexplore.engines import control
from coexplore.engines.base import Fault
from coexplore.engines.control import worlds
from coexplore.engines.guard import fault
from coexplore.laws import Bits, Gaussian, Softmax, Softmaxes
from coexplore.run import command
from coexplore.settings import FieldError
from coexplore.study.progress import Shown
from coexplore.tasks.control import Control
from coexplore.tasks.env_args import EnvArgs
from coexplore.tasks.spaces import Flat, spaces_of

probes.register()
SMALL = {"rule": Reinforce(), "hidden": (4,), "critic": Critic(width=4)}


def small(env, episodes=40, batch=1, **settings):
    return Run(task=Control(env=f"probe/{env}", **settings), episodes=episodes, batch=batch, **SMALL)


def finished(runs):
    state = control.start(runs)
    while state.done < runs[0].updates:
        state = control.advance(state, runs[0].updates)
    return control.finish(state)


def alone(run):
    """Its environments, without an agent."""
    return worlds.Worlds(run, np.zeros((run.batch, worlds.answer_size(run)), np.float32))


def same(one, other):
    assert np.array_equal(one.curve, other.curve)
    assert one.provenance["steps"] == other.provenance["steps"]
    for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(other.params), strict=True):
        assert np.array_equal(a, b)


# What they show and take ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acts", "law", "outputs"),
    [
        (spaces.Discrete(4, start=-1), Softmax(0.5), 3),
        (spaces.Box(-1, 1, (2, 2)), Gaussian(), 4),
        (spaces.MultiDiscrete([3, 1, 2]), Softmaxes((3, 1, 2), 0.5), 3),
        (spaces.MultiDiscrete([[2, 4], [2, 3]], start=[[0, 1], [2, 3]]), Softmaxes((2, 4, 2, 3), 0.5), 7),
        (spaces.MultiDiscrete([2, 2]), Bits(0.5), 2),
        (spaces.MultiBinary(5), Bits(0.5), 5),
        (spaces.MultiBinary((2, 3)), Bits(0.5), 6),
    ],
    ids=str,
)
def test_every_action_that_a_law_draws_is_one_of_the_space(acts, law, outputs):
    """And the first choice of each part is where the space begins."""
    env = gymnasium.make("probe/walk-v0").unwrapped
    env.action_space = acts
    found = spaces_of("it", env)
    assert found.law(0.5) == law
    assert found.outputs == outputs
    flat, params = Flat(env), law.init(1, outputs, jax.random.key(0))
    drawn = np.asarray(law.action(law.explore(params, jax.numpy.ones((30, 1)), jax.random.key(1)).h))
    taken = [flat.taken(one if drawn.ndim > 1 else int(one)) for one in drawn]
    assert all(acts.contains(action) for action in taken)
    if not isinstance(acts, spaces.Box):
        start = np.broadcast_to(getattr(acts, "start", 0), np.shape(taken[0]))
        assert np.array_equal(np.ravel(taken) - np.ravel([start] * 30), drawn.ravel())


def test_observations_in_parts_are_one_row_of_numbers():
    dials, switches = (Flat(gymnasium.make(f"probe/{name}-v0")) for name in ("dials", "switches"))
    up = [dials.begin(seed).tolist() for seed in range(6)]
    assert sorted(map(tuple, up)) == sorted(
        [(1, 0, 0, -1)] * sum(row[0] == 1 for row in up) + [(0, 1, 0, 1)] * sum(row[1] == 1 for row in up)
    )
    assert {tuple(row) for row in map(np.ndarray.tolist, (switches.begin(seed) for seed in range(6)))} == {
        (1, 0, 0, 0, 1, 1, 0, 1, 0),
        (0, 0, 1, 1, 1, 0, 1, 1, 0),
    }
    for name, size in (("Blackjack-v1", 45), ("Taxi-v4", 500), ("FrozenLake-v1", 16)):
        assert Control(env=name).size == size


NESTS = [spaces.Text(3), spaces.Sequence(spaces.Discrete(2)), spaces.OneOf([spaces.Discrete(2), spaces.Discrete(3)])]
GRAPH = spaces.Graph(spaces.Discrete(2), None)


@pytest.mark.parametrize("space", [*NESTS, GRAPH, spaces.Dict(a=spaces.Box(0, 1), b=spaces.Tuple([NESTS[0]]))], ids=str)
def test_what_is_no_row_of_numbers_is_refused_in_one_line(space):
    env = gymnasium.make("probe/walk-v0").unwrapped
    env.observation_space = space
    with pytest.raises(
        FieldError, match=r"^env: 'it' .* give observations that are numbers of a fixed count, not [^\n]*$"
    ):
        spaces_of("it", env)


@pytest.mark.parametrize(
    "space",
    [
        *NESTS,
        GRAPH,
        spaces.Dict(a=spaces.Discrete(2)),
        spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]),
        spaces.Discrete(1),
        spaces.MultiDiscrete([[1, 1], [1, 1]]),
        spaces.Box(0, 5, (2,), np.int64),
    ],
    ids=str,
)
def test_actions_that_no_output_draws_are_refused_in_one_line(space):
    env = gymnasium.make("probe/walk-v0").unwrapped
    env.action_space = space
    with pytest.raises(FieldError, match=r"^env: 'it' .* give actions that are one choice or several [^\n]*$"):
        spaces_of("it", env)


@pytest.mark.parametrize("name", ["dials-v0", "switches-v0"])
def test_a_run_of_each_kind_is_the_same_in_pieces_and_acts_and_is_evaluated(name, monkeypatch):
    run = small(name, episodes=24, batch=2)
    assert fault(run) is None
    (whole,) = finished([run])
    state, stops = control.start([run]), 0
    monkeypatch.setattr(control, "SECONDS", 0.003)  # a few steps at a time, so that it stops amid an episode
    while state.done < run.updates:
        until = state.steps + 16
        while state.steps < until and state.done < run.updates:
            state = control.advance(state, 1)
        state, stops = control.restore([run], control.tensors(state)), stops + 1
    assert stops > 2
    same(control.finish(state)[0], whole)
    parts = 2 if name == "dials-v0" else 4
    o = Flat(gymnasium.make(f"probe/{name}")).begin(0)
    assert whole.act(o, key=1).shape == whole.act(o, deterministic=True).shape == (parts,)
    assert len(whole.evaluate(episodes=3).rewards) == 3
    assert len(whole.evaluate(gymnasium.make(f"probe/{name}"), episodes=2).rewards) == 2
    with pytest.raises(FieldError, match=r"numbers, actions of (2 choices \(3, 2\)|4 bits)$"):
        whole.evaluate("CartPole-v1")


@pytest.mark.learning
@pytest.mark.parametrize(("name", "best"), [("dials-v0", 3.0), ("switches-v0", 9.0)])
def test_a_team_of_outputs_learns(name, best):
    run = small(name, episodes=3000)
    (result,) = train(dataclasses.replace(run, hidden=16, critic=Critic(width=16)), progress=False)
    assert result.last > 0.8 * best


# What they are made with ---------------------------------------------------------------------------------------------


def test_arguments_reach_the_environment_wherever_it_is_made():
    run = small("paid-v0", episodes=4, env_arg={"prize": 3, "double": True})
    (result,) = finished([run])
    assert set(result.curve) == {6.0}
    assert result.evaluate(episodes=2).mean == 6
    assert result.evaluate("probe/paid-v0", episodes=2).mean == 1


def test_arguments_are_part_of_a_run_only_where_they_are_given():
    plain, other = small("paid-v0"), small("paid-v0", env_arg={"prize": 3.5, "double": True})
    assert small("paid-v0", env_arg={}) == plain
    assert other != plain
    assert small("paid-v0", env_arg=(("prize", 3.5), ("double", True))) == other
    assert Run.from_dict(other.to_dict()) == other
    assert not {"env_arg", "max_steps", "env_steps"} & set(plain._content["task"])  # so that no digest has moved


def test_the_command_that_repeats_a_run_says_them():
    task = Control(env="FrozenLake-v1", env_arg={"is_slippery": False, "map_name": "8x8"}, max_steps=50, env_steps=640)
    run = Run(rule=Reinforce(), task=task, batch=4)
    words = command(run).split()
    assert words[2:] == [
        *("reinforce", "--task", "FrozenLake-v1", "--env-arg", "is_slippery=false,map_name=8x8"),
        *("--max-steps", "50", "--env-steps", "640", "--batch", "4"),
    ]
    assert cli.described_runs(cli.read(words[2:])) == [run]


def test_each_flag_adds_to_the_others_and_several_values_make_a_grid():
    words = "reinforce --task FrozenLake-v1 --env-arg is_slippery=True is_slippery=false --env-arg map_name=8x8"
    runs = cli.described_runs(cli.read(words.split()))
    assert [dict(run.task.env_arg) for run in runs] == [
        {"is_slippery": slips, "map_name": "8x8"} for slips in (True, False)
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1,b=-2.5", (("a", 1), ("b", -2.5))),
        ("b=false,a=TRUE", (("a", True), ("b", False))),
        ("path=x/y.xml", (("path", "x/y.xml"),)),
        ("none", ()),
    ],
)
def test_arguments_are_words_and_numbers(text, value):
    spec = EnvArgs("")
    found = spec.parse("env_arg", text)
    assert found == value
    assert list(map(type, dict(found).values())) == list(map(type, dict(value).values()))
    assert spec.parse("env_arg", spec.show(found)) == found


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"env_arg": {"slippery": True}},
            "env_arg: 'slippery' is not allowed (did you mean 'is_slippery'?); give one that",
        ),
        ({"env_arg": {"map_name": "9x9"}}, "env: 'FrozenLake-v1' cannot be made with map_name=9x9: KeyError"),
        ({"env_arg": {"max_episode_steps": 5}}, "--max-steps limits an episode"),
        ({"env_arg": {"a b": 1}}, "env_arg: 'a b=1' is not allowed; give NAME=VALUE"),
        ({"env_arg": {"desc": ["SG"]}}, "is not allowed; give NAME=VALUE"),
        ({"env_arg": {"x": float("nan")}}, "is not allowed; give NAME=VALUE"),
        ({"env_arg": 3}, "env_arg: 3 is not allowed; give NAME=VALUE"),
        ({"max_steps": -1}, "max_steps: -1 is not allowed"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(settings, words):
    with pytest.raises(FieldError, match=r"^[^\n]*$") as error:
        _ = Control(env="FrozenLake-v1", **settings).size
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["prize", "prize=1,prize=2", "a=$(x)", "=3"])
def test_wrong_words_are_refused_in_one_line(text):
    with pytest.raises(FieldError, match=r"^env_arg: [^\n]* is not allowed; give NAME=VALUE[^\n]*$"):
        EnvArgs("").parse("env_arg", text)


# How long they last --------------------------------------------------------------------------------------------------


def test_an_episode_is_cut_short_after_so_many_steps():
    run = small("walk-v0", max_steps=3, batch=2)
    world = alone(run)
    for step in range(1, 7):
        world.step(np.zeros(2, np.int32))
        assert world.rest[:, 2].tolist() == [float(step % 3 == 0)] * 2
        assert not world.rest[:, 1].any()
    assert world.episodes == 4


def test_a_budget_of_steps_ends_a_run_and_is_the_axis_of_its_curve():
    """Episodes of seven steps in two environments: both end in the sweeps 7, 14 …; a bin is a sweep."""
    run = small("walk-v0", episodes=None, batch=2, env_steps=72)
    assert (run.length, run.unit, run.updates) == (72, "steps", 36)
    (result,) = finished([run])
    assert result.provenance["steps"] == 72
    assert result.provenance["episodes"] == 10
    assert len(result.curve) == 36
    assert result.episodes[-1] == 72
    assert len({*result.curve[:13]}) == 1  # until the second episodes end, as the first came out
    changes = np.flatnonzero(np.diff(result.curve)) + 1
    assert set(changes) <= {13, 20, 27, 34}
    assert len(changes) > 1


def test_where_no_episode_ended_the_curve_is_as_before():
    run = small("walk-v0", episodes=None, env_steps=8)
    sums, ended = np.array([0.0, 0, 6, 0, 0, 9, 0, 0]), np.array([0, 0, 2, 0, 0, 1, 0, 0])
    assert worlds.mean_returns(run, sums, ended).tolist() == [3, 3, 3, 3, 3, 9, 9, 9]
    assert worlds.mean_returns(run, sums[:2], ended[:2]).tolist() == []
    world = alone(small("endless-v0", episodes=None, env_steps=8))
    for _ in range(8):
        world.step(np.ones(1, np.int32))
    assert world.finished
    assert world.curve.tolist() == [8.0] * 8  # what the one episode has come to


def test_schedules_move_with_the_budget():
    run = dataclasses.replace(small("walk-v0", episodes=None, env_steps=40), learning_rate=Linear(0.1, 0.01))
    world = alone(run)
    for _ in range(10):
        world.step(np.zeros(1, np.int32))
    assert world.progress == 0.25
    assert world.updates == 10


def test_a_run_with_a_budget_is_the_same_in_pieces():
    run = small("walk-v0", episodes=None, batch=2, env_steps=72)
    runs = [run, run.with_seed(1)]
    whole = finished(runs)
    state = control.start(runs)
    while state.done < run.updates:
        state = control.advance(state, min(10, run.updates - state.done))
        saved = control.tensors(state)
        known = control.curve(run, saved[0])
        assert np.array_equal(known.astype(np.float32), whole[0].curve[: len(known)])
        state = control.restore(runs, saved)
    for one, other in zip(control.finish(state), whole, strict=True):
        same(one, other)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env_steps": 40, "episodes": 20}, "episodes: 20 is not allowed; give either --episodes or --env-steps"),
        (
            {"env_steps": 41, "episodes": None, "batch": 2},
            "env_steps: 41 is not allowed; give a multiple of the batch, 2",
        ),
    ],
)
def test_a_budget_that_does_not_fit_is_refused(settings, words):
    with pytest.raises(FieldError, match=words):
        small("walk-v0", **settings)


# What a person is told -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("walk-v0", {}, None),
        ("endless-v0", {}, "sets no limit to an episode, which may last for ever; --max-steps sets one"),
        ("endless-v0", {"max_steps": 10}, None),
        ("picture-v0", {}, "shows 19,200 numbers at a time"),
        ("forgetful-v0", {}, "does not repeat itself"),
    ],
)
def test_what_a_person_should_know_beforehand(name, settings, words):
    line = control.caution(small(name, **settings))
    assert line is None if words is None else words in line


def test_blackjack_ends_by_itself_and_a_walk_along_the_cliff_may_not():
    run = small("walk-v0")
    assert control.caution(dataclasses.replace(run, task=Control(env="Blackjack-v1"))) is None
    assert "--max-steps" in control.caution(dataclasses.replace(run, task=Control(env="CliffWalking-v1")))


@pytest.mark.parametrize("where", ["reset", "observation", "reward"])
def test_an_environment_that_loses_its_numbers_is_named(where):
    what = "a reward" if where == "reward" else "an observation"
    when = "after reset" if where == "reset" else "in step 3"
    with pytest.raises(Fault, match=f"^environment 'probe/{where}-broken-v0': {what} is not finite, {when}$"):
        run_until_it_ends(small(f"{where}-broken-v0"))


def test_so_is_one_of_gymnasiums_own(monkeypatch):
    monkeypatch.setattr(PendulumEnv, "_get_obs", lambda self: np.full(3, np.nan, np.float32))
    with pytest.raises(Fault, match=r"^environment 'Pendulum-v1': an observation is not finite, after reset$"):
        run_until_it_ends(Run(task=Control(env="Pendulum-v1"), episodes=2, **SMALL))


def run_until_it_ends(run):
    world = alone(run)
    for _ in range(9):
        world.step(np.zeros(1, np.int32))


def test_steps_per_second_are_shown_and_that_no_episode_has_ended():
    run, told = small("walk-v0"), []
    bars = Progress(TextColumn("{task.fields[now]}"), disable=True)
    shown = Shown([run], bars)
    for rewards, steps in ((np.array([np.nan]), 100), (np.array([2.5]), 100), (np.array([np.nan]), 100)):
        shown.advance([run], 0, rewards, steps)
        told.append(bars.tasks[0].fields["now"])
    assert [line.endswith(" steps/s") for line in told] == [True] * 3
    assert told[0].startswith("no episode ended yet ")
    assert all(line.startswith("reward +2.50 ") for line in told[1:])
    assert not any(task.visible for task in bars.tasks[1:])
