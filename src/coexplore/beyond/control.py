"""Environments: settings of the author's earlier work beside what he published, and every rule under equal conditions.

A score is the average return over all episodes of a run, as he reports it.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coexplore.results.choosing import ranked
from coexplore.results.tables import counted, markdown, with_spread
from coexplore.rules import OURS, Boltzmann, Recurrent, Rule
from coexplore.rules.baseline import Chains
from coexplore.run import PRESETS, Result, Run, by_setting, change, grid
from coexplore.settings import Linear
from coexplore.stats.estimates import Summary, beside, window
from coexplore.tasks.control import Control

NEGATIVE_PHASE = Boltzmann(steps=10, baseline=Chains())
COUPLINGS = [0.0, 0.1, 0.25, 0.5]
TUNING, SEEDS = 5, 10
FALLING = Linear(0.005, 0.0005)
KINDS = {
    "author": "Settings of the author's earlier work (presets), two hidden layers, one environment per run",
    "equal": "Equal conditions: one hidden layer of 64 units, four environments per run, α from 0.005 to 0.0005",
}

# Mean and standard deviation over 10 runs: Chung, "Learning by competition of self-interested reinforcement learning
# agents" (Weight Maximization) and "MAP propagation algorithm", and the code that was released with them (LunarLander,
# there v2, and MountainCar). REINFORCE is on the same network as MAP propagation, that is, MAP propagation that does
# not move its values; it stands beside binary units too.
PUBLISHED = {
    ("weight-max", "CartPole-v1"): (390.38, 43.25),
    ("weight-max", "Acrobot-v1"): (-97.05, 2.90),
    ("weight-max", "LunarLander-v3"): (111.23, 16.58),
    ("map-prop", "CartPole-v1"): (459.70, 13.89),
    ("map-prop", "Acrobot-v1"): (-100.29, 5.40),
    ("map-prop", "LunarLander-v3"): (127.88, 24.57),
    ("map-prop", "MountainCarContinuous-v0"): (39.45, 30.48),
    ("REINFORCE", "CartPole-v1"): (47.29, 8.22),
    ("REINFORCE", "Acrobot-v1"): (-148.42, 47.65),
}


PUBLISHED_RUNS = 10
SHORTFALL = 0.1  # of the published mean, that is too much


def meets(returns: Sequence[float], published: tuple[float, float]) -> str:
    """Whether runs are as good as what was published: `met` where the 95 % interval of the difference in means (ours
    minus his, by Welch) excludes a shortfall of more than a tenth, `short` where all of it lies beyond that.

    His spread is that of the ten runs themselves (as his code prints it, divided by n), so the variance is n / (n − 1)
    of its square.
    """
    (mean, sd), n = published, PUBLISHED_RUNS
    gap, least = beside(returns, mean, sd**2 * n / (n - 1), n), -SHORTFALL * abs(mean)
    return "met" if gap.low > least else "short" if gap.high < least else "undecided"


class Entry(NamedTuple):
    """A line of a table: what it is called, the settings it is chosen from, and what was published."""

    label: str
    candidates: list[Run]
    published: tuple[float, float] | None = None

    @property
    def tuned(self) -> bool:
        return len(self.candidates) > 1


class Comparison(NamedTuple):
    """`author` are presets; in `equal` all rules share network, batch, rate and critic."""

    name: str
    title: str
    author: list[Entry]
    equal: list[Entry]


def _author(env: str, *rules: str, preset: str) -> list[Entry]:
    entries = [Entry(rule, [PRESETS[rule][preset]], PUBLISHED.get((rule, env))) for rule in rules]
    if plain := PUBLISHED.get(("REINFORCE", env)):
        still = change(PRESETS["map-prop"][preset], "relax_steps", 0)
        entries.append(Entry("map-prop, relax-steps = 0", [still], plain))
        entries.append(Entry("reinforce", [PRESETS["reinforce"][preset]], plain))
    return entries


def _plain_critic(preset: str, **settings: object) -> Entry:
    """MAP propagation's preset with a critic that learns by backprop, normal first weights, and these settings back at
    what they would be without a preset."""
    run = PRESETS["map-prop"][preset]
    for name, value in {
        "critic_rule": "backprop",
        "critic_variance": 0.1,
        "initial_weights": "normal",
        **settings,
    }.items():
        run = change(run, name, value)
    return Entry("map-prop, plain critic", [run], PUBLISHED["map-prop", run.task.label])


def _coordinated(preset: str) -> list[Entry]:
    """The two algorithms in the settings of Weight Maximization, but for c."""
    base = PRESETS["weight-max"][preset]
    return [_tuned(dataclasses.replace(base, rule=rule)) for rule in (NEGATIVE_PHASE, Recurrent())]


def _tuned(run: Run) -> Entry:
    label = "boltzmann, negative phase" if run.rule == NEGATIVE_PHASE else run.rules[0].name
    return Entry(label, grid(run, coupling=COUPLINGS))


def _equal(env: str, batch: int) -> list[Entry]:
    """One hidden layer of 64 units, the critic likewise; c of the two algorithms from a small grid."""
    entries = []
    for rule in OURS:
        if rule is Boltzmann:
            entries.append(Entry("boltzmann, as printed", [_run(Boltzmann(steps=10), env, batch)]))
            entries.append(_tuned(_run(NEGATIVE_PHASE, env, batch)))
        elif rule is Recurrent:
            entries.append(_tuned(_run(Recurrent(), env, batch)))
        else:
            entries.append(Entry(rule.name, [_run(rule(), env, batch)]))
    return entries


def _run(rule: Rule, env: str, batch: int) -> Run:
    return Run(rule=rule, task=Control(env=env), batch=batch, learning_rate=FALLING)


COMPARISONS = {
    comparison.name: comparison
    for comparison in (
        Comparison(
            "cartpole",
            "CartPole-v1",
            _author("CartPole-v1", "weight-max", "map-prop", preset="cartpole"),
            _equal("CartPole-v1", 4),
        ),
        Comparison(
            "acrobot",
            "Acrobot-v1",
            [*_author("Acrobot-v1", "weight-max", "map-prop", preset="acrobot"), *_coordinated("acrobot")],
            [],  # not in CartPole's equal conditions: there hardly an episode reached the goal, at c = 0 either
        ),
        Comparison(
            "lunar-lander",
            "LunarLander-v3",
            [
                *_author("LunarLander-v3", "weight-max", "map-prop", preset="lunar-lander"),
                _plain_critic("lunar-lander", drives="relative"),
            ],
            [],
        ),
        Comparison(
            "mountain-car",
            "MountainCarContinuous-v0",
            [
                *_author("MountainCarContinuous-v0", "map-prop", preset="mountain-car"),
                _plain_critic("mountain-car", action_scale=1.0, action_shift=0.0, action_variance=2.0),
            ],
            [],
        ),
    )
}


class Row(NamedTuple):
    entry: Entry
    run: Run
    score: Summary  # average return over all episodes
    last: Summary  # over the last quarter of them
    results: list[Result]


def rivals(comparison: Comparison) -> list[list[Run]]:
    """Settings among which one is chosen, by its coupling."""
    return [entry.candidates for entry in (*comparison.author, *comparison.equal) if entry.tuned]


def tuning(comparison: Comparison) -> list[Run]:
    """The runs that couplings are chosen by."""
    candidates = [candidate for several in rivals(comparison) for candidate in several]
    return [run for candidate in candidates for run in grid(candidate, seed=range(TUNING))]


def chosen(comparison: Comparison, results: Iterable[Result]) -> list[Run]:
    trained = by_setting(results)
    return [_best(entry, trained) for entry in (*comparison.author, *comparison.equal)]


def _best(entry: Entry, trained: dict[Run, list[Result]]) -> Run:
    """The candidate with the best average return over the first TUNING seeds."""
    return (ranked(entry.candidates, trained, "reward", range(TUNING)) or entry.candidates)[0]


def final(comparison: Comparison, results: Iterable[Result], seeds: range) -> list[Run]:
    """The runs that what was chosen is judged by: where there was a choice, none of its seeds had a say in it."""
    trained = by_setting(results)
    every = [(entry, _best(entry, trained)) for entry in (*comparison.author, *comparison.equal)]
    return [run for entry, best in every for run in grid(best, seed=_afresh(seeds) if entry.tuned else seeds)]


def _afresh(seeds: range) -> range:
    return seeds if seeds.start >= TUNING else range(TUNING, TUNING + len(seeds))


def rows(comparison: Comparison, results: Iterable[Result]) -> dict[str, list[Row]]:
    """What was trained: in the author's settings, and under equal conditions."""
    trained = by_setting(results)
    return {kind: _rows(getattr(comparison, kind), trained) for kind in KINDS}


def _rows(entries: Iterable[Entry], trained: dict[Run, list[Result]]) -> list[Row]:
    rows = []
    for entry in entries:
        run = _best(entry, trained)
        if same := [r for r in trained.get(run, ()) if not entry.tuned or r.run.seed >= TUNING]:
            score, last = window(same, "reward"), window(same, "last")
            rows.append(Row(entry, run, score, last, same))
    return rows


def table(comparison: Comparison, rows: dict[str, list[Row]]) -> str:
    """In Markdown, a section for the environment."""
    text = [f"## {comparison.title}", ""]
    for kind, words in KINDS.items():
        if mine := sorted(rows[kind], key=lambda row: -row.score.mean):
            seeds = counted([len(row.results) for row in mine])
            chosen = f" (c chosen on {TUNING} others)" if any(row.entry.tuned for row in mine) else ""
            text += [f"{words}; {seeds} runs{chosen}, mean (sd) [95 % interval of the mean]:", ""]
            headings = [
                "rule",
                "average return",
                "last quarter",
                *(["published", "10 % less excluded?"] if kind == "author" else []),
            ]
            text += [markdown(headings, [_cells(kind, row) for row in mine]), ""]
    return "\n".join(text)


def _cells(kind: str, row: Row) -> list[str]:
    chosen = f", c = {row.run.rules[0].coupling}" if row.entry.tuned else ""  # type: ignore[attr-defined]
    cells = [f"`{row.entry.label}`{chosen}", with_spread(row.score), with_spread(row.last)]
    if kind == "author":
        published = row.entry.published
        cells.append("{:.2f} ({:.2f})".format(*published) if published else "–")
        cells.append(meets([result.reward for result in row.results], published) if published else "–")
    return cells
