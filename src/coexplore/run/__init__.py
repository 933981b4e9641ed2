"""One training run: its description (Run), what it leaves behind (Result), and its settings by name."""

from coexplore.run.curve import bin_sizes, bins, thinned
from coexplore.run.failure import Failure, failure_count, failure_lines
from coexplore.run.names import change, dashed, flat, grid, labels, written
from coexplore.run.presets import PRESETS, base
from coexplore.run.repeat import command, origin
from coexplore.run.result import CHOOSING, JUDGING, Result, by_purpose, by_setting
from coexplore.run.run import Run
from coexplore.run.selection import select

__all__ = [
    "CHOOSING",
    "JUDGING",
    "PRESETS",
    "Failure",
    "Result",
    "Run",
    "base",
    "bin_sizes",
    "bins",
    "by_purpose",
    "by_setting",
    "change",
    "command",
    "dashed",
    "failure_count",
    "failure_lines",
    "flat",
    "grid",
    "labels",
    "origin",
    "select",
    "thinned",
    "written",
]
