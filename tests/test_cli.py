"""The command, as a user meets it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from coexplore import Run, load
from coexplore.paper import figure
from coexplore.study import Interrupted

COEXPLORE = [str(Path(sys.executable).parent / "coexplore")]
PLAIN = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}  # as a user has it
SMALL = ["--units", "5", "--bits", "1", "--episodes", "1600"]


def coexplore(*words):
    """The command in a process of its own: for what only that can show, since its imports take a second or two."""
    return subprocess.run([*COEXPLORE, *words], capture_output=True, text=True, env=PLAIN, check=False)


def test_train_writes_a_table_a_picture_and_results(tmp_path, here):
    out = tmp_path / "deep" / "out"
    done = here(
        "train", "boltzmann", "reinforce", *SMALL, "--coupling", "0", "0.4..0.1", "--seeds", "2", "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    for label in ("boltzmann coupling=0", "boltzmann coupling=0.4..0.1", "reinforce", "±", "first quarter"):
        assert label in done.stdout
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((out / "results.json").read_text())
    assert len(report["runs"]) == 6
    assert {result.run.digest for result in load(out)} == {run["digest"] for run in report["runs"]}


def test_json_is_one_object_and_nothing_else_and_its_command_repeats_the_run(here):
    done = here("train", "recurrent", *SMALL, "--seed", "3", "--json")
    report = json.loads(done.stdout)
    assert set(report) == {"seconds", "compile_seconds", "settings", "runs"}
    (run,), (setting,) = report["runs"], report["settings"]
    assert set(run) == {"run", "command", "digest", "engine", "reward", "first", "last", "frozen", "curve"}
    assert (setting["last"]["mean"], setting["last"]["frozen"]) == (run["last"], 0)
    assert Run.from_dict(run["run"]).digest == run["digest"]
    assert run["engine"] == "cpu"
    assert len(run["curve"]) == 100
    assert run["curve"][-1][0] == 1600
    assert run["reward"] == pytest.approx(np.mean([r for _, r in run["curve"]]), abs=1e-6)
    assert run["first"] == pytest.approx(np.mean([r for _, r in run["curve"][:25]]), abs=1e-6)
    again = json.loads(here(*run["command"].split()[1:], "--json").stdout)
    assert again["runs"] == report["runs"]


def test_ctrl_c_ends_between_chunks_with_status_130_and_keeps_what_was_finished(tmp_path):
    words = ["train", "reinforce", *SMALL[:4], "--episodes", "2000000000", "--engine", "xla", "--out", str(tmp_path)]
    process = subprocess.Popen([*COEXPLORE, *words], stderr=subprocess.PIPE, text=True, env=PLAIN)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("plans/*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "coexplore: interrupted; 0 of 1 runs were finished" in stderr
    assert "Traceback" not in stderr


def test_list_names_rules_tasks_and_engines_with_a_line_for_each(here):
    lines = here("list").stdout.splitlines()
    assert {line.split()[0] for line in lines} >= {
        "rules",
        "reinforce",
        "boltzmann",
        "recurrent",
        "multiplexer",
        "cpu",
        "xla",
    }
    assert all(len(line.split()) > 2 for line in lines if line.startswith(" "))
    assert "docs/rules/NAME.md" in lines[-1]


def test_help_explains_every_flag(here):
    text = " ".join(here("train", "recurrent", "--help").stdout.split())
    of_rule = ("coupling", "steps", "trace-decay", "learning-signal", "baseline")
    for flag in (*of_rule, "bits", "encoding", "rewards"):
        assert f"--{flag} " in text
    for below in ("baseline-strength", "baseline-rate", "critic-width"):
        assert f"--{below}: " in text
    for flag in ("units", "episodes", "batch", "learning-rate", "critic", "seed", "seeds", "engine"):
        assert f"--{flag} " in text
    assert here("--help").returncode == 0
    assert here().returncode == 2


BAD = {
    "train boltzman": "rule: 'boltzman' is not allowed (did you mean 'boltzmann'?)",
    "train": "rule: '' is not allowed",
    "trian boltzmann": "command: 'trian' is not allowed (did you mean 'train'?)",
    "train boltzmann --couplng 1": "flag: '--couplng' is not allowed (did you mean '--coupling'?)",
    "train boltzmann --coupling": "--coupling: expected at least one argument",
    "train boltzmann --coupling -1": "coupling: -1.0 is not allowed; give a finite number of at least 0",
    "train boltzmann --coupling nan": "coupling: nan is not allowed",
    "train boltzmann --coupling x": "coupling: 'x' is not allowed",
    "train boltzmann --coupling 1..2..3": "coupling: '1..2..3' is not allowed",
    "train boltzmann --steps 0": "steps: 0 is not allowed; give a whole number of at least 1",
    "train boltzmann --steps 1.5": "steps: 1.5 is not allowed",
    "train boltzmann --trace-decay 1": "flag: '--trace-decay' is not allowed",
    "train recurrent --trace-decay 1.1": "trace_decay: 1.1 is not allowed; give a number from 0 to 1",
    "train reinforce --baseline foo": "baseline: 'foo' is not allowed; give none | probability | predicted",
    "train ste --learning-signal foo": "learning_signal: 'foo' is not allowed; give reward | advantage",
    "train boltzmann --baseline none --baseline-pairs 0.5": "baseline_pairs: 0.5 is not allowed; give it with baseline",
    "train boltzmann --centring predicted": "--centring predicted is written otherwise now; give --baseline predic",
    "train reinforce --centring=none": "--centring none is written otherwise now; give --learning-signal reward --base",
    "train boltzmann --chains 4": "--chains 4 is written otherwise now; give --baseline chains --baseline-chains 4",
    "train --centring both --layers ste,ste": "--centring both is written otherwise now; give nothing",
    "train reinforce --units 64-": "units: '64-' is not allowed",
    "train reinforce --units 0": "units: [0] is not allowed",
    "train reinforce --bits 9": "bits: 9 is not allowed; give a whole number from 1 to 6",
    "train reinforce --episodes 100": "episodes: 100 is not allowed; give a multiple of the batch, 16",
    "train reinforce --learning-rate 0": "learning_rate: 0.0 is not allowed",
    "train reinforce --learning-rate .1/.2": "learning_rate: (0.1, 0.2) is not allowed; give one rate, or 3",
    "train reinforce --critic relux": "critic: 'relux' is not allowed (did you mean 'relu'?)",
    "train reinforce --critic none --critic-width 3": "critic_width: 3 is not allowed",
    "train reinforce --seeds 0": "seeds: '0' is not allowed",
    "train reinforce --seeds 2 --seed 1": "seed: 1 is not allowed; give either --seed or --seeds",
    "train map-prop --engine cpu": "engine: 'cpu' is not allowed; give another than cpu: it does not train map-prop",
    "train reinforce --threads 0": "threads: 0 is not allowed; give a whole number from 1 to 1024",
    "train reinforce --snapshots -1": "snapshots: -1 is not allowed; give a whole number from 0 to 10000",
    "reproduce fig2 --snapshots few": "snapshots: 'few' is not allowed; give a whole number from 0 to 10000",
    "train reinforce --engine gpu": "engine: 'gpu' is not allowed (did you mean 'cpu'?); give one of auto, cuda",
    "train weight-max --preset autor": "preset: 'autor' is not allowed (did you mean 'author'?)",
    "train boltzmann --preset author": "preset: 'author' is not allowed; give one that boltzmann has: none",
    "train unbiased-weight-max --expected maybe": "expected: 'maybe' is not allowed; give yes | no",
    "train reinforce --out /proc/nowhere": "out: '/proc/nowhere' is not allowed",
    "list everything": "flag: 'everything' is not allowed",
    "reproduce fig22": "figure: 'fig22' is not allowed (did you mean 'fig2'?)",
    "reproduce fig2 --scale papr": "scale: 'papr' is not allowed (did you mean 'paper'?)",
    "reproduce fig2 --seeds x": "seeds: 'x' is not allowed",
    "reproduce fig2 --store /proc/nowhere": "store: '/proc/nowhere' is not allowed",
    "claims --store nowhere": "nowhere: there is no such file",
    "runs lst": "action: 'lst' is not allowed (did you mean 'list'?)",
    "runs pack": "file: '' is not allowed; give a file after `runs pack`",
    "runs export x.csv": "action: 'export' is not allowed; give list | pack | prune",
    "runs list x.csv": "file: 'x.csv' is not allowed",
    "runs --export x.txt": "export: 'x.txt' is not allowed; give a name that ends in .csv or .json or .parquet",
    "runs --export /nowhere/x.csv": "export: '/nowhere/x.csv' is not allowed; give a file in a folder that exists",
    "runs --curves": "curves: '' is not allowed; give it with --export FILE",
    "runs prune --sort last": "sort: 'last' is not allowed; give it without prune",
    "completion tcsh": "shell: 'tcsh' is not allowed; give bash | zsh | fish",
    "runs prune --store nowhere": "store: 'nowhere' is not allowed",
    "plot": "the following arguments are required: FILE",
    "plot curves.gif": "file: 'curves.gif' is not allowed",
    "report --out report.pdf": "out: 'report.pdf' is not allowed; give a name that ends in .html",
    "report --out /nowhere/report.html": "out: '/nowhere/report.html' is not allowed",
    "report --store nowhere": "nowhere: there is no such file",
    "report --serve --store nowhere": "nowhere: there is no such file",
    "report --serve --port x": "port: 'x' is not allowed; give a whole number from 0 to 65535",
    "plot /nowhere/x.png": "file: '/nowhere/x.png' is not allowed; give a file in a folder that exists",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_gets_one_line_and_status_2(words, here):
    done = here(*words.split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"coexplore: {BAD[words]}")
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_bad_input_leaves_the_real_command_the_same_way():
    done = coexplore("train", "boltzman")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def tiny(monkeypatch):
    """At a scale of its own: what the command does is the same at any length."""
    monkeypatch.setitem(figure.SCALES, "quick", figure.Scale(1600, 2))


@pytest.mark.usefixtures("tiny")
def test_a_figure_is_reproduced_judged_and_trained_only_once(here, tmp_path):
    words = ["--scale", "quick", "--store", str(tmp_path / "s"), "--out", str(tmp_path)]
    for trained in ("20 runs trained", "0 runs trained"):
        done = here("reproduce", "fig5", *words)
        assert done.returncode == 0
        assert trained in done.stdout
    assert "F5.1" in done.stdout
    assert "F2.1" not in done.stdout
    assert (tmp_path / "fig5.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "fig5.svg").read_text()
    verdicts = json.loads((tmp_path / "claims.json").read_text())
    assert [verdict["id"] for verdict in verdicts] == [f"F5.{i}" for i in range(1, 8)]
    assert {verdict["seeds"] for verdict in verdicts} == {2}
    assert "F5.7" in (tmp_path / "claims.md").read_text()


@pytest.mark.usefixtures("tiny")
def test_claims_of_other_figures_that_were_judged_before_stay_in_the_files(here, tmp_path, monkeypatch):
    def judged():
        found = [verdict["id"] for verdict in json.loads((tmp_path / "claims.json").read_text())]
        assert found == re.findall(r"^\| (\w[\w.]+) \|", (tmp_path / "claims.md").read_text(), re.M)
        return found

    monkeypatch.setattr("coexplore.cli.reproduce.draw_figures", lambda *args: None)
    words = ["--scale", "quick", "--seeds", "1", "--store", str(tmp_path / "s"), "--out", str(tmp_path)]
    second, fifth = ([f"F{figure}.{i}" for i in range(1, 8)] for figure in (2, 5))
    assert here("reproduce", "fig5", *words).returncode == 0
    assert judged() == fifth
    assert here("reproduce", "fig2", *words).returncode == 0
    assert judged() == [*second, *fifth]
    (tmp_path / "claims.json").write_text('[{"id": "F2.1"}, 3]')  # not ours: it does not get in the way
    assert here("reproduce", "fig5", *words).returncode == 0
    assert judged() == fifth


def test_an_interrupted_command_leaves_earlier_results_as_they_were(here, tmp_path, monkeypatch):
    def stop(*args, **kwargs):
        raise Interrupted([])

    monkeypatch.setattr("coexplore.cli.results.study", stop)
    for name in ("results.json", "claims.json", "digits.md"):
        (tmp_path / name).write_text("earlier results")
    for words in (["train", "reinforce", *SMALL], ["reproduce", "figa3"], ["beyond", "digits"]):
        store = [] if words[0] == "train" else ["--store", str(tmp_path / "s")]
        assert here(*words, *store, "--out", str(tmp_path)).returncode == 130
    assert {path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"earlier results"}


def test_a_flag_and_its_value_may_be_one_word(monkeypatch, here):
    asked = []
    monkeypatch.setattr(
        "coexplore.cli.train.train_all", lambda runs, options, store: asked.append((list(runs), options))
    )
    for words in (
        "train recurrent --task CartPole-v1 --discount 0.9 --seeds 2",
        "train map-prop --preset cartpole --anneal 7",
        "train --layers boltzmann,reinforce --units 8-4 --coupling 0.1 --engine xla --threads 1",
        "train unbiased-weight-max --expected yes --episodes 160 --bits 1",
    ):
        for line in (words, re.sub(r"(--[\w-]+) (?=\w)", r"\1=", words)):
            assert here(*line.split()).returncode == 130
        (apart, one), (joined, other) = asked[-2:]
        assert list(apart) == list(joined)
        assert one == other
    assert next(iter(asked[0][0])).task.discount == 0.9
    assert asked[2][0][0].task.anneal == 7


def test_runs_are_listed_exported_packed_plotted_judged_and_pruned(tmp_path, here):
    store, pack = str(tmp_path / "store"), str(tmp_path / "pack.safetensors")
    assert here("train", "reinforce", "ste", *SMALL, "--seeds", "2", "--store", store).returncode == 0
    listed = here("runs", "--store", store, "--select", "rule=ste,units=5")
    assert "2 runs (cpu), 0 of them frozen" in listed.stdout
    assert "reinforce" not in listed.stdout
    assert here("runs", "--export", str(tmp_path / "x.csv"), "--store", store).returncode == 0
    rows = (tmp_path / "x.csv").read_text().splitlines()
    assert len(rows) == 5
    assert rows[0].startswith("setting,rule,")
    assert here("runs", "pack", pack, "--store", store).returncode == 0
    here("runs", "--export", str(tmp_path / "x.json"), "--store", pack, "--select", "seed=1")
    assert {run["seed"] for run in json.loads((tmp_path / "x.json").read_text())} == {1}
    assert here("plot", str(tmp_path / "x.svg"), "--store", pack).returncode == 0
    assert "<svg" in (tmp_path / "x.svg").read_text()
    claims = json.loads(here("claims", "--store", pack, "--json").stdout)
    assert {claim["verdict"] for claim in claims if not claim["proof"]} == {"not run"}
    assert "3 files removed" in here("runs", "prune", "--store", store, "--select", "rule=ste").stdout
    none = here("runs", "--store", store, "--select", "rule=ste")
    assert none.returncode == 2
    assert "none of the 2 runs" in none.stderr


def test_a_failed_run_is_named_and_the_status_is_1(tmp_path, here):
    words = ["reinforce", "ste", *SMALL, "--learning-rate", "1e38", "--store", str(tmp_path)]
    done = here("train", *words)
    assert done.returncode == 1
    assert "coexplore: failed: coexplore train" in done.stderr
    assert "no longer finite" in done.stderr
    assert "Traceback" not in done.stderr
