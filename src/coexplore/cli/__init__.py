"""The command: parses, calls, prints; nothing else. Its flags follow from the fields of Run, its task and its rules."""

import importlib
import signal
import sys
from typing import NoReturn

from coexplore import __version__
from coexplore.settings import FieldError, refusal
from coexplore.store.sealed import StoreError

HELP = """usage: coexplore train RULE [RULE …] [--FLAG VALUE [VALUE …] …]   train, and show rewards and a picture
       coexplore tune RULE … --grid FLAG=VALUE,… […]             the best of a grid on some seeds, judged on others
       coexplore reproduce [FIGURE … | all]                      the paper's figures, and what becomes of its claims
       coexplore beyond [digits | parity …]                      every rule on tasks with labels: tables and pictures
       coexplore claims                                          the verdicts, from runs that are done
       coexplore runs [list | export FILE | pack FILE | prune]   look after the runs of a store
       coexplore evaluate [STORE]                                what trained networks earn, on their task or another
       coexplore plot FILE                                       a picture of any runs of a store
       coexplore report [--serve]                                all of it as one page, or served while a study runs
       coexplore list                                            rules, tasks, engines and figures
       coexplore --version

Networks of stochastic units that learn as a team. Several values of a flag, or several rules, make a grid.
`coexplore COMMAND --help` explains a command, `coexplore train RULE --help` the flags of a rule."""

# Where each command lives: imported when it is called, since JAX alone takes half a second.
COMMANDS = {
    "train": "train",
    "tune": "tune",
    "reproduce": "reproduce",
    "claims": "reproduce",
    "beyond": "beyond",
    "runs": "runs",
    "evaluate": "evaluate",
    "plot": "runs",
    "report": "report",
    "list": "list",
}


def main() -> NoReturn:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # being told to end is like Ctrl-C: nothing is lost
    try:
        sys.exit(_main(sys.argv[1:]))
    except (FieldError, StoreError) as error:
        print(f"coexplore: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("coexplore: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)


def _main(words: list[str]) -> int:
    match words:
        case []:
            print(HELP, file=sys.stderr)
            return 2
        case ["-h" | "--help"]:
            print(HELP)
            return 0
        case ["--version"]:
            print(f"coexplore {__version__}")
            return 0
        case [name, *rest] if name in COMMANDS:
            module = importlib.import_module(f"coexplore.cli.{COMMANDS[name]}")
            return getattr(module, f"{name}_command")(rest)
    raise refusal("command", words[0], " | ".join(COMMANDS), COMMANDS)
