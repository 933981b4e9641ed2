"""`hnca` names the expected form of unbiased Weight Max, which is its author's formula."""

import itertools

import exact
import jax
import numpy as np
import pytest

from coexplore import HNCA, Boltzmann, Reinforce, Result, Rule, Run, UnbiasedWeightMax
from coexplore.cli import train as cli
from coexplore.cli import tune
from coexplore.cli.modules import import_selected
from coexplore.laws import Activity, Softmax
from coexplore.network import Network
from coexplore.rules.learning_signal import Reward
from coexplore.run import command, select
from coexplore.settings import FieldError

EXPECTED = UnbiasedWeightMax(expected=True)
TIGHT = 1e-12

# The same formula ---------------------------------------------------------------------------------------------------


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


def drawn(seed, sizes, episodes):
    """A network of independent binary units in NumPy: its parameters, its inputs, and what every layer drew."""
    rng = np.random.default_rng(seed)
    layers = tuple(exact.plain(exact.affine(rng, D, N)) for D, N in itertools.pairwise(sizes))
    values = [rng.normal(size=(episodes, sizes[0]))]
    for layer in layers:
        p = exact.sigmoid(values[-1] @ layer.W + layer.b)
        values.append((rng.random(p.shape) < p).astype(float))
    return layers, values, rng.normal(size=episodes)


def by_its_author(layers, values, R):
    """HNCA (Young, 2020, 2022): for a unit Φ with the policy π, whose children in the network drew c,

        Σ_φ  R  Pr(c | Φ = φ) / (Σ_φ' π(φ') Pr(c | Φ = φ'))  ∂π(φ)/∂θ,

    and R ∂ log π(a)/∂θ for an output. For each episode, the credit of each layer's drives.
    """
    credits = []
    for k, layer in enumerate(layers):
        p, h = exact.sigmoid(values[k] @ layer.W + layer.b), values[k + 1]
        if k + 1 == len(layers):
            credits.append(R[:, None] * (h - p))
            continue
        children, c = layers[k + 1], values[k + 2]
        credit = np.zeros_like(h)
        for i in range(h.shape[1]):
            policy = {0: 1 - p[:, i], 1: p[:, i]}
            slope = {0: -p[:, i] * (1 - p[:, i]), 1: p[:, i] * (1 - p[:, i])}
            likelihood = {}
            for phi in policy:
                instead = h.copy()
                instead[:, i] = phi
                q = exact.sigmoid(instead @ children.W + children.b)
                likelihood[phi] = np.prod(np.where(c == 1, q, 1 - q), axis=1)
            marginal = sum(policy[phi] * likelihood[phi] for phi in policy)
            credit[:, i] = sum(R * likelihood[phi] / marginal * slope[phi] for phi in policy)
        credits.append(credit)
    return credits


@jax.jit
def of_each_episode(layers, x, Hs, delta):
    def one(x, Hs, delta):
        return exact.learned(EXPECTED, layers, x[None], tuple(H[:, None] for H in Hs), delta[None])

    return jax.vmap(one, (0, 1, 0))(x, Hs, delta)


def gap(credit, x, expected):
    """The largest difference in any weight and bias of a layer in any episode."""
    W = x[:, :, None] * expected[:, None, :]
    return max(np.abs(credit.W - W).max(), np.abs(credit.b - expected).max())


def test_the_expected_form_is_hnca_in_every_layer_episode_by_episode(float64):
    for seed in range(20):
        layers, values, R = drawn(seed, (3, 5, 4, 2), 250)
        found = of_each_episode(layers, values[0], tuple(h[None] for h in values[1:]), R)
        for layer, x, expected in zip(found, values, by_its_author(layers, values, R), strict=False):
            assert gap(layer, x, expected) < TIGHT


def test_of_a_known_reward_the_last_hidden_layer_has_local_expectation_gradients_and_others_hnca(float64):
    """Titsias and Lázaro-Gredilla (2015): Σ_φ ∂π(φ)/∂θ R(H with H_i = φ), the other units as they were drawn."""
    layers, values, delta = drawn(0, (3, 4, 5, 2), 250)
    below, h, label = values[1], values[2], np.random.default_rng(1).integers(0, 3, 250)
    net, bits = Network((EXPECTED, EXPECTED), Softmax(), None), np.eye(3)[label, 1:]

    def reward(h):
        d = h @ layers[2].W + layers[2].b
        return (bits * d).sum(axis=1) - np.log(1 + np.exp(d).sum(axis=1))

    @jax.jit
    def found(x, below, h, bits, delta):
        def one(x, *values):
            *values, delta = values
            activities = tuple(Activity(value[None], value[None, None]) for value in values)
            return exact.learn(net, exact.actor_params(layers), x[None], activities, delta[None], True).layers

        return jax.vmap(one)(x, below, h, bits, delta)

    p, expected = exact.sigmoid(below @ layers[1].W + layers[1].b), np.zeros_like(h)
    for i in range(h.shape[1]):
        off, on = (np.where(np.arange(h.shape[1]) == i, phi, h) for phi in (0.0, 1.0))
        slope = p[:, i] * (1 - p[:, i])
        expected[:, i] = slope * reward(on) - slope * reward(off)
    first, last, _ = found(values[0], below, h, bits, delta)
    assert gap(last, below, expected) < TIGHT
    assert gap(first, values[0], by_its_author(layers, values, delta)[0]) < TIGHT


# The same runs ------------------------------------------------------------------------------------------------------


def asked(line):
    return cli.described_runs(cli.read(line.split()))


def test_in_python_it_is_unbiased_weight_max():
    assert Run(rule=HNCA()).digest == Run(rule=EXPECTED).digest
    assert repr(HNCA()) == repr(EXPECTED)
    assert Run(rule=HNCA()).to_dict()["rule"] == {
        "name": "unbiased-weight-max",
        "learning_signal": "advantage",
        "expected": True,
    }
    assert HNCA(learning_signal=Reward()) == UnbiasedWeightMax(expected=True, learning_signal=Reward())


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("hnca", Run(rule=EXPECTED)),
        ("hnca --expected", Run(rule=EXPECTED)),
        ("hnca --learning-signal reward --units 5-4", Run(rule=HNCA(Reward()), hidden=(5, 4))),
        ("--layers hnca,reinforce --units 5-4", Run(rule=(EXPECTED, Reinforce()), hidden=(5, 4))),
        (
            "--layers hnca,unbiased-weight-max --units 5-4 --expected yes/no",
            Run(rule=(EXPECTED, UnbiasedWeightMax()), hidden=(5, 4)),
        ),
    ],
)
def test_on_the_command_line_it_is_the_same_run_and_the_command_of_the_run_repeats_it(line, run):
    assert asked(line) == [run]
    assert asked(command(run).removeprefix("coexplore train ")) == [run]


def test_it_stands_beside_the_rule_whose_name_it_is():
    assert asked("hnca unbiased-weight-max") == [Run(rule=EXPECTED), Run(rule=UnbiasedWeightMax())]


@pytest.mark.parametrize(
    "line",
    [
        "hnca --expected no",
        "hnca --expected yes no",
        "hnca unbiased-weight-max --expected no",
        "hnca --units 5-4 --expected yes/no",
        "--layers unbiased-weight-max,hnca --units 5-4 --expected yes/no",
    ],
)
def test_a_flag_that_contradicts_it_is_refused(line):
    with pytest.raises(FieldError, match=r"^expected: 'no' is not allowed; give yes, [^\n]*unbiased-weight-max[^\n]*$"):
        asked(line)


def test_so_is_such_a_grid_to_tune(tmp_path):
    with pytest.raises(FieldError, match=r"^expected: 'no' is not allowed; give yes, "):
        tune.tune_command(["hnca", "--grid", "expected=yes,no"])


def test_selections_know_it():
    runs = [
        Run(rule=rule, hidden=(4, 3))
        for rule in (EXPECTED, UnbiasedWeightMax(), Boltzmann(), (HNCA(Reward()), Reinforce()))
    ]
    results = [Result(run, "xla", np.zeros(1000, np.float32), None) for run in runs]
    for text, k in (
        ("rule=hnca", [0]),
        ("rule=unbiased-weight-max", [0, 1]),
        ("rule=hnca,rule=boltzmann", [0, 2]),
        ("rule=hnca+reinforce", [3]),
        ("rule=unbiased-weight-max+reinforce", [3]),
        ("rule=hnca,expected=no", []),
    ):
        import_selected(text)  # as the command does before it reads a store
        assert [result.run for result in select(results, text)] == [runs[each] for each in k]


def test_lists_help_and_completion_know_it(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (line,) = [line for line in here("list").stdout.splitlines() if line.split()[:1] == ["hnca"]]
    assert "unbiased-weight-max --expected yes" in line
    told = here("train", "hnca", "--help").stdout
    assert told.startswith("usage: coexplore train")
    assert "These are the flags of hnca:" in told
    assert "yes | no [yes]" in " ".join(told.partition("--expected VALUE")[2].partition("--centring")[0].split())
    both = here("train", "hnca", "unbiased-weight-max", "--help").stdout
    assert "[hnca yes, unbiased-weight-max no]" in " ".join(both.split())
    offers = {action.dest: words for action, words in cli.train_parser().offers}
    assert "hnca" in offers["rule"]
    assert "hnca" in offers["layers"]


def test_files_have_the_name_of_the_rule_and_no_rule_of_ones_own_may_have_this_one():
    with pytest.raises(FieldError, match=r"^rule: 'hnca' is not allowed; give 'unbiased-weight-max' with "):
        Run.from_dict({"rule": {"name": "hnca"}})

    class Mine(Rule):
        name, title = "hnca", "mine"

        def credit(self, layer, signal, above):
            return layer.params

    with pytest.raises(FieldError, match=r"^name: 'hnca' is not allowed; give one to Mine "):
        Run(rule=Mine())
