"""What every rule must do, one test each over all of them."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from coexplore import Critic, Linear, Multiplexer, Run, grid, network
from coexplore.engines import xla
from coexplore.network import Network
from coexplore.rules import (
    BUILT_IN,
    Backprop,
    Boltzmann,
    Feedback,
    MapProp,
    Recurrent,
    Reinforce,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
)
from coexplore.rules.base import Above
from coexplore.rules.laws import Bernoulli
from coexplore.settings import Number, specs
from coexplore.units import Affine

RULES = [
    Reinforce(),
    Reinforce("reward"),
    Boltzmann(steps=3),
    Boltzmann(steps=2, sampler="one-by-one"),
    Boltzmann(steps=3, sampler="lazy"),
    Boltzmann(steps=2, centring="both", chains=2),
    Boltzmann(steps=2, centring="mean"),
    Boltzmann(steps=2, centring="learned"),
    Boltzmann(steps=2, depression="pre-without-post"),
    Boltzmann(steps=2, depression="one-without-other"),
    Boltzmann(steps=2, centring="usual", pair_strength=0.5),
    Boltzmann(steps=2, centring="predicted", pair_strength=0.5),
    Reinforce("predicted"),
    Recurrent(centring="predicted"),
    Recurrent(),
    Recurrent(depression="post-without-pre"),
    Recurrent(depression="post-before-pre"),
    StraightThrough(),
    WeightMax(),
    UnbiasedWeightMax(),
    UnbiasedWeightMax(expected=True),
    MapProp(),
    Backprop(),
    Backprop("tanh"),
]
LOCAL = (Reinforce, Boltzmann, Recurrent, MapProp)
B, D, N = 6, 4, 5

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
FIRST = {rule.name: i for i, rule in reversed(list(enumerate(RULES)))}  # of each name: all take a while to compile
one_of_each = [
    pytest.param(rule, marks=[] if FIRST[rule.name] == i else pytest.mark.learning) for i, rule in enumerate(RULES)
]


@functools.cache
def layer(rule, nan=False):
    """Parameters away from zero, an input, what the rule drew, and a feedback from an output unit above."""
    key = jax.random.key(3)
    params = jax.tree.map(lambda p: p + 0.3 * jax.random.normal(key, p.shape), rule.law.init(D, N, key))
    x = jax.random.normal(jax.random.key(4), (B, D))
    activity = rule.law.explore(params, x, jax.random.key(5))
    delta = jax.random.normal(jax.random.key(6), (B, 1))
    W = jnp.full((N, 1), jnp.nan) if nan else jax.random.normal(jax.random.key(7), (N, 1))
    return params, x, activity, Feedback(delta, Above(Affine(W, jnp.zeros(1)), lambda d: jax.nn.log_sigmoid(d)[:, 0]))


def close(a, b, tolerance=1e-5):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance, rtol=tolerance)


def test_every_rule_of_the_package_is_in_these_tests():
    assert {type(rule) for rule in RULES} == set(BUILT_IN.values())
    assert all(name == rule.name for name, rule in BUILT_IN.items())


@every_rule
def test_shapes_fit(rule):
    params, x, activity, feedback = layer(rule)
    assert activity.h.shape == (B, N)
    credit = jax.eval_shape(lambda x: rule.credit(params, x, activity, feedback), x)
    assert jax.tree.structure(credit) == jax.tree.structure(params)
    assert [leaf.shape for leaf in jax.tree.leaves(credit)] == [leaf.shape for leaf in jax.tree.leaves(params)]

    def heard(x):
        above, d = rule.below(params, x, activity, feedback).above, x @ params.W + params.b
        return rule.law.log_probability(params, d, activity), above(x), above.slope(x)

    assert [found.shape for found in jax.eval_shape(heard, x)] == [(B,), (B,), (B, D)]


@every_rule
def test_jit_changes_nothing(rule):
    params, x, activity, feedback = layer(rule)
    close(jax.jit(rule.law.explore)(params, x, jax.random.key(5)), activity)
    plain = rule.credit(params, x, activity, feedback)
    close(
        jax.jit(lambda p, x, a, delta: rule.credit(p, x, a, Feedback(delta, feedback.above)))(
            params, x, activity, feedback.delta
        ),
        plain,
    )


@every_rule
def test_credit_is_linear_in_the_signal_and_a_mean_over_the_batch(rule):
    params, x, activity, feedback = layer(rule)

    @jax.jit
    def credit(delta):
        return rule.credit(params, x, activity, Feedback(delta, feedback.above))

    one, two = feedback.delta, jnp.flip(feedback.delta)
    sum_ = jax.tree.map(lambda a, b: 2 * a - 3 * b, credit(one), credit(two))
    close(credit(2 * one - 3 * two), sum_)
    alone = [credit(jnp.where(jnp.arange(B)[:, None] == b, one, 0.0)) for b in range(B)]
    close(credit(one), jax.tree.map(lambda *each: sum(each), *alone))
    assert any(leaf.any() for leaf in jax.tree.leaves(credit(one)))


@every_rule
def test_a_local_rule_reads_nothing_but_its_signal(rule):
    params, x, activity, feedback = layer(rule, nan=True)
    credit = rule.credit(params, x, activity, feedback)
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(credit))
    assert finite == isinstance(rule, LOCAL)


@every_rule
def test_above_flipped_is_above_with_one_unit_flipped(rule):
    params, x, activity, feedback = layer(rule)
    h = (activity.h > 0.5).astype(jnp.float32)
    for above, value in (
        (feedback.above, h),
        (rule.below(params, x, activity, feedback).above, (x > 0).astype(x.dtype)),
    ):
        by_hand = [above(value.at[:, i].set(1 - value[:, i])) for i in range(value.shape[1])]
        close(above.flipped(value), jnp.stack(by_hand, axis=1), 1e-4)


@pytest.mark.parametrize("rule", one_of_each, ids=lambda rule: rule.name)
def test_a_grid_side_by_side_is_each_run_alone_and_compiles_once(rule):
    run = Run(rule=rule, hidden=(N,), task=Multiplexer(bits=1), batch=4, episodes=4 * 2000)
    numbers = {name: spec for name, spec in specs(rule).items() if isinstance(spec, Number)}
    axes = {name: [getattr(rule, name), 0.5 * getattr(rule, name)] for name in numbers}
    axes |= {name: [*axes[name], Linear(0.9, 0.1)] for name, spec in numbers.items() if spec.schedule}
    every = grid(run, seed=range(2), learning_rate=[0.01, Linear(0.01, 0.001)], **axes)
    runs = every[:: -(-len(every) // 5)]  # spread over the grid, so that they differ in more than one number
    before = xla._advance._cache_size()
    wide = xla.advance(xla.advance(xla.start(runs, width=5), 3), 7)
    for i, run in enumerate(runs):
        alone = xla.advance(xla.start([run], width=5), 10)
        for a, b in zip(jax.tree.leaves(wide.progress.params), jax.tree.leaves(alone.progress.params), strict=True):
            assert np.array_equal(np.asarray(a)[i], np.asarray(b)[0])
    assert len({np.asarray(wide.progress.params.layers[0].W)[i].tobytes() for i in range(len(runs))}) > 2
    assert xla._advance._cache_size() - before == 1


@every_rule
@pytest.mark.learning
def test_it_learns_a_task_whose_optimum_is_known(rule):
    """Two states, two actions, the right one pays 1 and the other -1: guessing earns 0, the best policy 1."""
    keys = jax.random.split(jax.random.key(0), 2)
    net = Network((rule,), Bernoulli(), Critic(width=8))
    hidden, output = rule.law.init(1, 8, keys[0]), net.output.init(8, 1, keys[1])
    params = network.Params((hidden, output), net.critic.init(1, keys[0]))
    adam = optax.adam(0.05)

    def update(carry, key):
        params, moments = carry
        s_key, act_key = jax.random.split(key)
        s = jnp.where(jax.random.bernoulli(s_key, 0.5, (16, 1)), 1.0, -1.0)
        activities = network.act(net.actor, params, s, act_key)
        r = jnp.where((network.action(net, activities) == 1) == (s[:, 0] > 0), 1.0, -1.0)
        credit = network.learn(net, params, s, activities, r)
        with jax.numpy_dtype_promotion("standard"):
            steps, moments = adam.update(jax.tree.map(jnp.negative, credit), moments)
            params = optax.apply_updates(params, steps)
        return (params, moments), r.mean()

    _, rewards = jax.lax.scan(update, (params, adam.init(params)), jax.random.split(jax.random.key(1), 400))
    assert rewards[:10].mean() < 0.6
    assert rewards[-100:].mean() > 0.9


def test_a_rule_may_be_changed_like_any_record():
    assert dataclasses.replace(Boltzmann(), coupling=0.5).coupling == 0.5
