"""A rule that is edited between trainings with a store, in a script, a REPL and a notebook; test_ray.py has Ray.

New code never gets the numbers of old code, and a changed comment trains nothing.
"""

import os
import subprocess
import sys

import pytest

HELPER = "def bend(h):\n    return h - 0.5\n"
RULE = """
class Bending(Rule):
    name, title = "bending", "a rule that is edited"

    def credit(self, layer, signal, above):
        return outer(layer.x, signal * bend(layer.h))
"""
IMPORTS = "from coexplore import Rule, Run, outer\nfrom coexplore.study import study\n"
TRAIN = """
done = study(Run(rule=Bending(), hidden=(4,), episodes=320), store="runs", progress=False)
print("AFTERNOON", done.trained, float(abs(done.results[0].params.layers[0].W).sum()))
"""
EDITS = {  # what is edited: the helper, the rule, how many runs are trained
    "nothing": (HELPER, RULE, 1),
    "a comment in the helper": (HELPER.replace("    return", "    # centred\n    return"), RULE, 0),
    "a docstring in the rule": (HELPER, RULE.replace("    name,", '    """Bends."""\n\n    name,'), 0),
    "the helper": (HELPER.replace("0.5", "0.25"), RULE, 1),
    "the rule": (HELPER, RULE.replace("signal *", "2 * signal ** 3 *"), 1),
    "the rule back again": (HELPER, RULE, 0),
}


def check(texts):
    """That each edit trained as many runs as it should, and that equal code has equal numbers."""
    lines = [line.split() for text in texts for line in text.splitlines() if "AFTERNOON" in line]
    trained = [int(words[-2]) for words in lines]
    sums = dict(zip(EDITS, (float(words[-1]) for words in lines), strict=True))
    assert trained == [count for *_, count in EDITS.values()]
    assert len(set(sums.values())) == sum(trained)
    assert {sums[what] for what in EDITS if what not in ("the helper", "the rule")} == {sums["nothing"]}


@pytest.mark.learning
def test_in_a_script_whose_modules_are_edited(tmp_path):
    (tmp_path / "script.py").write_text("from rules import *\n" + TRAIN)
    texts = []
    for helper, rule, _ in EDITS.values():
        (tmp_path / "helpers.py").write_text(helper)
        (tmp_path / "rules.py").write_text(IMPORTS + "from helpers import bend\n" + rule)
        env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        words = [sys.executable, "script.py"]
        texts.append(subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout)
    check(texts)


@pytest.mark.learning
def test_in_a_repl_whose_definitions_are_typed_again(tmp_path):
    typed = IMPORTS + "\n".join(f"exec({helper + rule!r})\n{TRAIN}" for helper, rule, _ in EDITS.values())
    words = [sys.executable, "-i", "-q"]
    done = subprocess.run(words, input=typed, cwd=tmp_path, capture_output=True, text=True, check=True)
    check([done.stdout])


@pytest.mark.docs
def test_in_a_notebook_whose_cells_are_run_again(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.chdir(tmp_path)
    cells = [IMPORTS, *(cell for helper, rule, _ in EDITS.values() for cell in (helper, rule, TRAIN))]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    check([output.get("text", "") for output in outputs])
