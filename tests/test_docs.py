"""The pages have what they should, and the examples do what they say. (Blocks are run by test_pages.py.)"""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from coexplore.results.frames import OUTCOMES
from coexplore.rules import BUILT_IN

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_has_a_page_with_an_example(name):
    page = (ROOT / "docs" / "rules" / f"{name}.md").read_text()
    for heading in ("**Idea.**", "**Exact.**", "**Local.**", "**When it fails.**", "ΔW"):
        assert heading in page
    assert len(re.findall(r"```python\n(.*?)```", page, re.S)) == 1


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


@pytest.mark.learning  # it takes most of a minute
def test_what_is_said_of_every_rule_at_its_best_is_what_the_runs_in_this_repository_say():
    tables, claims, froze = printed("""
import json
from coexplore import load
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tuned_tables import table
from coexplore.paper.tunings import TUNINGS
from coexplore.paper.verdict import table as claims
from coexplore.study.search import Trials
tables, verdicts, froze = {}, [], []
for name in ("tuned", "scaling", "depth"):
    results = load(f"results/cuda/{name}.safetensors")
    length = TUNINGS[name].length(4_000_000)
    found = Comparison(TUNINGS[name].searches(4_000_000), Trials(results, finished=True), length)
    tables[name], verdicts = table(TUNINGS[name], found), verdicts + judged(name, found)
    same = {r.run: r for each in found.found.values() for some in each.judged.values() for r in some}
    froze.append(f"{sum(r.frozen is True for r in same.values())} of the {len(same):,} judged runs froze")
print(json.dumps([tables, claims(verdicts), froze]))
""")
    for name, table in tables.items():
        assert (ROOT / "results" / "cuda" / f"{name}.md").read_text() == table
    assert (ROOT / "results" / "cuda" / "claims-tuned.md").read_text() == claims
    page = (ROOT / "docs" / "tuning.md").read_text()
    assert froze[0] in page
    assert froze[2] == "1 of the 1,060 judged runs froze"
    places = [8, 16, 32, 64, 96, 128]
    rewards = {
        words: _cells(tables["tuned"], f"## Reward, {words}\n")
        for words in ("all episodes", "first quarter", "last quarter")
    }
    quoted = re.findall(
        r"^\| (.+) \| (64|128) \| (.+) \| (.+) \| (.+) \|$", page.split("## What `scaling` says")[0], re.M
    )
    assert len(quoted) == 9 + 7
    for label, N, *cells in quoted:
        assert cells == [rewards[words][label][places.index(int(N))] for words in rewards]
    mean = {
        words: {label: [float(cell.split()[0]) if cell != "–" else None for cell in row] for label, row in rows.items()}
        for words, rows in rewards.items()
    }
    first, every = mean["first quarter"], mean["all episodes"]
    one, rival = first["Algorithm 1"], first["unbiased Weight Max, expected"]
    assert [f"{a - b:+.3f}" for a, b in zip(one, rival, strict=True)][3:] == ["+0.021", "+0.059", "+0.106"]
    readme = (ROOT / "README.md").read_text()
    assert f"first quarter at 128 units: {one[5]:.3f}, next {rival[5]:.3f}" in readme
    assert (
        f"{every['plain backprop'][3]:.3f} over all episodes at 64 units, Algorithm 1 {every['Algorithm 1'][3]:.3f}"
        in readme
    )
    words = re.findall(r"^\| [TS]\d .*?\*\*(\w+)\*\*", claims, re.M)
    assert words == ["fails", "fails", "undecided", "undecided", "undecided", "holds"]
    ours = "unbiased Weight Max, expected"
    for bits, k in (("four", 4), ("five", 5)):
        rows = _cells(tables["scaling"], f"## Reward, first quarter, {k} bits\n")
        for label, quoted in (("Algorithm 1", f"{bits} bits: Algorithm 1"), (ours, f"… {ours}")):
            assert f"| {quoted} | {' | '.join(cell.split()[0] for cell in rows[label])} |" in page
        others = [row for label, row in rows.items() if label != "Algorithm 1"]
        assert max(row[5].split()[0] for row in others) == rows[ours][5].split()[0]
    assert f"{rows['Algorithm 1'][5].split()[0]} there, next {rows[ours][5].split()[0]}" in readme
    last = _cells(tables["scaling"], "## Reward, last quarter, 5 bits\n")
    ends = [last[label][5].split()[0] for label in ("Algorithm 1", "STE backprop")]
    assert "up to {} with 512, where the next, STE backprop, ends at {}".format(*ends) in page
    stars = sum(line.count("\\*") for line in tables["scaling"].splitlines() if line.startswith("| "))
    assert f"not tried: {stars} of {3 * 60}." in page
    last, every = (_cells(tables["depth"], f"## Reward, {words}\n") for words in ("last quarter", "all episodes"))
    assert len(last) == 9
    for label, cells in last.items():
        assert f"| {label} | {' | '.join(cells)} |" in page
    ends = [last["Algorithm 1"][i].split()[0] for i in (3, 0)]
    assert "({} and {} in the last quarter)".format(*ends) in readme
    drawing = [row for label, row in every.items() if label != "plain backprop"]
    assert all(max(row[i] for row in drawing if row[i] != "–") == every["Algorithm 1"][i] for i in range(4))


def test_what_is_said_of_coordination_is_what_the_runs_in_this_repository_say():
    pages = printed("""
import json
from pathlib import Path
from coexplore import load
from coexplore.beyond import coordination
from coexplore.cli.coordination import section
from coexplore.paper.tuned import Comparison
from coexplore.study.search import Trials
pages = {}
for name in coordination.NAMES:
    results = load(f"results/coordination/{name}.safetensors")
    figure = coordination.tuning(name, coordination.environment(results))
    found = Comparison(figure.searches(4_000_000), Trials(results, finished=True), figure.length(4_000_000))
    found.usual = found.episodes
    pages[name] = section(name, figure.title, found)[0]
print(json.dumps(pages))
""")
    for name, page in pages.items():
        assert (ROOT / "results" / "coordination" / f"{name}.md").read_text() == page
    said = (ROOT / "docs" / "control.md").read_text()
    gains = pages["coordination"].split("## Algorithm 1: gain")[1].split("\n## ")[0].split("---|\n")[-1]
    rows = [line for line in gains.splitlines() if re.match(r"\| [01]", line)]
    assert len(rows) == 5
    assert "\n".join(rows) in said
    returns = {label: cells[1] for label, cells in _cells(pages["centring"], "## Return\n").items()}
    order = ["REINFORCE", *(f"Algorithm 1, {how}" for how in ("learned", "negative phase", "mean of δ", "as printed"))]
    assert f"| {' | '.join(returns[label].split(' [')[0] for label in order)} |" in said
    words = dict(re.findall(r"^\| (K\d(?:\.\d)?) .*?\*\*(\w+)\*\*", "\n".join(pages.values()), re.M))
    held = {"K0", "K4.1", "K5", "K6.1"}
    undecided = {"K1.1", "K4.2"}
    assert words == {id: "holds" if id in held else "undecided" if id in undecided else "fails" for id in words}
    assert len(words) == 1 + 8 + 1 + 2
    shares = {share: _places(pages["coordination"], share) for share in ("0", "0.25", "0.5", "0.75", "1")}
    less = [at["one softmax", N] < at["REINFORCE", N] for at in shares.values() for N in ("8", "64", "256")]
    assert sum(less) == 14
    half = shares["0.5"]
    assert f"{half['one softmax', '256']:.3f} for {half['REINFORCE', '256']:.3f} in the other" in said
    assert (
        f"{half['Algorithm 2, c = 0', '64']:.3f}, where REINFORCE, the same rule, has {half['REINFORCE', '64']:.3f}"
        in said
    )


def _places(page, share):
    """The mean reward by rule and N, at a joint share."""
    lines = page.split(f"## Joint share {share}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {(row[0], row[1]): float(row[2].split()[0]) for row in rows if row[1].isdecimal()}


def _cells(page, heading):
    """The rows of the first table after a heading, by their label."""
    lines = [line for line in page.split(heading)[1].split("\n## ")[0].splitlines() if re.match(r"\| (?!---)\S", line)]
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)}
