"""Actions of several parts: their laws by enumeration, every rule beneath them, tasks of one step that have them."""

import dataclasses
import itertools
from typing import ClassVar

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from coexplore import Critic, Recurrent, Reinforce, Run, Task, engines, network, train
from coexplore.engines import guard
from coexplore.laws import Activity, Bernoulli, Bits, Softmax, Softmaxes, together
from coexplore.network import Network
from coexplore.rules import BUILT_IN, Layer, StraightThrough, UnbiasedWeightMax, WeightMax
from coexplore.rules.layer import likelihood
from coexplore.run.result import Result
from coexplore.units import Affine

TIGHT = 1e-12
LAWS = [(Bits(0.7), (2, 2, 2)), (Softmaxes((3, 1, 2), 1.6), (3, 1, 2))]
EACH = pytest.mark.parametrize(("law", "parts"), LAWS, ids=repr)


@pytest.fixture
def doubles():
    with jax.enable_x64(True):
        yield


# The laws again: a part's choices have the logits 0, d₁ …, over τ ----------------------------------------------------


def joint(parts):
    return list(itertools.product(*map(range, parts)))


def bits(parts):
    """H of every joint action, one row each."""
    return np.array([np.concatenate([np.eye(n)[i, 1:] for n, i in zip(parts, a, strict=True)]) for a in joint(parts)])


def log_p(parts, tau, d):
    """log P of every joint action, [B, A], in JAX."""
    total, start = jnp.zeros((d.shape[0], 1)), 0
    for n in parts:
        logits = jnp.pad(d[:, start : start + n - 1], ((0, 0), (1, 0))) / tau
        mine = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
        total = (total[:, :, None] + mine[:, None]).reshape(d.shape[0], -1)
        start += n - 1
    return total


def units(parts):
    return sum(parts) - len(parts)


@pytest.mark.usefixtures("doubles")
@EACH
def test_a_law_has_the_probabilities_scores_and_expectations_of_its_parts(law, parts):
    rng, N, tau = np.random.default_rng(0), units(parts), law.temperature
    d, A = jnp.asarray(rng.normal(size=(5, N))), len(joint(parts))
    k, drawn = np.tile(np.arange(A), 5), jnp.asarray(np.tile(bits(parts), (5, 1)))  # every action at every d
    each, delta = jnp.repeat(d, A, axis=0), jnp.asarray(rng.normal(size=(5 * A, 1)))

    @jax.jit
    def found(d, h, delta):
        params, activity = Affine(jnp.zeros((2, N)), jnp.zeros(N)), Activity(h, jnp.zeros((1, len(h), 1)))
        return law.log_probability(params, d, activity), law.score(d, h, delta), law.action(h)

    def of(d):
        return log_p(parts, tau, d)[np.arange(5 * A), k]

    log_probability, score, action = found(each, drawn, delta)
    mine = jax.jit(of)(each)
    assert exact.largest_gap(log_probability, mine) < TIGHT
    assert exact.largest_gap(score, delta * jax.jit(jax.grad(lambda d: of(d).sum()))(each)) < TIGHT
    assert action.tolist() == [list(a) for a in joint(parts)] * 5
    p = np.exp(np.asarray(mine).reshape(5, A))
    assert np.allclose(p.sum(axis=1), 1, atol=TIGHT)
    assert exact.largest_gap(law.expected(d), p @ bits(parts)) < TIGHT
    likeliest = [
        list(joint(parts)[i]) for i in np.argmax(p, axis=1)
    ]  # parts are independent: the joint one is each one's
    assert law.decided(law.expected(d)).tolist() == likeliest
    assert law.every(N).tolist() == [list(a) for a in joint(parts)]


@EACH
def test_draws_have_the_joint_probabilities(law, parts):
    rng = np.random.default_rng(1)
    params, n = exact.affine(rng, 2, units(parts)), 20_000
    x = jnp.asarray(np.tile(rng.normal(size=2), (n, 1)), jnp.float32)
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), params)
    actions = np.asarray(law.action(law.explore(params, x, jax.random.key(2)).h))
    seen = [np.all(actions == a, axis=1).sum() for a in joint(parts)]
    expected = n * np.exp(np.asarray(log_p(parts, law.temperature, x[:1] @ params.W + params.b), np.float64)[0])
    assert chisquare(seen, expected * n / expected.sum()).pvalue > 0.01


def test_one_part_is_the_law_of_one_choice():
    rng = np.random.default_rng(3)
    d, delta = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((6, 1), (6, 1)))
    h = jnp.asarray(rng.integers(0, 2, (6, 1)), jnp.float32)
    assert jnp.allclose(Bits().score(d, h, delta), Bernoulli().score(d, h, delta), atol=1e-6)
    d3, h3 = jnp.asarray(rng.normal(size=(6, 2)), jnp.float32), jnp.asarray(np.eye(3)[rng.integers(0, 3, 6)][:, 1:])
    one, other = Softmaxes((3,), 0.5), Softmax(0.5)
    assert jnp.allclose(one.score(d3, h3.astype(jnp.float32), delta), other.score(d3, h3.astype(jnp.float32), delta))
    assert isinstance(together((2, 2)), Bits)
    assert together((2, 3)).parts == (2, 3)
    assert Bits().every(13) is None


# Every rule beneath them, all states enumerated ----------------------------------------------------------------------


class Case:
    """A layer of two units under a law, every (s, what the layer drew, a) with its probability and reward."""

    def __init__(self, rule, law, parts, seed=0):
        rng = np.random.default_rng(seed)
        self.rule, self.law, self.tau, self.parts, self.h = rule, law, law.temperature, parts, bits(parts)
        chain = hasattr(rule, "coupling")
        self.s, self.H = 2 * exact.states(2) - 1, exact.paths(2, rule.steps if chain else 0)
        self.d0, self.R = rng.dirichlet(np.ones(4)), rng.normal(size=(4, len(self.h)))
        first = exact.coupled(rng, 2, 2, symmetric=False) if chain else exact.affine(rng, 2, 2)
        self.layers = first, exact.affine(rng, 2, units(parts))
        sizes = len(self.s), self.H.shape[1], len(self.h)
        self.m, self.k, self.a = (i.ravel() for i in np.meshgrid(*map(np.arange, sizes), indexing="ij"))

    def probabilities(self, layers):
        hidden, top = layers
        if hasattr(self.rule, "coupling"):
            first = jax.lax.stop_gradient(Affine(hidden.W, hidden.b))  # of H₍₀₎ nothing is learned
            lower = exact.recurrent(hidden, self.rule.coupling, self.rule.steps, self.s, first)
        else:
            lower = exact.independent(hidden, self.s)
        upper = log_p(self.parts, self.tau, jnp.asarray(self.H[-1]) @ top.W + top.b)
        return self.d0[self.m] * jnp.exp(lower[self.m, self.k] + upper[self.k, self.a])

    def gradient(self):
        value = jax.grad(lambda layers: jnp.sum(self.probabilities(layers) * self.R[self.m, self.a]))
        return jax.jit(value)(self.layers)

    def credit(self):
        """`network.learn` on every episode, its signal multiplied by its probability."""
        p = jax.jit(self.probabilities)(self.layers)
        x, H = jnp.asarray(self.s[self.m]), jnp.asarray(self.H[:, self.k])
        hidden = exact.activity(self.rule, self.layers[0], x, H)
        top = Activity(jnp.asarray(self.h[self.a]), jnp.zeros((1, len(p), 1)))
        net = Network((self.rule,), self.law, None)
        signal = len(p) * p * self.R[self.m, self.a]
        return jax.jit(network.learn)(net, exact.actor_params(self.layers), x, (hidden, top), signal).layers


EXACT = [Reinforce(), UnbiasedWeightMax(), UnbiasedWeightMax(expected=True), Recurrent(steps=1, trace_decay=1.0)]


@pytest.mark.usefixtures("doubles")
@EACH
@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_rules_that_are_exact_are_so_beneath_actions_of_several_parts(rule, law, parts):
    case = Case(rule, law, parts)
    assert exact.largest_gap(case.credit(), case.gradient()) < TIGHT


@pytest.mark.usefixtures("doubles")
@EACH
def test_what_a_flipped_unit_would_have_changed_is_what_enumeration_says(law, parts):
    top, A = exact.affine(np.random.default_rng(4), 3, units(parts)), len(joint(parts))
    h, k = jnp.asarray(np.tile(exact.states(3), (A, 1))), np.repeat(np.arange(A), 8)  # every action, whatever was sent
    activity = Activity(jnp.asarray(bits(parts)[k]), jnp.zeros((1, 8 * A, 1)))

    def of(h):
        return log_p(parts, law.temperature, h @ top.W + top.b)[np.arange(8 * A), k]

    @jax.jit
    def found(h):
        above = likelihood(Layer(law, top, h, activity))
        return above(h), above.slope(h), above.flipped(h)

    @jax.jit
    def wanted(h):
        flips = [of(h.at[:, i].set(1 - h[:, i])) for i in range(3)]
        return of(h), jax.grad(lambda h: of(h).sum())(h), jnp.stack(flips, axis=1)

    assert exact.largest_gap(found(h), wanted(h)) < TIGHT


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("rule", [WeightMax(), StraightThrough()], ids=repr)
def test_rules_that_follow_the_slope_hear_the_sum_over_parts(rule):
    """Σ_j w_ij (a_j − p_j), over the units of all parts."""
    rng = np.random.default_rng(5)
    case = Case(rule, Softmaxes((3, 2)), (3, 2))
    top, x, h = case.layers[1], jnp.asarray(case.s), jnp.asarray(exact.states(2))
    drawn = jnp.asarray(case.h[rng.integers(0, 6, 4)])
    hidden, output = (Activity(a, jnp.zeros((1, 4, 1))) for a in (h, drawn))
    delta = jnp.asarray(rng.normal(size=4))
    net = Network((rule,), case.law, None)
    found = jax.jit(network.learn)(net, exact.actor_params(case.layers), x, (hidden, output), delta).layers[0]
    slope = (drawn - case.law.expected(h @ top.W + top.b)) @ top.W.T
    p = exact.sigmoid(np.asarray(x @ case.layers[0].W + case.layers[0].b))
    own = 2 * h * slope * (h - p) if isinstance(rule, WeightMax) else slope * p * (1 - p)
    assert float(jnp.abs(found.b - (delta[:, None] * own).mean(axis=0)).max()) < TIGHT


# Tasks of one step ---------------------------------------------------------------------------------------------------


class Switches(Task):
    """Three bits: the first is the observation's, the others differ from each other."""

    name, title, size, actions = "switches", "three bits at once", 1, (2, 2, 2)
    chance: ClassVar[float] = 0.25
    reward_range: ClassVar[tuple[float, float]] = (0.25, 1.0)

    def sample(self, B, key):
        return 2 * jax.random.bernoulli(key, shape=(B, 1)).astype(jnp.float32) - 1

    def reward(self, state, action):
        right = ((action[:, 0] == 1) == (state[:, 0] > 0)) & (action[:, 1] != action[:, 2])
        return right.astype(jnp.float32)


class Dials(Switches):
    """A dial of three positions and one of two: the product of both, less where the observation says so."""

    name, title, actions = "dials", "two dials at once", (3, 2)
    chance: ClassVar[float] = 0.5
    reward_range: ClassVar[tuple[float, float]] = (-2.0, 2.0)

    def reward(self, state, action):
        return state[:, 0] * (action[:, 0] * action[:, 1]).astype(jnp.float32)


SMALL = {"hidden": (8,), "critic": Critic(width=8), "batch": 8}


@pytest.mark.parametrize("task", [Switches(), Dials()])
def test_an_update_of_every_rule_fits_them(task):
    for rule in BUILT_IN.values():
        assert guard.fault(Run(rule=rule(), task=task, episodes=64, **SMALL)) is None


@pytest.mark.learning
@pytest.mark.parametrize(("task", "least"), [(Switches(), 0.0), (Dials(), -2.0)])
def test_a_team_trains_acts_and_is_evaluated(task, least):
    """The bounds of its rewards are those of every joint action."""
    (result,) = train([Run(rule=Reinforce(), task=task, episodes=64, **SMALL)], progress=False)
    assert result.engine == "xla"
    drawn = result.act(np.ones((500, 1)), key=0)
    assert drawn.max(axis=0).tolist() == [n - 1 for n in task.actions]
    one = result.act(np.ones(1), deterministic=True)
    assert one.shape == (len(task.actions),)
    assert result.act(np.ones((2, 1)), deterministic=True).tolist() == [one.tolist()] * 2
    found = result.evaluate(episodes=40)
    assert found.low <= found.mean <= found.high
    assert found.bounds == (least, task.reward_range[1])
    assert not result.frozen


@pytest.mark.learning
@pytest.mark.parametrize("task", [Switches(), Dials()])
def test_a_team_learns(task):
    (result,) = train([Run(rule=UnbiasedWeightMax(), task=task, episodes=16_000, **SMALL)], progress=False)
    assert result.evaluate(deterministic=True).mean > (0.95 if task.name == "switches" else 0.9)


def test_fused_engines_refuse_them_and_networks_fit_where_actions_are_alike():
    run = Run(rule=Reinforce(), task=Switches(), episodes=64, **SMALL)
    for name in ("cpu", "cuda"):
        if engines.find(name).missing() is None or name == "cuda":
            assert run.task.name in engines.find(name).supports(run)
    result = Result(run, "xla", np.zeros(8, np.float32), run.init(), {})
    with pytest.raises(ValueError, match=r"dials.*observations of 1 numbers, actions of 3 bits"):
        result.evaluate(Dials())


def test_what_does_not_fit_together_is_told_in_one_line():
    class Miscounted(Switches):
        name, outputs = "miscounted", 2
        output = Softmaxes((3, 2))

    class Graded(Switches):
        name, graded = "graded", True

    run = Run(rule=Reinforce(), task=Switches(), episodes=64, **SMALL)
    assert guard.fault(dataclasses.replace(run, task=Miscounted())) == (
        "task 'miscounted': outputs is 2, and should be 3, for actions of 2 choices (3, 2)"
    )
    assert guard.fault(dataclasses.replace(run, task=Graded())) == (
        "task 'graded': graded is True, and should be False where actions have several parts"
    )
