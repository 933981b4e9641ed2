"""Settings to start from: the rule of choice on results made up for it, and the page held to the runs and to PPO's."""

import ast
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from coexplore import Control, Reinforce, Result, Run, grid, load
from coexplore.engines.control.worlds import mean_returns
from coexplore.run import bins

ROOT = Path(__file__).parents[1]
HERE = ROOT / "results" / "control"


@pytest.fixture(scope="module")
def starting():
    import gymnasium

    yield runpy.run_path(str(ROOT / "benchmarks" / "starting.py"))
    del gymnasium.registry["TwoCartPoles-v0"]


def test_the_lowest_mean_rank_is_chosen_whatever_the_size_of_returns_and_only_by_the_seeds_that_choose(starting):
    kind = starting["KINDS"]["choices"]
    every = starting["tuning"](kind)
    assert len(every) == 3 * 3  # environments × rules

    def played(run, seed, value):
        (seeded,) = grid(run, seed=[seed])
        return Result(seeded, "control", np.full(bins(run.updates), value, np.float32), None)

    results = []
    for i, own in enumerate(every):
        for j, run in enumerate(own):
            # 2 is second or third everywhere, 0 best by far in two places and last in the rest, 4 and 5 are equals.
            value = {2: 4, 0: 1000 if i < 2 else 0, 1: 5 if i % 2 else 0.5, 3: 0.5 if i % 2 else 5}.get(j, 1)
            results += [played(run, seed, value) for seed in starting["CHOOSING"]]
            results += [played(run, seed, 9999 * (j == 5)) for seed in starting["JUDGING"]]
    ranks = starting["mean_ranks"](kind, results)
    assert ranks[4] == ranks[5] == pytest.approx((4.5 * 2 + 3.5 * 7) / 9)
    assert int(np.argmin(ranks)) == 2
    assert starting["chosen"](kind, results) == {name: [starting["value"](every[0][2], name)] for name in kind.grid}


def test_the_last_quarter_of_ppo_is_measured_as_ours_is():
    """Its script needs what is not installed here: the function alone is taken out of it."""
    tree = ast.parse((ROOT / "benchmarks" / "ppo.py").read_text())
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "last_quarter"]
    names = {"np": np, "POINTS": 1000}
    exec(compile(ast.Module(own, []), "ppo.py", "exec"), names)
    rng, steps = np.random.default_rng(0), 20_000
    ended = [(int(step), float(rng.normal())) for step in np.cumsum(rng.integers(1, 90, 600)) if step <= steps]
    run = Run(rule=Reinforce(), task=Control(env="CartPole-v1", env_steps=steps))
    sums, counts = np.zeros(bins(run.updates)), np.zeros(bins(run.updates))
    for step, value in ended:
        sums[(step - 1) * len(sums) // run.updates] += value
        counts[(step - 1) * len(sums) // run.updates] += 1
    late = [*ended, (steps + 1, 1e9)]
    curve = mean_returns(run, sums, counts)
    assert names["last_quarter"](late, steps) == pytest.approx(Result(run, "control", curve, None).last)


@pytest.mark.packs
def test_the_page_has_what_was_chosen_and_the_returns_of_the_runs_in_this_repository(starting):
    ppo = json.loads((HERE / "ppo.json").read_text())
    results = load(HERE / "starting.safetensors")
    assert not set(starting["CHOOSING"]) & set(starting["JUDGING"])
    tables = starting["tables"](results, ppo)
    assert (HERE / "starting.md").read_text() == tables
    page = (ROOT / "docs" / "environments.md").read_text()
    assert tables.partition("## Judged\n\n")[2] in page
    told = re.findall(r"^\| (\w[\w ]*) \|.*\| `(--.*)` \|$", page, re.M)
    assert told == [
        (name, starting["flags"]({one: v for one, (v,) in starting["chosen"](kind, results).items()}))
        for name, kind in starting["KINDS"].items()
    ]
    kind = starting["KINDS"]["choices"]
    last = {
        env: [[r.last for r in results if r.setting == run and r.seed in starting["JUDGING"]] for run in runs]
        for env, runs in starting["judged"](kind, starting["chosen"](kind, results)).items()
    }
    reached = [sum(one > 0.98 for one in own) for own in last["FrozenLake-v1 is_slippery=false"]]
    assert all(one > 0.98 or one < 0.02 for own in last["FrozenLake-v1 is_slippery=false"] for one in own)
    assert "by {}, {} and {} of the 10 seeds".format(*reached) in page
    assert f"(at least {min(last['CartPole-v1'][2]):.0f})" in page
    steps = {env: steps for kind in starting["KINDS"].values() for env, (_, steps) in kind.judged.items()}
    assert {env: own["steps"] for env, own in ppo["settings"].items()}.items() <= steps.items()
