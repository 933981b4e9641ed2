"""The softmax output, rewards that are minus the loss, and plain backprop: exact gradients by enumeration."""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Backprop, Reinforce, network
from coexplore.laws import Activity, Bernoulli, Gaussian, Softmax
from coexplore.network import Network
from coexplore.rules import MapProp, StraightThrough, UnbiasedWeightMax, WeightMax
from coexplore.rules.learning_signal import Reward
from coexplore.units import Affine, drive, outer

TIGHT = 1e-12


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


# The softmax output ---------------------------------------------------------------------------------------------------


def test_the_score_of_a_softmax_output_is_the_gradient_of_its_log_probability(float64):
    rng = np.random.default_rng(0)
    law, params, x = Softmax(temperature=0.7), exact.affine(rng, 4, 3), jnp.asarray(rng.normal(size=(30, 4)))
    delta, activity = jnp.asarray(rng.normal(size=(30, 1))), jax.jit(law.explore)(params, x, jax.random.key(1))
    labels = law.action(activity.h)

    def by_hand(params):
        logits = jnp.concatenate([jnp.zeros((30, 1)), x @ params.W + params.b], axis=1) / 0.7
        return jnp.mean(delta[:, 0] * jax.nn.log_softmax(logits)[jnp.arange(30), labels])

    assert len(set(labels.tolist())) == 4
    credit = jax.jit(lambda params: outer(x, law.score(drive(params, x), activity.h, delta)))(params)
    assert exact.largest_gap(credit, exact.grad(by_hand)(params)) < TIGHT


@pytest.mark.parametrize("law", [Bernoulli(), Softmax(0.7), Gaussian(0.3)], ids=repr)
def test_every_output_climbs_the_log_probability_of_what_it_drew(float64, law):
    rng = np.random.default_rng(1)
    params, x = exact.affine(rng, 4, 3), jnp.asarray(rng.normal(size=(30, 4)))
    activity, delta = jax.jit(law.explore)(params, x, jax.random.key(1)), jnp.asarray(rng.normal(size=(30, 1)))

    @jax.jit
    def both(d):
        slope = jax.grad(lambda d: jnp.sum(delta[:, 0] * law.log_probability(params, d, activity)))(d)
        return law.score(d, activity.h, delta), slope

    assert exact.largest_gap(*both(x @ params.W + params.b)) < TIGHT


def test_a_softmax_over_two_is_a_bernoulli_unit_draw_by_draw():
    params, x = Affine(jnp.full((3, 1), 0.4), jnp.full(1, -0.2)), jax.random.normal(jax.random.key(0), (50, 3))
    ours, other = (jax.jit(law.explore)(params, x, jax.random.key(1)) for law in (Softmax(), Bernoulli()))
    assert np.array_equal(ours.h, other.h)
    assert 0 < ours.h.mean() < 1
    scores = [jax.jit(law.score)(drive(params, x), ours.h, jnp.ones((50, 1))) for law in (Softmax(), Bernoulli())]
    assert exact.largest_gap(*scores) < 1e-6


# A graded reward: exact gradients by enumeration ----------------------------------------------------------------------


class Toy:
    """Three inputs, three labels; every state of a few binary units."""

    def __init__(self, hidden, seed=0):
        rng = np.random.default_rng(seed)
        sizes = (2, *hidden, 2)
        self.layers = tuple(exact.affine(rng, d, n) for d, n in itertools.pairwise(sizes))
        self.x, self.y, self.V = rng.normal(size=(3, 2)), np.arange(3), rng.normal(size=3)
        index = [i.ravel() for i in np.meshgrid(*(np.arange(n) for n in (3, *(2**n for n in hidden))), indexing="ij")]
        self.m, self.hs = index[0], tuple(exact.states(n)[k] for n, k in zip(hidden, index[1:], strict=True))

    def log_p(self, layers):
        """log Pr(all hidden units | x) of each case, and log P(label | the last hidden layer)."""
        x = self.x[self.m]
        hidden = sum(
            exact.log_ber(h, i @ layer.W + layer.b)
            for layer, i, h in zip(layers[:-1], (x, *self.hs[:-1]), self.hs, strict=True)
        )
        d = self.hs[-1] @ layers[-1].W + layers[-1].b
        logits = jnp.concatenate([jnp.zeros((len(d), 1)), d], axis=1)
        return hidden, jax.nn.log_softmax(logits)[jnp.arange(len(d)), self.y[self.m]]

    def gradient(self):
        def objective(layers):
            hidden, of_label = self.log_p(layers)
            return jnp.sum(jnp.exp(hidden) * of_label) / 3

        return exact.grad(objective)(self.layers)

    def credit(self, rules):
        """E[credit] of every layer for the signal R − V, any V: each case alone, weighed by its probability."""
        net, bits = Network(rules, Softmax(), None), np.eye(3)[self.y[self.m], 1:]

        @jax.jit
        def expected(layers):
            def one(x, hs, signal):
                activities = tuple(Activity(h[None], jnp.zeros((1, 1, *h.shape))) for h in hs)
                return network.learn(net, exact.actor_params(layers), x[None], activities, signal[None], True)

            hidden, r = self.log_p(layers)
            each = jax.vmap(one)(self.x[self.m], (*self.hs, bits), r - self.V[self.m]).layers
            return jax.tree.map(lambda c: jnp.einsum("n,n...->...", jnp.exp(hidden) / 3, c), each)

        return expected(self.layers)


EXACT = [Reinforce(), Reinforce(learning_signal=Reward()), UnbiasedWeightMax(), UnbiasedWeightMax(expected=True)]


@pytest.mark.parametrize("hidden", [(3,), (2, 3)])
@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_the_expected_credit_for_a_graded_reward_is_the_gradient_of_its_expectation(float64, rule, hidden):
    toy = Toy(hidden)
    assert exact.largest_gap(toy.credit((rule,) * len(hidden)), toy.gradient()) < TIGHT


def test_layers_of_different_rules_are_exact_together(float64):
    toy = Toy((2, 2))
    gradient = toy.gradient()
    for mix in itertools.permutations([Reinforce(), UnbiasedWeightMax()]):
        assert exact.largest_gap(toy.credit(mix), gradient) < TIGHT
    # Under a rule that is biased, one that reads the signal alone is exact all the same; over one, likewise.
    for biased in (StraightThrough(), WeightMax()):
        under, over = toy.credit((Reinforce(), biased)), toy.credit((biased, Reinforce()))
        assert exact.largest_gap(under[0], gradient[0]) < TIGHT
        assert exact.largest_gap(over[1], gradient[1]) < TIGHT
        assert exact.largest_gap(under[1], gradient[1]) > 1e-3


def given(rules, sizes, seed=0, n=5):
    """A network, inputs, what it did with the labels given, and the rewards."""
    rng = np.random.default_rng(seed)
    layers = tuple(exact.affine(rng, d, k) for d, k in itertools.pairwise(sizes))
    x, y = jnp.asarray(rng.normal(size=(n, sizes[0]))), rng.integers(0, sizes[-1] + 1, n)
    net, params = Network(rules, Softmax(), None), exact.actor_params(layers)
    bits = jnp.asarray(np.eye(sizes[-1] + 1)[y, 1:])
    *hidden, _ = jax.jit(network.act)(net.actor, params, x, jax.random.key(seed))
    return net, params, x, (*hidden, Activity(bits, bits[None]))


def log_label(layer, h, bits):
    """Σ log P(label | h) over the batch, written out here."""
    d = h @ layer.W + layer.b
    return jnp.sum((bits * d).sum(axis=1) - jnp.log(1 + jnp.exp(d).sum(axis=1)))


def test_straight_through_and_weight_max_take_the_slope_of_the_reward_whatever_the_signal(float64):
    for rule in (StraightThrough(), WeightMax()):
        net, params, x, activities = given((rule, rule), (3, 4, 3, 2))
        s, layers, (h_1, h_2, bits) = exact.plain((x, params.layers, [a.h for a in activities]))
        p_1, p_2 = (exact.sigmoid(i @ w.W + w.b) for i, w in zip((s, h_1), layers, strict=False))
        slope, n = np.asarray(exact.grad(lambda h, top=layers[2], bits=bits: log_label(top, h, bits))(h_2)), len(s)
        if isinstance(rule, StraightThrough):
            e_2 = slope * p_2 * (1 - p_2)
            e_1 = (e_2 @ layers[1].W.T) * p_1 * (1 - p_1)
        else:
            R_2 = 2 * h_2 * slope
            R_1 = 2 * h_1 * ((R_2 * (h_2 - p_2)) @ layers[1].W.T)
            e_1, e_2 = R_1 * (h_1 - p_1), R_2 * (h_2 - p_2)
        for signal in (jnp.zeros(n), jnp.arange(1.0, n + 1)):
            credit = exact.learn(net, params, x, activities, signal, True).layers
            for i, e, found in ((s, e_1, credit[0]), (h_1, e_2, credit[1])):
                assert exact.largest_gap((found.W, found.b), (i.T @ e / n, e.mean(axis=0))) < TIGHT


def test_map_propagation_moves_towards_the_label_and_learns_with_weight_one(float64):
    net, params, x, activities = given((MapProp(0.3), MapProp()), (3, 4, 3, 2))
    relaxed = jax.jit(network.relax)(net, params, x, activities)
    before, after = (
        jax.jit(log_label)(params.layers[-1], done[-2].h, activities[-1].h) for done in (activities, relaxed)
    )
    assert after > before

    def joint(layers):
        total, value = 0.0, x
        for rule, layer, activity in zip(net.rules, layers[:-1], relaxed, strict=False):
            mu = jnp.log1p(jnp.exp(value @ layer.W + layer.b))
            total, value = total - jnp.sum((activity.h - mu) ** 2) / (2 * rule.variance), activity.h
        return (total + log_label(layers[-1], value, activities[-1].h)) / len(x)

    credit = exact.learn(net, params, x, activities, jnp.arange(5.0), True).layers
    assert exact.largest_gap(credit, exact.grad(joint)(params.layers)) < TIGHT


def test_without_relaxation_map_propagation_learns_from_the_signal_as_reinforce_does(float64):
    net, params, x, activities = given((MapProp(relax_steps=0),), (3, 4, 2))
    signal = jnp.arange(5.0)
    graded, drawn = (exact.learn(net, params, x, activities, signal, told).layers for told in (True, False))
    assert exact.largest_gap(graded[0], drawn[0]) == 0
    assert exact.largest_gap(graded[1], drawn[1]) > 0


# Plain backprop -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh", "softplus"])
def test_backprop_is_the_gradient_of_the_loss(float64, activation):
    f = {"relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "softplus": jax.nn.softplus}[activation]
    net, params, x, activities = given((Backprop(activation), Backprop(activation)), (3, 4, 3, 2))
    signal = jnp.arange(1.0, 6.0)

    def reward(layers, weight):
        h = x
        for layer in layers[:-1]:
            h = f(h @ layer.W + layer.b)
        d, bits = h @ layers[-1].W + layers[-1].b, activities[-1].h
        return jnp.mean(weight * ((bits * d).sum(axis=1) - jnp.log(1 + jnp.exp(d).sum(axis=1))))

    for graded, weight in ((True, 1.0), (False, signal)):
        credit = exact.learn(net, params, x, activities, signal, graded).layers
        assert exact.largest_gap(credit, exact.grad(reward)(params.layers, weight)) < TIGHT


def test_other_rules_see_through_a_layer_of_backprop(float64):
    """Under it, unbiased Weight Max is exact: against enumeration, the deterministic layer part of the reward."""
    toy = Toy((3, 2))
    layers = toy.layers

    def through(layers):
        """E[log P(label)]: the first layer drawn, the second tanh."""
        h = exact.states(3)
        p = jnp.exp(exact.independent(layers[0], toy.x))
        d = jnp.tanh(h @ layers[1].W + layers[1].b) @ layers[2].W + layers[2].b
        logits = jnp.concatenate([jnp.zeros((8, 1)), d], axis=1)
        return jnp.einsum("sk,ks->", p, jax.nn.log_softmax(logits)[:, toy.y]) / 3

    net, h = Network((UnbiasedWeightMax(), Backprop("tanh")), Softmax(), None), exact.states(3)
    m, k = (i.ravel() for i in np.meshgrid(np.arange(3), np.arange(8), indexing="ij"))
    p, (_, above, _) = np.exp(exact.independent(layers[0], toy.x))[m, k], exact.plain(layers)
    hs = (h[k], np.tanh(h[k] @ above.W + above.b), np.eye(3)[toy.y[m], 1:])

    @jax.jit
    def expected(hs):
        def one(x, hs):
            activities = tuple(Activity(h[None], jnp.zeros((1, 1, *h.shape))) for h in hs)
            return network.learn(net, exact.actor_params(layers), x[None], activities, jnp.ones(1), True).layers

        return jax.tree.map(lambda c: jnp.einsum("n,n...->...", p / 3, c), jax.vmap(one)(toy.x[m], hs))

    assert exact.largest_gap(expected(hs), exact.grad(through)(layers)) < TIGHT


def test_relaxation_sees_through_a_layer_of_backprop(float64):
    net, params, x, activities = given((MapProp(0.3, relax_steps=1), Backprop("tanh")), (3, 4, 3, 2))
    relaxed = jax.jit(network.relax)(net, params, x, activities)

    def joint(h):
        mu = jnp.log1p(jnp.exp(x @ params.layers[0].W + params.layers[0].b))
        above = jnp.tanh(h @ params.layers[1].W + params.layers[1].b)
        return log_label(params.layers[2], above, activities[-1].h) - jnp.sum((h - mu) ** 2) / 0.6

    moved = activities[0].h + 0.15 * exact.grad(joint)(activities[0].h)
    assert float(jnp.abs(relaxed[0].h - moved).max()) < TIGHT
    follows = jnp.tanh(moved @ params.layers[1].W + params.layers[1].b)
    assert float(jnp.abs(relaxed[1].h - follows).max()) < TIGHT
