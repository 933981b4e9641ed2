"""One look per rule, in every picture and in the report."""

import colorsys
import itertools
import json
import re

import matplotlib as mpl
import pytest

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


def grey(colour):
    return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) / 3


def hue(colour):
    return colorsys.rgb_to_hsv(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


def test_the_page_looks_like_the_pictures(browser, tmp_path):
    """Its own function, on the palette that comes with the data, against Python's."""
    from coexplore.report import html

    script = re.search(r"const VIRIDIS.*", html._read("page", "looks.js"), re.S)[0]
    data = json.dumps({"palette": for_the_page()})
    code = f"const theme = {{dark: false}}, data = {data};{script}; return looks(arguments[0]);"
    dashes = {"solid": "-", "dashed": "--", "dotted": ":", "[10,3,2,3]": "-."}
    for rules in (
        ["boltzmann", "recurrent", "boltzmann", "mine"],
        ["ste"],
        ["ste", "mine", "yours"],
        ["weight-max"] * 8,
    ):
        page = browser.execute_script(code, rules)
        ours = looks(rules)
        assert [one["colour"] for one in page] == [look.colour for look in ours]
        said = [one["dash"] if isinstance(one["dash"], str) else "[10,3,2,3]" for one in page]
        assert [dashes[dash] for dash in said] == [look.dash for look in ours]
