"""MAP propagation: what its relaxation does and why it is bounded, and that its credit is REINFORCE at the relaxed
values.
"""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Control, Critic, Run, engines, network
from coexplore.laws import Activity, Bernoulli, Gaussian
from coexplore.network import Network
from coexplore.rules import Layer, MapProp
from coexplore.store.encoding import key

TIGHT = 1e-12


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def map_case(rules, hidden, seed=0, n=6, D=3, scale=1.0, output=Bernoulli()):
    rng = np.random.default_rng(seed)
    sizes = (D, *hidden, 1)
    layers = tuple(exact.affine(rng, d, k) for d, k in itertools.pairwise(sizes))
    layers = tuple(jax.tree.map(lambda leaf: scale * leaf, layer) for layer in layers)
    x = jnp.asarray(rng.normal(size=(n, D)))
    net, params = Network(rules, output, None), exact.actor_params(layers)
    return net, params, x, jax.jit(network.act)(net.actor, params, x, jax.random.key(seed))


def log_joint(net, params, x, activities):
    """log Pr(H, A | S) up to constants, written out here: Gaussians around softplus, a Bernoulli or Gaussian action."""
    total, value = 0.0, x
    for rule, layer, activity in zip(net.rules, params.layers[:-1], activities[:-1], strict=True):
        mu = jnp.logaddexp(0.0, value @ layer.W + layer.b)
        total, value = total - ((activity.h - mu) ** 2).sum(axis=1) / (2 * rule.variance), activity.h
    d, a = value @ params.layers[-1].W + params.layers[-1].b, activities[-1].h
    if isinstance(net.output, Gaussian):
        return total - ((a - d) ** 2).sum(axis=1) / (2 * net.output.variance)
    return total + exact.log_ber(a, d)


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


@pytest.mark.parametrize("scale", [10.0, 100.0])
@pytest.mark.parametrize(
    ("hidden", "output"),
    [((4, 3), Bernoulli()), ((5,), Gaussian(0.1)), ((3, 4, 3), Gaussian(0.1))],
)
def test_relaxation_never_makes_an_episode_less_likely_however_large_the_weights(hidden, output, scale):
    rules = (MapProp(),) * len(hidden)
    net, params, x, activities = map_case(rules, hidden, n=20, scale=scale, output=output)
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    before, after = (np.asarray(jax.jit(log_joint)(net, params, x, done)) for done in (activities, relaxed))
    assert all(np.isfinite(activity.h).all() for activity in relaxed)
    assert (after >= before).all()
    assert (after > before).mean() > 0.9  # and it does not merely stand still


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_one_layer_below_bits_stays_within_v_times_its_outgoing_weights_of_its_mean(scale):
    """Which is why its steps need no bound: ∂ log P(A | H) / ∂H is at most |w|."""
    net, params, x, activities = map_case((MapProp(0.7),), (5,), n=20, scale=scale)
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    mu = np.logaddexp(0.0, np.asarray(x @ params.layers[0].W + params.layers[0].b))
    before, after = (np.abs(np.asarray(done[0].h) - mu) for done in (activities, relaxed))
    assert (after <= np.maximum(before, 0.7 * np.abs(params.layers[1].W[:, 0])) + TIGHT).all()


def climbed_by_hand(net, params, x, activities, eta, steps=20):
    """`steps` steps of η ½ v times the slope in NumPy, bounded by nothing."""
    (W1, b1), (W2, b2), (W3, b3) = ((np.asarray(p.W), np.asarray(p.b)) for p in params.layers)
    h1, h2, a = (np.asarray(activity.h) for activity in activities)
    v1, v2 = (rule.variance for rule in net.rules)
    for _ in range(steps):
        d2 = h1 @ W2 + b2
        e1 = (h1 - np.logaddexp(0.0, np.asarray(x) @ W1 + b1)) / v1
        e2 = (h2 - np.logaddexp(0.0, d2)) / v2
        top = a - exact.sigmoid(h2 @ W3 + b3)
        h1, h2 = h1 + eta * v1 / 2 * ((e2 * exact.sigmoid(d2)) @ W2.T - e1), h2 + eta * v2 / 2 * (top @ W3.T - e2)
    return *(Activity(h=jnp.asarray(h), draws=jnp.asarray(h)[None]) for h in (h1, h2)), activities[-1]


def test_every_episode_takes_the_largest_steps_of_all_halves_that_do_not_make_it_less_likely():
    """Most take the whole step, bounded by nothing; their neighbours in the batch do not."""
    net, params, x, activities = map_case((MapProp(0.6), MapProp(1.0)), (4, 3), n=40, scale=2.0)
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    before = np.asarray(log_joint(net, params, x, activities))
    tried = [climbed_by_hand(net, params, x, activities, 0.5**k) for k in range(6)]
    better = np.array([np.asarray(log_joint(net, params, x, each)) >= before for each in tried])
    first = better.argmax(axis=0)
    assert better.any(axis=0).all()
    assert 0 < (first > 0).sum() < 20
    for layer in (0, 1):
        expected = np.stack([each[layer].h for each in tried])[first, np.arange(len(x))]
        np.testing.assert_allclose(relaxed[layer].h, expected, rtol=1e-9, atol=1e-9)


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
        drawn = Layer(rule.law, layer, jnp.ones((len(grid), 1)), activity)
        return rule.credit(drawn, (len(grid) * p * r)[:, None], exact.UNHEARD)

    assert exact.largest_gap(expected(layer), exact.grad(reward)(layer)) < 1e-8


def test_files_of_networks_whose_steps_may_be_shortened_have_a_name_of_their_own():
    """Their numbers are others than before steps could be: an old file is not taken for one of these."""
    deep, drawing = Run(rule=MapProp(), hidden=(4, 3)), Critic("softplus", 4, rule="map-prop")
    agent = Run(rule=MapProp(), task=Control(), critic=drawing)
    for run, more in (
        (Run(rule=MapProp()), 0),
        (Run(rule=MapProp(relax_steps=0), hidden=(4, 3)), 0),
        (deep, 1),
        (agent, 1),
    ):
        assert engines.stream(run, "xla") == engines.find("xla").stream + more
        assert key(run, "xla").endswith(f".xla-{engines.stream(run, 'xla')}")
