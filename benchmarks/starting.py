"""Settings to start from, one for each kind of action: chosen, judged, and written to results/control/starting.*

`python benchmarks/starting.py` (about 20 minutes of one core; what the store has is not trained again). The page is
docs/environments.md; benchmarks/ppo.py makes the column of PPO.

The rule of choice: in each environment of a kind and for each of the three rules, the settings of a grid are ranked by
their return in the last quarter of TUNING_STEPS steps, mean over the seeds CHOOSING; the lowest mean rank is chosen,
of equals the earlier one. The seeds JUDGING had no say in that.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from coexplore import Recurrent, Reinforce, Result, Run, WeightMax, grid, train
from coexplore.results.tables import counted, markdown
from coexplore.run import by_setting
from coexplore.settings import Linear
from coexplore.stats.estimates import summary
from coexplore.store.packs import pack
from coexplore.tasks.control import Control

OUT = Path(__file__).parents[1] / "results" / "control"
TUNING_STEPS, TOY, CLASSIC = 20_000, 20_000, 30_000
CHOOSING, JUDGING = range(2), range(100, 110)
RULES = [Reinforce(), Recurrent(), WeightMax()]
RATES = [Linear(0.02, 0.002), Linear(0.005, 0.0005), Linear(0.001, 0.0001)]


class TwoCartPoles(gymnasium.Env):
    """Side by side, a push for each; over when either falls."""

    def __init__(self) -> None:
        self.poles = [gymnasium.make("CartPole-v1").unwrapped for _ in range(2)]
        low, high = (np.tile(getattr(self.poles[0].observation_space, end), 2) for end in ("low", "high"))
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.action_space = gymnasium.spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        seeds = self.np_random.integers(2**31, size=2).tolist()
        return np.concatenate([pole.reset(seed=own)[0] for pole, own in zip(self.poles, seeds, strict=True)]), {}

    def step(self, action: Any) -> Any:
        told = [pole.step(int(own)) for pole, own in zip(self.poles, action, strict=True)]
        fallen = any(one[2] for one in told)
        return np.concatenate([one[0] for one in told]), 1.0, fallen, False, {}


gymnasium.register("TwoCartPoles-v0", TwoCartPoles, max_episode_steps=500)

DRY = {"env": "FrozenLake-v1", "env_arg": {"is_slippery": False}}
CLIFF = {"env": "CliffWalking-v1", "max_steps": 200}


class Kind(NamedTuple):
    """Environments that choose, the grid, and those that are judged, with their steps."""

    choosing: list[dict[str, Any]]
    grid: dict[str, list[Any]]
    judged: dict[str, tuple[dict[str, Any], int]]


KINDS = {
    "choices": Kind(
        [{"env": "CartPole-v1"}, DRY, CLIFF],
        {"learning_rate": RATES, "scaling": ["running", "none"]},
        {
            "CartPole-v1": ({"env": "CartPole-v1"}, CLASSIC),
            "Acrobot-v1": ({"env": "Acrobot-v1"}, CLASSIC),
            "FrozenLake-v1 is_slippery=false": (DRY, TOY),
            "FrozenLake-v1": ({"env": "FrozenLake-v1"}, TOY),
            "CliffWalking-v1": (CLIFF, TOY),
            "Blackjack-v1": ({"env": "Blackjack-v1"}, TOY),
            "Taxi-v4": ({"env": "Taxi-v4"}, TOY),
        },
    ),
    "numbers": Kind(
        [{"env": "Pendulum-v1"}],
        {"learning_rate": RATES[1:], "action_variance": [0.1, 1.0], "discount": [0.9, 0.98]},
        {"Pendulum-v1": ({"env": "Pendulum-v1"}, CLASSIC)},
    ),
    "several parts": Kind(
        [{"env": "TwoCartPoles-v0"}],
        {"learning_rate": RATES, "scaling": ["running", "none"]},
        {"TwoCartPoles-v0": ({"env": "TwoCartPoles-v0"}, TOY)},
    ),
}


def settings(task: dict[str, Any], steps: int, values: dict[str, list[Any]]) -> list[list[Run]]:
    """For each rule, a run for each setting of the grid, in the grid's order."""
    return [grid(Run(rule=rule, task=Control(**task, env_steps=steps)), **values) for rule in RULES]


def tuning(kind: Kind) -> list[list[Run]]:
    """For each environment and rule, its settings."""
    return [own for task in kind.choosing for own in settings(task, TUNING_STEPS, kind.grid)]


def mean_ranks(kind: Kind, results: Iterable[Result]) -> list[float]:
    """Of each setting of the grid; equals share their ranks."""
    trained = by_setting(results)
    ranks = []
    for own in tuning(kind):
        last = np.array([np.mean([r.last for r in trained[in_pack(run)] if r.seed in CHOOSING]) for run in own])
        ranks.append([(np.sum(last > one) + np.sum(last >= one) + 1) / 2 for one in last])
    return np.mean(ranks, axis=0).tolist()


def in_pack(run: Run) -> Run:
    """The run as the pack has it, which was written before runs stated the edition of an environment's code."""
    described = run.to_dict()
    described["task"].pop("edition", None)
    return Run.from_dict(described, imported_only=True)


def chosen(kind: Kind, results: Iterable[Result]) -> dict[str, list[Any]]:
    """As a grid of one."""
    best = tuning(kind)[0][int(np.argmin(mean_ranks(kind, results)))]
    return {name: [value(best, name)] for name in kind.grid}


def value(run: Run, name: str) -> Any:
    return getattr(run if hasattr(run, name) else run.task, name)


def flags(values: dict[str, Any]) -> str:
    """As they are given to a command."""
    words = {k.replace("_", "-"): f"{v.start}..{v.stop}" if isinstance(v, Linear) else v for k, v in values.items()}
    return " ".join(f"--{name} {word}" for name, word in words.items())


def judged(kind: Kind, best: dict[str, list[Any]]) -> dict[str, list[Run]]:
    """In each environment, a run for each rule."""
    return {name: [run for (run,) in settings(task, steps, best)] for name, (task, steps) in kind.judged.items()}


def seeded(runs: Iterable[Run], seeds: range) -> list[Run]:
    return [one for run in runs for one in grid(run, seed=seeds)]


def tables(results: list[Result], ppo: dict[str, Any]) -> str:
    """How settings were chosen, and what they return."""
    trained, text, rows = by_setting(results), [], []
    for name, kind in KINDS.items():
        tried = [{one: value(run, one) for one in kind.grid} for run in tuning(kind)[0]]
        ranks = sorted(zip(mean_ranks(kind, results), map(flags, tried), strict=True), key=lambda one: one[0])
        text += [
            f"## Chosen for {name}",
            "",
            markdown(["mean rank", "of"], [[f"{r:.2f}", f"`{w}`"] for r, w in ranks]),
            "",
        ]
        for env, runs in judged(kind, chosen(kind, results)).items():
            ours = [[r.last for r in trained.get(in_pack(run), ()) if r.seed in JUDGING] for run in runs]
            theirs = list(ppo["last quarter"].get(env, {}).values())
            steps = kind.judged[env][1]
            rows.append([f"`{env}`", f"{steps:,}", *(cell(values) for values in (*ours, theirs))])
    seeds = counted([len(own) for own in ppo["last quarter"].values()])
    about = f"Return in the last quarter of the steps, {len(JUDGING)} seeds ({seeds} of PPO), mean [95 % interval]:"
    text += ["## Judged", "", about, ""]
    text += [markdown(["environment", "steps", "reinforce", "recurrent, c = 0.25", "weight-max", "PPO"], rows), ""]
    return "\n".join(text)


def cell(values: list[float]) -> str:
    if len(values) < 2:
        return "not run"
    found = summary(values)
    digits = 2 if abs(found.mean) < 10 else 0
    return f"{found.mean:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose settings to start from, and judge them.")
    parser.add_argument("--store", default="runs", help="where runs are kept [runs]")
    parser.add_argument("--threads", type=int, default=1, help="how many runs to train at a time [1]")
    asked = vars(parser.parse_args())
    tried = {
        name: train([run for own in tuning(kind) for run in seeded(own, CHOOSING)], snapshots=0, **asked)
        for name, kind in KINDS.items()
    }
    results = [result for own in tried.values() for result in own]
    for name, kind in KINDS.items():
        print(name, best := chosen(kind, tried[name]))
        for env, runs in judged(kind, best).items():
            results += (own := train(seeded(runs, JUDGING), snapshots=0, **asked))
            print(env, [cell([r.last for r in own if r.setting == run]) for run in runs], flush=True)
    every = list({r.run: r for r in results}.values())
    pack(
        every,
        OUT / "starting.safetensors",
        scores_only={r.run for r in every if r.seed in CHOOSING},
        brief={r.setting: 100 for r in every},
    )
    ppo = json.loads((OUT / "ppo.json").read_text())
    (OUT / "starting.md").write_text(tables(every, ppo))


if __name__ == "__main__":
    main()
