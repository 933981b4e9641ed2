"""When does coordination help? What is searched, and how the answer is measured.

`coordination`: the bandit of tasks/joint.py, in which the share of the reward that looks at bits together is the axis;
mean, variance and optimum are the same all along it. Every rule is at its best learning rate (and Algorithm 1 at its
best centring), chosen on some seeds and judged on others; Algorithms 1 and 2 once with the best c > 0, once with c = 0.

    gain = (R(best c > 0) − R(c = 0)) / (R(plain backprop) − R(REINFORCE)),   R over all episodes

the share of the gap between backprop and REINFORCE that coordination closes. Where that gap is not above GAP for sure
there is nothing to close, and no gain.

`coordination-in-time`: the same where a step is one of four, and the reward of all is told at the end
(tasks/joint_env.py); no softmax over joint actions there.

`centring`: Algorithm 1 in an environment, whose δ is off centre while the critic learns, with every way to centre it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from coexplore.paper.figure import resized
from coexplore.paper.measures import reward
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuning import SIZES, Place, Searches, Size, Tuning
from coexplore.rules import Backprop, Boltzmann, Recurrent, Reinforce, Rule
from coexplore.run import Result, Run, grid
from coexplore.settings import Linear
from coexplore.stats.estimates import Estimate, Student, difference
from coexplore.study.search import Search, Seeds
from coexplore.tasks.control import Control
from coexplore.tasks.joint import JointBits

REINFORCE, BACKPROP, SOFTMAX = "REINFORCE", "plain backprop", "one softmax"
COUPLED: dict[str, Rule] = {"Algorithm 1": Boltzmann(steps=5), "Algorithm 2": Recurrent()}
BY = "reward"  # over all episodes: what is chosen by, and what is compared
GAP = 0.03
SHARES, UNITS, COUPLINGS = (0.0, 0.25, 0.5, 0.75, 1.0), (8, 64, 256), (0.1, 0.25, 0.5, 1.0)
RATES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
QUICK_SHARES, QUICK_UNITS, QUICK_COUPLINGS, QUICK_RATES = (0.0, 0.5, 1.0), (8, 16), (0.25, 0.5), (0.005, 0.02)
SEEDS = {"paper": Seeds(range(2000, 2004), range(2015, 2115)), "quick": Seeds(range(1000, 1002), range(1015, 1025))}
RETURNS = {**SEEDS, "paper": Seeds(range(2000, 2005), range(2015, 2415))}  # which vary more than rewards do
ENV, IN_TIME = "CartPole-v1", "coexplore/JointBits-v0"


class NoGap(Exception):
    """Backprop is not ahead of REINFORCE, so that no share of it can be closed."""


def without(label: str) -> str:
    return f"{label}, c = 0"


def panel(share: float) -> str:
    return f"joint share {share:g}"


def coordination_places(episodes: int, size: Size) -> Searches:
    quick = size is SIZES["quick"]
    shares, units = (QUICK_SHARES, QUICK_UNITS) if quick else (SHARES, UNITS)
    found = {}
    for share in shares:
        for N in units:
            for label, runs in _rivals(share, N, quick).items():
                found[Place(panel(share), label, N)] = _search([resized(run, episodes) for run in runs], quick)
    return found


def in_time_places(episodes: int, size: Size) -> Searches:
    """Sixteen environments per run, as many as a batch of the bandit has episodes."""
    quick = size is SIZES["quick"]
    N, found = (16 if quick else 64), {}
    for share in QUICK_SHARES:
        task = Control(env=IN_TIME, env_arg=(("joint", share),), discount=1.0, scaling="none")
        run = functools.partial(Run, task=task, hidden=(N,), batch=16, episodes=episodes)
        for label, runs in _lines(run, quick).items():
            found[Place(panel(share), label, N)] = _search(runs, quick)
    return found


def _rivals(share: float, N: int, quick: bool) -> dict[str, list[Run]]:
    """What each line is chosen from."""
    joint = Run(Reinforce(), JointBits(joint=share, policy="joint"), hidden=(N,))
    lines = _lines(functools.partial(Run, task=JointBits(joint=share), hidden=(N,)), quick)
    return {**lines, SOFTMAX: grid(joint, learning_rate=list(QUICK_RATES if quick else RATES))}


def _lines(run: Callable[[Rule], Run], quick: bool) -> dict[str, list[Run]]:
    rates, couplings = (QUICK_RATES, QUICK_COUPLINGS) if quick else (RATES, COUPLINGS)
    lines = {
        REINFORCE: grid(run(Reinforce()), learning_rate=list(rates)),
        BACKPROP: grid(run(Backprop()), learning_rate=list(rates)),
    }
    for label, rule in COUPLED.items():
        baselines = {"baseline": ["none", "learned"]} if isinstance(rule, Boltzmann) else {}
        axes = {"learning_rate": list(rates), **baselines}
        lines[label] = grid(run(rule), coupling=list(couplings), **axes)
        lines[without(label)] = grid(run(rule), coupling=[0.0], **axes)
    return lines


def _search(runs: Sequence[Run], quick: bool, seeds: Mapping[str, Seeds] = SEEDS) -> Search:
    return Search(lambda _: runs, seeds["quick" if quick else "paper"], by=(BY,))


CENTRINGS: dict[str, dict[str, list[Any]]] = {
    "as printed": {"baseline": ["none"]},
    "mean of δ": {"learning_signal": ["centred-advantage"], "learning_signal_rate": [0.1, 1.0]},
    "negative phase": {"baseline": ["chains"]},
    "learned": {"baseline": ["learned"], "baseline_rate": [0.1, 1.0]},
}


def centring_places(env: str, episodes: int, size: Size) -> Searches:
    """One hidden layer of 64 units, four environments per run; rates fall to a tenth, W_rec has one of its own."""
    quick = size is SIZES["quick"]
    starts = QUICK_RATES if quick else (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
    rates = [Linear(start, start / 10) for start in starts]
    task = Control(env=env)

    def every(rule: Rule, **axes: object) -> Search:
        run = Run(rule, task, batch=4, episodes=episodes)
        return _search(grid(run, learning_rate=rates, **axes), quick, RETURNS)

    found = {REINFORCE: every(Reinforce())}
    coupled: dict[str, list[Any]] = {
        "coupling": [0.1] if quick else [0.1, 0.25],
        "recurrent_rate": [0.1] if quick else [0.01, 0.1, 1.0],
    }
    for words, axes in CENTRINGS.items():
        found[f"Algorithm 1, {words}"] = every(Boltzmann(steps=5), **coupled, **axes)
    return {Place("", label, 64): search for label, search in found.items()}


def tuning(name: str, env: str = ENV) -> Tuning:
    """160,000 episodes of the bandit, 40,000 of it in time, 640 of an environment; a tenth at the quick scale."""
    if name == "centring":
        places = _centring(env)
        return Tuning(name, f"Algorithm 1, centred, on {env}", "N, hidden units", places, (BY,), part=6250)
    if name == "coordination-in-time":
        title = "When does coordination help, in time?"
        return Tuning(name, title, "N, hidden units", in_time_places, (BY,), part=100)
    return Tuning(name, "When does coordination help?", "N, hidden units", coordination_places, (BY,), part=25)


@functools.cache  # one for each environment, since searches are kept by what they are made with
def _centring(env: str) -> functools.partial[Searches]:
    return functools.partial(centring_places, env)


def environment(results: Sequence[Result]) -> str:
    """The one that results are of; without any, that of the figure."""
    return next((e for r in results if (e := getattr(r.setting.task, "env", IN_TIME)) != IN_TIME), ENV)


NAMES = ("coordination", "coordination-in-time", "centring")


# What was found -------------------------------------------------------------------------------------------------------


def shares(at: Comparison) -> list[float]:
    return [float(name.rpartition(" ")[2]) for name in at.panels]


def sizes(at: Comparison) -> list[int]:
    return at.sizes(at.panels[0])


def main_size(at: Comparison) -> int:
    """N of what is said along the shares."""
    return 64 if 64 in sizes(at) else max(sizes(at))


def gap(at: Comparison, share: float, N: int) -> Estimate:
    """What backprop has over REINFORCE."""
    return at.over(BACKPROP, REINFORCE, N, BY, panel(share))


def gain(at: Comparison, rule: str, weights: Mapping[tuple[float, int], float]) -> Estimate:
    """Σ w · gain over places (share, N); NoGap if one of them has no gap.

    A ratio of differences has no bounds: its interval is Student's, of the sum of means that the ratios are to first
    order around what was found.
    """
    groups, signs, total = [], [], 0.0
    for (share, N), w in weights.items():
        if gap(at, share, N).low <= GAP:
            raise NoGap(f"at a joint share of {share:g} with {N} units backprop is not ahead of REINFORCE by {GAP}")
        labels = (rule, without(rule), BACKPROP, REINFORCE)
        four = [np.asarray(at.values(at.judged(label, N, BY, panel(share)), reward)) for label in labels]
        with_c, alone, most, least = (float(x.mean()) for x in four)
        found = (with_c - alone) / (most - least)
        groups += four
        signs += [sign * w / (most - least) for sign in (1.0, -1.0, -found, found)]
        total += w * found
    parts = [sign**2 * np.var(x, ddof=1) / len(x) for x, sign in zip(groups, signs, strict=True)]
    df = sum(parts) ** 2 / sum(v**2 / (len(x) - 1) for v, x in zip(parts, groups, strict=True))
    return Estimate(total, Student(total, float(sum(parts)) ** 0.5, float(df)), tuple(groups), None, tuple(signs))


def part_of(at: Comparison, label: str, other: str, part: float) -> Estimate:
    """What a rule has over so large a part of another's return."""
    a, b = (at.values(at.judged(each, 64, BY), reward) for each in (label, other))
    return difference(a, [part * x for x in b])
