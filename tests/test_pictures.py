"""The figures as pictures: what they must say, and that they are drawn the same again."""

import numpy as np
import pytest

from coexplore import Boltzmann, Result
from coexplore.network import Params
from coexplore.paper.evidence import NotRun
from coexplore.paper.figures import FIGURES, runs
from coexplore.paper.pictures import draw
from coexplore.results.palette import legend
from coexplore.results.plots import heat, panels
from coexplore.stats.estimates import summary


def made_up(*names, seeds=1, episodes=4_000_000, frozen=False):
    """Curves that rise to a height of their own for each setting; Algorithm 1 is best at c = 0.4."""
    snapshots = {"firing.0": np.ones((1, 8))} if frozen else {}
    for i, run in enumerate(runs(names, episodes, seeds)):
        best = isinstance(run.rule, Boltzmann) and run.rule.coupling == 0.4
        height = 0.0 if frozen else 1.0 if best else (i % 7) / 10 + 0.2
        yield Result(run, "cpu", np.linspace(0, height, 1000, dtype=np.float32), Params((), None), {}, snapshots)


@pytest.mark.parametrize("name", ["fig2", "fig3", "figa5", "binary", "compute", "depth-paper", "coupling-steps"])
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


def test_a_map_writes_every_mean_into_its_cell_and_nothing_where_nothing_was_trained():
    _, (axes,) = panels(1)
    levels = {"c = 0.1": {1: 0.25, 2: -0.5}, "c = 1": {2: 1.0}}
    heat(axes, {row: {x: summary([mean]) for x, mean in found.items()} for row, found in levels.items()}, "T")
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
