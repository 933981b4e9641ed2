"""The README does what it says."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coexplore.results.palette import SHORT
from coexplore.rules import BUILT_IN

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)
PYTHON = [text for language, text in BLOCKS if language == "python"]
PLAIN = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
BIN = Path(sys.executable).parent


def ran(words, folder, **env):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=PLAIN | env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """The README's rule as an installed package: a module and the entry point that docs/tasks.md gives."""
    (block,) = (text for text in PYTHON if "class Population" in text)
    toml = (ROOT / "docs" / "tasks.md").read_text().partition("```toml\n")[2]
    name, target = re.search(r'(\w+) = "(.+)"', toml).groups()
    (tmp_path / f"{target.split(':')[0]}.py").write_text(block.partition("results =")[0])
    about = tmp_path / "scratch-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scratch\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(f"[coexplore.rules]\n{name} = {target}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    return tmp_path


@pytest.mark.learning
def test_the_rule_of_the_readme_has_twelve_lines_and_learns_as_a_plug_in(plug_in, here):
    (block,) = (text for text in PYTHON if "class Population" in text)
    rule = block.split("class Population")[1].partition("results =")[0]
    written = [line for line in rule.splitlines() if line.strip()]
    assert len(written) <= 12
    words = [
        "train",
        "population",
        "--strength",
        "0.5",
        "1..0",
        "--units",
        "16",
        "--bits",
        "1",
        "--learning-rate",
        "0.02",
    ]
    words += ["--episodes", "64000", "--out", "out"]
    out = ran([str(BIN / "coexplore"), *words], plug_in, PYTHONPATH=str(plug_in))
    assert (plug_in / "out" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "population strength=0.5" in out
    assert "population strength=1..0" in out
    last = [float(row.split("│")[4].split()[0]) for row in out.splitlines() if row.startswith("│ population")]
    assert len(last) == 2
    assert max(last) > 0.4
    assert "centred on the layer's mean" in here("list").stdout


def test_a_broken_plug_in_is_named_and_breaks_nothing_else(plug_in, here):
    (plug_in / "my_package.py").write_text("raise RuntimeError('out of order')")
    listed = here("list").stdout
    line = "rule: 'population' cannot be loaded: RuntimeError: out of order"
    assert line in listed
    assert "Algorithm 1" in listed
    done = here("train", "population")
    assert (done.returncode, done.stderr) == (2, f"coexplore: {line}\n")


def test_every_file_that_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def cells(table):
    """The rows of a table in Markdown, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def tables(text):
    return re.findall(r"(?:^\|.*\|\n)+", text, re.M)


def test_its_first_screen_has_the_two_commands_which_are_targets_with_their_times():
    """What they run is what the README says, and the second is what is run on every change."""
    first = "\n".join(README.splitlines()[:40])
    told = dict(re.findall(r"^make (\w+) +# .*?(\w+) minutes? on two cores$", first, re.M))
    assert told == {"demo": "one", "test": "five"}
    words = {"cwd": ROOT, "capture_output": True, "text": True}
    commands = {
        target: subprocess.run(["make", "-n", "--no-print-directory", target], check=True, **words).stdout
        for target in told
    }
    assert {target: lines.split("/")[-1].strip() for target, lines in commands.items()} == {
        "demo": "coexplore demo",
        "test": "pytest",
    }
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_a_person_reads_it_at_one_sitting():
    assert len(README.splitlines()) <= 130


def test_its_first_example_shows_what_it_says_and_that_coordination_helps(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(r"^coexplore (train boltzmann .*)$", README, re.M)
    shown = here(*line.split()).stdout
    assert (tmp_path / "first" / "curves.png").stat().st_size > 1000
    found = re.findall(r"coupling=([\d.]+) +│ +1 │ ([\d.]+) +│ ([\d.]+)", shown)
    assert float(found[1][2]) > float(found[0][2]) + 0.25
    told = next(cells(table) for table in tables(README) if table.startswith("| c |"))
    for (c, *said), (coupling, *rewards) in zip(told, found, strict=True):
        assert float(c) == float(coupling)
        # Low bits depend on the processor's instructions, and the course of a run on low bits.
        assert [float(reward) for reward in rewards] == pytest.approx([float(each) for each in said], abs=0.06)


def test_the_rewards_of_its_table_are_those_of_the_results():
    """The tables that it links to, and the paper's rate with 200 seeds, are held to the runs by test_numbers.py."""
    (depth,) = tables((ROOT / "results" / "depth" / "depth-paper.md").read_text())
    paper = {row[0]: f"{row[3].split()[0]} *" for row in cells(depth) if row[1] == "1"}
    first, last = (at_64("cuda/tuned.md", quarter) for quarter in ("first", "last"))
    labels = {**SHORT, "--expected": "unbiased Weight Max, expected"}
    rows = next(cells(table) for table in tables(README) if table.startswith("| rule |"))
    assert len(rows) == len(BUILT_IN) + 2
    for name, _, _, *said in rows:
        rule = re.search(r"`([\w-]+)", name)[1]
        if rule == "--baseline":
            (plain,) = tables((ROOT / "results" / "questions" / "one-rule-paper.md").read_text())
            usual = next(row[2].split()[0] for row in cells(plain) if row[0] == "predicted")
            assert said == [usual, *(at_64("questions/one-rule.md", each)["predicted"] for each in ("first", "last"))]
        else:
            assert said[1:] == [first[labels[rule]], last[labels[rule]]]
            assert said[0] == (paper[rule] if "*" in said[0] else said[0])
            assert ("*" in said[0]) == (rule in {"weight-max", "map-prop", "backprop"})


def at_64(file, quarter):
    """Rewards with 64 units, of a table on tuned rules."""
    text = (ROOT / "results" / file).read_text().partition(f"## Reward, {quarter} quarter")[2]
    return {row[0]: row[4].split()[0] for row in cells(tables(text)[0])}


def test_where_a_package_is_shown_no_link_leads_nowhere():
    """Beside a package there are no files of ours: the README's links to them become plain words when it is built."""
    text, hooks = README, tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    for each in hooks["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert "](" in README
    assert not re.findall(r"\]\((?!https?:)", text)
    assert "33 claims" in text
