"""One HTML file of the template, the styles, the scripts and the data, and the policy that lets nothing else run."""

import base64
import hashlib
import json
import re
import unicodedata
from importlib.resources import files
from typing import Any, NamedTuple

SCRIPTS = (
    "dom", "numbers", "labels", "theme", "looks", "names", "chart", "controls", "curves", "seeds", "bars", "sweep",
    "claims", "figures", "heat", "inside", "statistics", "runs", "live", "main",
)  # fmt: skip
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, marks of direction, halves of letters, separators of lines


class Page(NamedTuple):
    html: str
    policy: str  # Content-Security-Policy


def page(data: Any, served: bool = False) -> Page:
    """`served` lets the page ask the server it came from for news; from disk it may connect to nothing."""
    library = _read("vendor", "echarts.min.js")
    style, script = _read("page", "page.css"), scripts()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashed(library)} {_hashed(script)}",
            f"style-src {_hashed(style)}",
            "img-src data:",
            f"connect-src {chr(39)}{'self' if served else 'none'}{chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",  # in the page's own scripts, no text becomes markup (see dom.js)
            "trusted-types default",
        ]
    )
    parts = {"policy": policy, "style": style, "library": library, "script": script, "data": embedded(data)}
    template = _read("page", "page.html")
    # In one pass: what is put in is not looked through again, whatever it holds.
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template), policy)


def scripts() -> str:
    """All of ours as one, with nothing in the page's global scope but what main.js puts there."""
    return '(() => {\n"use strict";\n' + "\n".join(_read("page", f"{name}.js") for name in SCRIPTS) + "})();\n"


def embedded(data: Any) -> str:
    """JSON that no HTML parser can read anything else into: it has neither < nor > nor &."""
    text = plain(data)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def plain(data: Any) -> str:
    """JSON in which letters that cannot be seen, but turn or break the text around them, are spelled out."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for letter in set(text):
        if unicodedata.category(letter) in UNSEEN:
            text = text.replace(letter, f"\\\\u{ord(letter):04x}")
    return text


def _read(*place: str) -> str:
    return files("coexplore.report").joinpath(*place).read_text("utf-8")


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
