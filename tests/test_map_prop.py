"""MAP propagation: what its relaxation does, and that its credit is REINFORCE at the relaxed values."""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import network
from coexplore.network import Network, Params
from coexplore.rules import Feedback, MapProp
from coexplore.rules.laws import Activity, Bernoulli

TIGHT = 1e-12


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def map_case(rules, hidden, seed=0, n=6, D=3):
    rng = np.random.default_rng(seed)
    sizes = (D, *hidden, 1)
    layers = tuple(exact.affine(rng, d, k) for d, k in itertools.pairwise(sizes))
    x = jnp.asarray(rng.normal(size=(n, D)))
    net, params = Network(rules, Bernoulli(), None), Params(layers, None)
    return net, params, x, jax.jit(network.act)(net.actor, params, x, jax.random.key(seed))


def log_joint(net, params, x, activities):
    """log Pr(H, A | S) up to constants, written out here: Gaussians around softplus, a Bernoulli action."""
    total, value = 0.0, x
    for rule, layer, activity in zip(net.rules, params.layers[:-1], activities[:-1], strict=True):
        mu = jnp.log1p(jnp.exp(value @ layer.W + layer.b))
        total, value = total - ((activity.h - mu) ** 2).sum(axis=1) / (2 * rule.variance), activity.h
    return total + exact.log_ber(activities[-1].h, value @ params.layers[-1].W + params.layers[-1].b)


def test_relaxation_makes_what_happened_likelier_in_every_episode_and_leaves_the_action_alone():
    net, params, x, activities = map_case((MapProp(variance=0.3), MapProp()), (4, 3))
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    before, after = (jax.jit(log_joint)(net, params, x, done) for done in (activities, relaxed))
    assert (after > before).all()
    assert np.array_equal(relaxed[-1].h, activities[-1].h)


def test_one_relaxation_step_is_half_the_variance_times_the_slope_in_all_layers_at_once():
    net, params, x, activities = map_case((MapProp(0.3, relax_steps=1), MapProp(1.0, relax_steps=1)), (4, 3))
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    slopes = exact.grad(
        lambda hs: log_joint(net, params, x, (*(Activity(h, h[None]) for h in hs), activities[-1])).sum()
    )(tuple(a.h for a in activities[:-1]))
    for rule, before, after, slope in zip(net.rules, activities, relaxed, slopes, strict=False):
        assert float(jnp.abs(after.h - before.h - 0.5 * rule.variance * slope).max()) < TIGHT


def test_credit_is_the_score_at_the_relaxed_values():
    net, params, x, activities = map_case((MapProp(variance=0.3), MapProp()), (4, 3))
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    signal = jnp.asarray(np.random.default_rng(2).normal(size=len(x)))
    credit = exact.learn(net, params, x, activities, signal)
    score = exact.grad(lambda p: jnp.mean(signal * log_joint(net, p, x, relaxed)))(params)
    assert exact.largest_gap(credit, score) < TIGHT


def test_without_relaxation_map_propagation_is_reinforce_and_unbiased():
    """A grid over two Gaussian units: the expected credit against the gradient of the expected reward."""
    rng = np.random.default_rng(3)
    layer, out = exact.affine(rng, 1, 2), exact.affine(rng, 2, 1)
    v, x = 0.5, jnp.ones((1, 1))
    axis = np.linspace(-8, 12, 601)
    grid = jnp.asarray(np.stack([g.ravel() for g in np.meshgrid(axis, axis, indexing="ij")], axis=1))
    cell = float(axis[1] - axis[0]) ** 2

    def density(layer):
        mu = jax.nn.softplus(x @ layer.W + layer.b)
        return jnp.exp(-((grid - mu) ** 2).sum(axis=1) / (2 * v)) / (2 * jnp.pi * v)

    def reward(layer):
        return jnp.sum(density(layer) * cell * (2 * jax.nn.sigmoid(grid @ out.W + out.b)[:, 0] - 1))

    rule = MapProp(variance=v, relax_steps=0)

    @jax.jit
    def expected(layer):
        p = density(layer) * cell
        r = 2 * jax.nn.sigmoid(grid @ out.W + out.b)[:, 0] - 1
        activity = Activity(h=grid, draws=grid[None])
        return rule.credit(layer, jnp.ones((len(grid), 1)), activity, Feedback((len(grid) * p * r)[:, None]))

    assert exact.largest_gap(expected(layer), exact.grad(reward)(layer)) < 1e-8
