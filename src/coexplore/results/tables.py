"""Tables in Markdown, and numbers with their intervals as tables have them."""

from collections.abc import Sequence

from coexplore.stats.estimates import Summary


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(_line(cells) for cells in [headings, ["---"] * len(headings), *rows])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def with_interval(value: Summary) -> str:
    """Mean and the 95 % interval of the mean."""
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def with_spread(value: Summary, digits: int = 1) -> str:
    """Mean, standard deviation and the 95 % interval of the mean, of numbers as large as returns."""
    return "{:.{n}f} ({:.{n}f}) [{:.{n}f}, {:.{n}f}]".format(value.mean, value.sd, value.low, value.high, n=digits)


def counted(numbers: Sequence[int]) -> str:
    """How many seeds: `10`, or `5/10` where settings differ."""
    return "/".join(map(str, sorted(set(numbers))))
