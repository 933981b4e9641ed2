"""The critic, of any depth: its value and its gradient against NumPy, and which layer each learning rate reaches."""

import dataclasses

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Control, Critic, MapProp, Multiplexer, Reinforce, Run, grid, load, network, train
from coexplore import critic as module
from coexplore.engines import cpu, xla
from coexplore.engines.control import agent
from coexplore.laws import Bernoulli
from coexplore.network import Actor, Network, Params
from coexplore.run import flat, needs
from coexplore.settings import FieldError

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


# Critics without hidden units.

WITHOUT_UNITS = ("linear", "mean")


def some_params(critic, D):
    """Parameters with noise on all of them."""
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), critic.init(D, jax.random.key(0)))


def test_over_all_states_their_credit_is_the_downhill_gradient_of_half_delta_squared_and_local():
    """Every state of the 1-bit multiplexer once, each with a reward of its own: δ s for w, δ for b, in the mean."""
    with jax.enable_x64(True):
        s, r = jnp.asarray(2.0 * exact.states(3) - 1), jnp.asarray(np.random.default_rng(1).normal(size=8))
        for critic in map(Critic, WITHOUT_UNITS):
            params = some_params(critic, 3)
            delta = r - critic.value(params, s)
            credit = critic.credit(params, s, delta).output
            slope = jax.grad(lambda p, critic=critic: -0.5 * jnp.mean((r - critic.value(p, s)) ** 2))(params).output
            w = params.output.W[:, 0] if critic.activation == "linear" else np.zeros(3)
            np.testing.assert_allclose(delta, r - s @ w - params.output.b, rtol=1e-12)
            assert jax.tree.structure(credit) == jax.tree.structure(params.output)
            np.testing.assert_allclose(credit.b, slope.b, rtol=1e-12)
            np.testing.assert_allclose(credit.b, [np.mean(delta)], rtol=1e-12)
            if critic.activation == "linear":
                np.testing.assert_allclose(credit.W, slope.W, rtol=1e-12)
                np.testing.assert_allclose(credit.W[:, 0], delta @ s / 8, rtol=1e-12)


@pytest.mark.parametrize("initial_weights", ["normal", "uniform"])
def test_they_start_at_0_under_the_actor_that_any_other_critic_has(initial_weights):
    usual = Run(rule=Reinforce(), hidden=4, initial_weights=initial_weights)
    for name in WITHOUT_UNITS:
        params = dataclasses.replace(usual, critic=Critic(name)).init()
        assert not any(np.any(leaf) for leaf in jax.tree.leaves(params.critic))
        for mine, theirs in zip(*map(jax.tree.leaves, (params.layers, usual.init().layers)), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("critic", [Critic(), Critic("tanh", (5, 4)), Critic("linear"), Critic("mean"), None])
def test_what_a_run_needs_counts_every_parameter(critic):
    run = Run(rule=Reinforce(), hidden=(7, 5), critic=critic)
    shapes = jax.eval_shape(run.init)
    assert sum(needs.parameters(run).values()) == sum(leaf.size for leaf in jax.tree.leaves(shapes))


@pytest.mark.parametrize("critic", WITHOUT_UNITS)
def test_a_run_with_one_is_stored_looked_at_and_resumed_to_the_same_bits(critic, tmp_path):
    run = Run(rule=Reinforce(), task=Multiplexer(bits=1), hidden=2, critic=Critic(critic), episodes=16 * 24)
    names = {"linear": ["output.W", "output.b"], "mean": ["output.b"]}[critic]
    for engine in (xla, cpu):
        (result,) = train(run, engine=engine.name, store=tmp_path / engine.name, snapshots=2, progress=False)
        (again,) = load(tmp_path / engine.name)
        (saved,) = engine.tensors(engine.advance(engine.start([run]), 11))
        resumed = engine.finish(engine.advance(engine.restore([run], [saved]), 13))[0]
        for other in (again, resumed):
            for a, b in zip(*map(jax.tree.leaves, (result.params, other.params)), strict=True):
                np.testing.assert_array_equal(a, b)
        assert [n for n in sorted(again.snapshots) if "critic" in n] == [
            "critic_error",
            *(f"norm.critic.{n}" for n in names),
        ]
        assert all(np.any(leaf) for leaf in jax.tree.leaves(result.params.critic))


def test_in_an_environment_the_kept_linear_critic_sees_what_the_environment_gives():
    """The scale that observations had while the network learned is part of w and b; a mean has no w."""
    with jax.enable_x64(True):
        scale = agent.Scale(*map(jnp.asarray, (10.0, [3.0, -1.0], [40.0, 2.5])))
        o = jnp.asarray([[2.0, 5.0], [-1.0, 0.5]])
        scaled = (o - scale.mean) / jnp.sqrt(scale.squares / 10 + 1e-8)
        for critic in map(Critic, WITHOUT_UNITS):
            actor = exact.actor_params((some_params(Critic(width=4), 2).hidden, None))
            params = dataclasses.replace(actor, critic=some_params(critic, 2))
            kept = agent.unscaled(params, scale).critic
            np.testing.assert_allclose(critic.value(kept, o), critic.value(params.critic, scaled), rtol=1e-6)


def test_another_critic_keeps_nothing_of_one_that_has_hidden_units():
    drawing = Run(rule=Reinforce(), task=Control(), critic=Critic("softplus", (4, 3), "map-prop", (0.1, 0.2, 0.3)))
    linear, mean = grid(drawing, critic=list(WITHOUT_UNITS))
    assert [linear.critic, mean.critic] == [Critic("linear"), Critic("mean")]
    assert not flat(mean).keys() & {"critic_width", "critic_rule", "critic_variance"}
    assert [run.critic.width for run in grid(mean, critic=["tanh"], critic_width=[64, 5])] == [64, 5]


def test_one_rate_for_the_critic_is_that_of_all_its_layers():
    run = Run(rule=Reinforce(), critic=Critic(width=(64, 32)), learning_rate=(0.02, 2e-4, 4e-5))
    assert run.learning_rates == (0.02, 2e-4, 4e-5, 4e-5, 4e-5)


# A critic that learns by MAP propagation.

VARIANCES = (0.02, 0.05, 0.3)


def drawing(width=(4, 3), variance=VARIANCES, seed=0):
    """A critic that draws, parameters with noise on all of them, an observation and a key."""
    critic, rng = Critic("softplus", width, "map-prop", variance), np.random.default_rng(seed)
    params = jax.tree.map(lambda p: jnp.asarray(0.5 * rng.normal(size=p.shape)), critic.init(3, jax.random.key(0)))
    return critic, params, jnp.asarray(rng.normal(size=(1, 3))), jax.random.key(seed)


def eligible(critic, params, s, key):
    """What a step adds to the critic's trace, as `network.eligibility` has it."""
    actor = Network((MapProp(),), Bernoulli(), None)
    whole = network.init(actor, (3, 2, 1), jax.random.key(1))
    activities = network.act(actor.actor, whole, s, key)
    net = Network((MapProp(),), Bernoulli(), critic)
    return network.eligibility(net, dataclasses.replace(whole, critic=params), s, activities, key).critic.layers


def by_map_propagation(params, noise, s, variances, steps=20):
    """V(s), then for each layer (∇W, ∇b) of the log-probability over A − μ, in loops over layers: the released rule."""
    f, slope = UNITS["softplus"]
    layers = [(np.asarray(p.W), np.asarray(p.b)) for p in params.layers]
    v, last, hs, x = np.asarray(variances), len(layers) - 1, [], np.asarray(s)[0]
    for k, (W, b) in enumerate(layers):
        mean = x @ W + b if k == last else f(x @ W + b)
        x = mean + np.sqrt(v[k]) * noise[k]
        hs.append(x)
    value = mean[0]

    def errors(hs):
        """(H − μ) / v of every layer, and the slopes of its units."""
        inputs = [np.asarray(s)[0], *hs[:-1]]
        drives = [x @ W + b for x, (W, b) in zip(inputs, layers, strict=True)]
        means = [d if k == last else f(d) for k, d in enumerate(drives)]
        slopes = [np.ones_like(d) if k == last else slope(d) for k, d in enumerate(drives)]
        return inputs, [(h - m) / u for h, m, u in zip(hs, means, v, strict=True)], slopes

    for _ in range(steps):
        _, e, slopes = errors(hs)
        moves = [0.5 * v[k] * (layers[k + 1][0] @ (e[k + 1] * slopes[k + 1]) - e[k]) for k in range(last)]
        hs = [h + move for h, move in zip(hs, [*moves, 0.0], strict=True)]
    inputs, e, slopes = errors(hs)
    off = e[-1][0] * v[-1]
    return (
        value,
        [
            (np.outer(x, each * f_prime) / off, each * f_prime / off)
            for x, each, f_prime in zip(inputs, e, slopes, strict=True)
        ],
        hs,
    )


@pytest.mark.parametrize("width", [(4, 3), 5])
def test_a_critic_by_map_propagation_is_the_released_rule_written_out_in_numpy(width):
    with jax.enable_x64(True):
        critic, params, s, key = drawing(width, VARIANCES if isinstance(width, tuple) else (0.02, 0.3))
        variances = [law.variance for law in critic.laws]
        drawn = network.act(Actor(critic.laws), Params(params.layers, None), s, key)
        noise = [np.asarray(activity.draws)[0, 0] for activity in drawn]
        value, expected, _ = by_map_propagation(params, noise, s, variances)
        assert float(network.value(critic, params, s, key)[0]) == pytest.approx(value, rel=1e-12)
        for layer, (W, b) in zip(eligible(critic, params, s, key), expected, strict=True):
            np.testing.assert_allclose(layer.W, W, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(layer.b, b, rtol=1e-8, atol=1e-10)


def test_at_rest_its_trace_is_the_gradient_of_the_prediction_over_its_variance(monkeypatch):
    """Whatever was drawn: the division leaves backprop's gradient at the values that were come to."""
    monkeypatch.setattr(module, "RELAX_STEPS", 400)
    slope = UNITS["softplus"][1]
    with jax.enable_x64(True):
        for seed in range(3):
            critic, params, s, key = drawing(seed=seed)
            drawn = network.act(Actor(critic.laws), Params(params.layers, None), s, key)
            noise = [np.asarray(activity.draws)[0, 0] for activity in drawn]
            _, _, (h1, h2, _) = by_map_propagation(params, noise, s, VARIANCES, steps=400)
            first, second, output = ((np.asarray(p.W), np.asarray(p.b)) for p in params.layers)
            back2 = output[0][:, 0] * slope(h1 @ second[0] + second[1])
            back1 = second[0] @ back2 * slope(np.asarray(s)[0] @ first[0] + first[1])
            slopes = [(np.outer(s[0], back1), back1), (np.outer(h1, back2), back2), (h2[:, None], np.ones(1))]
            for layer, (W, b) in zip(eligible(critic, params, s, key), slopes, strict=True):
                np.testing.assert_allclose(VARIANCES[-1] * layer.W, W, rtol=1e-6, atol=1e-9)
                np.testing.assert_allclose(VARIANCES[-1] * layer.b, b, rtol=1e-6, atol=1e-9)


def test_with_little_noise_in_its_hidden_layers_it_climbs_as_backprop_does(monkeypatch):
    """v_l → 0 beside the output's v: values hardly move, V(s) is that of deterministic units, the trace ∇V(s) / v."""
    monkeypatch.setattr(module, "RELAX_STEPS", 60)
    with jax.enable_x64(True):
        critic, params, s, key = drawing(variance=(1e-10, 1e-10, 0.3))
        still = Critic("softplus", (4, 3))
        assert float(network.value(critic, params, s, key)[0]) == pytest.approx(
            float(still.value(params, s)[0]), abs=1e-3
        )
        plain = still.credit(params, s, jnp.ones(1)).layers
        for layer, other in zip(eligible(critic, params, s, key), plain, strict=True):
            np.testing.assert_allclose(0.3 * layer.W, other.W, rtol=1e-3, atol=1e-4)


def test_its_trace_is_finite_however_large_its_weights():
    with jax.enable_x64(True):
        critic, params, s, key = drawing()
        for layer in eligible(critic, jax.tree.map(lambda leaf: 100 * leaf, params), s, key):
            assert np.abs(layer.W).max() < 1e12


def test_its_predictions_are_as_wide_as_its_variances_say():
    critic, params, s, _ = drawing(width=5, variance=(0.04, 0.3))
    found = network.value(critic, params, jnp.repeat(s, 40_000, axis=0), jax.random.key(3))
    spread = float(np.sqrt(0.04) * np.linalg.norm(np.asarray(params.output.W)))
    assert float(found.mean()) == pytest.approx(float(critic.value(params, s)[0]), abs=5 * spread / 200)
    assert float(found.std()) == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Critic(rule="map-prop"), "critic_rule: 'map-prop' is not allowed; give backprop where"),
        (lambda: Critic(rule="hebb"), "rule: 'hebb' is not allowed"),
        (lambda: Critic(variance=0.0), "variance: 0.0 is not allowed"),
        (lambda: Critic("softplus", (4, 3), "map-prop", (0.1, 0.1)), "one value, or 3"),
        (lambda: Run(rule=MapProp(), critic=Critic("softplus", rule="map-prop")), "episodes have one step"),
        (lambda: Critic("linear", 64), "critic_width: 64 is not allowed; give no width where the critic is linear"),
        (lambda: Critic("mean", width=(3, 2)), "critic_width: (3, 2) is not allowed; give no width where"),
        (lambda: grid(Run(critic=Critic("mean")), critic_width=[64]), "critic_width: 64 is not allowed"),
        (lambda: Critic("linear", rule="map-prop"), "critic_rule: 'map-prop' is not allowed"),
        (lambda: Critic("mean", variance=0.3), "critic_variance: 0.3 is not allowed"),
        (lambda: Run(critic=Critic("mean"), learning_rate=(0.1,) * 4), "one rate, or 3"),
    ],
)
def test_a_critic_that_cannot_be_is_refused_in_one_line(make, words):
    with pytest.raises(FieldError, match=r"^[^\n]*$") as error:
        make()
    assert words in str(error.value)
