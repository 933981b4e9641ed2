"""`coexplore evaluate`: what the trained networks of a store earn now."""

import json
import warnings
from typing import Any

from coexplore.cli.parser import Parser
from coexplore.cli.results import chosen_results, tell
from coexplore.cli.tables import console, evaluation_table, null
from coexplore.engines.guard import fault
from coexplore.rules import Reinforce
from coexplore.run import Result, Run
from coexplore.run.evaluation import EPISODES, SEED, Evaluation
from coexplore.run.kinds import TaskName
from coexplore.settings import FieldError
from coexplore.store import StoreError


def evaluate_command(words: list[str]) -> int:
    options = evaluate_parser().read(words)
    task = None if options["task"] is None else TaskName().parse("task", options["task"])
    if task is not None and (wrong := fault(Run(rule=Reinforce(), task=task))):
        raise FieldError(wrong)
    seed = int(SEED.parse("seed", options["seed"]))
    chosen = chosen_results(options)
    able = [result for result in chosen if result.params is not None]
    if not able:
        why = chosen[0].run.task.missing or "a pack keeps those of one seed per setting, and none where scores will do"
        raise StoreError(f"params: none of the {len(chosen)} runs has its parameters here: {why}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = {
            result: result.evaluate(task, options["episodes"], seed, deterministic=options["deterministic"])
            for result in able
        }
    tell(*dict.fromkeys(str(each.message) for each in warned))
    if len(able) < len(chosen):
        tell(f"{len(chosen) - len(able)} of {len(chosen)} runs have no parameters here")
    if options["json"]:
        print(json.dumps({"runs": [_described(*pair) for pair in found.items()]}, allow_nan=False))
    else:
        console().print(evaluation_table(found, task))
    return 0


def evaluate_parser() -> Parser:
    parser = Parser("evaluate", "What trained networks earn, in episodes that nothing is learned from.")
    parser.reading("store")
    parser.add_argument("--task", metavar="NAME", help="a task or an environment [the run's own]")
    parser.add_argument(
        "--episodes",
        metavar="COUNT",
        help=f"{EPISODES.help} [of one step 1000, or what is held out once; of an environment 100]",
    )
    parser.add_argument("--seed", default="0", help=SEED.help)
    parser.add_argument("--deterministic", action="store_true", help="the most probable action instead of a drawn one")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with each run by itself")
    return parser


def _described(result: Result, found: Evaluation) -> dict[str, Any]:
    numbers = {name: null(getattr(found, name)) for name in ("mean", "sd", "low", "high")}
    return {"run": result.run.to_dict(), "digest": result.digest, "episodes": len(found.rewards), **numbers}
