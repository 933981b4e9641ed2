"""The README does what it says."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "results"
README = (Path(__file__).parents[1] / "README.md").read_text()
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
    """The README's rule as an installed package: a module and the entry point that the README gives."""
    (block,) = (text for text in PYTHON if "class Population" in text)
    (toml,) = (text for language, text in BLOCKS if language == "toml")
    name, target = re.search(r'(\w+) = "(.+)"', toml).groups()
    (tmp_path / f"{target.split(':')[0]}.py").write_text(block)
    about = tmp_path / "scratch-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scratch\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(f"[coexplore.rules]\n{name} = {target}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    return tmp_path


def test_the_rule_of_the_readme_has_twelve_lines_and_learns_as_a_plug_in(plug_in, here):
    (block,) = (text for text in PYTHON if "class Population" in text)
    written = [line for line in block.split("class Population")[1].splitlines() if line.strip()]
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
    out = ran([str(BIN / "coexplore"), *words, "--episodes", "64000"], plug_in, PYTHONPATH=str(plug_in))
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
        assert (Path(__file__).parents[1] / target).exists(), target


def test_the_table_on_depth_is_that_of_the_runs_in_this_repository():
    from coexplore.paper.figures import FIGURES
    from coexplore.paper.tables import table
    from coexplore.store import load

    folder = Path(__file__).parents[1] / "results" / "depth"
    assert table(FIGURES["depth-paper"], load(folder / "depth.safetensors")) == (folder / "depth-paper.md").read_text()


def test_the_verdicts_of_the_readme_are_those_of_the_runs_in_this_repository():
    """In a process of its own: shapes checked at every call would double the time of thousands of runs. The README has
    the words of the pack with 200 seeds if there is one; the dated note in docs/verdicts.md those of the 20 seeds."""
    script = """
import json, sys
from coexplore.store import load
from coexplore.paper.claims import verdicts
from coexplore.paper.verdict import table
found = verdicts(load(sys.argv[1]))
shown = table([one for one in found if not one.proof])
print(json.dumps([shown, [[one.id, one.verdict] for one in found]]))
"""
    words = {}
    for path in sorted(RESULTS.glob("*/paper*.safetensors")):
        shown, found = json.loads(ran([sys.executable, "-c", script, str(path)], path.parent))
        assert shown == path.with_name(path.stem.replace("paper", "claims") + ".md").read_text().rstrip("\n")
        words[path.parent.name, path.stem] = found
    latest = words.get(("cuda", "paper-200"), words["cuda", "paper"])
    for word in ("holds", "fails", "tie", "undecided"):
        (line,) = re.findall(rf"^- \*\*{word}\*\*:(.*)$", README, re.M)
        assert [one.strip() for one in line.split(",") if one] == [id for id, verdict in latest if verdict == word]
    page = (RESULTS.parent / "docs" / "verdicts.md").read_text()
    count = Counter(verdict for id, verdict in latest if not id.startswith("M"))
    told = (
        f"{count['holds']} hold, {count['fails']} fail, {count['tie']} are ties and {count['undecided']} stay undecided"
    )
    assert told in " ".join(page.split())
    note = page.partition("## 2026-11-18")[2]
    changes = re.findall(r"^\| (\w[\w.]+) \| (holds|fails|undecided) \| (\w+) \|$", note, re.M)
    assert len(changes) == 9
    assert all(before != now == dict(words["cuda", "paper"])[id] for id, before, now in changes)
