"""Where attempts are made: a process of their own, which the driver may end."""

import collections
import faulthandler
import importlib
import os
import random
import shutil
import sys
import traceback
from pathlib import Path

REUSED = 100  # attempts after which a scratch folder is emptied


def crowding():
    """How many processes share a core: where others are at work too, everything takes longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def tried_once(kind, seed, folder):
    """None, or a line on what fell."""
    try:
        return importlib.import_module(f"fuzz.{kind}").attempt(random.Random(f"{kind} {seed}"), folder)
    except (Exception, KeyboardInterrupt) as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return " ".join(f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {error}".split())


def work(pipe, scratch):
    """Attempts in this process, as it is asked for them. What they print is theirs alone."""
    faulthandler.enable(file=open(scratch / "crash", "w"))  # noqa: SIM115 (open as long as the process)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    count = collections.Counter()
    while (asked := pipe.recv()) is not None:
        kind, seed = asked
        folder = scratch / kind
        if count[kind] % REUSED == 0:
            os.chdir(scratch)
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        count[kind] += 1
        fell = tried_once(kind, seed, folder)
        tried = getattr(sys.modules.get(f"fuzz.{kind}"), "tried", collections.Counter())
        pipe.send((fell, dict(tried)))
        tried.clear()
