"""What must stay as it is: digests of every run that is kept, and of studies what is worked out in a moment.

`make goldens` compares the rest; goldens.py says how to record again.
"""

import digests
import goldens
import pytest
import verdicts_and_numbers

WITHOUT_PACKS = ("drawn", "tests/variants.py", "tests/data")
SOURCES = [
    name if name in WITHOUT_PACKS else pytest.param(name, marks=pytest.mark.packs) for name in goldens.read("digests")
]
CHEAP = {
    "claims": ["questions/one-by-one", "coordination/coordination-in-time", "coordination/centring"],
    "studies": [
        "depth/depth",
        "questions/coupling-steps",
        "questions/one-by-one",
        "questions/one-rule-paper",
        "questions/batches",
        "questions/why",
        "control/acrobot",
        "control/cartpole",
        "control/lunar-lander",
        "control/mountain-car",
    ],
}


@pytest.mark.parametrize("source", SOURCES)
def test_digests_are_those_that_runs_had(source):
    assert goldens.compared("digests", source) == []


@pytest.mark.packs
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CHEAP for name in CHEAP[kind]])
def test_verdicts_and_numbers_are_those_that_studies_had(kind, name):
    assert goldens.compared(kind, name) == []


@pytest.mark.packs
@pytest.mark.parametrize("kind", goldens.KINDS)
def test_the_golden_files_are_about_all_packs_that_there_are_and_about_no_others(kind):
    assert goldens.read(kind).keys() == goldens.makers(kind).keys()


@pytest.mark.packs
def test_every_pack_of_runs_has_a_study_in_the_golden_files():
    assert digests.SOURCES.keys() - {*WITHOUT_PACKS} == verdicts_and_numbers.STUDIES.keys()


def test_enough_settings_are_drawn_of_every_part():
    drawn = goldens.read("digests")["drawn"]
    assert sum(drawn[part][0] for part in ("plain", "numbers", "variants")) >= 2000
    assert min(drawn[part][0] for part in ("plain", "numbers", "variants")) > 200


def test_a_run_that_names_a_variant_is_told_from_one_that_has_the_rules_own():
    def part(*rules):
        return digests.part_of({"rule": rules[0] if len(rules) == 1 else list(rules)})

    assert part({"name": "boltzmann", "centring": "reward", "depression": "none", "chains": 1}) == "plain"
    assert part({"name": "recurrent", "centring": "both", "layer_reward": "global"}) == "plain"
    assert part({"name": "recurrent", "centring": "reward"}) == "variants"
    assert part({"name": "reinforce"}, {"name": "boltzmann", "layer_reward": "path"}) == "variants"
    assert part({"name": "boltzmann", "pair_strength": 0.5}) == "numbers"
    assert part({"name": "recurrent", "learning_signal": "advantage", "baseline": "probability"}) == "plain"
    assert part({"name": "reinforce", "learning_signal": "reward"}) == "variants"
    assert part({"name": "boltzmann", "baseline": "half"}) == "variants"
    assert part({"name": "recurrent", "variant": "depression"}) == "variants"
    assert part({"name": "reinforce", "baseline": "probability", "baseline_strength": 0.5}) == "numbers"


def test_a_difference_is_named_by_its_place():
    before = {"a": {"x": [1, 0.5, None]}, "b": 1, "c": "holds"}
    after = {"a": {"x": [1, 0.5 + 1e-15, None]}, "b": 1.0, "c": "fails", "d": [1]}
    assert list(goldens.differences(before, before)) == []
    assert list(goldens.differences(before, after)) == [
        "/b: 1.0 instead of 1",
        '/c: "fails" instead of "holds"',
        "/d: [1] instead of null",
    ]
    assert list(goldens.differences({"x": [0.5, None]}, {"x": [0.5 + 1e-9, 0.0]}, "numbers")) == [
        "numbers/x[0]: 0.500000001 instead of 0.5",
        "numbers/x[1]: 0.0 instead of null",
    ]


def test_what_is_written_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(goldens, "FOLDER", tmp_path)
    content = {"σ": {"list": [1, 0.1 + 0.2, None, 'a "word", [1, 2]'], "empty": {}}}
    goldens.write("any", content)
    assert goldens.read("any") == content
    assert (tmp_path / "any.json").read_text().count("\n") == 6
