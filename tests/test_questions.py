"""Open questions: chains that take turns, by enumeration; the lazy chain; what decides Q4."""

import runpy
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.stats import chisquare
from test_claims import made_up
from test_proofs import coupled_case

from coexplore import Boltzmann
from coexplore.engines import cpu
from coexplore.laws import Coupled, Lazy, Phases
from coexplore.laws import Path as Steps
from coexplore.paper.evidence import Evidence
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions import verdicts
from coexplore.paper.questions.parity import CLAIMS
from coexplore.paper.verdict import judge
from coexplore.run import Run

ROOT = Path(__file__).parents[1]
TURNS, MIXING = (runpy.run_path(str(ROOT / "docs" / f"{name}.py")) for name in ("turns", "mixing"))
SEEDS = {"odd-even": 200, "figa1-odd": 200, "one-by-one": 40, "coupling-steps": 20, "coupling-steps-lazy": 20}
SETTINGS = {run: count for name, count in reversed(SEEDS.items()) for run in FIGURES[name].settings()}


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def lazy_kernel(params, c, x):
    """Pr(h → h′) of one input: each unit drawn anew with probability ½."""
    d, h = np.asarray(x @ params.W + params.b), np.asarray(exact.states(params.b.shape[0]))
    kernel = np.zeros((len(h), len(h)))
    for k, before in enumerate(h):
        for m, after in enumerate(h):
            p = 1 / (1 + np.exp(-(d + c * before @ np.asarray(params.W_rec))))
            kernel[k, m] = np.prod(0.5 * np.where(after, p, 1 - p) + 0.5 * (after == before))
    return kernel


def test_the_lazy_chain_makes_exactly_the_transitions_of_units_that_are_drawn_half_of_the_time():
    """The rule's own path probabilities, summed over every path of two steps, against the kernel squared (N = 2)."""
    task, params, _ = coupled_case(5, D=1, N=2)
    c, x, h = 0.9, task.s[:1], jnp.asarray(exact.states(2))
    paths = np.array([(i, j, k) for i in range(4) for j in range(4) for k in range(4)])
    H = jnp.stack([h[paths[:, t]] for t in range(3)])
    steps = Steps(P=H[1:], H=H, h=H[-1], draws=H)
    d = jnp.repeat(x @ params.W + params.b, len(paths), axis=0)
    rule = Boltzmann(coupling=c, steps=2, sampler="lazy")
    p = np.exp(np.asarray(rule.law.log_probability(params, d, Phases(H[-1], H, steps, None))))
    law = np.bincount(paths[:, 2], weights=p, minlength=4)
    first = np.exp(np.asarray(exact.independent(params, x)))[0]
    kernel = lazy_kernel(params, c, np.asarray(x[0]))
    assert np.abs(law - first @ kernel @ kernel).max() < 1e-12


def test_what_the_lazy_chain_draws_has_that_law_and_not_the_synchronous_one():
    """20,000 draws of 3 units after 3 steps: χ² accepts the own law at 0.1 % and refuses the other at 1e-9."""
    task, params, _ = coupled_case(11, D=1, N=3, scale=1.5)
    x = jnp.repeat(task.s[:1], 20_000, axis=0)
    h = Boltzmann(coupling=1.0, steps=3, sampler="lazy").law.explore(params, x, jax.random.key(1)).h
    seen = np.bincount(np.asarray(h @ jnp.asarray([1.0, 2.0, 4.0]), int), minlength=8)
    first = np.exp(np.asarray(exact.independent(params, task.s[:1])))[0]
    own = first @ np.linalg.matrix_power(lazy_kernel(params, 1.0, np.asarray(task.s[0])), 3)
    other = np.exp(np.asarray(exact.synchronous(params, 1.0, 3, task.s[:1])))[0]
    assert chisquare(seen, own * len(x)).pvalue > 1e-3
    assert chisquare(seen, other * len(x)).pvalue < 1e-9


def test_two_units_that_excite_each_other_take_turns_for_ever_and_lazy_ones_do_not():
    """From (1, 0) to (0, 1) and back: after any even T they are where they began, after any odd one they are not."""
    params = Coupled(W=jnp.zeros((1, 2)), b=jnp.full(2, -20.0), W_rec=jnp.asarray([[0.0, 40.0], [40.0, 0.0]]))
    wide = Coupled(W=jnp.zeros((20, 2)), b=params.b, W_rec=params.W_rec)
    plain, lazy = (TURNS["transitions"](1.0, wide, kind) for kind in (False, True))
    assert np.allclose(plain[0], [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], atol=1e-6)
    assert TURNS["ends"](plain)[0] == pytest.approx(-1)
    assert TURNS["ends"](lazy)[0] > -0.01
    assert np.allclose(lazy[0], lazy_kernel(params, 1.0, np.zeros(1)))


@pytest.mark.parametrize("seed", range(3))
def test_with_a_symmetric_coupling_the_synchronous_chain_can_be_reversed(seed):
    """So that its eigenvalues are real, and a smallest one near −1 is the one way to take turns."""
    task, params, _ = coupled_case(seed, N=4, scale=2.0)
    kernel = np.asarray(exact.synchronous_kernel(params, 1.0, task.s[:1]))[0]
    flow = np.exp(np.asarray(exact.synchronous_limit(params, 1.0, task.s[:1])))[0][:, None] * kernel
    assert np.abs(flow - flow.T).max() < 1e-12
    assert np.abs(np.linalg.eigvals(kernel).imag).max() < 1e-7


@pytest.mark.parametrize("sampler", ["synchronous", "lazy"])
def test_what_is_said_of_mixing_is_said_of_the_matrix_of_the_chain(sampler, monkeypatch):
    """Eight units: the matrix again, factor by factor; its eigenvalues without the symmetry; the laws after 3 and 4."""
    monkeypatch.setitem(MIXING["measured"].__globals__, "INPUTS", 3)  # of eight, and the first of these 32
    monkeypatch.setitem(TURNS["transitions"].__globals__, "inputs", lambda count: TURNS["inputs"](3))
    _, params, _ = coupled_case(2, D=20, N=8, scale=0.7)
    leaves = [np.asarray(leaf) for leaf in (params.W, params.b, params.W_rec)]
    kernels = TURNS["transitions"](0.8, params, sampler == "lazy")
    found = []
    for x, kernel in zip(MIXING["inputs"](), kernels, strict=True):
        assert np.allclose(MIXING["matrix"](0.8, sampler, *leaves, x), kernel, atol=1e-6)
        mine, plain = (
            np.sort_complex(v) for v in (MIXING["eigenvalues"](0.8, sampler, *leaves, x), np.linalg.eigvals(kernel))
        )
        assert np.allclose(mine, plain, atol=1e-5)
        law = np.exp(np.asarray(exact.independent(params, x[None])))[0]
        laws = [law @ np.linalg.matrix_power(kernel, T) for T in (3, 4)]
        real, size = np.sort(plain.real), np.sort(abs(plain))
        found.append((real[0], real[-2], 1 - size[-2], abs(np.subtract(*laws)).sum() / 2))
    assert np.allclose(MIXING["measured"](0.8, sampler, 3, *leaves), np.mean(found, axis=0), atol=1e-5)


def test_networks_along_the_training_are_those_of_the_whole_training():
    run = Run(rule=Boltzmann(0.5, 3), hidden=8, episodes=16 * 40)
    found = MIXING["trained"](run, (16 * 3, 16 * 40))
    whole = cpu.params(cpu.advance(cpu.start([run]), 40))[0].layers[0]
    assert np.array_equal(found["W_rec"][1], whole.W_rec)
    assert not np.array_equal(found["W_rec"][0], whole.W_rec)


@pytest.mark.learning
@pytest.mark.parametrize("setting", [(1.0, "synchronous", 10), (1.0, "synchronous", 11)])
@pytest.mark.packs
def test_the_table_of_mixing_is_that_of_the_networks_in_this_repository(setting):
    kept = load_file(ROOT / "results" / "questions" / "mixing.safetensors")
    table = (ROOT / "results" / "questions" / "mixing.md").read_text()
    assert all(f"| {' | '.join(row)} |" in table for row in MIXING["rows"](setting, MIXING["along"](kept, setting)))


def test_the_rows_on_mixing_that_the_page_shows_are_those_of_the_table():
    page, table = ((ROOT / name).read_text() for name in ("docs/open-questions.md", "results/questions/mixing.md"))
    shown = [line for line in table.splitlines() if "| 400,000 |" in line or "| 4,000,000 |" in line]
    assert len(shown) == 2 * len(MIXING["SETTINGS"])
    assert "\n".join([*table.splitlines()[:2], *shown]) in page


def level(run, even=-0.2, lazy=0.0, longer=0.0, weak=0.0, strong=-0.3, speed=0.0, dip=0.4, single=0.0):
    """First and last quarter, and how far the end falls, of a world in which it is the parity of T."""
    c, T = run.rule.coupling, run.rule.steps
    first = 0.5 + (speed if T % 2 else 0.0)
    if run.rule.sampler != "synchronous":
        return first, 0.9 + (lazy if T % 2 else 0.0) + (single if run.rule.sampler == "one-by-one" else 0.0), 0.0
    odd_or_even = 0.0 if T % 2 else weak if c < 0.25 else even
    last = 0.88 + odd_or_even + (longer if T > 25 else 0.0) + (strong if c > 0.5 else 0.0)
    return first, last, dip if c > 0.5 else 0.0


def world(**effects):
    effects = {"weak": -0.2} | effects
    return [
        one
        for run, count in SETTINGS.items()
        for one in made_up(run, level(run, **effects), 0.02, range(3100, 3100 + count))
    ]


def words(results):
    return {verdict.id: verdict.verdict for verdict in verdicts(results) if verdict.id.startswith("Q4")}


def test_in_the_world_that_was_suspected_every_answer_is_yes():
    assert words(world()) == dict.fromkeys([one.id for one in CLAIMS], "holds")


def test_each_answer_can_be_no():
    assert words(world(even=0.0))["Q4.1"] == "fails"
    turned = words(world(even=0.1))
    assert [turned[id] for id in ("Q4.5", "Q4.6", "Q4.7", "Q4.9")] == ["fails"] * 4
    assert words(world(weak=0.1))["Q4.9"] == words(world(speed=0.2))["Q4.8"] == "fails"
    unmoved = words(world(strong=0.2, dip=-0.4, single=-0.4))
    assert [unmoved[id] for id in ("Q4.10", "Q4.11", "Q4.12")] == ["fails"] * 3
    assert words(world(longer=-0.1))["Q4.2"] == words(world(longer=-0.1))["Q4.3"] == "fails"
    assert words(world(lazy=0.2))["Q4.4"] == "fails"


def test_what_was_not_trained_is_not_judged():
    found = words([one for one in world() if one.setting.rule.sampler == "synchronous"])
    assert [id for id, word in found.items() if word == "not run"] == ["Q4.4", "Q4.5", "Q4.10", "Q4.11", "Q4.12"]
    assert {word for id, word in found.items() if id in ("Q4.1", "Q4.2", "Q4.3", "Q4.6")} == {"holds"}
    assert judge(CLAIMS[0], Evidence([], 4_000_000)).verdict == "not run"


def test_the_lazy_chain_is_a_setting_of_its_own():
    assert isinstance(Boltzmann(sampler="lazy").law.chain, Lazy)
    assert Run(rule=Boltzmann(sampler="lazy")).digest != Run(rule=Boltzmann()).digest


@pytest.mark.packs
@pytest.mark.learning
def test_the_tables_of_turns_are_those_of_the_page(capsys):
    TURNS["main"]()
    page = (ROOT / "docs" / "open-questions.md").read_text()
    for each in capsys.readouterr().out.split("| c |")[1:]:
        assert f"| c |{each}".strip() in page
