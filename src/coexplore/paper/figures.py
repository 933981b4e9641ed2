"""What each figure runs, as data: the paper's own, and the companions that we add to them.

On the 4-bit multiplexer. The paper does not list the c of figures 2 and 5: those of its appendix are used.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from coexplore.paper.defaults import ALG_1, ALG_2, INDEPENDENT, NS, RULES, STEPS, TRACE_DECAYS, WEIGHT_MAX, C
from coexplore.paper.figure import Figure, Lines, Places
from coexplore.paper.open_figures import OPEN
from coexplore.rules import BUILT_IN
from coexplore.run import Run, change, grid
from coexplore.run.seeded import Seeded
from coexplore.settings import Linear, refusal

STRENGTH = "c, strength of the coupling"
UNCRITICISED = [change(change(run, "critic", "none"), "rewards", "binary") for run in (ALG_1, ALG_2)]


@functools.cache
def signed(run: Run) -> Run:
    return change(run, "signals", "signed")


def held(run: Run) -> Run:
    """The same network without a critic, its hidden layer held at its start: the output alone learns."""
    return change(run, "learning_rate", (0.0, run.learning_rate))


def runs(names: Iterable[str], episodes: int, seeds: int | range) -> list[Run]:
    """The runs of these figures, each once."""
    return list(seeded(names, episodes, seeds))


def seeded(names: Iterable[str], episodes: int, seeds: int | range) -> Seeded:
    """The same, not made yet; the paper's before ours, and the largest networks last."""
    settings = dict.fromkeys(run for name in names for run in find(name).settings(episodes))
    papers = {run for figure in FIGURES.values() if not figure.ours for run in figure.settings(episodes)}
    ordered = sorted(settings, key=lambda run: (max(64, run.hidden[0]), run not in papers, -run.hidden[0]))
    return Seeded(ordered, seeds if isinstance(seeds, range) else range(seeds))


def find(name: str) -> Figure:
    if name not in FIGURES:
        raise refusal("figure", name, f"all, or some of {', '.join(FIGURES)}", FIGURES)
    return FIGURES[name]


def heading(figure: Figure) -> str:
    number = f"Figure {figure.name.removeprefix('fig').upper()}"
    return f"{figure.title} (ours, not in the paper)" if figure.ours else f"{number}. {figure.title}"


def _curves(**lines: Run) -> Lines:
    return {label: {0: [run]} for label, run in lines.items()}


def _along(run: Run, axis: str, values: Sequence[float | int], label: str) -> Lines:
    """One curve for each value."""
    return _curves(**{label.format(value): change(run, axis, value) for value in values})


def _over_units(run: Run, **axes: Any) -> Places:
    """At each N, every combination of the axes."""
    return {N: grid(run, units=N, **axes) for N in NS}


def _sweep(run: Run) -> Places:
    return {c: [change(run, "coupling", c)] for c in C}


def _best_couplings(name: str, label: str, run: Run) -> Figure:
    lines = {f"N = {N}": _sweep(change(run, "units", N)) for N in NS}
    title = f"{label}: the best coupling at each size"
    return Figure(name, title, "sweep", lines, ("reward",), axis=STRENGTH, ordered=len(NS))


def _changed(run: Run, **changes: Any) -> Run:
    (changed,) = grid(run, **changes)
    return changed


def _rules(**changes: Any) -> Lines:
    tuned = {label: _over_units(RULES[label], coupling=C, **changes) for label in ("Algorithm 1", "Algorithm 2")}
    return {**tuned, **{label: _over_units(run, **changes) for label, run in RULES.items() if label not in tuned}}


def _bars(name: str, window: str, title: str) -> Figure:
    return Figure(name, f"{title}, c the best for each N", "bars", _rules(), (window,))


def _binary() -> Lines:
    """Both encodings in one picture: nobody should have to take our word for the choice."""
    lines: Lines = {}
    for encoding, inputs in (("signed", "−1/+1"), ("binary", "0/1")):
        for label in ("Algorithm 1", "Algorithm 2"):
            lines[f"{label}, inputs {inputs}"] = _sweep(change(RULES[label], "encoding", encoding))
        lines[f"REINFORCE, inputs {inputs}"] = {0: [change(INDEPENDENT, "encoding", encoding)]}
    return lines


def _critics(kinds: dict[str, str], run_changes: dict[str, str]) -> Lines:
    chosen = ("Algorithm 1", "Algorithm 2", "REINFORCE")
    return _curves(
        **{
            f"{label}, {words}": _changed(RULES[label], critic=kind, **run_changes)
            for kind, words in kinds.items()
            for label in chosen
        }
    )


def _held() -> Lines:
    """What the output alone learns: the control for what hidden units learn without a critic."""
    labels = ("Algorithm 1", "Algorithm 2")
    return _curves(
        **{f"{label}, no critic, hidden layer held": held(run) for label, run in zip(labels, UNCRITICISED, strict=True)}
    )


def _local_critics() -> Lines:
    """The headline's rules with its critic and with the two that learn without backprop."""
    kinds = ("relu", "linear", "mean")
    return {label: {kind: [change(run, "critic", kind)] for kind in kinds} for label, run in RULES.items()}


def _annealing() -> Lines:
    falling, weaker = Linear(0.005, 0.00025), Linear(0.4, 0.1)
    alg_1 = {
        "Algorithm 1, c and α falling": _changed(ALG_1, coupling=weaker, learning_rate=falling),
        "Algorithm 1, c falling": change(ALG_1, "coupling", weaker),
        "Algorithm 1, neither falling": ALG_1,
    }
    return _curves(
        **alg_1, **{f"{label}, α falling": change(r, "learning_rate", falling) for label, r in RULES.items()}
    )


def _depths() -> Lines:
    """Every rule with one, two and three layers of the headline's width: a narrower layer would be a bottleneck too."""
    depths = range(1, 4)
    return {name: {L: [Run(rule=rule(), hidden=(64,) * L)] for L in depths} for name, rule in BUILT_IN.items()}


def _compute() -> Lines:
    alg_1 = {f"Algorithm 1, T = {T}": change(ALG_1, "steps", T) for T in (4, 10, 25)}
    return _curves(**alg_1, **{label: run for label, run in RULES.items() if run != ALG_1})


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "fig2",
            "Algorithm 1: strength of the coupling",
            "curves",
            {**_along(ALG_1, "coupling", C, "c = {:.2f}"), **_curves(REINFORCE=INDEPENDENT)},
            ordered=len(C),
        ),
        _bars("fig3", "first", "Learning speed"),
        _bars("fig4", "last", "Asymptotic performance"),
        Figure(
            "fig5",
            "Algorithm 2: strength of the coupling",
            "curves",
            {
                **_along(ALG_2, "coupling", C, "c = {:.2f}"),
                **_curves(**{"REINFORCE": INDEPENDENT, "Algorithm 1, c = 0.25": ALG_1}),
            },
            ordered=len(C),
        ),
        Figure(
            "figa1",
            "Algorithm 1: sampling steps",
            "curves",
            _along(ALG_1, "steps", STEPS["boltzmann"], "T = {}"),
            ordered=len(STEPS["boltzmann"]),
        ),
        _best_couplings("figa2", "Algorithm 1", ALG_1),
        Figure(
            "figa3",
            "Algorithm 2: recurrent steps",
            "curves",
            _along(ALG_2, "steps", STEPS["recurrent"], "T = {}"),
            ordered=len(STEPS["recurrent"]),
            against="T = 2",
        ),
        Figure(
            "figa4",
            "Algorithm 2: trace decay",
            "curves",
            _along(ALG_2, "trace_decay", TRACE_DECAYS, "λ = {:.2f}"),
            ordered=len(TRACE_DECAYS),
            against="λ = 0.25",
        ),
        _best_couplings("figa5", "Algorithm 2", ALG_2),
        _bars("figa6", "reward", "Reward over all episodes"),
        Figure(
            "binary",
            "Inputs of 0/1 instead of −1/+1",
            "sweep",
            _binary(),
            ("first", "last"),
            ours=True,
            axis=STRENGTH,
        ),
        Figure(
            "tanh-critic",
            "A critic of tanh units instead of ReLU",
            "curves",
            _critics({"relu": "ReLU critic", "tanh": "tanh critic"}, {}),
            ours=True,
        ),
        Figure(
            "no-critic",
            "No critic, rewards of 0 and 1",
            "curves",
            _critics({"relu": "critic", "none": "no critic"}, {"rewards": "binary"}) | _held(),
            ours=True,
        ),
        Figure(
            "expected",
            "Unbiased Weight Max, its expected form beside it",
            "bars",
            {
                "unbiased Weight Max": _over_units(WEIGHT_MAX),
                "expected form": _over_units(change(WEIGHT_MAX, "expected", True)),
            },
            ("first", "last"),
            ours=True,
        ),
        Figure(
            "signed",
            "Binary units that send −1/+1 up instead of 0/1, c the best for each N",
            "bars",
            _rules(signals="signed"),
            ("first", "last"),
            ours=True,
            beside=tuple(signed(each) for run in UNCRITICISED for each in (run, held(run))),
        ),
        Figure("headline", "Five rules, 64 hidden units", "curves", _curves(**RULES), ours=True),
        Figure("annealing", "Coupling and learning rate that fall", "curves", _annealing(), ours=True),
        Figure("compute", "Reward against draws of the hidden layer", "compute", _compute(), ours=True),
        Figure(
            "depth-paper",
            "One, two and three hidden layers at the paper's settings",
            "bars",
            _depths(),
            ("reward", "last"),
            ours=True,
            axis="L, hidden layers of 64 units",
            part=4,
        ),
        Figure(
            "local-critics",
            "Critics without backprop: linear, and a running mean",
            "bars",
            _local_critics(),
            ("first", "last"),
            ours=True,
            axis="critic",
            question=True,
        ),
    )
} | OPEN
