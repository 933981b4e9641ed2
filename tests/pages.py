"""The blocks of the pages: README.md, CONTRIBUTING.md and whatever lies under docs/."""

import dataclasses
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def blocks(page):
    text = (ROOT / page).read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.S | re.M)
    ]


def commands(text):
    """The words of each command of a block for a shell; a line that ends in a backslash goes on."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line.removeprefix("$ "), comments=True))]
