"""The multiplexer: as a task in JAX, and as a Gymnasium environment."""

import importlib.metadata

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import coexplore  # noqa: F401 (its import registers the environment)
from coexplore import Multiplexer

NAME = "coexplore/Multiplexer-v0"
KINDS = [{}, {"bits": 1}, {"bits": 2, "encoding": "binary", "rewards": "binary"}, {"bits": 6}]


def by_hand(bits, k):
    """The addressed bit: the address is read with its most significant bit first."""
    return bits[k + int("".join(str(int(bit)) for bit in bits[:k]), 2)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_addressed_bit_is_rewarded_in_every_state(k):
    size = k + 2**k
    states = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(bool)
    answers = np.array([by_hand(state, k) for state in states])
    for task, low in ((Multiplexer(k), -1), (Multiplexer(k, rewards="binary"), 0)):
        for xp in (np, jax.numpy):
            for a in (0, 1):
                r = np.asarray(task.reward(xp.asarray(states), xp.full(len(states), a)))
                assert np.array_equal(r, np.where(answers == a, 1, low))
                assert r.dtype == np.float32


def test_states_are_fair_coins_shown_as_the_encoding_says():
    states = Multiplexer(2).sample(4000, jax.random.key(0))
    assert np.abs(np.asarray(states).mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(4000)
    assert set(np.unique(Multiplexer(2).observe(states))) == {-1, 1}
    assert set(np.unique(Multiplexer(2, encoding="binary").observe(states))) == {0, 1}


@pytest.mark.parametrize("kind", KINDS)
def test_gymnasium_accepts_the_environment_without_a_warning(kind):
    check_env(gymnasium.make(NAME, **kind).unwrapped, skip_render_check=True)
    check_env(gymnasium.make(NAME, **kind).unwrapped)


@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_pays_what_the_task_pays(kind):
    env, task = gymnasium.make(NAME, **kind), Multiplexer(**kind)
    for seed in range(20):
        seen, _ = env.reset(seed=seed)
        state = seen > 0
        action = int(by_hand(state, task.bits)) ^ (seed % 2)
        after, reward, terminated, truncated, _ = env.step(action)
        assert reward == float(task.reward(state[None], np.array([action]))[0])
        assert (reward == 1) == (seed % 2 == 0)
        assert terminated
        assert not truncated
        assert env.observation_space.contains(after)


def test_a_seed_fixes_all_that_follows():
    def seen(seed):
        env = gymnasium.make(NAME)
        return np.stack([env.reset(seed=seed)[0], *(env.reset()[0] for _ in range(5))])

    assert np.array_equal(seen(1), seen(1))
    assert not np.array_equal(seen(1), seen(2))
    assert len(np.unique(seen(1), axis=0)) == 6


@pytest.mark.parametrize("how", [{}, {"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}}])
def test_environments_run_side_by_side(how):
    envs = gymnasium.make_vec(NAME, num_envs=3, bits=2, **how)
    seen, _ = envs.reset(seed=5)
    assert seen.shape == (3, 6)
    _, rewards, terminated, _, _ = envs.step(np.array([0, 1, 0]))
    assert set(np.abs(rewards)) == {1}
    assert terminated.all()
    envs.step(np.array([0, 1, 0]))
    envs.close()


def test_the_entry_point_registers_the_environment():
    (plug,) = importlib.metadata.entry_points(group="gymnasium.envs", name="coexplore")
    gymnasium.registry.pop(NAME)
    plug.load()()
    assert NAME in gymnasium.registry


def test_bad_settings_of_the_environment_are_named():
    with pytest.raises(ValueError, match="bits: 9 is not allowed; give a whole number from 1 to 6"):
        gymnasium.make(NAME, bits=9)
