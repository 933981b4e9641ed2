"""What a wheel must do where nothing else is: list its engines, train on two of them, draw, and be no checkout."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import coexplore
from coexplore import engines

assert "site-packages" in coexplore.__file__, coexplore.__file__
assert engines.find("cpu").missing() is None, "the wheel has no cpu engine"
command = str(Path(sys.executable).parent / "coexplore")
with tempfile.TemporaryDirectory() as folder:
    for words in (
        "list",
        "train boltzmann --coupling 0 0.5 --episodes 16000 --engine cpu --store runs --out drawn",
        "train boltzmann --bits 1 --units 8 --steps 2 --episodes 1600 --engine xla",
        "report --store runs --out report.html",
    ):
        done = subprocess.run([command, *words.split()], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"coexplore {words}: {done.stderr}"
    assert {"drawn/curves.png", "report.html"} <= {
        os.path.relpath(path, folder) for path in Path(folder).rglob("*") if path.stat().st_size > 1000
    }
print(f"coexplore {coexplore.__version__} from {Path(coexplore.__file__).parent}: lists, trains and draws")
