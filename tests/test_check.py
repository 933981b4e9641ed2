"""`coexplore check`: a line for each check, and what checks find in rules and tasks that are wrong."""

import sys
from types import ModuleType

import jax.numpy as jnp
import pytest
from test_liveness import Idle

from coexplore import Multiplexer, Reinforce, Rule, Task, outer
from coexplore.cli import check
from coexplore.engines import conformance
from coexplore.engines.conformance import Finding


class Neighbours(Rule):
    """Scales the signal of an episode by the largest of its batch."""

    name, title = "neighbours-of-tests", "δ / max δ"

    def credit(self, layer, signal, above):
        return outer(layer.x, signal / jnp.abs(signal).max() * layer.h)


class Generous(Multiplexer):
    """Pays more than it says."""

    name = "generous-of-tests"

    def reward(self, state, action):
        return 2 * super().reward(state, action)


def of_rule(kind, what):
    return dict(conformance._of_rule(kind))[what]()


@pytest.mark.learning
def test_a_setting_without_effect_is_found_and_others_are_not():
    assert of_rule(Idle, "unread has an effect") == "no value of it changes anything; tried 0.5, 0.9"
    assert of_rule(Idle, "scale has an effect") is None


def test_episodes_that_change_each_others_credit_are_found():
    what = "an episode's credit does not depend on its neighbours"
    assert "not a mean over the batch" in of_rule(Neighbours, what)
    assert of_rule(Reinforce, what) is None


def test_a_reward_beyond_the_range_is_found():
    checks = {task.name: dict(conformance._of_task(task)) for task in (Generous(), Multiplexer())}
    what = "rewards are within its reward_range"
    assert checks["generous-of-tests"][what]() == "a reward of 2 is above 1, the largest mean reward that it states"
    assert checks["multiplexer"][what]() is None


@pytest.mark.parametrize(("wrong", "status"), [(None, 0), ("it raises OSError: gone", 1)])
def test_each_check_is_a_line_and_the_status_says_whether_any_failed(wrong, status, here, monkeypatch):
    found = [Finding("one layer learns", None), Finding("two layers learn", wrong)]
    monkeypatch.setattr(check, "check_rule", lambda kind: iter(found))
    done = here("check", "reinforce")
    assert done.returncode == status
    first, second, last = done.stdout.splitlines()
    assert first == "ok     one layer learns"
    assert second == (f"wrong  two layers learn: {wrong}" if wrong else "ok     two layers learn")
    assert last.startswith("reinforce: ")


def test_what_is_no_rule_and_no_task_is_refused_in_a_line(here, monkeypatch):
    module = ModuleType("parts_of_tests")
    module.nothing = 3
    monkeypatch.setitem(sys.modules, "parts_of_tests", module)
    for name, words in (("parts_of_tests:gone", "a rule or a task"), ("parts_of_tests:nothing", "neither a Rule nor")):
        done = here("check", name)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert words in done.stderr


def test_a_task_is_found_by_its_class_too(here, monkeypatch):
    module, seen = ModuleType("parts_of_tests"), []
    module.Generous = Generous
    monkeypatch.setitem(sys.modules, "parts_of_tests", module)
    monkeypatch.setattr(check, "check_task", lambda task: seen.append(task) or iter([]))
    assert here("check", "parts_of_tests:Generous").returncode == 0
    assert [type(task) for task in seen] == [Generous]
    assert isinstance(seen[0], Task)
