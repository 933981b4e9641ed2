"""A parser whose errors are one line, and the options that several commands share."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from coexplore import engines
from coexplore.run import dashed
from coexplore.settings import FieldError, refusal

STORE = "runs"


class Parser(argparse.ArgumentParser):
    """argparse, with errors of one line that end in `main`."""

    def __init__(self, command: str, about: str = "", **more: Any) -> None:
        super().__init__(prog=f"coexplore {command}".strip(), description=about, allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        raise FieldError(message.removeprefix("argument "))

    def training(self) -> None:
        self.add_argument("--engine", default="auto", help=f"auto | {' | '.join(engines.NAMES)}")
        self.add_argument("--threads", metavar="COUNT", help="how many runs to train at a time; all cores if not given")

    def reading(self) -> None:
        self.add_argument("--store", default=STORE, help=f"a folder with runs, or a pack; {STORE} if not given")
        self.add_argument("--select", default="", metavar="FLAG=VALUE,…", help="only these, as rule=boltzmann,units=64")

    def read(self, words: list[str]) -> dict[str, Any]:
        known, unknown = self.parse_known_args(words)
        options = vars(known)
        if unknown:
            flag = next((word for word in unknown if word.startswith("-")), unknown[0])
            raise refusal("flag", flag, f"a flag of {self.prog} (see --help)", [f"--{dashed(k)}" for k in options])
        for name in ("threads", "seeds", "episodes"):
            if isinstance(options.get(name), str):
                options[name] = positive(name, options[name])
        return options


def positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise refusal(name, text, "a whole number of at least 1")
    return int(text)


def folder(name: str, path: str) -> Path:
    """Made, and tried, before the training starts: a folder that cannot be written must not cost a result."""
    probe = Path(path) / ".writable"
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise refusal(name, path, f"a folder that can be written ({error.strerror})") from None
    return Path(path)
