"""Runs in environments in which a number is infinite or none: what was so first is named; their neighbours go on."""

import dataclasses
import re

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest
from gymnasium.envs.functional_jax_env import FunctionalJaxEnv
from gymnasium.experimental.functional import FuncEnv
from mutants import a_rule, affine, credit

from coexplore import Control, Critic, Reinforce, Run, grid, train
from coexplore.engines import blame
from coexplore.laws import Activity, Bernoulli
from coexplore.study import study

probes.register()
ENGINES = {"control": "probe/numbers-v0", "functional": "phys2d/Pendulum-v0"}  # actions that are numbers
CHOICES = {"control": "probe/walk-v0", "functional": "phys2d/CartPole-v1"}
EACH = [pytest.param(name, marks=[pytest.mark.learning] * (name == "functional")) for name in ENGINES]


def run_of(rule, env, episodes=6, **settings):
    return Run(rule=rule, task=Control(env=env), hidden=2, episodes=episodes, **{"critic": None, **settings})


def late(self, layer, *rest):
    """Finite until the biases have moved by some steps."""
    found = credit(self, layer, *rest)
    return affine(found.W, jnp.where(jnp.abs(layer.params.b).max() > 0.05, jnp.nan, found.b))


class Vanishing(Bernoulli):
    """Draws no numbers once its biases have moved."""

    def explore(self, params, x, key):
        found = super().explore(params, x, key)
        return Activity(jnp.where(jnp.abs(params.b).max() > 0.05, jnp.nan, found.h), found.draws)


@pytest.mark.parametrize("engine", EACH)
@pytest.mark.parametrize(
    ("changes", "what"),
    [({"credit": late}, "b of credit"), ({"law": property(lambda self: Vanishing())}, "the action")],
)
def test_what_is_not_finite_first_in_an_agent_is_named_and_not_the_environment(engine, changes, what):
    rule = a_rule(**changes)()
    (failure,) = study(run_of(rule, ENGINES[engine], episodes=60), engine=engine, progress=False).failures
    found = re.match(rf"rule '{rule.name}': {what} is not finite, in step (\d+)", failure.reason)
    assert found, failure.reason
    assert 1 < int(found[1]) < 40


def test_a_parameter_that_no_credit_has_lost_and_a_td_error_that_loses_them_all_are_named():
    run = run_of(Reinforce(), "probe/walk-v0", critic=Critic(width=2))
    good = jax.tree.map(np.asarray, run.init())
    lost = jax.tree.map(lambda leaf: leaf * np.nan, good)
    second = dataclasses.replace(good, layers=(good.layers[0], lost.layers[1]))
    for params, ascent, line in (
        (lost, good, "rule 'reinforce': W is no longer finite after 7 steps; a lower learning rate may help"),
        (lost, lost, "critic: the TD error is not finite, in step 7; a lower learning rate may help"),
        (lost, second, "its parameters are no longer finite (layers.1.W); a lower learning rate may help"),
    ):
        assert blame.of_agent(run, params, ascent, 7) == line


@pytest.mark.parametrize("engine", EACH)
def test_a_run_of_choices_ends_where_its_credit_is_lost_and_its_neighbours_go_on(engine):
    """No action is ever none there: it is the parameters that tell."""
    rule = a_rule(credit=late)()
    lost, other = grid(run_of(rule, CHOICES[engine]), learning_rate=[0.02, 1e-6])
    done = study([lost, other], engine=engine, progress=False)
    (failure,) = done.failures
    assert failure.run == lost
    assert re.fullmatch(rf"rule '{rule.name}': b of credit is not finite, in step \d+", failure.reason)
    (alone,) = train(other, engine=engine, progress=False)
    assert np.array_equal(done.results[0].curve, alone.curve)
    assert alone.provenance["steps"] == done.results[0].provenance["steps"]


class Losing(FuncEnv):
    """Nine steps, as functions; `where` says what is none in the third step, if its coin is up."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, where):
        super().__init__()
        self.where = where

    def initial(self, rng, params=None):
        return jnp.stack([0.0, jax.random.bernoulli(rng).astype(jnp.float32)])

    def transition(self, state, action, rng, params=None):
        return state + jnp.array([1.0, 0.0])

    def observation(self, state, rng, params=None):
        return jnp.where(self._lost(state, "observation"), jnp.nan, state / 9)

    def reward(self, state, action, next_state, rng, params=None):
        return jnp.where(self._lost(next_state, "reward"), jnp.nan, 1.0)

    def terminal(self, state, rng, params=None):
        return state[0] >= 9

    def _lost(self, state, where):
        return (state[0] == 3) & (state[1] == 1) & (where == self.where)


class LosingEnv(FunctionalJaxEnv):
    def __init__(self, where):
        super().__init__(Losing(where))


@pytest.mark.learning
@pytest.mark.parametrize(("where", "what"), [("observation", "an observation"), ("reward", "a reward")])
def test_environments_that_are_functions_are_named_and_end_their_runs_alone(where, what):
    env = f"probe/losing-{where}-v0"
    gymnasium.register(env, LosingEnv, kwargs={"where": where})
    done = study(grid(run_of(Reinforce(), env, episodes=1), seed=range(6)), engine="functional", progress=False)
    assert {failure.reason for failure in done.failures} == {f"environment '{env}': {what} is not finite, in step 3"}
    assert len(done.failures) + len(done.results) == 6
    assert done.results
    assert all(result.provenance["steps"] == 9 for result in done.results)
