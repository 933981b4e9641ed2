"""What the commands share: a parser whose errors are one line, the options on training, and where results are."""

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from coexplore import engines, rules
from coexplore.fields import FieldError, refuse
from coexplore.files import StoreError, write
from coexplore.flags import dashed, selected
from coexplore.pack import read
from coexplore.result import Result
from coexplore.study import Interrupted, Study, study

STORE = "runs"


class Parser(argparse.ArgumentParser):
    """argparse, with errors of one line that end in `main`."""

    def __init__(self, command: str, about: str = "") -> None:
        super().__init__(prog=f"coexplore {command}", description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise FieldError(message.removeprefix("argument "))

    def training(self) -> None:
        self.add_argument("--engine", default="auto", help=f"auto | {' | '.join(engines.TITLES)}")
        self.add_argument("--threads", metavar="COUNT", help="how many runs to train at a time; all cores if not given")

    def reading(self) -> None:
        self.add_argument("--store", default=STORE, help=f"a folder with runs, or a pack; {STORE} if not given")
        self.add_argument("--select", default="", metavar="FLAG=VALUE,…", help="only these, as rule=boltzmann,units=64")

    def read(self, words: list[str]) -> dict[str, Any]:
        known, unknown = self.parse_known_args(words)
        options = vars(known)
        if unknown:
            flag = next((word for word in unknown if word.startswith("-")), unknown[0])
            raise refuse("flag", flag, f"a flag of {self.prog} (see --help)", [f"--{dashed(k)}" for k in options])
        for name in ("threads", "seeds", "episodes"):
            if isinstance(options.get(name), str):
                options[name] = positive(name, options[name])
        return options


def positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise refuse(name, text, "a whole number of at least 1")
    return int(text)


def folder(name: str, path: str, probe: str) -> Path:
    """Made before the training starts: a folder that cannot be written must not cost a result."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        write(Path(path) / probe, b"{}\n")
    except OSError as error:
        raise refuse(name, path, f"a folder that can be written ({error.strerror})") from None
    return Path(path)


def results(options: dict[str, Any]) -> list[Result]:
    """The chosen results of the store; a line on standard error for each file that cannot be used."""
    for term in filter(None, options["select"].split(",")):
        name, _, value = term.partition("=")
        if name == "rule":
            for each in value.split("+"):  # of a layer each
                rules.find(each)  # named by the user, so its plug-in may be loaded
    found, problems = read(options["store"])
    for problem in problems:
        print(f"coexplore: {problem}", file=sys.stderr)
    chosen = selected(found, options["select"])
    if not chosen:
        raise StoreError(f"select: none of the {len(found)} runs in {options['store']} is {options['select']!r}")
    return chosen


def studied(runs: list[Any], options: dict[str, Any], store: Path | None) -> Study | None:
    """Train, and tell of everything that went wrong; None if it was interrupted."""
    if options["engine"] == "auto":
        _say_what_is_missing()
    try:
        done = study(runs, options["engine"], threads=options["threads"], store=store)
    except Interrupted as stopped:
        kept = f" and kept in {store}, the others stopped where they are: the same command goes on" if store else ""
        message = f"interrupted; {len(stopped.finished)} of {len(set(runs))} runs were finished{kept}"
        print(f"coexplore: {message}", file=sys.stderr)
        return None
    for line in (*done.problems, *(f"failed: {failure}" for failure in done.failures)):
        print(f"coexplore: {line}", file=sys.stderr)
    if collapsed := sum(result.collapsed for result in done.results):
        print(
            f"coexplore: {collapsed} of {len(done.results)} runs collapsed (a layer frozen, the reward at chance)",
            file=sys.stderr,
        )
    return done


def _say_what_is_missing() -> None:
    for name in engines.TITLES:
        why = engines.find(name).missing()
        if why and why != engines.NO_GPU:  # a machine without a GPU lacks nothing
            print(f"coexplore: training without the {name} engine: {why}", file=sys.stderr)
