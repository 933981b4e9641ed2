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
TOO_DEEP = "JSON that is too deep"
DEEPEST = 50  # lists in lists: nobody who goes through them needs many calls within calls


class StoreError(ValueError):
    """A file is not what it should be; the message is one line for the user, whatever a file may have put into it."""

    def __init__(self, line: str) -> None:
        super().__init__(one_line(line))


class UnreadableError(StoreError):
    """A file may be what it should be, but the machine cannot read it at the moment."""


def cause(error: Exception) -> str:
    """What an error tells somebody who has never seen the code: what is missing, or the words of ours that refuse it;
    nothing if it tells of the code alone."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) if type(error) is ValueError else ""


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
    """JSON of which one can rely on that numbers are finite, whole ones have 64 bits, texts can be written, and it is
    not deep."""
    try:
        data = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    _check_depth(data)
    if "\\ud" in text or "\\uD" in text or not text.isascii():
        json.dumps(data, ensure_ascii=False).encode()
    return data


def _check_depth(data: Json) -> None:
    level: list[Json] = [[data]]
    for _ in range(DEEPEST + 1):
        every = (x.values() if isinstance(x, dict) else x for x in level)
        level = [each for x in every for each in x if isinstance(each, (dict, list))]
        if not level:
            return
    raise ValueError(TOO_DEEP)


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
