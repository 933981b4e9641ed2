"""The figures as pictures: what they must say, and that they are drawn the same again."""

import numpy as np
import pytest

from coexplore import Boltzmann, Result, Rule, Run, grid
from coexplore.network import Params
from coexplore.paper.defaults import RULES
from coexplore.paper.evidence import NotRun
from coexplore.paper.figures import FIGURES, runs
from coexplore.paper.pictures import draw
from coexplore.paper.tables import table
from coexplore.results import marks, naming, plots
from coexplore.results.naming import apart
from coexplore.results.palette import legend
from coexplore.stats.estimates import summary
from coexplore.stats.modes import bimodal


def made_up(*names, seeds=1, episodes=4_000_000, frozen=False):
    """Curves that rise to a height of their own for each setting; Algorithm 1 is best at c = 0.4."""
    snapshots = {"firing.0": np.ones((1, 8))} if frozen else {}
    for i, run in enumerate(runs(names, episodes, seeds)):
        best = isinstance(run.rule, Boltzmann) and run.rule.coupling == 0.4
        height = 0.0 if frozen else 1.0 if best else (i % 7) / 10 + 0.2
        yield Result(run, "cpu", np.linspace(0, height, 1000, dtype=np.float32), Params((), None), {}, snapshots)


@pytest.mark.parametrize(
    "name", ["fig2", "fig3", "figa5", "binary", "compute", "depth-paper", "coupling-steps", "local-critics"]
)
def test_a_figure_is_drawn_as_png_and_svg_with_every_line_named(name, tmp_path):
    png, svg = draw(FIGURES[name], made_up(name), tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert ("(ours, not in the paper)" in text) == FIGURES[name].ours
    for label, places in FIGURES[name].lines.items():
        (first, *_), *_ = places.values()
        assert f"<!-- {legend(label, first.rule.name)} -->" in text
    assert ("1,000,000 episodes, not the paper's" in text) == (name == "depth-paper")
    assert text.count("not the paper's") == (name == "depth-paper")
    assert text.count("<!-- c = 0.4 -->") >= (6 if name == "fig3" else 0)  # bars say which coupling was best


def test_places_that_are_words_stand_under_the_bars_and_in_the_table(tmp_path):
    figure, results = FIGURES["local-critics"], list(made_up("local-critics", seeds=2))
    _, svg = draw(figure, results, tmp_path)
    assert all(svg.read_text().count(f"<!-- {critic} -->") == 2 for critic in ("relu", "linear", "mean"))
    rows = [line.split(" | ")[:3] for line in table(figure, results).splitlines() if line.startswith("| ")][2:]
    assert rows == [[f"| {label}", critic, "2"] for label in RULES for critic in ("relu", "linear", "mean")]


def test_a_map_writes_every_mean_into_its_cell_and_nothing_where_nothing_was_trained():
    _, (axes,) = plots.panels(1)
    levels = {"c = 0.1": {1: 0.25, 2: -0.5}, "c = 1": {2: 1.0}}
    marks.heat(axes, {row: {x: summary([mean]) for x, mean in found.items()} for row, found in levels.items()}, "T")
    written = {(text.get_position(), text.get_text()) for text in axes.texts}
    assert written == {((0, 0), ".25"), ((1, 0), "-.50"), ((1, 1), "1.00")}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["c = 0.1", "c = 1"]


def test_drawn_again_a_picture_has_the_same_bytes_and_says_its_scale_and_seeds(tmp_path):
    results = list(made_up("compute", seeds=2, episodes=16_000))
    again = [draw(FIGURES["compute"], results, tmp_path / str(i), 16_000) for i in range(2)]
    assert [path.read_bytes() for path in again[0]] == [path.read_bytes() for path in again[1]]
    assert "mean ± sd over 2 seeds · 16,000 episodes, not the paper's 4,000,000" in again[0][1].read_text()


def test_frozen_runs_and_missing_ones_are_told(tmp_path):
    frozen = [result for result in made_up("figa1", frozen=True) if result.run.rule.steps > 1]
    _, svg = draw(FIGURES["figa1"], frozen, tmp_path)
    assert "8 of 8 runs froze" in svg.read_text()
    assert "1 setting not trained" in svg.read_text()


def test_a_figure_of_which_nothing_was_trained_is_not_drawn(tmp_path):
    with pytest.raises(NotRun, match="fig2: nothing of it"):
        draw(FIGURES["fig2"], made_up("fig2"), tmp_path, 400_000)
    assert not list(tmp_path.iterdir())


def test_names_keep_apart_in_order_as_near_to_their_lines_as_they_can():
    assert apart([0.2, 0.8], 0.1) == [0.2, 0.8]
    assert apart([0.5, 0.5, 0.9], 0.1) == pytest.approx([0.45, 0.55, 0.9])
    assert apart([1.0, 1.0, 0.99], 0.1) == pytest.approx([0.9, 1.0, 0.8])
    many = apart([0.4 + 0.01 * (i % 3) for i in range(9)], 0.1)
    assert min(np.diff(sorted(many))) == pytest.approx(0.1)


def test_hundreds_of_settings_and_long_names_leave_room_for_the_plot(tmp_path):
    several = {"coupling": [0.1, 0.2], "recurrent_rate": [0.1, 0.2], "hidden": [(64,) * 30, (32,) * 40]}
    for settings in (grid(Run(), coupling=[i / 300 for i in range(300)]), grid(Run(), **several)):
        curve = np.linspace(0, 1, 1000, dtype=np.float32)
        figure = plots.plot([Result(run, "cpu", curve, Params((), None)) for run in settings], tmp_path / "x.png")
        (axes,) = figure.axes
        assert axes.get_position().width > 0.2
        names = [text.get_text() for text in (axes.get_legend() or axes).texts]
        assert len(names) <= marks.MOST_NAMED
        assert max(map(len, names)) <= naming.LONGEST
        assert len(settings) == len(names) or names[-1] == "… and 277 more"


def own_rule(label):
    class Own(Rule):
        name, title, version = label, "a rule of somebody's own", "1"

        def credit(self, layer, signal, above):
            return layer.params

    return Own()


def test_where_rules_share_a_colour_a_legend_shows_their_dashes_and_markers():
    curve = np.linspace(0, 1, 1000, dtype=np.float32)
    for count, legends in ((6, False), (7, True)):
        results = [Result(Run(rule=own_rule(f"own-{k}")), "cpu", curve, Params((), None)) for k in range(count)]
        (axes,) = plots.plot(results).axes
        assert bool(axes.get_legend()) == legends
        drawn = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in axes.lines}
        assert len(drawn) == count


def test_two_kinds_of_runs_are_seen_and_one_kind_is_not():
    rng = np.random.default_rng(0)
    kinds = [[*rng.normal(0.9, 0.02, n), *rng.normal(0.0, 0.01, 20 - n)] for n in (1, 10, 19)]
    assert all(bimodal(values, (0, 1)) for values in kinds)
    assert not any(bimodal(rng.normal(0.8, 0.03, 20), (0, 1)) for _ in range(200))
    assert sum(bimodal(rng.uniform(0.2, 0.9, 20), (0, 1)) for _ in range(200)) < 20
    assert not bimodal([0.5] * 20, (0, 1))


def test_nothing_is_drawn_beyond_what_is_possible_and_runs_of_two_kinds_are_dots():
    _, (axes,) = plots.panels(1, wide=True)
    apart = marks.Place(0.75, 0.45, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], (0.0, 1.0))
    alike = marks.Place(0.95, 0.2, [0.9, 1.0, 0.95, 0.92, 0.98], (0.0, 1.0), "c = 0.4")
    marks.bars(axes, {"boltzmann": {8: apart, 16: alike}}, plots.lines({"boltzmann": "boltzmann"}))
    dots = [line for line in axes.lines if line.get_marker() == "."]
    assert [list(one.get_ydata()) for one in dots] == [apart.values]
    ends = np.concatenate([segment for one in axes.collections for segment in one.get_segments()])
    assert ends[:, 1].max() <= 1.0
    assert [text.get_text() for text in axes.texts] == ["c = 0.4"]
    _, (axes,) = plots.panels(1)
    results = {"boltzmann": [one for one in made_up("fig2", seeds=3) if one.run.rule.name == "boltzmann"][:3]}
    results["boltzmann"][0].curve[:] = 1.0
    marks.curves(axes, results, plots.lines({"boltzmann": "boltzmann"}))
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert 0.0 <= band.min() < band.max() <= 1.0


def test_a3_and_a4_are_differences_from_the_default(tmp_path):
    for name in ("figa3", "figa4"):
        assert FIGURES[name].against in FIGURES[name].lines
        _, svg = draw(FIGURES[name], made_up(name, seeds=2), tmp_path)
        assert f"<!-- reward, difference from {FIGURES[name].against} -->" in svg.read_text()
