"""Verdicts and numbers of every study, worked out from the packs in results/ and written as plain JSON.

This is all that knows how studies are written today; what it gives must not depend on that (tests/golden/ has it):

    STUDIES[pack]() = {study: {"title": …, "plan": …, "arms": {arm: {place: cell}}, …}}
    CLAIMS[pack]()  = {id: what `coexplore claims --json` says of it}

A place is where a cell stands on the horizontal axis, with the panel before it where there are several. A cell has the
number of seeds and the lowest of them, how many runs froze, and by window (`reward` is that over all episodes) mean,
standard deviation and the ends of the 95 % interval. `plan` tells which settings a study trains, by their digests
(digests.py), and on which seeds.
"""

import contextlib
import functools
import io
import json
import math
import runpy
import sys
import types
from pathlib import Path

import numpy as np
from digests import fingerprint

from coexplore import Run, cli, load
from coexplore.beyond import control, coordination, supervised
from coexplore.beyond.coordination_claims import judged as judge_coordination
from coexplore.paper import gradient_tables, tuned_tables
from coexplore.paper.checkpoints import LEVELS, episodes_to, networks, read_table
from coexplore.paper.evidence import Evidence, NotRun
from coexplore.paper.evidence import found as found_in
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES, heading
from coexplore.paper.measures import draws
from coexplore.paper.questions.why import half_of_best
from coexplore.paper.resources import multiply_adds
from coexplore.paper.tuned import Comparison
from coexplore.paper.tunings import TUNINGS
from coexplore.run import by_setting
from coexplore.stats.estimates import summary, window
from coexplore.study.search import Trials

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
EPISODES = SCALES["paper"].episodes
WINDOWS = ("reward", "first", "last")
PAPERS = tuple(name for name, figure in FIGURES.items() if not figure.question)
PLAIN = {
    "cpu/paper": PAPERS,
    "cuda/paper": PAPERS,
    "cuda/paper-200": PAPERS,
    "cpu/no-critic": ("no-critic",),
    "cuda/no-critic": ("no-critic",),
    "cuda/local-critics": ("local-critics",),
    "depth/depth": ("depth-paper",),
    "questions/odd-even": ("odd-even", "figa1-odd"),
    "questions/coupling-steps": ("coupling-steps", "coupling-steps-lazy"),
    "questions/one-by-one": ("one-by-one",),
    "questions/one-rule-paper": ("one-rule-paper",),
    "questions/depression": ("depression", "depression-in-time"),
    "questions/batches": ("batches",),
    "questions/why": ("why",),
}
SEARCHED = {
    "cuda/tuned": "tuned",
    "cuda/scaling": "scaling",
    "cuda/depth": "depth",
    "questions/one-rule": "one-rule",
    "questions/centres": "centres",
    "questions/layer-rewards": "layer-rewards",
}
COORDINATED = {f"coordination/{name}": name for name in coordination.NAMES}
SUPERVISED = {f"supervised/{name}": one for name, one in supervised.COMPARISONS.items()}
CONTROLLED = {f"control/{name}": one for name, one in control.COMPARISONS.items()}


@functools.lru_cache(maxsize=1)  # claims and numbers of a pack are asked for one after the other
def results(pack):
    return load(path(pack))


def path(pack):
    return RESULTS / f"{pack}.safetensors"


# Numbers as JSON ------------------------------------------------------------------------------------------------------


def number(x):
    return None if x is None or math.isnan(x) else float(x)


def four(found):
    """Mean, standard deviation and interval."""
    return list(map(number, found))


def three(estimate):
    """Effect and interval."""
    return [number(estimate.effect), number(estimate.low), number(estimate.high)]


def cell(same, windows=WINDOWS):
    seeds = [result.seed for result in same]
    about = {"seeds": [len(seeds), min(seeds)], "frozen": sum(result.frozen for result in same)}
    return {**about, **{name: four(window(same, name)) for name in windows}}


def settings(runs):
    """Which they are, seeds aside."""
    return fingerprint([(run.setting.to_dict(), [0]) for run in runs])


def span(seeds):
    """How many, the first and the last."""
    return [len(seeds), *([min(seeds), max(seeds)] if len(seeds) else [])]


# Figures at settings that are given -----------------------------------------------------------------------------------


def plain(pack):
    found = {name: figure(FIGURES[name], results(pack)) for name in PLAIN[pack]}
    if pack == "questions/why":
        found["gradients"] = gradients(results(pack), read_table(path(pack)))
    return {name: study for name, study in found.items() if study["arms"]}


def figure(one, trained):
    lines, missing = found_in(one, Evidence(trained, one.length(EPISODES)))
    arms = {label: {str(x): entry(one, label, x, *places[x]) for x in places} for label, places in lines.items()}
    plan = {
        scale: {"seeds": seeds, "settings": settings(one.settings(episodes))}
        for scale, (episodes, seeds) in SCALES.items()
    }
    return {"title": heading(one), "plan": plan, "not trained": missing, "arms": arms}


def entry(one, label, x, best, same):
    found = cell(same, one.windows or WINDOWS)
    if one.kind == "compute":
        found["draws"] = draws(best)
    candidates = len(one.lines[label][x])
    return {**({"chosen": tuned_tables.described(best), "of": candidates} if candidates > 1 else {}), **found}


def gradients(trained, rows):
    """What was measured of networks on their way, and how soon they got there."""
    arms = {}
    for (label, N), run in networks().items():
        for level in LEVELS:
            if found := measured(rows, run, level):
                arms.setdefault(label, {})[f"N = {N}, reward {level:g}"] = found
        with contextlib.suppress(NotRun):
            arms.setdefault(label, {})[f"N = {N}, speed"] = speed(Evidence(trained, EPISODES), run, N)
    return {"title": "Estimates of the gradient", "arms": arms}


def measured(rows, run, level):
    names = [("reward", False), *((name, right) for right in (False, True) for name in gradient_tables.SCALES)]
    found = {}
    for name, right in names:
        if values := gradient_tables.measured(rows, run, level, EPISODES, name, right):
            found[f"{name}, right critic" if right else name] = [len(values), *four(summary(values))]
    return found


def speed(at, run, N):
    half, same = half_of_best(at, N), at.results(run)
    found = {"half of the best": half}
    for words, target in (("episodes to half", half), ("episodes to 0.8", gradient_tables.LATE)):
        times = [math.inf if (time := episodes_to(result, target)) is None else time for result in same]
        middle = float(np.median(times))
        found[words] = [None if math.isinf(middle) else middle, sum(map(math.isfinite, times)), len(times)]
    return found


# Searches -------------------------------------------------------------------------------------------------------------


def contest(tuning, trained):
    return Comparison(tuning.searches(EPISODES), Trials(trained, finished=True), tuning.length(EPISODES))


def searched(pack):
    tuning = TUNINGS[SEARCHED[pack]]
    found = contest(tuning, results(pack))
    study = {"title": tuning.title, "plan": plan(tuning), "arms": arms(found, tuning.measures)}
    if not tuning.question:
        add_costs(study, found)
    return {tuning.name: study}


def plan(tuning):
    """At each scale: what is tried first, where that does not follow from other results, and the seeds."""
    return {scale: places(tuning.searches(episodes)) for scale, (episodes, _) in SCALES.items()}


def places(searches):
    found = {}
    for place, search in searches.items():
        with contextlib.suppress(LookupError):  # it follows from other results
            found[name(place)] = settings(list(search.given.values()) if search.given else search.grid(Trials()))
        kept = [span(search.seeds.choose), span(search.seeds.more), span(search.seeds.judge), search.seeds.finalists]
        found[f"{name(place)}, seeds"] = [*kept, len(search.steps), search.most]
    return found


def name(place):
    return ", ".join(filter(None, [place.panel, place.label, f"{place.at}"]))


def where(place):
    """On the horizontal axis of its arm."""
    return ", ".join(filter(None, [place.panel, f"{place.at}"]))


def arms(found, measures):
    every = {}
    for place, outcome in found.found.items():
        by = {one: judged(outcome, one) for one in measures}
        told = {"tried": settings(outcome.tried), "grid": len(outcome.grid), **by}
        every.setdefault(place.label, {})[where(place)] = told
    return every


def judged(outcome, by):
    """The best by a measure, on the judging seeds."""
    return {"chosen": tuned_tables.described(outcome.chosen[by]), **cell(outcome.judged[by])}


def add_costs(study, found):
    """The best of equally many tries and, of one hidden layer, what is reached at equal cost."""
    shallow = all(len(run.hidden) == 1 for outcome in found.found.values() for run in outcome.chosen.values())
    for panel in found.panels:
        k = min(tuned_tables.grid_sizes(found, panel), default=0)
        for place in (place for place in found.found if place.panel == panel):
            own = study["arms"][place.label][where(place)]
            own[f"expected best of {k}"] = number(tuned_tables.expected_best(found, k, place))
            for words, cost in (("draws", draws), ("multiply-adds", multiply_adds)) if shallow else ():
                reached = tuned_tables.at_equal_cost(found, cost, place)
                own[f"at equal {words}"] = reached and four(reached)
        for pair in tuned_tables.equal_parameters(found, panel) if shallow else ():
            numbers = [pair.parameters, name(pair.rival), pair.rival_parameters, *three(pair.over)]
            study.setdefault("at equal parameters", {})[name(pair.place)] = numbers


# Beyond the paper -----------------------------------------------------------------------------------------------------


def coordinated(pack):
    title, found = coordination_contest(pack)
    study = {
        "title": title,
        "plan": plan(coordination.tuning(COORDINATED[pack])),
        "arms": arms(found, (coordination.BY,)),
    }
    if found.panels != [""]:
        study["gains"] = {
            f"joint share {share:g}, N = {N}": gains(found, share, N)
            for share in coordination.shares(found)
            for N in coordination.sizes(found)
        }
    return {COORDINATED[pack]: study}


def coordination_contest(pack):
    tuning = coordination.tuning(COORDINATED[pack], coordination.environment(results(pack)))
    found = contest(tuning, results(pack))
    found.usual = found.episodes
    return tuning.title, found


def gains(found, share, N):
    """What backprop has over REINFORCE, and the share of that which c > 0 closes."""
    told = {}
    with contextlib.suppress(NotRun):
        told["gap"] = three(coordination.gap(found, share, N))
        for rule in coordination.COUPLED:
            with contextlib.suppress(coordination.NoGap):
                told[rule] = three(coordination.gain(found, rule, {(share, N): 1.0}))
    return told


def labelled(pack):
    one, study = SUPERVISED[pack], {}
    for row in supervised.rows(one, results(pack)):
        accuracy = four(row.accuracy)
        study.setdefault(row.rule, {})[row.rewards] = {"rate": row.rate, **cell(row.results), "accuracy": accuracy}
    return {one.name: {"title": one.title, "plan": choices(supervised, one), "arms": study}}


def controlled(pack):
    one, study = CONTROLLED[pack], {}
    for kind, rows in control.rows(one, results(pack)).items():
        for row in rows:
            told = {"candidates": len(row.entry.candidates), **cell(row.results)}
            if row.entry.tuned:
                told["c"] = row.run.rules[0].coupling
            if row.entry.published:
                returns = [result.reward for result in row.results]
                told["published"] = [*row.entry.published, control.meets(returns, row.entry.published)]
            study.setdefault(row.entry.label, {})[kind] = told
    return {one.name: {"title": one.title, "plan": choices(control, one), "arms": study}}


def choices(home, one):
    """Among which settings one is chosen, what is trained where there is no choice, and on how many seeds."""
    alone = {result.setting for result in home.final(one, [], range(1))}
    found = {
        "chosen from": settings([run for several in home.rivals(one) for run in several]),
        "others": settings(alone),
    }
    return {**found, "seeds": [home.TUNING, home.SEEDS]}


def frozen(pack):
    """Counts of frozen runs by size, depth and cure, and what is learned where nothing freezes."""
    page = runpy.run_path(str(ROOT / "docs" / "freezing.py"))
    trained, study = by_setting(results(pack)), {}
    for (rule, place, cure), run in page["settings"]().items():
        study.setdefault(rule, {})[f"{place}, {cure}"] = cell(trained[run])
    for rate, run in zip(page["RATES"], page["at_rates"](), strict=True):
        study.setdefault("Algorithm 2, other rates", {})[rate] = cell(trained[run])
    for label, run in page["CURED"].items():
        study[label] = {f"L = {L}": cell(trained[page["deeper"](run, L)]) for L in page["DEPTHS"]}
    return {"freezing": {"title": "How many runs freeze", "arms": study}}


def as_here(result, setting):
    """The scores of a result, of a setting whose environment has the edition that it has here: the pack tells none."""
    scores = {name: getattr(result, name) for name in (*WINDOWS, "seed", "frozen")}
    return types.SimpleNamespace(setting=setting, **scores)


def starting(pack):
    """Settings to start from in environments: mean ranks of what was tried, and what the best of them returns."""
    import gymnasium

    page, packed = runpy.run_path(str(ROOT / "benchmarks" / "starting.py")), results(pack)
    here = {setting: Run.from_dict(setting.to_dict()) for setting in {result.setting for result in packed}}
    kept = [as_here(result, here[result.setting]) for result in packed]
    study, ranks = {}, {}
    for label, kind in page["KINDS"].items():
        tried = [page["flags"]({one: page["value"](run, one) for one in kind.grid}) for run in page["tuning"](kind)[0]]
        ranks[label] = dict(zip(tried, page["mean_ranks"](kind, packed), strict=True))
        for env, runs in page["judged"](kind, page["chosen"](kind, packed)).items():
            for run in runs:
                same = [result for result in kept if result.setting == run and result.seed in page["JUDGING"]]
                study.setdefault(run.rules[0].name, {})[env] = cell(same)
    del gymnasium.registry["TwoCartPoles-v0"]
    return {"starting": {"title": "Settings to start from", "mean ranks": ranks, "arms": study}}


STUDIES = {
    **{pack: functools.partial(plain, pack) for pack in PLAIN},
    **{pack: functools.partial(searched, pack) for pack in SEARCHED},
    **{pack: functools.partial(coordinated, pack) for pack in COORDINATED},
    **{pack: functools.partial(labelled, pack) for pack in SUPERVISED},
    **{pack: functools.partial(controlled, pack) for pack in CONTROLLED},
    "freezing/freezing": functools.partial(frozen, "freezing/freezing"),
    "control/starting": functools.partial(starting, "control/starting"),
}


# Verdicts -------------------------------------------------------------------------------------------------------------


def printed(*words):
    """What a command prints, in this process: one of its own takes seconds to begin."""
    text, given = io.StringIO(), sys.argv
    sys.argv = ["coexplore", *map(str, words)]
    try:
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            cli.main()
    finally:
        sys.argv = given
    return text.getvalue()


def by_id(verdicts):
    return {verdict.pop("id"): verdict for verdict in verdicts}


def claimed(pack):
    """What the pack has runs for; the theory needs none."""
    every = json.loads(printed("claims", "--store", path(pack), "--json"))
    return by_id(one for one in every if one["verdict"] != "not run" and not one["proof"])


def theory():
    smallest = path("questions/one-by-one")
    return by_id(one for one in json.loads(printed("claims", "--store", smallest, "--json")) if one["proof"])


def of_coordination(pack):
    verdicts = judge_coordination(COORDINATED[pack], coordination_contest(pack)[1])
    return by_id(json.loads(json.dumps([one.to_dict() for one in verdicts])))


CLAIMS = {
    "theory": theory,
    **{pack: functools.partial(claimed, pack) for pack in (*PLAIN, *SEARCHED)},
    **{pack: functools.partial(of_coordination, pack) for pack in COORDINATED},
}
