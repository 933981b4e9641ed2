"""Environments that are functions: the same as Gymnasium steps them, the same agents as on the control engine."""

import dataclasses
import functools
import math

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.functional_jax_env import FunctionalJaxEnv
from gymnasium.experimental.functional import FuncEnv

from coexplore import Critic, Linear, Reinforce, Run, engines, network, train
from coexplore.engines import control, functional
from coexplore.engines.control import worlds
from coexplore.engines.functional import loop
from coexplore.rules import BUILT_IN
from coexplore.settings import FieldError
from coexplore.tasks.control import Control
from coexplore.tasks.functional import functions, functions_of
from coexplore.tasks.spaces import Flat

pytest.importorskip("flax")
CARTPOLE, PENDULUM, BLACKJACK, CLIFF = ENVS = (
    "phys2d/CartPole-v1",
    "phys2d/Pendulum-v0",
    "tabular/Blackjack-v0",
    "tabular/CliffWalking-v0",
)
PLAIN = Run(
    rule=Reinforce(),
    task=Control(env=CARTPOLE, anneal=300),
    hidden=(6,),
    critic=Critic(width=5),
    learning_rate=Linear(0.02, 0.001),
    episodes=24,
    batch=2,
)


def finished(runs, updates=10**6):
    state = functional.advance(functional.start(runs), 0)
    while state.done < runs[0].updates:
        state = functional.advance(state, updates)
    return functional.finish(state)


def same(one, other):
    assert np.array_equal(one.curve, other.curve)
    assert one.provenance["steps"] == other.provenance["steps"]
    for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(other.params), strict=True):
        assert np.array_equal(a, b)


# The environments.


@pytest.fixture
def loosely():
    """Gymnasium's functions mix types when it calls them itself."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.usefixtures("loosely")
def test_an_episode_is_the_one_that_gymnasium_plays(env):
    """From the same key and with the same actions, in the network's terms: numbers beyond the limits are clipped."""
    found, world, rng = functions(env), Flat(gymnasium.make(env)), np.random.default_rng(0)
    begin, take, key = jax.jit(found.begin), jax.jit(found.take), jax.random.PRNGKey(3)
    choices, over, steps = getattr(found.acts, "n", 4), True, 0
    for _ in range(260):
        if over:
            world.env.unwrapped.rng = key
            first = world.flat(world.env.reset()[0])
            state, key, o = begin(key)
            np.testing.assert_array_equal(o, np.asarray(first, np.float32))
            steps = 0
        action = rng.normal(0, 2, 1).astype(np.float32) if env == PENDULUM else rng.integers(choices, dtype=np.int32)
        after, r, terminated, truncated = world.take(action)
        state, key, o, reward, done = take(state, key, jnp.asarray(action))
        steps += 1
        np.testing.assert_allclose(o, np.asarray(after, np.float32), rtol=1e-5, atol=1e-6)
        assert float(reward) == pytest.approx(r, rel=1e-5, abs=1e-6)
        assert bool(done) == terminated
        assert (steps >= (found.limit or math.inf) and not terminated) == truncated
        over = terminated or truncated
    assert found.limit == gymnasium.spec(env).max_episode_steps


def test_cartpole_is_the_classic_one_but_for_gymnasiums_mass_times_length():
    """Gymnasium's functional CartPole adds the pole's mass to its length where the classic one multiplies them."""
    found, classic = functions(CARTPOLE).env, gymnasium.make("CartPole-v1").unwrapped
    theirs = found.get_default_params()
    assert (theirs.polemass_length, classic.polemass_length) == (pytest.approx(0.6), pytest.approx(0.05))
    mended, rng = theirs.replace(polemass_length=classic.polemass_length), np.random.default_rng(0)
    with jax.numpy_dtype_promotion("standard"):
        transition = jax.jit(type(found)().transition)
        for _ in range(30):
            state, action = rng.uniform(-0.2, 0.2, 4).astype(np.float32), int(rng.integers(2))
            classic.reset(seed=0)
            classic.state = tuple(map(float, state))
            after, *_ = classic.step(action)
            np.testing.assert_allclose(transition(state, action, None, mended), after, atol=1e-5)


class Counter(FuncEnv):
    """Somebody's own: five steps, the observation one of six things, the reward what the action says."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2, start=3)

    def initial(self, rng, params=None):
        return jnp.int32(0)

    def transition(self, state, action, rng, params=None):
        return state + 1

    def observation(self, state, rng, params=None):
        return state

    def reward(self, state, action, next_state, rng, params=None):
        return action - 3.0

    def terminal(self, state, rng, params=None):
        return state >= 5


class CounterEnv(FunctionalJaxEnv):
    def __init__(self):
        super().__init__(Counter())


class Stepping(CounterEnv):
    """Does more in a step than its functions do."""

    def step(self, action):
        return super().step(action)


def test_somebodys_own_functions_are_compiled_and_whatever_is_more_is_left_to_python():
    gymnasium.register("probe/counter-v0", CounterEnv)
    gymnasium.register("probe/stepping-v0", Stepping)
    run = dataclasses.replace(PLAIN, task=Control(env="probe/counter-v0"))
    assert run.task.size == 6
    assert engines.choose(run).name == "functional"
    assert engines.choose(dataclasses.replace(run, task=Control(env="probe/stepping-v0"))).name == "control"
    assert functions_of(gymnasium.wrappers.ClipReward(gymnasium.make(CARTPOLE), 0.0, 0.5)) is None
    (result,) = train([run], progress=False)
    assert result.provenance["steps"] == 5 * run.episodes


# The agents.


def key_of(run, place, episode):
    key = jax.random.fold_in(network.root_keys(run.seed)[1], loop.ENVIRONMENTS)
    for number in (place, episode):
        key = jax.random.fold_in(key, number)
    return jax.random.key_data(key)


@pytest.mark.learning
@pytest.mark.usefixtures("loosely")
@pytest.mark.parametrize(("env", "episodes"), [(CARTPOLE, 24), (PENDULUM, 4)])
def test_the_control_engine_learns_the_same_from_the_same_first_states(env, episodes, monkeypatch):
    """Batches, scaling, schedules over steps, episodes cut short, and what the last step of a run teaches."""
    task = dataclasses.replace(PLAIN.task, env=env, truncation="ignore", reward_limit=3.0)
    run = dataclasses.replace(PLAIN, task=task, episodes=episodes)

    def begin(world, seed):
        world.env.unwrapped.rng = key_of(run, world.place, world.episode)
        return world.flat(world.env.reset()[0])

    monkeypatch.setattr(worlds.World, "begin", begin)
    state = control.start([run])
    while state.done < run.updates:
        state = control.advance(state, run.updates)
    (mine,), (theirs,) = finished([run]), control.finish(state)
    assert mine.provenance["steps"] == theirs.provenance["steps"]
    np.testing.assert_allclose(mine.curve, theirs.curve, rtol=1e-3)
    for a, b in zip(jax.tree.leaves(mine.params), jax.tree.leaves(theirs.params), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)


@pytest.mark.learning
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_fits_into_the_loop(name):
    run = dataclasses.replace(PLAIN, rule=BUILT_IN[name]())
    state = functional.start([run])
    shape = state.shape
    go_on = functools.partial(loop.compiled.__wrapped__(shape)[1].__wrapped__)
    after = jax.eval_shape(go_on, state.about, state.worlds, np.int32(1), np.int32(1), np.zeros(state.width, bool))
    assert jax.tree.structure(after) == jax.tree.structure(state.worlds)


def test_neighbours_and_pieces_do_not_change_a_run():
    alone = finished([PLAIN])[0]
    other = PLAIN.with_seed(7)
    together = finished([other, PLAIN], updates=1)
    same(together[1], alone)
    assert not np.array_equal(together[0].curve, alone.curve)


def test_a_checkpoint_in_the_middle_of_episodes_goes_on_to_the_same_bits(monkeypatch):
    runs = [PLAIN, PLAIN.with_seed(3)]
    whole = finished(runs)
    monkeypatch.setattr(functional, "SECONDS", 1e-9)  # comes back after FIRST steps
    monkeypatch.setattr(functional, "FIRST", 7)
    state, stops = functional.start(runs), 0
    while state.done < PLAIN.updates:
        state = functional.advance(state, PLAIN.updates)
        saved = functional.tensors(state)
        assert len(functional.curve(PLAIN, saved[0])) == state.done
        assert functional.width(saved[0]) == state.width
        state, stops = functional.restore(runs, saved), stops + 1
    assert stops > 20
    for one, other in zip(functional.finish(state), whole, strict=True):
        same(one, other)


def test_where_looking_costs_steps_come_in_blocks_and_those_that_are_too_many_are_undone(monkeypatch):
    (alone,) = finished([PLAIN])
    shape = functional._shape
    monkeypatch.setattr(functional, "_shape", lambda run: shape(run)._replace(block=5))
    state = functional.start([PLAIN, PLAIN.with_seed(3)])
    for update in range(1, PLAIN.updates + 1):
        state = functional.advance(state, 1)
        assert state.done == update
    (mine, _) = functional.finish(state)
    assert np.array_equal(mine.curve, alone.curve)
    assert mine.provenance["steps"] == alone.provenance["steps"]
    for a, b in zip(jax.tree.leaves(mine.params), jax.tree.leaves(alone.params), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_stored_run_comes_back_and_can_act(tmp_path):
    (result,) = train([PLAIN], progress=False, store=tmp_path)
    (again,) = train([PLAIN], progress=False, store=tmp_path)
    same(result, again)
    assert result.engine == "functional"
    assert set(again.act(np.ones((9, 4)), key=0)) <= {0, 1}


# Wrong input.


def test_what_it_cannot_train_is_refused_in_one_line():
    for run in (dataclasses.replace(PLAIN, task=Control()), Run()):
        with pytest.raises(
            FieldError, match=r"^[^\n]*another than functional: it trains environments that are functions"
        ):
            engines.choose(run, "functional")


def test_a_missing_flax_is_named(monkeypatch):
    def fail(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'flax'")

    monkeypatch.setattr(gymnasium, "make", fail)
    with pytest.raises(
        FieldError, match=r"^env: 'phys2d/CartPole-v0' needs Flax: pip install 'coexplore\[jax-envs\]'$"
    ):
        engines.choose(dataclasses.replace(PLAIN, task=Control(env="phys2d/CartPole-v0")))
