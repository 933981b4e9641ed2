"""The figure of `coexplore reproduce` whose networks are looked at on their way: trained up to there, measured."""

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coexplore.cli.results import tell, train_all
from coexplore.paper.checkpoints import checkpoints, read_table, write_table
from coexplore.paper.evidence import Row
from coexplore.paper.gradient_tables import table
from coexplore.paper.gradients import measured
from coexplore.run import Result, Run
from coexplore.store import write

Head = dict[str, Any]


def look_on_the_way(
    results: Sequence[Result], options: dict[str, Any], store: Path, out: Path, episodes: int
) -> list[Row] | None:
    """The table, with what was missing in it measured; None if it was interrupted. Several processes may share it."""
    found = checkpoints(results, episodes)
    done = train_all([run for _, run in found], {**options, "snapshots": 0}, store, of_a_search=True)
    if done is None:
        return None
    networks = {result.run: result for result in done.results}
    try:
        rows = _measure([(head, networks[run]) for head, run in found if run in networks], store)
    except KeyboardInterrupt:
        tell("interrupted; what was measured is kept: the same command goes on")
        return None
    _show(results, rows, out, episodes)
    return rows


def _measure(found: list[tuple[Head, Result]], store: Path) -> list[Row]:
    random.shuffle(found)  # so that processes which share the work begin with different networks
    known = _by_network(read_table(store))
    while left := [(head, result) for head, result in found if _name(head, result) not in known]:
        for head, result in left:
            known = _by_network(read_table(store))
            if _name(head, result) in known:
                continue
            row = {**head, "digest": result.digest, "engine": result.engine, **_numbers(result.run, result)}
            known = _by_network(read_table(store)) | {_name(head, result): row}
            write_table(store, list(known.values()))
            print(f"\rmeasured {len(known)} networks", end="", file=sys.stderr, flush=True)
        known = _by_network(read_table(store))
    print(file=sys.stderr)
    return [known[_name(head, result)] for head, result in found]


def _numbers(run: Run, result: Result) -> dict[str, Any]:
    assert result.params is not None  # a store keeps them
    return measured(run, result.params, run.seed)


def _name(head: Row, result: Result) -> tuple[str, str, float]:
    return result.digest, result.engine, head["level"]


def _by_network(rows: Sequence[Row]) -> dict[tuple[str, str, float], Row]:
    return {(row["digest"], row["engine"], row["level"]): row for row in rows}


def _show(results: Sequence[Result], rows: Sequence[Row], out: Path, episodes: int) -> None:
    from coexplore.paper.gradient_pictures import draw  # matplotlib is slow to import

    draw(rows, out, episodes)
    write(out / "gradients.md", table(results, rows, episodes).encode())
