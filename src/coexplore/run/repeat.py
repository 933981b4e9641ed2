"""The shortest command that repeats a run."""

import contextlib
import functools
import re
from collections.abc import Iterable

from coexplore import rules
from coexplore.rules import Rule
from coexplore.run.editions import edition_here
from coexplore.run.names import dashed, flat, grid, settings_of
from coexplore.run.presets import PRESETS, base
from coexplore.run.run import Run
from coexplore.settings import FieldError, Json, specs
from coexplore.tasks import registry
from coexplore.tasks.base import AnyTask
from coexplore.tasks.control import Control, home

SOURCE = re.compile(r"[\w.]+:\w[\w./-]*")  # MODULE:NAME: what a file says is shown only if it is that


def command(run: Run, origin: dict[str, Json] | None = None) -> str | None:
    """None where no flags can say it. `origin`, the provenance of its result, tells where its task came from."""
    try:
        told = _command(run.setting, _stated(origin or {}) or run.task.source, type(run.rules[0]), type(run.task))
    except LookupError:
        return None
    return f"{told} --seed {run.seed}" if run.seed else told


@functools.lru_cache(maxsize=10_000)  # thousands of seeds share it
def _command(run: Run, source: str, rule: type[Rule], task: type[AnyTask]) -> str:
    """The command of a setting. Runs are equal by their names, so the classes that these mean here are arguments too.

    Raises:
        LookupError: where no flags can say it. It is not cached: they may once what the run names is imported.
    """
    presets = (None, *PRESETS.get(rule.name, {}))
    changes = {preset: _changes(base(rule(), preset), run, source) for preset in presets}
    possible = {preset: changed for preset, changed in changes.items() if changed is not None}
    if not possible:
        raise LookupError(run.digest)
    preset, changed = min(possible.items(), key=lambda item: len(item[1]) + (item[0] is not None))
    words = [f"--{dashed(name)} {text}" for name, text in changed.items()]
    words = [f"--preset {preset}", *words] if preset else words
    words = [f"--variant {rule.variant}", *words] if rule.variant else words
    return " ".join(["coexplore train", *([] if "layers" in changed else [_rule_argument(rule)]), *words])


def _rule_argument(rule: type[Rule]) -> str:
    """What `coexplore train` takes for a rule: its name, or MODULE:NAME where that alone finds it."""
    if rule.name in rules.known():
        return rule.name
    source = f"{rule.__module__}:{rule.__qualname__}"
    if rule.__module__ == "__main__" or not SOURCE.fullmatch(source):
        raise LookupError(rule.name)
    return source


def origin(run: Run) -> dict[str, Json]:
    """MODULE:NAME of the run's task and rules where their names alone do not find them, for a result's provenance."""
    found = {"task": run.task.source or _asked(run.task) or ""}
    with contextlib.suppress(LookupError):
        words = dict.fromkeys(_rule_argument(type(rule)) for rule in run.rules)
        found["rule"] = ",".join(word for word in words if ":" in word)
    return {kind: text for kind, text in found.items() if text and all(map(SOURCE.fullmatch, text.split(",")))}


def _stated(origin: dict[str, Json]) -> str:
    source = origin.get("task")
    return source if isinstance(source, str) and SOURCE.fullmatch(source) else ""


def _asked(task: AnyTask) -> str | None:
    """What --task takes for it, if nobody said; None where nothing does."""
    if task.label in registry.known():
        return task.label
    if isinstance(task, Control):
        return f"{module}:{task.env}" if (module := home(task.env)) else task.env
    kind = type(task)
    named = kind not in registry.FORMS and kind.__module__ != "__main__" and "<" not in kind.__qualname__
    return f"{kind.__module__}:{kind.__qualname__}" if named else None


def _usual(task: AnyTask, source: str) -> AnyTask:
    """The task that --task gives, before other flags. What a module has set in its own is not known from here."""
    if isinstance(task, Control):
        usual = Control(env=task.env)
        return usual if edition_here(usual) else usual.replaced(edition=task.edition)
    if source:
        return task
    return registry.named(task.label) if task.label in registry.known() else type(task)()


def _changes(start: Run, run: Run, source: str) -> dict[str, str] | None:
    """The flags that make `run` of `start`, or None if there are none that do."""
    names, wanted, own = settings_of(run), flat(run), flat(start)

    def changed(some: Iterable[str]) -> Run:
        parsed = {name: names[name].parse(name, wanted[name]) for name in some if name != "task"}
        return grid(start, **{name: [value] for name, value in parsed.items()}, **task(some))[0]

    def task(some: Iterable[str]) -> dict[str, list[AnyTask]]:
        return {"task": [_usual(run.task, source)]} if "task" in some else {}

    try:
        first = [name for name in ("task", "units", "layers") if name in wanted and wanted[name] != own.get(name)]
        own = flat(changed(first)) | {"rule": wanted["rule"]}  # with the defaults of that task and of those rules
        said = set(specs(run.task)) - set(run.task.in_name) if source and not isinstance(run.task, Control) else set()
        needed = [name for name in wanted if name in first or name in said or wanted[name] != own.get(name)]
        flags = {name: wanted[name] for name in needed}
        if "layers" in flags:
            flags["layers"] = ",".join(_rule_argument(type(each)) for each in run.rules)
        if "task" in first:
            flags["task"] = source or _asked(run.task) or ""
        return flags if changed(needed) == run and all(flags.values()) else None
    except (FieldError, KeyError, TypeError):
        return None
