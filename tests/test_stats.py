"""Means, intervals and pictures over seeds."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from coexplore import Boltzmann, Reinforce, Result, Run, grid, plot
from coexplore.network import Params
from coexplore.run import by_setting
from coexplore.stats.bounded import drawn, weights
from coexplore.stats.estimates import Student, combination, difference, holm, kendall, level, student, summary


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
    assert (found.law.df, found.p()) == pytest.approx((known.df, known.pvalue))
    assert found.p(at=found.high) == pytest.approx(0.05)


def test_beside_a_bounded_interval_stands_welchs_of_the_same_effect():
    rng = np.random.default_rng(6)
    a, b = rng.random(12), rng.random(7) ** 2
    known = scipy.stats.ttest_ind(a, b, equal_var=False)
    found = difference(a, b, RANGE).welch
    assert ends(found) == pytest.approx(tuple(known.confidence_interval()))
    assert (found.effect, found.p()) == pytest.approx((a.mean() - b.mean(), known.pvalue))
    assert ends(level(a, RANGE).welch) == pytest.approx(ends(level(a)))
    assert ends(combination([a, b], [3.0, -3.0], RANGE).welch) == pytest.approx([3 * x for x in ends(found)])
    assert difference(a, b).welch.interval == difference(a, b).interval
    assert level([0.5, 0.5], RANGE).welch.interval == (0.5, 0.5)
    assert math.isnan(difference([0.5], b, RANGE).welch.low)


def test_groups_without_spread_differ_for_certain_or_not_at_all():
    assert ends(difference([1.0, 1.0], [0.0, 0.0])) == (1.0, 1.0)
    assert difference([1.0, 1.0], [0.0, 0.0]).p() == 0
    assert difference([1.0] * 30, [1.0] * 30).p() == 1


def test_holm_multiplies_the_smallest_the_most_and_never_swaps_two():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.001]) == pytest.approx([0.9, 0.002])
    assert holm([]) == []


# Values with bounds ---------------------------------------------------------------------------------------------------

RANGE = (0.0, 1.0)
ROOT = Path(__file__).parents[1]


def ends(found):
    return found.low, found.high


def test_of_noughts_and_ones_the_interval_is_clopper_and_pearsons():
    """To the error of 9,999 draws, 0.003 here. Where nothing varies it is next to exact."""
    for ones, n in ((16, 20), (3, 5), (55, 100)):
        found = level([1.0] * ones + [0.0] * (n - ones), RANGE)
        known = scipy.stats.binomtest(ones, n).proportion_ci()
        assert ends(found) == pytest.approx((known.low, known.high), abs=0.01)
    for n in (5, 20, 100):
        found = level([1.0] * n, RANGE)
        assert found.high == pytest.approx(1, abs=1e-12)
        assert found.low == pytest.approx(0.025 ** (1 / n), rel=1e-2 / n)


def test_an_interval_stays_within_the_bounds_and_reaches_for_them_where_the_sample_cannot_tell():
    rng = np.random.default_rng(2)
    for n in (1, 2, 5, 20, 100):
        a, b = rng.normal(0.98, 0.005, n), rng.normal(0.02, 0.01, n).clip(0)
        assert 0 <= level(a, RANGE).low <= a.mean() <= level(a, RANGE).high <= 1
        assert -1 <= difference(b, a, RANGE).low <= b.mean() - a.mean() <= difference(b, a, RANGE).high <= 1
        assert level(a, RANGE).low == pytest.approx(a.mean() * 0.025 ** (1 / n), abs=0.03)
    assert level([-0.2, 0.5, 1.3], RANGE).low > -0.2  # a value beyond a bound is the bound
    assert level([-0.2, 0.5, 1.3], RANGE).low < level([0.0, 0.5, 1.3], RANGE).low


def test_the_p_value_is_below_five_per_cent_just_where_the_interval_leaves_the_value_out():
    rng = np.random.default_rng(4)
    for n in (3, 20, 50):
        a, b = rng.random(n), rng.random(n + 1) ** 2
        for found in (level(a, RANGE), difference(a, b, RANGE)):
            assert found.p(found.low) >= 0.05
            assert found.p(found.high) >= 0.05
            assert found.p(found.low - 1e-9) < 0.05
            assert found.p(found.high + 1e-9) < 0.05
            assert found.p(found.effect) > 0.3
            assert found.p(-2.0) == found.p(2.0) == pytest.approx(2e-4)


def test_an_interval_is_always_the_same_whatever_the_order_and_a_difference_is_the_reverse_of_its_reverse():
    values = np.random.default_rng(1).random(20) ** 3
    assert ends(level(values, RANGE)) == ends(level(values[::-1], RANGE))
    there, back = difference(values, 1 - values, RANGE), difference(1 - values, values, RANGE)
    assert ends(there) == pytest.approx((-back.high, -back.low), abs=0.02)  # other draws
    assert ends(there) != (-back.high, -back.low)


def frozen(rng, n, share, mean, sd, samples=250):
    """Samples [samples, n] of runs of which some froze at 0."""
    return np.where(rng.random((samples, n)) < share, 0.0, rng.normal(mean, sd, (samples, n)).clip(max=1))


def share_inside(interval, truth):
    return np.mean((interval[0] <= truth) & (truth <= interval[1]))


@pytest.mark.parametrize("n", [5, 20, 100])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.45])
def test_intervals_cover_where_runs_freeze(share, n):
    """In 95 % of samples, 93 at least, in most of which no run froze. Standard error of each share: 0.014."""
    rng = np.random.default_rng(11)
    for mean, sd in ((0.9, 0.02), (0.98, 0.005)):
        a, b = frozen(rng, n, share, mean, sd), frozen(rng, n, share, mean, sd)
        plain, truth = frozen(rng, n, 0, 0.8, 0.02), (1 - share) * mean
        of_a, of_b, of_plain = drawn(a, RANGE), drawn(b, RANGE, 1), drawn(plain, RANGE, 1)
        assert share_inside(of_a.interval, truth) >= 0.93
        assert share_inside(of_a.minus(of_b).interval, 0) >= 0.93
        assert share_inside(of_a.minus(of_plain).interval, truth - 0.8) >= 0.93


def test_what_looks_at_the_sample_alone_does_not_cover_there():
    """Student's interval, where one run in a hundred freezes: most samples do not know."""
    rng = np.random.default_rng(11)
    samples = frozen(rng, 20, 0.01, 0.9, 0.02)
    inside = [share_inside(summary(x)[2:], 0.99 * 0.9) for x in samples]
    assert np.mean(inside) < 0.6


INTERVALS = runpy.run_path(ROOT / "benchmarks" / "intervals.py")
TABLES = (ROOT / "docs" / "verdicts.md").read_text().partition("### Two intervals")[2].partition("## Words")[0]


def rows_of(law, n):
    """The cells of a law and a size in the page's two tables."""
    start = f"| {law.name} | {n} | "
    found = [line.removeprefix(start).strip("| ") for line in TABLES.splitlines() if line.startswith(start)]
    return [row.split(" | ") for row in found]


def test_the_page_has_the_coverage_and_the_widths_of_students_and_welchs_intervals():
    for law in INTERVALS["LAWS"]:
        for n in INTERVALS["NS"]:
            (of_all, (apart_of_all, seen_of_all)), (learned, (apart, seen)) = INTERVALS["by_student"](law, n)
            means, differences = rows_of(law, n)
            assert means[:2] == [of_all, learned]
            assert [*differences[:2], *differences[3:5]] == [apart_of_all, apart, seen_of_all, seen]


@pytest.mark.learning  # seconds
def test_the_page_has_the_coverage_and_the_widths_of_bounded_intervals():
    """Two rows; the script makes all."""
    (law,) = (one for one in INTERVALS["LAWS"] if one.name == "5 % freeze")
    mean, (apart, seen) = INTERVALS["bounded"](law, 5)
    means, differences = rows_of(law, 5)
    assert (means[2], differences[2], differences[5]) == (mean, apart, seen)


def test_so_many_seeds_would_make_the_interval_so_narrow():
    """A sample that is there seven times over has the width that was asked for."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.7, 0.1, 30), rng.normal(0.6, 0.05, 30)
    for make, groups in ((level, (a,)), (difference, (a, b)), (doubling, (a, b, b, a, 1 - a, b))):
        more = make(*(np.tile(group, 7) for group in groups), RANGE)
        assert make(*groups, RANGE).seeds_for((more.high - more.low) / 2) == pytest.approx(210, rel=0.1)


SLOPE = [w * sign for w in (-2 / 7, -1 / 14, 5 / 14) for sign in (1, -1)]  # on 3, 4 and 6, of one group over another


def doubling(*groups_and_bounds):
    *groups, bounds = groups_and_bounds
    return combination(groups, SLOPE, bounds)


def test_of_two_groups_a_combination_is_their_difference_and_of_one_its_mean():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.7, 0.1, 20), rng.normal(0.6, 0.05, 25)
    known, mean = difference(a, b, RANGE), level(a, RANGE)
    for factor in (1.0, 3.0):
        found = combination([a, b], [factor, -factor], RANGE)
        assert (found.effect, *ends(found)) == pytest.approx([factor * x for x in (known.effect, *ends(known))])
        assert found.p(0.1 * factor) == known.p(0.1)
    reverse = combination([b, a], [-1.0, 1.0], RANGE)
    assert ends(reverse) == pytest.approx(ends(known), abs=0.01)  # other draws
    assert ends(combination([a], [-2.0], RANGE)) == pytest.approx((-2 * mean.high, -2 * mean.low))


@pytest.mark.parametrize("share", [0.01, 0.05, 0.45])
def test_combinations_of_many_groups_cover_where_runs_freeze(share):
    """The slope of a lead, 20 seeds. Independent errors rarely add up: it is narrower than all intervals together."""
    rng = np.random.default_rng(12)
    levels, shares = (0.9, 0.95, 0.9, 0.95, 0.98, 0.9), [share * (w < 0) for w in SLOPE]  # most samples look low
    every = list(zip(*(frozen(rng, 20, q, mean, 0.01) for mean, q in zip(levels, shares, strict=True)), strict=True))
    truth = np.dot(SLOPE, [mean * (1 - q) for mean, q in zip(levels, shares, strict=True)])
    assert coverage(lambda *groups: ends(doubling(*groups, RANGE)), truth, every) >= 0.93
    found = doubling(*every[0], RANGE)
    widths = [level(group, RANGE).high - level(group, RANGE).low for group in every[0]]
    assert found.high - found.low < 0.8 * np.dot(np.abs(SLOPE), widths)


def test_groups_of_any_size_have_draws_of_their_own():
    first = np.stack([weights(n, group)[0] for n in (20, 21, 22) for group in range(6)])
    apart = np.corrcoef(first) - np.eye(len(first))
    assert np.abs(apart).max() < 0.05


# ----------------------------------------------------------------------------------------------------------------------


def test_quantiles_p_values_and_rank_correlations_are_scipys_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = rng.normal(size=6), rng.choice([0.0, 0.1, 0.25, 0.4], 6)
        assert kendall(x, y) == scipy.stats.kendalltau(x, y).statistic
        effect, se, df = rng.normal(), rng.exponential(), rng.uniform(1, 50)
        assert Student(effect, se, df).p(0.1) == 2 * scipy.stats.t.sf(abs(effect - 0.1) / se, df)
        assert student(df) == scipy.stats.t.ppf(0.975, df)
    assert kendall([1, 2, 3], [5, 5, 5]) == 0


def coverage(interval, truth, draws):
    inside = [low <= truth <= high for low, high in (interval(*groups) for groups in draws)]
    return np.mean(inside)


def test_without_bounds_the_intervals_cover_too():
    """Groups of unequal variance. Standard error of the measured coverage: 0.009."""
    rng = np.random.default_rng(7)
    pairs = [(rng.normal(0, 1, 5), rng.normal(1, 4, 5)) for _ in range(600)]
    assert coverage(lambda a, b: summary(b)[2:], 1, pairs) == pytest.approx(0.95, abs=0.03)
    assert coverage(lambda a, b: ends(difference(a, b)), -1, pairs) == pytest.approx(0.95, abs=0.03)


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
        "Algorithm 1 · boltzmann coupling=0",
        "Algorithm 1 · boltzmann coupling=0.25",
        "REINFORCE",
    ]
    assert axes.lines[1].get_xdata()[-1] == 16_000
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(0.61, abs=0.01)
    assert (tmp_path / "curves.svg").stat().st_size > 1000
