"""A sample of bits.py: what tiny runs on `cpu` and `xla` come to, on any build and on those that were recorded."""

import math

import bits
from goldens import differences, read
from variants import VARIANTS, name_of

GOLDEN = read("bits")


def tensors(found):
    return {name: one["tensors"] for name, one in found.items()}


def but_for_norms(found):
    """Sizes of parameters are sums by NumPy's BLAS, whose last bit is not the same in every process."""
    return {name: {x: y for x, y in one.items() if ".norm." not in x} for name, one in found.items()}


def test_the_sample_is_the_recorded_one_but_for_rounding_and_to_the_bit_on_the_builds_that_recorded_it():
    """On other builds it is to the bit what a second training gives."""
    trained = bits.sample()
    found, golden = bits.sizes(trained), GOLDEN["runs"]
    assert bits.shapes(found) == bits.shapes(golden)
    assert {name: one["digest"] for name, one in found.items()} == {name: one["digest"] for name, one in golden.items()}
    for name, one in golden.items():
        for x, (_, size) in one["tensors"].items():
            assert math.isclose(found[name]["tensors"][x][1], size, rel_tol=1e-4, abs_tol=1e-6), f"{name}: {x}"
    recorded = GOLDEN["bits"].get(bits.build()) or tensors(bits.in_bits(bits.sample()))
    assert list(differences(but_for_norms(recorded), but_for_norms(tensors(bits.in_bits(trained))))) == []


def test_a_comparison_names_what_moved_and_tells_a_new_digest_from_moved_bits():
    run = {"digest": "a" * 64, "stream": "1", "tensors": {"curve": "1", "params.W": "2"}}
    moved = {**run, "tensors": {"curve": "1", "params.W": "3", "params.U": "4"}}
    renamed = {**run, "digest": "b" * 64}
    assert bits.moved({"one": run, "two": run, "three": run}, {"one": moved, "two": renamed}) == (
        ["one: params.U", "one: params.W", "three: not trained any more"],
        ["two: digest bbbbbbbb instead of aaaaaaaa"],
    )
    assert bits.moved({"one": run}, {"one": {**run, "stream": "2"}}) == (["one: stream 2 instead of 1"], [])


def test_every_variant_has_a_name_and_a_digest_of_its_own_and_an_engine_that_trains_it():
    assert len(set(bits.runs().values())) == len(bits.runs()) == len(VARIANTS) > 200
    assert name_of({"rule": {"name": "ste"}, "hidden": [9, 8], "critic": None}) == "ste, hidden 9/8, critic none"
    assert bits.able("xla").keys() | bits.able("control").keys() == VARIANTS.keys()
