"""The critic, of any depth: its value and its gradient against NumPy, and which layer each learning rate reaches."""

import jax
import numpy as np
import pytest

from coexplore import Critic, Multiplexer, Reinforce, Run
from coexplore.engines import xla

# A unit and its slope.
UNITS = {
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "softplus": (lambda x: np.log1p(np.exp(x)), lambda x: 1 / (1 + np.exp(-x))),
}


def by_hand(params, s, delta, activation):
    """V(s), and the batch mean of δ ∇V(s) for each layer from the first to the output, by the chain rule."""
    f, slope = UNITS[activation]
    layers = [(np.asarray(p.W), np.asarray(p.b)) for p in (params.hidden, *params.deeper, params.output)]
    inputs, drives = [s], []
    for W, b in layers:
        drives.append(inputs[-1] @ W + b)
        inputs.append(f(drives[-1]))
    back, found = delta[:, None] / len(s), []
    for k in reversed(range(len(layers))):
        found.insert(0, (inputs[k].T @ back, back.sum(axis=0)))
        back = (back @ layers[k][0].T) * slope(drives[k - 1]) if k else None
    return drives[-1][:, 0], found


@pytest.mark.parametrize(("activation", "width"), [("relu", (6, 3, 4)), ("tanh", (5, 4)), ("softplus", (64, 32))])
def test_value_and_credit_are_those_of_a_plain_network(activation, width):
    critic, rng = Critic(activation, width), np.random.default_rng(0)
    with jax.enable_x64(True):
        # Noise on every parameter: biases start at zero, where mistakes are mute.
        params = jax.tree.map(lambda p: rng.normal(size=p.shape), critic.init(3, jax.random.key(0)))
        s, delta = rng.normal(size=(7, 3)), rng.normal(size=7)
        ours = jax.jit(lambda *given: (critic.value(*given[:2]), critic.credit(*given)))(params, s, delta)
    value, credit = by_hand(params, s, delta, activation)
    np.testing.assert_allclose(ours[0], value, rtol=1e-12)
    for layer, (W, b) in zip((ours[1].hidden, *ours[1].deeper, ours[1].output), credit, strict=True):
        np.testing.assert_allclose(layer.W, W, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(layer.b, b, rtol=1e-9, atol=1e-12)


def test_every_part_of_the_network_learns_at_the_rate_that_is_given_for_it():
    """Adam's first step is the rate itself wherever there is a gradient at all."""
    rates = (0.02, 2e-4, 2e-5, 0.04, 4e-5, 4e-6)
    task, critic = Multiplexer(bits=1), Critic("softplus", (6, 5))
    run = Run(rule=Reinforce(), task=task, hidden=(5, 4), critic=critic, learning_rate=rates, episodes=64)
    state = xla.start([run])
    after, _ = xla.update_with_draws(state)

    def parts(params):
        return (*params.layers, params.critic.hidden, *params.critic.deeper, params.critic.output)

    for rate, old, new in zip(rates, parts(state.progress.params), parts(after.progress.params), strict=True):
        steps = np.abs(np.asarray(new.b) - np.asarray(old.b))  # b starts at zero: nothing is rounded away
        np.testing.assert_allclose(steps, rate, rtol=1e-3)


def test_one_rate_for_the_critic_is_that_of_all_its_layers():
    run = Run(rule=Reinforce(), critic=Critic(width=(64, 32)), learning_rate=(0.02, 2e-4, 4e-5))
    assert run.learning_rates == (0.02, 2e-4, 4e-5, 4e-5, 4e-5)
