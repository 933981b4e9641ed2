"""Files of text that came from anywhere, and the lines about those that cannot be used."""

import json
import math
import os
import stat
from pathlib import Path
from typing import NoReturn

from coexplore.settings import Json

LONGEST = 1000  # characters of a line
SHARE = 2  # a file may be as large as memory divided by this
WHOLE = 2**63  # numbers from here on are nobody's count


class StoreError(ValueError):
    """A file is not what it should be; the message is one line for the user, whatever a file may have put into it."""

    def __init__(self, line: str) -> None:
        super().__init__(one_line(line))


class UnreadableError(StoreError):
    """A file may be what it should be, but the machine cannot read it at the moment."""


def one_line(text: str) -> str:
    """The text with what cannot be printed escaped, and not too long."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def check_file(path: Path) -> None:
    """That it is a file (a pipe would never end), and one that fits into memory."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path}: not a file")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if status.st_size * SHARE > memory:
        has = f"this machine has {memory / 1e9:.0f} GB of memory"
        raise StoreError(f"{path}: too large with {status.st_size / 1e9:.0f} GB; {has}")


def read_json(path: Path) -> Json:
    """What a file of JSON holds; OSError, StoreError or another ValueError where it cannot be said."""
    check_file(path)
    return parsed(path.read_text("utf-8"))


def parsed(text: str) -> Json:
    """JSON of which one can rely on that numbers are finite, whole ones have 64 bits, and texts can be written."""
    try:
        data = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text or not text.isascii():
            json.dumps(data, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("JSON that is too deep") from None
    return data


def _whole(digits: str) -> int:
    if not -WHOLE <= (number := int(digits)) < WHOLE:
        raise ValueError("a number with more than 64 bits")
    return number


def _real(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number that is not finite")
    return number


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_real, parse_constant=_no_number)
