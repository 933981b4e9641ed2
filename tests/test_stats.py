"""Means, intervals and pictures over seeds."""

import math

import numpy as np
import pytest

from coexplore import Boltzmann, Reinforce, Result, Run, grid, plot
from coexplore.network import Params
from coexplore.result import by_setting
from coexplore.stats import summary


def test_a_summary_is_students_interval():
    """Worked by hand: mean 3, sd √2.5, t(0.975, 4) = 2.776445."""
    found = summary([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3
    assert found.sd == pytest.approx(math.sqrt(2.5))
    assert found.high - found.mean == pytest.approx(2.776445 * math.sqrt(2.5) / math.sqrt(5), rel=1e-6)
    assert found.low == pytest.approx(6 - found.high)


def test_one_value_has_no_interval():
    assert math.isnan(summary([1.0]).sd)
    assert str(summary([1.0])) == "1.000"


NOTHING = Params((), None)


def made_up():
    curves = {0.0: 0.1, 0.25: 0.6}
    runs = [*grid(Run(episodes=16_000), coupling=list(curves), seed=range(3)), Run(rule=Reinforce(), episodes=16_000)]
    for run in runs:
        level = curves[run.rule.coupling] if isinstance(run.rule, Boltzmann) else 0.3
        yield Result(run, "xla", np.linspace(0, level, 1000, dtype=np.float32) + np.float32(0.01 * run.seed), NOTHING)


def test_results_are_gathered_by_setting():
    settings = by_setting(made_up())
    assert [len(same) for same in settings.values()] == [3, 3, 1]
    assert all(run.seed == 0 for run in settings)


def test_windows_are_quarters_of_the_curve():
    result = next(made_up())
    assert result.first == pytest.approx(float(result.curve[:250].mean()))
    assert result.last == pytest.approx(float(result.curve[750:].mean()))
    assert result.reward == pytest.approx(float(result.curve.mean()))
    assert result.episodes[0] == 16
    assert result.episodes[-1] == 16_000


def test_a_picture_has_a_curve_a_setting_and_ends_where_training_ended(tmp_path):
    figure = plot(made_up(), tmp_path / "curves.svg")
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == [
        "boltzmann coupling=0.0",
        "boltzmann coupling=0.25",
        "reinforce",
    ]
    assert axes.lines[1].get_xdata()[-1] == 16_000
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(0.61, abs=0.01)
    assert (tmp_path / "curves.svg").stat().st_size > 1000
