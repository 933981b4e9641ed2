"""The pages have what they should, and the examples do what they say. (Blocks are run by test_pages.py.)"""

import re
import runpy
import sys
from pathlib import Path

import jax
import pytest

from coexplore.results.frames import OUTCOMES
from coexplore.rules import BUILT_IN

ROOT = Path(__file__).parents[1]


# The sections of a page on a rule, in two forms: pages are rewritten in the second one when they are touched.
SECTIONS = (
    ("**Idea.**", "**Exact.**", "**Local.**", "**When it fails.**", "**References.**"),
    ("## Equations", "## Properties", "## When it fails", "## Settings", "## Example", "## References"),
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_has_a_page_with_an_example(name):
    page = (ROOT / "docs" / "rules" / f"{name}.md").read_text()
    assert any(all(heading in page for heading in form) for form in SECTIONS)
    assert "ΔW" in page
    assert len(re.findall(r"```python\n(.*?)```", page, re.S)) == 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_says_whose_idea_it_is(name):
    """On its page, at its code, and on the page on all of them."""
    page, origins = (ROOT / "docs" / place for place in (f"rules/{name}.md", "origins.md"))
    references = re.split(r"\*\*References\.\*\*|## References\n", page.read_text())[1]
    assert re.search(r"\(\d{4}\), .*\.\./origins\.md#", references, re.S)
    stated = sys.modules[BUILT_IN[name].__module__].__doc__.strip().splitlines()[-1]
    assert re.match("Sources?: ", stated)
    for year in re.findall(r"\d{4}", stated):
        assert f"({year}).**" in origins.read_text()
    assert f"(rules/{name}.md)" in origins.read_text()


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)


def test_the_page_on_tables_has_every_column():
    page = (ROOT / "docs" / "tables.md").read_text()
    told = set(re.findall(r"`(\w+)`", page.partition("| column")[2].partition("\n\n")[0]))
    assert told == {"setting", "rule", "task", *OUTCOMES}


def test_the_page_on_the_shell_explains_flags_and_puts_scripts_where_shells_look(here):
    helps, scripts = blocks("shell.md", "sh")
    told = [here(*line.split()[1:]).stdout for line in helps.splitlines()]
    assert ["[CartPole-v1]" in text for text in told] == [False, True, True]
    found = re.findall(r"^mkdir -p (\S+) && coexplore (completion \w+) > (\S+)$", scripts, re.M)
    assert [Path(path).name for _, _, path in found] == ["coexplore", "_coexplore", "coexplore.fish"]
    for folder, words, path in found:
        assert str(Path(path).parent) == folder
        assert "boltzmann" in here(*words.split()).stdout


def test_the_page_on_callbacks_does_what_it_says(tmp_path, monkeypatch, capsys, here):
    monkeypatch.chdir(tmp_path)
    watching, board = blocks("callbacks.md", "python")
    exec(compile(watching, "callbacks.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    stopped = {int(line[0]) for line in lines[:-1] if line.split()[1] == "500" and float(line.split()[2]) < 0.1}
    assert lines[-1] == f"finished: {[seed for seed in range(3) if seed not in stopped]}"
    exec(compile(board, "callbacks.md", "exec"), {})
    command, example = blocks("callbacks.md", "sh")
    assert here(*command.split()[1:]).returncode == 0
    assert [len(list(folder.iterdir())) for folder in (tmp_path / "tb").iterdir()] == [2, 2]  # the same runs, twice
    assert example.split() == ["python", "examples/optuna_pruning.py"]


def test_the_example_of_optuna_stops_some_runs_and_finishes_others(monkeypatch, capsys):
    """A shorter one: its settings, fewer episodes and trials."""
    import optuna

    path = ROOT / "examples" / "optuna_pruning.py"
    text = path.read_text()
    for long, short in (
        ("160_000", "16_000"),
        ("n_trials=20", "n_trials=12"),
        ('maximize"', 'maximize", sampler=SEED'),
    ):
        assert long in text
        text = text.replace(long, short)
    body = text.partition("def objective")[2].partition("if __name__")[0].strip().splitlines()
    assert len([line for line in body if line.strip()]) <= 15
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    exec(compile(text, str(path), "exec"), {"__name__": "__main__", "SEED": optuna.samplers.RandomSampler(seed=0)})
    shown = capsys.readouterr().out
    assert re.search(r"best: reward 0\.\d+ with \{'coupling': ", shown)
    (stopped,) = re.findall(r"(\d+) of 12 runs were stopped early", shown)
    assert 0 < int(stopped) < 12


@pytest.mark.learning
def test_the_page_on_tasks_of_ones_own_does_what_it_says(tmp_path, monkeypatch, capsys, here):
    """The first three blocks are a module, the fourth trains on it, then come the commands and a declared version."""
    page = (ROOT / "docs" / "tasks.md").read_text()
    *module, training, versioned = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(module) == 3
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    (tmp_path / "my_tasks.py").write_text("\n".join(module))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    exec(compile(f"from my_tasks import *\n{training}\n{versioned}", "tasks.md", "exec"), {})
    *lines, edition = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert edition == ["2026-11"]
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


@pytest.mark.learning
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


@pytest.mark.learning
def test_an_output_that_hears_many_bits_freezes_by_itself_and_one_that_hears_signs_does_not():
    shares = runpy.run_path(str(ROOT / "examples" / "freezing.py"))["shares"]
    fast = {"updates": 800, "seeds": 12, "alpha": 0.03}  # as far as the example's default goes in 6,250 updates
    with jax.numpy_dtype_promotion("standard"):  # for optax
        assert shares([128], signed=False, **fast)[0] > 0.5
        assert shares([128], signed=True, **fast)[0] == 0
        assert shares([4], signed=False, **fast)[0] < 0.3
