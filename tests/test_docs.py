"""The pages and the example do what they say."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from coexplore.rules import BUILT_IN

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_has_a_page_whose_example_runs(name, capsys):
    page = (ROOT / "docs" / "rules" / f"{name}.md").read_text()
    for heading in ("**Idea.**", "**Exact.**", "**Local.**", "**When it fails.**", "ΔW"):
        assert heading in page
    (block,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(compile(block, f"{name}.md", "exec"), {})
    assert -1 <= float(capsys.readouterr().out) <= 1


def test_the_example_of_tuning_tunes(tmp_path, monkeypatch, capsys):
    """A shorter one: its settings, fewer seeds and episodes."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tuning.md").read_text(), re.S)
    for long, short in (("48_000", "1_600"), ("range(5, 25)", "range(1, 3)"), ("range(5)", "range(1)")):
        assert long in block
        block = block.replace(long, short)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "tuning.md", "exec"), {})
    assert re.fullmatch(r"6 0\.0\d+ .* \[.*\]\n", capsys.readouterr().out)


def test_the_page_on_tasks_of_ones_own_does_what_it_says(tmp_path, monkeypatch, capsys, here):
    """The first three blocks are a module, the fourth trains on it, then come the commands."""
    page = (ROOT / "docs" / "tasks.md").read_text()
    *module, training = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(module) == 3
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    (tmp_path / "my_tasks.py").write_text("\n".join(module))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    exec(compile(f"from my_tasks import *\n{training}", "tasks.md", "exec"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert sorted(line[0] for line in lines) == ["arms", "thermostat", "thermostat", "wine"]
    assert [line[2] != "None" for line in lines] == [line[0] == "wine" for line in lines]
    shown = [here(*line.split()[1:]) for line in commands.splitlines()]
    assert [done.returncode for done in shown] == [0] * 4
    assert ["runs were there already" in done.stdout for done in shown] == [True, False, True, False]
    assert "2 runs (xla)" in shown[-1].stdout


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_the_examples_on_scikit_learns_data_have_twelve_lines_and_run(name, capsys):
    text = (ROOT / "examples" / f"{name}.py").read_text()
    assert len([line for line in text.split('"""')[2].splitlines() if line.strip()]) <= 12
    for long, short in (("32_000", "160"), ("range(5)", "range(1)"), ("[Boltzmann(), Backprop()]", "Backprop()")):
        assert long in text
        text = text.replace(long, short)
    exec(compile(text, name, "exec"), {"__name__": "__main__"})
    assert re.fullmatch(r"backprop, seed 0: reward -?\d\.\d\d, held out [01]\.\d{3}\n", capsys.readouterr().out)


@pytest.fixture
def election(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["election.py", *words])
        runpy.run_path(str(ROOT / "examples" / "election.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_the_election_shows_that_coordination_learns_faster_and_how_rarely_a_vote_decides(election, tmp_path):
    words = ["--voters", "9", "99", "--years", "80", "--towns", "40", "--out", str(tmp_path / "election.png")]
    shown = election(*words)
    number = r"([\d.]+)"
    ends = f"independent {number}, hindsight {number}, communication {number}"
    found = re.findall(rf"(\d+) voters: pivotal {number} \(seen {number}\).*{ends}", shown)
    assert [row[:2] for row in found] == [("9", "0.2734"), ("99", "0.0804")]
    for row in found:
        exact, seen, independent, hindsight, communication = map(float, row[1:])
        assert seen == pytest.approx(exact, abs=0.015)  # 20,000 elections: four standard errors
        assert hindsight > independent
        assert communication > independent
    assert (tmp_path / "election.png").read_bytes().startswith(b"\x89PNG")


def test_the_election_refuses_an_even_town(election, capsys):
    with pytest.raises(SystemExit) as left:
        election("--voters", "10")
    assert left.value.code == 2
    assert "--voters: [10] is not allowed; give odd numbers" in capsys.readouterr().err


def test_an_output_that_hears_many_bits_freezes_by_itself_and_one_that_hears_signs_does_not():
    shares = runpy.run_path(str(ROOT / "examples" / "freezing.py"))["shares"]
    fast = {"updates": 800, "seeds": 12, "alpha": 0.03}  # as far as the example's default goes in 6,250 updates
    with jax.numpy_dtype_promotion("standard"):  # for optax
        assert shares([128], signed=False, **fast)[0] > 0.5
        assert shares([128], signed=True, **fast)[0] == 0
        assert shares([4], signed=False, **fast)[0] < 0.3


def printed(script):
    """What it prints as JSON, in a process of its own: shapes checked at every call would double the time."""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_tables_on_freezing_are_those_of_the_runs_in_this_repository():
    *found, longer, frozen = printed("""
import json, sys
sys.path.insert(0, "docs")
import freezing
from coexplore import Recurrent, Run, load
kept, paper = load("results/freezing/freezing.safetensors"), load("results/cuda/paper-200.safetensors")
frozen = [r.frozen for r in paper if r.setting == Run(rule=Recurrent(0.5), hidden=128)]
tables = [freezing.table(kept), freezing.by_rate(kept), freezing.learned(kept), freezing.longer(paper)]
print(json.dumps([*tables, f"{sum(frozen)} of {len(frozen)} with 128 units and c = 0.5"]))
""")
    page = (ROOT / "docs" / "freezing.md").read_text()
    for table in (*found, longer):
        assert f"\n\n{table}\n" in page
    assert (ROOT / "results" / "freezing" / "freezing.md").read_text() == "\n\n".join(found) + "\n"
    assert frozen in (ROOT / "README.md").read_text()


def test_the_table_on_the_first_grid_is_that_of_the_runs_in_this_repository():
    table = printed("""
import json, sys
sys.path.insert(0, "docs")
import first_grid
from coexplore import load
print(json.dumps(first_grid.table(load(first_grid.PACK))))
""")
    assert f"\n\n{table}\n" in (ROOT / "docs" / "tuning.md").read_text()
