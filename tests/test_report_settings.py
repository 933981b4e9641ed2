"""Which settings the report shows first, and what it says of those that it does not."""

import numpy as np
import pytest
from test_report import made_up, of, opened

from coexplore import Boltzmann, Recurrent, Reinforce, Run
from coexplore.report import data, html, inside
from coexplore.report.data import report
from coexplore.tasks.multiplexer import Multiplexer
from coexplore.tasks.supervised import Digits


@pytest.fixture(autouse=True)
def without_claims(monkeypatch):
    """They are not the subject here, and slow to judge."""
    monkeypatch.setattr(data, "verdicts", lambda *_: [])


def shown_first(browser, tmp_path, rewards):
    """Labels of the lines of the first chart, and the line above it, in a report of one run of each of these."""
    (tmp_path / "page.html").write_text(html.page(report([made_up(run, y) for run, y in rewards.items()], "")).html)
    opened(browser, tmp_path / "page.html")
    lines = of(browser, "compare", "it.summary().rows.map((row) => row[0])")
    return lines, browser.execute_script("return document.querySelector('.first p').textContent")


def sweep(couplings):
    return {Run(rule=Boltzmann(coupling=c)): 0.3 + 0.05 * c for c in couplings}


def test_the_report_opens_with_all_settings_while_they_are_few(browser, tmp_path):
    rewards = {**sweep([0.25, 0.5]), Run(rule=Recurrent()): 0.2, Run(rule=Reinforce()): 0.1}
    lines, note = shown_first(browser, tmp_path, rewards)
    assert len(lines) == 4
    assert {line.partition(" coupling=")[2] for line in lines if "boltzmann" in line} == {"0.25", "0.5"}
    assert "settings" not in note  # none is hidden


def test_settings_stand_in_the_order_of_their_numbers(browser, tmp_path):
    lines, _ = shown_first(browser, tmp_path, sweep([10, 0.5, 2, 0.25, 1e-5]))
    assert [line.removeprefix("coupling=") for line in lines] == ["1e-5", "0.25", "0.5", "2", "10"]


def test_where_it_cuts_it_shows_the_best_of_each_rule_and_says_how_many_it_hides(browser, tmp_path):
    rewards = {**sweep(range(1, 11)), Run(rule=Recurrent()): 0.2, Run(rule=Reinforce()): 0.1}
    lines, note = shown_first(browser, tmp_path, rewards)
    assert lines == [
        *(f"Algorithm 1 · boltzmann coupling={c}" for c in range(5, 11)),
        "Algorithm 2 · recurrent",
        "REINFORCE",
    ]
    assert "8 of 12 settings" in note
    assert "4 others" in note
    browser.execute_script("""
      const picker = document.querySelector(".picker").parentElement;
      picker.open = true;
      picker.dispatchEvent(new Event("toggle"));
      picker.querySelector("label input[type=checkbox]").click();
    """)
    assert of(browser, "compare", "it.summary().rows.length") == 9
    note = browser.execute_script("return document.querySelector('.first p').textContent")
    assert ("9 of 12 settings" in note, "best" in note) == (True, False)


def test_settings_of_a_task_that_pays_otherwise_are_said_to_be_elsewhere(browser, tmp_path):
    other = {Run(rule=Boltzmann(coupling=c), task=Multiplexer(rewards="binary")): 0.9 for c in (0.1, 0.2)}
    lines, note = shown_first(browser, tmp_path, {**other, **sweep([0.25, 0.5, 0.75])})
    assert len(lines) == 3
    assert "3 of 5 settings" in note
    assert "2 others" in note


def test_runs_that_finish_later_are_shown_unless_the_reader_has_chosen(browser, tmp_path):
    shown_first(browser, tmp_path, sweep([0.25]))
    made = report([made_up(run, y) for run, y in sweep([0.25, 0.5]).items()], "")
    browser.execute_script("coexplore.renew(arguments[0])", made)
    assert of(browser, "compare", "it.summary().rows.length") == 2


def looked_into(rewards):
    seen = {"updates": np.array([0, 10]), "firing.0": np.full((2, 1), 0.5, np.float32)}
    return [made_up(run, y).replaced(snapshots=seen) for run, y in rewards.items()]


def test_of_many_settings_the_best_of_each_rule_can_be_looked_into(monkeypatch):
    monkeypatch.setattr(inside, "MOST", 4)
    elsewhere = Run(rule=Boltzmann(coupling=9), task=Digits())  # whose rewards are higher
    results = looked_into({elsewhere: 0.9, **sweep(range(1, 4)), Run(rule=Reinforce()): 0.1})
    best = [Boltzmann(coupling=3), Reinforce(), Boltzmann(coupling=9), Boltzmann(coupling=2)]
    assert [result.run.rule for result in inside.chosen_runs(results)] == best


def test_the_page_says_of_how_many_settings_it_has_a_look_inside(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(inside, "MOST", 2)
    results = looked_into({Run(rule=Reinforce(), learning_rate=rate): 0.1 for rate in (0.1, 0.2, 0.3)})
    (tmp_path / "page.html").write_text(html.page(report(results, "")).html)
    opened(browser, tmp_path / "page.html", "inside")
    assert "2 of 3 settings" in browser.execute_script("return document.getElementById('inside').textContent")
