"""The network again in plain NumPy (examples/rebuild_numpy.py): the same draws, probabilities and rewards."""

import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pages import ROOT

from coexplore import (
    Backprop,
    Boltzmann,
    Control,
    Linear,
    MapProp,
    Multiplexer,
    Recurrent,
    Reinforce,
    Result,
    Run,
    network,
    train,
)
from coexplore.laws import with_first
from coexplore.settings import at_the_end
from coexplore.store import Store
from coexplore.units import drive

EXAMPLE = runpy.run_path(str(ROOT / "examples" / "rebuild_numpy.py"))


@pytest.fixture
def saved(tmp_path):
    def save(run, seed=0):
        """A result with made-up weights, and its file."""
        rng = np.random.default_rng(seed)
        params = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), jnp.float32), jax.eval_shape(run.init))
        result = Result(run, "xla", np.zeros(100, np.float32), params)
        Store(tmp_path).save(result)
        (path,) = tmp_path.glob("*.safetensors")
        return result, path

    return save


class Replay:
    """Random numbers that JAX drew, in place of NumPy's."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self, shape):
        return np.asarray(self.numbers.pop(0)).reshape(shape)

    standard_normal = random


REBUILT = {
    "reinforce": Run(rule=Reinforce(), hidden=4, task=Multiplexer(bits=1)),
    "boltzmann": Run(rule=Boltzmann(coupling=Linear(0.9, 0.5), steps=3, chain_signals="signed"), hidden=4),
    "mixed": Run(rule=[Recurrent(0.7), MapProp(0.5)], hidden=(4, 3), signals="signed"),
    "softmax": Run(rule=Backprop("tanh"), hidden=4, task=Control(env="Acrobot-v1", temperature=0.5)),
}


@pytest.mark.parametrize("name", REBUILT)
def test_a_network_rebuilt_in_numpy_draws_the_same_and_has_the_same_probabilities(name, saved):
    """From a file, and from the very numbers that the network drew."""
    run = REBUILT[name]
    result, path = saved(run)
    s = jnp.asarray(np.random.default_rng(1).normal(size=(6, run.task.size)), jnp.float32)
    actor, params = at_the_end(run.network.actor), result.params
    *hidden, output = jax.jit(network.act)(actor, params, s, jax.random.key(0))
    heard = actor.heard(s, (*hidden, output))[-1]
    expected = with_first(actor.laws[-1].expected(drive(params.layers[-1], heard)))
    found = EXAMPLE["probabilities"](*EXAMPLE["read"](path), s, Replay(u for h in hidden for u in h.draws))
    assert np.allclose(found, expected, atol=1e-5)
    assert np.ptp(found[:, -1]) > 0.05


def test_what_is_rebuilt_earns_the_same(tmp_path):
    """Four standard errors; trained so far that it is neither at chance nor perfect."""
    run = Run(rule=Recurrent(), hidden=8, task=Multiplexer(bits=1), episodes=24_000, learning_rate=0.01)
    (result,) = train(run, store=tmp_path, snapshots=0, progress=False)
    (path,) = tmp_path.glob("*.safetensors")
    for deterministic in (False, True):
        found = EXAMPLE["rebuilt_rewards"](path, 4000, deterministic, np.random.default_rng(1))
        ours = result.evaluate(episodes=4000, deterministic=deterministic)
        assert found.mean() == pytest.approx(ours.mean, abs=4 * (2 / 4000) ** 0.5)
        assert ours.mean > 0.3
    assert result.evaluate(episodes=4000).mean < 0.95


def test_the_example_refuses_what_it_cannot_pay(saved):
    _, path = saved(REBUILT["softmax"])
    with pytest.raises(SystemExit, match=r"is of control; only the multiplexer's rewards are written here"):
        EXAMPLE["rebuilt_rewards"](path, 10, False, np.random.default_rng(0))
