"""The numbers behind `coordination` and `centring` in Markdown, and the picture of the first."""

from collections.abc import Callable
from pathlib import Path

from coexplore.beyond.coordination import BY, COUPLED, NoGap, gain, gap, main_size, shares, sizes
from coexplore.paper.evidence import NotRun
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_tables import described
from coexplore.paper.tuning import Place
from coexplore.results.tables import markdown, with_interval, with_spread
from coexplore.rules import Boltzmann
from coexplore.run import Run
from coexplore.stats.estimates import Estimate, Summary, window

MIDDLE = 0.5  # the joint share at which sizes are compared


def table(title: str, at: Comparison) -> str:
    seeds = next(iter(at.searches.values())).seeds
    text = f"{title} (ours, not in the paper). {at.episodes:,} episodes; settings chosen on {len(seeds.choose)} seeds, "
    sections = [f"{text}judged on {len(seeds.judge)} others: mean and 95 % interval.", ""]
    if at.panels != [""]:
        sections += _gains(at)
    for panel in at.panels:
        sections += [f"## {panel[:1].upper()}{panel[1:]}" if panel else "## Return", "", _rewards(at, panel), ""]
    return "\n".join(sections).rstrip() + "\n"


def _gains(at: Comparison) -> list[str]:
    """The gap and the share of it that coordination closes, a row for each joint share, a column for each N."""
    sections = []
    made: dict[str, Callable[[float, int], Estimate]] = {"Backprop over REINFORCE": lambda share, N: gap(at, share, N)}
    for rule in COUPLED:
        told = f"{rule}: gain of the best c > 0 over c = 0, as a share of that gap"
        made[told] = lambda share, N, rule=rule: gain(at, rule, {(share, N): 1.0})  # type: ignore[misc]
    for told, found in made.items():
        rows = [[f"{share:g}", *(_cell(found, share, N) for N in sizes(at))] for share in shares(at)]
        sections += [f"## {told}", "", markdown(["joint share", *(f"N = {N}" for N in sizes(at))], rows), ""]
    return sections


def _cell(made: Callable[[float, int], Estimate], share: float, N: int) -> str:
    try:
        found = made(share, N)
    except NotRun:
        return "–"
    except NoGap:
        return "no gap"
    return f"{found.effect:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _rewards(at: Comparison, panel: str) -> str:
    rows = []
    for place, found in at.found.items():
        if place.panel == panel:
            same = found.judged[BY]
            bounded = same[0].setting.task.reward_range is not None
            mean = window(same, BY)
            shown = with_interval(mean) if bounded else with_spread(mean, 3 if panel else 1)
            froze = sum(result.frozen for result in same)
            rows.append(
                [place.label, str(place.at), shown, _words(found.chosen[BY]), str(len(found.tried)), str(froze)]
            )
    return markdown(["", "N", "reward, all episodes", "chosen", "tried", "frozen"], rows)


CENTRING = {"none": "reward", "chains": "both", "centred-advantage": "mean"}  # what the tables call it


def _words(run: Run) -> str:
    rule, words = run.rules[0], [described(run)]
    rate = getattr(rule, "recurrent_rate", 1.0)
    if isinstance(rule, Boltzmann):
        part = rule.learning_signal if rule.learning_signal.name in CENTRING else rule.baseline
        words.append(f"centring {CENTRING.get(part.name, part.name)}")
        words += [f"at {part.rate:g} of the rate"] * (part.rate != 1)
    words += [f"W_rec at {rate:g} of it"] * (rate != 1)
    return ", ".join(words)


def draw(title: str, at: Comparison, path: Path) -> None:
    """The gain of both algorithms against the joint share, and against N where there are several."""
    from coexplore.results import marks, plots  # matplotlib is slow to import

    page, axes = plots.panels(min(2, len(sizes(at))))
    lines = plots.lines({label: rule.name for label, rule in COUPLED.items()})
    by_share = {rule: _levels(at, rule, [(share, main_size(at)) for share in shares(at)], 0) for rule in COUPLED}
    by_size = {rule: _levels(at, rule, [(MIDDLE, N) for N in sizes(at)], 1) for rule in COUPLED}
    words = f"share of Var(R) that no additive\nfunction of the bits explains, N = {main_size(at)}"
    marks.levels(axes[0], by_share, lines, shares(at), words)
    if len(axes) > 1:
        marks.levels(axes[1], by_size, lines, sizes(at), f"N, hidden units,\njoint share {MIDDLE}")
    axes[0].set_ylabel("share of the gap that c > 0 closes")
    for axis in axes:
        axis.axhline(0.0, color="#444444", linewidth=0.8)
    plots.add_shared_legend(page, axes[0], title)
    plots.save(page, path)


def _levels(at: Comparison, rule: str, places: list[tuple[float, int]], axis: int) -> dict[float | int, Summary]:
    found: dict[float | int, Summary] = {}
    for place in places:
        try:
            one = gain(at, rule, {place: 1.0})
        except (NoGap, NotRun):
            continue
        found[place[axis]] = Summary(one.effect, float("nan"), one.low, one.high)
    return found


def complete(at: Comparison) -> bool:
    """Whether every place was searched to its end."""
    return set(at.found) == set[Place](at.searches)
