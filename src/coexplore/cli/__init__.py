"""The command: parses, calls, prints; nothing else. Its flags follow from the fields of Run, its task and its rules."""

import contextlib
import importlib
import signal
import sys
from typing import NoReturn

from coexplore import __version__

NEXT = """Networks of stochastic units that learn as a team. Three things to do next:

  coexplore train boltzmann --coupling 0 0.5 --episodes 200000 --seeds 3 --store runs    alone or together: seconds
  coexplore demo                                       five rules, the picture of the README: about a minute
  coexplore report                                     both as one page, report.html

`coexplore --help` has all commands, `coexplore list` all rules, tasks, engines and figures."""

HELP = """usage: coexplore train RULE [RULE …] [--FLAG VALUE [VALUE …] …]   train, and show rewards and a picture
       coexplore demo                                            five rules side by side: about a minute
       coexplore tune RULE … --grid FLAG=VALUE,… […]             the best of a grid on some seeds, judged on others
       coexplore reproduce [FIGURE … | all]                      the paper's figures, and what becomes of its claims
       coexplore beyond [digits | parity …]                      every rule on tasks with labels: tables and pictures
       coexplore claims                                          the verdicts, from runs that are done
       coexplore runs [list | pack FILE | prune]                 look after the runs of a store, or export them
       coexplore evaluate [STORE]                                what trained networks earn, on their task or another
       coexplore plot FILE                                       a picture of any runs of a store
       coexplore report [--serve]                                all of it as one page, or served while a study runs
       coexplore list                                            rules, tasks, engines and figures
       coexplore completion bash | zsh | fish                    a script that completes all this in a shell
       coexplore --version

Several values of a flag, or several rules, make a grid.
`coexplore COMMAND --help` explains a command, `coexplore train RULE --help` the flags of a rule."""

# Where each command lives: imported when it is called, since JAX alone takes half a second.
COMMANDS = {
    "train": "train",
    "tune": "tune",
    "demo": "reproduce",
    "reproduce": "reproduce",
    "claims": "reproduce",
    "beyond": "beyond",
    "runs": "runs",
    "evaluate": "evaluate",
    "plot": "runs",
    "report": "report",
    "list": "list",
    "completion": "completion",
}


def main() -> NoReturn:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # being told to end is like Ctrl-C: nothing is lost
    try:
        status = _main(sys.argv[1:])
        _flush()
    except KeyboardInterrupt:
        _deafen()
        print("coexplore: interrupted", file=sys.stderr)
        status = 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        status = 0
    except OSError as error:  # a disk that is full, for one
        print(f"coexplore: {error}", file=sys.stderr)
        status = 1
    except _refusals() as error:
        print(f"coexplore: {error}", file=sys.stderr)
        status = 2
    _deafen()
    sys.exit(status)


def _deafen() -> None:
    """Whoever presses Ctrl-C again while the process ends changes nothing any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _flush() -> None:
    """What cannot be written shows here, and not when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # nobody tries again
        raise


def _refusals() -> tuple[type[Exception], ...]:
    """What is wrong with the input, in one line. Asked for only when something is: they bring JAX with them."""
    from coexplore.settings import FieldError
    from coexplore.store import StoreError

    return FieldError, StoreError


def _main(words: list[str]) -> int:
    match words:
        case []:
            print(NEXT, file=sys.stderr)
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
    from coexplore.settings import refusal

    raise refusal("command", words[0], " | ".join(COMMANDS), COMMANDS)
