"""Tables as text, in Markdown, LaTeX or CSV, and numbers with their intervals as tables have them."""

import csv
import io
import re
from collections.abc import Sequence

from coexplore.stats.estimates import Summary

Cell = str | int | float | bool | None
NEGATIVE = re.compile(r"(?<![\w.-])-(?=\d)")  # the minus of a number
MARKDOWN = str.maketrans({character: rf"\{character}" for character in "\\`*_<>[]&$~"})
LATEX = str.maketrans(
    {
        **{character: rf"\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "−": "$-$",
        "…": r"\dots{}",
    }
)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(_line(cells) for cells in [headings, ["---"] * len(headings), *rows])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def as_it_is(text: str) -> str:
    """Text that no Markdown is read in, for a cell of `markdown`."""
    return text.translate(MARKDOWN)


def latex(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A tabular with the rules of the package booktabs, its first column aligned left and the others right."""
    first, *others = [" & ".join(map(_escaped, cells)) + r" \\" for cells in [headings, *rows]]
    columns = "l" + "r" * (len(headings) - 1)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])


def _escaped(cell: str) -> str:
    return NEGATIVE.sub("−", cell).translate(LATEX)


def comma_separated(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Numbers at full precision; a cell that is None is empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([headings, *rows])
    return text.getvalue()


def with_interval(value: Summary) -> str:
    """Mean and the 95 % interval of the mean."""
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def with_spread(value: Summary, digits: int = 1) -> str:
    """Mean, standard deviation and the 95 % interval of the mean, of numbers as large as returns."""
    return "{:.{n}f} ({:.{n}f}) [{:.{n}f}, {:.{n}f}]".format(value.mean, value.sd, value.low, value.high, n=digits)


def counted(numbers: Sequence[int]) -> str:
    """How many seeds: `10`, or `5/10` where settings differ."""
    return "/".join(map(str, sorted(set(numbers))))
