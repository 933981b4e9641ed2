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
from coexplore.laws import Bernoulli
from coexplore.network import Network
from coexplore.rules import (
    BUILT_IN,
    Backprop,
    Boltzmann,
    Layer,
    MapProp,
    Message,
    Recurrent,
    Reinforce,
    Sizes,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
)
from coexplore.rules.baseline import Chains, Learned, Nothing, Predicted, Usual
from coexplore.rules.layer import PartParams
from coexplore.rules.learning_signal import CentredAdvantage
from coexplore.settings import Number, flat_specs, flat_values
from coexplore.units import Affine
from coexplore.variants.depression import DepressedBoltzmann, DepressedRecurrent

RULES = [
    Reinforce(),
    Reinforce(baseline=Nothing()),
    Boltzmann(steps=3),
    Boltzmann(steps=2, sampler="one-by-one"),
    Boltzmann(steps=3, sampler="lazy"),
    Boltzmann(steps=2, baseline=Chains(chains=2)),
    Boltzmann(steps=2, learning_signal=CentredAdvantage()),
    Boltzmann(steps=2, baseline=Learned()),
    DepressedBoltzmann(steps=2, variant_form="pre-without-post"),
    DepressedBoltzmann(steps=2, variant_form="one-without-other"),
    Boltzmann(steps=2, baseline=Usual(pairs=0.5)),
    Boltzmann(steps=2, baseline=Predicted(pairs=0.5)),
    Reinforce(baseline=Predicted()),
    Recurrent(baseline=Predicted()),
    Recurrent(),
    DepressedRecurrent(variant_form="post-without-pre"),
    DepressedRecurrent(variant_form="post-before-pre"),
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
    """A layer with parameters away from zero and what the rule drew, a signal, and a message of an output unit."""
    key = jax.random.key(3)
    own = PartParams(rule.baseline.init(Sizes(D, N, 1, 1)), rule.learning_signal.init())
    params, own = jax.tree.map(lambda p: p + 0.3 * jax.random.normal(key, p.shape), (rule.law.init(D, N, key), own))
    x = jax.random.normal(jax.random.key(4), (B, D))
    activity = rule.law.explore(params, x, jax.random.key(5))
    delta = jax.random.normal(jax.random.key(6), (B, 1))
    W = jnp.full((N, 1), jnp.nan) if nan else jax.random.normal(jax.random.key(7), (N, 1))
    above = Message(Affine(W, jnp.zeros(1)), lambda d: jax.nn.log_sigmoid(d)[:, 0])
    return Layer(rule.law, params, x, activity, own), delta, above


def heard_otherwise(seen, x):
    return dataclasses.replace(seen, x=x)


def close(a, b, tolerance=1e-5):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance, rtol=tolerance)


def test_every_rule_of_the_package_is_in_these_tests():
    assert {type(rule) for rule in RULES if not rule.variant} == set(BUILT_IN.values())
    assert all(name == rule.name for name, rule in BUILT_IN.items())


@every_rule
def test_shapes_fit(rule):
    seen, signal, above = layer(rule)
    params, x = seen.params, seen.x
    assert seen.h.shape == (B, N)

    def credits(x):
        mine = heard_otherwise(seen, x)
        of_signal = rule.learning_signal.credit(seen.parts.learning_signal, signal[:, 0])
        own = PartParams(rule.baseline.credit(seen.parts.baseline, mine), of_signal)
        return rule.credit(mine, signal, above), own

    for credit, like in zip(jax.eval_shape(credits, x), (params, seen.parts), strict=True):
        assert jax.tree.structure(credit) == jax.tree.structure(like)
        assert [leaf.shape for leaf in jax.tree.leaves(credit)] == [leaf.shape for leaf in jax.tree.leaves(like)]

    def heard(x):
        message, d = rule.message(heard_otherwise(seen, x), above), x @ params.W + params.b
        return rule.law.log_probability(params, d, seen.drawn), message(x), message.slope(x)

    assert [found.shape for found in jax.eval_shape(heard, x)] == [(B,), (B,), (B, D)]


@every_rule
def test_jit_changes_nothing(rule):
    seen, signal, above = layer(rule)
    close(jax.jit(rule.law.explore)(seen.params, seen.x, jax.random.key(5)), seen.drawn)
    plain = rule.credit(seen, signal, above)
    close(jax.jit(lambda seen, signal: rule.credit(seen, signal, above))(seen, signal), plain)


@every_rule
def test_credit_is_linear_in_the_signal_and_a_mean_over_the_batch(rule):
    seen, one, above = layer(rule)

    @jax.jit
    def credit(signal):
        of_signal = rule.learning_signal.credit(seen.parts.learning_signal, signal[:, 0])
        return rule.credit(seen, signal, above), of_signal

    two = jnp.flip(one)
    sum_ = jax.tree.map(lambda a, b: 2 * a - 3 * b, credit(one), credit(two))
    close(credit(2 * one - 3 * two), sum_)
    alone = [credit(jnp.where(jnp.arange(B)[:, None] == b, one, 0.0)) for b in range(B)]
    close(credit(one), jax.tree.map(lambda *each: sum(each), *alone))
    assert any(leaf.any() for leaf in jax.tree.leaves(credit(one)))


@every_rule
def test_a_local_rule_reads_nothing_but_its_signal(rule):
    credit = rule.credit(*layer(rule, nan=True))
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(credit))
    assert finite == isinstance(rule, LOCAL)


@every_rule
def test_above_flipped_is_above_with_one_unit_flipped(rule):
    seen, _, above = layer(rule)
    h, x = ((bits > cut).astype(jnp.float32) for bits, cut in ((seen.h, 0.5), (seen.x, 0)))
    for message, value in ((above, h), (rule.message(seen, above), x)):
        by_hand = [message(value.at[:, i].set(1 - value[:, i])) for i in range(value.shape[1])]
        close(message.flipped(value), jnp.stack(by_hand, axis=1), 1e-4)


@pytest.mark.parametrize("rule", one_of_each, ids=lambda rule: rule.name)
def test_a_grid_side_by_side_is_each_run_alone_and_compiles_once(rule):
    run = Run(rule=rule, hidden=(N,), task=Multiplexer(bits=1), batch=4, episodes=4 * 2000)
    values, every_spec = flat_values(rule), flat_specs(type(rule))
    numbers = {name: every_spec[name] for name in values if isinstance(every_spec[name], Number)}
    axes = {name: [values[name], 0.5 * values[name]] for name in numbers}
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
    own = PartParams(rule.baseline.init(Sizes(1, 8, 1, 1)), rule.learning_signal.init())
    params = network.Params((hidden, output), net.critic.init(1, keys[0]), (own,))
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
