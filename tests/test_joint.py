"""The bandit of joint bits, by enumeration: what a share of joint reward changes, and what it leaves alone."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Backprop, Run, train
from coexplore.engines import xla
from coexplore.settings import FieldError
from coexplore.tasks.joint import JointBits

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
ACTIONS = np.array(list(itertools.product((0, 1), repeat=4)), np.int32)
STATES = np.array(list(itertools.product((False, True), repeat=6)))


def rewards(task, state):
    """Of all sixteen actions in one state."""
    joint = task.policy == "joint"
    actions = np.arange(16, dtype=np.int32) if joint else ACTIONS
    return np.asarray(task.reward(jnp.asarray(np.tile(state, (16, 1))), jnp.asarray(actions)), np.float64)


def unexplained(r):
    """The share of the variance over all actions that no function of the single bits, summed, explains."""
    design = np.column_stack([np.ones(16), ACTIONS])
    left = r - design @ np.linalg.lstsq(design, r, rcond=None)[0]
    return left.var() / r.var()


@pytest.mark.parametrize("policy", ["bits", "joint"])
@pytest.mark.parametrize("share", SHARES)
def test_in_every_state_the_share_is_what_no_additive_function_explains_and_nothing_else_changes(share, policy):
    task = JointBits(joint=share, policy=policy)
    law = np.sort(rewards(JointBits(joint=0.0), STATES[0]))
    for state in STATES:
        r = rewards(task, state)
        assert unexplained(r) == pytest.approx(share, abs=1e-9)
        assert (r.mean(), r.var(), r.max()) == pytest.approx((0.0, 0.25, 1.0))
        np.testing.assert_allclose(np.sort(r), law, atol=1e-7)  # mean, variance and optimum, and all the rest
        assert (r == 1).sum() == 1  # one answer is right


def test_the_right_answer_is_the_data_rotated_by_the_address():
    task = JointBits()
    for state in STATES:
        address, data = 2 * state[0] + state[1], state[2:]
        right = [int(data[(i + address) % 4]) for i in range(4)]
        assert task.answer(jnp.asarray(state[None]))[0].tolist() == right
        assert rewards(task, state)[int("".join(map(str, right)), 2)] == 1
        assert JointBits(policy="joint").answer(jnp.asarray(state[None]))[0] == int("".join(map(str, right)), 2)


def test_no_function_of_the_inputs_one_by_one_names_a_bit():
    """A hidden layer is needed: the best linear function of what is seen explains a quarter of a bit."""
    seen = np.column_stack([np.ones(64), np.where(STATES, 1.0, -1.0)])
    right = 2.0 * np.asarray(JointBits().answer(jnp.asarray(STATES))) - 1
    left = right - seen @ np.linalg.lstsq(seen, right, rcond=None)[0]
    np.testing.assert_allclose(left.var(axis=0), 0.75, atol=1e-9)


def test_a_share_is_of_whole_bits_and_larger_registers_have_as_many_more():
    with pytest.raises(FieldError, match=r"joint: 0.3 .* a multiple of 1/4, where there are 4 bits"):
        JointBits(joint=0.3)
    assert JointBits(address=3, joint=0.375).outputs == 8
    assert JointBits(policy="joint").outputs == 15
    assert Run(task=JointBits()).digest != Run(task=JointBits(joint=0.25)).digest


def test_both_shares_are_one_shape_and_are_learned():
    runs = [Run(Backprop(), JointBits(joint=share), (16,), 8000) for share in (0.0, 0.5)]
    assert [len(group) for group in xla.groups(runs)] == [1, 1]  # on a CPU; but of one compilation
    assert len({xla._shape(run) for run in runs}) == 1
    results = train(runs, "xla", progress=False)
    assert results[0].last > 0.2
    assert results[1].last > 0.05


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_in_time_all_that_the_steps_earned_is_told_at_the_end(share):
    """By Gymnasium's interface; the engine `functional` is held to that elsewhere."""
    import gymnasium

    from coexplore.tasks.control import spaces

    env, task = gymnasium.make("coexplore/JointBits-v0", joint=share, steps=3), JointBits(joint=share)
    o, _ = env.reset(seed=1)
    earned, told, actions = [], [], np.random.default_rng(0).integers(0, 2, (3, 4), np.int8)
    for action in actions:
        state, seen = np.asarray(o)[None] > 0, o
        earned.append(float(task.reward(jnp.asarray(state), jnp.asarray(action[None], jnp.int32))[0]))
        o, r, terminated, truncated, _ = env.step(action)
        told.append((r, terminated, truncated))
        assert not np.array_equal(seen, o)
    assert told[:2] == [(0.0, False, False)] * 2
    assert told[2] == (pytest.approx(np.mean(earned)), True, False)
    assert spaces("coexplore/JointBits-v0").parts == (2,) * 4


def test_in_time_the_compiled_engine_takes_it_and_something_is_learned():
    from coexplore import Control, Reinforce

    task = Control(env="coexplore/JointBits-v0", env_arg={"joint": 0.0}, discount=1.0, scaling="none")
    run = Run(Reinforce(), task, hidden=(16,), batch=16, episodes=16 * 200, learning_rate=0.02)
    results = train([run.with_seed(seed) for seed in range(400, 408)], progress=False)
    assert {r.engine for r in results} == {"functional"}
    assert np.mean([r.last for r in results]) > 0.02  # of which chance has 0


def test_every_action_has_a_drive_of_its_own_only_where_an_action_is_one_choice():
    from coexplore import Control

    assert Control(env="CartPole-v1", drives="all").outputs == 2
    with pytest.raises(FieldError, match="drives: 'all' is not allowed; give relative where an action has several"):
        _ = Control(env="coexplore/JointBits-v0", drives="all").outputs
