"""The command: parses, calls, prints; nothing else. Its flags follow from the fields of Run, its task and its rules."""

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import threading
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
       coexplore check MODULE:NAME                               a rule or a task of your own, tried as ours are
       coexplore list                                            rules, tasks, engines and figures
       coexplore completion bash | zsh | fish                    a script that completes all this in a shell
       coexplore --version

Several values of a flag, or several rules, make a grid.
`coexplore COMMAND --help` explains a command, `coexplore train RULE --help` the flags of a rule."""

# Where each command lives: imported when it is called, since JAX alone takes half a second.
COMMANDS = {
    "train": "train",
    "tune": "tune",
    "demo": "demo",
    "reproduce": "reproduce",
    "claims": "reproduce",
    "beyond": "beyond",
    "runs": "runs",
    "evaluate": "evaluate",
    "plot": "runs",
    "report": "report",
    "check": "check",
    "list": "list",
    "completion": "completion",
}


DEBUG = "COEXPLORE_DEBUG"
HOME = os.path.dirname(os.path.dirname(__file__))
BAD_NAMES = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EILSEQ)
UNEXPECTED = f"""unexpected {{}} in {{}}: a fault of coexplore's own. What is in a store is safe, and the same command
goes on from there. Please report it in the project's issue tracker, with the command and what {DEBUG}=1 prints"""


def main() -> NoReturn:
    """The one way out: status 0, 2 (bad input), 1 (something failed) or 130 (interrupted), and one line says why."""
    usual, sys.unraisablehook = sys.unraisablehook, _again
    try:
        _furnish()
        status = _main(sys.argv[1:])
        sys.stdout.flush()  # a disk that is full should be heard of here
        _deafen()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _deafen()
        _close_stdout()
        status = 0
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        _deafen()
        if os.environ.get(DEBUG) == "1":
            traceback.print_exc()
        status, line = _told(error)
        print(f"coexplore: {line}", file=sys.stderr)
    finally:
        sys.unraisablehook = usual
    sys.exit(status)


def _furnish() -> None:
    """Being told to end is like Ctrl-C: nothing is lost. What a shell has closed leads nowhere (or a file of a store
    would get what others print), and pictures are drawn into files, whatever windows there may be elsewhere."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have bytes that are no text
    os.environ["MPLBACKEND"] = "agg"


def _check_devices() -> None:
    """What JAX is told by the environment to run on must be there; networks are looked at on the CPU."""
    if asked := os.environ.get("JAX_PLATFORMS"):
        import jax

        from coexplore.settings import refusal

        try:
            _ = jax.default_backend(), jax.devices("cpu")
        except (AssertionError, RuntimeError):
            wanted = "what JAX has a device of here, cpu among them, as cpu or cuda,cpu; or nothing"
            raise refusal("JAX_PLATFORMS", asked, wanted) from None


def _deafen() -> None:
    """Whoever presses Ctrl-C again while the process ends changes nothing any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _again(lost: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that came where nothing can be raised, as in what JAX does when garbage is collected, comes again a moment
    later. What else is lost there concerns nobody."""
    if isinstance(lost.exc_value, KeyboardInterrupt):  # SIGTERM is the same to us, and heard in the background too
        later = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGTERM])
        later.daemon = True
        later.start()
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
        case FieldError() | StoreError() | ClusterError():
            return 1 if isinstance(error, ClusterError) else 2, one_line(str(error))
        case MemoryError():
            return 1, f"memory: not enough of it here ({reason(error)}); what is in a store is safe"
        case OSError():
            if error.filename is not None:
                return 2 if error.errno in BAD_NAMES else 1, f"{shown(error.filename)}: {error.strerror}"
            _close_stdout()
            return 1, f"what was to be written or sent: {reason(error)}"
    where, ours = _where(error)
    return 1, one_line((UNEXPECTED if ours else "{} in {}, which is not coexplore's").format(reason(error), where))


def _where(error: BaseException) -> tuple[str, bool]:
    """The place, FILE:LINE, that has raised it or asked for what did, and whether it is ours: what is neither in our
    package nor installed with Python is what somebody wrote for it, and so is what a package offers us."""
    from coexplore.settings import offered

    every = (plug for group in ("rules", "tasks") for plug in offered(f"coexplore.{group}").values())
    plugs = {plug.module.partition(".")[0] for plug in every}
    place = ("nowhere", True)
    for frame, line in traceback.walk_tb(error.__traceback__):
        name, path = str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename
        theirs = name in plugs or not path.startswith(("<", sys.prefix, sys.base_prefix, HOME))
        if theirs or name == "coexplore":
            place = (f"{os.path.basename(path)}:{line}", not theirs)
    return place


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
            from coexplore.cli.parser import Shown

            _check_devices()
            try:
                return getattr(module, f"{name}_command")(rest)
            except Shown:
                return 0
    from coexplore.settings import refusal

    raise refusal("command", words[0], " | ".join(COMMANDS), COMMANDS)
