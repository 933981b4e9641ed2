"""Q2, a reward of its own for each layer: what is searched, what decides it, and all of it small."""

import dataclasses
import json

import numpy as np
import pytest

from coexplore import Result
from coexplore.cli.list import list_command
from coexplore.cli.reproduce import reproduce_command
from coexplore.paper.figure import SCALES, Scale
from coexplore.paper.open_tunings import layers
from coexplore.paper.open_tunings.layers import OWN, layer_places
from coexplore.paper.spaces import rate_of
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_claims import judged
from coexplore.paper.tuning import Place, Size
from coexplore.paper.tunings import TUNINGS
from coexplore.run import flat
from coexplore.study import Study
from coexplore.study.search import Seeds, Trials, conduct

TUNING = TUNINGS["layer-rewards"]


def test_both_signals_are_searched_on_equal_grids_and_judged_on_seeds_that_chose_nothing():
    searches = TUNING.searches(4_000_000)
    assert {(place.label, place.at) for place in searches} == {
        (f"Algorithm {i}{which}", L) for i in (1, 2) for which in ("", OWN) for L in (2, 3, 4)
    }
    for place, search in searches.items():
        runs = search.grid(Trials())
        assert len(runs) == {"1": 168, "2": 84}[place.label[10]]
        assert (search.seeds.choose, search.seeds.judge) == (range(1000, 1003), range(2100, 2120))
        assert {run.episodes for run in runs} == {1_000_000}
        other = searches[Place("", place.label.removesuffix(OWN), place.at)].grid(Trials())
        assert list(map(without_variant, runs)) == list(map(flat, other))
        assert {variant_of(run) for run in runs} == {"last" if place.label.endswith(OWN) else "global"}


def variant_of(run):
    return getattr(run.rules[0], "variant_by", "global")


def without_variant(run):
    return {name: value for name, value in flat(run).items() if not name.startswith("variant")}


def test_what_depth_trained_of_algorithm_2_is_part_of_the_grid():
    deep, mine = TUNINGS["depth"].searches(4_000_000), TUNING.searches(4_000_000)
    for L in (2, 3, 4):
        place = Place("", "Algorithm 2", L)
        assert {*deep[place].grid(Trials())} < {*mine[place].grid(Trials())}


def answers(effect):
    """Verdicts of a world in which a reward per layer adds so much; three settings a place."""
    searches = {
        place: dataclasses.replace(search, grid=lambda _, some=tuple(search.grid(Trials())[:6:2]): some)
        for place, search in TUNING.searches(4_000_000).items()
    }

    def trained(runs):
        results = []
        for run in runs:
            rule, luck = run.rules[0], np.random.default_rng([run.seed, len(run.hidden)]).normal(0, 0.004)
            level = 0.5 + luck - 10 * abs(rate_of(run).start - 0.002)
            level += effect(rule.name, len(run.hidden)) if variant_of(run) == "last" else 0.0
            results.append(Result(run, "xla", np.full(1000, level, np.float32), None))
        return Study(results, [], [], len(results), 0.0, 0.0)

    trials = Trials()
    assert conduct(list(searches.values()), trials, trained)
    found = judged("layer-rewards", Comparison(searches, trials, 1_000_000))
    assert {(one.seeds, one.first_seed) for one in found} == {(20, 2100)}
    return {one.id: one.verdict for one in found}


def test_each_answer_can_be_yes_and_no():
    ids = [f"Q2.{i}" for i in range(1, 6)]
    assert answers(lambda name, L: 0.3) == dict(zip(ids, ["holds"] * 4 + ["fails"], strict=True))
    assert answers(lambda name, L: -0.3) == dict(zip(ids, ["fails"] * 4 + ["holds"], strict=True))
    mixed = answers(lambda name, L: 0.3 if name == "boltzmann" and L == 3 else -0.3)
    assert mixed == dict(zip(ids, ["fails", "holds", "fails", "fails", "fails"], strict=True))


@pytest.mark.learning
def test_all_of_it_is_searched_drawn_and_judged_small(monkeypatch, tmp_path, capsys):
    size = Size((0.005,), (0.005,), (0.25,), 0, Seeds([1000], [1005]), Seeds([1000], [1005, 1006]))
    small = dataclasses.replace(TUNING, places=lambda episodes, _: layer_places(episodes, size, (2,), 3), part=2)
    monkeypatch.setitem(TUNINGS, "layer-rewards", small)
    monkeypatch.setitem(SCALES, "quick", Scale(320, 2))
    monkeypatch.setattr(layers, "COUPLINGS", (0.25,))
    words = ["layer-rewards", "--scale", "quick", "--store", str(tmp_path / "runs"), "--out", str(tmp_path / "figures")]
    assert reproduce_command(words) == 0
    told = (tmp_path / "figures" / "layer-rewards.md").read_text()
    assert f"| Algorithm 1{OWN} | 2 | 8 | α = 0.005" in told
    assert "frozen" in told
    assert (tmp_path / "figures" / "layer-rewards.png").exists()
    verdicts = json.loads((tmp_path / "figures" / "claims.json").read_text())
    assert [one["id"] for one in verdicts] == [f"Q2.{i}" for i in range(1, 6)]
    assert [one["verdict"] for one in verdicts][1:] == ["not run"] * 4
    assert reproduce_command(words) == 0
    assert "0 runs trained" in capsys.readouterr().out


def test_it_is_listed_among_the_open_questions(capsys):
    list_command([])
    assert "layer-rewards" in capsys.readouterr().out.split("open questions")[1]
