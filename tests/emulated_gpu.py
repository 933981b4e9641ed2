"""The cuda engine without a GPU: its kernel compiled for the processor, its threads as fibers (cpp/emulated_warp.h)."""

import contextlib
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from coexplore.engines.cuda import device

CPP = Path(__file__).parent / "cpp"


class EmulatedGpu:
    """What device.Gpu is to the engine. With `backwards`, the last warp goes first."""

    def __init__(self, folder, backwards=False):
        self.folder, self.backwards, self.built = folder, backwards, {}

    def __call__(self):
        return self

    @contextlib.contextmanager
    def working(self, on):
        yield

    def put(self, array):
        return np.array(array)

    def get(self, array):
        return np.array(array)

    def empty(self, shape):
        return np.full(shape, np.nan, np.float32)

    def kernel(self, shape, record=False):
        if (shape, record) not in self.built:
            self.built[shape, record] = ctypes.CDLL(str(compiled(self.folder, shape, record)))
        return self.built[shape, record]

    def launch(self, shape, record, runs, arguments):
        def plain(x):
            if isinstance(x, np.ndarray):
                return ctypes.c_void_p(x.ctypes.data)
            return ctypes.c_uint32(x) if x.dtype == np.uint32 else ctypes.c_void_p(int(x))

        self.kernel(shape, record).launch(runs, int(self.backwards), *map(plain, arguments))


def compiled(folder, shape, record):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    name = f"{shape.family}_{shape.units}_{shape.tiles}_{record}"
    program, source = folder / f"{name}.so", folder / name / "train.cu"
    if not program.exists():
        source.parent.mkdir(parents=True)
        source.write_text(device.source(("instructions.cuh",)))
        given = [x for x in device.options(shape, record) if x.startswith("-D")]
        flags = [
            "-std=c++17",
            "-O1",
            "-U_FORTIFY_SOURCE",
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wno-unknown-pragmas",
            "-Wno-sign-compare",
        ]
        files = [f"-I{source.parent}", f"-I{CPP}", str(CPP / "emulated_launch.cpp"), "-o", str(program)]
        built = subprocess.run([compiler, *flags, *given, *files], capture_output=True, text=True, check=False)
        assert (built.returncode, built.stderr) == (0, ""), built.stderr
    return program
