"""Rules, tasks and environments of somebody's own that are broken: one line says whose, and what; the others train."""

import re
import sys
import textwrap
import types

import jax
import jax.numpy as jnp
import mutants
import numpy as np
import pytest
from mutants import GOOD, SHORT, World, a_rule, a_task, affine, after, an_environment, credit, raising

from coexplore import (
    STOP,
    Control,
    Message,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    grid,
    outer,
    rules,
    train,
)
from coexplore.engines import guard
from coexplore.settings import FieldError, Unknown
from coexplore.study import study
from coexplore.tasks import registry


@pytest.fixture(scope="module")
def good():
    return Run(rule=a_rule()(), task=a_task()(), **SHORT)


def reasons(done):
    return {failure.run: failure.reason for failure in done.failures}


def test_a_hundred_mutants_get_a_line_each_and_the_good_runs_of_their_study_finish(good, tmp_path):
    made = list(mutants.runs())
    assert len(made) >= 100
    done = study([good, *(run for run, *_ in made)], progress=False, store=tmp_path)
    assert [result.run for result in done.results] == [good]
    found = reasons(done)
    assert len(found) == len(done.failures) == len(made)
    wrong = {f"{who}{words}": found[run] for run, who, words in made if not _is_line(found[run], who, words)}
    assert not wrong
    assert study([good], progress=False, store=tmp_path).trained == 0


def _is_line(line, who, words):
    return line.startswith(who) and words in line and "\n" not in line and len(line) < 300


def test_a_transposed_credit_is_found_where_all_parameters_are_one_vector():
    rule = a_rule(credit=after(credit, lambda c: affine(c.W.T, c.b)))()
    run = Run(rule=rule, task=Control(env=an_environment()), hidden=2, episodes=2)
    line = f"rule {rule.name!r}: W of credit has shape [2, 3], and should have [3, 2] (and 2 more seeds)"
    with pytest.raises(RuntimeError, match=re.escape(line)):
        train(grid(run, seed=range(3)), progress=False)


def following(self, layer, signal, above):
    """By the slope of `above`, which a rule may also take by itself."""
    slope = jax.grad(lambda h: above(h).sum())(layer.h)
    return outer(layer.x, signal * slope)


def by_slope(self, layer, signal, above):
    return outer(layer.x, signal * above.slope(layer.h))


def message(self, layer, above):
    return Message(layer.params, lambda d: (d * layer.h).sum(axis=1))


@pytest.mark.parametrize("follow", [following, by_slope])
def test_a_layer_that_follows_a_slope_must_hear_one_from_the_layer_above(follow, good):
    without, flips = a_rule(credit=follow)(), a_rule(credit=UnbiasedWeightMax.credit, expected=False)()
    with_message = a_rule(credit=follow, message=message)()
    two = SHORT | {"hidden": (2, 2)}
    layers = [(without, without), (StraightThrough(), without)]
    fits = [(with_message, with_message), (without, with_message), (flips, flips), (Reinforce(), without)]
    runs = [Run(rule=pair, task=good.task, **two) for pair in (*layers, *fits)]
    done = study([*runs, Run(rule=without, task=good.task, **SHORT)], progress=False)
    found = reasons(done)
    assert list(found) == runs[:2]
    for line in found.values():
        assert re.match(rf"rule {without.name!r} \(layer 2\): .*`message`", line)


def test_agents_need_a_credit_that_is_linear_in_the_signal(good):
    env, usual = an_environment(), {"hidden": 2, "episodes": 2, "critic": None}

    def of_delta(function):
        return a_rule(credit=lambda self, layer, signal, above: outer(layer.x, function(signal) * (layer.h - 0.5)))()

    refused = [of_delta(jnp.sign), of_delta(lambda d: jnp.maximum(d, 0.0)), of_delta(lambda d: d + 0.1)]
    runs = [Run(rule=rule, task=Control(env=env), **usual) for rule in (*refused, of_delta(lambda d: 0.3 * d))]
    done = study(runs, progress=False)
    assert list(reasons(done)) == runs[:3]
    for run, line in reasons(done).items():
        assert re.match(rf"rule {run.rule.name!r}: W of credit is not linear in the signal", line)
    assert not study(Run(rule=refused[0], task=good.task, **SHORT), progress=False).failures


def late(self, layer, *rest):
    """Finite until the biases have moved."""
    found = credit(self, layer, *rest)
    return affine(found.W, jnp.where(jnp.abs(layer.params.b).max() > 0.02, jnp.inf, found.b))


def test_numbers_that_are_none_are_found_when_they_come_and_whose_they_are(good):
    def nan(x):
        return x * jnp.nan

    broken = {
        Run(rule=a_rule(credit=late)(), task=good.task, **SHORT): r"rule '.*': b of credit is not finite, in update \d",
        Run(rule=good.rule, task=a_task(reward=after(GOOD["reward"], nan))(), **SHORT): (
            "task '.*': what reward gives is not finite, in update 1"
        ),
        Run(rule=good.rule, task=good.task, **SHORT, learning_rate=1e38, seed=1): (
            r"rule '.*': . is no longer finite after \d updates; a lower learning rate may help"
        ),
    }
    done = study([good, *broken], progress=False)
    assert [result.run for result in done.results] == [good]
    found = reasons(done)
    assert len(found) == len(broken)
    for run, line in broken.items():
        assert re.fullmatch(line, found[run]), found[run]
    alone, beside = train(good, progress=False)[0], done.results[0]
    assert np.array_equal(alone.curve, beside.curve)


def test_agents_whose_rule_gives_no_numbers_are_found():
    rule = a_rule(credit=after(credit, lambda c: affine(c.W, c.b / 0)))()
    run = Run(rule=rule, task=Control(env=an_environment()), hidden=2, episodes=2, critic=None)
    (failure,) = study(run, progress=False).failures
    assert failure.reason == f"rule {rule.name!r}: b of credit is not finite, in step 1"


@pytest.mark.learning
def test_an_environment_that_breaks_later_ends_its_run_and_not_its_neighbours(monkeypatch):
    """In the fourth episode of one seed of three, which are trained together."""
    env, episodes = an_environment(), []
    reset = World.reset

    def counted(self, *, seed=None, options=None):
        episodes.append(seed)
        return reset(self, seed=seed)

    run = Run(rule=Reinforce(), task=Control(env=env), hidden=2, episodes=6, critic=None)
    alone = train(grid(run, seed=[0, 2]), progress=False)
    monkeypatch.setattr(World, "reset", counted)
    run = Run(rule=Reinforce(), task=Control(env=env), hidden=2, episodes=6, critic=None)  # of this code
    train(run.with_seed(1), progress=False)
    last = episodes[-4]
    for broken, line in (
        ({"reset": raising("OSError: no more")}, f"environment {env!r}: it raises OSError: no more"),
        ({"step": lambda told: (told[0] * np.nan, *told[1:])}, f"environment {env!r}: an observation is not finite, "),
        ({"step": lambda told: (told[0], np.nan, *told[2:])}, f"environment {env!r}: a reward is not finite, in step "),
    ):

        def breaking(self, *, seed=None, options=None, broken=broken):
            self.broken = broken if seed == last else {}
            return reset(self, seed=seed)

        monkeypatch.setattr(World, "reset", breaking)
        done = study(grid(run, seed=range(3)), progress=False)
        (failure,) = done.failures
        assert failure.run.seed == 1
        assert failure.reason.startswith(line)
        assert [result.run.seed for result in done.results] == [0, 2]
        assert all(np.array_equal(a.curve, b.curve) for a, b in zip(alone, done.results, strict=True))
    stop = {"callback": lambda moment: STOP if moment.run.seed == 0 else None, "snapshots": 6}  # … before it breaks
    done = study(grid(run, seed=range(3)), progress=False, **stop)
    assert [[one.run.seed for one in some] for some in (done.stopped, done.failures, done.results)] == [[0], [1], [2]]


def test_an_environment_that_cannot_be_made_is_refused():
    import gymnasium

    gymnasium.register("mutant/Nowhere-v0", entry_point=raising("ValueError: no\nworld"))
    with pytest.raises(FieldError, match="env: 'mutant/Nowhere-v0' cannot be made: ValueError: no world"):
        train(Run(task=Control(env="mutant/Nowhere-v0")), progress=False)


def test_what_is_ours_is_not_tried_out(monkeypatch):
    monkeypatch.setattr(guard, "_check_task", None)
    monkeypatch.setattr(guard, "_try_out", None)
    assert guard.fault(Run()) is None
    assert guard.fault(Run(rule=Reinforce(), task=Control())) is None


def test_a_setting_is_tried_out_once_whatever_its_numbers_and_seeds(monkeypatch, good):
    tried, try_out = [], guard._try_out
    monkeypatch.setattr(guard, "_try_out", lambda run: tried.append(run) or try_out(run))
    rule = a_rule()()
    assert not any(map(guard.fault, grid(Run(rule=rule, task=good.task, **SHORT), learning_rate=[0.1, 0.2])))
    assert len(tried) == 1


@pytest.mark.parametrize("name", [np.zeros(3), object(), 7])
def test_a_name_that_is_no_text_is_nobodys(name, monkeypatch):
    task, _ = a_task(name=name), a_rule(name=name)
    for find in (registry.find, rules.imported):
        with pytest.raises(Unknown, match="'lonely' is not one of ours"):
            find("lonely")
    plug = types.SimpleNamespace(name="lonely", load=lambda: task)
    monkeypatch.setattr(registry, "offered", lambda group: {"lonely": plug})
    with pytest.raises(FieldError, match=r"'lonely' stands for one that is called (array.*|<object object>|7); name"):
        registry.named("lonely")


def test_a_task_whose_batch_is_none_is_refused_whatever_the_runs():
    with pytest.raises(FieldError, match=r"Task\d+.batch: '' is not allowed; give a whole number of at least 1"):
        Run(task=a_task(batch="")(), batch=16, episodes=160)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: Run(rule=a_rule(name="reinforce")()),
            "name: 'reinforce' is not allowed; give one to .* not Reinforce's",
        ),
        (lambda: Run(rule=a_rule(title=3)()), r"Rule\d+.title: 3 is not allowed; give a text"),
        (lambda: Run(rule=a_rule(name=None)()), r"rule: Rule\d+ does not say its name: AttributeError: "),
        (lambda: Run(task=a_task(episodes="many")()), "episodes: 'many' is not allowed; give a whole number"),
        (
            lambda: Run(task=a_task(graded=property(raising("OSError: gone")))()),
            r"task: Task\d+ does not say its graded: OSError: gone",
        ),
    ],
)
def test_what_a_run_cannot_be_made_of_is_refused_in_one_line(make, line):
    with pytest.raises(FieldError, match=line):
        make()


# Through the command --------------------------------------------------------------------------------------------------

MODULE = """
from coexplore import Rule, outer
from coexplore.units import Affine


class Good(Rule):
    name, title = "good", "good"

    def credit(self, layer, signal, above):
        return outer(layer.x, signal * layer.h)


class Tilted(Good):
    name = "tilted"

    def credit(self, layer, signal, above):
        return layer.params.W.T


class Raising(Good):
    name = "raising"

    def credit(self, layer, signal, above):
        raise KeyError("not there")


class Endless(Good):
    name = "endless"

    def credit(self, layer, signal, above):
        return outer(layer.x, layer.h / 0)


class Idle(Rule):
    name, title = "idle", "without credit"


class Misnamed(Good):
    name = "somebody else"


def function(params):
    return params
"""
ENTRIES = {each.lower(): each for each in ("Good", "Tilted", "Raising", "Endless", "Idle", "Misnamed")} | {
    "plain": "function"
}
TINY = ["--units", "2", "--bits", "1", "--episodes", "1600", "--critic", "none"]


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text(textwrap.dedent(MODULE))
    about = tmp_path / "broken-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n")
    lines = [f"{name} = broken_package:{target}" for name, target in ENTRIES.items()]
    (about / "entry_points.txt").write_text("\n".join(["[coexplore.rules]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_package", raising=False)


FAILING = {
    "tilted": "rule 'tilted': credit is an array, and should be an Affine of W, b, as the parameters are",
    "raising": "rule 'raising': credit raises KeyError: 'not there'",
    "endless": "rule 'endless': W of credit is not finite, in update 1",
}


def test_the_command_names_broken_rules_trains_the_others_and_ends_with_1(plug_ins, here):
    done = here("train", *FAILING, "good", *TINY, "--seeds", "2")
    assert done.returncode == 1
    for name, line in FAILING.items():
        words = rf"coexplore: failed: coexplore train {name} .* --engine xla: {line} \(and 1 more seed\)\n"
        assert re.search(words, done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(r"good .* 2 ", done.stdout)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("idle", "TypeError: Can't instantiate abstract class Idle with.* abstract method '?credit'?"),
        ("misnamed", "Misnamed calls itself 'somebody else'"),
        ("plain", "<function function> is not a subclass of coexplore.Rule"),
    ],
)
def test_the_command_refuses_what_is_no_rule_and_ends_with_2(name, line, plug_ins, here):
    done = here("train", "good", name, *TINY)
    assert done.returncode == 2
    assert re.fullmatch(f"coexplore: rule: '{name}' cannot be used: {line}\n", done.stderr), done.stderr
    assert f"'{name}' cannot be used" in here("list").stdout
