"""Choosing on some seeds and judging on others: in made-up worlds where the best setting is known, and for real."""

import csv
import io
import itertools
import json

import numpy as np
import pytest

from coexplore import Boltzmann, Critic, Failure, Multiplexer, Result, Run, grid, load, train, tune
from coexplore.results.choosing import ranked
from coexplore.run import bins, change, command
from coexplore.settings import FieldError
from coexplore.study import Study
from coexplore.study.search import Search, Seeds, Trials, Untrained, conduct, outcome
from coexplore.study.tuning import checked_seeds

SMALL = Run(rule=Boltzmann(steps=1), hidden=(3,), task=Multiplexer(bits=1), critic=Critic(width=2), episodes=1600)
RATES = [0.001, 0.01, 0.1]
SEEDS = Seeds(choose=range(2), judge=range(4, 7), more=range(2, 4), finalists=2)


def result(run, first, last=None):
    """Rewards that move in a straight line."""
    return Result(
        run, "cpu", np.linspace(first, first if last is None else last, bins(run.updates), dtype=np.float32), None
    )


class World:
    """Trains by a formula, fails where told to, and writes down what it was asked for."""

    def __init__(self, truth, broken=lambda run: False):
        self.truth, self.broken, self.asked = truth, broken, []

    def __call__(self, runs):
        self.asked.append(runs)
        failed = [Failure(run, "cpu", "broken") for run in runs if self.broken(run)]
        made = [result(run, *np.atleast_1d(self.truth(run))) for run in runs if not self.broken(run)]
        return Study(made, failed, [], len(runs), 0.0, 0.0)


def fixed(settings, **more):
    return Search(lambda _: settings, SEEDS, **more)


def test_a_mean_over_the_named_seeds_ranks_and_what_is_not_trained_is_left_out():
    a, b, c = grid(SMALL, learning_rate=RATES)
    trained = {a: [result(a, 0.1), result(change(a, "seed", 1), 0.9)], b: [result(b, 0.4)]}
    assert ranked([b, a, c], trained) == [a, b]
    assert ranked([a, b, c], trained, seeds=[0]) == [b, a]
    tied = {a: [result(a, 0.4)], b: [result(b, 0.4)]}
    assert ranked([b, a], tied) == [b, a]


def test_the_finalists_get_more_seeds_and_only_the_chosen_one_is_judged():
    """The second best on the choosing seeds is the best with the others; the third would be best of all on those."""
    settings = grid(SMALL, learning_rate=RATES)
    early, late = dict(zip(settings, (0.5, 0.4, 0.3), strict=True)), dict(zip(settings, (0.1, 0.3, 0.9), strict=True))
    world = World(lambda run: (early if run.seed in SEEDS.choose else late)[run.setting])
    trials = Trials()
    assert conduct([fixed(settings)], trials, world)
    found = outcome(fixed(settings), trials)
    assert found.chosen == {"reward": settings[1]}
    assert [len(runs) for runs in world.asked] == [3 * 2, 2 * 2, 3]
    assert [r.run for r in found.judged["reward"]] == grid(settings[1], seed=range(4, 7))
    assert found.judged["reward"][0].reward == pytest.approx(0.3)
    assert [set(runs.values()) for runs in world.asked] == [{"choosing"}, {"choosing"}, {"judging"}]
    conduct([fixed(settings)], trials, world)
    assert len(world.asked) == 3  # asked again, it trains nothing


def rate(run):
    return run.learning_rate


def neighbours(run):
    return grid(run, learning_rate=[run.learning_rate / 2, run.learning_rate * 2])


def test_steps_go_where_the_best_is_past_the_edge_of_the_grid_and_each_measure_has_its_own():
    """By the first quarter the best rate is 0.4, by the last 0.0005: both lie off the grid."""

    def truth(run):
        return -abs(np.log2(run.learning_rate / 0.4)) / 100, -abs(np.log2(run.learning_rate / 0.0005)) / 100

    search = Search(lambda _: grid(SMALL, learning_rate=[0.002, 0.1]), SEEDS, (neighbours,) * 4, ("first", "last"))
    world, trials = World(truth), Trials()
    conduct([search], trials, world)
    found = outcome(search, trials)
    assert {by: run.learning_rate for by, run in found.chosen.items()} == {"first": 0.4, "last": 0.0005}
    assert sorted(map(rate, found.tried)) == [0.00025, 0.0005, 0.001, 0.002, 0.004, 0.05, 0.1, 0.2, 0.4, 0.8]
    assert len(world.asked) == 4 + 2  # the fourth step found nothing new; then finals and judging
    assert found.grid == grid(SMALL, learning_rate=[0.002, 0.1])
    few = Search(search.grid, SEEDS, (neighbours,) * 9, ("first",), most=4)
    conduct([few], trials, world)
    assert len(outcome(few, trials).tried) == 4


def test_searches_share_studies_and_one_may_begin_where_another_ended():
    base = fixed(grid(SMALL, learning_rate=RATES))
    wide = Search(lambda trials: neighbours(outcome(base, trials).chosen["reward"]), SEEDS)
    other = fixed(grid(change(SMALL, "units", 4), learning_rate=RATES))
    world, trials = World(lambda run: -abs(run.learning_rate - 0.02)), Trials()
    conduct([wide, other], trials, world)
    assert len(world.asked) == 6  # `other` has its three stages while the one that `wide` rests on has its own
    assert outcome(wide, trials).chosen["reward"].learning_rate == 0.02
    assert {len(runs) for runs in world.asked[:3]} == {12, 8, 6}


def test_a_seed_that_judges_in_one_search_and_chooses_in_another_is_trained_for_choosing():
    judging = Search(lambda _: [SMALL], Seeds(choose=[], judge=[1, 2]), given={"reward": SMALL})
    choosing = Search(lambda _: [SMALL], Seeds(choose=[1], judge=[3, 4]))
    for searches in ([judging, choosing], [choosing, judging]):
        world = World(rate)
        conduct(searches, Trials(), world)
        asked = {run.seed: why for runs in world.asked for run, why in runs.items()}
        assert asked == {1: "choosing", 2: "judging", 3: "judging", 4: "judging"}


def test_a_setting_that_fails_is_out_of_the_running_and_the_search_ends():
    settings = grid(SMALL, learning_rate=RATES)
    world = World(rate, broken=lambda run: run.learning_rate == 0.1 and run.seed == 1)
    trials = Trials()
    conduct([fixed(settings)], trials, world)
    assert outcome(fixed(settings), trials).chosen == {"reward": settings[1]}
    hopeless = World(rate, broken=lambda run: True)
    trials = Trials()
    assert conduct([fixed(settings)], trials, hopeless)
    with pytest.raises(LookupError, match="none of 3 settings could be trained"):
        outcome(fixed(settings), trials)


def test_read_from_a_file_a_few_missing_runs_were_lost_and_many_are_untrained():
    settings = grid(SMALL, learning_rate=[x / 1000 for x in range(1, 11)])
    world, trials = World(rate), Trials()
    conduct([fixed(settings)], trials, world)
    every = [r for same in trials.found.values() for r in same.values()]
    best = settings[-1]
    few = [r for r in every if not (r.setting == best and r.seed < 2)]  # a tenth of the first stage
    assert outcome(fixed(settings), Trials(every, finished=True)).chosen["reward"] == best
    with pytest.raises(Untrained, match=r"^2 runs are not trained$"):
        outcome(fixed(settings), Trials(few))
    with pytest.raises(Untrained, match=r"2 runs"):  # so the third best is a finalist, which it never was
        outcome(fixed(settings), Trials(few, finished=True))
    assert trials.found.keys() == set(settings)
    with pytest.raises(Untrained, match=r"20 runs"):
        outcome(fixed(settings), Trials((), finished=True))


def test_interrupted_it_ends_and_knows_what_it_had():
    settings, trials = grid(SMALL, learning_rate=RATES), Trials()
    answers = itertools.chain([World(rate)(grid(settings[0], seed=range(2)))], itertools.repeat(None))
    assert not conduct([fixed(settings)], trials, lambda runs: next(answers))
    assert len(trials.found) == 1


def test_tune_trains_chooses_judges_and_trains_nothing_twice(tmp_path):
    settings = grid(change(SMALL, "episodes", 16_000), learning_rate=[1e-7, 0.03])
    how = {"choose": range(2), "judge": range(3, 6), "more": [2], "store": tmp_path, "progress": False}
    found = tune(settings, **how, by="last", finalists=1)
    assert found.chosen == settings[1]
    assert (found.by, found.tried) == ("last", 2)
    assert list(found.scores) == settings[::-1]
    assert [r.seed for r in found.results] == [3, 4, 5]
    assert found.score.mean == pytest.approx(np.mean([r.last for r in found.results]))
    assert found.score.mean > 0.1 > found.scores[settings[0]].mean
    count = len(list(tmp_path.rglob("*.safetensors")))
    assert count == 2 * 2 + 1 + 3
    again = tune(settings, **how, by="last", finalists=1)
    assert [r.provenance for r in again.results] == [r.provenance for r in found.results]
    kept = load(tmp_path)
    known = {(r.run.learning_rate, r.seed): r.trained_for for r in kept}
    assert known == {(1e-7, 0): "choosing", (1e-7, 1): "choosing"} | {
        (0.03, seed): "judging" if seed > 2 else "choosing" for seed in range(6)
    }
    assert {r.trained_for for r in train(settings, store=tmp_path, progress=False)} == {"choosing"}  # as it was
    assert len(list(tmp_path.rglob("*.safetensors"))) == count


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"judge": range(1, 5)}, "judge: 1 is not allowed; give seeds that are not among those of choose"),
        ({"more": [7]}, "judge: 7 is not allowed; give seeds that are not among those of more"),
        ({"more": [1]}, "more: 1 is not allowed; give seeds that are not among those of choose"),
        ({"judge": [5]}, r"judge: \[5\] is not allowed; give at least 2 seeds"),
        ({"choose": []}, r"choose: \[\] is not allowed; give at least 1 seed$"),
        ({"by": "reward_"}, r"by: 'reward_' is not allowed \(did you mean 'reward'\?\); give reward | first | last"),
        ({"settings": []}, r"settings: \[\] is not allowed; give at least one to choose"),
        ({"finalists": 0}, "finalists: 0 is not allowed"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, line):
    with pytest.raises(FieldError, match=line):
        tune(**{"settings": [SMALL], "choose": range(3), "judge": range(5, 9)} | changes)


def test_a_run_that_cannot_be_trained_is_named_when_nothing_else_is_left():
    with pytest.raises(RuntimeError, match="no longer finite"):
        tune([change(SMALL, "learning_rate", 1e38)], range(1), range(1, 3), progress=False)


def test_runs_that_fail_are_warned_of_once_and_kept_beside_the_results():
    failing = change(SMALL, "learning_rate", 1e38)
    with pytest.warns(UserWarning, match="^2 runs failed .*no longer finite") as warned:
        found = tune([failing, SMALL], range(2), range(2, 4), progress=False)
    assert [warning.filename for warning in warned] == [__file__]
    assert found.chosen == SMALL
    assert [result.seed for result in found.results] == [2, 3]
    assert [failure.run for failure in found.results.failures] == grid(failing, seed=range(2))


def test_seeds_count_once():
    assert checked_seeds([1, 1, 2], [3, 4, 4]) == Seeds([1, 2], [3, 4], [], 10)


# The command ----------------------------------------------------------------------------------------------------------

TINY = ["--units", "3", "--bits", "1", "--episodes", "1600"]


def test_the_command_tunes_each_rule_along_what_it_has_and_tells_the_candidates_and_the_judged(here, tmp_path):
    words = [
        "boltzmann",
        "reinforce",
        *TINY,
        "--grid",
        "learning-rate=1e-9,0.02..0.01",
        "--grid",
        "coupling=0.1,0.4..0.1",
    ]
    words += ["--choose", "2", "--more", "1", "--finalists", "2", "--judge", "3", "--out", tmp_path]
    done = here("tune", *words)
    assert done.returncode == 0, done.stderr
    assert "boltzmann coupling=0.4..0.1 learning-rate=0.02..0.01" in done.stdout
    assert "chosen of 4: coexplore train boltzmann --coupling" in done.stdout
    assert "chosen of 2: coexplore train reinforce " in done.stdout
    assert "reward on 3 seeds that judge: " in done.stdout
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    both = json.loads((tmp_path / "tuned.json").read_text())["tuned"]
    assert [(one["by"], one["tried"], len(one["candidates"])) for one in both] == [("reward", 4, 4), ("reward", 2, 2)]
    assert [run["run"]["seed"] for run in both[0]["runs"]] == [3, 4, 5]  # after the two that choose and the one more
    assert both[0]["chosen"] in [one["run"] for one in both[0]["candidates"][:2]]
    again = here("tune", *words, "--json")
    assert json.loads(again.stdout) == {"tuned": both}
    _is_listed_with_seeds_that_chose_and_that_judged_apart(here, tmp_path)


def _is_listed_with_seeds_that_chose_and_that_judged_apart(here, store):
    """All six settings chose on two seeds, two of each rule on a third one; one of each rule is judged on three."""
    rows = list(csv.DictReader(io.StringIO(here("runs", "--store", store, "--format", "csv").stdout)))
    assert sorted((row["trained_for"], row["seeds"]) for row in rows) == [
        *[("choosing", "2")] * 2,
        *[("choosing", "3")] * 4,
        *[("judging", "3")] * 2,
    ]
    judged = [r for r in load(store) if r.trained_for == "judging"]
    for row in rows:
        same = [r.last for r in judged if command(r.run.setting).split()[2] == row["setting"].split()[0]]
        mean = float(row["last_mean"])
        assert (mean == pytest.approx(np.mean(same))) == (row["trained_for"] == "judging")
    assert "8 runs" not in here("runs", "--store", store, "--select", "trained-for=judging").stdout
    assert here("runs", "--store", store, "--select", "trained-for=judging").stdout.count("judging") == 2
    assert here("runs", "--store", store, "--select", "trained-for=none").returncode == 2


def test_what_is_tuned_may_be_several_sizes_and_seeds_may_be_named(here):
    words = ["reinforce", *TINY[2:], "--units", "2", "3", "--grid", "learning-rate=0.01", "--choose", "10-10"]
    done = here("tune", *words, "--judge", "20-21", "--by", "last", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["tuned"]
    assert [one["chosen"]["hidden"] for one in found] == [[2], [3]]
    assert [run["run"]["seed"] for run in found[1]["runs"]] == [20, 21]
    assert found[0]["candidates"][0]["sd"] is None


REFUSED = {
    "boltzmann": "grid: '' is not allowed; give at least one that boltzmann has",
    "boltzmann --grid couplng=1": "grid: 'couplng' is not allowed (did you mean 'coupling'?)",
    "boltzmann --grid coupling=": "grid: 'coupling=' is not allowed; give values after the =",
    "boltzmann --grid coupling=x": "coupling: 'x' is not allowed",
    "boltzmann --grid coupling=1 --coupling 2": "grid: 'coupling=1' is not allowed; give either",
    "reinforce --grid coupling=1": "grid: 'coupling' is not allowed",
    "boltzmann --grid seed=1": "grid: 'seed' is not allowed",
    "boltzmann --grid coupling=1 --judge 3-9": "judge: 3 is not allowed; give seeds that are not among those of choose",
    "boltzmann --grid coupling=1 --judge 1": "judge: [5] is not allowed; give at least 2 seeds",
    "boltzmann --grid coupling=1 --choose 0": "choose: '0' is not allowed",
    "boltzmann --grid coupling=1 --seed 3": "seed: 3 is not allowed; give --choose and --judge instead",
    "boltzmann --grid coupling=1 --seeds 3": "flag: '--seeds' is not allowed",
    "boltzmann --grid coupling=1 --by frist": "by: 'frist' is not allowed (did you mean 'first'?)",
    "boltzmann --grid coupling=1 --finalists 0": "finalists: 0 is not allowed",
    "--grid coupling=1": "rule: '' is not allowed; give one of",
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_input_is_refused_in_one_line(words, here):
    done = here("tune", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"coexplore: {REFUSED[words]}")
    assert done.stderr.count("\n") == 1
