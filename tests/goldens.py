"""What must stay as it is whatever becomes of the code: digests of runs, verdicts on claims, numbers of studies.

    python tests/goldens.py compare [NAME …]    all of it, or what begins with one of these names
    python tests/goldens.py record [NAME …]     writes it again, to tests/golden/; `compare` first shows what changes

    digests/SOURCE    digests of the runs of a pack, of tests/data, of settings drawn at random (digests.py)
    claims/PACK       what `coexplore claims PACK --json` says, and verdicts that it does not have, by id
    studies/PACK      numbers and intervals of the studies that a pack has runs of, by study, arm and place

Words and counts are compared exactly, other numbers to TOLERANCE, since libraries may add up in another order. `make
goldens` compares everything (two minutes); `make test` compares all digests, and of the rest what takes a
second or less (test_goldens.py). verdicts_and_numbers.py is all that knows how studies are written today.
"""

import json
import math
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
KINDS = ("digests", "claims", "studies")
TOLERANCE = 1e-12  # relative or absolute


def read(kind):
    path = FOLDER / f"{kind}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(kind, content):
    (FOLDER / f"{kind}.json").write_text(_text(content) + "\n")


def _text(value, depth=0):
    """As JSON, with a list in one line, so that a difference shows what changed."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad = "\n" + " " * (depth + 1)
    items = (f"{json.dumps(key, ensure_ascii=False)}: {_text(one, depth + 1)}" for key, one in value.items())
    return "{" + pad + f",{pad}".join(items) + "\n" + " " * depth + "}"


def differences(before, after, where=""):
    """A line for each place in which two pieces of JSON differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from differences(before.get(key), after.get(key), f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{where}[{i}]")
    elif not _same(before, after):
        yield f"{where}: {json.dumps(after, ensure_ascii=False)} instead of {json.dumps(before, ensure_ascii=False)}"


def _same(before, after):
    if isinstance(before, float) and isinstance(after, float):
        return math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(before) is type(after) and before == after


def makers(kind):
    """What there is of a kind, by name: a function that works it out."""
    if kind == "digests":
        from digests import SOURCES

        return SOURCES
    import verdicts_and_numbers  # which takes seconds

    return verdicts_and_numbers.CLAIMS if kind == "claims" else verdicts_and_numbers.STUDIES


def compared(kind, name):
    """Lines on what is not as the golden file has it."""
    return list(differences(read(kind).get(name), json.loads(_text(makers(kind)[name]())), f"{kind}/{name}"))


def main(command, *wanted):
    failed = False
    for kind in KINDS:
        golden, every = read(kind), makers(kind)
        names = [name for name in every if not wanted or f"{kind}/{name}".startswith(wanted)]
        for name in names:
            if command == "record":
                golden[name] = every[name]()
                write(kind, {each: golden[each] for each in every if each in golden})
            lines = compared(kind, name) if command == "compare" else []
            print(
                *lines, f"{kind}/{name}: {len(lines)} differences" if lines else f"{kind}/{name}", sep="\n", flush=True
            )
            failed |= bool(lines)
        if command == "compare" and (gone := sorted(golden.keys() - every.keys())):
            print(f"{kind}: not there any more: {', '.join(gone)}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] not in (["record"], ["compare"]):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
