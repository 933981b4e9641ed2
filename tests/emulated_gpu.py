"""The cuda engine without a GPU: its kernel compiled for the processor, its threads as fibers (cpp/emulated_warp.h)."""

import contextlib
import ctypes
import dataclasses
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

    def compiled(self, kernel):
        if kernel not in self.built:
            self.built[kernel] = ctypes.CDLL(str(compiled(self.folder, kernel)))
        return self.built[kernel]

    def launch(self, kernel, runs, arguments):
        def plain(x):
            if isinstance(x, np.ndarray):
                return ctypes.c_void_p(x.ctypes.data)
            return {"uint32": ctypes.c_uint32, "float32": ctypes.c_float, "uint64": ctypes.c_void_p}[x.dtype.name](
                x.item()
            )

        self.compiled(kernel).launch(runs, int(self.backwards), *map(plain, arguments))


def compiled(folder, kernel):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    shape = kernel.shape
    name = "_".join(map(str, (kernel.name, *dataclasses.astuple(shape), kernel.record)))
    program, source = folder / f"{name}.so", folder / name / f"{kernel.name}.cu"
    if not program.exists():
        source.parent.mkdir(parents=True)
        source.write_text(device.source(kernel.name, ("instructions.cuh",)))
        given = [x for x in device.options(kernel) if x.startswith("-D")]
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
        files = [f"-I{source.parent}", f"-I{CPP}", str(CPP / f"emulated_{kernel.name}.cpp"), "-o", str(program)]
        built = subprocess.run([compiler, *flags, *given, *files], capture_output=True, text=True, check=False)
        assert (built.returncode, built.stderr) == (0, ""), built.stderr
    return program
