"""`coexplore check`: a rule or a task of the user's, tried as the tests try ours."""

from collections.abc import Iterator

from coexplore import rules
from coexplore.cli.parser import Parser
from coexplore.engines.conformance import Finding, check_rule, check_task
from coexplore.rules import Rule
from coexplore.settings import FieldError, module_named, refusal
from coexplore.tasks.base import Task


def check_command(words: list[str]) -> int:
    name = check_parser().read(words)["name"]
    wrong = 0
    for finding in _findings(name):
        wrong += finding.wrong is not None
        print(f"wrong  {finding.what}: {finding.wrong}" if finding.wrong else f"ok     {finding.what}", flush=True)
    print(f"{name}: {wrong} of these checks failed" if wrong else f"{name}: all checks passed")
    return 1 if wrong else 0


def check_parser() -> Parser:
    parser = Parser("check", "Try a rule or a task of your own, a line for each check: about a minute.")
    parser.add_argument("name", metavar="MODULE:NAME", help="what to check, or the name of a rule, as boltzmann")
    return parser


def _findings(name: str) -> Iterator[Finding]:
    module, colon, own = name.partition(":")
    if not colon:
        return check_rule(rules.find(name))
    found = getattr(module_named("name", name, module), own, None)
    if isinstance(found, type) and issubclass(found, Rule):
        return check_rule(found)
    task = found() if isinstance(found, type) and issubclass(found, Task) else found
    if isinstance(task, Task):
        return check_task(task)
    if found is None:
        raise refusal("name", name, f"a rule or a task that {module} has")
    raise FieldError(f"name: {name!r} is neither a Rule nor a Task; environments have gymnasium.utils.env_checker")
