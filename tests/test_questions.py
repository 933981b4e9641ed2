"""Open questions: chains that take turns, by enumeration; the lazy chain; what decides Q4."""

import runpy
from pathlib import Path

import exact
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare
from test_claims import made_up
from test_proofs import coupled_case

from coexplore import Boltzmann, load
from coexplore.paper.evidence import Evidence
from coexplore.paper.figures import FIGURES
from coexplore.paper.questions import CLAIMS, verdicts
from coexplore.paper.tables import table
from coexplore.paper.verdict import judge
from coexplore.paper.verdict import table as verdict_table
from coexplore.rules.boltzmann import Phases
from coexplore.rules.chain import Coupled, Lazy
from coexplore.rules.chain import Path as Steps
from coexplore.run import Run

ROOT = Path(__file__).parents[1]
TURNS = runpy.run_path(str(ROOT / "docs" / "turns.py"))
SETTINGS = FIGURES["odd-even"].settings()


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


def level(run, even=-0.1, lazy=0.0, longer=0.0):
    """Last-quarter reward of a world in which it is the parity of T."""
    if run.rule.sampler == "lazy":
        return 0.88 + (lazy if run.rule.steps % 2 else 0.0)
    return 0.86 + (even if run.rule.steps % 2 == 0 else 0.0) + (longer if run.rule.steps > 25 else 0.0)


def world(seeds=range(3000, 3200), **effects):
    return [one for run in SETTINGS for one in made_up(run, (0.5, level(run, **effects), 0.0), 0.02, seeds)]


def words(results):
    return {verdict.id: verdict.verdict for verdict in verdicts(results)}


def test_in_the_world_that_was_suspected_every_answer_is_yes():
    assert words(world()) == dict.fromkeys([one.id for one in CLAIMS], "holds")


def test_each_answer_can_be_no():
    assert words(world(even=0.0))["Q4.1"] == "fails"
    assert words(world(longer=-0.1))["Q4.2"] == words(world(longer=-0.1))["Q4.3"] == "fails"
    assert words(world(lazy=0.2))["Q4.4"] == "fails"
    assert words(world(even=0.1))["Q4.5"] == "fails"


def test_what_was_not_trained_is_not_judged():
    synchronous = [one for one in world() if one.setting.rule.sampler == "synchronous"]
    assert words(synchronous) == dict(zip((one.id for one in CLAIMS), ["holds"] * 3 + ["not run"] * 2, strict=True))
    assert judge(CLAIMS[0], Evidence([], 4_000_000)).verdict == "not run"


def test_the_lazy_chain_is_a_setting_of_its_own():
    assert isinstance(Boltzmann(sampler="lazy").law.chain, Lazy)
    assert Run(rule=Boltzmann(sampler="lazy")).digest != Run(rule=Boltzmann()).digest


@pytest.mark.packs
def test_the_numbers_of_the_page_are_those_of_the_runs_in_this_repository():
    folder = ROOT / "results" / "questions"
    results = load(folder / "odd-even.safetensors")
    judged = verdicts(results)
    assert (
        f"{table(FIGURES['odd-even'], results)}\n{verdict_table(judged)}".strip()
        == (folder / "odd-even.md").read_text().strip()
    )
    page, errata = (
        (ROOT / name).read_text().replace("−", "-") for name in ("docs/open-questions.md", "docs/errata.md")
    )
    found = {one.id: f"{one.effect:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in judged if one.effect is not None}
    assert found["Q4.1"] in page
    assert found["Q4.1"] in errata
    assert all(found[id] in page for id in ("Q4.2", "Q4.4", "Q4.5"))
    assert {one.id: one.verdict for one in judged}["Q4.1"] == "holds"


@pytest.mark.packs
@pytest.mark.learning
def test_the_tables_of_turns_are_those_of_the_page(capsys):
    TURNS["main"]()
    page = (ROOT / "docs" / "open-questions.md").read_text()
    for each in capsys.readouterr().out.split("| c |")[1:]:
        assert f"| c |{each}".strip() in page
