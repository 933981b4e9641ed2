"""Where a run starts from and how it chooses: two laws of first weights, a softmax in which all actions have drives."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

from coexplore import Boltzmann, Reinforce, Run, train
from coexplore.laws import Activity, Categorical, Softmax
from coexplore.settings import FieldError
from coexplore.tasks.control import Control


def weights(run):
    params = run.init()
    return [np.asarray(layer.W) for layer in (*params.layers, *params.critic.layers)]


def test_the_uniform_law_has_the_quantiles_of_the_normal_one():
    run = Run(rule=Boltzmann(), hidden=(64, 32))
    for normal, uniform in zip(weights(run), weights(dataclasses.replace(run, initial_weights="uniform")), strict=True):
        D, N = normal.shape
        share = ndtr(normal / np.sqrt(2 / (D + N)))
        np.testing.assert_allclose(uniform, np.sqrt(6 / (D + N)) * (2 * share - 1), atol=1e-6)
    assert uniform.std() == pytest.approx(np.sqrt(2 / (D + N)), rel=0.2)


def test_only_feedforward_weights_have_another_law():
    run = Run(rule=Boltzmann(), initial_weights="uniform")
    plain, params = Run(rule=Boltzmann()).init(), run.init()
    assert np.array_equal(params.layers[0].W_rec, plain.layers[0].W_rec)
    assert all(not np.any(layer.b) for layer in params.layers)


def test_the_law_is_part_of_a_run_and_its_default_of_none():
    assert Run(initial_weights="normal").digest == Run().digest
    assert Run(initial_weights="uniform").digest != Run().digest
    with pytest.raises(FieldError, match=r"^initial_weights: 'zero' is not allowed"):
        Run(initial_weights="zero")


LAW, D, N = Categorical(2.0), 3, 4


def test_a_drive_for_every_action_gives_the_policy_of_drives_relative_to_the_first():
    d = jnp.asarray(np.random.default_rng(0).normal(size=(5, N)), jnp.float32)
    np.testing.assert_allclose(LAW.expected(d)[:, 1:], Softmax(2.0).expected(d[:, 1:] - d[:, :1]), rtol=1e-5)


def test_its_score_is_the_slope_of_the_log_probability():
    rng = np.random.default_rng(1)
    d, delta = jnp.asarray(rng.normal(size=(6, N)), jnp.float32), jnp.asarray(rng.normal(size=(6, 1)), jnp.float32)
    h = jax.nn.one_hot(jnp.arange(6) % N, N)
    params = LAW.init(D, N, jax.random.key(0))
    slope = jax.grad(lambda d: jnp.sum(delta[:, 0] * LAW.log_probability(params, d, Activity(h, h[None]))))(d)
    np.testing.assert_allclose(LAW.score(d, h, delta), slope, atol=1e-6)
    np.testing.assert_array_equal(LAW.action(h), np.arange(6) % N)


def test_it_draws_each_action_as_often_as_it_should():
    params = LAW.init(D, N, jax.random.key(0))
    x = jnp.ones((20_000, D))
    drawn = LAW.explore(params, x, jax.random.key(1)).h
    assert np.all(drawn.sum(axis=1) == 1)
    expected = LAW.expected(x[:1] @ params.W + params.b)[0]
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.012)


def test_a_run_with_all_drives_trains_acts_and_is_evaluated():
    run = Run(rule=Reinforce(), task=Control(env="CartPole-v1", drives="all"), hidden=(4,), episodes=3)
    (result,) = train([run], progress=False)
    assert result.params.layers[-1].W.shape == (4, 2)
    assert set(result.act(np.zeros((50, 4), np.float32), key=0)) <= {0, 1}
    assert len(result.evaluate(episodes=2).rewards) == 2
    with pytest.raises(FieldError, match="4 numbers, 2 actions"):
        result.evaluate("Acrobot-v1")
