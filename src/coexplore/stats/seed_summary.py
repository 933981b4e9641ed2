"""What the runs of one setting came to: the statistics of everyday tables, pictures and of the report.

The mean, the standard deviation and Student's interval are those of the runs that learned. Frozen runs are counted
beside them: where some froze, the mean of all runs is that of neither kind. Verdicts have another interval
(bounded.py); docs/verdicts.md says how often both cover the truth.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import clopper_pearson, level, summary

LEAST = 5  # runs that learned, from which on they have an interval; of fewer the values are shown
ENOUGH = 20  # runs, from which on the mean of all has an interval
MOST_VALUES = 10
ANYTHING: Bounds = (-math.inf, math.inf)
METHOD = "mean ± sd [Student's 95 % interval] of the runs that learned"
FEW_NOTE = f"below {LEAST} runs: their values"
FROZEN_NOTE = "frozen: how many runs, and their share with Clopper's and Pearson's 95 % interval"
ALL_NOTE = f"all: the mean of all runs, frozen ones too, from {ENOUGH} runs on with its bounded 95 % interval"
BEYOND_NOTE = "!: beyond what is possible, so a normal law does not fit; see the values"
NOTES = (FEW_NOTE, FROZEN_NOTE, ALL_NOTE, BEYOND_NOTE)


class Share(NamedTuple):
    """`part` of n, and the 95 % interval of the share by Clopper and Pearson."""

    part: int
    n: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.part} of {self.n} [{self.low:.2g}, {self.high:.2g}]"


@dataclasses.dataclass(frozen=True)
class SeedSummary:
    """One score of the runs of one setting.

    `values` are those of the runs that learned, `froze` those of the others, each by seed. `may_freeze`: whether such
    runs can freeze. `bounds` are those of the bounded interval, `possible` the least and the greatest value of a run.
    """

    values: tuple[float, ...]
    froze: tuple[float, ...] = ()
    may_freeze: bool = False
    bounds: Bounds | None = None
    possible: Bounds = ANYTHING

    @property
    def n(self) -> int:
        """How many runs, frozen ones too."""
        return len(self.values) + len(self.froze)

    @functools.cached_property
    def _learned(self) -> tuple[float, float, float, float]:
        if not self.values:
            return (math.nan,) * 4
        mean, sd, low, high = summary(self.values)
        return (mean, sd, low, high) if len(self.values) >= LEAST else (mean, sd, math.nan, math.nan)

    @property
    def mean(self) -> float:
        """Of the runs that learned, as are `sd`, `low` and `high`; NaN if there are too few of them."""
        return self._learned[0]

    @property
    def sd(self) -> float:
        return self._learned[1]

    @property
    def low(self) -> float:
        """The lower end of Student's 95 % interval."""
        return self._learned[2]

    @property
    def high(self) -> float:
        return self._learned[3]

    @property
    def frozen(self) -> Share | None:
        """The share of frozen runs; None if none of them can freeze."""
        count = len(self.froze)
        return Share(count, self.n, *clopper_pearson(count, self.n)) if count or self.may_freeze else None

    @functools.cached_property
    def of_all(self) -> tuple[float, float, float]:
        """The mean of all runs and its bounded interval; NaN for ends that it has not."""
        every = (*self.values, *self.froze)
        if len(every) < ENOUGH or not self.froze or self.bounds is None:
            return sum(every) / len(every), math.nan, math.nan
        found = level(every, self.bounds)
        return found.effect, found.low, found.high

    @property
    def beyond(self) -> tuple[bool, bool]:
        """Whether each end of the interval is one that no run can reach."""
        return self.low < self.possible[0], self.high > self.possible[1]

    def __str__(self) -> str:
        """All of it in a line."""
        return f"{self.text}; frozen {self.frozen}" if self.frozen else self.text

    @property
    def text(self) -> str:
        """The cell of a table."""
        mean, low, high = self.of_all
        of_all = self._number(mean) + ("" if math.isnan(low) else f" [{self._number(low)}, {self._number(high)}]")
        if not self.values:
            return f"all froze: {of_all}"
        return self._text_of_learned() + (f"; all {of_all}" if self.froze else "")

    def _text_of_learned(self) -> str:
        mean, sd = self._number(self.mean), self._number(self.sd)
        if len(self.values) == 1:
            return mean
        values = ", ".join(_some(list(map(self._number, sorted(self.values)))))
        if len(self.values) < LEAST:
            return f"{mean} ({values})"
        low, high = (self._number(x) + "!" * past for x, past in zip((self.low, self.high), self.beyond, strict=True))
        return f"{mean} ± {sd} [{low}, {high}]" + (f" ({values})" if any(self.beyond) else "")

    def _number(self, x: float) -> str:
        """With three decimals, or fewer where a value is large."""
        size = max(map(abs, (*self.values, *self.froze)))
        text = f"{x:.{3 if size < 9.9995 else 2 if size < 99.995 else 1}f}"
        return text.removeprefix("-") if float(text) == 0 else text

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, None for those that there are not."""
        frozen = self.frozen
        numbers = {"mean": self.mean, "sd": self.sd, "low": self.low, "high": self.high}
        numbers |= dict(zip(("mean_of_all", "low_of_all", "high_of_all"), self.of_all, strict=True))
        known = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
        ends = {"frozen_low": frozen and frozen.low, "frozen_high": frozen and frozen.high}
        return {"seeds": self.n, "frozen": len(self.froze), **ends, **known, "beyond": any(self.beyond)}


def notes(found: Iterable[SeedSummary]) -> list[str]:
    """What a reader must know of the cells of these, beside METHOD."""
    found = list(found)
    said = {
        FEW_NOTE: any(1 < len(one.values) < LEAST for one in found),
        FROZEN_NOTE: any(one.frozen for one in found),
        ALL_NOTE: any(one.froze and one.values for one in found),
        BEYOND_NOTE: any(any(one.beyond) for one in found),
    }
    return [note for note, needed in said.items() if needed]


def _some(values: list[str]) -> list[str]:
    """All of them if they are few, else the first and the last ones."""
    half = MOST_VALUES // 2
    return values if len(values) <= MOST_VALUES else [*values[:half], "…", *values[-half:]]
