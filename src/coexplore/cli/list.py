"""`coexplore list`: rules, tasks, engines, figures and open questions, a line for each."""

from collections.abc import Iterable

from coexplore import engines, rules
from coexplore.cli.parser import Parser
from coexplore.paper.figure import Figure
from coexplore.paper.figures import FIGURES
from coexplore.paper.tuning import Tuning
from coexplore.paper.tunings import TUNINGS
from coexplore.settings import FieldError
from coexplore.tasks import registry
from coexplore.tasks.control import Control

ENVIRONMENT = "CartPole-v1"  # for all of them: --task takes it


def list_command(words: list[str]) -> int:
    list_parser().read(words)
    every: dict[str, Figure | Tuning] = {**FIGURES, **TUNINGS}
    things: dict[str, Iterable[str]] = {
        "rules": rules.names(),
        "tasks": [*registry.known(), ENVIRONMENT],
        "engines": engines.NAMES,
        "figures": [name for name, figure in every.items() if not figure.question],
        "open questions": [name for name, figure in every.items() if figure.question],
    }
    for heading, names in things.items():
        print(heading)
        for name in names:
            print(f"  {name:<21}{_title(heading, name)}")
    print("docs/rules/NAME.md has a page on each rule of ours")
    return 0


def list_parser() -> Parser:
    return Parser("list", "Rules, tasks, engines, figures and open questions.")


def _title(heading: str, name: str) -> str:
    if heading == "engines":
        engine = engines.find(name)
        why = engine.missing()
        return f"missing: {why}" if why else engine.title
    if heading in ("figures", "open questions"):
        if name in TUNINGS:
            return f"{TUNINGS[name].title} (ours; settings tuned)"
        return FIGURES[name].title + (" (ours)" if FIGURES[name].ours else "")
    try:
        if heading == "tasks":
            return Control.title if name == ENVIRONMENT else registry.named(name).title
        return rules.ALIASES[name].title if name in rules.ALIASES else rules.find(name).title
    except FieldError as error:  # a plug-in that cannot be loaded
        return str(error)
