"""What baselines and signals learn: their fixed points, and what is left of the signal, by enumeration."""

import dataclasses

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import Boltzmann, Control, Critic, Multiplexer, Reinforce, Run, engines
from coexplore.engines import control
from coexplore.engines.control.agent import Scale, pace, unscaled
from coexplore.engines.watched import named_leaves
from coexplore.laws import Activity
from coexplore.rules import Layer, Sizes
from coexplore.rules.baseline import Learned, Nothing, PairPrediction
from coexplore.rules.layer import PartParams
from coexplore.rules.learning_signal import CentredAdvantage, Mean
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
        Boltzmann(c, chain_signals=signals, baseline=Learned()),
    )


def taught(task, layer, log_p, signals):
    """Predictions that are right: E[H | x], and the mean of Cov(H | x) over states."""
    p, h = np.exp(log_p), exact.states(N)
    mean = p @ h
    U = np.log(mean / (1 - mean)) - np.asarray(layer.W) - np.asarray(layer.b)
    s, s_mean = exact.sent(h, signals), exact.sent(mean, signals)
    together = np.einsum("sk,ki,kj->sij", p, s, s) - np.einsum("si,sj->sij", s_mean, s_mean)
    Q = np.einsum("s,sij->ij", task.d0, together) * (1 - np.eye(N))
    return PairPrediction(jnp.asarray(U), jnp.zeros(N), jnp.asarray(Q))


def seen(rule, layer, x, h):
    """The layer when it heard x and drew h."""
    x = jnp.asarray(x)
    return Layer(rule.law, layer, x, exact.activity(rule, layer, x, h[None]))


def own_credit(rule, params, layer, task, log_p):
    """E of the baseline's credit: it is a mean over episodes, so that of each one is weighed by its probability."""
    total, one = {}, jax.jit(rule.baseline.credit)
    for s, k in np.ndindex(*log_p.shape):
        credit = one(params, seen(rule, layer, task.s[s : s + 1], exact.states(N)[k : k + 1]))
        for name, leaf in vars(credit).items():
            total[name] = total.get(name, 0) + task.d0[s] * np.exp(log_p[s, k]) * np.asarray(leaf)
    return total


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_predictions_rest_where_they_are_the_mean_activity_given_x_and_the_mean_covariance(signals):
    task, layer, log_p, rule = case(signals)
    right = taught(task, layer, log_p, signals)
    estimate = rule.baseline.estimate(right, seen(rule, layer, task.s, np.zeros((4, N))))
    np.testing.assert_allclose(estimate, np.exp(log_p) @ exact.states(N), atol=TIGHT)
    rest = own_credit(rule, right, layer, task, log_p)
    assert set(rest) == {"U", "u", "Q"}
    for leaf in rest.values():
        assert np.abs(leaf).max() < TIGHT
    wrong = dataclasses.replace(right, U=right.U + 0.5, Q=right.Q - 0.2 * (1 - jnp.eye(N)))
    moves = own_credit(rule, wrong, layer, task, log_p)
    assert (moves["U"] < 0).all()  # what is expected too often is expected less
    assert (np.asarray(moves["Q"])[~np.eye(N, dtype=bool)] != 0).all()


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_a_constant_signal_moves_nothing_once_predictions_are_right_and_as_printed_it_moves_everything(signals):
    task, layer, log_p, rule = case(signals)
    flat = task._replace(R=np.ones((4, 2)))
    right = taught(task, layer, log_p, signals)
    H, V = exact.states(N)[None], np.zeros(4)
    centred = exact.expected_credit(rule, layer, flat, log_p, H, V, PartParams(right))
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(centred)) < TIGHT
    printed = exact.expected_credit(dataclasses.replace(rule, baseline=Nothing()), layer, flat, log_p, H, V)
    assert min(np.abs(leaf).max() for leaf in jax.tree.leaves(printed)) > 0.1
    without = dataclasses.replace(right, Q=jnp.zeros((N, N)))
    left = exact.expected_credit(rule, layer, flat, log_p, H, V, PartParams(without)).W_rec
    share = 0.5 if signals == "signed" else 1.0
    np.testing.assert_allclose(left, rule.coupling * share * right.Q, atol=TIGHT)  # the covariance, reinforced
    assert np.abs(left).max() > 0.01


def test_with_a_critic_that_is_right_any_prediction_leaves_the_gradient_as_it_is():
    task, layer, log_p, rule = case()
    H, rng = exact.states(N)[None], np.random.default_rng(1)
    gradient = exact.grad(lambda p: exact.objective(task, exact.boltzmann(p, rule.coupling, task.s), H[0]))(layer)
    wrong = PairPrediction(*(jnp.asarray(rng.normal(size=shape)) for shape in ((4, N), N, (N, N))))
    credit = exact.expected_credit(rule, layer, task, log_p, H, exact.value(task, log_p, H[0]), PartParams(wrong))
    found, right = (credit.W, credit.b, credit.W_rec * (1 - jnp.eye(N))), exact.by_pairs(gradient)
    for mine, theirs in zip(found, (right.W, right.b, right.W_rec), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=TIGHT)


def test_without_coupling_and_before_anything_is_learned_it_is_reinforce():
    rule = Boltzmann(coupling=0.0, steps=1, baseline=Learned())
    params = rule.law.init(4, N, jax.random.key(0))
    x, delta = jax.random.normal(jax.random.key(1), (5, 4)), jax.random.normal(jax.random.key(2), (5, 1))
    activity = jax.jit(rule.law.explore)(params, x, jax.random.key(3))
    mine = exact.credit_for(rule, params, x, activity, delta, PartParams(rule.baseline.init(Sizes(4, N, 1, 1))))
    alone = Activity(activity.h, activity.draws[-1:])
    theirs = exact.credit_for(Reinforce(), Affine(params.W, params.b), x, alone, delta)
    np.testing.assert_allclose(mine.W, theirs.W, atol=TIGHT)
    np.testing.assert_allclose(mine.b, theirs.b, atol=TIGHT)
    assert not mine.W_rec.any()


def test_the_mean_of_the_signal_is_where_it_rests():
    rule = Boltzmann(steps=1, learning_signal=CentredAdvantage())
    layer = rule.law.init(4, N, jax.random.key(0))
    params = Mean(m=jnp.asarray(0.5))
    x, delta = jax.random.normal(jax.random.key(1), (4, 4)), jnp.asarray([0.0, 0.25, 0.75, 1.0])
    heard = rule.learning_signal(params, delta + 7.0, delta)
    np.testing.assert_allclose(heard, delta - 0.5)
    assert abs(rule.learning_signal.credit(params, heard).m) < TIGHT
    assert rule.learning_signal.credit(params, heard + 0.25).m == pytest.approx(0.25)
    activity = jax.jit(rule.law.explore)(layer, x, jax.random.key(3))
    credit = exact.credit_for(rule, layer, x, activity, heard[:, None])
    plain = exact.credit_for(Boltzmann(steps=1), layer, x, activity, heard[:, None])
    np.testing.assert_allclose(credit.W, plain.W)


# In environments ------------------------------------------------------------------------------------------------------


CENTRED, LEARNED = Boltzmann(steps=2, learning_signal=CentredAdvantage()), Boltzmann(steps=2, baseline=Learned())


def in_an_environment(rule):
    task = Control(env="CartPole-v1", discount=0.9, actor_trace=0.7, scaling="none")
    return Run(rule=rule, task=task, hidden=(3,), critic=Critic(width=4), batch=2, episodes=20)


@pytest.mark.parametrize("rule", [CENTRED, LEARNED])
def test_a_step_of_control_weighs_each_trace_by_what_its_parameter_learns_from(rule, monkeypatch):
    """δ for the output, δ − m or δ for the layer, 1 for what learns by itself: from Adam's first moment."""
    with jax.enable_x64(False):
        run = in_an_environment(rule)
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
        mine = delta - (params.parts[0].learning_signal.m if rule is CENTRED else 0.0)
        learned = 0
        for part, signal in (
            (lambda p: p.layers[0], mine),
            (lambda p: p.parts[0].learning_signal, mine),
            (lambda p: p.parts[0].baseline, np.ones(2)),
            (lambda p: p.layers[1], delta),
        ):
            for name, before in named_leaves(part(named[1])).items():
                ascent = sum(signal[b] * named_leaves(part(each[b]))[name] for b in range(2)) / 2
                found = named_leaves(part(moved))[name]
                np.testing.assert_allclose(found, 0.9 * before + 0.1 * ascent, atol=1e-5, err_msg=name)
                learned += 1
        assert learned == 5 + (1 if rule is CENTRED else 3)
        assert answers.any()


def test_what_learns_by_itself_has_no_trace_and_the_rest_has_the_actors():
    run = in_an_environment(Boltzmann(steps=2, baseline=Learned(rate=0.5)))
    with jax.enable_x64(False):
        fading, start = (
            control.unravelled(*control.shapes(run), np.asarray(x)) for x in (pace(run).fading, pace(run).start)
        )
    own, layer = fading.parts[0].baseline, fading.layers[0]
    assert not any(getattr(own, name).any() for name in ("U", "u", "Q"))
    assert all(np.allclose(getattr(layer, name), 0.9 * 0.7) for name in ("W", "b", "W_rec"))
    assert np.allclose(start.parts[0].baseline.Q, 0.0025)
    assert np.allclose(start.layers[0].W, 0.005)


def test_predictions_too_take_observations_as_the_environment_gives_them():
    run = in_an_environment(LEARNED)
    params = jax.tree.map(lambda p: p.astype(float) + 0.1, run.init())
    scale = Scale(jnp.asarray(10.0), jnp.arange(4.0), 10 * jnp.arange(1.0, 5.0))
    o = np.random.default_rng(0).normal(size=(3, 4))
    scaled = (o - np.arange(4.0)) / np.sqrt(np.arange(1.0, 5.0) + 1e-8)
    raw = unscaled(params, scale)

    def estimate(params, x):
        return LEARNED.baseline.estimate(params.parts[0].baseline, seen(LEARNED, params.layers[0], x, np.zeros((3, 3))))

    np.testing.assert_allclose(estimate(raw, o), estimate(params, scaled), atol=1e-6)


@pytest.mark.parametrize(
    ("rule", "setting"),
    [(CENTRED, "learning-signal centred-advantage"), (LEARNED, "baseline learned")],
)
def test_fast_engines_refuse_what_is_learned_to_centre_by(rule, setting):
    run = Run(rule=rule, task=Multiplexer(bits=1), episodes=160)
    for name in ("cpu", "cuda"):
        assert setting in engines.find(name).supports(run)
    assert engines.find("xla").supports(run) is None
