"""Results as tables: a frame, files, and what a list of results shows of itself."""

import contextlib
import copy
import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from coexplore import (
    Backprop,
    Boltzmann,
    Digits,
    Failure,
    Linear,
    Multiplexer,
    Reinforce,
    Result,
    Run,
    frame,
    grid,
    load,
    plot,
    train,
)
from coexplore.cli.tables import evaluation_table
from coexplore.report.settings import Settings
from coexplore.results.frames import run_table
from coexplore.results.listing import Results, lines
from coexplore.results.sorting import ordered
from coexplore.results.tables import as_it_is, latex, markdown
from coexplore.run import labels
from coexplore.run.evaluation import Evaluation
from coexplore.run.result import Held, Scores
from coexplore.settings import FieldError
from coexplore.stats.seed_summary import METHOD
from coexplore.store import Store, folder, pack, read
from coexplore.study.progress import shown

SMALL = Run(task=Multiplexer(bits=1), hidden=5, episodes=1600)
FALLING = Run(rule=Boltzmann(coupling=Linear(0.4, 0.1)), seed=3)
DEEP = Run(rule=(Boltzmann(), Reinforce()), hidden=(64, 32), learning_rate=(0.1, Linear(0.2, 0.02), 0.3, 0.4))
LABELS = Run(rule=Backprop(), task=Digits(), critic=None)
ABOUT = {"seconds": 1.5, "finished": "2026-11-16T01:00:35+00:00"}


def made(run, last=0.5, **more):
    """A result that nobody trained."""
    curve, about = np.full(4, last, np.float32), ABOUT | more.get("about", {})
    return Result.stored(
        run, "xla", Held(curve, None, {}), about, Scores(last, last, last, False, more.get("accuracy")), curve
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("store")
    runs = [*grid(SMALL, coupling=[0, 0.25], seed=range(2)), Run(Reinforce(), Multiplexer(1), 12, episodes=1600)]
    for result in train(runs, progress=False):  # nobody looks into the networks, which would take seconds to compile
        Store(place).save(result)
    return place


def test_a_frame_has_numbers_and_a_column_for_each_part_of_what_is_not_one_number():
    table = frame([made(FALLING), made(DEEP), made(LABELS, accuracy=0.9)])
    first, deep, labels = (table.iloc[i] for i in range(3))
    kinds = {"coupling": "float64", "steps": "Int64", "units": "Int64", "episodes": "int64", "frozen": "bool"}
    assert {name: str(table[name].dtype) for name in kinds} == kinds
    assert str(table["finished"].dtype).startswith("datetime64")
    assert table["seconds"].sum() == 4.5
    assert np.isnan(first["coupling"])
    assert (first["coupling_start"], first["coupling_stop"]) == (0.4, 0.1)
    assert first["units"] == 64
    assert pd.isna(first["units_1"])
    assert first["learning_rate"] == 0.005
    assert pd.isna(deep["units"])
    assert (deep["units_1"], deep["units_2"]) == (64, 32)
    assert (deep["learning_rate_1"], deep["learning_rate_2_start"], deep["learning_rate_2_stop"]) == (0.1, 0.2, 0.02)
    assert (deep["rule"], deep["layers"], deep["coupling"]) == ("boltzmann+reinforce", "boltzmann,reinforce", 0.25)
    assert (labels["task"], labels["accuracy"], labels["critic"]) == ("digits", 0.9, "none")
    assert pd.isna(labels["bits"])
    assert pd.isna(labels["steps"])
    assert np.isnan(first["accuracy"])
    assert list(table["seed"]) == [3, 0, 0]
    columns = list(table)
    assert columns[columns.index("coupling") :][:3] == ["coupling", "coupling_start", "coupling_stop"]


def test_one_result_makes_a_frame_too_and_what_is_none_is_refused():
    assert len(frame(made(FALLING))) == 1
    assert len(frame([])) == 0
    with pytest.raises(FieldError, match=r"results: Run\(.*\) is not allowed; give Results"):
        frame([FALLING])


def test_words_and_numbers_of_one_name_are_words(monkeypatch):
    """Two rules may mean different things by a name; no file has columns of both."""
    cells = {DEEP: {"strength": 0.5}, FALLING.setting: {"strength": "much"}, LABELS: {}}
    monkeypatch.setattr("coexplore.results.frames.parts", lambda setting: {"strength": cells[setting]})
    told = run_table([made(DEEP), made(FALLING), made(LABELS)])["strength"]
    assert told == ["0.5", "much", None]


def test_the_curves_are_those_of_the_runs_and_join_them(store):
    results = load(store)
    runs, curves = frame(results), frame(results, curves=True)
    assert len(curves) == 5 * 100
    assert {name: str(kind) for name, kind in curves.dtypes.items() if name in ("seed", "episodes", "reward")} == {
        "seed": "int64",
        "episodes": "float64",
        "reward": "float64",
    }
    for result in results:
        mine = curves[curves["digest"] == result.digest]
        assert np.array_equal(mine["reward"].to_numpy(np.float32), result.curve)
        assert np.array_equal(mine["episodes"], result.episodes)
    joined = curves.merge(runs, on=["digest", "engine"], suffixes=("", "_of_run"))
    assert np.allclose(joined.groupby("digest")["reward"].mean(), runs.set_index("digest")["reward"].sort_index())


def test_stores_their_index_and_packs_give_the_frame_that_training_gave(store, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "LEAST_INDEXED", 1)
    trained = train([result.run for result in load(store)], store=store, progress=False)
    read(store)  # from now on there is an index
    pack(trained, tmp_path / "pack.safetensors")
    for place in (store, tmp_path / "pack.safetensors"):
        table = frame(load(place)).sort_values("digest", ignore_index=True)
        pd.testing.assert_frame_equal(table, frame(trained).sort_values("digest", ignore_index=True))
    assert {type(result.contents).__name__ for result in load(store)} == {"InIndex"}


def test_exports_hold_the_frame(store, tmp_path, here):
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": lambda path: pd.read_json(path, dtype=False)}
    for words in ([], ["--curves"]):
        wanted = frame(ordered(load(store)), curves=bool(words))
        for ending, reader in readers.items():
            path = tmp_path / f"x.{ending}"
            done = here("runs", "--store", store, "--export", path, *words)
            assert (done.returncode, done.stdout) == (0, f"5 runs: {path}\n")
            table = reader(path)
            assert list(table) == list(wanted)
            columns = ["digest", "reward", "seed", *([] if words else ["coupling", "units", "frozen"])]
            pd.testing.assert_frame_equal(table[columns], wanted[columns], check_dtype=ending == "parquet", rtol=1e-12)
    assert {type(run["steps"]) for run in json.loads((tmp_path / "x.json").read_text()) if "steps" in run} <= {int}


def test_the_table_of_settings_is_printed_for_a_paper(store, here):
    words = ("runs", "--store", store, "--sort", "last", "--format")
    results = load(store)
    settings = {label: [r for r in results if r.setting == s] for s, label in named_settings(results)}
    rows = list(csv.DictReader(io.StringIO(here(*words, "csv").stdout)))
    assert [row["seeds"] for row in rows].count("2") == 2
    for row in rows:
        same = settings.pop(row["setting"])
        learned = [result.last for result in same if not result.frozen]
        assert float(row["last_mean"]) == pytest.approx(np.mean(learned), rel=1e-12)
        assert row["last_sd"] == ("" if len(learned) == 1 else repr(float(np.std(learned, ddof=1))))
        assert (row["last_low"], row["last_high"]) == ("", "")  # of so few there is no interval
        assert row["last_seeds"] == row["seeds"] == str(len(same))
        assert row["last_frozen"] == str(len(same) - len(learned))
    assert not settings
    table = here(*words, "markdown").stdout.splitlines()
    assert table[2] == "| setting | seeds | first quarter | last quarter | frozen |"
    assert table[3] == "| --- | --- | --- | --- | --- |"
    below = table.index("", 4)
    assert [line.split(" | ")[0].removeprefix("| ") for line in table[4:below]] == [row["setting"] for row in rows]
    assert all(line.startswith("- ") for line in table[below + 1 :])
    page = here(*words, "latex").stdout.splitlines()
    notes = [line for line in page if line.startswith("% ")]
    assert notes[0].startswith("% reward: mean")
    assert len(notes) == 1 + len(table[below + 1 :])
    page = page[len(notes) :]
    assert page[0] == r"\begin{tabular}{lrrrr}"
    assert [line.split(" & ")[0] for line in page[4:-2]] == [row["setting"] for row in rows]
    assert page[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert here(*words, "table").stdout == here(*words[:-1]).stdout


def named_settings(results):
    settings = list(dict.fromkeys(result.setting for result in results))
    return zip(settings, labels(settings), strict=True)


def test_latex_is_escaped_and_a_minus_is_a_minus():
    row = latex(["a_b", "50 %"], [["units=64-64 rate=1e-05 {x} \\ ~^<>|#$&", "-0.5 ± 0.1  [-0.6, −0.4]"]]).splitlines()
    assert row[2] == r"a\_b & 50 \% \\"
    name, number = row[4].removesuffix(r" \\").split(" & ")
    assert name == (
        r"units=64-64 rate=1e-05 \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{}\#\$\&"
    )
    assert number == r"$-$0.5 $\pm$ 0.1  [$-$0.6, $-$0.4]"


def test_markdown_reads_no_markup_in_the_name_of_a_setting():
    name = as_it_is(r"mode=<b>*x*_y_`z`\ a|b&lt;")
    assert markdown(["setting"], [[name]]).splitlines()[2] == (r"| mode=\<b\>\*x\*\_y\_\`z\`\\ a&#124;b\&lt; |")
    assert as_it_is("boltzmann units=8-8 rate=1e-5") == "boltzmann units=8-8 rate=1e-5"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--format", "latx"],
            "format: 'latx' is not allowed (did you mean 'latex'?); give table | markdown | latex | csv",
        ),
        (["--format", "csv", "--export", "x.csv"], "format: 'csv' is not allowed; give either --format"),
        (["prune", "--format", "csv"], "format: 'csv' is not allowed; give it without prune"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(words, line, store, here):
    done = here("runs", *words, "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"coexplore: {line}")


def test_without_pandas_text_is_written_and_the_rest_says_what_to_install(store, tmp_path, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert here("runs", "--store", store, "--export", tmp_path / "x.csv").returncode == 0
    done = here("runs", "--store", store, "--export", tmp_path / "x.parquet")
    assert (done.returncode, done.stderr) == (
        2,
        "coexplore: pandas: not installed here; pip install 'coexplore[pandas]'\n",
    )
    assert not (tmp_path / "x.parquet").exists()


def test_a_list_of_results_shows_a_short_table_and_stays_a_list(store):
    results = load(store)
    assert type(results) is type(results[1:]) is type(results + results[:1]) is Results
    assert results == list(results)
    assert results[1:] == list(results)[1:]
    assert results[0] is next(iter(results))
    lines = repr(results).splitlines()
    assert lines[0] == f"5 runs (cpu), 0 of them frozen; reward: {METHOD}"
    assert [line.split()[:2] for line in lines[2:]].count(["boltzmann", "coupling=0.25"]) == 1
    assert len(lines) == 5 + 3  # below it: what the values and the share are, and that one setting is the best of two
    many = Results(made(run, 0.25) for run in grid(FALLING, learning_rate=list(np.linspace(0.1, 1, 30)), seed=[0, 1]))
    lines = repr(many).splitlines()
    assert len(lines) == 2 + 20 + 4
    assert "10 settings more" in lines[-1]
    assert "0.250 (0.250, 0.250)" in lines[2]
    assert max(map(len, lines)) < 120
    assert repr(Results()) == Results()._repr_html_() == "no results"


def test_failures_are_a_line_below_the_table_of_the_list_that_train_gave_and_of_no_other():
    failures = [Failure(FALLING.with_seed(seed), "cpu", f"<reason {seed}>") for seed in (4, 5)]
    results = Results([made(FALLING)], failures)
    assert results.failures == tuple(failures)
    assert repr(results).splitlines()[-1] == "2 runs failed (see results.failures); the first: <reason 4>"
    assert results._repr_html_().endswith("<p>2 runs failed (see results.failures); the first: &lt;reason 4&gt;</p>")
    assert copy.copy(results).failures == results.failures
    for others in (results[:], results + results[:], Results([made(FALLING)])):
        assert others.failures == ()
        assert "failed" not in repr(others)
    assert "1 run failed" in repr(Results([made(FALLING)], failures[:1]))


def searched():
    """Two settings on two seeds that chose, the better one on two that judged; and a third setting by itself."""
    found = [
        made(run, 0.9 if run.hidden == (8,) else 0.1, about={"trained_for": "choosing"})
        for run in grid(FALLING, units=[8, 16], seed=range(2))
    ]
    judged = grid(FALLING, units=8, seed=range(2, 4))
    found += [made(run, 0.5, about={"trained_for": "judging"}) for run in judged]
    return [*found, *(made(run, 0.2) for run in grid(FALLING, units=32, seed=range(3)))]


def test_seeds_that_chose_and_seeds_that_judged_are_not_averaged():
    headings, rows, said, _ = lines(searched())
    assert headings[:4] == ["setting", "trained for", "seeds", "first quarter"]
    assert [row[:4] for row in rows] == [
        ["boltzmann units=8", "choosing", "2", "0.900 (0.900, 0.900)"],
        ["boltzmann units=16", "choosing", "2", "0.100 (0.100, 0.100)"],
        ["boltzmann units=8", "judging", "2", "0.500 (0.500, 0.500)"],
        ["boltzmann units=32", "none", "3", "0.200 (0.200, 0.200, 0.200)"],
    ]
    assert said[-1].startswith("best of 3:")  # the one that was judged is none of them
    best_first = ordered(searched(), "last")
    assert [(r.run.hidden[0], r.trained_for) for r in best_first] == [
        *[(8, "choosing")] * 2,
        *[(8, "judging")] * 2,
        *[(32, "none")] * 3,
        *[(16, "choosing")] * 2,
    ]
    assert list(frame(best_first).groupby(["setting", "trained_for"])["last"].mean().round(3)) == [0.1, 0.2, 0.9, 0.5]
    assert "trained for" not in lines(searched()[6:]).headings
    odd = made(FALLING, about={"trained_for": ["what", "else"]})  # a file may say anything
    assert odd.trained_for == "none"


def test_pictures_the_report_and_evaluations_keep_them_apart_too():
    axes = plot(searched()).axes[0]
    assert sorted(text for text in _texts(axes) if "trained-for" in text) == [
        "Algorithm 1 · boltzmann units=16 trained-for=choosing",
        "Algorithm 1 · boltzmann units=32 trained-for=none",
        "Algorithm 1 · boltzmann units=8 trained-for=choosing",
        "Algorithm 1 · boltzmann units=8 trained-for=judging",
    ]
    settings = Settings(searched())
    assert [(row["words"]["trained-for"], len(row["runs"])) for row in settings.rows] == [
        ("choosing", 2),
        ("choosing", 2),
        ("judging", 2),
        ("none", 3),
    ]
    assert len({row["id"] for row in settings.rows}) == 4
    chosen = searched()[4].setting
    assert settings.rows[settings.place[chosen]]["words"]["trained-for"] == "judging"
    assert settings.place_in_figure(chosen, searched()[4:6]) == settings.place[chosen]
    assert settings.place_in_figure(chosen, searched()[:2]) == 4  # a row of its own
    seen = {result: Evaluation(np.full(3, result.last)) for result in searched()}
    assert evaluation_table(seen, None).columns[1]._cells == ["choosing", "choosing", "judging", "none"]


def _texts(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in [*axes.texts, *(legend.get_texts() if legend else [])]]


def test_a_notebook_gets_a_table_in_which_names_are_only_text(monkeypatch):
    results = Results([made(FALLING)])
    monkeypatch.setattr("coexplore.results.listing.labels", lambda runs: ["<script>"] * len(runs))
    shown = results._repr_html_()
    assert "<td>&lt;script&gt;</td><td>1</td><td>0.500</td>" in shown
    assert "<script>" not in shown


def test_a_result_is_two_lines_the_second_of_which_repeats_it(store, here, monkeypatch):
    result = load(store)[0]
    told, command = str(result).splitlines()
    assert told.startswith(f"reward {result.reward:.3f}, first quarter")
    assert told.endswith(f"(cpu, seed {result.seed})")
    asked = []
    monkeypatch.setattr("coexplore.cli.train.train_all", lambda runs, options, store: asked.extend(runs))
    here(*command.split()[1:])
    assert asked == [result.run]
    assert "accuracy 0.900" in str(made(LABELS, accuracy=0.9))


def test_settings_are_sorted_by_size_and_scores_from_the_best():
    runs = grid(FALLING.setting, units=[64, 8, 100], seed=[1, 0])
    results = [made(run, last) for run, last in zip(runs, (0.1, 0.2, 0.9, 0.8, 0.5, 0.5), strict=True)]
    results.append(made(DEEP, 0.0))
    units = [result.run.hidden for result in ordered(results)]
    assert units == [(8,), (8,), (64,), (64,), (100,), (100,), (64, 32)]
    assert [result.seed for result in ordered(results)][:4] == [0, 1, 0, 1]
    assert [result.run.hidden[0] for result in ordered(results, "last")][::2] == [8, 100, 64, 64]
    assert [result.run.hidden for result in ordered(results, "learning-rate")][-1] == (64, 32)
    with pytest.raises(FieldError, match=r"sort: 'unit' is not allowed \(did you mean 'units'\?\); give one of rule, "):
        ordered(results, "unit")


def test_a_picture_shows_itself_once_and_needs_no_pyplot(store):
    picture = plot(load(store))
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(picture, "number")  # pyplot would show it a second time


def test_progress_in_a_notebook_without_widgets_warns_of_nothing_and_moves_no_cursor(monkeypatch, capsys):
    """Warnings are errors here; rich has one for a notebook that it cannot draw in."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with contextlib.ExitStack() as stack:
        bars = stack.enter_context(shown([SMALL]))
        bars.begin()
        bars.advance([SMALL], 100, np.array([0.5]))
    told = capsys.readouterr().err
    assert "boltzmann" in told
    assert "100%" in told
    assert "\x1b" not in told
