"""What commands do with runs: read those of a store, or train some, and tell of everything that went wrong."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coexplore import engines
from coexplore.cli.modules import import_selected, read_with_modules
from coexplore.cli.parser import folder
from coexplore.engines.base import NO_GPU
from coexplore.run import Result, Run, failure_lines, select
from coexplore.run.seeded import Runs, counted
from coexplore.settings import one_line
from coexplore.store import StoreError
from coexplore.study import Interrupted, Study, study
from coexplore.study.tensorboard import TensorBoard


def chosen_results(options: dict[str, Any]) -> list[Result]:
    """The chosen results of the store; a line on standard error for each file that cannot be used."""
    import_selected(options["select"])
    results, problems = read_with_modules(options["store"])
    if not results:  # of nothing there is nothing to select
        raise StoreError("; ".join(problems[:3]))
    tell(*problems)
    chosen = select(results, options["select"])
    if not chosen:
        raise StoreError(f"select: none of the {len(results)} runs in {options['store']} is {options['select']!r}")
    seeds: range | None = options["seeds"]
    if seeds is not None and not (chosen := [result for result in chosen if result.seed in seeds]):
        raise StoreError(f"seeds: none of the runs in {options['store']} has one of {seeds[0]} to {seeds[-1]}")
    return chosen


def train_all(
    runs: Runs,
    options: dict[str, Any],
    store: Path | None,
    of_a_search: bool = False,
    trained_for: Mapping[Run, str] | None = None,
) -> Study | None:
    """Train, and tell of everything that went wrong; None if it was interrupted.

    Runs of a search are expected to freeze where their settings are bad.
    """
    if options["engine"] == "auto" and options["cluster"] is None:
        _say_what_is_missing()
    try:
        how = {name: options[name] for name in ("engine", "threads", "snapshots", "cluster")}
        done = study(runs, store=store, callback=_callback(options), trained_for=trained_for, **how)
    except Interrupted as stopped:
        kept = f" and kept in {store}, the others stopped where they are: the same command goes on" if store else ""
        finished = f"{len(stopped.finished)} of {sum(counted(runs).values())} runs were finished"
        tell(*stopped.problems, f"interrupted; {finished}{kept}")
        return None
    tell(*done.problems, *(f"failed: {line}" for line in failure_lines(done.failures)))
    if not of_a_search and (advice := _frozen(done.results)):
        tell(advice)
    return done


def tell(*lines: str) -> None:
    """Each in one line, whatever it names."""
    for line in lines:
        print(f"coexplore: {one_line(line)}", file=sys.stderr)


def _callback(options: dict[str, Any]) -> TensorBoard | None:
    return TensorBoard(folder("tensorboard", options["tensorboard"])) if options.get("tensorboard") else None


def _frozen(results: list[Result]) -> str | None:
    """How many runs froze, and what to do about it."""
    froze = [result.run for result in results if result.frozen]
    if not froze:
        return None
    deaf = [run for run in froze if run.signals == "binary" and any(rule.law.binary for rule in run.rules)]
    cure = "--signals signed" if deaf else "a lower --learning-rate, or --rate-scaling fan-in"
    return f"{len(froze)} of {len(results)} runs froze: see docs/freezing.md, try {cure}"


def _say_what_is_missing() -> None:
    for name in engines.NAMES:
        why = engines.find(name).missing()
        if why and why != NO_GPU:  # a machine without a GPU lacks nothing
            tell(f"training without the {name} engine: {why}")
