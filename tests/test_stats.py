"""Means, intervals and pictures over seeds."""

import math

import numpy as np
import pytest
import scipy.stats

from coexplore import Boltzmann, Reinforce, Result, Run, grid, plot
from coexplore.network import Params
from coexplore.results.stats import Estimate, difference, holm, kendall, level, student, summary
from coexplore.run import by_setting


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
    assert math.isnan(difference([1.0], [2.0, 3.0]).low)
    assert math.isnan(difference([1.0], [2.0, 3.0]).p())


def test_a_difference_is_welchs():
    """Against scipy's own test: interval, degrees of freedom and p-value."""
    a, b = [1.0, 2.0, 4.0, 5.5], [0.0, 0.1, 0.3, 0.2, 0.25]
    known = scipy.stats.ttest_ind(a, b, equal_var=False)
    found = difference(a, b)
    assert found.effect == pytest.approx(3.125 - 0.17)
    assert (found.low, found.high) == pytest.approx(tuple(known.confidence_interval()))
    assert (found.df, found.p()) == pytest.approx((known.df, known.pvalue))
    assert found.p(at=found.high) == pytest.approx(0.05)


def test_groups_without_spread_differ_for_certain_or_not_at_all():
    assert difference([1.0, 1.0], [0.0, 0.0]) == (1.0, 0.0, 2, 1.0, 1.0)
    assert difference([1.0, 1.0], [0.0, 0.0]).p() == 0
    assert difference([1.0] * 30, [1.0] * 30).p() == 1


def test_holm_multiplies_the_smallest_the_most_and_never_swaps_two():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.001]) == pytest.approx([0.9, 0.002])
    assert holm([]) == []


def test_from_twenty_seeds_the_interval_is_a_bootstrap_and_always_the_same():
    values = np.random.default_rng(1).exponential(size=20)
    found = summary(values)
    assert found == summary(values)
    assert found.high - found.mean > 1.05 * (found.mean - found.low)  # skewed, as Student's cannot be
    both = difference(values, values[::-1] + 1)
    assert both.low < -1 < both.high
    assert both == difference(values, values[::-1] + 1)


def spread(rng, n, kind):
    values = rng.normal(0.5, 0.1, n)
    return {"plain": values, "tied": values.round(1), "one apart": np.where(np.arange(n) == 3, 1.0, 0.0)}[kind]


@pytest.mark.parametrize("kind", ["plain", "tied", "one apart"])
@pytest.mark.parametrize("sizes", [(20,), (100,), (20, 20), (33, 20), (50, 100)])
def test_a_bootstrap_interval_is_scipys_to_the_last_bit(sizes, kind):
    rng = np.random.default_rng(len(sizes))
    groups = [spread(rng, n, kind) for n in sizes]
    known = scipy.stats.bootstrap(
        groups, lambda *x, axis: np.mean(x[0], axis=axis) - (np.mean(x[1], axis=axis) if x[1:] else 0),
        vectorized=True, rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    assert (difference(*groups) if groups[1:] else level(*groups))[3:] == (known.low, known.high)


def test_quantiles_p_values_and_rank_correlations_are_scipys_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = rng.normal(size=6), rng.choice([0.0, 0.1, 0.25, 0.4], 6)
        assert kendall(x, y) == scipy.stats.kendalltau(x, y).statistic
        effect, se, df = rng.normal(), rng.exponential(), rng.uniform(1, 50)
        assert Estimate(effect, se, df, 0, 0).p(0.1) == 2 * scipy.stats.t.sf(abs(effect - 0.1) / se, df)
        assert student(df) == scipy.stats.t.ppf(0.975, df)
    assert kendall([1, 2, 3], [5, 5, 5]) == 0


def coverage(interval, truth, draws):
    inside = [low <= truth <= high for low, high in (interval(*groups) for groups in draws)]
    return np.mean(inside)


@pytest.mark.parametrize(("seeds", "trials", "expected"), [(5, 600, 0.95), (20, 60, 0.93)])
def test_the_intervals_cover_what_they_should(seeds, trials, expected):
    """Groups of unequal variance. Standard error of the measured coverage: 0.009 at 600 trials, 0.03 at 60."""
    rng, slack = np.random.default_rng(7), 0.03 if trials == 600 else 0.08
    pairs = [(rng.normal(0, 1, seeds), rng.normal(1, 4, seeds)) for _ in range(trials)]
    assert coverage(lambda a, b: summary(b)[2:], 1, pairs) == pytest.approx(expected, abs=slack)
    assert coverage(lambda a, b: difference(a, b)[3:], -1, pairs) == pytest.approx(expected, abs=slack)


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


def test_a_picture_has_a_curve_per_setting_and_ends_where_training_ended(tmp_path):
    figure = plot(made_up(), tmp_path / "curves.svg")
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == [
        "Algorithm 1 · boltzmann coupling=0.0",
        "Algorithm 1 · boltzmann coupling=0.25",
        "REINFORCE · reinforce",
    ]
    assert axes.lines[1].get_xdata()[-1] == 16_000
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(0.61, abs=0.01)
    assert (tmp_path / "curves.svg").stat().st_size > 1000
