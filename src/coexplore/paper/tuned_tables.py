"""The numbers behind a figure in which every rule is at its best, in Markdown."""

import functools
from collections.abc import Callable, Iterable
from math import comb
from statistics import fmean
from typing import NamedTuple

from coexplore.paper.measures import draws, reward
from coexplore.paper.resources import multiply_adds, parameters, within
from coexplore.paper.spaces import next_rates, rate_of
from coexplore.paper.tables import WORDS
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuning import Place, Tuning
from coexplore.results.choosing import ranked
from coexplore.results.tables import counted, markdown, with_interval
from coexplore.rules import Boltzmann, Recurrent
from coexplore.rules.baseline import Estimated
from coexplore.run import Run
from coexplore.settings import schedule
from coexplore.stats.estimates import Estimate, Summary, summary, window

COUPLED = ("Algorithm 1", "Algorithm 2")
UNIT = "REINFORCE"  # whose whole training is the budget of the others
Cell = Callable[[Place], str]


def table(tuning: Tuning, contest: Comparison) -> str:
    """Rewards by measure, what was chosen, the best of equally many tries, and equal budgets."""
    sections = [f"{tuning.title} (ours, not in the paper): every rule tuned at every place. {_seeds(contest)}", ""]
    for panel in contest.panels:
        title = f", {panel}" if panel else ""
        for by in tuning.measures:
            sections += [f"## Reward, {WORDS[by]}{title}", "", "Mean and 95 % interval over the judging seeds.", ""]
            sections += [_matrix(contest, panel, functools.partial(_judged, contest, by)), ""]
        sections += [f"## What was chosen{title}", "", _choices(tuning, contest, panel), ""]
        if tuning.question:  # which has answers of its own
            continue
        sections += _best_of_k(contest, panel, title)
        if all(len(each.chosen[tuning.measures[0]].hidden) == 1 for each in contest.found.values()):
            sections += _budgets(contest, panel, title)
    return "\n".join(sections).rstrip() + "\n"


def _seeds(contest: Comparison) -> str:
    seeds = next(iter(contest.searches.values())).seeds
    more = f", the {seeds.finalists} best on {len(seeds.more)} more" if seeds.more else ""
    judges = counted([len(each.seeds.judge) for each in contest.searches.values()])
    told = f"Chosen on {len(seeds.choose)} seeds{more}, judged on {judges} others"
    return f"{told}; {contest.episodes:,} episodes. Nothing is at the paper's settings here unless that was best."


def _matrix(contest: Comparison, panel: str, cell: Cell) -> str:
    """A row for each rule, a column for each place; a dash where nothing was searched or trained."""
    xs = contest.sizes(panel)
    labels = dict.fromkeys(place.label for place in contest.found if place.panel == panel)
    rows = [[label, *(cell(Place(panel, label, x)) for x in xs)] for label in labels]
    return markdown(["", *map(str, xs)], rows)


def _judged(contest: Comparison, by: str, place: Place) -> str:
    if place not in contest.found:
        return "–"
    return with_interval(window(contest.found[place].judged[by], by))


def _choices(tuning: Tuning, contest: Comparison, panel: str) -> str:
    """A row for each place: how many settings it tried, the best by each measure, and how many judged runs froze."""
    rows = []
    for place, found in contest.found.items():
        if place.panel == panel:
            judged = {r.run: r for by in tuning.measures for r in found.judged[by]}.values()
            edge = (lambda run, tried: "") if tuning.question else _edge
            best = [described(run) + edge(run, found.tried) for run in (found.chosen[by] for by in tuning.measures)]
            frozen = f"{sum(result.frozen for result in judged)} of {len(judged)}"
            rows.append([place.label, str(place.at), str(len(found.tried)), *best, frozen])
    axis = tuning.axis.partition(",")[0]
    heads = ["", axis, "tried", *(WORDS[by] for by in tuning.measures), "frozen"]
    told = "" if tuning.question else "\n\n\\* a rate next to it was not tried."
    return markdown(heads, rows) + told


def _edge(run: Run, tried: Iterable[Run]) -> str:
    return "" if {*next_rates(run)} <= {*tried} else r" \*"


def described(run: Run) -> str:
    """What a search chooses, in words."""
    rule, rate = run.rules[0], rate_of(run)
    words = [f"α = {rate.start:g}{', falling' * rate.falls}"]
    if isinstance(rule, Boltzmann | Recurrent):
        c = schedule(rule.coupling)
        words.append(f"c = {c.start:g}" if c.start == c.stop else f"c = {c.start:g} to {c.stop:g}")
        words.append(f"λ = {rule.trace_decay:g}" if isinstance(rule, Recurrent) else f"T = {rule.steps}")
    words += [rule.baseline.name] if isinstance(rule.baseline, Estimated) else []
    if isinstance(rule.baseline, Estimated) and rule.baseline.pairs != 0.0:
        rho = schedule(rule.baseline.pairs)
        words.append(f"ρ = {rho.start:g}" if rho.start == rho.stop else f"ρ = {rho.start:g} to {rho.stop:g}")
    words += [] if rate.critic is None else [f"critic {rate.critic:g}"]
    words += ["signed"] * (run.signals == "signed") + ["fan-in"] * (run.rate_scaling == "fan-in")
    return ", ".join(words)


def _best_of_k(contest: Comparison, panel: str, title: str) -> list[str]:
    """Rules with more settings to try have more luck: so, of the first grid of each, k settings drawn at random."""
    grids = grid_sizes(contest, panel)
    if not grids:
        return []
    k = min(grids)
    told = (
        f"Expected reward over all episodes of the best of k = {k} settings, drawn from the first grid of each rule "
        f"({counted(grids)} settings): chosen on one half of the choosing seeds, valued on the other."
    )
    cells = _matrix(contest, panel, lambda place: _number(expected_best(contest, k, place)))
    return [f"## At equally many tries{title}", "", told, "", cells, ""]


def grid_sizes(contest: Comparison, panel: str) -> list[int]:
    """How many settings the first grid of each place has."""
    return [len(found.grid) for place, found in contest.found.items() if place.panel == panel]


def expected_best(contest: Comparison, k: int, place: Place) -> float | None:
    """Expected reward of the best of k settings of the first grid; None where nothing was searched or trained."""
    if place not in contest.found:
        return None
    seeds, grid = contest.searches[place].seeds.choose, contest.found[place].grid
    half = (len(seeds) + 1) // 2
    chosen = {run: contest.trials.results(run, seeds[:half]) for run in grid}
    valued = {run: contest.trials.results(run, seeds[half:]) for run in grid}
    order = [run for run in ranked(grid, chosen) if valued[run]]
    return best_of([fmean(r.reward for r in valued[run]) for run in order], k) if order else None


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def best_of(values: list[float], k: int) -> float:
    """The expected value of the best of k that are drawn without replacement; `values` from the best on down.

    The i-th is the best of those drawn if it is among them and the others come after it: C(n − i, k − 1) / C(n, k).
    """
    n = len(values)
    k = min(k, n)
    return sum(comb(n - i, k - 1) * value for i, value in enumerate(values, start=1)) / comb(n, k)


def _budgets(contest: Comparison, panel: str, title: str) -> list[str]:
    """What is reached with as many draws of H, and with as many multiply-adds, as REINFORCE spends on all episodes."""
    text = (
        f"Reward at the end (last quarter) of a training that stops when it has made as many draws of H, or as many "
        f"multiply-adds, as {UNIT} in all episodes; at the settings that are best in the first quarter, none of them "
        f"chosen for this. –: that is before the fourth point of a curve, or was not searched."
    )
    sections = [f"## At equal cost{title}", "", text, ""]
    for words, cost in (("draws of H", draws), ("multiply-adds", multiply_adds)):
        cells = _matrix(contest, panel, functools.partial(_spent, contest, cost))
        sections += [f"Equal {words}:", "", cells, ""]
    if pairs := equal_parameters(contest, panel):
        told = (
            "At equal parameters, W_rec included: the strongest rule without W_rec at the smallest N that has as many."
        )
        heads = ["", "parameters", "rival", "parameters", "over the rival, all episodes"]
        sections += [told, "", markdown(heads, list(map(_pair, pairs))), ""]
    return sections


def _spent(contest: Comparison, cost: Callable[[Run], int], place: Place) -> str:
    found = at_equal_cost(contest, cost, place)
    return "–" if found is None else with_interval(found)


def at_equal_cost(contest: Comparison, cost: Callable[[Run], int], place: Place) -> Summary | None:
    """The reward that is reached with what UNIT spends on all episodes; None where nobody can tell."""
    unit = Place(place.panel, UNIT, place.at)
    if place not in contest.found or unit not in contest.found:
        return None
    by = "first"
    run, budget = contest.found[place].chosen[by], cost(contest.found[unit].chosen[by])
    reached = [within(result, budget / cost(run)) for result in contest.found[place].judged[by]]
    known = [value for value in reached if value is not None]
    return summary(known, run.task.reward_range) if len(known) == len(reached) else None


class Pair(NamedTuple):
    """A place with W_rec, the strongest one without that has as many parameters, and the former's reward over it."""

    place: Place
    parameters: int
    rival: Place
    rival_parameters: int
    over: Estimate


def equal_parameters(contest: Comparison, panel: str) -> list[Pair]:
    pairs = []
    places = [place for place in contest.found if place.panel == panel]
    for place in (place for place in places if place.label in COUPLED):
        size = _size(contest, place)
        enough = [p for p in places if p.label not in COUPLED and _size(contest, p) >= size]
        if enough:
            N = min(p.at for p in enough)
            rival = Place(panel, contest.strongest([p.label for p in enough if p.at == N], N, "reward", panel), N)
            a, b = (contest.found[each].judged["reward"] for each in (place, rival))
            pairs.append(Pair(place, size, rival, _size(contest, rival), contest.between(a, b, reward)))
    return pairs


def _pair(pair: Pair) -> list[str]:
    names = [f"{each.label}, N = {each.at}" for each in (pair.place, pair.rival)]
    found = f"{pair.over.effect:+.3f} [{pair.over.low:+.3f}, {pair.over.high:+.3f}]"
    return [names[0], f"{pair.parameters:,}", names[1], f"{pair.rival_parameters:,}", found]


def _size(contest: Comparison, place: Place) -> int:
    return parameters(contest.found[place].chosen["reward"])
