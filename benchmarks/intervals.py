"""How often intervals cover the truth and how wide they are, the tables of docs/verdicts.md, in Markdown.

python benchmarks/intervals.py  # two minutes
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coexplore.results.tables import markdown
from coexplore.stats.bounded import drawn
from coexplore.stats.estimates import student

RANGE = (0.0, 1.0)
NS = (3, 5, 10, 20, 50, 100)
SAMPLES = 2000
AT_ONCE = 250  # samples, of which each has 9,999 draws
APART = 0.107  # between the means of the runs that learned of two groups
Floats = np.ndarray
Ends = tuple[Floats, Floats] | Floats  # [2, samples]
Cells = tuple[str, tuple[str, str]]  # of a mean, of a difference, and how often that excludes 0


class Law(NamedTuple):
    """How runs end: those that learn as `draw(rng, shape)` says, of mean `mean`; a share `freezes` ends at 0."""

    name: str
    mean: float
    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]
    freezes: float = 0.0


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.normal(0.8, 0.04, shape)


LAWS = (
    Law("normal", 0.8, _normal),
    Law("skewed", 0.8, lambda rng, shape: 0.95 - rng.exponential(0.15, shape)),
    Law("1 % freeze", 0.8, _normal, 0.01),
    Law("5 % freeze", 0.8, _normal, 0.05),
    Law("45 % freeze", 0.8, _normal, 0.45),
)


class Means(NamedTuple):
    """Mean, its squared standard error and degrees of freedom, of each sample."""

    mean: Floats
    variance: Floats
    df: Floats

    def minus(self, other: "Means") -> "Means":
        """By Welch."""
        variance = self.variance + other.variance
        spread = self.variance**2 / self.df + other.variance**2 / other.df
        df = np.divide(variance**2, spread, out=self.df + other.df, where=spread != 0)
        return Means(self.mean - other.mean, variance, df)

    @property
    def interval(self) -> Ends:
        half = student(self.df) * np.sqrt(self.variance)
        return self.mean - half, self.mean + half


def _means(values: Floats, learned: Floats) -> Means:
    """Of the runs of each row that learned; NaN where that are fewer than two."""
    n = np.where(learned.sum(axis=1) > 1, learned.sum(axis=1), np.nan)
    mean = np.where(learned, values, 0).sum(axis=1) / n
    squares = np.where(learned, (values - mean[:, None]) ** 2, 0).sum(axis=1)
    return Means(mean, squares / (n - 1) / n, n - 1)


def coverage() -> str:
    """The two tables: of one mean, and of a difference."""
    rows = [(law, n, [*by_student(law, n), bounded(law, n)]) for law in LAWS for n in NS]
    means = [[law.name, str(n), *(mean for mean, _ in found)] for law, n, found in rows]
    differences = [
        [law.name, str(n), *(apart[0] for _, apart in found), *(apart[1] for _, apart in found)]
        for law, n, found in rows
    ]
    students, welchs = ([f"{who}, all", f"{who}, learned", "bounded"] for who in ("Student's", "Welch's"))
    excluded = [f"0 is excluded: {welchs[0]}", *welchs[1:]]
    return f"{markdown(['law', 'n', *students], means)}\n\n{markdown(['law', 'n', *welchs, *excluded], differences)}"


def by_student(law: Law, n: int) -> list[Cells]:
    """Of all runs, and of those that learned."""
    (a, of_a), (b, of_b) = _samples(law, n)
    every = np.ones_like(of_a)
    of_all, learned = (_means(a, every), _means(b, every)), (_means(a, of_a), _means(b, of_b))
    return [
        _cells(law, mine.interval, mine.minus(theirs).interval, share)
        for (mine, theirs), share in ((of_all, 1 - law.freezes), (learned, 1.0))
    ]


def bounded(law: Law, n: int) -> Cells:
    (a, _), (b, _) = _samples(law, n)
    means, differences = [], []
    for i in range(0, SAMPLES, AT_ONCE):
        mine, theirs = drawn(a[i : i + AT_ONCE], RANGE), drawn(b[i : i + AT_ONCE], RANGE, 1)
        means.append(mine.interval)
        differences.append(mine.minus(theirs).interval)
    return _cells(law, np.hstack(means), np.hstack(differences), 1 - law.freezes)


def _samples(law: Law, n: int) -> list[tuple[Floats, Floats]]:
    """Of two groups: values [samples, n] of runs, and which learned. Those of the second are lower by APART."""
    rng = np.random.default_rng(0)
    return [_drawn(law, rng, n, shift) for shift in (0.0, APART)]


def _drawn(law: Law, rng: np.random.Generator, n: int, shift: float) -> tuple[Floats, Floats]:
    """Values [samples, n] of runs, and which learned; those that learned are lower by `shift`."""
    learned = rng.random((SAMPLES, n)) >= law.freezes
    return np.where(learned, law.draw(rng, (SAMPLES, n)) - shift, 0.0), learned


def _cells(law: Law, mean: Ends, difference: Ends, share: float) -> Cells:
    """`share` of the runs are those whose mean is asked for; the others count as 0."""
    return _cell(mean, share * law.mean), (_cell(difference, share * APART), _above_zero(difference))


def _cell(ends: Ends, truth: float) -> str:
    """Coverage and, in brackets, mean width, of the samples that have an interval."""
    low, high = _known(ends)
    return f"{np.mean((low <= truth) & (truth <= high)):.3f} ({np.mean(high - low):.3f})"


def _above_zero(ends: Ends) -> str:
    """The share of intervals that lie above 0."""
    return f"{np.mean(_known(ends)[0] > 0):.2f}"


def _known(ends: Ends) -> tuple[Floats, Floats]:
    low, high = ends
    return low[~np.isnan(low)], high[~np.isnan(low)]


if __name__ == "__main__":
    print(coverage())
