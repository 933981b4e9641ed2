"""Modules of the user's that the runs of a store need: those that the command names, and those of the current folder.

A file never makes Python import anything but an installed plug-in. A module of the current folder is the user's own:
it is imported if results say that a rule or a task came from it, and if its source defines what they name.
"""

import ast
import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from coexplore import rules
from coexplore.run import Result
from coexplore.run.kinds import TaskName
from coexplore.settings import module_named
from coexplore.store import LeftOut, read


def import_selected(select: str) -> None:
    """Import what the terms of --select name: plug-ins by their name, modules as MODULE:NAME."""
    for term in filter(None, select.split(",")):
        name, _, value = term.partition("=")
        if name == "rule":
            for each in value.split("+"):
                rules.usual(each)
        elif name == "task" and ":" in value:
            TaskName().parse("select", value)


def read_with_modules(store: str | Path) -> tuple[list[Result], list[str]]:
    """Read a store's results and problems, again if some runs need modules of the current folder."""
    results, problems = read(store)
    origins = frozenset().union(*(line.origins for line in problems if isinstance(line, LeftOut)))
    return read(store) if import_from_here(origins) else (results, problems)


def import_from_here(origins: Iterable[str]) -> bool:
    """Import the modules of the current folder among these MODULE:NAME; gives whether there were any."""
    modules = {module for module, _, name in (origin.partition(":") for origin in origins) if _defines(module, name)}
    for module in sorted(modules):
        module_named("module", module, module)
    return bool(modules)


def _defines(module: str, name: str) -> bool:
    """Whether a module of the current folder, not imported yet, defines the name."""
    path = Path(*module.split("."))
    with contextlib.suppress(OSError, ValueError, SyntaxError):
        sources = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
        if module in sys.modules or not sources:
            return False
        for node in ast.parse(sources[0].read_text("utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)]
            if name.partition(".")[0] in names:
                return True
    return False
