"""Imports point one way, slow packages stay where they are needed, and importing coexplore costs next to nothing."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "coexplore"

# From the ground up; a module may import from layers below its own, and within its own folder.
LAYERS = [
    ["fields", "units", "files"],
    ["rules", "critic", "tasks"],
    ["run"],
    ["choices", "network", "presets"],
    ["accuracy", "flags"],
    ["result", "stats"],
    ["engines", "plots", "progress", "snapshots"],
    ["store"],
    ["pack", "plan", "training"],
    ["study"],
    ["beyond", "paper"],
    ["report"],
    ["cli"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
HOMES = {
    "cupy": {"engines/cuda/device.py"},
    "gymnasium": {
        "engines/control/__init__.py",
        "engines/control/worlds.py",
        "tasks/control.py",
        "tasks/multiplexer_env.py",
        "tasks/__init__.py",
    },
    "matplotlib": {"plots.py"},
    "optax": {"engines/xla.py"},
    "rich": {"progress.py", "cli/train.py", "cli/reproduce.py"},
    "safetensors": {"files.py"},
    "scipy": {"stats.py"},
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
        if path != SOURCE / "__init__.py":
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


def test_no_file_is_everybodys_home():
    for path, _ in modules():
        assert len(path.read_text().splitlines()) <= 300, path.name
