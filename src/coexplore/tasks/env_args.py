"""Arguments that an environment takes besides its name, as is_slippery=false: words and numbers, and nothing more."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping

from coexplore.settings import refusal

Argument = bool | int | float | str
Arguments = tuple[tuple[str, Argument], ...]  # sorted by name
WORDS = {"true": True, "false": False}
NOTHING = "none"


@dataclasses.dataclass(frozen=True)
class EnvArgs:
    """Several make one value; on the command line each --env-arg may add to those before it."""

    help: str
    allowed: str = "NAME=VALUE, as is_slippery=false, or NAME=VALUE,NAME=VALUE; numbers, true, false or words"

    def check(self, name: str, value: object) -> Arguments:
        try:
            pairs = value.items() if isinstance(value, Mapping) else value
            given = dict(pairs)  # type: ignore[call-overload]  # what does not fit is refused
        except (TypeError, ValueError):
            raise refusal(name, value, self.allowed) from None
        for each, what in given.items():
            if not (isinstance(each, str) and each.isidentifier() and _fits(what)):
                raise refusal(name, f"{each}={what}", self.allowed)
        return tuple(sorted(given.items()))

    def parse(self, name: str, text: str) -> Arguments:
        terms = [] if text == NOTHING else text.split(",")
        pairs = [term.partition("=") for term in terms]
        if not all(equals for _, equals, _ in pairs) or len({each for each, _, _ in pairs}) < len(pairs):
            raise refusal(name, text, self.allowed)
        return self.check(name, [(each.strip(), _read(value.strip())) for each, _, value in pairs])

    def show(self, value: object) -> str:
        return ",".join(f"{each}={_written(what)}" for each, what in self.check("", value)) or NOTHING

    def joined(self, texts: Iterable[str]) -> str:
        """One text for several of them."""
        return ",".join(text for text in texts if text != NOTHING) or NOTHING


def _fits(value: object) -> bool:
    """A finite number, or what is one word to a shell and to us."""
    if isinstance(value, str):
        return re.fullmatch(r"[\w.:/+-]+", value) is not None
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _read(text: str) -> Argument:
    """Python's True is true as well: as a word it would count as one, and so would False."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _written(value: Argument) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
