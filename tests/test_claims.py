"""Claims are judged rightly in made-up worlds where the truth is known."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from coexplore import Boltzmann, Recurrent, Reinforce, Result, StraightThrough, UnbiasedWeightMax
from coexplore.network import Params
from coexplore.paper.claims import CLAIMS, verdicts
from coexplore.paper.evidence import Evidence
from coexplore.paper.figures import FIGURES, NS, C, runs
from coexplore.paper.theory import THEORY
from coexplore.paper.verdict import judge, table
from coexplore.results.stats import kendall
from coexplore.run import grid

NOTHING = Params((), None)
CLAIM = {one.id: one for one in CLAIMS}
RUNS = runs(dict.fromkeys(one.figure for one in CLAIMS), 4_000_000, 4)
FIG_2 = [run for run in RUNS if run.setting in set(FIGURES["fig2"].settings())]


def truth(run):
    """First-quarter reward, last-quarter reward and a dip at the very end, as the paper would have them."""
    rule, N = run.rule, run.hidden[0]
    if isinstance(rule, Reinforce):
        return 0.3, 0.84, 0.0
    if isinstance(rule, StraightThrough | UnbiasedWeightMax):
        return 0.45, 0.85, 0.0
    if run.critic is None:
        return (0.5, 0.5, 0.0) if isinstance(rule, Boltzmann) else (0.6, 0.9, 0.0)
    if not isinstance(rule.coupling, float):
        return 0.7, 0.9, 0.0
    if isinstance(rule, Boltzmann):
        off = abs(C.index(rule.coupling) - C.index(0.5 if N <= 16 else 0.25)) + (12 if rule.coupling == 0 else 0)
        slow = 0.1 if rule.steps < 10 else 0.02 if rule.steps == 10 else 0.0
        end = 0.0 if rule.steps == 25 else 0.01
        dip = 0.2 if rule.coupling >= 0.75 else 0.0
        return 0.5 + 0.05 * np.log2(N / 8) - 0.03 * off - slow, 0.85 - 0.02 * off - slow / 2 - end, dip
    best = dict(zip(NS, (1.0, 1.0, 0.75, 0.25, 0.25, 0.10), strict=True))[N]
    off = abs(C.index(rule.coupling) - C.index(best))
    late = 0.1 * max(0.0, rule.trace_decay - 0.5)
    return (0.28, 0.83, 0.0) if rule.coupling == 0 else (0.40 - 0.01 * off, 0.95 - 0.01 * off - late, 0.0)


def alg(kind, c=0.25, N=64, **others):
    """Whether a run is this one of the paper's."""

    def matches(run):
        rule = run.rule
        same = type(rule) is kind and run.hidden[0] == N and run.critic is not None and run.task.encoding == "signed"
        usual = {"steps": 25} if kind is Boltzmann else {"steps": 2, "trace_decay": 0.25}
        wanted = {**usual, "coupling": c, **others} if kind in (Boltzmann, Recurrent) else {}
        return same and all(getattr(rule, name) == value for name, value in wanted.items())

    return matches


# What to change in the paper's world (which runs; by how much first, last and the dip) to make a claim fail.
REFUTATIONS = {
    "F2.1": [(alg(Boltzmann, 0.0), 0.6, 0.6, 0)],
    "F2.2": [(alg(Boltzmann), -0.6, -0.6, 0)],
    "F2.3": [(alg(Boltzmann, 0.4), 0.1, 0.1, 0)],
    "F2.4": [(alg(Reinforce), 0.4, 0, 0)],
    "F2.5": [(alg(Reinforce), 0, 0.1, 0)],
    "F2.6": [(alg(Boltzmann, 1.0), 0.5, 0.5, 0)],
    "F2.7": [(alg(Boltzmann, 1.0), 0, 0, -0.2)],
    "F3.1": [(alg(UnbiasedWeightMax, N=128), 0.5, 0, 0)],
    "F3.2": [(alg(StraightThrough, N=8), 0.5, 0, 0)],
    "F3.3": [(alg(Boltzmann, c, N=128), -0.4, 0, 0) for c in C],
    "F3.4": [(alg(Recurrent, 0.1, N=128), 0.3, 0, 0)],
    "F4.1": [(alg(StraightThrough, N=16), 0, -0.2, 0)],
    "F4.2": [(alg(StraightThrough, N=96), 0, 0.2, 0)],
    "F5.1": [(alg(Recurrent, 0.0), -0.2, -0.2, 0)],
    "F5.2": [(alg(Recurrent), -0.5, -0.5, 0)],
    "F5.3": [(alg(Recurrent, 0.1), 0.1, 0.1, 0)],
    "F5.4": [(alg(Reinforce), 0, 0.2, 0)],
    "F5.5": [(alg(Boltzmann), 0, 0.2, 0)],
    "F5.6": [(alg(Recurrent, 1.0), 0.2, 0.2, 0)],
    "F5.7": [(alg(Recurrent, 0.5), 0, 0, 0.2)],
    "A1.1": [(alg(Boltzmann, steps=20), -0.2, 0, 0)],
    "A1.2": [(alg(Boltzmann, steps=30), 0, 0.1, 0)],
    "A1.3": [(alg(Boltzmann, steps=50), 0, 0.1, 0)],
    "A1.4": [(alg(Boltzmann, steps=2), 0.3, 0.3, 0)],
    "A2.1": [(alg(Boltzmann, c, N=N), 0.8, 0.8, 0) for c, N in ((0.05, 8), (0.05, 16), (1.0, 96), (1.0, 128))],
    "A2.2": [(alg(Boltzmann, 1.0, N=128), 0.5, 0.5, 0)],
    "A3.1": [(alg(Recurrent, steps=20), 0, -0.2, 0)],
    "A4.1": [(alg(Recurrent, trace_decay=0.1), -0.2, 0, 0)],
    "A4.2": [(alg(Recurrent, trace_decay=0.99), 0.5, 0.5, 0)],
    "A5.1": [(alg(Recurrent, c, N=N), 0.8, 0.8, 0) for c, N in ((0.05, 8), (0.05, 16), (1.0, 96), (1.0, 128))],
    "A5.2": [(alg(Recurrent, 1.0, N=128), 0.3, 0.3, 0)],
    "C1": [(lambda run: isinstance(run.rule, Boltzmann) and run.critic is None, 0.0, 0.3, 0)],
    "C2": [(alg(Boltzmann), 0.3, 0, 0)],
}


def world(changes=(), sd=0.002, seeds=4, chosen=RUNS):
    rng = np.random.default_rng(5)
    for run in chosen:
        if run.seed < seeds:
            level = np.array(truth(run))
            for matches, *by in changes:
                level = level + by if matches(run) else level
            yield Result(run, "cpu", curve(*(level + rng.normal(0, sd, 3) * (1, 1, sd > 0.1))), NOTHING)


def curve(first, last, dip):
    """Four quarters: first, half-way, last, last, with a dip in the last twentieth."""
    points = np.repeat([first, (first + last) / 2, last, last], 250)
    points[950:] -= max(0, dip)
    return points.astype(np.float32)


def verdict(id, results):
    return judge(CLAIM[id], Evidence(results, 4_000_000))


def judged(id, changes=(), **others):
    """The verdict in a world of the runs that the claim's figure has."""
    settings = set(FIGURES[CLAIM[id].figure].settings())
    return verdict(id, world(changes, chosen=[run for run in RUNS if run.setting in settings], **others))


def test_there_are_thirty_three_claims_and_twelve_items_of_theory():
    assert len(CLAIM) == 33 == len(REFUTATIONS)
    assert list(CLAIM)[:3] == ["F2.1", "F2.2", "F2.3"]
    assert list(CLAIM)[-3:] == ["A5.2", "C1", "C2"]
    assert [v.id for v in THEORY] == [f"M{i}" for i in range(1, 13)]
    for one in CLAIMS:
        assert one.figure in FIGURES
        assert len(one.criterion) > 10


def test_in_the_papers_world_every_claim_holds():
    found = verdicts(world())
    assert {v.id: v.sentence for v in found[:33] if v.verdict != "holds"} == {}
    assert all(v.seeds == 4 and v.low <= v.effect <= v.high for v in found[:33])


@pytest.mark.parametrize("id", REFUTATIONS)
def test_a_claim_that_is_wrong_fails(id):
    found = judged(id, REFUTATIONS[id])
    assert found.verdict == "fails", found.sentence


@pytest.mark.parametrize("id", REFUTATIONS)
def test_what_the_noise_hides_is_undecided(id):
    found = judged(id, REFUTATIONS[id], sd=1.0)
    assert found.verdict == "undecided", found.sentence


def test_one_seed_decides_nothing():
    assert {v.verdict for v in verdicts(world(seeds=1))[:33]} == {"undecided"}


def test_a_margin_is_a_margin():
    for gap, word in ((0.02, "holds"), (0.045, "fails"), (0.03, "undecided")):
        changes = [(alg(Recurrent, steps=20), -gap, -gap, 0)]
        assert judged("A3.1", changes).verdict == word


def test_sizes_at_which_a_claim_fails_are_named():
    changes = [(alg(StraightThrough, N=8), 0.5, 0, 0), (alg(StraightThrough, N=32), 0.4, 0, 0)]
    found = judged("F3.2", changes)
    assert "N = 8 against STE backprop: -0.45" in found.sentence
    assert "also against it: N = 32 against STE backprop" in found.sentence
    assert "N = 16" not in found.sentence


def test_ties_are_named():
    found = judged("F2.3", [(alg(Boltzmann, 0.4), 0.027, 0.017, 0)], sd=0.004)
    assert (found.verdict, found.sentence.rpartition("; ")[2]) == ("holds", "too close to tell: c = 0.25 over 0.4")


def test_missing_runs_are_said_to_be_missing():
    some = [run for run in RUNS if run.hidden[0] <= 64]
    found = verdict("F3.1", world(chosen=some))
    assert (found.verdict, found.effect, found.seeds) == ("not run", None, 0)
    assert "(N = 96) has not been trained: `coexplore reproduce fig3` does" in found.sentence
    assert {v.verdict for v in verdicts([])[:33]} == {"not run"}


def test_other_lengths_are_kept_apart_and_said():
    short = runs(["fig2"], 400_000, 4)
    both = [*world(chosen=short), *world([(alg(Boltzmann), -0.6, -0.6, 0)], chosen=FIG_2)]
    found = {v.id: v for v in verdicts(both, episodes=400_000)}
    assert found["F2.2"].verdict == "holds"
    assert "(at 400,000 episodes, not the paper's 4,000,000)" in found["F2.2"].sentence
    assert {v.id: v for v in verdicts(both)}["F2.2"].verdict == "fails"


def test_other_runs_and_doubled_runs_change_nothing():
    mine = list(world(chosen=FIG_2))
    strange = [Result(run, "xla", curve(9, 9, 0), NOTHING) for run in grid(RUNS[0], bits=[2, 3], seed=range(9))]
    assert verdicts([*mine, *strange, *(Result(r.run, "xla", r.curve * 0, NOTHING) for r in mine)]) == verdicts(mine)


def test_frozen_runs_count_and_are_counted():
    frozen = {"firing.0": np.ones((3, 64))}
    results = [
        Result(r.run, "cpu", r.curve * 0, NOTHING, {}, frozen) if alg(Boltzmann, 0.0)(r.run) and r.run.seed < 2 else r
        for r in world(chosen=FIG_2)
    ]
    found = verdict("F2.1", results)
    assert "2 of 8 runs froze and are counted" in found.sentence
    assert found.effect > judged("F2.1").effect


def test_with_ten_seeds_one_half_chooses_and_the_other_is_judged():
    settings = grid(RUNS[0].setting, coupling=[0.1, 0.5])
    levels = {0.1: [0.9] * 5 + [0.1] * 5, 0.5: [0.5] * 10}
    results = [
        Result(run, "cpu", curve(x, x, 0), NOTHING)
        for setting in settings
        for run, x in zip(grid(setting, seed=range(10)), levels[setting.rule.coupling], strict=True)
    ]
    chosen, judged = Evidence(results, 4_000_000).best(settings)
    assert (chosen.rule.coupling, len(judged)) == (0.1, 5)
    assert judged[0].reward == pytest.approx(0.1)
    chosen, judged = Evidence([r for r in results if r.run.seed not in range(5, 9)], 4_000_000).best(settings)
    assert (chosen.rule.coupling, len(judged)) == (0.1, 6)


def test_a_rank_correlation_of_what_never_moves_is_zero():
    assert kendall([1, 2, 3], [0.5, 0.5, 0.5]) == 0
    assert kendall([1, 2, 3], [0.5, 0.4, 0.1]) == pytest.approx(-1)


def test_the_proofs_that_theory_names_are_there():
    for one in THEORY:
        assert one.proof
        for name in one.proof:
            file, _, test = name.partition("::")
            assert re.search(rf"^def {test}\(", (Path(__file__).parents[1] / file).read_text(), re.MULTILINE), name
            assert test.startswith(f"test_{one.id.lower()}_")


def test_every_proof_is_named_by_theory():
    named = {name.partition("::")[2] for one in THEORY for name in one.proof}
    text = (Path(__file__).parent / "test_proofs.py").read_text()
    assert set(re.findall(r"^def (test_m\d+_\w+)", text, re.MULTILINE)) <= named


def test_verdicts_go_into_json_and_markdown():
    found = verdicts(world(chosen=FIG_2))
    assert json.loads(json.dumps([v.to_dict() for v in found], allow_nan=False))[0]["id"] == "F2.1"
    lines = table(found).splitlines()
    assert len(lines) == 2 + 45
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}  # a bar inside a cell is escaped
