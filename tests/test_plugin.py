"""Somebody else's package (tests/plugin): its rule, task, data, function and environment are as good as ours."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coexplore import Boltzmann, Control, Dataset, Multiplexer, Reinforce, Run, engines, load, train
from coexplore.settings import FieldError
from coexplore.store import Store
from coexplore.study import study
from coexplore.study.group import Group

PLUGIN = Path(__file__).parent / "plugin"
TINY = {"hidden": (4,), "episodes": 160, "critic": None}
CORRIDOR = "excursion:excursion/Corridor-v0"


@pytest.fixture
def excursion(monkeypatch):
    """As if it were installed."""
    monkeypatch.syspath_prepend(PLUGIN)
    import excursion

    return excursion


def runs_of(excursion):
    tasks = [excursion.Thermostat(slack=0.2), excursion.blobs, excursion.arms]
    made = [Run(rule=Reinforce(), task=task, **TINY) for task in tasks]
    made += [Run(rule=excursion.Halved(strength=0.5), task=Multiplexer(bits=1), **TINY)]
    corridor = Control(env="excursion/Corridor-v0")
    return [*made, Run(rule=Reinforce(), task=corridor, hidden=(4,), episodes=16, critic=None)]


FRESH = """
import contextlib, io, json, shlex, sys, warnings
import coexplore
from coexplore.cli import _main, train
from coexplore.run import command

store, plugin = sys.argv[1:3]

def said(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert _main(list(words)) == 0, words
    return out.getvalue()

with warnings.catch_warnings(record=True) as left_out:
    without = coexplore.load(store)
told = sorted(str(each.message).partition(": ")[2] for each in left_out)
missing = sorted(filter(None, (result.run.task.missing for result in without)))
known = sorted(sys.modules)
repeat = [command(result.run, result.provenance) for result in without]
listed = said("runs", "--store", store)

sys.path.insert(0, plugin)
loaded = coexplore.load(store)
imported = "excursion" in sys.modules
said("report", "--store", store, "--out", f"{store}/report.html")
said("runs", "--export", f"{store}/runs.json", "--store", store)
assert {row["digest"] for row in json.load(open(f"{store}/runs.json"))} == {result.digest for result in loaded}
again = {}
for result in loaded:
    line = repr(result).splitlines()[1]
    words = shlex.split(line)[2:]
    (meant,) = train.described_runs(train.read(words))
    again[result.digest] = [line, meant.digest]
    if "--task blobs" in line:
        (trained,) = json.loads(said("train", *words, "--json"))["runs"]
        assert [reward for _, reward in trained["curve"]] == [float(reward) for reward in result.curve]
print(json.dumps([told, repeat, missing, "excursion" in known, len(without), listed, len(loaded), imported, again]))
"""


COMMANDS = f"""
reinforce --episodes 160 --task thermostat --slack 0.2
reinforce --episodes 160 --task blobs
reinforce --episodes 160 --task arms
halved --episodes 160 --strength 0.5 --bits 1
reinforce --episodes 16 --task {CORRIDOR}
"""


@pytest.mark.learning
def test_all_of_it_goes_through_commands_stores_and_processes_as_ours_does(excursion, here, tmp_path):
    store, runs = tmp_path / "store", runs_of(excursion)
    for line in COMMANDS.split("\n")[1:-1]:
        words = ["train", *line.split(), "--units", "4", "--critic", "none", "--snapshots", "0", "--store", store]
        assert here(*words).returncode == 0
    digests = {run.digest for run in runs}  # the same in Python
    assert {name.partition(".")[0] for name in Store(store).names()} == digests
    done = study(runs, progress=False, store=store)
    assert (done.trained, done.problems, {result.run for result in load(store)}) == (0, [], set(runs))
    assert done.results[1].accuracy > 0.2
    _goes_on_from_checkpoints(runs, done.results, tmp_path / "interrupted")
    _is_found_by_others(store, digests, tmp_path)


def _goes_on_from_checkpoints(runs, results, store):
    for run in runs:
        engine = engines.choose(run)
        group = Group(engine, [run], [None])
        group.state = engine.advance(group.state, 3)
        assert 0 < group.done < run.updates
        group.save_checkpoint(Store(store))
        assert Store(store).checkpoint(run, engine.name, engine.built())[0].done == group.done
    done = study(runs, progress=False, store=store, snapshots=0)
    assert (done.trained, done.problems) == (len(runs), [])
    for one, other in zip(results, done.results, strict=True):
        assert np.array_equal(one.curve, other.curve)


def _is_found_by_others(store, digests, tmp_path):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [sys.executable, "-c", FRESH, str(store), str(PLUGIN)]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told, repeat, missing, imported, without, listed, loaded, then, again = json.loads(done.stdout)
    parts = [line.partition(" is not one of ours, nor installed here; ")[0] for line in told]
    assert parts == ["left out 1 run: rule: 'halved'", "left out 1 run: task: 'thermostat'"]
    assert (imported, without, loaded, then) == (False, 3, 5, True)  # a file alone makes nothing be imported
    assert "3 runs" in listed
    assert sum(f"--task {CORRIDOR} " in str(line) for line in repeat) == 1  # known from the provenance alone
    gone = ["env: 'excursion/Corridor-v0' cannot be made", "task: the data of 'blobs'", "task: the function 'arms'"]
    assert [line.startswith(start) for line, start in zip(missing, gone, strict=True)] == [True] * 3
    assert again.keys() == digests
    assert all(digest == meant for digest, (_, meant) in again.items())
    commands = [line for line, *_ in again.values()]
    assert sum(f"--task {CORRIDOR} " in line for line in commands) == 1
    assert sum("--task blobs " in line for line in commands) == 1
    assert not (store / "damaged").exists()


def test_what_is_offered_is_listed_and_a_name_that_does_not_fit_is_told(excursion, here, tmp_path, monkeypatch):
    shown = here("list").stdout
    for line in ("halved               centred on one half", "thermostat           heat, wait or cool"):
        assert line in shown
    about = tmp_path / "other-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 0.1\n")
    lines = "[coexplore.tasks]\nblob = excursion:blobs\ncorridor = excursion:Corridor\ngone = excursion:gone\n"
    (about / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)
    for name, why in (
        ("blob", "task: 'blob' stands for one that is called 'blobs'; name them alike"),
        ("corridor", "task: 'corridor' is no task, but a type"),
        ("gone", "task: 'gone' cannot be loaded: AttributeError"),
    ):
        done = here("train", "reinforce", "--task", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"coexplore: {why}")
        assert done.stderr.count("\n") == 1
        assert why in here("list").stdout


def test_every_task_that_is_listed_can_be_asked_for(here):
    shown = here("list").stdout.partition("tasks\n")[2].partition("engines\n")[0]
    names = [line.split()[0] for line in shown.splitlines()]
    assert "control" not in names
    assert len(names) >= 4
    for name in names:
        assert here("train", "reinforce", "--task", name, "--episodes", "0").stderr.startswith("coexplore: episodes: 0")
    refused = here("train", "reinforce", "--task", "control")
    assert refused.returncode == 2
    assert "did you mean 'control'" not in refused.stderr


def test_a_module_in_the_current_folder_is_found_and_bad_names_in_it_get_a_line(here, tmp_path, monkeypatch):
    text = "import numpy as np\nfrom coexplore import Boolean, Dataset\nparity = Boolean(bits=3)\nnumber = 3\n"
    text += "class Copy(Boolean):\n    pass\nclass Half(Boolean):\n    name = 'half'\n    rest: int = 3\n"
    text += "same = Dataset(np.eye(4), [0, 1, 0, 1], name='digits')\n"
    (tmp_path / "in_this_folder.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = "train reinforce --units 3 --critic none --episodes 32 --json --task"
    done = here(*words.split(), "in_this_folder:parity", "--rewards", "loss")
    (told,) = json.loads(done.stdout)["runs"]
    assert "--task in_this_folder:parity --rewards loss --function parity --bits 3" in told["command"]
    assert "in_this_folder" not in json.dumps(told["run"])
    for name, why in (
        ("number", "task: 'in_this_folder:number' is no task, but a int"),
        ("nothing", "task: 'in_this_folder:nothing' is not allowed; give a task or an environment that in_this_folder"),
        ("Copy", "name: 'boolean' is not allowed; give one that no task of ours has to Copy"),
        ("Half", "Half.rest: 'a field without a spec' is not allowed; give a setting made with number"),
        ("same", "name: 'digits' is not allowed; give one that no task of ours has"),
    ):
        done = here(*words.split(), f"in_this_folder:{name}")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"coexplore: {why}")
        assert done.stderr.count("\n") == 1


OWN_RULE = """
from coexplore import Boolean, Rule, number, outer

class Scaled(Rule):
    name, title = "{name}", "in the current folder"
    size: float = number(1.0, "a factor")

    def credit(self, layer, signal, above):
        return outer(layer.x, self.size * signal * (layer.h - 0.5))

class Parity(Boolean):
    name = "parity-of-{name}"

function = abs
"""
FRESH_RUNS = """
import json, sys
from coexplore.cli import _main
sys.exit(_main(json.loads(sys.argv[1])))
"""


@pytest.fixture
def own_rule(tmp_path, monkeypatch):
    """A module of the current folder with a rule of its name."""

    def written(name):
        (tmp_path / f"{name}.py").write_text(OWN_RULE.format(name=name))
        return f"{name}:Scaled"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return written


def test_a_rule_of_a_module_is_trained_tuned_stacked_and_repeated_by_its_command(own_rule, here):
    rule = own_rule("scaled_here")
    small = ["--units", "3", "--critic", "none", "--episodes", "32", "--json"]
    done = here("train", rule, "--size", "0.5", *small)
    (told,) = json.loads(done.stdout)["runs"]
    assert told["run"]["rule"].items() >= {"name": "scaled_here", "size": 0.5}.items()
    assert told["command"].startswith(f"coexplore train {rule} ")
    again = here(*told["command"].split()[1:], "--json")
    assert json.loads(again.stdout)["runs"][0]["run"] == told["run"]
    both = here("train", "--layers", f"{rule},reinforce", *small, "--units", "3-2")
    assert [each["name"] for each in json.loads(both.stdout)["runs"][0]["run"]["rule"]] == ["scaled_here", "reinforce"]
    tuned = here("tune", rule, "--grid", "size=0.5,1", *small[:-1], "--choose", "1", "--judge", "5-6")
    assert tuned.returncode == 0, tuned.stderr
    described = {"rule": {"name": rule, "size": 3.0}, "task": {"name": "scaled_here:Parity"}}
    run = Run.from_dict(described)
    assert (run.rules[0].name, run.rules[0].size, run.task.name) == ("scaled_here", 3.0, "parity-of-scaled_here")
    with pytest.raises(FieldError, match="not one of ours, nor installed here"):
        Run.from_dict(described, imported_only=True)  # a file makes nothing be imported


@pytest.mark.parametrize(
    ("name", "why"),
    {
        "refused_rules:Nothing": "rule: 'refused_rules:Nothing' is not allowed; give a rule that refused_rules has",
        "refused_rules:function": "rule: 'refused_rules:function' cannot be used: ",
        "no_module:Rule": "rule: 'no_module:Rule' is not allowed; give a module that can be imported (",
        "./refused_rules.py:Scaled": "rule: './refused_rules.py:Scaled' is not allowed; give MODULE:NAME",
        "refused_rules.py:Scaled": "rule: 'refused_rules.py:Scaled' is not allowed; give MODULE:NAME",
    }.items(),
)
def test_what_is_no_rule_of_a_module_gets_a_line(own_rule, here, name, why):
    own_rule("refused_rules")
    done = here("train", name, "--episodes", "32")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"coexplore: {why}")


@pytest.mark.learning
def test_runs_of_a_rule_are_listed_where_its_module_lies_or_is_named(own_rule, tmp_path):
    rule = own_rule("scaled_there")
    (tmp_path / "other").mkdir()

    def said(folder, *words):
        command = [sys.executable, "-c", FRESH_RUNS, json.dumps(words)]
        env = os.environ | {"PYTHONPATH": ""}
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)

    done = said(tmp_path, "train", rule, "--units", "3", "--critic", "none", "--episodes", "32", "--store", "runs")
    assert done.returncode == 0, done.stderr
    assert "scaled_there" in said(tmp_path, "runs").stdout
    stored = ("--store", str(tmp_path / "runs"))
    absent = said(tmp_path / "other", "runs", *stored)
    assert (absent.returncode, absent.stdout) == (1, "")
    assert "left out 1 run: rule: 'scaled_there'" in absent.stderr
    (tmp_path / "other" / "scaled_there.py").write_text("raise SystemExit('this module defines no such rule')")
    assert said(tmp_path / "other", "runs", *stored).stderr == absent.stderr
    (tmp_path / "other" / "scaled_there.py").unlink()
    (tmp_path / "scaled_there.py").rename(tmp_path / "other" / "elsewhere.py")
    named = said(tmp_path / "other", "runs", *stored, "--select", "rule=elsewhere:Scaled")
    assert (named.returncode, "scaled_there" in named.stdout) == (0, True)


def test_the_command_is_a_module_too(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["coexplore", "--version"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("coexplore", run_name="__main__")
    assert capsys.readouterr().out.startswith("coexplore ")


def test_a_file_that_the_class_of_today_cannot_make_again_is_neither_damaged_nor_trained_twice(tmp_path):
    """As in a notebook, where a class of the same name is defined again."""
    from coexplore import Boolean, count

    class First(Boolean):
        name, title = "in-a-notebook", "as it was"
        level: int = count(1, "what it was")

    run = Run(rule=Boltzmann(steps=1), task=First(level=2), **TINY)
    train(run, progress=False, store=tmp_path)

    class Second(Boolean):
        name, title = "in-a-notebook", "as it is"

    done = study(run, progress=False, store=tmp_path)
    assert (done.trained, done.problems) == (0, [])
    assert done.results[0].params is not None
    with pytest.raises(ValueError, match="'in-a-notebook' is another here than where it was written"):
        load(tmp_path)
    assert Store(tmp_path).path(run, "xla").exists()
    assert not (tmp_path / "damaged").exists()


def test_data_that_are_not_here_leave_curves_parameters_and_a_line_that_says_what_to_give(tmp_path, here, forget):
    x, y = np.random.RandomState(1).randn(20, 3), np.arange(20) % 2
    data = Dataset(x, y, name="mine")
    run = Run(rule=Reinforce(), task=data, **TINY)
    (kept,) = train(run, progress=False, store=tmp_path)
    sha256, seen = data.sha256, kept.act(x, 0)
    del data, run, kept
    import gc

    forget()  # whatever still holds the data
    gc.collect()
    (result,) = load(tmp_path)
    wanted = f"make the Dataset of 3 inputs and 2 labels whose sha256 is {sha256[:12]}… first"
    assert result.run.task.missing == f"task: the data of 'mine' are not here; {wanted}"
    assert len(result.curve) == 8
    assert result.accuracy is not None
    assert np.array_equal(result.act(x, 0), seen)
    with pytest.raises(FieldError, match="the data of 'mine' are not here"):
        train(result.run, progress=False)
    assert "task=mine" not in here("runs", "--store", tmp_path).stderr
    again = Dataset(x, y, name="mine")
    assert again.sha256 == sha256
    assert result.run.task.missing is None
    assert study(Run(rule=Reinforce(), task=again, **TINY), progress=False, store=tmp_path).trained == 0
