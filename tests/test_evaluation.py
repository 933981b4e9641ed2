"""Using what was learned: `act`, `evaluate` and the command. Networks with weights made up, whose answers are known."""

import dataclasses
import itertools
import json

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest
from scipy.stats import beta

from coexplore import (
    Backprop,
    Boltzmann,
    Boolean,
    Control,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Result,
    Run,
    load,
    network,
    train,
)
from coexplore.laws import Bernoulli, Gaussian, Softmax
from coexplore.run import policy
from coexplore.settings import FieldError
from coexplore.stats.estimates import over_episodes, summary
from coexplore.store import pack
from coexplore.units import Affine

probes.register()
SIGMOID = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731


def result(run, params=None):
    """As if it had been trained; its parameters are the first ones if none are given."""
    params = jax.tree.map(np.asarray, run.init() if params is None else params)
    return Result(run, "xla", np.zeros(1, np.float32), params)


def made_up(run, seed=9, scale=2.0):
    """With weights so large that what is likely differs from one observation to the next."""
    rng = np.random.default_rng(seed)
    return result(run, jax.tree.map(lambda x: rng.normal(size=x.shape).astype(np.float32) * scale, run.init()))


MUX = Run(rule=Reinforce(), hidden=4, task=Multiplexer(bits=1), episodes=16)
EVERY_MUX = np.array(list(itertools.product([False, True], repeat=3)))


def enumerated(found, s):
    """E[H] of the output at each s, by going through every state of a hidden layer of four binary units."""
    first, top = found.params.layers
    h, p = np.array(list(itertools.product([0.0, 1.0], repeat=4))), SIGMOID(s.astype(np.float64) @ first.W + first.b)
    given_h = np.asarray(found.run.task.output.expected(jnp.asarray(h @ top.W + top.b, jnp.float32)))
    weights = np.prod(np.where(h == 1, p[:, None], 1 - p[:, None]), axis=2)
    return weights @ given_h


# `act`.


@pytest.mark.parametrize("how", [{"key": 1}, {"deterministic": True}])
def test_act_is_compiled_once_for_all_calls_and_all_results_of_a_shape(how, monkeypatch):
    looked = []
    explore = Bernoulli.explore
    monkeypatch.setattr(Bernoulli, "explore", lambda *args: looked.append(1) or explore(*args))
    run = dataclasses.replace(MUX, hidden=7)  # a shape that no other test has
    first, second = result(run), result(run.with_seed(1))
    first.act(np.ones((2, 3)), **how)
    traced = len(looked)
    assert traced
    for found in (first, second, first):
        found.act(-np.ones((2, 3)), **how)
    assert len(looked) == traced


def test_a_drawn_action_is_what_the_network_draws_with_that_key():
    found, s = made_up(MUX), np.asarray(MUX.task.observe(np.tile(EVERY_MUX, (20, 1))))
    drawn = network.act(MUX.network.actor, found.params, jnp.asarray(s), jax.random.key(3))[-1].h[:, 0]
    assert np.array_equal(found.act(s, 3), drawn)
    assert np.array_equal(found.act(s, jax.random.key(3)), drawn)
    assert 0 < drawn.mean() < 1


@pytest.mark.parametrize("task", [Multiplexer(bits=1), Boolean(bits=3), Control(env="probe/both-v0", temperature=0.5)])
def test_the_expectation_behind_a_decision_is_that_over_all_states_of_the_hidden_layer(task, monkeypatch):
    """Four standard errors of a mean of 2000 numbers between 0 and 1; and where it is clear, so is the decision."""
    found, D = made_up(dataclasses.replace(MUX, task=task)), task.size
    s = np.array(list(itertools.product([-1, 1], repeat=D)), np.float32)
    exact = enumerated(found, s)
    clear = np.abs(exact[:, 0] - 0.5) > 0.35
    assert clear.any()
    assert np.array_equal(found.act(s, deterministic=True)[clear], exact[clear, 0] > 0.5)
    monkeypatch.setattr(policy, "DRAWS", 2000)
    mean = jax.vmap(lambda row: policy.expected(found._policy.actor, found._policy.params, row))(s)
    assert np.abs(mean - exact).max() < 4 * 0.5 / 2000**0.5


def test_each_law_expects_and_decides_as_its_probabilities_say():
    d = jnp.array([[0.3, -2.0], [-1.0, -0.5], [2.0, 2.5]])
    p = np.exp(np.pad(d, ((0, 0), (1, 0))) / 0.5)
    p /= p.sum(axis=1, keepdims=True)
    softmax, gaussian, coin = Softmax(0.5), Gaussian(0.2), Bernoulli()
    assert np.allclose(softmax.expected(d), p[:, 1:])
    assert softmax.decided(softmax.expected(d)).tolist() == [1, 0, 2]
    assert np.array_equal(gaussian.decided(gaussian.expected(d)), d)
    assert np.allclose(coin.expected(d), SIGMOID(np.asarray(d)))
    assert coin.decided(coin.expected(d[:, :1])).tolist() == [1, 0, 1]


DEEP = [
    Run(rule=Boltzmann(steps=2, sampler="one-by-one"), hidden=3, task=Multiplexer(bits=1)),
    Run(rule=[Recurrent(), MapProp()], hidden=(3, 2), task=Multiplexer(bits=1), signals="signed"),
]


@pytest.mark.parametrize("run", DEEP)
def test_a_decision_does_not_depend_on_what_stands_beside_the_observation(run):
    found = made_up(run)
    s = np.asarray(run.task.observe(np.random.default_rng(0).random((300, 3)) < 0.5))  # more than are taken at once
    decided = found.act(s, deterministic=True)
    assert np.array_equal(found.act(s[::-1], deterministic=True), decided[::-1])
    assert decided[7] == found.act(s[7], deterministic=True)
    assert found.act(s[7], deterministic=True).shape == ()
    assert len(set(decided.tolist())) == 2


def test_numbers_that_are_decided_are_the_mean_of_those_that_are_drawn():
    run = Run(rule=Backprop("tanh"), hidden=3, task=Control(env="probe/numbers-v0"))
    found, s = made_up(run), np.full((4000, 1), 0.3, np.float32)
    (first, top), x = found.params.layers, s[:1]
    exact = np.tanh(x @ first.W + first.b) @ top.W + top.b
    assert np.allclose(found.act(x, deterministic=True), exact, atol=1e-5)
    assert found.act(s, 0).mean() == pytest.approx(exact.item(), abs=4 * (0.1 / 4000) ** 0.5)


def test_bad_calls_of_act_get_one_line():
    found = result(MUX)
    with pytest.raises(FieldError, match=r"observations: \[2, 4\] is not allowed; give .* \[3\] or \[batch, 3\]"):
        found.act(np.ones((2, 4)), 0)
    with pytest.raises(FieldError, match=r"key: None is not allowed; give a seed .* or deterministic=True"):
        found.act(np.ones(3))


# `evaluate`, on tasks of one step.


def test_the_mean_reward_is_that_of_every_state_and_its_interval_has_it():
    found, task = made_up(MUX), MUX.task
    right = enumerated(found, np.asarray(task.observe(EVERY_MUX)))[:, 0]
    exact = np.where(task.answer(EVERY_MUX), 2 * right - 1, 1 - 2 * right).mean()
    seen = found.evaluate(episodes=4000)
    assert set(seen.rewards) == {-1.0, 1.0}
    assert seen.mean == pytest.approx(exact, abs=4 / 4000**0.5)
    assert seen.low < exact < seen.high
    assert seen.high - seen.low < 4 * seen.sd / 4000**0.5 + 0.01
    numbers = f"reward {seen.mean:.3f} [{seen.low:.3f}, {seen.high:.3f}]"
    assert repr(seen) == f"{numbers} over 4000 episodes, actions drawn"
    assert repr(found.evaluate(episodes=1, deterministic=True)).endswith("over 1 episode, most probable actions")


@pytest.mark.learning
def test_more_episodes_begin_with_the_same_and_another_seed_has_others():
    found = made_up(MUX)
    few, many = found.evaluate(episodes=40).rewards, found.evaluate(episodes=300).rewards
    assert np.array_equal(few, many[:40])
    assert len(found.evaluate().rewards) == 1000
    assert not np.array_equal(found.evaluate(episodes=40, seed=1).rewards, few)


def perfect():
    """One unit for "address 0 and the first bit", one for "address 1 and the second", and an output that ors them."""
    first = Affine(jnp.array([[-8.0, 8], [8, 0], [0, 8]]), jnp.full(2, -8.0))
    top = Affine(jnp.full((2, 1), 20.0), jnp.full(1, -10.0))
    run = Run(rule=Backprop("sigmoid"), hidden=2, task=Multiplexer(bits=1))
    return result(run, network.Params((first, top), run.init().critic))


def test_what_was_always_right_may_still_be_wrong_once():
    """Clopper's and Pearson's bound: 0.025^(1/n) for n of n."""
    seen = perfect().evaluate(episodes=200, deterministic=True)
    assert (seen.mean, seen.sd, seen.high) == (1.0, 0.0, 1.0)
    assert seen.low == pytest.approx(2 * 0.025 ** (1 / 200) - 1, abs=0.002)


@pytest.mark.parametrize(("n", "right"), [(1000, 930), (360, 12), (50, 50)])
def test_intervals_of_two_values_are_exact(n, right):
    rewards = np.where(np.arange(n) < right, 1.0, 0.0)
    low, high = beta.ppf(0.025, right, n - right + 1), 1.0 if right == n else beta.ppf(0.975, right + 1, n - right)
    seen = over_episodes(rewards, (0.0, 1.0))
    assert (seen.low, seen.high) == pytest.approx((low, high), abs=0.004)


def test_intervals_of_many_values_are_nearly_those_of_few():
    rewards = np.random.default_rng(0).random(300)
    seen, usual = over_episodes(rewards, (0.0, 1.0)), summary(rewards, (0.0, 1.0))
    assert seen.low <= usual.low + 0.002
    assert seen.high >= usual.high - 0.002
    assert seen.high - seen.low < usual.high - usual.low + 0.01
    assert over_episodes(rewards, None) == summary(rewards)


@pytest.mark.parametrize("rewards", ["drawn", "loss"])
def test_inputs_that_are_held_out_are_asked_once_each(rewards):
    """Of units without noise everything is known: the probabilities, and so the labels."""
    run = Run(rule=Backprop(), hidden=3, task=Boolean(bits=5, held_out=0.4, rewards=rewards))
    found, data = made_up(run, scale=0.7), run.task.data
    x, y = data.x[data.held_out], data.y[data.held_out]
    first, top = found.params.layers
    p = SIGMOID(np.maximum(x @ first.W + first.b, 0) @ top.W + top.b)[:, 0].astype(np.float64)
    right = np.where(y == 1, p, 1 - p)
    exact = np.log(right) if rewards == "loss" else np.where(right > 0.5, 1.0, -1.0)
    seen = found.evaluate(deterministic=True)
    assert np.allclose(np.sort(seen.rewards), np.sort(exact), atol=1e-4)
    assert len(found.evaluate(episodes=5).rewards) == 5
    assert len(found.evaluate(held_out=False, episodes=70).rewards) == 70
    with pytest.raises(FieldError, match=r"episodes: 14 is not allowed; give at most 13, .*held_out=False"):
        found.evaluate(episodes=14)


# … and in environments.


def test_an_environment_is_the_same_by_name_as_an_instance_and_as_the_task():
    found, env = made_up(MUX), gymnasium.make("coexplore/Multiplexer-v0", bits=1)
    named = made_up(dataclasses.replace(MUX, task=Control(env="probe/both-v0")))
    assert np.array_equal(named.evaluate(episodes=20).rewards, named.evaluate("probe/both-v0", 20).rewards)
    one = named.evaluate(gymnasium.make("probe/both-v0"), 20)
    assert np.array_equal(one.rewards, named.evaluate(episodes=20).rewards)
    seen, task = found.evaluate(env, 300), found.evaluate(episodes=300)
    assert (seen.low, seen.high) != (seen.mean, seen.mean)
    assert abs(seen.mean - task.mean) < 4 * (2 / 300) ** 0.5


def test_returns_are_sums_over_an_episode_and_decisions_are_those_of_act():
    """Against a loop as a user would write it."""
    run = Run(rule=Reinforce(), hidden=4, task=Control(env="CartPole-v1"))
    found, env, totals = made_up(run), gymnasium.make("CartPole-v1"), []
    seen = found.evaluate(episodes=18, deterministic=True)  # more than stand side by side
    for episode in range(18):
        seed = np.random.SeedSequence((0, episode), spawn_key=(1,)).generate_state(1)[0]
        (o, _), total, ended = env.reset(seed=int(seed)), 0.0, False
        while not ended:
            o, r, terminated, truncated, _ = env.step(found.act(o, deterministic=True))
            total, ended = total + r, terminated or truncated
        totals.append(total)
    assert np.array_equal(seen.rewards, totals)
    assert (seen.mean, seen.low) == pytest.approx((np.mean(totals), summary(totals).low))


def test_what_does_not_fit_is_refused_in_one_line():
    found = result(MUX)
    fits = "one that fits this network: observations of 3 numbers, 2 actions"
    for where, name in (("CartPole-v1",) * 2, (gymnasium.make("Acrobot-v1"), "Acrobot-v1"), (Boolean(), "boolean")):
        with pytest.raises(FieldError) as refused:
            found.evaluate(where)
        assert str(refused.value) == f"task: {name!r} is not allowed; give {fits}"
    with pytest.raises(FieldError, match="task: 'nowhere' is not allowed; give multiplexer"):
        found.evaluate("nowhere")
    for name in ("episodes", "seed"):
        with pytest.raises(FieldError, match=f"{name}: -1 is not allowed; give a whole number"):
            found.evaluate(**{name: -1})


# The command.


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train([MUX, MUX.with_seed(1), dataclasses.replace(MUX, hidden=5)], progress=False, store=folder)
    return folder


def test_the_command_has_a_line_for_each_setting_and_json_one_for_each_run(store, here):
    shown = here("evaluate", store, "--episodes", 50).stdout
    assert [row.split("│")[1:4] for row in shown.splitlines() if row.startswith("│")] == [
        [" reinforce units=4 ", "     2 ", "       50 "],
        [" reinforce units=5 ", "     1 ", "       50 "],
    ]
    done = here("evaluate", store, "--select", "units=5", "--episodes", 50, "--seed", 3, "--deterministic", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    found = train([dataclasses.replace(MUX, hidden=5)], progress=False, store=store)[0]
    assert run["mean"] == found.evaluate(episodes=50, seed=3, deterministic=True).mean
    assert run["low"] <= run["mean"] <= run["high"]
    assert run["run"]["hidden"] == [5]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--episodes", "0"], "episodes: 0 is not allowed; give a whole number from 1 to 2147483647"),
        (["--seed", "x"], "seed: 'x' is not allowed; give a whole number from 0 to 4294967295"),
        (["--task", "CartPole-v1"], "task: 'CartPole-v1' is not allowed; give one that fits this network: "),
        (["--task", "nowhere"], "task: 'nowhere' is not allowed; give multiplexer | "),
        (["--select", "units=9"], "select: none of the 3 runs in "),
        (["--xyz"], "flag: '--xyz' is not allowed; give a flag of coexplore evaluate (see --help)"),
    ],
)
def test_bad_words_get_one_line_and_status_2(words, line, store, here):
    done = here("evaluate", store, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"coexplore: {line}")
    assert done.stderr.count("\n") == 1


def test_runs_without_parameters_are_counted_and_a_store_of_such_is_refused(here, tmp_path, store):
    pack(load(store), tmp_path / "small.safetensors")
    done = here("evaluate", tmp_path / "small.safetensors", "--episodes", 5)
    assert (done.returncode, done.stderr) == (0, "coexplore: 1 of 3 runs have no parameters here\n")
    done = here("evaluate", tmp_path / "small.safetensors", "--select", "units=4,seed=1")
    line = "params: none of the 1 runs has its parameters here: a pack keeps those of one seed per setting"
    assert done.returncode == 2
    assert done.stderr.startswith(f"coexplore: {line}")
