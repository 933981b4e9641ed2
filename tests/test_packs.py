"""Packs: a setting once, its seeds as rows; packs of the first version; packs that somebody has tampered with."""

import copy
import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from coexplore import Boltzmann, Critic, Multiplexer, Recurrent, Result, Run, grid, load, plot, train
from coexplore.beyond import choosing, control, supervised
from coexplore.cli.reproduce import claims_command
from coexplore.cli.runs import runs_command
from coexplore.network import Params
from coexplore.paper.claims import verdicts
from coexplore.paper.evidence import many_seeds, passed_over
from coexplore.paper.figures import FIGURES, runs
from coexplore.paper.pictures import draw
from coexplore.report.data import report
from coexplore.run import bins
from coexplore.run.curve import bin_sizes
from coexplore.store import Store, StoreError, pack
from coexplore.store.packs import FEWER
from coexplore.store.sealed import seal, unseal

OLD = Path(__file__).parent / "data" / "pack-1.safetensors"  # 8 runs of 3 settings, written by version 0.1
BASE = Run(rule=Boltzmann(steps=1), hidden=(3,), task=Multiplexer(bits=1), critic=Critic(width=2), episodes=16 * 2000)
SETTINGS = grid(BASE, coupling=[0, 1])
RUNS = [run for setting in SETTINGS for run in grid(setting, seed=range(3))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(RUNS, engine="cpu", progress=False, store=tmp_path_factory.mktemp("store"), snapshots=2)


@pytest.fixture
def path(whole, tmp_path):
    pack(whole, tmp_path / "pack.safetensors")
    return tmp_path / "pack.safetensors"


def arrays(result):
    curve = result.curve if result.has_curve else None
    return jax.tree_util.tree_leaves_with_path((curve, result.params, result.snapshots))


def assert_same(a, b):
    """In everything, to the last bit."""
    assert (a.run, a.engine, a.scores, a.provenance) == (b.run, b.engine, b.scores, b.provenance)
    assert_same_arrays(a, b)


def assert_same_arrays(a, b):
    for (name, x), (other, y) in zip(arrays(a), arrays(b), strict=True):
        assert (name, np.shape(x), np.asarray(x).dtype) == (other, np.shape(y), np.asarray(y).dtype)
        assert np.array_equal(x, y)


@pytest.mark.learning
def test_a_setting_is_in_a_pack_once_and_a_run_costs_its_curve_and_little_else(whole, path):
    about, tensors, _ = unseal(path)
    assert [stated["seeds"] for stated in about["settings"]] == [[0, 1, 2]] * 2
    assert tensors["0.curve"].shape == (3, 200)
    assert tensors["0.sha256"].shape == (3, 32)
    assert all("sha256" not in {**stated["shared"], **stated["each"]} for stated in about["settings"])
    more = [
        Result(run, "cpu", np.zeros(1000, np.float32), None, whole[0].provenance)
        for run in grid(SETTINGS[0], seed=range(1000))
    ]
    pack(more, path)
    assert path.stat().st_size < 1000 * (800 + 100)


def test_packed_again_a_pack_is_the_same_in_every_bit(path, tmp_path):
    pack(load(path), tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_a_pack_has_the_scores_of_the_whole_runs(whole, path):
    for result, small in zip(whole, load(path), strict=True):
        assert (small.run, small.scores, small.provenance) == (result.run, result.scores, result.provenance)
        assert np.array_equal(small.snapshots["firing.0"][-1], result.snapshots["firing.0"][-1])
        assert np.allclose(small.curve, result.curve.reshape(200, -1).mean(axis=1), atol=1e-6)
        if result.run.seed == 0:
            assert_same_arrays(small, result.replaced(curve=small.curve))


def test_points_that_stand_for_more_updates_count_for_more_in_a_packed_curve(tmp_path):
    run = dataclasses.replace(BASE, episodes=16 * 1500)  # 1000 bins, of one update and of two
    pack([Result(run, "cpu", np.arange(1000, dtype=np.float32), None, {})], tmp_path / "pack.safetensors")
    small = load(tmp_path / "pack.safetensors")[0]
    mean = np.average(np.arange(1000), weights=bin_sizes(1500))
    assert len(small.curve) == 200
    coarse = np.ceil(np.arange(201) * 7.5)  # where its points end, in updates
    assert np.average(small.curve, weights=np.diff(coarse)) == pytest.approx(mean, abs=1e-4)
    assert small.reward == pytest.approx(mean)


def test_runs_that_know_different_things_share_no_matrix_and_lose_nothing(whole, path):
    odd = [
        whole[0].replaced(provenance={"seconds": 1, "sha256": "not a hash"}),
        whole[1].replaced(provenance={"seconds": 1.0, "note": {"a": [None, True]}}),
        whole[2].replaced(curve=whole[2].curve[:500], snapshots={}, provenance={}),
        whole[3].replaced(provenance={"width": 1}),
        whole[4].replaced(provenance={"width": True}),
    ]
    pack([*odd, odd[0]], path)
    packed = {result.run: result for result in load(path)}
    assert len(packed) == len(odd)
    for result in odd:
        assert json.dumps(packed[result.run].provenance, sort_keys=True) == json.dumps(
            result.provenance, sort_keys=True
        )
        assert ("firing.0" in packed[result.run].snapshots) == ("firing.0" in result.snapshots)


def test_what_is_the_same_for_most_seeds_is_there_once(whole, path):
    times = ["01:02:03"] * 30 + ["01:02:04"] * 30
    told = [{"finished": time, "seconds": i} for i, time in enumerate(times)]
    runs = grid(SETTINGS[0], seed=range(60))
    many = [Result(run, "cpu", whole[0].curve, None, words) for run, words in zip(runs, told, strict=True)]
    pack(many, path)
    assert path.read_bytes().count(b"01:02:03") == 1
    assert [result.provenance for result in load(path)] == told


# Packs of the first version -------------------------------------------------------------------------------------------


def test_a_pack_of_the_first_version_is_read():
    results = load(OLD)
    assert [(r.run.digest[:6], r.run.seed, round(r.reward, 6)) for r in results] == [
        ("0541ee", 0, 0.075), ("b12def", 1, -0.109375), ("134013", 2, -0.003125),
        ("4c2bcb", 0, 0.0), ("12ff1b", 1, -0.026562),
        ("9374d6", 0, 0.078125), ("87199f", 1, -0.109375), ("234352", 2, -0.00625),
    ]  # fmt: skip
    assert [result.params is not None for result in results] == [True, False, False, True, False, True, False, False]
    assert [round(result.accuracy, 4) for result in results[3:5]] == [0.7667, 0.1333]


def test_packed_again_a_pack_of_the_first_version_is_the_same_and_smaller(tmp_path):
    pack(load(OLD), tmp_path / "new.safetensors")
    for old, new in zip(load(OLD), load(tmp_path / "new.safetensors"), strict=True):
        assert_same(old, new)
    assert (tmp_path / "new.safetensors").stat().st_size < OLD.stat().st_size


# Packs from anywhere --------------------------------------------------------------------------------------------------


def changed(name, change):
    def apply(about, tensors):
        tensors[name] = change(tensors[name])

    return apply


def stated(**values):
    return lambda about, tensors: about["settings"][0].update(values)


def nan(x):
    return np.where(np.arange(x.size).reshape(x.shape) == 1, np.nan, x).astype(x.dtype)


def named(rule):
    return lambda about, tensors: about["settings"][0]["run"]["rule"].update(name=rule)


HOSTILE = {
    "a curve of another length": (changed("0.curve", lambda x: x[:, :7]), "7 points for 2000 updates"),
    "no points": (changed("0.curve", lambda x: x[:, :0]), "of shape [3, 0]"),
    "one curve for all": (changed("0.curve", lambda x: x[0]), "of shape [200] for 3 runs"),
    "a row too few": (changed("0.curve", lambda x: x[:2]), "of shape [2, 200] for 3 runs"),
    "a curve of no number": (changed("0.curve", nan), "'curve' is not all numbers"),
    "a curve of whole numbers": (changed("0.curve", lambda x: x.astype(np.int64)), "'curve' is not all numbers"),
    "scores of no number": (changed("0.scores", nan), "'scores' is not all numbers"),
    "scores of too few": (changed("0.scores", lambda x: x[:, :2]), "'scores' of shape [3, 2]"),
    "rates of no number": (changed("0.firing.0", nan), "'firing.0' is not all numbers"),
    "rates of a cube": (changed("0.firing.0", lambda x: x[..., None]), "'firing.0' of shape"),
    "collapsed in numbers": (changed("0.collapsed", lambda x: x.astype(float)), "'collapsed' is not all numbers"),
    "short hashes": (changed("0.sha256", lambda x: x[:, :31]), "'sha256' of shape [3, 31]"),
    "no scores": (lambda about, tensors: tensors.pop("0.scores"), "'scores' is missing"),
    "a matrix of no setting": (lambda about, tensors: tensors.update({"9.curve": np.zeros(1)}), "to no setting"),
    "a matrix of no number": (lambda about, tensors: tensors.update({"x.curve": np.zeros(1)}), "belongs to no setting"),
    "a negative setting": (lambda about, tensors: tensors.update({"-1.curve": np.zeros(1)}), "belongs to no setting"),
    "a matrix of another kind": (lambda about, tensors: tensors.update({"0.x": np.zeros(3)}), "no pack has 'x'"),
    "a setting less": (lambda about, tensors: about["settings"].pop(), "belongs to no setting"),
    "seeds too many": (stated(seeds=[0, 1, 2, 3]), "for 4 runs"),
    "no seeds": (stated(seeds=[]), "seeds must be whole numbers"),
    "a seed twice": (stated(seeds=[0, 1, 1]), "seeds must be whole numbers"),
    "a seed below 0": (stated(seeds=[0, 1, -1]), "seed: -1 is not allowed"),
    "a seed that is a word": (stated(seeds=["0", "1", "2"]), "seeds must be whole numbers"),
    "seeds that are none": (stated(seeds=None), "seeds must be whole numbers"),
    "provenance of too few": (stated(each={"seconds": [1.0]}), "must be told of each"),
    "provenance of nobody": (stated(each={"seconds": {"once": [1.0], "which": [0, 1, 0]}}), "not a readable pack"),
    "provenance of no list": (stated(each={"seconds": {"once": [1.0]}}), "'which' is missing"),
    "no provenance": (stated(each=None), "not a readable pack"),
    "nobody's parameters": (stated(whole=7), "belongs to none"),
    "parameters that nobody has": (stated(whole=None), "belongs to none"),
    "a rule that is no rule": (lambda about, tensors: about["settings"][0]["run"].update(rule=3), "a readable pack"),
    "a later version": (lambda about, tensors: about.update(pack=4), "a pack of version '4'"),
    "no settings": (lambda about, tensors: about.pop("settings"), "not a readable pack ('settings' is missing)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_pack_that_was_tampered_with_is_refused_in_one_line(kind, path):
    about, tensors, _ = unseal(path)
    change, words = HOSTILE[kind]
    about = copy.deepcopy(about)
    change(about, tensors)
    seal(path, about, tensors, {})
    with pytest.raises(StoreError) as refused:
        load(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "Error" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_of_a_pack_with_an_unknown_rule_the_rest_is_read_and_a_line_says_so(path):
    about, tensors, _ = unseal(path)
    every = len(load(path))
    named("stranger")(about, tensors)
    seal(path, about, tensors, {})
    with pytest.warns(UserWarning, match="left out 3 runs: rule: 'stranger' is not one of ours") as told:
        assert len(load(path)) == every - 3 > 0
    assert len(told) == 1
    about["settings"] = about["settings"][:1]
    seal(path, about, {name: x for name, x in tensors.items() if name.startswith("0.")}, {})
    with pytest.raises(StoreError, match="'stranger' is not one of ours"):
        load(path)


def test_parameters_that_do_not_fit_are_refused_before_anybody_asks_for_them(path):
    about, tensors, _ = unseal(path)
    tensors["0.whole.params.layers.0.b"] = np.zeros(99, np.float32)
    seal(path, about, tensors, {})
    with pytest.raises(StoreError, match="parameters that do not fit the run"):
        load(path)


def test_a_damaged_pack_is_noticed(path):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError):
        load(path)


def test_what_is_not_finite_is_not_packed(whole, tmp_path):
    bad = whole[0].replaced(curve=np.full(1000, np.nan, np.float32))
    with pytest.raises(StoreError, match="its curve is not finite"):
        pack([bad], tmp_path / "p.safetensors")


# Settings of many seeds, and runs that only served to choose ----------------------------------------------------------


def test_of_runs_that_only_served_to_choose_there_are_scores_and_nothing_else(whole, path, tmp_path):
    pack(whole, path, scores_only={SETTINGS[0]})
    few, others = load(path)[:3], load(path)[3:]
    for result, small in zip(whole, few, strict=False):
        assert (small.scores, small.provenance) == (result.scores, result.provenance)
        assert (small.has_curve, small.params, small.snapshots) == (False, None, {})
        with pytest.raises(ValueError, match=f"curve: None is not allowed; .* of {result.run.digest[:12]}… this pack"):
            _ = small.curve
    assert all(result.has_curve for result in others)
    assert "0.curve" not in unseal(path)[1]
    (axes,) = plot([*few, *others], tmp_path / "x.svg").axes
    assert len(axes.lines) == 1
    with pytest.raises(ValueError, match="some that have a curve"):
        plot(few)
    pack(load(path), tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_a_report_shows_the_scores_of_what_only_served_to_choose(whole, path):
    pack(whole, path, scores_only={SETTINGS[0]})
    made = report(load(path), str(path))
    assert made["about"]["problems"] == []
    bare, drawn = made["settings"]
    assert (bare["mean"], bare["sd"], made["axes"][bare["axis"]]) == ([], None, [])
    assert bare["first"] == report(whole, "")["settings"][0]["first"]
    assert len(drawn["mean"]) == len(drawn["sd"]) > 0
    json.dumps(made, allow_nan=False)


def test_accuracy_is_kept_of_what_only_served_to_choose(tmp_path):
    old = [result for result in load(OLD) if result.accuracy is not None]
    pack(old, tmp_path / "p.safetensors", {result.run.setting for result in old})
    assert [result.accuracy for result in load(tmp_path / "p.safetensors")] == [result.accuracy for result in old]


def made_up(runs, height):
    for run in runs:
        curve, firing = np.full(bins(run.updates), height(run), np.float32), np.full((1, 1), 0.5, np.float32)
        yield Result(run, "cpu", curve, Params((), None), {}, {"firing.0": firing})


def height(run):
    return 0.6 if run.rule.coupling == 0.4 else 0.5


def test_couplings_that_others_beat_only_served_to_choose_unless_a_figure_draws_them():
    results = list(
        made_up(runs(["fig3"], 4_000_000, 1), lambda run: height(run) if hasattr(run.rule, "coupling") else 0)
    )
    over = passed_over(results)
    assert {(type(run.rule), run.hidden[0]) for run in over} == {
        (rule, N) for rule in (Boltzmann, Recurrent) for N in (8, 16, 32, 96, 128)
    }
    assert 0.4 not in {run.rule.coupling for run in over}
    assert (
        passed_over([r for r in results if not (hasattr(r.run.rule, "coupling") and r.run.rule.coupling == 1)]) == set()
    )


def test_the_figures_are_drawn_from_what_such_a_pack_keeps(tmp_path):
    results = list(
        made_up(
            runs(["fig2", "fig3", "figa2"], 4_000_000, 2), lambda run: 0.01 * (int(run.setting.digest[:4], 16) % 90)
        )
    )
    over = passed_over(results)
    assert len(over) > 50
    pack(results, tmp_path / "all.safetensors")
    pack(results, tmp_path / "few.safetensors", over)
    for name in ("fig2", "fig3", "figa2"):
        drawn = [draw(FIGURES[name], load(path), path.with_suffix("")) for path in tmp_path.glob("*.safetensors")]
        assert len({tuple(path.read_bytes() for path in paths) for paths in drawn}) == 1


def test_rivals_that_lost_a_comparison_only_served_to_choose():
    digits = supervised.COMPARISONS["digits"]
    tuned = list(made_up(supervised.tuning(digits), lambda run: run.learning_rate))
    over = choosing.passed_over(tuned)
    assert {run.learning_rate for run in over} == {0.001, 0.005}
    assert len(over) == 2 * len(supervised.settings(digits))
    cartpole = control.COMPARISONS["cartpole"]
    tuned = list(made_up(control.tuning(cartpole), lambda run: run.rule.coupling))
    assert {run.rule.coupling for run in choosing.passed_over(tuned)} == {0.0, 0.1, 0.25}
    some = [result for result in tuned if result.run.rule.coupling < 0.5]
    assert choosing.passed_over(some) == set()  # not every rival was trained


def test_of_settings_with_many_seeds_there_is_what_verdicts_and_pictures_need(tmp_path):
    """The curves that a figure draws, shorter; firing rates of the headline's settings; scores of all."""
    rng, seeds, path = np.random.default_rng(0), range(1000, 1060), tmp_path / "p.safetensors"
    chosen = [*FIGURES["fig2"].settings(), *FIGURES["expected"].settings()[:2]]
    results = [
        Result(
            run, "cpu", rng.random(1000).astype(np.float32).cumsum() / 1000, None, {}, {"firing.0": np.ones((1, 64))}
        )
        for setting in chosen
        for run in grid(setting, seed=seeds)
    ]
    undrawn, brief = many_seeds(results)
    assert (undrawn, brief) == (set(chosen[9:]), set(chosen[:9]) - set(FIGURES["headline"].settings()))
    assert many_seeds([result for result in results if result.run.seed < 1040]) == (set(), set())
    pack(results, path, undrawn, dict.fromkeys(brief, FEWER))
    packed = load(path)
    points = {run: len(packed[i * 60].curve) if packed[i * 60].has_curve else 0 for i, run in enumerate(chosen)}
    assert points == {run: 0 if run in undrawn else 100 if run in brief else 200 for run in chosen}
    assert all(("firing.0" in r.snapshots) == (points[r.run.setting] == 200) for r in packed)
    judged = [v for v in verdicts(results) if v.verdict != "not run"]
    again = [v for v in verdicts(packed) if v.verdict != "not run"]
    assert [(v.verdict, v.sentence) for v in judged] == [(v.verdict, v.sentence) for v in again]
    assert [(v.effect, v.low) for v in judged if v.effect] == [
        (pytest.approx(v.effect, abs=1e-6), pytest.approx(v.low, abs=1e-6)) for v in again if v.effect
    ]
    assert path.stat().st_size < 60 * (7 * 500 + 2 * 1200 + 2 * 100)


def test_the_command_packs_scores_alone_of_what_only_served_to_choose(tmp_path, capsys):
    store, path = Store(tmp_path / "store"), tmp_path / "p.safetensors"
    for result in made_up(supervised.tuning(supervised.COMPARISONS["parity"])[:9], lambda run: run.learning_rate):
        store.save(result)
    assert runs_command(["pack", str(path), "--store", str(tmp_path / "store")]) == 0
    assert "9 runs, 6 of them, whose curves nobody draws, with scores alone" in capsys.readouterr().out
    assert sum(result.has_curve for result in load(path)) == 3


def test_commands_read_the_seeds_that_are_wanted_and_say_what_claims_leave_out(tmp_path, capsys):
    path, some = tmp_path / "p.safetensors", tmp_path / "some.safetensors"
    settings = FIGURES["fig2"].settings()
    results = [run for seeds in (range(3), range(1000, 1004)) for one in settings for run in grid(one, seed=seeds)]
    pack(list(made_up(results, lambda run: 0.5)), path)
    assert claims_command(["--store", str(path)]) == 0
    assert "27 runs are left out, whose seeds had been looked at before, or had not" in capsys.readouterr().out
    assert claims_command(["--store", str(path), "--seeds", "3", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert {(one["seeds"], one["first_seed"]) for one in judged if one["figure"] == "fig2"} == {(3, 0)}
    assert runs_command(["pack", str(some), "--store", str(path), "--seeds", "1001-1002"]) == 0
    assert {result.run.seed for result in load(some)} == {1001, 1002}
    with pytest.raises(StoreError, match=r"seeds: none of the runs in .* has one of 7 to 9"):
        claims_command(["--store", str(path), "--seeds", "7-9"])
