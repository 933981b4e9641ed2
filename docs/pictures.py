"""The pictures in results/ drawn again from the packs beside them; nothing is trained.

python docs/pictures.py [FOLDER …]      all, or those of cuda, depth, questions, control, coordination, supervised …
"""

import sys
import tempfile
from pathlib import Path

import freezing
from PIL import Image

from coexplore.beyond import control, coordination, coordination_tables, supervised
from coexplore.beyond.pictures import draw as draw_beyond
from coexplore.paper.checkpoints import read_table
from coexplore.paper.evidence import Evidence, found
from coexplore.paper.figure import SCALES
from coexplore.paper.figures import FIGURES
from coexplore.paper.gradient_pictures import draw as draw_gradients
from coexplore.paper.pictures import draw
from coexplore.paper.tuned import Comparison
from coexplore.paper.tuned_pictures import draw as draw_tuned
from coexplore.paper.tunings import TUNINGS
from coexplore.store import read
from coexplore.study.search import Trials

RESULTS = Path(__file__).parents[1] / "results"
EPISODES = SCALES["paper"].episodes


def packed(*names):
    """The results of these packs."""
    return [result for name in names for result in read(RESULTS / f"{name}.safetensors")[0]]


def figures(folder, *packs):
    """Those whose pictures are there already, each from the pack that has most of it, of these the first; an SVG is
    made beside each, and not kept."""
    results = [packed(f"{folder}/{pack}") for pack in packs]
    with tempfile.TemporaryDirectory() as made:
        for name, figure in FIGURES.items():
            if (RESULTS / folder / f"{name}.png").exists():
                lacking = [found(figure, Evidence(one, figure.length(EPISODES)))[1] for one in results]
                best = results[lacking.index(min(lacking))]
                kept(draw(figure, best, made, EPISODES), folder)


def tuned(folder, name, *packs):
    tuning = TUNINGS[name]
    trials = Trials(packed(*(f"{folder}/{pack}" for pack in packs)), finished=True)
    contest = Comparison(tuning.searches(EPISODES), trials, tuning.length(EPISODES))
    with tempfile.TemporaryDirectory() as made:
        kept(draw_tuned(tuning, contest, Path(made)), folder)


def kept(paths, folder):
    for path in paths:
        if path.suffix == ".png":
            (RESULTS / folder / path.name).write_bytes(path.read_bytes())
            print(RESULTS / folder / path.name)


def beyond(folder, home):
    for name, comparison in home.COMPARISONS.items():
        pack = RESULTS / folder / f"{name}.safetensors"
        if pack.exists():
            print(draw_beyond(comparison, home.rows(comparison, read(pack)[0]), RESULTS / folder))


def coordinated():
    for name in ("coordination", "coordination-in-time"):
        results = packed(f"coordination/{name}")
        tuning = coordination.tuning(name)
        contest = Comparison(tuning.searches(EPISODES), Trials(results, finished=True), tuning.length(EPISODES))
        coordination_tables.draw(tuning.title, contest, RESULTS / "coordination" / f"{name}.png")
        print(RESULTS / "coordination" / f"{name}.png")


def cuda():
    figures("cuda", "paper-200", "paper")
    tuned("cuda", "tuned", "tuned")
    tuned("cuda", "scaling", "scaling", "tuned")
    tuned("cuda", "depth", "depth")


def questions():
    packs = ("odd-even", "coupling-steps", "one-rule-paper", "one-by-one", "depression", "batches", "why")
    figures("questions", *packs)
    for name in ("one-rule", "centres", "layer-rewards"):
        tuned("questions", name, name)
    pack = RESULTS / "questions" / "why.safetensors"
    with tempfile.TemporaryDirectory() as made:
        kept(draw_gradients(read_table(pack), Path(made), EPISODES), "questions")


def make_smaller(path):
    """Six bits of each colour will do: it is smaller, and no eye sees the difference."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").point([(level // 4) * 4 + level // 64 for level in range(256)] * 3)
    small.save(path, optimize=True)


FOLDERS = {
    "cpu": lambda: figures("cpu", "paper"),
    "cuda": cuda,
    "depth": lambda: figures("depth", "depth"),
    "questions": questions,
    "freezing": lambda: freezing.draw(packed("freezing/freezing"), RESULTS / "freezing" / "freezing.png"),
    "control": lambda: beyond("control", control),
    "supervised": lambda: beyond("supervised", supervised),
    "coordination": coordinated,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FOLDERS:
        FOLDERS[name]()
        for picture in (RESULTS / name).glob("*.png"):
            make_smaller(picture)
