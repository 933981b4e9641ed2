"""Runs that failed, and the lines that say so."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from coexplore.run.repeat import command
from coexplore.run.run import Run


class Failure(NamedTuple):
    """A `run` that ended in an error on an `engine`; `reason` says why, in one line."""

    run: Run
    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{command(self.run) or self.run.digest[:12]} --engine {self.engine}: {self.reason}"


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """A line for each, but one for all seeds of a setting that failed alike."""
    alike = Counter((failure.run.setting, failure.engine, failure.reason) for failure in failures)
    lines: dict[tuple[Run, str, str], str] = {}
    for failure in failures:
        others = alike[failure.run.setting, failure.engine, failure.reason] - 1
        more = f" (and {others} more seed{'s' * (others > 1)})" if others else ""
        lines.setdefault((failure.run.setting, failure.engine, failure.reason), f"{failure}{more}")
    return list(lines.values())


def failure_count(failures: Sequence[Failure]) -> str:
    """How many there are and the reason of the first, in one line."""
    plural = "s" * (len(failures) > 1)
    return f"{len(failures)} run{plural} failed (see results.failures); the first: {failures[0].reason}"
