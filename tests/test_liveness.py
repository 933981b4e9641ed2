"""No setting is without effect: each that a run accepts is a live part of the program of `init` and one update.

A number must be an input that is still read once code whose results nobody uses is left out. A setting that shapes the
computation must, with another value, give another program or be refused. Two layers, no right answer given.

Not tried, since two spellings of a run are the same there by arithmetic alone: a strength, a coupling or η of 0; one
step of a chain with λ; fan-in where no layer hears more units than the first; `learning_signal` without a critic, where
δ is R.
"""

import hashlib
import random
import re

import jax
import numpy as np
import pytest
from jax.interpreters import partial_eval

from coexplore import Multiplexer, Rule, Run, grid, network, number, outer, variants
from coexplore.engines import xla
from coexplore.engines.program import program
from coexplore.rules import BUILT_IN
from coexplore.run.names import settings_of
from coexplore.settings import (
    Choice,
    Count,
    EachLayer,
    FieldError,
    Linear,
    Number,
    OneOf,
    Switch,
    flat_specs,
    specs,
    worked_out,
)

VARIED = [variants.find(rule, name) for name in variants.HOMES for rule in ("boltzmann", "recurrent")]
KINDS = [*BUILT_IN.values(), *VARIED]
OF_RUN = ("signals", "initial_weights", "rate_scaling", "critic", "critic_width", "batch")


def traced(run):
    """The program without dead code as a hash; of each number by its name whether it is read; and all numbers."""
    numbers = program(run)
    leaves, tree = jax.tree_util.tree_flatten_with_path(numbers)

    def whole(values, key):
        numbers = jax.tree.unflatten(tree, values)
        now = worked_out(numbers, 0.5)
        params = network.init(now.network, run.sizes, key)
        params = network.spread_evenly(params) if run.initial_weights == "uniform" else params
        return xla.update(numbers, run.task.load(), key, 0.5, params, xla.ADAM.init(params))[0]

    values = [np.float32(leaf) for _, leaf in leaves]
    closed = jax.make_jaxpr(whole)(values, jax.random.key(0))
    alive, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    text = f"{alive} {[np.asarray(const).tolist() for const in closed.consts]}"
    return hashlib.sha256(text.encode()).hexdigest(), dict(zip(names, used, strict=False)), [float(x) for x in values]


def dead(run):
    """Settings that are numbers and that no layer reads, and other numbers of the program."""
    read = {}
    for path, used in traced(run)[1].items():
        name = re.sub(r"^\.network\.rules\[\d+\]\.|\.(start|stop)$", "", path)
        read[name] = read.get(name, False) or used
    rule = run.rules[0]
    unused = {f"{name}.{own}" for name, spec in specs(rule).items() if isinstance(spec, OneOf) for own in spec.without}
    return [name for name, used in read.items() if not used and name not in unused]


def some(rng, spec):
    """A value of a setting."""
    if isinstance(spec, Number):
        low = max(spec.low, 0.0)
        value = round(rng.uniform(low + 0.1, min(spec.high, low + 1.0)), 2)
        return Linear(value, value / 2) if spec.schedule and rng.random() < 0.3 else value
    if isinstance(spec, Count):
        return spec.low + rng.randint(1, 2)
    if isinstance(spec, Choice):
        return rng.choice(spec.options)
    return rng.random() < 0.5 if isinstance(spec, Switch) else rng.choice(spec.options).name


def drawn(rng, kind):
    """A run of two layers with some settings of this rule, those that are refused left out."""
    run = Run(rule=kind(), hidden=(7, 5), task=Multiplexer(bits=1), batch=4, episodes=64)
    names = sorted(flat_specs(kind), key=lambda name: not isinstance(flat_specs(kind)[name], OneOf))
    for name in names:
        if rng.random() < 0.7:
            try:
                (run,) = grid(run, **{name: [some(rng, flat_specs(kind)[name])]})
            except FieldError:
                continue
    return run


def others(rng, run):
    """Names of settings that shape the computation, each with the run that has another value."""
    every = {**flat_specs(type(run.rules[0])), **{name: settings_of(run)[name] for name in OF_RUN}}
    for name, spec in every.items():
        one = spec.one if isinstance(spec, EachLayer) else spec
        if isinstance(one, Number):
            continue
        wanted = 3 if name == "critic_width" else 8 if name == "batch" else some(rng, one)
        try:
            (other,) = grid(run, **{name: [wanted]})
        except FieldError:
            continue
        if other != run:
            yield name, other


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name} {kind.variant}".strip())
def test_every_setting_that_is_accepted_has_an_effect(kind):
    rng = random.Random(kind.__name__)
    run = drawn(rng, kind)
    assert dead(run) == [], run
    code, _, numbers = traced(run)
    for name, other in others(rng, run):
        again, _, others_numbers = traced(other)
        assert (code, numbers) != (again, others_numbers), (name, run, other)


class Idle(Rule):
    """Has one number that it does not read, and one that it reads in vain."""

    name, title = "idle-of-tests", "R − V"
    unread: float = number(1.0, "nothing", low=0.0)
    in_vain: float = number(1.0, "nothing", low=0.0)
    scale: float = number(1.0, "a factor", low=0.0)

    def credit(self, layer, signal, above):
        assert (self.in_vain * signal).shape
        return outer(layer.x, self.scale * signal * layer.h)


def test_a_number_that_nobody_reads_is_found():
    run = Run(rule=Idle(), hidden=(3, 2), task=Multiplexer(bits=1), batch=4, episodes=64)
    assert dead(run) == ["unread", "in_vain"]
    assert set(specs(Idle)) == {"unread", "in_vain", "scale", "learning_signal"}
