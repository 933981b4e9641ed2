"""What runs need of a machine's memory, worked out before anything is allocated: rather less than more."""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path

from coexplore.run.curve import bins
from coexplore.run.parts import asked
from coexplore.run.run import Run
from coexplore.settings import FieldError
from coexplore.tasks.base import Task

COPIES = 4  # of the parameters: themselves, two moments of Adam's and the credit
ROWS = 3  # that a step of a chain keeps: what was drawn, with which probabilities, by which numbers
STATES = 256  # on which networks are looked at
OBJECTS = 2000  # bytes of a result besides its arrays
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # where a container says its own


def memory() -> int:
    """Bytes that this machine has, or that its container may use."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in map(Path, LIMITS):
        text = path.read_text().strip() if path.is_file() else ""
        found += [int(text)] if text.isdecimal() else []
    return min(found)


def parameters(run: Run) -> Mapping[str, int]:
    """How many numbers a run learns, by the flag that decides how many."""
    D, *hidden = run.sizes
    actor = sum((inputs + 1) * N for inputs, N in zip((D, *hidden), hidden, strict=False))
    pairs = sum(N * N for N, steps in zip(run.hidden, _passes(run), strict=True) if steps > 1)
    sizes = run.critic.sizes(D) if run.critic else ()
    critic = sum((inputs + 1) * N for inputs, N in itertools.pairwise(sizes))
    return {"units": actor + pairs, "critic_width": critic}


def needed(run: Run) -> dict[str, int]:
    """Bytes to train it and to look at it, by the flag that asks for most of them."""
    held = {name: 4 * COPIES * count for name, count in parameters(run).items()}
    rows = max(run.batch, STATES if isinstance(run.task, Task) else 1)
    held["steps"] = 4 * rows * sum(ROWS * (passes - 1) * N for N, passes in zip(run.hidden, _passes(run), strict=True))
    held["batch"] = 4 * rows * sum(ROWS * N for N in run.sizes)
    return held


def kept(run: Run, in_memory: bool) -> int:
    """Bytes of its result; of which the parameters stay in the store, where there is one."""
    return OBJECTS + 4 * bins(run.updates) + (4 * sum(parameters(run).values()) if in_memory and _known(run) else 0)


def check_fits(run: Run) -> int:
    """Bytes that it needs; a FieldError if this machine does not have them."""
    if not _known(run):
        return 0
    held = needed(run)
    if (much := sum(held.values())) > (there := memory()):
        name = max(held, key=lambda name: held[name])
        values = {"units": run.hidden, "critic_width": run.critic and run.critic.width, "batch": run.batch}
        value = values.get(name, max(_passes(run)) - 1)
        told = "-".join(map(str, value)) if isinstance(value, tuple) else value
        raise FieldError(f"{name}: {told} needs {size(much)}, this machine has {size(there)}; give less")
    return much


def check_all_fit(counts: Mapping[Run, int], in_memory: bool) -> None:
    """That the results of so many runs of each setting fit."""
    much, there = sum(count * kept(run, in_memory) for run, count in counts.items()), memory()
    if much > there:
        words = f"the results of {sum(counts.values()):,} runs need {size(much)}, this machine has {size(there)}"
        raise FieldError(f"runs: {words}; give fewer seeds or settings")


def _known(run: Run) -> bool:
    """Whether its task says how large it is; if not, whoever tries it out will tell."""
    try:
        return not run.task.missing and all(isinstance(size, int) for size in run.sizes)
    except Exception:
        return False


def size(much: int) -> str:
    """Bytes as a person says them."""
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if much < 1000 or unit == "PB":
            return f"{much:,.0f} {unit}"
        much //= 1000
    raise AssertionError


def _passes(run: Run) -> list[int]:
    """How often each hidden layer is drawn; once, as far as a law of somebody else's does not say."""
    laws = [asked("rule", rule, "law") for rule in run.rules]
    return [law.passes if type(law).__module__.startswith("coexplore.") else 1 for law in laws]
