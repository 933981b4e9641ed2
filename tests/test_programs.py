"""Compiled programs of ours are forgotten in time; those of the user are not."""

import ast
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from coexplore import Multiplexer, Reinforce, Run, network, programs

SOURCE = Path(programs.__file__).parent


def initial(N):
    return Run(rule=Reinforce(), task=Multiplexer(bits=1), hidden=(N,), critic=None).init()


@pytest.fixture
def mappings(tmp_path, monkeypatch):
    """Makes the process look as if it had so many of the 100 mappings of memory that it may have."""

    def look(count):
        for place, text in (("MAPPINGS", "x\n" * count), ("LIMIT", "100")):
            (tmp_path / place).write_text(text)
            monkeypatch.setattr(programs, place, tmp_path / place)

    return look


@pytest.mark.parametrize(("count", "ours", "all_of_them"), [(50, 0, 0), (51, 2, 0), (76, 2, 2)])
def test_programs_are_forgotten_before_a_process_dies_of_them(count, ours, all_of_them, mappings, monkeypatch):
    """Each keeps mappings of memory, of which a process has so many: a study of some 160 shapes would take all."""
    cleared = []
    program = SimpleNamespace(clear_cache=lambda: cleared.append("ours"))
    monkeypatch.setattr(programs, "_programs", [program])
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append("all"))
    mappings(count)
    for _ in range(2 * programs.EVERY):
        programs.make_room()
    assert (cleared.count("ours"), cleared.count("all")) == (ours, all_of_them)


def test_programs_of_ours_give_their_memory_back_and_those_of_the_user_stay(mappings):
    place = programs.MAPPINGS

    def taken():
        return place.read_bytes().count(b"\n") if place.exists() else network.init._cache_size()

    @jax.jit
    def of_the_user(x):
        return jnp.sin(x) + initial(7).layers[0].W.sum()  # with one of ours inside

    of_the_user(1.0)
    least = taken()
    for N in range(20, 26):
        initial(N)
    most = taken()
    assert most - least >= 6
    mappings(51)
    for _ in range(programs.EVERY):
        programs.make_room()
    assert network.init._cache_size() == 0
    assert taken() - least < 0.2 * (most - least)
    assert of_the_user._cache_size() == 1
    assert jnp.array_equal(initial(20).layers[0].b, jnp.zeros(20))


def test_no_program_is_compiled_where_it_cannot_be_forgotten():
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("jit", "filter_jit", "pmap", "clear_caches")
    }
    assert found == {"programs.py"}
