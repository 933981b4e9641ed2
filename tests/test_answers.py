"""Answers to open questions: tables in results/questions and numbers on the page are those of the runs beside them."""

import re
from pathlib import Path

import numpy as np
import pytest

from coexplore import load
from coexplore.paper import gradient_tables, tuned_tables
from coexplore.paper.checkpoints import LEVELS, networks, read_table
from coexplore.paper.claims import verdicts as paper_verdicts
from coexplore.paper.figures import FIGURES
from coexplore.paper.open_tunings.at_their_best import ALGORITHM_2, PRINTED
from coexplore.paper.open_tunings.one_rule import CENTRES, DRIVE, HALF, LARGE, PREDICTED, SMALL, UNCOUPLED
from coexplore.paper.questions import CLAIMS, verdicts
from coexplore.paper.tables import table
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tunings import TUNINGS
from coexplore.paper.verdict import table as verdict_table
from coexplore.study.search import Trials

pytestmark = pytest.mark.packs
ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results" / "questions"
PLAIN = {
    "odd-even": ("odd-even", "figa1-odd"),
    "coupling-steps": ("coupling-steps", "coupling-steps-lazy"),
    "one-by-one": ("one-by-one",),
    "depression": ("depression", "depression-in-time"),
    "batches": ("batches",),
    "why": ("why",),
}
SEARCHED = ("one-rule", "centres", "layer-rewards")


def page():
    return (ROOT / "docs" / "open-questions.md").read_text().replace("−", "-")


def on_the_page(one):
    """The word, and the number with its interval; a loss may be told without its sign."""
    ends = sorted((abs(one.low), abs(one.high))) if one.high < 0 else (one.low, one.high)
    told = [(one.effect, one.low, one.high), (abs(one.effect), *ends)]
    numbers = any(f"{effect:.3f} [{low:.3f}, {high:.3f}]" in page() for effect, low, high in told)
    return numbers and re.search(rf"\b{re.escape(one.id)}:? {one.verdict}", page())


def contest_of(name):
    tuning = TUNINGS[name]
    trials = Trials(load(FOLDER / f"{name}.safetensors"), finished=True)
    return tuning, Comparison(tuning.searches(4_000_000), trials, tuning.length(4_000_000))


@pytest.mark.parametrize("pack", PLAIN)
def test_figures_are_told_as_their_runs_came_out(pack):
    results, measured = load(FOLDER / f"{pack}.safetensors"), read_table(FOLDER / f"{pack}.safetensors")
    every = [one for one in verdicts(results, measured=measured) if one.figure in PLAIN[pack]]
    for name in PLAIN[pack]:
        mine = [one for one in every if one.figure == name]
        written = f"{table(FIGURES[name], results)}\n{verdict_table(mine) if mine else ''}".strip()
        assert written == (FOLDER / f"{name}.md").read_text().strip()
    assert [one.id for one in every if one.low is not None and not on_the_page(one)] == []
    assert "not run" not in {one.verdict for one in every}


def test_where_the_paper_is_not_right_the_parity_of_T_is_told_as_it_came_out():
    (one,) = [one for one in verdicts(load(FOLDER / "odd-even.safetensors")) if one.id == "Q4.1"]
    errata = (ROOT / "docs" / "errata.md").read_text().replace("−", "-")
    assert f"{one.effect:.3f} [{one.low:.3f}, {one.high:.3f}]" in errata


@pytest.mark.learning
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_told_as_their_runs_came_out(name):
    tuning, contest = contest_of(name)
    every = judged(name, contest)
    written = f"{tuned_tables.table(tuning, contest)}\n{verdict_table(every)}".strip()
    assert written == (FOLDER / f"{name}.md").read_text().strip()
    assert [one.id for one in every if not on_the_page(one)] == []


def test_what_asks_for_a_curve_is_not_judged_by_a_pack_that_kept_scores_alone():
    """One of the paper's claims reads curves of runs that are in this pack too, at its own length."""
    found = {one.id: one for one in paper_verdicts(load(FOLDER / "batches.safetensors"), 1_000_000)}
    assert found["F2.5"].verdict == "not run"
    assert "with its curve has not been trained" in found["F2.5"].sentence


def test_every_claim_of_ours_on_open_questions_is_in_one_of_these_files():
    assert {one.figure for one in CLAIMS} <= {*SEARCHED, *(name for names in PLAIN.values() for name in names)}


def mean(contest, N, label, by, measure):
    return f"{np.mean([getattr(result, measure) for result in contest.judged(label, N, by)]):.3f}"


def test_the_page_has_the_one_rule_beside_both_algorithms_at_every_size():
    _, contest = contest_of("one-rule")
    columns = ((PREDICTED, "reward", "first"), (PRINTED, "first", "first"), (PREDICTED, "reward", "last"))
    for N in (*SMALL, *LARGE):
        levels = [mean(contest, N, *column) for column in (*columns, (ALGORITHM_2, "last", "last"))]
        assert f"| {N} | {' | '.join(levels)} |" in page()
    for label in (HALF, DRIVE, UNCOUPLED, "as printed, searched alike"):
        assert mean(contest, 64, label, "reward", "reward") in page()


def test_the_page_has_every_centre():
    _, contest = contest_of("centres")
    said = sorted(
        re.findall(r"\| (0\.\d{3}) \|", page().split("What else one could subtract")[1].split("- Further")[0])
    )
    assert said == sorted(mean(contest, 64, label, "reward", "reward") for label in CENTRES)


def test_the_rule_at_the_papers_settings_is_told_as_its_runs_came_out():
    plain = load(FOLDER / "one-rule-paper.safetensors")
    assert table(FIGURES["one-rule-paper"], plain).strip() == (FOLDER / "one-rule-paper.md").read_text().strip()


def test_the_table_of_gradients_is_that_of_what_was_measured():
    results, rows = load(FOLDER / "why.safetensors"), read_table(FOLDER / "why.safetensors")
    assert gradient_tables.table(results, rows, 4_000_000).strip() == (FOLDER / "gradients.md").read_text().strip()
    assert {row["level"] for row in rows} == set(LEVELS)
    assert {(row["label"], row["units"]) for row in rows} <= set(networks())
    names = [(row["setting"], row["seed"], row["level"]) for row in rows]
    assert len(names) == len(set(names))


def test_the_page_has_every_estimate_of_64_units_where_the_reward_reaches_what_decides():
    measured, speed = (FOLDER / "gradients.md").read_text().split("Speed: the median")
    labels = [label for label, N in networks() if N == 64]
    for label in labels:
        row, pace = (
            re.search(rf"^\| {re.escape(label)} \| 64 \|{at}.*$", text, re.M)[0].strip("| ").split(" | ")
            for at, text in ((r" 0\.3 \|", measured), ("", speed))
        )
        told = [pace[4], *(row[i].split(" [")[0] for i in (5, 6, 7, 8, 10))]
        assert f"| {label} | {' | '.join(told)} |" in page()
