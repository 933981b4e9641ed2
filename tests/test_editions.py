"""A user's code is part of a Run: other code is another run, and a changed comment is none."""

import functools
import json
import textwrap

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.registration import WrapperSpec
from probes import Probe, as_action, nothing

from coexplore import (
    Bandit,
    Control,
    Reinforce,
    Rule,
    Run,
    Task,
    frame,
    grid,
    load,
    number,
    outer,
    train,
)
from coexplore.code_hash import code_hash
from coexplore.rules.baseline import Nothing
from coexplore.rules.learning_signal import Reward
from coexplore.run import flat, labels
from coexplore.settings import FieldError
from coexplore.study import study

TINY = {"hidden": (4,), "episodes": 160, "critic": None}

# What becomes part of a Run -------------------------------------------------------------------------------------------


class Plain(Rule):
    name, title = "plain-of-tests", "for these tests"
    gain: float = number(2.0, "a factor")

    def credit(self, layer, signal, above):
        return outer(layer.x, self.gain * signal * layer.h)


class Coin(Task):
    name, title = "coin-of-tests", "for these tests"
    size = 1

    def sample(self, B, key):
        return jnp.zeros((B, 1))

    def reward(self, state, action):
        return jnp.where(action == 1, jnp.float32(1), jnp.float32(-1))


def edited(base, **members):
    """A class of the same name with other members, as another cell of a notebook defines it."""
    return type(base.__name__, (base,), {"__module__": base.__module__, **members})


def other_credit(self, layer, signal, above):
    return outer(layer.x, self.gain * signal * (layer.h - 0.5))


def test_the_edition_is_part_of_the_description_and_of_the_digest():
    run = Run(rule=Plain(), task=Coin(), **TINY)
    other = Run(rule=edited(Plain, credit=other_credit)(), task=Coin(), **TINY)
    assert run != other
    described = run.to_dict()
    assert described["rule"]["edition"] == run.rules[0].edition == code_hash(Plain)
    assert described["task"]["edition"] == run.task.edition == code_hash(Coin)
    assert Run.from_dict(json.loads(json.dumps(described))) == run
    assert flat(run)["rule_edition"] == code_hash(Plain)[:8]
    assert len(set(labels([run, other]))) == 2


def test_our_own_rules_and_tasks_have_no_edition():
    described = Run(
        rule=(Reinforce(), Reinforce(baseline=Nothing(), learning_signal=Reward())), hidden=(3, 2)
    ).to_dict()
    assert "edition" not in str(described)
    assert Run.from_dict(described).to_dict() == described
    with pytest.raises(FieldError, match="field: 'edition' is not allowed"):
        Run.from_dict({"rule": {"name": "reinforce", "edition": "0" * 16}})


@pytest.mark.parametrize("part", ["rule", "task"])
def test_a_declared_version_stands_for_the_code(part):
    def run(**members):
        parts = {"rule": Plain, "task": Coin}
        parts[part] = edited(parts[part], **members)
        return Run(rule=parts["rule"](), task=parts["task"](), **TINY)

    one, two = run(version="1"), run(version="2")
    code = {"credit": other_credit} if part == "rule" else {"chance": 0.0}
    assert one == run(version="1", **code) != two
    assert one.to_dict()[part]["edition"] == "1"
    with pytest.raises(FieldError, match=r"\.version: 3 is not allowed; give letters, digits"):
        run(version=3)


def test_a_version_that_a_parent_declares_says_nothing_of_its_child():
    parent = edited(Plain, version="1")
    one, two = (edited(parent, credit=credit) for credit in (Plain.credit, other_credit))
    assert Run(rule=one(), **TINY) != Run(rule=two(), **TINY)


def test_a_run_from_a_file_keeps_its_edition_and_is_not_trained_with_other_code(tmp_path):
    run = Run(rule=edited(Plain, name="stored-of-tests")(), **TINY)
    train(run, progress=False, store=tmp_path)
    for told, shown in (({"edition": "f" * 16}, "ffffffff"), ({}, "unknown")):
        described = run.to_dict()
        described["rule"] = {key: value for key, value in described["rule"].items() if key != "edition"} | told
        stored = Run.from_dict(described, imported_only=True)
        assert stored != run
        assert stored.to_dict() == described
        assert flat(stored)["rule_edition"] == shown
        (failure,) = study(stored, progress=False).failures
        assert f"the run means edition {told.get('edition', 'unknown')} of its code" in failure.reason
        assert grid(stored, gain=[2.0]) == [run]  # a Run that is made here means the code that is here
    (result,) = load(tmp_path)
    assert result.run == run


def test_a_grid_hashes_its_code_once(monkeypatch):
    from coexplore.run import editions

    hashed = []
    monkeypatch.setattr(editions, "code_hash", lambda *code, **how: hashed.append(code) or code_hash(*code, **how))
    runs = grid(Run(rule=Plain(), task=Coin(), **TINY), gain=[0.1 * i for i in range(50)], seed=range(3))
    assert len(set(runs)) == 150
    assert len(hashed) <= 4


def test_a_table_tells_editions_apart():
    runs = [Run(rule=kind(), **TINY) for kind in (Plain, edited(Plain, credit=other_credit))]
    made = frame(train(runs, progress=False))
    assert set(made["rule_edition"]) == {run.rules[0].edition[:8] for run in runs}


# In one process -------------------------------------------------------------------------------------------------------

CELL = """
from coexplore import Rule, choice, drive, outer
from coexplore.laws import Activity, Bernoulli
from coexplore.rules.baseline import Nothing
from coexplore.rules.learning_signal import Reward
import jax

@jax.jit
def compiled(d):
    return bent(d)

class Bent(Bernoulli):
    def explore(self, params, x, key):
        d = compiled(drive(params, x))
        u = jax.random.uniform(key, (1, *d.shape))
        return Activity(h=(u[0] < jax.nn.sigmoid(d)).astype(d.dtype), draws=u)

class Bending(Rule):
    name, title = "bending-of-tests", "its law names a helper"

    @property
    def law(self):
        return Bent()

    def credit(self, layer, signal, above):
        return outer(layer.x, signal * layer.h)
"""


def test_in_a_notebook_new_code_never_gets_old_numbers_nor_a_comment_a_training(tmp_path):
    notebook = {"__name__": "__main__"}

    def cell(code):
        exec(compile(textwrap.dedent(code), "<cell>", "exec"), notebook)

    def trained(folder):
        done = study(Run(rule=notebook["Bending"](), **TINY), progress=False, store=tmp_path / folder)
        (result,) = done.results
        arrays = (result.params.layers[0].W, result.snapshots["firing.0"])
        return done.trained, [np.asarray(x).tolist() for x in arrays]

    cell("def bent(d):\n    return d")
    cell(CELL)
    first = trained("a")
    cell("def bent(d):\n    # The identity.\n    return d")
    assert trained("a") == (0, first[1])
    cell("def bent(d):\n    return 3 - d")
    second = trained("a")
    assert second[0] == 1
    assert all(old != new for old, new in zip(first[1], second[1], strict=True))
    assert trained("b") == second
    cell("def bent(d):\n    return d")
    assert trained("a") == (0, first[1])
    assert trained("b") == first

    def acted(code):
        """By a network that was trained with the first helper, which a file keeps."""
        cell(code)
        (result,) = load(tmp_path / "c")
        return result.act(np.random.default_rng(0).normal(size=(64, 20)), key=0).tolist()

    trained("c")
    before = acted("")
    with pytest.warns(UserWarning, match="which acts now"):
        after = acted("def bent(d):\n    return 3 - d")
    assert after != before
    assert acted("def bent(d):\n    return d") == before


STEPS = """
import jax
import jax.numpy as jnp

def scanned(carry, d):
    return carry, bent(d)

def looped(i, d):
    return bent(d)

@jax.checkpoint
def kept(d):
    return bent(d)

@jax.jit
def compiled(d):
    return bent(d)
"""
LAW = """
import dataclasses
from coexplore import Local, Reinforce
from coexplore.laws import Bernoulli

class Bent(Bernoulli):
    def init(self, D, N, key):
        one = jnp.ones(1)
        ways = (jax.lax.scan(scanned, 0.0, one)[1], jax.lax.fori_loop(0, 1, looped, one), kept(one), compiled(one))
        return dataclasses.replace(super().init(D, N, key), b=jnp.concatenate(ways))

class Bending(Local):
    name, title = "traced-of-tests", "its law names functions that JAX has traced"
    eligibility = Reinforce.eligibility

    @property
    def law(self):
        return Bent()
"""


@pytest.mark.parametrize("again", ["", LAW], ids=["the helper", "the helper and the classes"])
def test_no_function_that_jax_has_traced_keeps_the_helper_that_it_named_before(again):
    notebook = {"__name__": "__main__"}
    of_the_user = jax.jit(lambda x: x + 1)
    of_the_user(0.0)
    exec(STEPS + LAW, notebook)
    for term in (1.0, 5.0, 1.0):
        exec(f"def bent(d):\n    return d + {term}\n{again}", notebook)
        run = Run(rule=notebook["Bending"](), **TINY)
        assert run.init().layers[0].b.tolist() == [1 + term] * 4
    assert of_the_user._cache_size() == 1


@pytest.mark.parametrize("how", ["act", "evaluate"])
def test_a_network_that_acts_with_other_code_than_it_learned_with_says_so(how):
    kind = edited(Plain, credit=other_credit)
    (result,) = train(Run(rule=kind(), **TINY), progress=False)
    kind.credit = Plain.credit
    with pytest.warns(UserWarning, match="the run means edition .*, here is edition .*, which acts now") as warned:
        result.act(np.zeros(result.run.task.size), key=0) if how == "act" else result.evaluate(episodes=2)
    assert warned[0].filename == __file__


# Tasks, functions and environments ------------------------------------------------------------------------------------


def test_a_function_of_a_bandit_is_known_by_its_code_or_by_a_version():
    def paid(state, action):
        return jnp.where((action == 1) == (state[:, 0] > 0), jnp.float32(1), jnp.float32(0))

    def made(function, **how):
        return Run(rule=Reinforce(), task=Bandit(function, size=2, name="arms-of-tests", **how), **TINY)

    one, other = made(paid), made(lambda state, action: jnp.zeros(len(state)))
    assert one == made(paid) != other
    assert one.to_dict()["task"]["edition"] == code_hash(paid, None)
    again = Run.from_dict(one.to_dict(), imported_only=True)
    assert again.task.reward(jnp.ones((1, 2)), jnp.ones(1)).tolist() == [1]
    assert made(paid, version="1") == made(lambda state, action: jnp.zeros(len(state)), version="1") != one


class Halved(gymnasium.RewardWrapper):
    def __init__(self, env, by=2):
        super().__init__(env)
        self.by = by

    def reward(self, reward):
        return reward / self.by


def test_an_environment_of_the_user_is_known_by_its_code():
    def registered(pay, maker=Probe, wrappers=()):
        gymnasium.registry.pop("mine/Edited-v0", None)
        how = {"kwargs": {"see": nothing, "pay": pay}, "additional_wrappers": wrappers, "disable_env_checker": True}
        gymnasium.register("mine/Edited-v0", entry_point=maker, **how)
        return Run(rule=Reinforce(), task=Control(env="mine/Edited-v0"), hidden=(2,), episodes=3)

    one = registered(as_action)
    assert one == registered(as_action) != registered(lambda step, coin, action: 1)
    (failure,) = study(one, progress=False).failures
    assert "task 'mine/Edited-v0': the run means edition" in failure.reason
    assert registered(as_action, functools.partial(Probe)) != registered(as_action, functools.partial(Probe, steps=2))
    wrapped = [registered(as_action, wrappers=(WrapperSpec("Halved", Halved, kwargs),)) for kwargs in ({}, {"by": 4})]
    assert len({one, *wrapped}) == 3
    assert "edition" not in Run(task=Control(env="CartPole-v1")).to_dict()["task"]
