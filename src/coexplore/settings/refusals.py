"""Bad input gets one line: the field, its value, and what would be right."""

import difflib
import re
from collections.abc import Iterable

LONGEST, WHOLE = 100, 1000  # characters of a value in such a line, and of the line


class FieldError(ValueError):
    """A field holds a value that it may not hold; the message is one line for the user."""


class Unknown(FieldError):
    """A name that means nothing here, though it may elsewhere, such as that of a rule that is not installed.

    `origins`: MODULE:NAME of what it names, as the file tells that has it.
    """

    origins: frozenset[str] = frozenset()


def refusal(name: str, value: object, allowed: str, options: Iterable[str] = ()) -> FieldError:
    """The error to raise; `options` are names among which a near miss is looked for."""
    near = difflib.get_close_matches(value, list(options), n=1) if isinstance(value, str) and len(value) < 50 else []
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return FieldError(f"{name}: {shown(value)} is not allowed{hint}; give {allowed}")


def shown(value: object) -> str:
    """A value as a line has it: printable, and cut where it is long."""
    try:
        text = re.sub(r" at 0x[0-9a-f]+", "", _printable(repr(value)))
    except Exception:  # an integer of thousands of digits has no text, nor has what others wrote if that fails
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}… ({len(text):,} characters)"


def one_line(text: str) -> str:
    """In one line, and not too long; what cannot be printed, as the bytes of a name that are no text, is escaped."""
    text = _printable(text)
    return text if len(text) <= WHOLE else f"{text[:WHOLE]}…"


def _printable(text: str) -> str:
    text = " ".join(text.split())
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def reason(error: BaseException) -> str:
    """What an error of somebody else's code says, in one line."""
    try:
        text = one_line(str(error))
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__
