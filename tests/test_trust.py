"""Whatever is typed ends in one line and a status, and what cannot fit is refused before it is allocated."""

import math
import os
import random
import re
import signal
import subprocess
import sys
import time
import types

import jax
import numpy as np
import pytest
from fuzz import commands
from fuzz.words import LINES, mutated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coexplore import Boltzmann, Reinforce, Run, TensorBoard, cli, grid, load, plot, rules, train
from coexplore.cli import tables
from coexplore.cli.results import tell
from coexplore.run import needs
from coexplore.run.kinds import TaskName
from coexplore.run.names import settings as names
from coexplore.run.seeded import Seeded, counted, portions
from coexplore.settings import FieldError, refusal
from coexplore.store import read
from coexplore.study import Interrupted, studies, study
from coexplore.study.progress import shown
from coexplore.tasks import registry
from coexplore.tasks.multiplexer import Multiplexer

FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SPECS = {name: spec for name, spec in names(rules.OURS, registry.TASKS.values()).items() if name != "task"}
SMALL = Run(task=Multiplexer(bits=1), hidden=(5,), episodes=160)
DIGITS = "9" * 5000
TEXTS = st.one_of(st.text(max_size=8), st.sampled_from([DIGITS, "1e400", "64-", "1..2", "٣", "²", "a/b", "\udcff\n"]))
OF_NUMPY = st.sampled_from(
    [kind(5) for kind in (np.int64, np.int8, np.uint32, np.float32, np.float64, np.bool_, np.array)]
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.just(10**5000), OF_NUMPY)
ANYTHING = st.one_of(TEXTS, NUMBERS, st.none(), st.lists(st.integers(), max_size=3))


def refused_or(make):
    """What is made, or the error that refuses to."""
    try:
        return make()
    except FieldError as error:
        return error


def is_a_line(error):
    return isinstance(error, FieldError) and str(error).isprintable() and len(str(error)) < commands.LONGEST


@FEW
@given(st.sampled_from(sorted(SPECS)), TEXTS)
def test_a_flag_is_read_or_refused_in_a_line(name, text):
    value = refused_or(lambda: SPECS[name].parse(name, text))
    assert is_a_line(value) or SPECS[name].parse(name, SPECS[name].show(value)) == value


@FEW
@given(st.sampled_from(["hidden", "episodes", "batch", "learning_rate", "signals", "seed", "critic", "rule"]), ANYTHING)
def test_a_run_is_made_and_comes_back_from_its_description_or_is_refused_in_a_line(name, value):
    run = refused_or(lambda: Run(**{name: value}))
    assert is_a_line(run) or Run.from_dict(run.to_dict()).digest == run.digest


def test_a_value_in_a_line_is_short_and_printable():
    class Silent:
        def __repr__(self):
            raise ZeroDivisionError

    for value in (DIGITS, 10**5000, "a\nb\x1b\udcff\u202e", Silent(), list(range(10**4))):
        assert is_a_line(refusal("field", value, "less"))
    assert "0x" not in str(refusal("field", object(), "less"))


FELL = {  # what once ended in a traceback, in several lines or not at all, and what it is told now
    ("train", "boltzmann", "--seeds", DIGITS): "seeds: '9999",
    ("train", "boltzmann", "--units", DIGITS): "units: '9999",
    (
        "train",
        "boltzmann",
        "--units",
        "64",
        "--steps",
        "1e300",
    ): "steps: 1e+300 is not allowed; give at most 2147483647",
    ("train", "boltzmann", "--units", "1-" * 200 + "1"): "units: [1, 1,",
    ("train", "boltzmann", "--units", "100000"): "units: 100000 needs 168 GB, this machine has 24 GB",
    ("train", "boltzmann", "--steps", "1000000000"): "steps: 1000000000 needs 196 TB, this machine has 24 GB",
    ("train", "reinforce", "--seeds", "4294967295"): "runs: the results of 4,294,967,295 runs need 74 TB, this machine",
    ("reproduce", "fig2", "--seeds", "0-4294967295"): "runs: the results of 38,654,705,664 runs need 231 TB",
    ("tune", "reinforce", "--grid", "batch=1", "--choose", "4294967295"): "choose: 4294967295 is not allowed; give at",
    ("beyond", "parity", "--seeds", "4294967295"): "seeds: 4294967295 is not allowed; give at most 10,000",
    ("train", "reinforce", "--threads", "99999"): "threads: 99999 is not allowed; give a whole number from 1 to 1024",
    ("plot", "folder.png"): "file: 'folder.png' is not allowed; give a file: there is a folder of that name",
    ("plot", "b" * 300 + ".png"): "file: 'bbbb",
    ("plot", "a\udc80.gif"): "file: 'a\\udc80.gif' is not allowed",
    ("report", "--out", "folder.html"): "out: 'folder.html' is not allowed",
    ("runs", "--store", "a" * 300): "'aaaa",
    ("train", "reinforce", "--task", "leaves:Task"): "task: 'leaves:Task' is not allowed; give a module that can be",
    ("evaluate", "nowhere", "--task", "actions_of_text:Own"): "task 'own': ",
    ("evaluate", "nowhere", "--task", "named_by_number:Own"): "name: 7 is not allowed; give letters, digits, dots",
    ("evaluate", "nowhere", "--task", "sized_by_nothing:Own"): "task 'own': size is <object object>, and should be a",
    ("train", f"--help={'a' * 5000}"): "-h/--help: ignored explicit argument 'aaa",
    ("train", "reinforce", "a\nb"): "rule: 'a\\nb' is not allowed",
}


BROKEN = """
from coexplore import Task

class Own(Task):
    name, size, actions = "own", {}, {}

    def sample(self, B, key): ...

    def reward(self, state, action): ...
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one but for what examples need, on a machine of 24 GB."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(needs, "memory", lambda: 24 * 10**9)
    for name in ("folder.png", "folder.html"):
        (tmp_path / name).mkdir()
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)")
    (tmp_path / "actions_of_text.py").write_text(BROKEN.format(2, "'x'"))
    (tmp_path / "sized_by_nothing.py").write_text(BROKEN.format("object()", 2))
    (tmp_path / "named_by_number.py").write_text(BROKEN.replace('"own"', "7").format(2, 2))
    return tmp_path


@pytest.mark.parametrize("words", FELL, ids=lambda words: " ".join(words)[:40].encode("ascii", "replace").decode())
def test_what_once_fell_is_one_line(words, folder, here):
    done = here(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"coexplore: {FELL[words]}")
    assert done.stderr.count("\n") == 1
    assert is_a_line(FieldError(done.stderr.rstrip("\n")))


NAME = "[/red][bold]:x:\u202e\x1b[31m"
SHOWN = "[/red][bold]:x:\\u202e\\x1b[31m"


def test_a_folder_may_be_called_anything(capsys, monkeypatch, tmp_path):
    """As whoever interrupts a study, or trains where there are no locks, is told."""
    tell(NAME)
    with shown([SMALL]) as show:
        show.say(NAME)
    assert capsys.readouterr().err.split("\n") == [f"coexplore: {SHOWN}"] * 2 + [""]
    tables.console().print(NAME)
    assert "[/red][bold]:x:" in capsys.readouterr().out


def test_a_task_is_checked_where_it_is_named(folder):
    with pytest.raises(FieldError, match="name: 7 is not allowed"):
        TaskName().parse("task", "named_by_number:Own")


def test_mutated_command_lines_end_in_a_line(tmp_path, monkeypatch):
    """A few, of those that only look at the store or would train; `make fuzz` tries many, and trains."""

    def stopped(*given, **how):
        raise Interrupted([])

    monkeypatch.chdir(tmp_path)  # and back again
    monkeypatch.setattr("coexplore.cli.results.study", stopped)
    commands._furnished(tmp_path)
    lines = [line for line in LINES if line[:1] in (("train",), ("tune",), ("runs",), ("reproduce",), ("list",))]
    for seed in range(60):
        rng = random.Random(seed)
        words = mutated(rng, list(rng.choice(lines)))
        assert commands.wrong(words) is None, words


def raising(*given):
    raise given[0]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyError("stream"), 1, r"coexplore: KeyError: 'stream' in test_trust.py:\d+, which is not coexplore's"),
        (MemoryError("16 TB"), 1, "memory: not enough of it here"),
        (OSError(28, "No space left on device", "runs/x"), 1, "'runs/x': No space left on device"),
        (IsADirectoryError(21, "Is a directory", "a\udcff"), 2, r"'a\\udcff': Is a directory"),
        (SystemExit(3), 1, "SystemExit: 3"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_there_is_one_way_out(error, status, line, here, monkeypatch):
    monkeypatch.setattr(cli, "_main", lambda words: raising(error))
    done = here("list")
    assert done.returncode == status
    assert done.stderr.count("\n") == 1
    assert re.search(line, done.stderr), done.stderr
    monkeypatch.setenv("COEXPLORE_DEBUG", "1")
    assert "Traceback" in here("list").stderr


def test_a_fault_of_ours_says_where_to_report_it_and_what_is_safe(here, monkeypatch):
    monkeypatch.setattr("coexplore.cli.list.list_parser", None)
    done = here("list")
    assert done.returncode == 1
    words = r"coexplore: unexpected TypeError: .* list.py:\d+: a fault of coexplore's own. What is in a store is safe"
    assert re.match(words, done.stderr)
    assert "issue tracker" in done.stderr


def test_ctrl_c_that_came_where_nothing_can_be_raised_comes_again():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does

    def lost():
        cli._again(types.SimpleNamespace(exc_value=KeyboardInterrupt()))
        for _ in range(1000):
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        lost()


def command(*words, shell="", **environment):
    """In a process of its own, which a shell has started with those ends closed."""
    line = ["bash", "-c", f'exec "$@" {shell}', "-", sys.executable, "-m", "coexplore", *map(str, words)]
    return subprocess.run(line, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_what_a_shell_has_closed_is_not_missed_and_nothing_else_gets_what_is_printed(tmp_path):
    words = ["train", "reinforce", "--units", "5", "--bits", "1", "--episodes", "160", "--store", tmp_path / "runs"]
    done = command(*words, shell="<&- >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    results, problems = read(tmp_path / "runs")
    assert (len(results), problems) == (1, [])
    done = command("nothing", shell=">&-")
    assert done.returncode == 2
    assert done.stderr.startswith("coexplore: command: 'nothing'")


@pytest.mark.learning
def test_where_jax_is_to_run_and_pictures_to_be_shown_may_be_anywhere(tmp_path):
    where = tmp_path / "runs"
    train(SMALL, engine="cpu", progress=False, store=where)
    done = command("plot", tmp_path / "x.png", "--store", where, MPLBACKEND="no such window")
    assert (done.returncode, done.stderr, (tmp_path / "x.png").exists()) == (0, "", True)
    for platforms in ("nothing", "cuda"):  # the second without a CPU, whether or not there is a GPU
        done = command("evaluate", where, JAX_PLATFORMS=platforms)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"coexplore: JAX_PLATFORMS: '{platforms}' is not allowed; give what JAX has")


@pytest.mark.parametrize("rule", rules.OURS, ids=lambda rule: rule.name)
def test_a_run_knows_how_many_parameters_it_has(rule):
    run = Run(rule=rule(), hidden=(7, 5))
    leaves = jax.tree.leaves(jax.eval_shape(run.init))
    assert sum(needs.parameters(run).values()) == sum(math.prod(leaf.shape) for leaf in leaves)


def test_what_a_run_needs_grows_with_what_asks_for_it():
    assert needs.needed(Run())["units"] == 16 * (20 * 64 + 64 + 64 * 64 + 65)
    assert needs.needed(Run(rule=Boltzmann(steps=10)))["steps"] == 4 * 256 * 3 * 10 * 64
    assert needs.needed(Run(rule=Reinforce()))["steps"] == 0
    assert [needs.size(much) for much in (999, 15 * 10**12, 24_999_999_999)] == ["999 bytes", "15 TB", "24 GB"]


def test_runs_that_are_made_as_they_go_are_those_of_a_grid():
    seeded, listed = Seeded([SMALL, SMALL], range(3)), grid(SMALL, seed=range(3))
    assert list(seeded) == listed
    assert len(seeded) == 3
    assert counted(seeded) == counted(listed) == {SMALL: 3}
    assert list(portions(seeded, 2)) == [listed[:2], listed[2:]]
    assert list(portions(listed * 2, 2)) == [listed]


def test_a_study_of_millions_begins_at_once_and_trains_portion_after_portion(monkeypatch):
    made, with_seed = [], Run.with_seed
    monkeypatch.setattr(studies, "PORTION", 2)
    monkeypatch.setattr(Run, "with_seed", lambda self, seed: made.append(seed) or with_seed(self, seed))
    monkeypatch.setattr(studies, "_train_here", lambda *given: raising(KeyboardInterrupt()))
    with pytest.raises(Interrupted):
        study(Seeded([SMALL], range(10**6)), progress=False)
    assert made == [0, 1]


def test_portions_train_what_the_whole_would(monkeypatch, tmp_path):
    whole = study(grid(SMALL, rule=[Boltzmann(), Reinforce()], seed=range(3)), engine="cpu", progress=False)
    monkeypatch.setattr(studies, "PORTION", 2)
    every = Seeded(grid(SMALL, rule=[Boltzmann(), Reinforce()]), range(3))
    parts = study(every, engine="cpu", progress=False, store=tmp_path)
    assert [result.run for result in parts.results] == [result.run for result in whole.results]
    assert all((one.curve == other.curve).all() for one, other in zip(parts.results, whole.results, strict=True))


def test_threads_are_as_many_as_fit(monkeypatch):
    much = sum(needs.needed(Run()).values())
    monkeypatch.setattr(needs, "memory", lambda: 3 * much)
    assert studies._threads([Run()], 8, 20, None) == 3
    assert studies._threads([Run()], 2, 20, None) == 2


def test_a_grid_too_large_to_make_is_refused_before_it_is_made():
    with pytest.raises(FieldError, match="grid: '1000 × 1000 values' is not allowed; give at most"):
        grid(Run(), coupling=[i / 1000 for i in range(1000)], recurrent_rate=[i + 1.0 for i in range(1000)])


NUMPY = """
import numpy as np
from coexplore import Boltzmann, Critic, Multiplexer, Run, grid

def run(whole, number):
    rule = Boltzmann(steps=whole(3), coupling=number(0.5))
    parts = {"rule": rule, "task": Multiplexer(bits=whole(1)), "critic": Critic(width=whole(7))}
    return Run(**parts, hidden=(whole(5), whole(4)), episodes=number(160), batch=whole(16), seed=whole(2))

assert run(np.int64, np.float64).to_dict() == run(np.uint8, np.float32).to_dict() == run(int, float).to_dict()
assert run(np.int64, np.float64).digest == run(np.uint8, np.float32).digest == run(int, float).digest
assert [each.hidden for each in grid(Run(), units=np.array([3, 4]))] == [(3,), (4,)]
"""


def test_numbers_of_numpy_are_numbers():
    """In a process of its own, where nobody looks at what arguments are but we."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", NUMPY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


IN_PYTHON = {
    "store: 5 is not allowed; give a path": lambda one: train(SMALL, store=5),
    r"store: 'a\\x00b' is not allowed": lambda one: train(SMALL, store="a\0b"),
    "store: b'x' is not allowed": lambda one: train(SMALL, store=b"x"),
    "cluster: 5 is not allowed": lambda one: train(SMALL, cluster=5),
    "run: 5 is not allowed": lambda one: grid(5, seed=range(2)),
    "path: None is not allowed": lambda one: load(None),
    "path: 5 is not allowed": lambda one: plot(one, 5),
    "results: None is not allowed": lambda one: plot(None),
    "folder: 5 is not allowed": lambda one: TensorBoard(5),
    "observations: 'x' is not allowed; give numbers": lambda one: one.act("x"),
}


@pytest.mark.parametrize("line", IN_PYTHON)
def test_in_python_too_a_line_names_what_is_wrong(line):
    (one,) = train(SMALL, engine="cpu", progress=False)
    with pytest.raises(FieldError, match=line):
        IN_PYTHON[line](one)
