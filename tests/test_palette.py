"""One look per rule, in every picture and in the report."""

import colorsys
import itertools
import json
import re

import matplotlib as mpl
import pytest

from coexplore.report import html
from coexplore.report.data import palette as for_the_page
from coexplore.results.palette import DASHES, MARKERS, RULES, SHORT, SPARE, both_names, legend, looks
from coexplore.rules import BUILT_IN


def test_every_rule_has_a_look_and_a_name_of_its_own():
    assert set(RULES) == set(SHORT) == set(BUILT_IN)
    assert len({look.colour for look in RULES.values()}) == len({look.dark for look in RULES.values()}) == len(RULES)
    assert len({(look.dash, look.marker) for look in RULES.values()}) == len(RULES)
    for look in (*RULES.values(), *SPARE):
        assert mpl.colors.is_color_like(look.colour)
        assert mpl.colors.is_color_like(look.dark)
    assert both_names("boltzmann") == "Algorithm 1 · boltzmann"
    assert both_names("population") == "population"
    assert both_names("reinforce") == "REINFORCE"  # and not twice
    assert legend("Algorithm 1", "boltzmann") == legend("boltzmann", "boltzmann") == "Algorithm 1 · boltzmann"
    assert legend("Algorithm 1, c falling", "boltzmann") == "Algorithm 1, c falling"


def test_lines_of_a_rule_are_shades_of_its_colour_and_can_be_told_apart():
    seen = looks(["boltzmann", "recurrent", "boltzmann", "mine", "yours", "mine"])
    hues = [hue(look.colour) for look in seen]
    assert hues[0] == pytest.approx(hues[2], abs=0.02) == hue(RULES["boltzmann"].colour)
    assert seen[1] == RULES["recurrent"]
    assert len({look.colour for look in seen}) == len(seen)
    for rule in RULES:
        many = [grey(look.colour) for look in looks([rule] * 8)]
        assert all(lighter - darker > 1 for lighter, darker in itertools.pairwise(many)), (rule, many)
        dark = [grey(look.dark) for look in looks([rule] * 8)]
        assert dark == sorted(dark), rule  # the later the further from a dark page
    assert looks(["ste"]) == [RULES["ste"]]
    assert {look.dash for look in looks(["ste"] * 3 + ["boltzmann"])} <= set(DASHES)
    assert {look.marker for look in looks(["recurrent"] * 9 + ["boltzmann"])} <= set(MARKERS)


def drawn(look):
    return look.colour, look.dash, look.marker


def test_no_two_rules_of_one_picture_look_alike():
    own = [f"own-{i:03}" for i in range(200)]
    every = looks([*RULES, *own[:12]])
    assert every[: len(RULES)] == list(RULES.values())
    assert len({drawn(look) for look in every}) == len(every)
    assert not {look.colour for look in every[len(RULES) :]} & {look.colour for look in RULES.values()}
    assert len({(look.colour, look.dash) for look in looks(own[:24])}) == 24  # where no markers are drawn
    assert len({drawn(look) for look in looks(own)}) == 200


def test_the_look_of_a_rule_does_not_depend_on_the_order_of_the_lines():
    first, second, third = looks(["mine", "boltzmann", "yours"])
    assert looks(["yours", "mine", "boltzmann"]) == [third, first, second]


def grey(colour):
    return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) / 3


def hue(colour):
    return colorsys.rgb_to_hsv(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


LOOKS = re.search(r"const VIRIDIS.*", html._read("page", "looks.js"), re.S)[0]
PAGE_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "10,3,2,3": "-."}
PAGE_SYMBOLS = dict(zip(
    ["circle", "rect", "triangle", "diamond", "emptyTriangle", "emptyCircle", "emptyRect", "emptyDiamond", "pin"],
    MARKERS, strict=True,
))  # fmt: skip


def page_looks(browser, *pictures, rules=()):
    """Colour, dash and marker of each line of these pictures, in a report with settings of `rules`."""
    data = json.dumps({"palette": for_the_page(), "settings": [{"rule": rule} for rule in rules]})
    script = f"const theme = {{dark: false}}, data = {data};{LOOKS}; return arguments[0].map(looks);"
    return [
        [(one["colour"], PAGE_DASHES[said(one["dash"])], PAGE_SYMBOLS[one["symbol"]]) for one in picture]
        for picture in browser.execute_script(script, pictures)
    ]


def said(dash):
    return dash if isinstance(dash, str) else ",".join(map(str, dash))


def test_the_page_looks_like_the_pictures(browser):
    """Its own function, on the palette that comes with the data, against Python's."""
    for rules in (
        ["boltzmann", "recurrent", "boltzmann", "mine"],
        ["ste"],
        ["ste", "yours", "mine"],
        ["weight-max"] * 12,
        ["mine"] * 12,
        [*RULES, *(f"own-{i:02}" for i in range(12))],
        ["constructor", "toString"],
    ):
        assert page_looks(browser, rules, rules=rules) == [[drawn(look) for look in looks(rules)]]


def test_a_rule_looks_the_same_in_all_views_of_a_report(browser):
    every = ["cedar", "alder", "boltzmann", "birch"]
    alder, birch, cedar = (drawn(look) for look in looks(["alder", "birch", "cedar"]))
    pictures = [["cedar"], ["birch", "cedar"], ["critic", "alder"]]
    found = page_looks(browser, *pictures, rules=every)
    assert [found[0], found[1], found[2][1:]] == [[cedar], [birch, cedar], [alder]]
    assert found[2][0] not in (alder, birch, cedar)
    (mixed,) = page_looks(browser, ["boltzmann+ste"], rules=["boltzmann+ste"])
    assert mixed == [drawn(RULES["boltzmann"])]  # as a picture shows layers of several rules
