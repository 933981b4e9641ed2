"""A store may hold runs of any task and depth: what reads it shows what there is of each, and breaks on none."""

import json
import re

import numpy as np
import pytest
from browser import offline

from coexplore import Boltzmann, Multiplexer, Reinforce, Result, Run
from coexplore.cli.reproduce import claims_command
from coexplore.cli.runs import plot_command, runs_command
from coexplore.report import html
from coexplore.report.data import report
from coexplore.run import bins, labels
from coexplore.store import Store, read
from coexplore.tasks.control import Control

DEEP = Run(rule=(Boltzmann(), Reinforce()), task=Multiplexer(bits=1), hidden=(4, 3), episodes=1600)
PLAIN = Run(rule=Boltzmann(), task=Multiplexer(bits=1), hidden=(4,), episodes=1600)
BALANCE = Run(rule=Boltzmann(), task=Control(env="CartPole-v1"), hidden=(6, 5), episodes=100)


def made_up(run, seed, low, high, seen):
    """A run that rises from low to high. Snapshots, where there are any, know no critic and no output unit."""
    looks = {f"firing.{i}": np.full((2, N), 0.5) for i, N in enumerate(run.hidden)}
    snapshots = {"updates": np.array([0, run.updates]), "norm.layers.0.W": np.ones(2), **looks} if seen else {}
    curve = np.linspace(low, high, bins(run.updates), dtype=np.float32)
    return Result(run, "xla", curve, run.init(), {"seconds": 1.0 + seed}, snapshots)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    for run, low, high, seen in ((DEEP, 0, 1, True), (PLAIN, 0, 1, True), (BALANCE, 20, 500, True)):
        Store(folder).save(made_up(run, 0, low, high, seen))
    pendulum = Run(rule=Reinforce(), task=Control(env="Pendulum-v1"), episodes=100)
    Store(folder).save(made_up(pendulum, 0, -1600, -200, seen=False))
    return folder


def test_the_report_shows_every_run_and_an_energy_where_there_is_one(store):
    results, problems = read(store)
    assert (len(results), problems) == (4, [])
    made = report(results, str(store))
    data = json.loads(re.search(r'id="data">(.*?)</script>', html.page(made).html)[1])  # NaN would not be JSON
    rows = data["settings"]
    assert len(rows) == 4
    (balance,) = (row for row in rows if row["words"]["task"] == "CartPole-v1")
    assert (balance["words"]["units"], balance["rule"]) == ("6-5", "boltzmann")
    assert balance["last"][0] > 400
    assert {row["last"][0] < -200 for row in rows if row["rule"] == "reinforce"} == {True}
    inside = [(rows[one["setting"]]["words"], one["energy"]) for one in data["inside"]]
    energies = {words["task"] + words["units"]: energy for words, energy in inside}
    assert {name for name, found in energies.items() if found} == {"multiplexer4-3", "multiplexer4"}
    assert set(energies) == {"multiplexer4-3", "multiplexer4", "CartPole-v16-5"}


def test_the_page_opens_on_such_runs(browser, store, tmp_path):
    (tmp_path / "page.html").write_text(html.page(report(read(store)[0], str(store))).html)
    offline(browser)
    browser.get((tmp_path / "page.html").as_uri() + "#inside")
    for i in range(3):
        browser.execute_script(
            """const runs = document.querySelector("#inside select");
            runs.value = arguments[0]; runs.dispatchEvent(new Event("change"));
            for (const chart of coexplore.charts) chart.draw();""",
            i,
        )
    assert browser.get_log("browser") == []


def test_the_commands_read_such_a_store(store, tmp_path, capsys):
    at = ["--store", str(store)]
    assert runs_command(at) == 0
    assert "boltzmann+reinforce" in capsys.readouterr().out
    assert runs_command([*at, "--select", "rule=boltzmann+reinforce,units=4-3"]) == 0
    assert "1 runs (xla)" in capsys.readouterr().out
    assert runs_command(["--export", str(tmp_path / "all.parquet"), *at]) == 0
    assert runs_command(["pack", str(tmp_path / "all.safetensors"), *at]) == 0
    assert plot_command([str(tmp_path / "all.png"), *at]) == 0
    assert claims_command(at) == 0
    assert len(read(tmp_path / "all.safetensors")[0]) == 4


def test_labels_name_a_task_and_not_all_that_another_task_lacks():
    assert labels([PLAIN, BALANCE])[1] == "boltzmann task=CartPole-v1 units=6-5 episodes=100 batch=1"
