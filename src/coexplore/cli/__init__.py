"""The command: parses, calls, prints; nothing else. Its flags follow from the fields of Run, its task and its rules."""

import _thread
import contextlib
import importlib
import io
import os
import signal
import sys
import traceback
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


DEBUG = "COEXPLORE_DEBUG"
UNEXPECTED = f"""unexpected {{}} in {{}}: a fault of coexplore's own. What is in a store is safe, and the same command
goes on from there. Please report it in the project's issue tracker, with the command and what it prints with {DEBUG}=1"""


def main() -> NoReturn:
    """The one way out: status 0, 2 (bad input), 1 (something failed) or 130 (interrupted), and one line says why."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # being told to end is like Ctrl-C: nothing is lost
    sys.unraisablehook = _again
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have bytes that are no text
    try:
        status = _main(sys.argv[1:])
        sys.stdout.flush()  # a disk that is full should be heard of here
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _close_stdout()
        status = 0
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, SystemExit) and not error.code:  # help was asked for
            raise
        if os.environ.get(DEBUG) == "1":
            traceback.print_exc()
        status, line = _told(error)
        print(f"coexplore: {line}", file=sys.stderr)
    sys.exit(status)


def _again(lost: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that came where nothing can be raised, as in what JAX does when garbage is collected, comes again. What
    else is lost there concerns nobody."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        _thread.interrupt_main()
    elif os.environ.get(DEBUG) == "1":
        sys.__unraisablehook__(lost)


def _told(error: BaseException) -> tuple[int, str]:
    """The status and the line. What brings JAX with it is imported only when something is wrong."""
    from coexplore.settings import FieldError, one_line, reason, shown
    from coexplore.store import StoreError
    from coexplore.study import ClusterError

    match error:
        case KeyboardInterrupt():
            return 130, "interrupted"
        case FieldError() | StoreError():
            return 2, one_line(str(error))
        case ClusterError():
            return 1, one_line(str(error))
        case MemoryError():
            return 1, f"memory: not enough of it here ({reason(error)}); what is in a store is safe"
        case OSError():
            if error.filename is None:
                _close_stdout()
            return 1, f"{shown(error.filename) if error.filename else 'output'}: {error.strerror or reason(error)}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "nowhere"
    return 1, one_line(UNEXPECTED.format(reason(error), where))


def _close_stdout() -> None:
    """What could not be written is not tried again when the process ends, where nobody could tell of it."""
    with contextlib.suppress(OSError, ValueError):  # it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
