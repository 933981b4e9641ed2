"""A parser whose errors are one line, and the options that several commands share."""

import argparse
import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from coexplore import engines
from coexplore.run import dashed
from coexplore.settings import MOST, Count, FieldError, refusal
from coexplore.study import SNAPSHOTS, THREADS

STORE = "runs"
MOST_SEED = 2**32 - 1
MOST_SEEDS = 10_000
COUNTS = {"threads": THREADS, "episodes": Count("", low=1, high=MOST), "snapshots": SNAPSHOTS}
SEEDS = "COUNT|FIRST-LAST"


class Below(argparse._StoreAction):
    """An argument whose help stands below that of another one."""


class Help(argparse.HelpFormatter):
    """Help with the value without a flag in brackets; each line of a text begins on a line of its own."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def add_argument(self, action: argparse.Action) -> None:
        if not isinstance(action, Below):
            super().add_argument(action)

    def _split_lines(self, text: str, width: int) -> list[str]:
        first, *below = text.split("\n")
        lines = super()._split_lines(first, width)
        for line in below:
            lines += [f"  {part}" for part in super()._split_lines(line, width - 2)]
        return lines

    def _get_help_string(self, action: argparse.Action) -> str:
        if not isinstance(action.default, str | int) or isinstance(action.default, bool):
            return action.help or ""
        return f"{action.help} [%(default)s]" if action.default not in ("", argparse.SUPPRESS) else action.help or ""

    def _format_args(self, action: argparse.Action, default_metavar: str | None) -> str:
        if action.nargs in ("*", "+") and default_metavar:
            return f"{self._metavar_formatter(action, default_metavar)(1)[0]} …"
        return super()._format_args(action, default_metavar or "")


class Shown(Exception):
    """Help was asked for, and has been printed."""


class Parser(argparse.ArgumentParser):
    """argparse, with errors of one line that end in `main`."""

    def __init__(self, command: str, about: str = "", **more: Any) -> None:
        prog = f"coexplore {command}".strip()
        self.offers: list[tuple[argparse.Action, tuple[str, ...]]] = []
        super().__init__(prog=prog, description=about, allow_abbrev=False, formatter_class=Help, **more)

    def add_argument(self, *names: str, offer: Iterable[str] = (), **how: Any) -> argparse.Action:
        """`offer` are words that may stand there, for a shell to complete; whoever reads them checks them."""
        action = super().add_argument(*names, **how)
        self.offers.append((action, tuple(offer)))
        return action

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Shown

    def error(self, message: str) -> NoReturn:
        raise FieldError(message.removeprefix("argument "))

    def training(self) -> None:
        about = f"auto (the first that can) | {' | '.join(engines.NAMES)}"
        self.add_argument("--engine", default="auto", offer=("auto", *engines.NAMES), help=about)
        self.add_argument("--threads", metavar="COUNT", help="how many runs to train at a time [one per core]")
        about = "how often to look at the networks on the way, with 0 only at the end [20; with a short run fewer]"
        self.add_argument("--snapshots", metavar="COUNT", help=about)
        about = "train on a Ray cluster: ray (RAY_ADDRESS, or one started here), ray://HOST:PORT or HOST:PORT [here]"
        self.add_argument("--cluster", metavar="ADDRESS", help=about)

    def keeping(self) -> None:
        about = "keep runs here, and do not train again what is there [DIR of --out, or nowhere]"
        self.add_argument("--store", metavar="DIR", help=about)
        about = "write the picture, numbers in JSON and the trained networks here [nowhere]"
        self.add_argument("--out", metavar="DIR", help=about)
        self.add_argument("--json", action="store_true", help="print one JSON object instead of a table")

    def reading(self, store: str = "--store") -> None:
        """`store`: how it is given, as a flag or by its place."""
        placed: dict[str, Any] = {} if store.startswith("-") else {"nargs": "?"}
        self.add_argument(store, **placed, default=STORE, metavar="DIR", help="a folder with runs, or a pack")
        about = "only these, as rule=boltzmann,units=64 [all]"
        self.add_argument("--select", default="", metavar="FLAG=VALUE,…", help=about)
        self.add_argument("--seeds", metavar=SEEDS, help="only seeds 0 to COUNT − 1, or FIRST to LAST [all]")

    def read(self, words: list[str]) -> dict[str, Any]:
        known, unknown = self.parse_known_args(words)
        options = vars(known)
        if unknown:
            flag = next((word for word in unknown if word.startswith("-")), unknown[0])
            raise refusal("flag", flag, f"a flag of {self.prog} (see --help)", [f"--{dashed(k)}" for k in options])
        for name, spec in COUNTS.items():
            if isinstance(options.get(name), str):
                options[name] = spec.parse(name, options[name])
        if isinstance(options.get("seeds"), str):
            options["seeds"] = seeds("seeds", options["seeds"])
        return options


def few(name: str, given: range | None) -> None:
    """Of seeds that a search or a comparison makes all runs of at once."""
    if given is not None and len(given) > MOST_SEEDS:
        raise refusal(name, len(given), f"at most {MOST_SEEDS:,} seeds")


def seeds(name: str, text: str) -> range:
    """5 means 0 to 4; 1000-1199 means what it says."""
    first, dash, last = text.partition("-")
    ends = (first, last) if dash else ("1", first)
    digits = all(end.isdecimal() and len(end) < 20 for end in ends)
    if not digits or int(ends[0]) > int(ends[1]) or int(ends[1]) > MOST_SEED:
        raise refusal(name, text, f"how many, as 5, or from which to which, as 1000-1199; at most {MOST_SEED}")
    return range(int(first), int(last) + 1) if dash else range(int(first))


def file(name: str, path: str, endings: tuple[str, ...]) -> Path:
    """Where something will be written."""
    with _named(name, path):
        found = Path(path)
        if found.suffix not in endings:
            raise refusal(name, path, f"a name that ends in {' or '.join(endings)}")
        if not found.absolute().parent.is_dir():
            raise refusal(name, path, "a file in a folder that exists")
        if found.is_dir():
            raise refusal(name, path, "a file: there is a folder of that name")
    return found


@contextlib.contextmanager
def _named(name: str, path: str) -> Iterator[None]:
    """A name that is too long, or goes through a file, is the input's fault."""
    try:
        yield
    except OSError as error:
        raise refusal(name, path, f"a name that can be used ({error.strerror})") from None


def folder(name: str, path: str) -> Path:
    """Made, and tried, before the training starts: a folder that cannot be written must not cost a result."""
    probe = Path(path) / ".writable"
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink(missing_ok=True)  # another process may have tried it at the same time
    except OSError as error:
        raise refusal(name, path, f"a folder that can be written ({error.strerror})") from None
    return Path(path)
