"""`coexplore completion`: a script that completes commands, rules, flags and their values in a shell.

It is made once and starts nothing when somebody presses TAB: starting Python and JAX would take a second each time.
"""

import argparse
import importlib
from collections.abc import Mapping

from coexplore.cli import COMMANDS
from coexplore.cli.parser import Parser
from coexplore.settings import refusal

SHELLS = ("bash", "zsh", "fish")


def completion_command(words: list[str]) -> int:
    shell = completion_parser().read(words)["shell"]
    if shell not in SHELLS:
        raise refusal("shell", shell, " | ".join(SHELLS), SHELLS)
    import shtab  # needed for nothing else

    print(shtab.complete(whole({"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}), shell))
    return 0


def completion_parser() -> Parser:
    about = "Print a script that completes commands, rules, flags and values in a shell; docs/shell.md says where to."
    parser = Parser("completion", about)
    parser.add_argument("shell", offer=SHELLS, help=" | ".join(SHELLS))
    return parser


def whole(paths: Mapping[str, object]) -> argparse.ArgumentParser:
    """The parser of all commands, which knows what words there are; `paths` are what completes a DIR and a FILE."""
    parser = argparse.ArgumentParser("coexplore")
    parser.add_argument("--version", action="store_true", help="which one this is")
    commands = parser.add_subparsers()
    for name, home in COMMANDS.items():
        own = getattr(importlib.import_module(f"coexplore.cli.{home}"), f"{name}_parser")()
        for action, words in own.offers:
            if words:
                action.choices = words
            elif isinstance(action.metavar, str) and action.metavar in paths:
                action.complete = paths[action.metavar]  # where shtab looks for it
        commands.add_parser(name, parents=[own], add_help=False, help=str(own.description).partition(".")[0])
    return parser
