"""The figures' lists of runs are the table of the paper, line by line."""

import pytest

from coexplore import Boltzmann, Recurrent, Reinforce, Run, StraightThrough, UnbiasedWeightMax
from coexplore.paper.defaults import NS, C
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, runs
from coexplore.rules import BUILT_IN
from coexplore.run import change
from coexplore.settings import FieldError

PAPERS = ["fig2", "fig3", "fig4", "fig5", "figa1", "figa2", "figa3", "figa4", "figa5", "figa6"]
OURS = ["binary", "tanh-critic", "no-critic", "expected", "signed", "headline", "annealing", "compute", "depth-paper"]
OURS += ["local-critics", "one-rule-paper", "depression", "depression-in-time"]
OURS += ["odd-even", "figa1-odd", "one-by-one", "coupling-steps", "coupling-steps-lazy"]
OURS += ["why", "batches"]
RIVALS = [Run(rule=rule, hidden=N) for rule in (Reinforce(), UnbiasedWeightMax(), StraightThrough()) for N in NS]
ALG_1 = [Run(rule=Boltzmann(coupling=c), hidden=N) for c in C for N in NS]
ALG_2 = [Run(rule=Recurrent(coupling=c), hidden=N) for c in C for N in NS]
TABLE = {
    "fig2": [*(Run(rule=Boltzmann(coupling=c, steps=25), hidden=64) for c in C), Run(rule=Reinforce())],
    "fig3": [*ALG_1, *ALG_2, *RIVALS],
    "fig4": [*ALG_1, *ALG_2, *RIVALS],
    "fig5": [
        *(Run(rule=Recurrent(coupling=c, steps=2, trace_decay=0.25)) for c in C),
        Run(rule=Reinforce()),
        Run(rule=Boltzmann(coupling=0.25)),
    ],
    "figa1": [Run(rule=Boltzmann(coupling=0.25, steps=T)) for T in (1, 2, 4, 10, 15, 20, 25, 30, 50)],
    "figa2": ALG_1,
    "figa3": [Run(rule=Recurrent(coupling=0.25, trace_decay=0.25, steps=T)) for T in (1, 2, 4, 8, 10, 20)],
    "figa4": [Run(rule=Recurrent(trace_decay=x)) for x in (0, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99)],
    "figa5": ALG_2,
    "figa6": [*ALG_1, *ALG_2, *RIVALS],
}


def test_the_figures_are_the_papers_and_ours():
    assert list(FIGURES) == [*PAPERS, *OURS]
    assert [name for name, figure in FIGURES.items() if figure.ours] == OURS
    assert C == [0, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 1]
    assert NS == [8, 16, 32, 64, 96, 128]


@pytest.mark.parametrize("name", PAPERS)
def test_a_figure_of_the_paper_runs_its_line_of_the_table(name):
    assert set(FIGURES[name].settings()) == set(TABLE[name])
    assert len(FIGURES[name].settings()) == len(set(TABLE[name]))


def test_the_papers_figures_are_134_settings_670_runs_and_2_68e9_episodes():
    everything = runs(PAPERS, *SCALES["paper"])
    assert len({run.setting for run in everything}) == 134
    assert len(everything) == len(set(everything)) == 670
    assert sum(run.episodes for run in everything) == 2_680_000_000


def test_large_networks_come_last_and_the_papers_runs_before_ours():
    ordered = list(dict.fromkeys(run.setting for run in runs(FIGURES, 4_000_000, 2)))
    sizes = [max(64, run.hidden[0]) for run in ordered]
    assert sizes == sorted(sizes)
    small = [run for run in ordered if run.hidden[0] <= 64]
    papers = {run for name in PAPERS for run in FIGURES[name].settings()}
    ours = [run not in papers for run in small]
    assert ours == sorted(ours)
    assert ours.count(True) == 17 + 3 + 8 + 4 + (4 * 19 + 4) + 7 + 3 * len(BUILT_IN) + 155 + (31 + 36 - 2) + 3 + 41 + 10


def test_ours_share_what_the_papers_figures_run():
    papers = {run for name in PAPERS for run in FIGURES[name].settings()}
    assert set(FIGURES["compute"].settings()) <= papers
    new = {name: len(set(FIGURES[name].settings()) - papers) for name in OURS}
    assert new == {
        "binary": 17,
        "tanh-critic": 3,
        "no-critic": 6 + 2,
        "expected": 6,
        "signed": 6 * 19 + 2 + 2,
        "annealing": 7,
        "compute": 0,
        "headline": 0,
        "depth-paper": 3 * len(BUILT_IN),  # none is shared: they are a quarter as long
        "local-critics": 10,  # with ReLU units it is the headline
        "odd-even": 14,
        "figa1-odd": 10,
        "one-by-one": 5,
        "coupling-steps": 66,
        "coupling-steps-lazy": 77 + 6,
        "depression": 31,  # nor here, but for one each with the figure on depth
        "depression-in-time": 36,
        "one-rule-paper": 3,
        "why": 2 * 7 + 5 + 1,  # two sizes that the paper has not, an expected form, plain backprop
        "batches": 45,  # a quarter as long
    }


def test_signed_has_what_the_claims_on_frozen_runs_need_with_signed_signals():
    needed = {*TABLE["fig3"], *(run for run in FIGURES["no-critic"].settings() if run.critic is None)}
    rules = (Boltzmann, Recurrent)
    needed = {run for run in needed if run.critic is not None or isinstance(run.rule, rules)}
    assert set(FIGURES["signed"].settings()) == {change(run, "signals", "signed") for run in needed}


def test_a_scale_changes_episodes_and_seeds_and_nothing_else():
    quick = runs(["figa3"], *SCALES["quick"])
    assert {run.seed for run in quick} == {0, 1, 2}
    assert {run.episodes for run in quick} == {400_000}
    assert {run.rule.steps for run in quick} == {1, 2, 4, 8, 10, 20}


def test_depth_has_every_rule_three_deep_and_a_quarter_of_a_scales_episodes():
    everything = runs(["depth-paper"], *SCALES["paper"])
    expected = {Run(rule=rule(), hidden=(64,) * L, episodes=1_000_000) for rule in BUILT_IN.values() for L in (1, 2, 3)}
    assert {run.setting for run in everything} == expected
    assert len(everything) == 5 * len(expected)
    assert {run.episodes for run in runs(["depth-paper"], *SCALES["quick"])} == {100_000}
    assert {run.episodes for run in runs(["depth-paper", "headline"], *SCALES["paper"])} == {1_000_000, 4_000_000}
    assert (
        FIGURES["depth-paper"].length(1_000_000) == 1_000_000
    )  # a store of nothing but its runs is judged at their length


def test_an_unknown_figure_is_refused_in_one_line():
    with pytest.raises(FieldError, match=r"figure: 'fig22' is not allowed \(did you mean 'fig2'\?\)"):
        runs(["fig22"], 16, 1)
