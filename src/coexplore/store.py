"""Results on disk: one safetensors file a run, named by the run's digest, with a hash that notices damage."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from coexplore import network
from coexplore.fields import FieldError
from coexplore.result import Result
from coexplore.run import Run

SUFFIX = ".safetensors"
METADATA = "coexplore"  # the one metadata key of a file; it holds JSON


class StoreError(ValueError):
    """A file is not what it should be; the message is one line for the user."""


def save(result: Result, folder: str | Path) -> Path:
    """Write one result as `<digest>.<engine>.safetensors`; the file appears whole or not at all."""
    tensors = {"curve": result.curve, **_named(result.params)}
    run = result.run.to_dict()
    about = {"run": run, "engine": result.engine, "provenance": result.provenance, "sha256": _hash(run, tensors)}
    path = Path(folder) / f"{result.run.digest}.{result.engine}{SUFFIX}"
    write(path, to_bytes(tensors, metadata={METADATA: json.dumps(about, sort_keys=True)}))
    return path


def load(path: str | Path) -> list[Result]:
    """The results in a file, or in all files of a folder (such as one written by `coexplore train --out`)."""
    path = Path(path)
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise StoreError(f"{path}: no results here; give a folder with {SUFFIX} files, or one such file")
    return [_read(file) for file in files]


def write(path: Path, data: bytes) -> None:
    """Write under a temporary name, then rename: nobody ever sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _read(path: Path) -> Result:
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})[METADATA])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if about["sha256"] != _hash(about["run"], tensors):
            raise StoreError(f"{path}: damaged, its contents do not match its hash")
        run = Run.from_dict(about["run"])
        curve = tensors.pop("curve")
        return Result(run, about["engine"], curve, _unnamed(run, tensors), about["provenance"])
    except StoreError:
        raise
    except FileNotFoundError:
        raise StoreError(f"{path}: there is no such file") from None
    except FieldError as error:
        raise StoreError(f"{path}: {error}") from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: not a readable result ({type(error).__name__})") from None


def _hash(run: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 over the run's canonical JSON and every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(json.dumps(run, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _named(params: network.Params) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {jax.tree_util.keystr(path, simple=True, separator="."): np.ascontiguousarray(leaf) for path, leaf in leaves}


def _unnamed(run: Run, tensors: dict[str, np.ndarray]) -> network.Params:
    """The parameters as the run shapes them: names and shapes must fit exactly."""
    shapes = jax.eval_shape(lambda: network.init(run))
    named = _named_shapes(shapes)
    if {name: tensor.shape for name, tensor in tensors.items()} != named:
        raise ValueError("tensors do not fit the run")
    return jax.tree.unflatten(jax.tree.structure(shapes), [tensors[name] for name in named])


def _named_shapes(shapes: Any) -> dict[str, tuple[int, ...]]:
    leaves = jax.tree_util.tree_leaves_with_path(shapes)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf.shape for path, leaf in leaves}
