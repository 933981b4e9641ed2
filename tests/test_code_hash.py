"""The hash of a user's code: of what it computes, and of nothing else."""

import importlib
import json
import subprocess
import sys
import types

import pytest

from coexplore import Run, train
from coexplore.code_hash import code_hash

TINY = {"hidden": (4,), "episodes": 160, "critic": None}

HELPERS = """
import jax.numpy as jnp

SCALE = 2.0

def squash(d):
    return jnp.tanh(SCALE * d)
"""

CODE = '''
"""A user's file."""
import functools
import types
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from coexplore import Rule, choice, drive, number, outer
from coexplore.laws import Bernoulli, Gaussian
import helpers_of_a_user as helpers

GAIN = 2.0
TABLE = np.arange(3.0)
SETTINGS = {"sign": 1, "kinds": {"a", "b", "c"}}
UNUSED = 1
schedule = optax.linear_schedule(1.0, 0.0, 100)


@dataclass
class Config:
    """Of the user."""
    slope: float = 0.5

    def double(self):
        return 2 * self.slope


CONFIG = Config(0.5)


class Slotted:
    __slots__ = ("bend",)

    def __init__(self, bend):
        self.bend = bend

    def __call__(self, x):
        return x * self.bend


SLOTTED = Slotted(0.125)


def deep(x):
    return x + 1.0


def middle(x, power=2):
    """Helper."""
    return deep(x) ** power


@jax.jit
def compiled(x):
    return x * 1.0


@eqx.filter_jit
def filtered(x):
    return x * 7.0


@jax.custom_jvp
def custom(x):
    return x * 8.0


custom.defjvp(lambda xs, ts: (custom(*xs), ts[0] * 9.0))
mapped = jax.vmap(lambda x: x * 6.0)


@functools.cache
def cached(k):
    return k + 2.0


CHOICES = types.SimpleNamespace(bend=lambda x: x * 0.5)


def maker(k):
    def made(x):
        return k * x
    return made


made = maker(3.0)
cut = functools.partial(jnp.clip, min=-1.0)


class Law(Bernoulli):
    def explore(self, params, x, key):
        return super().explore(params, x, key)


class Base(Rule):
    factor = 1.0

    def weight(self, h):
        return h * self.factor


class Mine(Base):
    """W += alpha."""

    name, title = "mine", "a rule"
    strength: float = number(1.0, "how much", low=0.0)

    @property
    def law(self):
        return Law()

    @staticmethod
    def half():
        return 0.5

    def credit(self, layer, signal, above):
        """The credit."""
        x = layer.x
        class Inner:
            """Of no use."""
            y = 1
        from helpers_of_a_user import squash as late
        # a comment
        e = self.weight(middle(layer.h)) - self.half() + TABLE.sum() + SETTINGS["sign"] + schedule(3)
        e = made(compiled(e)) + filtered(e) + custom(e) + mapped(e) + cached(2) + CHOICES.bend(e)
        e = SLOTTED(e) + CONFIG.double() + GAIN + helpers.squash(e) + cut(e) + late(e)
        e = e if len("ab") in frozenset({1, 2, 3}) else -e
        return outer(x, self.strength * signal * e)
'''

SAME = {
    "a comment": ("# a comment", "# another comment\n        # of two lines"),
    "a docstring": ('"""The credit."""', '"""The credit of Mine."""'),
    "no docstring": ('        """The credit."""\n', ""),
    "a docstring of a nested class": ('"""Of no use."""', '"""Of no use at all."""'),
    "no docstring of a helper": ('    """Helper."""\n', ""),
    "a docstring of a class": ('"""W += alpha."""', '"""Another."""'),
    "a place in the file": ("GAIN = 2.0", "\n\n\n\nGAIN = 2.0"),
    "a type hint": ("def deep(x):", "def deep(x: float) -> float:"),
    "a title": ('"mine", "a rule"', '"mine", "my rule"'),
    "a help text": ('"how much"', '"how much, and more"'),
    "a name that the code does not use": ("UNUSED = 1", "UNUSED = 2"),
    "an expression over two lines": (
        "outer(x, self.strength * signal * e)",
        "outer(\n            x,\n            self.strength\n            * signal\n            * e,\n        )",
    ),
}
OTHER = {
    "a constant": ("return 0.5", "return 0.25"),
    "an operator": ("self.strength * signal", "self.strength + signal"),
    "an attribute": ("outer(x, self.strength", "outer(x, self.factor"),
    "a global number": ("GAIN = 2.0", "GAIN = 2.5"),
    "an array": ("np.arange(3.0)", "np.arange(1.0, 4.0)"),
    "a type of an array": ("np.arange(3.0)", "np.arange(3)"),
    "a value of a dictionary": ('"sign": 1', '"sign": -1'),
    "a member of a set": ('{"a", "b", "c"}', '{"a", "b", "d"}'),
    "a frozen set": ("frozenset({1, 2, 3})", "frozenset({1, 2, 4})"),
    "a helper": ("** power", "* power"),
    "a helper's helper": ("x + 1.0", "x + 1.5"),
    "a default argument": ("power=2", "power=3"),
    "a compiled helper": ("return x * 1.0", "return x * 1.5"),
    "a helper compiled by equinox": ("x * 7.0", "x * 7.5"),
    "a helper with a derivative of its own": ("x * 8.0", "x * 8.5"),
    "a derivative of its own": ("ts[0] * 9.0", "ts[0] * 9.5"),
    "a cached helper": ("k + 2.0", "k + 2.5"),
    "a function in a namespace": ("x * 0.5", "x * 0.75"),
    "a mapped helper": ("x * 6.0", "x * 6.5"),
    "what a closure holds": ("maker(3.0)", "maker(4.0)"),
    "a function with a closure": ("return k * x", "return k + x"),
    "an argument of a partial": ("min=-1.0", "min=-2.0"),
    "an argument of an installed maker": ("schedule(1.0, 0.0, 100)", "schedule(1.0, 0.0, 200)"),
    "a field of an object": ("Config(0.5)", "Config(0.75)"),
    "a method of an object": ("2 * self.slope", "3 * self.slope"),
    "a class attribute of a parent": ("factor = 1.0", "factor = 1.5"),
    "a method of a parent": ("h * self.factor", "h - self.factor"),
    "a law": ("super().explore(params, x, key)", "super().explore(params, -x, key)"),
    "what an object keeps in slots": ("Slotted(0.125)", "Slotted(0.25)"),
    "the default of a setting": ("number(1.0,", "number(1.5,"),
    "a parent of ours": ("class Law(Bernoulli)", "class Law(Gaussian)"),
    "a function of ours": ("return outer(x,", "return drive(x,"),
}


@pytest.fixture
def helpers(monkeypatch):
    """The module that CODE imports; called, it gets another source."""

    def written(source=HELPERS):
        module = types.ModuleType("helpers_of_a_user")
        exec(compile(source, "helpers_of_a_user.py", "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, "helpers_of_a_user", module)

    written()
    return written


def mine(code=CODE, name="file_of_a_user"):
    """The class `Mine` of this source."""
    names = {"__name__": name}
    exec(compile(code, f"{name}.py", "exec"), names)
    return names["Mine"]


def changed(old, new):
    assert CODE.count(old) == 1
    return CODE.replace(old, new)


def test_only_what_code_computes_changes_the_hash(helpers):
    usual = code_hash(mine())
    assert {what: code_hash(mine(changed(*change))) for what, change in SAME.items()} == dict.fromkeys(SAME, usual)
    others = {what: code_hash(mine(changed(*change))) for what, change in OTHER.items()}
    assert len({usual, *others.values()}) == 1 + len(OTHER), others


def test_a_helper_in_a_module_of_the_user_is_followed_wherever_it_is_imported(helpers):
    usual = code_hash(mine())
    helpers(HELPERS.replace("SCALE = 2.0", "SCALE = 2.0  # a comment"))
    assert code_hash(mine()) == usual
    helpers(HELPERS.replace("SCALE = 2.0", "SCALE = 3.0"))
    by_global = code_hash(mine())
    assert by_global != usual
    only_late = changed("helpers.squash(e)", "e")
    late = code_hash(mine(only_late))
    helpers()
    assert code_hash(mine(only_late)) != late


def test_the_hash_is_the_same_in_a_script_a_module_and_after_training(helpers):
    usual = code_hash(mine())
    assert code_hash(mine(name="__main__")) == usual
    kind = mine()
    train(Run(rule=kind(), **TINY), progress=False)
    assert code_hash(kind) == usual


STATEFUL = """
from coexplore import Rule

CALLS, LOG, CACHE, SETTINGS = 0, [], {}, {"gain": 2.0}


class Mine(Rule):
    seen = 0

    def credit(self, x):
        global CALLS
        CALLS += 1
        LOG.append(x)
        CACHE[x] = SETTINGS["gain"]
        Mine.seen += 1
        return CACHE[x]
"""


def test_what_the_code_itself_changes_counts_as_it_was_at_first():
    """A counter, a list that grows, a cache; and not what a person changes, or what another source begins with."""
    kind = mine(STATEFUL)
    usual = code_hash(kind)
    assert kind.credit(None, 7) == 2.0
    assert (kind.seen, kind.credit.__globals__["LOG"]) == (1, [7])
    assert code_hash(kind) == usual
    kind.credit.__globals__["SETTINGS"]["gain"] = 3.0
    assert code_hash(kind) != usual
    begun = [("CALLS, LOG, CACHE, SETTINGS = 0", "CALLS, LOG, CACHE, SETTINGS = 5"), ("seen = 0", "seen = 5")]
    begun += [("[], {}", "[1], {}"), ('{}, {"gain"', '{1: 2}, {"gain"')]
    others = [code_hash(mine(STATEFUL.replace(*each))) for each in begun]
    assert len({usual, *others}) == 5


REPL = """
import json, sys
{code}
from coexplore.code_hash import code_hash
print(json.dumps([code_hash(Mine), code_hash(__import__("pickle").loads(bytes.fromhex("{sent}")))]))
"""


def test_the_hash_is_the_same_in_a_repl_and_of_a_class_that_ray_has_sent(helpers, tmp_path):
    """Another hash seed orders sets in another way; Ray sends code without its source (but no cached functions)."""
    code = changed(" + cached(2)", "")
    cloudpickle = importlib.import_module("ray.cloudpickle")
    module = types.ModuleType("file_of_a_user")
    exec(compile(code, "file_of_a_user.py", "exec"), module.__dict__)
    sys.modules["file_of_a_user"] = module
    for each in (module, sys.modules["helpers_of_a_user"]):
        cloudpickle.register_pickle_by_value(each)
    try:
        sent = cloudpickle.dumps(module.Mine).hex()
    finally:
        for each in (module, sys.modules["helpers_of_a_user"]):
            cloudpickle.unregister_pickle_by_value(each)
        del sys.modules["file_of_a_user"]
    (tmp_path / "helpers_of_a_user.py").write_text(HELPERS)
    (tmp_path / "code.py").write_text(code)
    blocks = "exec(open('code.py').read())"
    done = subprocess.run(
        [sys.executable, "-i", "-c", ""],
        input=REPL.format(code=blocks, sent=sent),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": "", "PYTHONHASHSEED": "7", "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout.strip().splitlines()[-1]) == [code_hash(module.Mine)] * 2, done.stderr
