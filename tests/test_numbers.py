"""The numbers on the pages are those of the runs in this repository. An archive has none: there these are skipped."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from coexplore import (
    Boltzmann,
    Multiplexer,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    grid,
    load,
)
from coexplore.beyond import control, supervised
from coexplore.paper.defaults import C
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions.why import slowness
from coexplore.paper.tables import table as table_of
from coexplore.run import by_setting

pytestmark = pytest.mark.packs
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
README = (ROOT / "README.md").read_text()
WITH_200_SEEDS = (Reinforce(), Boltzmann(), Recurrent(), StraightThrough(), UnbiasedWeightMax())
OF_BITS = Run(rule=Recurrent(), task=Multiplexer(encoding="binary"))


def printed(script, *words):
    """What it prints as JSON, in a process of its own: shapes checked at every call would double the time."""
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_table_on_depth_is_that_of_the_runs_in_this_repository():
    folder = RESULTS / "depth"
    assert (
        table_of(FIGURES["depth-paper"], load(folder / "depth.safetensors")) == (folder / "depth-paper.md").read_text()
    )


def test_what_local_critics_cost_is_what_the_runs_in_this_repository_say():
    ends = by_setting(load(RESULTS / "cuda" / "local-critics.safetensors"))
    page = (ROOT / "docs" / "run.md").read_text()
    rules = {"boltzmann": "Algorithm 1", "recurrent": "Algorithm 2", "reinforce": "REINFORCE"}
    rules |= {"unbiased-weight-max": "unbiased Weight Max", "ste": "STE backprop"}
    cells = {}
    for run, results in ends.items():
        assert len(results) == 20
        first, last = (float(np.mean([getattr(r, part) for r in results])) for part in ("first", "last"))
        cells.setdefault(rules[run.rules[0].name], {})[run.critic.activation] = f"{first:.3f}, {last:.3f}"
    for rule, by_critic in cells.items():
        assert f"| {rule} | {by_critic['relu']} | {by_critic['linear']} | {by_critic['mean']} |" in page
    assert len(cells) == len(rules)


@pytest.mark.learning
def test_the_verdicts_on_the_pages_are_those_of_the_runs_in_this_repository():
    """docs/claims.md has the words of the pack with 200 seeds; the dated notes in docs/verdicts.md those of the 20."""
    script = """
import json, sys
from pathlib import Path
from coexplore.store import load
from coexplore.paper.claims import verdicts
from coexplore.paper.verdict import table
results = [[*load(path), *load(Path(path).with_name("no-critic.safetensors"))] for path in sys.argv[1:]]
every = [verdicts(each) for each in results]
shown = [table([one for one in found if not one.proof]) for found in every]
print(json.dumps([shown, [[one.to_dict() for one in found] for found in every]]))
"""
    found, paths = {}, sorted(RESULTS.glob("*/paper*.safetensors"))
    for path, shown, verdicts in zip(paths, *printed(script, *map(str, paths)), strict=True):
        assert shown == path.with_name(path.stem.replace("paper", "claims") + ".md").read_text().rstrip("\n")
        found[path.parent.name, path.stem] = {one["id"]: one for one in verdicts}
    latest, twenty = found["cuda", "paper-200"], found["cuda", "paper"]
    claims, page = ((ROOT / "docs" / name).read_text() for name in ("claims.md", "verdicts.md"))
    for word in ("holds", "fails", "tie", "undecided"):
        (line,) = re.findall(rf"^- \*\*{word}\*\*: ([A-Z]\d.*)$", claims, re.M)
        named = [one.strip() for one in line.split(",") if one]
        assert named == [id for id, one in latest.items() if one["verdict"] == word]
    count = Counter(one["verdict"] for id, one in latest.items() if not id.startswith("M"))
    told = (
        f"{count['holds']} hold, {count['fails']} fail, {count['tie']} are ties and {count['undecided']} stay undecided"
    )
    assert told in " ".join(page.split())
    assert told in README
    apart = sum(one["by_welch"] not in (None, one["verdict"]) for one in latest.values())
    assert f"the word is another one in {apart} of the {count.total()} claims" in page
    note = page.partition("## 2026-11-18")[2].partition("\n## ")[0]
    changes = re.findall(r"^\| (\w[\w.]+) \| (holds|fails|undecided) \| (\w+) \|$", note, re.M)
    assert len(changes) == 9
    assert all(before != now == twenty[id]["verdict"] for id, before, now in changes)
    changed = [id for id, one in latest.items() if one["was"]]
    assert len(changed) == 9
    note = page.partition("## 2026-11-19")[2].partition("\n## ")[0]
    words = [[one["was"]["verdict"], one["verdict"]] for id in changed for one in (latest[id], twenty[id])]
    pairs = [[id, *words[2 * i], *words[2 * i + 1]] for i, id in enumerate(changed)]
    assert _rows(note) == pairs
    section = claims.partition("## Criteria that were changed")[2].partition("\n## ")[0]
    shown = [[id, one["was"]["of"], *_told(one["was"]), *_told(one)] for id, one in latest.items() if one["was"]]
    assert _rows(section)[: len(shown)] == shown


def _rows(section):
    """The cells of the lines of a table, but for its head."""
    lines = re.findall(r"^\| (\w+[.\d]* \|.*) \|$", section, re.M)
    return [cells for line in lines if (cells := line.split(" | "))[0] != "claim"]


def _told(verdict):
    """A word, and the effect with its interval."""
    effect, low, high = (f"{verdict[key]:+.3f}".replace("-", "−") for key in ("effect", "low", "high"))
    return [verdict["verdict"], f"{effect} [{low}, {high}]"]


def test_how_much_faster_the_algorithms_learn_is_told_as_it_came_out():
    """REINFORCE's episodes to half of the best last quarter at a size, over theirs: medians over seeds."""
    page = (ROOT / "docs" / "claims.md").read_text()
    lines = (RESULTS / "questions" / "gradients.md").read_text().partition("| episodes to it |")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| \w", line)]
    episodes = {(label, N): int(reached.split()[0].replace(",", "").replace("more", "0")) for label, N, _, _, reached, _ in rows}  # fmt: skip  # noqa: E501
    for label in ("Algorithm 1", "Algorithm 2"):
        ratios = [episodes["REINFORCE", N] / episodes[label, N] for N in ("8", "16", "32", "64", "128")]
        assert f"| {label} | {' | '.join(f'{ratio:.1f}' for ratio in ratios)} |" in page
    many, few = (by_setting(load(RESULTS / "cuda" / f"{name}.safetensors")) for name in ("paper-200", "paper"))
    one, two, best = (faster(many, Run(rule=rule)) for rule in (Boltzmann(0.25), Recurrent(0.25), Boltzmann(0.4)))
    small = faster(few, Run(rule=Boltzmann(0.75), hidden=8))
    assert f"it is {one:.1f} for Algorithm 1 and {two:.1f} for Algorithm 2" in page
    assert f"{small:.1f} with 8 units (c = 0.75, 20 seeds), {best:.1f} with 64 (c = 0.4, 200" in page
    assert f"{one:.1f} times as many episodes as Algorithm 1, and {two:.1f} times as many as Algorithm 2" in README
    assert f"with 8 units {episodes['REINFORCE', '8'] / episodes['Algorithm 1', '8']:.1f} times" in README
    rates = {rule.name: f"{np.mean([result.first for result in many[Run(rule=rule)]]):.3f}" for rule in WITH_200_SEEDS}
    told = re.findall(r"^\| \[`([\w-]+)`\].*?\| (?:yes|no|nearly) \| (0\.\d{3}) \|", README, re.M)
    assert dict(told) == rates


def faster(found, run):
    at_N = [each for each in FIGURES["fig3"].settings() if each.hidden == run.hidden]
    half = max(np.mean([result.last for result in found[each]]) for each in at_N) / 2
    reinforce, its = (
        np.median([slowness(result, half) for result in found[each]])
        for each in (Run(rule=Reinforce(), hidden=run.hidden), run)
    )
    return reinforce / its


def test_what_the_paper_leaves_open_has_the_effect_that_the_page_says():
    page = (ROOT / "docs" / "run.md").read_text().partition("## What the paper leaves open")[2]
    rewards = {setting: f"{np.mean([result.reward for result in same]):.3f}"
               for setting, same in by_setting(load(RESULTS / "cuda" / "paper.safetensors")).items()}  # fmt: skip
    found = [rewards[run] for run in (*grid(Run(), critic=["relu", "tanh"]), *grid(OF_BITS, coupling=[0, 0.25]))]
    assert re.findall(r"0\.\d{3}", page.partition("**Adam**")[0]) == [*found[2:], *found[:2]]
    for rule in (Boltzmann(), Recurrent()):
        by_c = [rewards[run] for run in grid(OF_BITS, coupling=C, layers=[(rule,)])]
        assert by_c[0] == max(by_c)


def test_what_is_said_below_the_picture_is_what_its_runs_say():
    """Of the mean curve over five seeds: the fall of Algorithm 1, what it falls below, and who ends highest."""
    headline = FIGURES["headline"].settings()
    groups = by_setting(load(RESULTS / "cpu" / "paper.safetensors"))
    of_rule = {run.rules[0].name: np.mean([result.curve for result in groups[run]], axis=0) for run in headline}
    mean = {rule: curve.reshape(100, -1).mean(axis=1) for rule, curve in of_rule.items()}  # a point for 40,000 episodes
    sentence = next(line for line in README.splitlines() if line.startswith("*A layer of 64 units"))
    millions = 25  # points
    told = re.search(r"has (0\.\d\d) after a million episodes and falls to (0\.\d\d) after four", sentence)
    fall = mean["boltzmann"][millions - 1], mean["boltzmann"][-1]
    assert told.groups() == tuple(f"{x:.2f}" for x in fall)
    assert {rule for rule in mean if mean[rule][-1] > fall[1]} == {"recurrent", "ste", "unbiased-weight-max"}
    passes = np.argmax(mean["recurrent"] > mean["boltzmann"]) / millions
    assert f"passes it after {passes:.1f} million" in sentence
    assert sentence.endswith(f"with {mean['recurrent'][-1]:.2f}.*")
    assert max(mean, key=lambda rule: mean[rule][-1]) == "recurrent"
    assert max(mean, key=lambda rule: mean[rule][millions // 2]) == "boltzmann"
    assert min(mean, key=lambda rule: mean[rule][-1]) == "reinforce"


@pytest.mark.parametrize("home", [supervised, control])
def test_the_tables_in_this_repository_are_those_of_the_runs_in_it(home):
    folder = RESULTS / home.__name__.rpartition(".")[2]
    packs = [path for path in folder.glob("*.safetensors") if path.stem != "starting"]  # test_starting.py has that
    assert packs
    for path in packs:
        comparison = home.COMPARISONS[path.stem]
        table = home.table(comparison, home.rows(comparison, load(path)))
        assert path.with_suffix(".md").read_text().startswith(table)


def test_the_returns_on_the_page_are_those_of_the_runs_in_this_repository():
    """A column per environment, a line per rule: ours, then what was published."""
    page = (ROOT / "docs" / "control.md").read_text()
    section = page.partition("## Beside what was published")[2].partition("\n## ")[0]
    head, _, *lines = re.findall(r"^\|.*\|$", section, re.M)
    names = [one.strip() for one in head.split("|")[2:-1]]
    shown = {}
    for line in lines:
        _, rule, *cells, _ = map(str.strip, line.split("|"))
        shown |= {(rule, name): cell for name, cell in zip(names, cells, strict=True) if cell != "–"}
    found = {}
    for name, comparison in control.COMPARISONS.items():
        rows = control.rows(comparison, load(RESULTS / "control" / f"{name}.safetensors"))
        for row in rows["author"]:
            numbers = [(row.score.mean, row.score.sd), *([row.entry.published] if row.entry.published else [])]
            cell = ", ".join(f"{mean:.0f} ({sd:.0f})".replace("-", "−") for mean, sd in numbers)
            found[f"`{row.entry.label}`", comparison.title] = cell
    assert shown == found


@pytest.mark.learning
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
    assert frozen in README
    assert frozen in (ROOT / "docs" / "claims.md").read_text()


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
    readme, claims_page = README, (ROOT / "docs" / "claims.md").read_text()
    assert f"first quarter at 128 units: {one[5]:.3f}, next {rival[5]:.3f}" in claims_page
    assert (
        f"{every['plain backprop'][3]:.3f} over all episodes at 64 units, Algorithm 1 {every['Algorithm 1'][3]:.3f}"
        in claims_page
    )
    ends = every["plain backprop"][3], every["Algorithm 1"][3]
    assert "{:.3f} over four million episodes with 64 units, Algorithm 1 {:.3f}".format(*ends) in readme
    words = re.findall(r"^\| [TS]\d .*?\*\*(\w+)\*\* \| (\w*)", claims, re.M)
    now = ["fails", "fails", "undecided", "undecided", "undecided"]
    assert words == [*((word, "") for word in now), ("undecided", "holds")]
    ours = "unbiased Weight Max, expected"
    for bits, k in (("four", 4), ("five", 5)):
        rows = _cells(tables["scaling"], f"## Reward, first quarter, {k} bits\n")
        for label, quoted in (("Algorithm 1", f"{bits} bits: Algorithm 1"), (ours, f"… {ours}")):
            assert f"| {quoted} | {' | '.join(cell.split()[0] for cell in rows[label])} |" in page
        others = [row for label, row in rows.items() if label != "Algorithm 1"]
        assert max(row[5].split()[0] for row in others) == rows[ours][5].split()[0]
    assert f"{rows['Algorithm 1'][5].split()[0]} there, next {rows[ours][5].split()[0]}" in claims_page
    four = _cells(tables["scaling"], "## Reward, first quarter, 4 bits\n")
    firsts = {label: [float(four[label][i].split()[0]) for i in (4, 5)] for label in ("Algorithm 1", ours)}
    at_384, at_512 = (f"{a - b:.3f}" for a, b in zip(*firsts.values(), strict=True))
    assert f"the lead is {at_384} with 384 units and {at_512} with 512" in claims_page
    assert f"its lead from {at_384} to {at_512}" in page
    assert "falls from {:.3f}\nwith 384 units to {:.3f} with 512".format(*firsts["Algorithm 1"]) in page
    (s1,) = re.findall(r"^\| S1 .*$", claims, re.M)
    assert re.search(r"\| ([+-]0\.\d+ \[[^]]*\]) \|.* \| 40 \|", s1)[1].replace("-", "−") in claims_page
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
    assert "({} and {} in the last quarter)".format(*ends) in claims_page
    drawing = [row for label, row in every.items() if label != "plain backprop"]
    assert all(max(row[i] for row in drawing if row[i] != "–") == every["Algorithm 1"][i] for i in range(4))


@pytest.mark.learning
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
