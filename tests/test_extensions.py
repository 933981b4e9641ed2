"""Rules of a user's own, one of each kind of docs/extend.md, go through all that ours go through."""

import importlib
import json
import sys
from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.functional_jax_env import FunctionalJaxEnv
from gymnasium.experimental.functional import FuncEnv

from coexplore import (
    Alone,
    Baseline,
    Control,
    Critic,
    Eligibility,
    Expectation,
    Linear,
    Local,
    Multiplexer,
    Probability,
    Reward,
    Run,
    count,
    engines,
    glorot,
    grid,
    load,
    network,
    number,
    part,
    tune,
)
from coexplore.engines import control, xla
from coexplore.engines.guard import fault
from coexplore.report import html
from coexplore.report.data import report
from coexplore.store import Store
from coexplore.study import study
from coexplore.study.group import Group

pytest.importorskip("flax")
sys.path.insert(0, str(Path(__file__).parent / "extensions"))
own = importlib.import_module("own_rules")

SETTINGS = {  # of each rule a setting of its own, and two values of it
    own.Population: ("strength", 1.0, 0.5),
    own.FeedbackAlignment: ("scale", 1.0, 0.5),
    own.Homeostasis: ("tau", 20.0, 2.0),
    own.Probit: ("sigma", 1.0, 2.0),
    own.Eager: ("baseline_tau", 20.0, 2.0),
    own.Patient: ("baseline_tau", 20.0, 2.0),
}
# A layer each, so that all kinds are compiled at once.
TOGETHER = tuple(own.Eager(steps=2) if kind is own.Eager else kind() for kind in SETTINGS)
PAID = (10.0, 1.0, 100.0)  # after each step of an episode
SMALL = {"critic": Critic(width=2)}
IN_STEPS = Control(env="probe/paid-steps-v0", scaling="none")
ON = {  # engine → a task and its length
    "xla": {"task": Multiplexer(bits=1), "batch": 4, "episodes": 4 * 24},
    "control": {"task": IN_STEPS, "batch": 2, "episodes": 48},
    "functional": {"task": IN_STEPS, "batch": 2, "episodes": 96},
}

every_rule = pytest.mark.parametrize("rule", [kind() for kind in SETTINGS], ids=lambda rule: rule.name)
AGENTS = ("control", "functional")


class Steps(FuncEnv):
    """Three steps; the observation says which, the rewards are PAID."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def initial(self, rng, params=None):
        return jnp.int32(0)

    def transition(self, state, action, rng, params=None):
        return state + 1

    def observation(self, state, rng, params=None):
        return state

    def reward(self, state, action, next_state, rng, params=None):
        return jnp.asarray(PAID)[state]

    def terminal(self, state, rng, params=None):
        return state >= len(PAID)


class StepsEnv(FunctionalJaxEnv):
    def __init__(self):
        super().__init__(Steps())


gymnasium.register("probe/paid-steps-v0", StepsEnv)


def a_run(engine, rule, hidden=(3, 2), **changes):
    return Run(**{"rule": rule, "hidden": hidden, **SMALL, **ON[engine], **changes})


def trained(run, engine, **how):
    done = study(run, progress=False, engine=engine, snapshots=0, **how)
    assert not done.failures, done.failures[0].reason
    assert (done.trained, done.problems) == (1, [])
    return done.results[0]


def same_bits(one, other):
    assert np.array_equal(one.curve, other.curve)
    leaves = zip(jax.tree.leaves(one.params), jax.tree.leaves(other.params), strict=True)
    assert all(np.array_equal(a, b) for a, b in leaves)


def resumed(run, name, store):
    """The run, after an interruption that has left a checkpoint."""
    engine = getattr(engines, name)
    group = Group(engine, [run], [None])
    group.state = engine.advance(group.state, 3)
    assert 0 < group.done < run.updates
    group.save_checkpoint(Store(store))
    assert Store(store).checkpoint(run, engine.name, engine.built())[0].done == group.done
    return trained(run, name, store=store)


# All kinds at once, a layer each --------------------------------------------------------------------------------------

DEEP = (3, 2, 3, 2, 3, 2)


@pytest.mark.parametrize("engine", ["xla", *(pytest.param(each, marks=pytest.mark.learning) for each in AGENTS)])
def test_all_kinds_in_one_network_are_trained_stored_read_and_resumed(engine, tmp_path):
    run = a_run(engine, TOGETHER, DEEP)
    result = trained(run, engine, store=tmp_path / "whole")
    (found,) = load(tmp_path / "whole")
    assert (found.run, found.digest, found.engine) == (run, run.digest, engine)
    same_bits(found, result)
    same_bits(resumed(run, engine, tmp_path / "cut"), result)
    _has_learned(run, found.params)
    if engine == "xla":  # where it is compiled already
        _is_tuned_and_reported(run, result, tmp_path / "whole")


def _has_learned(run, params):
    begun, (*_, probit, eager, patient) = run.init(), params.parts
    assert probit.baseline is None
    assert all((part.baseline.mean != 0.5).any() for part in (eager, patient))
    moved = zip(begun.layers, params.layers, strict=True)
    assert all((before.W != after.W).any() for before, after in moved)
    assert np.array_equal(begun.layers[1].B, params.layers[1].B)  # it has no credit, and stays bit for bit


def _is_tuned_and_reported(run, result, store):
    found = tune(grid(run, strength=[1.0, 0.5]), [0], [1, 2], progress=False, store=store, snapshots=0)
    assert found.tried == 2
    results = {each.run: each for each in load(store)}
    (other,) = grid(run, strength=[0.5])
    assert len(results) == 4
    same_bits(results[run], result)  # which was there already
    assert (results[other].params.layers[0].W != result.params.layers[0].W).any()
    page = html.page(report(list(results.values()), "store")).html
    assert all(rule.name in page for rule in TOGETHER)


def test_an_edition_of_each_kind_is_part_of_the_digest():
    run = a_run("xla", TOGETHER, DEEP)
    described = json.loads(json.dumps(run.to_dict()))
    assert Run.from_dict(described) == run
    assert len({rule["edition"] for rule in described["rule"]}) == len(TOGETHER)
    digests = {run.digest}
    for rule in described["rule"]:
        rule["edition"] = "f" * 16
        digests.add(Run.from_dict(described).digest)
    assert len(digests) == 1 + len(TOGETHER)


class OldNames(own.Population):
    """Its settings are called as some of ours once were."""

    name = "own-old-names"
    chains: int = count(1, "for these tests", low=1)


@pytest.mark.parametrize(
    "rule",
    [own.Eager(baseline=own.RunningMean(tau=2.0)), OldNames(chains=3, learning_signal=Reward())],
    ids=lambda r: r.name,
)
def test_settings_may_be_called_as_those_of_an_earlier_release(rule):
    """A file with old names of ours is known by another digest; one of a user's rule never is."""
    run = a_run("xla", rule)
    described = run.to_dict()
    assert Run.from_dict(described, imported_only=True) == run
    assert run.digest_in_file(described) == run.digest_in_file() == run.digest


# Two layers of one kind -----------------------------------------------------------------------------------------------


@every_rule
@pytest.mark.learning
def test_two_layers_of_a_rule_are_trained_tuned_and_resumed(rule, tmp_path):
    setting, usual, value = SETTINGS[type(rule)]
    run = a_run("xla", rule)
    tried = grid(run, **{setting: [usual, value]})
    assert tune(tried, [0], [1, 2], progress=False, store=tmp_path).tried == 2
    results = {result.run: result for result in load(tmp_path)}
    one, other = (jax.tree.leaves(results[each].params.layers[0]) for each in tried)
    assert any((a != b).any() for a, b in zip(one, other, strict=True))
    same_bits(resumed(run, "xla", tmp_path / "cut"), results[run])


@every_rule
@pytest.mark.parametrize("engine", AGENTS)
@pytest.mark.learning
def test_two_layers_of_a_rule_learn_in_an_environment(rule, engine, tmp_path):
    run = a_run(engine, rule)
    result = trained(run, engine)
    begun = run.init()
    assert all((a.W != b.W).any() for a, b in zip(begun.layers, result.params.layers, strict=True))
    same_bits(resumed(run, engine, tmp_path), result)


@every_rule
@pytest.mark.learning
def test_every_check_of_a_rule_passes(rule, here):
    done = here("check", f"own_rules:{type(rule).__name__}")
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ok")] == [lines[-1]]
    assert done.returncode == 0
    assert f"{SETTINGS[type(rule)][0]} has an effect" in done.stdout


def test_a_setting_of_init_may_follow_a_schedule():
    run = a_run("xla", own.FeedbackAlignment(scale=Linear(2.0, 1.0)))
    plain = a_run("xla", own.FeedbackAlignment(scale=2.0))
    assert np.array_equal(run.init().layers[0].B, plain.init().layers[0].B)


# What `update` is told ------------------------------------------------------------------------------------------------


def test_an_update_is_told_of_its_own_draw_and_is_written_after_the_optimiser():
    """Replayed in NumPy from the draws, R and δ of each update."""
    run = a_run("xla", own.Homeostasis(tau=4.0))
    state, luck = xla.start([run]), [[], []]
    for t in range(4):
        before = xla.params(state)[0]
        state, draws = xla.update_with_draws(state)
        after = xla.params(state)[0]
        s, activities, r = jax.tree.map(lambda x: np.asarray(x)[0], (draws.s, draws.activities, draws.r))
        delta = np.asarray(network.advantage(run.network, before, jnp.asarray(s), jnp.asarray(r)))
        assert (delta != r).any()
        heard = (s, activities[0].h)
        for i, x in enumerate(heard):
            h, was, now = activities[i].h, before.layers[i], after.layers[i]
            mean = was.mean + (h.mean(axis=0) - was.mean) / 4
            np.testing.assert_allclose(now.mean, mean, atol=1e-6)
            np.testing.assert_allclose(now.b, 0.5 - mean, atol=1e-6)  # without the optimiser's step
            seen = np.asarray(now.seen) - was.seen
            told = r.mean(), delta.mean(), (delta[:, None] * h).mean(axis=0), (delta * x[:, 0]).mean()
            for row, value in zip(seen, told, strict=False):
                np.testing.assert_allclose(row, value, atol=1e-5)
            assert seen[5].tolist() == [t] * h.shape[1]
            luck[i].append(round(float(seen[4, 0]), 4))
    assert len({*luck[0], *luck[1]}) == 8  # a key of each layer's and update's own


class Sure(own.Homeostasis):
    """The first unit fires in the second step of an episode, the other one in the first and the third."""

    name = "own-sure"
    sigma: float = number(1.0, "σ of the noise", low=0.0, open_low=True)

    @property
    def law(self):
        return own.Noisy(self.sigma)

    def init(self, sizes, key):
        W = 60.0 * jnp.asarray([[-1, 1], [1, -1], [-1, 1], [0, 0]], jnp.float32)
        return own.Habits(W, jnp.zeros(2), jnp.full(2, 0.5), jnp.zeros((6, 2)))


@pytest.mark.parametrize("engine", AGENTS)
def test_an_agents_update_is_told_the_error_of_the_transition_that_follows_its_draw(engine, tmp_path):
    """Rewards are learned from up to 50, and without a critic they are δ."""
    task = Control(env=IN_STEPS.env, scaling="none", reward_limit=50.0)
    run = a_run(engine, Sure(tau=4.0), hidden=2, critic=None, task=task)
    result = trained(run, engine)
    layer = jax.tree.map(np.asarray, result.params.layers[0])
    episodes = run.episodes // run.batch  # of each environment: both do the same
    r, delta, delta_h, delta_x, luck, t = layer.seen
    assert r.tolist() == [111 * episodes] * 2
    assert delta.tolist() == [61 * episodes] * 2
    assert delta_h.tolist() == [1 * episodes, 60 * episodes]
    assert delta_x.tolist() == [10 * episodes] * 2
    assert t[0] == sum(range(3 * episodes))
    assert 0 < luck[0] < 3 * episodes
    mean = np.full(2, 0.5)
    for step in range(3 * episodes):
        mean += (np.array([step % 3 == 1, step % 3 != 1]) - mean) / 4
    np.testing.assert_allclose(layer.mean, mean, atol=1e-6)
    assert np.array_equal(layer.b, np.float32(0.5) - layer.mean)  # written after the optimiser's step
    same_bits(resumed(run, engine, tmp_path), result)


# Wrong ones -----------------------------------------------------------------------------------------------------------


def kind_of(base, **members):
    return type("Wrong", (base,), {"name": f"own-wrong-{base.name}", "__module__": __name__, **members})


def with_baseline(base, **members):
    wrong = kind_of(own.RunningMean, **members)
    return type("Against", (base,), {
        "name": "own-against", "__module__": __name__, "__annotations__": {"baseline": Baseline},
        "baseline": part(wrong(), "what is subtracted", options=(wrong,)),
    })  # fmt: skip


def update(values):
    return {"update": lambda self, params, *rest: values(getattr(params, "params", params))}


WRONG = {
    "update has means, and the parameters are W, b, mean, seen": (
        own.Homeostasis, update(lambda params: {"means": params.mean})),
    "mean of update has shape [D, 2], and should have [2]": (
        own.Homeostasis, update(lambda params: {"mean": params.W})),
    "mean of update has numbers of type bool, and should have float32": (
        own.Homeostasis, update(lambda params: {"mean": params.mean > 0})),
    "update is an array, and should be a dictionary of parameters by name": (
        own.Homeostasis, update(lambda params: params.mean)),
    "W of init has shape [2, D], and should have [D, 2]": (
        own.Population, {"init": lambda self, sizes, key: glorot(sizes.units, sizes.inputs, key)}),
    "W of init is None, and should be an array of shape [D, 2]": (
        own.Population, {"init": lambda self, sizes, key: None}),
    "init raises ZeroDivisionError: division by zero": (
        own.Population, {"init": lambda self, sizes, key: 1 / 0}),
    "eligibility is an array, and should be an Eligibility": (
        own.Probit, {"eligibility": lambda self, layer, E: layer.h}),
    "eligibility has V, and the parameters are W, b": (
        own.Probit, {"eligibility": lambda self, layer, E: Eligibility(V=Alone(layer.h))}),
    "baseline is Reward(), and should be a Baseline": (own.Population, {"baseline": property(lambda self: Reward())}),
}  # fmt: skip
WRONG_BASELINES = {
    "baseline gives an array, and should give an Expectation": {"__call__": lambda self, params, layer: params.mean},
    "baseline.update has mode, and the parameters are mean": update(lambda params: {"mode": params.mean}),
    "baseline.init raises ZeroDivisionError: division by zero": {"init": lambda self, sizes: 1 / 0},
}


@pytest.mark.parametrize("engine", ["xla", "control"])
def test_wrong_rules_are_told_in_a_line_before_anything_is_trained(engine):
    kinds = {line: kind_of(base, **members) for line, (base, members) in WRONG.items()}
    kinds |= {line: with_baseline(own.Eager, **members) for line, members in WRONG_BASELINES.items()}
    for line, kind in kinds.items():
        run = a_run(engine, kind(), hidden=2, critic=None)
        words = line.replace("D,", f"{run.task.size},").replace(" D]", f" {run.task.size}]")
        assert fault(run) == f"rule {kind.name!r}: {words}"


def test_parts_that_no_field_can_hold_are_refused_where_they_are_written():
    nameless = type("Nameless", (Baseline,), {"__call__": lambda self, params, layer: Expectation()})
    twin = type("Twin", (own.RunningMean,), {})
    for options, line in {
        (Probability, dict): "options: <class 'dict'> is not allowed; give subclasses of Part",
        (Probability, Probability()): "options: Probability() is not allowed; give subclasses of Part",
        (nameless,): "Nameless.name: the part has none; give one, as name = 'running-mean'",
        (own.RunningMean, twin): "options: running-mean, running-mean: two parts have one name; give each its own",
    }.items():
        with pytest.raises(TypeError) as error:
            part(Probability(), "what is subtracted", options=options)
        assert str(error.value) == line


def test_a_local_rule_has_an_eligibility_and_no_credit():
    with pytest.raises(TypeError, match=r"Wrong\.credit: a Local rule has an `eligibility`"):
        kind_of(own.Probit, credit=own.Population.credit)
    with pytest.raises(TypeError, match=r"abstract method '?eligibility"):
        type("Without", (Local,), {"name": "own-without", "title": "none"})()


class Unlike(own.RunningMean):
    """Its U is no matrix of inputs."""

    name = "unlike"

    def init(self, sizes):
        return OnlyU(jnp.full(sizes.units, 0.5))

    def __call__(self, params, layer):
        return Expectation(jnp.broadcast_to(params.U, layer.h.shape))

    def update(self, params, layer, outcome):
        return {"U": 0.5 * params.U}


class OnlyU(eqx.Module):
    U: jax.Array


def test_a_parameter_may_be_called_as_one_of_ours_is():
    """Where observations are scaled, what predicts activity from them takes the scale into its U."""

    class Against(own.Probit):
        name = "own-unlike"
        baseline: Baseline = part(Unlike(), "what is subtracted", options=(Unlike,))

    run = a_run("control", Against(), hidden=2, critic=None, task=Control(env=IN_STEPS.env), episodes=2, batch=1)
    (result,) = control.finish(control.advance(control.start([run]), run.updates))
    assert result.params.parts[0].baseline.U.tolist() == [0.5 ** (1 + 3 * run.episodes)] * 2
