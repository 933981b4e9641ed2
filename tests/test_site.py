"""The site: every public name is explained, every page can be found, the tutorials run and nothing is broken."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import coexplore
from coexplore.paper.theory import THEORY

ROOT = Path(__file__).parents[1]
REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference.py"))
arguments, entry, parameters, told = (REFERENCE[name] for name in ("arguments", "entry", "parameters", "told"))
API = {
    name: section
    for page in sorted((ROOT / "docs" / "api").glob("*.md"))
    for name, section in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page.read_text(), re.S | re.M)
}
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def test_the_reference_has_every_public_name_and_no_other():
    assert sorted(API) == coexplore.__all__


@pytest.mark.parametrize("name", coexplore.__all__)
def test_every_public_name_is_explained_with_its_arguments_and_an_example(name):
    section, thing = API[name], getattr(coexplore, name)
    assert f"\n<!-- reference: {name} -->\n" in section
    (example,) = re.findall(r"```python\n(.*?)```", section, re.S)  # tests/test_pages.py runs it
    assert re.search(rf"\b{name}\b", example)
    assert entry(name).startswith(f"```text\ncoexplore.{name}")
    text = told(thing)
    assert len(text.split()) > 3
    for each in parameters(thing) if callable(thing) else []:
        assert re.search(rf"`{each.name}\b", arguments(thing) + text), f"{name}: nobody says what {each.name} is"


def test_a_name_that_says_nothing_of_an_argument_is_noticed():
    def load(path, how=None):
        """What is at `path`."""

    assert [each.name for each in parameters(load) if f"`{each.name}`" not in told(load)] == ["how"]
    assert inspect.getdoc(load) == told(load)


def test_every_page_is_in_the_menu():
    menu = re.findall(r"([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2], re.M)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    tutorials = [f"tutorials/{path.stem}.md" for path in NOTEBOOKS]
    assert sorted(menu) == sorted([*pages, *tutorials, "README.md", "CONTRIBUTING.md", "CHANGELOG.md"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_keeps_what_its_cells_gave(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert cells[0]["source"][0].startswith("SCALE = 1 ")
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert all(output["output_type"] != "error" and output.get("name") != "stderr" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_page_on_claims_has_every_statement_on_theory_as_the_proofs_leave_it():
    page = (ROOT / "docs" / "claims.md").read_text()
    for one in THEORY:
        assert f"\n| {one.id} | {one.claim} | **{one.verdict}** | {one.sentence} |\n" in page


def test_the_effects_that_the_page_on_claims_tells_are_those_of_the_table():
    """Which test_numbers.py holds to the runs."""
    page, table = (ROOT / "docs" / "claims.md").read_text(), (ROOT / "results" / "cuda" / "claims-200.md").read_text()
    effects = dict(re.findall(r"^\| ([A-Z][\d.]+) \|(?:[^|]*\|){5} \+?(-?[\d.]+) [\[|]", table, re.M))
    told = {"F2.2": "by 0.38,", "F3.3": "0.518 above", "F3.4": "gain 0.131", "F4.1": "by 0.138", "C1": "0.047 above"}
    told |= {"F3.1": "0.052 ahead", "F3.2": "0.075 ahead", "F5.1": "by 0.009", "C2": "ahead by 0.5 "}
    for id, words in told.items():
        number = re.search(r"[\d.]*\d", words)[0]
        assert f"{abs(float(effects[id])):.{len(number) - 2}f}" == number
        assert words in page


@pytest.mark.packs  # they link to its pictures
def test_no_page_and_no_tutorial_links_to_a_file_that_is_not_there():
    """The same without building the site, which looks at headings too."""
    texts = {path: path.read_text() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]}
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"]
        texts[path] = "\n".join("".join(cell["source"]) for cell in cells)
    links = [(path, link) for path, text in texts.items() for link in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text)]
    assert len(links) > 150
    assert not [(path.name, link) for path, link in links if not (path.parent / link).exists()]


@pytest.mark.docs
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs_at_a_tenth_of_its_length(path, tmp_path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "\n\n".join("".join(cell["source"]) for cell in cells)
    assert code.count("SCALE = 1 ") == 1
    (tmp_path / "tutorial.py").write_text(code.replace("SCALE = 1 ", "SCALE = 0.1 "))
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "tutorial.py"],
        cwd=tmp_path,
        env={"MPLBACKEND": "agg", "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.docs
@pytest.mark.packs
def test_the_site_is_built_without_a_warning_and_asks_nothing_of_the_network(tmp_path):
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        fetched = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(https?:[^"]*)"', page.read_text())
        assert not fetched, f"{page.name}: {fetched}"
    shown = (tmp_path / "api" / "training.html").read_text()
    assert "how many episodes to train" in shown
    assert "reference:" not in shown


@pytest.mark.docs
@pytest.mark.packs
@pytest.mark.parametrize("link", ["nowhere.md", "engines.md#no-such-heading", "../results/no.png", "/gpu.md"])
def test_a_link_that_leads_nowhere_ends_the_build(link, tmp_path):
    for name in ("docs", "results", "examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").unlink()
    subprocess.run(["cp", "-r", str(ROOT / "docs"), str(tmp_path / "docs")], check=True)
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "mkdocs.yml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    with (tmp_path / "docs" / "gpu.md").open("a") as page:
        page.write(f"\n[broken]({link})\n")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "gpu.md" in done.stderr
