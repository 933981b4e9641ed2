"""The figures as pictures: what they must say, and that they are drawn the same again."""

import numpy as np
import pytest

from coexplore import Boltzmann, Result
from coexplore.network import Params
from coexplore.paper.evidence import NotRun
from coexplore.paper.figures import FIGURES, runs
from coexplore.paper.pictures import draw

EPISODES = 16_000


def made_up(*names, seeds=2, frozen=False):
    """Curves that rise to a height of their own for each setting."""
    snapshots = {"firing.0": np.ones((1, 8))} if frozen else {}
    for i, run in enumerate(runs(names, EPISODES, seeds)):
        height = 0.0 if frozen else (i % 7) / 10 + 0.2
        yield Result(run, "cpu", np.linspace(0, height, 1000, dtype=np.float32), Params((), None), {}, snapshots)


def text(path):
    return path.read_text()


@pytest.mark.parametrize("name", ["fig2", "fig3", "figa5", "binary", "compute"])
def test_a_figure_is_drawn_as_png_and_svg_and_says_its_scale(name, tmp_path):
    png, svg = draw(FIGURES[name], made_up(name), tmp_path, EPISODES)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "16,000 episodes, not the paper's 4,000,000" in text(svg)
    assert "mean ± sd over 2 seeds" in text(svg)
    assert ("(ours, not in the paper)" in text(svg)) == FIGURES[name].ours
    for label in FIGURES[name].lines:
        assert f"<!-- {label} -->" in text(svg)


def test_drawn_again_a_picture_has_the_same_bytes(tmp_path):
    again = [draw(FIGURES["figa3"], made_up("figa3"), tmp_path / str(i), EPISODES) for i in range(2)]
    assert [path.read_bytes() for path in again[0]] == [path.read_bytes() for path in again[1]]


def test_collapsed_runs_and_missing_ones_are_told(tmp_path):
    frozen = [result for result in made_up("figa1", frozen=True) if result.run.rule.steps > 1]
    _, svg = draw(FIGURES["figa1"], frozen, tmp_path, EPISODES)
    assert "16 of 16 runs collapsed" in text(svg)
    assert "1 settings not trained" in text(svg)


def test_bars_say_which_coupling_was_best(tmp_path):
    best = [r for r in made_up("fig3") if not isinstance(r.run.rule, Boltzmann) or r.run.rule.coupling != 0.4]
    best += [
        Result(r.run, "cpu", r.curve * 0 + 1, Params((), None))
        for r in made_up("fig3")
        if isinstance(r.run.rule, Boltzmann) and r.run.rule.coupling == 0.4
    ]
    _, svg = draw(FIGURES["fig3"], best, tmp_path, EPISODES)
    assert text(svg).count("<!-- c = 0.4 -->") >= 6


def test_a_figure_of_which_nothing_was_trained_is_not_drawn(tmp_path):
    with pytest.raises(NotRun, match="fig2: nothing of it"):
        draw(FIGURES["fig2"], made_up("fig2"), tmp_path)
    assert not list(tmp_path.iterdir())
