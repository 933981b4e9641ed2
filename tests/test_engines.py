"""What every engine owes (engines/base.py), by calling it; the cuda engine on emulated warps."""

import dataclasses
import inspect
import os

import jax
import numpy as np
import probes
import pytest

from coexplore import Control, Critic, Multiplexer, Reinforce, Run, engines, load, train
from coexplore.engines.base import Engine, State
from coexplore.run import bin_sizes, bins
from coexplore.store import Checkpoint, Store

probes.register()
SMALL = Run(rule=Reinforce(), hidden=(9,), task=Multiplexer(bits=1), critic=Critic(width=5), episodes=16 * 24)
ACTING = dataclasses.replace(SMALL, task=Control(env="probe/walk-v0"), batch=2, episodes=2 * 24)
COMPILED = dataclasses.replace(ACTING, task=Control(env="phys2d/CartPole-v1"))
RUNS = {  # critics of every kind
    "cuda": SMALL,
    "cpu": dataclasses.replace(SMALL, critic=Critic("linear")),
    "xla": SMALL,
    "functional": dataclasses.replace(COMPILED, critic=Critic("mean")),
    "control": ACTING,
}

every_engine = pytest.mark.parametrize("name", engines.NAMES)


@pytest.fixture
def engine(name, request):
    if name == "cuda":
        request.getfixturevalue("emulated")
    return engines.find(name)


def moved(engine, state, updates):
    """So many updates further on: an engine may come back early, but never without having moved."""
    goal = state.done + updates
    for _ in range(1000):
        if state.done == goal:
            return state
        state = engine.advance(state, goal - state.done)
    raise AssertionError(f"{engine.name} does not get anywhere")


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@every_engine
def test_an_engine_has_everything_that_is_asked_of_it_with_the_same_arguments(engine, name):
    assert isinstance(engine, Engine)
    assert (engine.name, engine.stream >= 1) == (name, True)
    for function, owed in inspect.getmembers(Engine, inspect.isfunction):
        if not function.startswith("_"):
            wanted = [p for p in inspect.signature(owed).parameters if p != "self"]
            given = inspect.signature(getattr(engine, function)).parameters.values()
            assert [p.name for p in given if p.default is p.empty] == wanted, function


@every_engine
def test_a_run_goes_through_an_engine_as_the_contract_says(engine, name):
    run = RUNS[name]
    assert engine.supports(run) is None
    assert engine.caution(run) is None
    assert engine.groups([run]) == [[run]]
    engine.prepare()
    state = engine.advance(engine.start([run]), 0)
    assert isinstance(state, State)
    assert (state.done, state.runs) == (0, (run,))
    assert np.isnan(state.reward).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.reward = None
    whole = engine.finish(moved(engine, engine.start([run]), run.updates))[0]
    half = moved(engine, state, 11)
    (saved,) = engine.tensors(half)
    assert int(saved["done"]) == half.done == 11
    assert jax.tree.structure(engine.params(half)[0]) == jax.tree.structure(run.init())
    end = moved(engine, engine.restore([run], [saved]), run.updates - 11)
    assert np.isfinite(end.reward).all()
    past = engine.advance(end, 5)  # never past the end
    assert past.done == run.updates
    (result,) = engine.finish(past)
    assert (result.run, result.engine) == (run, name)
    assert same((result.curve, result.params), (whole.curve, whole.params))
    assert result.provenance.items() >= engine.built().items()


@every_engine
def test_a_checkpoint_is_read_by_the_engine_that_wrote_it(engine, name, tmp_path):
    """And so a run under way can be seen, whatever trains it."""
    run = RUNS[name]
    state = moved(engine, engine.advance(engine.start([run]), 0), 11)
    (tensors,) = engine.tensors(state)
    Store(tmp_path).save_checkpoint(run, name, Checkpoint(tensors, {}), engine.built())
    (one,) = Store(tmp_path).under_way()
    assert (one.run, one.done, one.fresh) == (run, 11, True)
    (result,) = engine.finish(moved(engine, state, run.updates - 11))
    full = 11 * bins(run.updates) // run.updates
    assert full == 11
    assert list(bin_sizes(run.updates)) == [1] * 24
    np.testing.assert_allclose(one.curve, result.curve[:full], rtol=1e-6)


@every_engine
def test_a_part_whose_rate_is_0_keeps_its_parameters_and_the_others_learn(engine, name):
    task = RUNS[name].task
    unscaled = dataclasses.replace(task, scaling="none") if isinstance(task, Control) else task
    for held in range(3):
        rates = tuple(0.0 if part == held else 0.01 for part in range(3))
        runs = [dataclasses.replace(RUNS[name], task=unscaled, learning_rate=rates)]
        (before,) = engine.params(engine.start(runs))
        (after,) = engine.params(moved(engine, engine.advance(engine.start(runs), 0), 3))
        kept = [same(a, b) for a, b in zip((*before.layers, before.critic), (*after.layers, after.critic), strict=True)]
        assert kept == [part == held for part in range(3)]


@every_engine
def test_asking_changes_nothing(engine, name):
    before = dict(os.environ)
    engine.missing()
    engine.supports(RUNS[name])
    assert dict(os.environ) == before


SLOW = ("control", "functional")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.learning] * (x in SLOW)) for x in engines.NAMES if x != "cuda"]
)
def test_whoever_computes_in_64_bits_elsewhere_gets_the_same_runs(name, tmp_path):
    run = RUNS[name]

    def told(folder):
        (result,) = train(run, engine=name, progress=False, store=folder)
        (again,) = load(folder)
        with jax.numpy_dtype_promotion("standard"):  # which Gymnasium's own functions need
            seen = again.act(np.ones(run.task.size), 3), again.evaluate(episodes=3).mean, again.frozen
        return result.provenance["sha256"], seen, run.init().layers[0].W.tobytes()

    usual = told(tmp_path / "32")
    jax.config.update("jax_enable_x64", True)  # as a script does, for all of its threads
    try:
        assert told(tmp_path / "64") == usual
    finally:
        jax.config.update("jax_enable_x64", False)
