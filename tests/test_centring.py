"""What Algorithm 1 learns in order to centre itself: its fixed points and what is left of δ, by enumeration."""

import dataclasses

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Boltzmann, Control, Critic, Multiplexer, Reinforce, Run, engines
from coexplore.engines import control
from coexplore.engines.control.agent import Scale, pace, unscaled
from coexplore.rules.centring import Averaging, Expecting, expected
from coexplore.rules.laws import Activity
from coexplore.units import Affine

TIGHT = 1e-12
N = 3


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def case(signals="binary", c=0.8):
    """Inputs that tell states apart (one of S is 1), so that every expectation of H given x can be learned."""
    rng = np.random.default_rng(4)
    layer = exact.coupled(rng, 4, N, symmetric=True)
    task = exact.Toy(np.eye(4), rng.dirichlet(np.ones(4)), rng.normal(size=(4, 2)), exact.affine(rng, N, 1))
    return (
        task,
        layer,
        exact.boltzmann(layer, c, task.s, signals),
        Boltzmann(c, centring="learned", chain_signals=signals),
    )


def taught(task, layer, log_p, signals):
    """The layer with predictions that are right: E[H | x], and the mean of Cov(H | x) over states."""
    p, h = np.exp(log_p), exact.states(N)
    mean = p @ h
    U = np.log(mean / (1 - mean)) - np.asarray(layer.W) - np.asarray(layer.b)
    s, s_mean = exact.sent(h, signals), exact.sent(mean, signals)
    together = np.einsum("sk,ki,kj->sij", p, s, s) - np.einsum("si,sj->sij", s_mean, s_mean)
    Q = np.einsum("s,sij->ij", task.d0, together) * (1 - np.eye(N))
    return Expecting(layer.W, layer.b, layer.W_rec, jnp.asarray(U), jnp.zeros(N), jnp.asarray(Q))


def lesson(rule, params, task, log_p):
    """E[lesson]: it is a mean over episodes, so each one's own lesson is weighed by its probability."""
    total, one = {}, jax.jit(rule.lesson)
    for s, k in np.ndindex(*log_p.shape):
        activity = exact.activity(rule, params, jnp.asarray(task.s[s : s + 1]), exact.states(N)[None, k : k + 1])
        for name, leaf in one(params, jnp.asarray(task.s[s : s + 1]), activity).items():
            total[name] = total.get(name, 0) + task.d0[s] * np.exp(log_p[s, k]) * np.asarray(leaf)
    return total


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_predictions_rest_where_they_are_the_mean_activity_given_x_and_the_mean_covariance(signals):
    task, layer, log_p, rule = case(signals)
    right = taught(task, layer, log_p, signals)
    np.testing.assert_allclose(
        expected("learned", right, jnp.asarray(task.s)), np.exp(log_p) @ exact.states(N), atol=TIGHT
    )
    for leaf in lesson(rule, right, task, log_p).values():
        assert np.abs(leaf).max() < TIGHT
    wrong = dataclasses.replace(right, U=right.U + 0.5, Q=right.Q - 0.2 * (1 - jnp.eye(N)))
    moves = lesson(rule, wrong, task, log_p)
    assert (moves["U"] < 0).all()  # what is expected too often is expected less
    assert (np.asarray(moves["Q"])[~np.eye(N, dtype=bool)] != 0).all()


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_a_constant_signal_moves_nothing_once_predictions_are_right_and_as_printed_it_moves_everything(signals):
    task, layer, log_p, rule = case(signals)
    flat = task._replace(R=np.ones((4, 2)))
    right = taught(task, layer, log_p, signals)
    H, V = exact.states(N)[None], np.zeros(4)
    centred = exact.expected_credit(rule, right, flat, log_p, H, V)
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(centred)) < TIGHT
    printed = exact.expected_credit(dataclasses.replace(rule, centring="reward"), layer, flat, log_p, H, V)
    assert min(np.abs(leaf).max() for leaf in jax.tree.leaves(printed)) > 0.1
    without = dataclasses.replace(right, Q=jnp.zeros((N, N)))
    left = exact.expected_credit(rule, without, flat, log_p, H, V).W_rec
    share = 0.5 if signals == "signed" else 1.0
    np.testing.assert_allclose(left, rule.coupling * share * right.Q, atol=TIGHT)  # the covariance, reinforced
    assert np.abs(left).max() > 0.01


def test_with_a_critic_that_is_right_any_prediction_leaves_the_gradient_as_it_is():
    task, layer, log_p, rule = case()
    H, rng = exact.states(N)[None], np.random.default_rng(1)
    gradient = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, rule.coupling, task.s), H[0]))(layer)
    wrong = Expecting(
        layer.W, layer.b, layer.W_rec, *(jnp.asarray(rng.normal(size=shape)) for shape in ((4, N), N, (N, N)))
    )
    credit = exact.expected_credit(rule, wrong, task, log_p, H, exact.value(task, log_p, H[0]))
    found, right = (credit.W, credit.b, credit.W_rec * (1 - jnp.eye(N))), exact.by_pairs(gradient)
    for mine, theirs in zip(found, (right.W, right.b, right.W_rec), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=TIGHT)


def test_without_coupling_and_before_anything_is_learned_it_is_reinforce():
    rule = Boltzmann(coupling=0.0, steps=1, centring="learned")
    params = rule.law.init(4, N, jax.random.key(0))
    x, delta = jax.random.normal(jax.random.key(1), (5, 4)), jax.random.normal(jax.random.key(2), (5, 1))
    activity = jax.jit(rule.law.explore)(params, x, jax.random.key(3))
    mine = exact.credit_for(rule, params, x, activity, delta)
    alone = Activity(activity.h, activity.draws[-1:])
    theirs = exact.credit_for(Reinforce(), Affine(params.W, params.b), x, alone, delta)
    np.testing.assert_allclose(mine.W, theirs.W, atol=TIGHT)
    np.testing.assert_allclose(mine.b, theirs.b, atol=TIGHT)
    assert not mine.W_rec.any()


def test_the_mean_of_the_signal_is_where_it_rests():
    rule = Boltzmann(steps=1, centring="mean")
    layer = rule.law.init(4, N, jax.random.key(0))
    params = Averaging(layer.W, layer.b, layer.W_rec, m=jnp.asarray(0.5))
    x, delta = jax.random.normal(jax.random.key(1), (4, 4)), jnp.asarray([0.0, 0.25, 0.75, 1.0])
    heard = rule.signal(params, delta)
    np.testing.assert_allclose(heard, delta - 0.5)
    activity = jax.jit(rule.law.explore)(params, x, jax.random.key(3))
    credit = exact.credit_for(rule, params, x, activity, heard[:, None])
    assert abs(credit.m) < TIGHT
    plain = exact.credit_for(dataclasses.replace(rule, centring="reward"), layer, x, activity, heard[:, None])
    np.testing.assert_allclose(credit.W, plain.W)


# In environments ------------------------------------------------------------------------------------------------------


def in_an_environment(centring, **settings):
    task = Control(env="CartPole-v1", discount=0.9, actor_trace=0.7, scaling="none")
    rule = Boltzmann(steps=2, centring=centring, **settings)
    return Run(rule=rule, task=task, hidden=(3,), critic=Critic(width=4), batch=2, episodes=20)


@pytest.mark.parametrize("centring", ["mean", "learned"])
def test_a_step_of_control_weighs_each_trace_by_what_its_parameter_learns_from(centring, monkeypatch):
    """δ for the output, δ − m or δ for the layer, 1 for what learns by itself: from Adam's first moment."""
    with jax.enable_x64(False):
        run = in_an_environment(centring)
        state = control.start([run])
        for _ in range(3):
            control._step(state.worlds, np.asarray(state.actions))
            agents, actions = control._act(state, state.agents)
            state = dataclasses.replace(state, agents=agents, actions=actions)
        named = [control.unravelled(*control.shapes(run), np.asarray(state.agents[i])[0]) for i in (0, 1)]
        traces = np.asarray(state.agents[3])[0].copy()
        params, s, answers = named[0], np.asarray(state.agents[-2])[0], state.answers[0]
        control._step(state.worlds, np.asarray(state.actions))
        D = run.task.size
        after, (r, terminated) = state.answers[0][:, :D], state.answers[0][:, 2 * D : 2 * D + 2].T
        V = lambda o: np.asarray(run.critic.value(params.critic, jnp.asarray(o)))  # noqa: E731
        delta = r + 0.9 * (1 - terminated) * V(after) - V(s)
        agents, _ = control._act(state, state.agents)
        moved = control.unravelled(*control.shapes(run), np.asarray(agents[1])[0])
        each = [control.unravelled(*control.shapes(run), z) for z in traces]
        mine = delta - (params.layers[0].m if centring == "mean" else 0.0)
        for name in run.init().layers[0].__dict__:
            signal = np.ones(2) if name in run.rule.own else mine
            ascent = sum(signal[b] * getattr(each[b].layers[0], name) for b in range(2)) / 2
            want = 0.9 * getattr(named[1].layers[0], name) + 0.1 * ascent
            np.testing.assert_allclose(getattr(moved.layers[0], name), want, atol=1e-5, err_msg=name)
        want = 0.9 * named[1].layers[1].W + 0.1 * sum(delta[b] * each[b].layers[1].W for b in range(2)) / 2
        np.testing.assert_allclose(moved.layers[1].W, want, atol=1e-5)
        assert answers.any()


def test_what_learns_by_itself_has_no_trace_and_the_rest_has_the_actors():
    run = in_an_environment("learned", centring_rate=0.5)
    with jax.enable_x64(False):
        fading, start = (
            control.unravelled(*control.shapes(run), np.asarray(x)) for x in (pace(run).fading, pace(run).start)
        )
    layer = fading.layers[0]
    assert not any(getattr(layer, name).any() for name in ("U", "u", "Q"))
    assert all(np.allclose(getattr(layer, name), 0.9 * 0.7) for name in ("W", "b", "W_rec"))
    assert np.allclose(start.layers[0].Q, 0.0025)
    assert np.allclose(start.layers[0].W, 0.005)


def test_predictions_too_take_observations_as_the_environment_gives_them():
    run = in_an_environment("learned")
    params = jax.tree.map(lambda p: p.astype(float) + 0.1, run.init())
    scale = Scale(jnp.asarray(10.0), jnp.arange(4.0), 10 * jnp.arange(1.0, 5.0))
    o = np.random.default_rng(0).normal(size=(3, 4))
    scaled = (o - np.arange(4.0)) / np.sqrt(np.arange(1.0, 5.0) + 1e-8)
    raw = unscaled(params, scale)
    np.testing.assert_allclose(
        *(expected("learned", each.layers[0], jnp.asarray(x)) for each, x in ((raw, o), (params, scaled))), atol=1e-6
    )


@pytest.mark.parametrize("centring", ["mean", "learned"])
def test_fast_engines_refuse_what_is_learned_to_centre_by(centring):
    run = Run(rule=Boltzmann(centring=centring), task=Multiplexer(bits=1), episodes=160)
    for name in ("cpu", "cuda"):
        assert f"centring {centring}" in engines.find(name).supports(run)
    assert engines.find("xla").supports(run) is None
