"""Every block of every page runs: a page is a session, its blocks one after the other, in a folder of their own.

A new page is run without a word here. What would take long is made shorter (SHORTER), or a command is run up to the
moment when it would train (BEGUN): its flags and names are then read, and nothing else. What is not ours (FOREIGN), or
cannot be run in a test (NOT_RUN), is listed with the reason; so are pages that another test follows (ELSEWHERE). A
block that is none of these fails.
"""

import ast
import fnmatch
import importlib.util
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from pages import PAGES, ROOT, blocks, commands

from coexplore.cli import results
from coexplore.study import Interrupted

SHORTER = {
    "docs/figures.md": [("reproduce tuned ", "reproduce tuned --scale quick ")],
    "docs/networks.md": [("rebuild_numpy.py", "rebuild_numpy.py --episodes 200")],
    "docs/cluster.md": [
        ("exec coexplore", "coexplore"),
        ('"$SLURM_CPUS_PER_TASK"', "8"),
        ("$SLURM_ARRAY_TASK_ID", "1"),
        ("/shared/", "shared/"),
    ],
    "docs/tuning.md": [
        ("48_000", "1_600"),
        ("range(5, 25)", "range(1, 3)"),
        ("range(5)", "range(1)"),
        ("reproduce tuned  ", "reproduce tuned --scale quick "),
        ("scaling depth", "scaling depth --scale quick"),
    ],
}
BEGUN = {  # by what a command begins with
    "README.md": ["train weight-max"],
    "docs/figures.md": ["reproduce"],
    "docs/gpu.md": ["reproduce"],
    "docs/supervised.md": ["train"],
    "docs/control.md": ["train", "beyond"],
    "docs/environments.md": ["train"],
    "docs/cluster.md": ["reproduce"],
    "docs/tuning.md": ["reproduce", "tune"],
    "docs/open-questions.md": ["reproduce"],
}
FOREIGN = {
    "ray": "starts a cluster; `make cluster-test` does",
    "mkdir": "writes into somebody's home; tests/test_docs.py makes the same scripts elsewhere",
    "printf": "builds an image",
    "docker": "builds an image",
    "helm": "needs Kubernetes",
    "kubectl": "needs Kubernetes",
    "flock": "needs two machines and a folder that they share",
}
NOT_RUN = {
    "coexplore check my_rules:Population": "a minute; tests/test_check.py checks rules and tasks",
    "coexplore claims --store results/cuda --seeds 1000-1199": "half a minute; tests/test_numbers.py has its verdicts",
    "coexplore claims --store results/cuda --seeds 0-19": "half a minute; tests/test_numbers.py has its verdicts",
    "coexplore claims --store results/cpu": "seconds; tests/test_numbers.py has its verdicts",
    "coexplore report --store runs --out report.html": "seconds; tests/test_report.py makes one",
    "coexplore report --store runs --serve": "serves until it is stopped; tests/test_live.py does so",
    "coexplore runs pack tuned.safetensors --figure tuned": "needs a search that is done; tests/test_tuned.py has one",
}
ELSEWHERE = {  # pages that a test of their own follows
    "docs/callbacks.md": "tests/test_docs.py asks who was stopped",
    "docs/tasks.md": "tests/test_docs.py puts the first blocks into a module, as the page says",
}
OPTIONAL = {"torch"}  # a block that imports one is compiled only where it is not installed
PRINTS = {  # what pages print, or end with
    "README.md": r"boltzmann coupling=0\.5 +3 ",
    "docs/store.md": r"True\n\{0: .*, 100: [\d.]+\}\n$",
    "docs/rules/[!i]*.md": r"-?[01]\.\d+\n$",
    "docs/tuning.md": r"6 0\.0\d+ .* \[.*\]\n$",
}
LEAVES = {"README.md": ["coupling.png", "first/curves.png"], "docs/api/results.md": ["curves.png"]}
LANGUAGES = ("python", "sh", "toml", "bibtex")


class Session:
    """A page as somebody follows it who copies its blocks one by one."""

    def __init__(self, page, here, capsys, monkeypatch):
        self.page, self.here, self.capsys, self.monkeypatch = page, here, capsys, monkeypatch
        self.names, self.printed, self.used = {"__name__": "page"}, "", set()

    def follow(self):
        for block in blocks(self.page):
            self.run(block)

    def run(self, block):
        text = block.text
        for long, short in SHORTER.get(self.page, []):
            text = text.replace(long, short)
        assert block.language in LANGUAGES, f"{block.place}: a block that no test runs"
        getattr(self, block.language)(block.place, text)
        self.printed += self.capsys.readouterr().out

    def toml(self, place, text):
        tomllib.loads(text)

    def bibtex(self, place, text):
        cited = (ROOT / "CITATION.cff").read_text()
        for name in ("title", "year"):
            assert re.search(rf"{name} = {{(.*?)}}", text)[1] in cited, place

    def python(self, place, text):
        code = compile(text, place, "exec")
        imported = {
            alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
        }
        if all(importlib.util.find_spec(name) for name in imported & OPTIONAL):
            exec(code, self.names)

    def sh(self, place, text):
        for words in commands(text):
            line = shlex.join(words).removeprefix(".venv/bin/")
            if line in NOT_RUN or words[0] in FOREIGN:
                self.used |= {line, words[0]}
            elif words[0] in ("make", "pip"):
                self.is_there(place, words)
            elif words[0] == "python":
                self.script(place, words[1:])
            else:
                assert line.startswith("coexplore "), f"{place}: a command that no test runs: {line}"
                self.command(place, line.removeprefix("coexplore "))

    def is_there(self, place, words):
        """What makes an environment is not run here, but there must be such a target, archive or extra."""
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), f"{place}: {words}"
        else:
            about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            offered = [f"coexplore[{extra}]" for extra in about["optional-dependencies"]]
            assert words[-1] in (*offered, f"coexplore-{about['version']}.tar.gz"), f"{place}: {words}"

    def script(self, place, words):
        self.monkeypatch.setattr(sys, "argv", words)
        runpy.run_path(words[0], run_name="__main__")

    def command(self, place, line):
        begun = [start for start in BEGUN.get(self.page, []) if line.startswith(start)]
        self.used |= set(begun)
        with self.monkeypatch.context() as patch:
            if begun:
                patch.setattr(results, "study", self.began)
            done = self.here(*shlex.split(line))
        assert done.returncode == (130 if begun else 0), f"{place}: {line}: {done.stderr}"
        self.printed += done.stdout

    def began(self, runs, **how):
        assert runs
        raise Interrupted([])


@pytest.mark.parametrize("page", sorted({*PAGES} - {*ELSEWHERE}))
def test_every_block_of_a_page_runs(page, here, capsys, monkeypatch, tmp_path):
    session = Session(page, here, capsys, monkeypatch)
    for name in ("examples", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    session.follow()
    for pattern, printed in PRINTS.items():
        if fnmatch.fnmatch(page, pattern):
            assert re.search(printed, session.printed), session.printed
    for name in LEAVES.get(page, []):
        assert (tmp_path / name).stat().st_size > 1000, name
    assert set(BEGUN.get(page, [])) <= session.used, "begun, but not on the page"


def test_no_exception_is_listed_that_no_page_needs():
    texts = {page: "".join(block.text for block in blocks(page)) for page in PAGES}
    for page, pairs in SHORTER.items():
        assert all(long in texts[page] for long, _ in pairs), page
    words = [
        each for page in PAGES for block in blocks(page) if block.language == "sh" for each in commands(block.text)
    ]
    assert set(FOREIGN) <= {each[0] for each in words}
    assert set(NOT_RUN) <= {shlex.join(each) for each in words}
    imported = {name for text in texts.values() for name in re.findall(r"^import (\w+)", text, re.M)}
    assert not OPTIONAL - imported
    assert not {*BEGUN, *ELSEWHERE} - {*PAGES}
    followed = (ROOT / "tests" / "test_docs.py").read_text()
    assert all(Path(page).name in followed for page in ELSEWHERE)
    assert all(any(fnmatch.fnmatch(page, pattern) for page in PAGES) for pattern in (*PRINTS, *LEAVES))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```python\nraise ValueError('wrong')\n```\n", "wrong"),
        ("```\nx = 1\n```\n", "page.md:1: a block that no test runs"),
        ("\n```console\n$ ls\n```\n", "page.md:2: a block that no test runs"),
        ("```sh\nrm file\n```\n", "page.md:1: a command that no test runs: rm file"),
        ("```sh\ncoexplore train boltzman\n```\n", "did you mean 'boltzmann'"),
        ("```sh\nmake tea\n```\n", "page.md:1: .*tea"),
        ("```sh\npip install 'coexplore[tea]'\n```\n", "page.md:1: .*tea"),
    ],
)
def test_a_page_that_is_wrong_fails(text, why, tmp_path, here, capsys, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    (tmp_path / "page.md").write_text(text)
    session = Session("page.md", here, capsys, monkeypatch)
    with pytest.raises((AssertionError, ValueError), match=why):
        session.follow()
