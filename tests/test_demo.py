"""`coexplore demo`: its table and its sentence are what its runs learned."""

import numpy as np
import pytest

from coexplore import grid
from coexplore.cli import demo
from coexplore.paper.figures import FIGURES
from coexplore.run import Result

RUNS = [run for runs in FIGURES["headline"].lines.values() for places in runs.values() for run in places]


def results(curves):
    """Two seeds of each rule, the second one 0.1 above the first."""
    shift = np.float32(0.1)
    return [
        Result(seeded, "cpu", np.asarray(curves[run.rules[0].name], np.float32) + i * shift, None)
        for run in RUNS
        for i, seeded in enumerate(grid(run, seed=range(2)))
    ]


def falling(rule):
    """A thousand points in which a rule rises to 0.8 and falls, and another one ends highest."""
    levels = {"boltzmann": (0.6, 0.8, 0.7, 0.5), "recurrent": (0.1, 0.5, 0.8, 0.9)}.get(rule, (0.1, 0.2, 0.3, 0.4))
    return np.repeat(levels, 250)


def test_the_table_has_quarters_and_the_end_over_all_seeds():
    curves = {run.rules[0].name: falling(run.rules[0].name) for run in RUNS}
    curves["boltzmann"][-50:] = 0.4  # the last twentieth
    found = demo.rewards(results(curves))
    assert list(found) == [run.rules[0].name for run in RUNS]
    assert found["boltzmann"] == pytest.approx([0.65, 0.85, 0.75, 0.53, 0.45])
    assert found["recurrent"] == pytest.approx([0.15, 0.55, 0.85, 0.95, 0.95])


def test_the_sentence_says_who_learns_first_and_what_becomes_of_it():
    found = demo.rewards(results({run.rules[0].name: falling(run.rules[0].name) for run in RUNS}))
    assert "(boltzmann) learns first" in demo.seen(found)
    assert "0.85 in the second quarter to 0.55 at the end" in demo.seen(found)
    assert "(recurrent) is highest with 0.95" in demo.seen(found)
    rising = demo.rewards(results({run.rules[0].name: np.linspace(0, 0.8, 1000) for run in RUNS}))
    assert "falls" not in demo.seen(rising)
