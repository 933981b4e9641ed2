"""Bad input gets one line: the field, its value, and what would be right."""

import difflib
from collections.abc import Iterable


class FieldError(ValueError):
    """A field holds a value that it may not hold; the message is one line for the user."""


class Unknown(FieldError):
    """A name that means nothing here, though it may elsewhere: a rule or a task that is not installed, say."""


def refusal(name: str, value: object, allowed: str, options: Iterable[str] = ()) -> FieldError:
    """The error to raise; `options` are names among which a near miss is looked for."""
    near = difflib.get_close_matches(str(value), list(options), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return FieldError(f"{name}: {value!r} is not allowed{hint}; give {allowed}")
