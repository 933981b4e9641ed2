"""How a rule looks and what it is called, in every picture and in the report.

Okabe and Ito's colours, told apart with any kind of colour vision; what a colour tells, a dash, a marker and a hatch
tell too, so that grey will do as well.
"""

import collections
import math
from collections.abc import Sequence
from typing import NamedTuple


class Look(NamedTuple):
    colour: str
    dark: str  # the same on a dark page
    dash: str  # as matplotlib writes it
    marker: str  # likewise
    hatch: str


RULES = {
    "boltzmann": Look("#0072B2", "#3D9FE0", "-", "o", ""),
    "recurrent": Look("#D55E00", "#F0793B", "--", "s", "///"),
    "reinforce": Look("#009E73", "#2DBE93", "-.", "^", "..."),
    "unbiased-weight-max": Look("#CC79A7", "#DD92BC", ":", "D", "\\\\\\"),
    "ste": Look("#E69F00", "#F0B433", "-", "v", "xxx"),
    "map-prop": Look("#56B4E9", "#8CD0F5", "--", "P", "---"),
    "weight-max": Look("#000000", "#F0F0F0", "-.", "X", "|||"),
    "backprop": Look("#8C8C8C", "#A8A8A8", ":", "*", "+++"),
}
OWN = (  # colours of users' rules, on a light page and on a dark one: none of them is a colour above
    ("#8C510A", "#C98B45"),
    ("#6A3D9A", "#A98BD0"),
    ("#999933", "#C9C95A"),
    ("#882255", "#C4507F"),
    ("#117733", "#4E9A51"),
    ("#332288", "#7A74E8"),
)
DASHES, MARKERS = ("-", "--", "-.", ":"), ("o", "s", "^", "D", "v", "P", "X", "*", "<")
HATCHES = tuple(look.hatch for look in RULES.values())
SHADES, ON_DARK = 0.65, 0.5  # how far the ends of many shades lie from the colour itself, on a light page and a dark
SHORT = {
    "boltzmann": "Algorithm 1",
    "recurrent": "Algorithm 2",
    "reinforce": "REINFORCE",
    "ste": "STE backprop",
    "weight-max": "Weight Max",
    "unbiased-weight-max": "unbiased Weight Max",
    "map-prop": "MAP propagation",
    "backprop": "plain backprop",
}


def both_names(rule: str) -> str:
    """ "Algorithm 1 · boltzmann": what the paper calls it and what the command line does; once, if they are alike."""
    name = SHORT.get(rule, rule)
    return name if name.lower().replace(" ", "-") == rule else f"{name} · {rule}"


def legend(label: str, rule: str) -> str:
    """What a line is called: both names where it is the rule itself, else its own, in which the rule has its name."""
    if label in (rule, SHORT.get(rule)):
        return both_names(rule)
    return SHORT.get(rule, rule) + label.removeprefix(rule) if label.startswith(f"{rule}, ") else label


def _spare(k: int) -> Look:
    """The k-th look of users' rules. Those of one colour differ in dash and marker; its first four have four dashes."""
    of_colour, again = k % len(OWN), k // len(OWN)
    shift = of_colour + 13 * again  # 13 has no divisor in common with the 36 pairs of a dash and a marker
    hatch = HATCHES[(1 + shift) % len(HATCHES)]
    return Look(*OWN[of_colour], DASHES[shift % len(DASHES)], MARKERS[(8 + shift) % len(MARKERS)], hatch)


SPARE = [_spare(k) for k in range(len(OWN) * len(DASHES) * len(MARKERS))]  # 216


def looks(rules: Sequence[str]) -> list[Look]:
    """A look for each line of a picture, by its rule. Our rules have looks of their own, users' rules those of SPARE in
    the order of their names. Lines of one rule are shades of its colour, from light to dark, and differ in dash and
    marker: the order can be seen without names and in grey."""
    own = sorted({rule for rule in rules if rule not in RULES})
    seen: collections.Counter[str] = collections.Counter()
    chosen = []
    for rule in rules:
        look = RULES[rule] if rule in RULES else SPARE[own.index(rule) % len(SPARE)]
        chosen.append(_variant(look, seen[rule], rules.count(rule)))
        seen[rule] += 1
    return chosen


def _variant(look: Look, i: int, count: int) -> Look:
    """The i-th of so many lines of one rule."""
    dash = DASHES[(DASHES.index(look.dash) + i) % len(DASHES)]
    marker = MARKERS[(MARKERS.index(look.marker) + i) % len(MARKERS)]
    hatch = HATCHES[(HATCHES.index(look.hatch) + i) % len(HATCHES)]
    light, dark = shade(look.colour, i, count), shade(look.dark, count - 1 - i, count, ON_DARK)
    return Look(light, dark, dash, marker, hatch)


def shade(colour: str, i: int, count: int, most: float = SHADES) -> str:
    """The i-th of `count` shades, from light to dark; the more there are, the further apart are the ends."""
    reach = most * min(1.0, (count + 1) / 6)
    at = reach * (2 * i / (count - 1) - 1) if count > 1 else 0.0
    toward = 0 if at > 0 else 255
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    if count > 1 and (max(parts) < 64 or min(parts) > 192):
        parts = [128] * 3  # black and white have shades on one side only
    return "#" + "".join(f"{math.floor(x + abs(at) * (toward - x) + 0.5):02X}" for x in parts)
