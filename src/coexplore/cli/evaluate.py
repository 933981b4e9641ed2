"""`coexplore evaluate`: what the trained networks of a store earn now."""

import json
import sys
from typing import Any

from rich.table import Table

from coexplore.cli.parser import Parser
from coexplore.cli.results import chosen_results
from coexplore.cli.tables import MOST_ROWS, console, null
from coexplore.run import Result, by_setting, labels
from coexplore.run.evaluation import EPISODES, SEED, Evaluation
from coexplore.run.kinds import TaskName
from coexplore.stats.estimates import summary
from coexplore.store import StoreError

Evaluations = dict[Result, Evaluation]


def evaluate_command(words: list[str]) -> int:
    options = _parser().read(words)
    how = {
        "task": None if options["task"] is None else TaskName().parse("task", options["task"]),
        "episodes": options["episodes"],
        "seed": SEED.parse("seed", options["seed"]),
        "deterministic": options["deterministic"],
    }
    chosen = chosen_results(options)
    able = [result for result in chosen if result.params is not None]
    if not able:
        why = chosen[0].run.task.missing or "a pack keeps those of one seed per setting, and none where scores will do"
        raise StoreError(f"params: none of the {len(chosen)} runs has its parameters here: {why}")
    found = {result: result.evaluate(**how) for result in able}
    if len(able) < len(chosen):
        print(f"coexplore: {len(chosen) - len(able)} of {len(chosen)} runs have no parameters here", file=sys.stderr)
    if options["json"]:
        print(json.dumps({"runs": [_described(*pair) for pair in found.items()]}, allow_nan=False))
    else:
        console().print(_table(found))
    return 0


def _parser() -> Parser:
    parser = Parser("evaluate", "What trained networks earn, in episodes that nothing is learned from.")
    parser.reading("store")
    parser.add_argument("--task", metavar="NAME", help="a task or an environment instead of the run's own")
    parser.add_argument("--episodes", metavar="COUNT", help=f"{EPISODES.help}; what is held out once, if anything is")
    parser.add_argument("--seed", default="0", help=f"{SEED.help}; 0 if not given")
    parser.add_argument("--deterministic", action="store_true", help="the most probable action instead of a drawn one")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with each run by itself")
    return parser


def _table(found: Evaluations) -> Table:
    """A line for each setting."""
    settings = by_setting(found)
    table = Table(title="reward: mean ± sd over seeds [95 % interval]; of a single one, over its episodes")
    for heading in ("setting", "seeds", "episodes", "reward"):
        table.add_column(heading, justify="left" if heading in ("setting", "reward") else "right")
    shown = list(settings)[:MOST_ROWS]
    for label, same in zip(labels(shown), (settings[each] for each in shown), strict=True):
        each = [found[result] for result in same]
        bounds = same[0].setting.task.reward_range
        reward = each[0].summary if len(same) == 1 else summary([one.mean for one in each], bounds)
        table.add_row(label, str(len(same)), str(len(each[0].rewards)), str(reward))
    if len(settings) > MOST_ROWS:
        table.caption = f"… and {len(settings) - MOST_ROWS} settings more: --select narrows, --json has them all"
    return table


def _described(result: Result, found: Evaluation) -> dict[str, Any]:
    numbers = {name: null(getattr(found, name)) for name in ("mean", "sd", "low", "high")}
    return {"run": result.run.to_dict(), "digest": result.digest, "episodes": len(found.rewards), **numbers}
