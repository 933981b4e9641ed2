"""What is said of coordination, on results made up for the purpose; and the search, at its smallest, end to end."""

import json

import numpy as np
import pytest

from coexplore import Boltzmann
from coexplore.beyond import coordination
from coexplore.beyond.coordination import BACKPROP, REINFORCE, SOFTMAX, NoGap, gain, gap, tuning, without
from coexplore.beyond.coordination_claims import CLAIMS, judged
from coexplore.beyond.coordination_tables import table
from coexplore.cli.beyond import beyond_command
from coexplore.paper.evidence import NotRun
from coexplore.paper.figure import SCALES
from coexplore.paper.tuned import Comparison
from coexplore.run import Result, bins
from coexplore.settings import FieldError
from coexplore.study.search import Trials, conduct
from coexplore.study.studies import Study
from coexplore.tasks.joint import JointBits

QUICK = SCALES["quick"].episodes


def level(run, gains):
    """Backprop at 0.8, REINFORCE at 0.3, Algorithm 1 with c > 0 at 0.3 + 0.5 · its gain; worse at other rates."""
    task, rule = run.task, run.rules[0]
    best = run.learning_rate == 0.02
    if rule.name == "backprop":
        value = 0.8
    elif task.policy == "joint":
        value = 0.4
    else:
        value = 0.3 + (0.5 * gains(task.joint, run.hidden[0]) if getattr(rule, "coupling", 0.0) else 0.0)
    return value - (0.0 if best else 0.1) + 0.002 * (run.seed % 3 - 1)


def found(gains, tune=None):
    """The quick figure as if it had been trained."""
    figure = tune or tuning("coordination")
    searches, trials = figure.searches(QUICK), Trials()

    def train(runs):
        made = [Result(run, "xla", np.full(bins(run.updates), level(run, gains), np.float32), None, {}) for run in runs]
        return Study(made, [], [], len(made), 0.0, 0.0)

    assert conduct(list(searches.values()), trials, train)
    return Comparison(searches, trials, figure.length(QUICK))


@pytest.fixture(scope="module")
def growing():
    return found(lambda share, N: 0.6 * share * np.log2(N) / 4)


def test_equal_tuning_for_all_and_seeds_that_chose_do_not_judge():
    for size in ("paper", "quick"):
        for place, search in tuning("coordination").searches(SCALES[size].episodes).items():
            runs = search.grid(Trials())
            rates = {run.learning_rate for run in runs}
            assert rates == set(coordination.RATES if size == "paper" else coordination.QUICK_RATES)
            assert {run.episodes for run in runs} == {160_000 if size == "paper" else 16_000}
            assert not set(search.seeds.choose) & set(search.seeds.judge)
            alone, coupled = place.label.endswith("c = 0"), place.label.startswith("Algorithm")
            c = {getattr(run.rules[0], "coupling", 0.0) for run in runs}
            assert (c == {0.0}) == (alone or not coupled)
            assert all(isinstance(run.task, JointBits) for run in runs)
            assert {run.task.policy for run in runs} == {"joint" if place.label == SOFTMAX else "bits"}


def test_a_gain_is_the_share_of_the_gap_between_backprop_and_reinforce_that_is_closed(growing):
    assert gap(growing, 0.5, 16).effect == pytest.approx(0.5)
    for share, N in ((0.0, 16), (0.5, 8), (0.5, 16), (1.0, 16)):
        one = gain(growing, "Algorithm 1", {(share, N): 1.0})
        assert one.effect == pytest.approx(0.6 * share * np.log2(N) / 4, abs=1e-6)
        assert one.low < one.effect < one.high
    ends = gain(growing, "Algorithm 2", {(1.0, 16): 1.0, (0.0, 16): -1.0})
    assert ends.effect == pytest.approx(0.6, abs=1e-6)


def test_the_interval_of_a_gain_is_that_of_the_ratio():
    """Against the plain way: draws of the four means by Student's law, and the ratio of each four."""
    at = found(lambda share, N: 0.5)
    one = gain(at, "Algorithm 1", {(0.5, 16): 1.0})
    labels = ("Algorithm 1", without("Algorithm 1"), BACKPROP, REINFORCE)
    values = [[r.reward for r in at.judged(label, 16, "reward", "joint share 0.5")] for label in labels]
    rng = np.random.default_rng(0)
    a, b, c, d = (np.mean(x) + np.std(x, ddof=1) / len(x) ** 0.5 * rng.standard_normal(200_000) for x in values)
    low, high = np.quantile((a - b) / (c - d), (0.025, 0.975))
    assert one.interval == pytest.approx((low, high), abs=0.15 * (high - low))


def words(at):
    return {verdict.id: verdict.verdict for verdict in judged("coordination", at)}


def test_verdicts_follow_the_criteria(growing):
    assert words(growing) == {
        **{"K0": "holds", "K1.1": "holds", "K1.2": "holds", "K2.1": "holds", "K2.2": "holds"},
        **{"K3.1": "holds", "K3.2": "holds", "K4.1": "holds", "K4.2": "holds"},
    }
    shrinking = words(found(lambda share, N: -0.4 * share * np.log2(N) / 4))
    assert {shrinking[id] for id in ("K1.1", "K2.1", "K4.1")} == {"fails"}
    everywhere = words(found(lambda share, N: 0.4))
    assert (everywhere["K1.1"], everywhere["K2.1"], everywhere["K3.1"]) == ("holds", "fails", "fails")


def test_without_a_gap_nothing_is_decided_and_the_table_says_so(growing, monkeypatch):
    monkeypatch.setattr(coordination, "GAP", 0.9)
    with pytest.raises(NoGap, match=r"at a joint share of 0.5 with 16 units backprop is not ahead of REINFORCE by 0.9"):
        gain(growing, "Algorithm 1", {(0.5, 16): 1.0})
    assert words(growing)["K1.1"] == "undecided"
    assert "no gap" in table("Title", growing)


def test_centring_has_every_way_to_centre_and_its_environment_is_a_parameter():
    for env in ("CartPole-v1", "Acrobot-v1"):
        searches = tuning("centring", env).searches(QUICK)
        runs = [run for search in searches.values() for run in search.grid(Trials())]
        assert {run.task.env for run in runs} == {env}
        assert {run.episodes for run in runs} == {64}
        rules = [run.rules[0] for run in runs if isinstance(run.rules[0], Boltzmann)]
        ways = {(rule.learning_signal.name, rule.baseline.name) for rule in rules}
        mean, *baselines = ("centred-advantage", "none"), *(("advantage", E) for E in ("none", "chains", "learned"))
        assert ways == {mean, *baselines}
    assert [one.id for one in CLAIMS if one.figure == "centring"] == ["K5"]
    with pytest.raises(NotRun):
        found(lambda share, N: 0.0).at(REINFORCE, 64)


def test_what_cannot_be_asked_for_is_refused_in_one_line():
    with pytest.raises(FieldError, match="seeds: 'for coordination' is not allowed; give none"):
        beyond_command(["coordination", "--seeds", "3"])
    with pytest.raises(FieldError, match="scale: 'tiny' is not allowed"):
        beyond_command(["coordination", "--scale", "tiny"])


@pytest.mark.learning
def test_the_smallest_search_ends_in_a_table_a_picture_verdicts_and_a_pack(tmp_path, monkeypatch, capsys):
    two = {"Algorithm 2": coordination.COUPLED["Algorithm 2"]}  # the others' claims are not run
    small = {"SHARES": (0.0, 0.5), "UNITS": (2,), "COUPLINGS": (0.5,), "RATES": (0.02,)}
    for name, value in small.items():
        monkeypatch.setattr(coordination, f"QUICK_{name}", value)
    for home in ("coordination", "coordination_tables"):
        monkeypatch.setattr(f"coexplore.beyond.{home}.COUPLED", two)
    figure = coordination.Tuning("coordination", "Title", "N", coordination.coordination_places, ("reward",), 25)
    monkeypatch.setattr("coexplore.cli.coordination.tuning", lambda name, env: figure)
    monkeypatch.setattr(coordination, "tuning", lambda name, env: figure)
    monkeypatch.setattr(coordination, "SEEDS", {"quick": coordination.Seeds(range(1), range(5, 7))})
    monkeypatch.setattr(type(figure), "length", lambda self, episodes: 160)
    words = ["coordination", "--scale", "quick", "--engine", "xla", "--store", str(tmp_path / "runs")]
    assert beyond_command([*words, "--out", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"coordination.{x}" for x in ("md", "png", "json")}
    decided = json.loads((tmp_path / "out" / "coordination.json").read_text())
    assert [verdict["id"] for verdict in decided] == [one.id for one in CLAIMS if one.figure == "coordination"]
    from coexplore.cli.runs import runs_command

    assert (
        runs_command(
            ["pack", str(tmp_path / "c.safetensors"), "--store", str(tmp_path / "runs"), "--figure", "coordination"]
        )
        == 0
    )
    assert "with scores alone" in capsys.readouterr().out
