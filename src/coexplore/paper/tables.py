"""The numbers behind a figure, place by place, in Markdown: each mean over seeds with its 95 % interval."""

from collections.abc import Iterable

from coexplore.paper.evidence import Evidence, found
from coexplore.paper.figure import SCALES, Figure
from coexplore.paper.figures import heading
from coexplore.results.tables import markdown, with_interval
from coexplore.run import Result
from coexplore.stats.estimates import window

WORDS = {"first": "first quarter", "last": "last quarter", "reward": "all episodes"}


def table(figure: Figure, results: Iterable[Result], episodes: int = SCALES["paper"].episodes) -> str:
    """A row for each line and place, a column for each window (curves have all, and no places); how many runs froze."""
    evidence, windows = Evidence(results, figure.length(episodes)), figure.windows or tuple(WORDS)
    axis = [figure.axis.partition(",")[0]] if figure.windows else []
    columns = [*axis, "seeds", *(WORDS[name] for name in windows), "frozen"]
    rows = [
        [label, *([str(x)] if axis else []), str(len(same)), *_levels(same, windows), _frozen(same)]
        for label, places in found(figure, evidence)[0].items()
        for x, (_, same) in places.items()
    ]
    title = f"{heading(figure)}: reward at {figure.span(evidence.episodes)}, mean and 95 % interval over seeds."
    return f"{title}\n\n{markdown(['', *columns], rows)}\n"


def _levels(same: list[Result], windows: Iterable[str]) -> list[str]:
    return [with_interval(window(same, name)) for name in windows]


def _frozen(same: list[Result]) -> str:
    return str(sum(result.frozen for result in same))
