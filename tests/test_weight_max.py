"""Weight Maximization and straight-through backprop, the rules that ask the layer above, by enumeration."""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore.rules import Reinforce, StraightThrough, UnbiasedWeightMax, WeightMax

TIGHT = 1e-12
WIDTHS = [(1,), (3,), (2, 1), (2, 3), (3, 2), (1, 4), (2, 2, 2)]


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def deep_case(seed, hidden, D=2):
    rng = np.random.default_rng(seed)
    sizes = (D, *hidden)
    layers = tuple(exact.affine(rng, d, n) for d, n in itertools.pairwise(sizes))
    task = exact.toy(rng, D, hidden[-1])
    return task, (*layers, task.out), jnp.asarray(rng.normal(size=len(task.s)))


@pytest.mark.parametrize("rule", [Reinforce(), UnbiasedWeightMax(), UnbiasedWeightMax(expected=True)], ids=repr)
@pytest.mark.parametrize("hidden", WIDTHS)
def test_unbiased_weight_max_is_the_exact_gradient_at_every_depth_and_width(rule, hidden):
    task, layers, V = deep_case(0, hidden)
    credit = exact.deep_credit(rule, task, layers, V)
    assert exact.largest_gap(credit, exact.deep_gradient(task, layers)) < TIGHT


@pytest.mark.parametrize("hidden", [(3,), (2, 3)])
def test_the_expected_form_never_has_more_variance(hidden):
    less = 0
    for seed in range(5):
        task, layers, V = deep_case(seed, hidden)
        drawn = exact.deep_variance(UnbiasedWeightMax(), task, layers, V)[:-1]
        expected = exact.deep_variance(UnbiasedWeightMax(expected=True), task, layers, V)[:-1]
        for a, b in zip(jax.tree.leaves(drawn), jax.tree.leaves(expected), strict=True):
            assert float((b - a).max()) < TIGHT
            less += int((b < 0.99 * a).sum())
    assert less > 20


def test_unbiased_weight_max_has_less_variance_than_reinforce_for_most_weights():
    better = []
    for seed in range(10):
        task, layers, V = deep_case(seed, (3,))
        ours = exact.deep_variance(UnbiasedWeightMax(), task, layers, V)[0].W
        plain = exact.deep_variance(Reinforce(), task, layers, V)[0].W
        better += list(np.asarray(ours < plain).ravel())
    assert np.mean(better) > 0.7


def biased(rule, hidden, factor):
    """Cosine to the gradient of the first layer, and the error left after dividing by `factor` a layer."""
    cosines, errors = [], []
    for seed in range(20):
        task, layers, V = deep_case(seed, hidden)
        credit, gradient = exact.deep_credit(rule, task, layers, V)[0], exact.deep_gradient(task, layers)[0]
        scaled = jax.tree.map(lambda c: c / factor ** len(hidden), credit)
        cosines.append(exact.cosine(credit, gradient))
        size = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(gradient))
        errors.append(exact.largest_gap(scaled, gradient) / size)
    return np.median(cosines), np.median(errors)


@pytest.mark.parametrize("hidden", [(3,), (2, 3)])
def test_plain_weight_max_is_biased_in_direction_and_in_size(hidden):
    cosine, error = biased(WeightMax(), hidden, 2)
    print(f"weight-max, hidden {hidden}: cosine {cosine:.3f}, error after dividing by 2 a layer {error:.2f}")
    assert 0.5 < cosine < 0.9999
    assert error > 0.02


def test_straight_through_is_biased_too():
    cosine, error = biased(StraightThrough(), (3,), 1)
    print(f"ste: cosine {cosine:.3f}, error {error:.2f}")
    assert 0.5 < cosine < 0.9999
    assert error > 0.02


def test_straight_through_is_backprop_through_the_means_of_the_drawn_values():
    """Autodiff gives the same two layers deep, the bits going forward and σ coming back."""
    rng = np.random.default_rng(1)
    _, layers, _ = deep_case(1, (3, 2))
    n = 7
    x = jnp.asarray(rng.normal(size=(n, 2)))
    hs = tuple(jnp.asarray(rng.integers(0, 2, (n, k)), jnp.float64) for k in (3, 2, 1))
    signal = jnp.asarray(rng.normal(size=n))

    def through(layers):
        """Forward: the drawn bits. Backward: σ."""
        value = x
        for layer, h in zip(layers[:-1], hs[:-1], strict=True):
            p = jax.nn.sigmoid(value @ layer.W + layer.b)
            value = p + jax.lax.stop_gradient(h - p)
        return jnp.mean(signal * exact.log_ber(hs[-1], value @ layers[-1].W + layers[-1].b))

    credit = exact.learned(StraightThrough(), layers, x, tuple(h[None] for h in hs), signal)
    assert exact.largest_gap(credit, exact.grad(through)(layers)) < TIGHT
