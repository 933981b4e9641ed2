"""Signed signals, between layers and inside a chain, by enumeration; rates that know the fan-in."""

import itertools

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coexplore import (
    Backprop,
    Boltzmann,
    Control,
    Linear,
    MapProp,
    Recurrent,
    Reinforce,
    Run,
    StraightThrough,
    UnbiasedWeightMax,
    WeightMax,
    network,
    train,
)
from coexplore.cli import train as cli
from coexplore.engines.control.agent import pace
from coexplore.run import command, flat
from coexplore.settings import FieldError, at_the_end

TIGHT = 1e-12


@pytest.fixture
def _float64():
    with jax.enable_x64(True):
        yield


def case(hidden, rule=None, D=2):
    rng = np.random.default_rng(0)
    make = exact.affine if rule is None else lambda *a: exact.coupled(*a, symmetric=False)
    layers = tuple(make(rng, d, n) for d, n in itertools.pairwise((D, *hidden)))
    task = exact.toy(rng, D, hidden[-1])
    return task, (*layers, task.out), jnp.asarray(rng.normal(size=len(task.s)))


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("rule", [Reinforce(), UnbiasedWeightMax(), UnbiasedWeightMax(expected=True)], ids=repr)
@pytest.mark.parametrize("hidden", [(3,), (2, 3), (2, 2, 2)])
def test_what_is_exact_stays_exact_where_signed_signals_are_sent_up(rule, hidden):
    task, layers, V = case(hidden)
    gradient = exact.deep_gradient(task, layers, signals="signed")
    assert exact.largest_gap(exact.deep_credit(rule, task, layers, V, "signed"), gradient) < TIGHT
    # … and the two kinds of network are not the same one.
    assert exact.largest_gap(exact.deep_credit(rule, task, layers, V, "binary"), gradient) > 0.01


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("rule", [StraightThrough(), StraightThrough("identity"), WeightMax()], ids=repr)
def test_a_network_with_signed_signals_is_one_of_bits_with_twice_the_weights_and_shifted_biases(rule):
    """Wᵀ(2h − 1) + b = (2W)ᵀh + b − Wᵀ1: the layers below get the same credit in both, the others half of it in W."""
    task, layers, V = case((3, 2))
    same = (layers[0], *(exact.Affine(W=2 * p.W, b=p.b - p.W.sum(axis=0)) for p in layers[1:]))
    signed = exact.deep_credit(rule, task, layers, V, "signed")
    bits = exact.deep_credit(rule, task, same, V)
    assert exact.largest_gap(signed[0], bits[0]) < TIGHT
    for a, b in zip(signed[1:], bits[1:], strict=True):
        assert exact.largest_gap(a.b, b.b) < TIGHT
        assert exact.largest_gap(a.W, 2 * b.W - b.b) < TIGHT  # x is 2h − 1 there and h here


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("c", [0.3, 1.0])
def test_where_units_hear_signed_signals_algorithm_1_follows_the_gradient_of_the_law_that_goes_with_them(c):
    rng = np.random.default_rng(2)
    task, params, H = exact.toy(rng, 2, 3), exact.coupled(rng, 2, 3, symmetric=True), exact.states(3)[None]
    log_p = exact.boltzmann(params, c, task.s, "signed")
    after = np.einsum("sk,skl->sl", np.exp(log_p), exact.single_kernel(params, c, task.s, "signed"))
    assert np.abs(after - np.exp(log_p)).max() < TIGHT  # one unit at a time samples that law

    def objective(p):
        return exact.objective(task, exact.boltzmann(p, c, task.s, "signed"), H[0])

    V = exact.value(task, log_p, H[0])
    rule = Boltzmann(coupling=c, chain_signals="signed")
    credit = exact.expected_credit(rule, params, task, log_p, H, V)
    assert exact.largest_gap(credit, exact.by_pairs(exact.grad(objective)(params))) < TIGHT


@pytest.mark.usefixtures("_float64")
def test_where_units_hear_signed_signals_the_recurrent_weights_of_algorithm_2_follow_the_gradient():
    rule = Recurrent(coupling=0.8, steps=2, trace_decay=1.0, chain_signals="signed")
    task, layers, V = case((2,), rule)
    gradient = exact.deep_gradient(task, layers, rule, "signed")
    credit = exact.deep_credit(rule, task, layers, V, "signed")
    assert exact.largest_gap(credit[0].W_rec, gradient[0].W_rec) < TIGHT
    assert exact.largest_gap(credit[1], gradient[1]) < TIGHT


def test_rates_scaled_by_the_fan_in_fall_above_the_first_layer_and_never_rise():
    run = Run(rule=Reinforce(), hidden=(64, 8, 40), learning_rate=0.01, rate_scaling="fan-in")
    assert run.learning_rates == pytest.approx((0.01, 0.01 * 20 / 64, 0.01, 0.01 * 20 / 40, 0.01, 0.01))
    falling = Run(rule=Reinforce(), learning_rate=Linear(0.01, 0.001), rate_scaling="fan-in").learning_rates
    assert (falling[0], falling[2]) == (Linear(0.01, 0.001),) * 2
    assert (falling[1].start, falling[1].stop) == pytest.approx((0.01 * 20 / 64, 0.001 * 20 / 64))


@pytest.mark.learning
def test_agents_hear_signed_signals_and_pace_the_recurrent_weights_by_themselves():
    rule = Recurrent(steps=1, chain_signals="signed", recurrent_rate=0.5)
    rates = {"learning_rate": Linear(0.01, 0.001), "rate_scaling": "fan-in"}
    run = Run(rule=rule, hidden=(8,), task=Control(), episodes=2, signals="signed", **rates)
    own = pace(run)
    sizes = [leaf.size for leaf in jax.tree.leaves(run.init())]
    W, b, W_rec, W_out = (float(x[0]) for x in np.split(np.asarray(own.start), np.cumsum(sizes))[:4])
    assert (W, b, W_rec, W_out) == pytest.approx((0.01, 0.01, 0.005, 0.01 * 4 / 8))
    assert float(own.stop[0]) == pytest.approx(0.001)
    (result,) = train(run, progress=False)
    net, s = at_the_end(run.network), jnp.ones((3, 4), jnp.float32)
    activities = network.act(net.actor, jax.tree.map(jnp.asarray, result.params), s, jax.random.key(5))
    assert set(np.unique(net.actor.heard(s, activities)[1])) <= {-1.0, 1.0}
    assert np.array_equal(result.act(np.ones((3, 4)), key=5), network.action(net, activities))


def asked(line):
    return cli.described_runs(cli.read(line.split()))


ASKED_FOR = {
    "reinforce --signals signed": Run(rule=Reinforce(), signals="signed"),
    "recurrent --chain-signals signed --recurrent-rate 0.3 --rate-scaling fan-in": Run(
        rule=Recurrent(chain_signals="signed", recurrent_rate=0.3), rate_scaling="fan-in"
    ),
    "--layers backprop,boltzmann --units 8-4 --signals signed --chain-signals signed": Run(
        rule=(Backprop(), Boltzmann(chain_signals="signed")), hidden=(8, 4), signals="signed"
    ),
}


@pytest.mark.parametrize("line", ASKED_FOR)
def test_a_line_makes_the_run_it_says_and_the_run_that_line(line):
    assert asked(line) == [ASKED_FOR[line]]
    assert asked(command(ASKED_FOR[line]).removeprefix("coexplore train ")) == [ASKED_FOR[line]]
    assert Run.from_dict(ASKED_FOR[line].to_dict()) == ASKED_FOR[line]


def test_settings_that_are_new_change_no_digest_at_their_defaults_and_every_digest_elsewhere():
    plain = Run(rule=Recurrent())
    assert plain.digest == Run(rule=Recurrent(), signals="binary", rate_scaling="none").digest
    others = [Run(rule=Recurrent(), signals="signed"), Run(rule=Recurrent(), rate_scaling="fan-in")]
    others += [Run(rule=Recurrent(chain_signals="signed")), Run(rule=Recurrent(recurrent_rate=2.0))]
    assert len({plain, *others}) == 5
    assert flat(others[0])["signals"] == "signed"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Run(rule=Backprop(), signals="signed"), "signals: 'signed' .*; give binary: backprop has no binary"),
        (lambda: Run(rule=(MapProp(), Backprop()), hidden=(4, 4), signals="signed"), "signals: .*no binary units"),
        (lambda: Run(signals="ternary"), "signals: 'ternary' .*; give binary | signed"),
        (lambda: Run(rate_scaling="fan-in", learning_rate=(0.1, 0.1, 0.1)), "rate_scaling: 'fan-in' .*; give none"),
        (lambda: Recurrent(chain_signals="yes"), "chain_signals: 'yes' .*; give binary | signed"),
        (lambda: Boltzmann(recurrent_rate=0.0), "recurrent_rate: 0.0 .*; give a finite number above 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(made, said):
    with pytest.raises(FieldError, match=said.replace("|", r"\|")):
        made()


@pytest.mark.parametrize(("text", "seeds"), [("3", [0, 1, 2]), ("7-9", [7, 8, 9]), ("4-4", [4])])
def test_seeds_are_a_number_of_them_or_from_one_to_another(text, seeds):
    assert [run.seed for run in asked(f"reinforce --seeds {text}")] == seeds


@pytest.mark.parametrize("text", ["0", "-3", "3-", "9-7", "a-b", "1-2-3", "1e3", "1-99999999999"])
def test_other_words_for_seeds_are_refused(text):
    with pytest.raises(FieldError, match="seeds"):
        asked(f"reinforce --seeds={text}")
