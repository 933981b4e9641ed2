"""Which settings of the comparisons only served to choose among them."""

from collections.abc import Sequence

from coexplore.beyond import control, supervised
from coexplore.run import Result, Run


def passed_over(results: Sequence[Result]) -> set[Run]:
    """Those of which every rival was trained, and one was better."""
    trained = {result.run.setting for result in results}
    over: set[Run] = set()
    kept: set[Run] = set()
    for home in (control, supervised):
        for comparison in home.COMPARISONS.values():
            kept.update(home.chosen(comparison, results))
            for rivals in home.rivals(comparison):
                over.update(rivals if trained.issuperset(rivals) else ())
    return over - kept
