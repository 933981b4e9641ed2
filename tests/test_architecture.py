"""Imports point one way, slow packages stay where they are needed, and importing coexplore costs next to nothing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import coexplore

SOURCE = Path(__file__).parents[1] / "src" / "coexplore"

# From the ground up; a module may import from layers below its own, and within its own folder.
LAYERS = [
    ["code_hash", "files", "programs", "settings", "stats", "units"],
    ["laws"],
    ["rules"],
    ["variants"],
    ["critic", "tasks"],
    ["network"],
    ["run"],
    ["engines", "results"],
    ["store"],
    ["study"],
    ["paper"],
    ["beyond"],
    ["report"],
    ["cli"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
HOMES = {
    "cupy": {"engines/cuda/device.py"},
    "gymnasium": {
        "engines/control/__init__.py",
        "engines/control/worlds.py",
        "engines/functional/__init__.py",
        "tasks/control.py",
        "tasks/functional.py",
        "tasks/joint_env.py",
        "tasks/spaces.py",
        "tasks/multiplexer_env.py",
        "tasks/__init__.py",
    },
    "matplotlib": {"results/plots.py", "results/marks.py", "results/naming.py"},
    "optax": {"engines/xla.py"},
    "pandas": {"results/frames.py"},
    "ray": {"study/cluster/worker.py"},
    "rich": {"study/progress.py", "cli/paging.py", "cli/tables.py", "cli/reproduce.py", "cli/demo.py"},
    "safetensors": {"store/sealed.py"},
    "scipy": {"stats/estimates.py"},
    "shtab": {"cli/completion.py"},
    "sklearn": {"tasks/supervised.py"},
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "coexplore":
                yield from (f"coexplore.{alias.name}" for alias in node.names)
            else:
                yield node.module


def modules():
    for path in SOURCE.rglob("*.py"):
        if path not in (SOURCE / "__init__.py", SOURCE / "__main__.py", SOURCE / "fields.py"):  # doors, not rooms
            yield path, path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_imports_point_one_way():
    seen = 0
    for path, mine in modules():
        for name in imported(path):
            if name.startswith("coexplore.") and not name.endswith("__version__"):
                theirs = name.split(".")[1]
                assert theirs == mine or RANK[theirs] < RANK[mine], f"{path.name} imports {name}"
                seen += 1
    assert seen > 50


def test_each_heavy_package_has_its_home():
    for path, _ in modules():
        for name in imported(path):
            homes = HOMES.get(name.split(".")[0])
            assert homes is None or str(path.relative_to(SOURCE)) in homes, f"{path.name} imports {name}"


def test_importing_coexplore_loads_neither_jax_nor_matplotlib():
    heavy = ("jax", "equinox", "matplotlib", "optax", "scipy")
    code = f"import sys, coexplore; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there_and_training_needs_neither_gymnasium_nor_matplotlib():
    code = """
import sys
sys.modules["gymnasium"] = sys.modules["matplotlib"] = None
import coexplore
names = [name for name in dir(coexplore) if name != "plot"]
assert all(getattr(coexplore, name) for name in names) and len(names) > 10
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def blocks(text):
    """What stands before each brace of C++, and how many lines lie between it and the brace that closes it."""
    text = re.sub(r"//.*|'[{}]'|\"[^\"\n]*\"", "", text)
    opened, before = [], 0
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            opened.append((text[before : match.start()], text.count("\n", 0, match.start())))
        elif match[0] == "}":
            head, line = opened.pop()
            yield head, text.count("\n", 0, match.start()) - line + 1
        before = match.end()


def test_every_function_in_c_can_be_seen_at_once():
    lengths = {}
    for path in (SOURCE / "engines").rglob("*"):
        if path.suffix in (".h", ".cpp", ".cuh", ".cu"):
            for head, length in blocks(path.read_text()):
                if not re.search(r"\b(namespace|struct|class|enum)\b", head):
                    lengths[path.name, head.strip()] = length
    assert len(lengths) > 100
    assert max(lengths.values()) <= 60, max(lengths, key=lengths.get)


def writes(call):
    """Whether a call writes a file by itself."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    opened = name in ("open", "fdopen") and any(re.fullmatch("[rwaxbt+]*[wax+][rwaxbt+]*", mode) for mode in modes)
    return (
        opened or name in ("write_text", "write_bytes") or (name == "savefig" and ast.unparse(call.args[0]) != "data")
    )


def test_whatever_is_written_appears_whole_or_not_at_all():
    calls = {
        path: [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)] for path, _ in modules()
    }
    found = {str(path.relative_to(SOURCE)) for path in calls if any(map(writes, calls[path]))}
    assert found == {"files.py", "study/tensorboard.py"}  # half a record is one that TensorBoard does not read


def test_nobody_outside_the_store_knows_its_folders():
    for path, mine in modules():
        if mine != "store":
            names = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not names & {"checkpoints", "plans", ".locks", "damaged", "failed"}, path


def test_the_import_path_that_was_shown_before_still_works_and_says_where_to_go():
    sys.modules.pop("coexplore.fields", None)
    with pytest.warns(DeprecationWarning, match="import number, choice, count and switch from coexplore"):
        from coexplore.fields import choice, number
    assert (choice, number) == (coexplore.choice, coexplore.number)


def test_a_rule_that_draws_for_itself_is_told_that_laws_do_that():
    with pytest.raises(TypeError, match=r"Old.explore: would never be called; it belongs to the rule's law"):

        class Old(coexplore.Rule):
            def explore(self, params, x, key): ...
