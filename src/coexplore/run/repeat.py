"""The shortest command that repeats a run."""

from collections.abc import Iterable

from coexplore.run.names import dashed, flat, grid, settings_of
from coexplore.run.presets import PRESETS, base
from coexplore.run.run import Run
from coexplore.settings import FieldError


def command(run: Run) -> str | None:
    """None where no flags can say it."""
    rule = type(run.rules[0])
    changes = {preset: _changes(base(rule, preset), run) for preset in (None, *PRESETS.get(rule.name, {}))}
    possible = {preset: changed for preset, changed in changes.items() if changed is not None}
    if not possible:
        return None
    preset, changed = min(possible.items(), key=lambda item: len(item[1]) + (item[0] is not None))
    words = [f"--{dashed(name)} {text}" for name, text in changed.items()]
    words = [f"--preset {preset}", *words] if preset else words
    return " ".join(["coexplore train", *([] if "layers" in changed else [rule.name]), *words])


def _changes(start: Run, run: Run) -> dict[str, str] | None:
    """The flags that make `run` of `start`, or None if there are none that do."""
    names, wanted, own = settings_of(run), flat(run), flat(start)

    def changed(some: Iterable[str]) -> Run:
        return grid(start, **{name: [names[name].parse(name, wanted[name])] for name in some})[0]

    try:
        first = [name for name in ("task", "units", "layers") if name in wanted and wanted[name] != own.get(name)]
        own = flat(changed(first)) | {"rule": wanted["rule"]}  # with the defaults of that task and of those rules
        needed = [name for name in wanted if name in first or wanted[name] != own.get(name)]
        return {name: wanted[name] for name in needed} if changed(needed) == run else None
    except (FieldError, KeyError):
        return None
