"""Results as tables for other programs: a row for each run, or for each point of the curves; numbers are numbers.

A setting's column, such as `coupling`, holds one value or nothing. Where it moves, `coupling_start` and `coupling_stop`
say from where to where; where layers differ, `units_1`, `units_2` … have the value of each.
"""

import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from coexplore.results.listing import gathered
from coexplore.results.tables import Cell, comma_separated
from coexplore.run import Result, Run, flat, labels
from coexplore.run.names import EDITIONS, settings_in
from coexplore.settings import FieldError, Linear

if TYPE_CHECKING:
    from pandas import DataFrame
else:  # an extra, imported by whoever asks for one
    DataFrame = object

Table = dict[str, list[Any]]
NEEDED = "{}: not installed here; pip install 'coexplore[pandas]'"
ENDINGS = (".csv", ".json", ".parquet")

OUTCOMES: dict[str, Callable[[Result], Cell]] = {
    "seed": lambda result: result.seed,
    "engine": lambda result: result.engine,
    "reward": lambda result: result.reward,
    "first": lambda result: result.first,
    "last": lambda result: result.last,
    "accuracy": lambda result: result.accuracy,
    "frozen": lambda result: result.frozen,
    "seconds": lambda result: result.provenance.get("seconds"),
    "finished": lambda result: result.provenance.get("finished"),
    "trained_for": lambda result: result.trained_for,
    "digest": lambda result: result.digest,
}


def frame(results: Result | Iterable[Result], curves: bool = False) -> DataFrame:
    """A pandas DataFrame of `results` with a row for each run: `setting` (a label), every setting, what came
    out. With `curves` a row for each point of their curves instead; `digest` is the same in both.
    """
    try:
        import pandas as pd
    except ImportError:
        raise FieldError(NEEDED.format("pandas")) from None
    table = (curve_table if curves else run_table)(gathered(results))
    made = pd.DataFrame({name: pd.Series(values, dtype=_kind(values)) for name, values in table.items()})
    if "finished" in made:
        made["finished"] = pd.to_datetime(made["finished"], utc=True, errors="coerce")
    return made


def file(results: Sequence[Result], ending: str, curves: bool = False) -> bytes:
    """The same table as a file of this kind. Those of text need no pandas; JSON has an object for each row."""
    if ending == ".parquet":
        return _parquet(frame(results, curves))
    table = (curve_table if curves else run_table)(results)
    rows = zip(*([_finite(value) for value in column] for column in table.values()), strict=True)
    if ending == ".json":
        return json.dumps([dict(zip(table, row, strict=True)) for row in rows], allow_nan=False).encode() + b"\n"
    return comma_separated(list(table), list(rows)).encode()


def _parquet(made: DataFrame) -> bytes:
    data = io.BytesIO()
    try:
        made.to_parquet(data, engine="pyarrow", index=False)
    except ImportError:
        raise FieldError(NEEDED.format("pyarrow")) from None
    return data.getvalue()


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def run_table(results: Sequence[Result]) -> Table:
    """Columns by name, a value for each run; None where a run has no such setting."""
    settings = list(dict.fromkeys(result.setting for result in results))
    cells_of = {setting: parts(setting) for setting in settings}
    names: dict[str, dict[str, None]] = {}  # of the columns of each setting
    for of_setting in cells_of.values():
        for name, cells in of_setting.items():
            names.setdefault(name, {}).update(dict.fromkeys(cells))
    label = dict(zip(settings, labels(settings), strict=True))
    table: Table = {"setting": [label[result.setting] for result in results]}
    for name, columns in names.items():
        each = [cells_of[result.setting].get(name, {}) for result in results]
        table |= {column: _alike([cells.get(column) for cells in each]) for column in columns}
    return table | {name: [outcome(result) for result in results] for name, outcome in OUTCOMES.items()}


def _alike(column: list[Cell]) -> list[Cell]:
    """Where two rules mean words and numbers by the same name, all of them are words."""
    if len({isinstance(value, str) for value in column if value is not None}) < 2:
        return column
    return [None if value is None else str(value) for value in column]


def curve_table(results: Sequence[Result]) -> Table:
    """A value for each point of each curve: the mean `reward` of the stretch that ends after so many `episodes`.

    Results of which a pack kept no curve are left out."""
    results = [result for result in results if result.has_curve]
    settings = list(dict.fromkeys(result.setting for result in results))
    label = dict(zip(settings, labels(settings), strict=True))
    of_runs = {
        "setting": lambda result: label[result.setting],
        "rule": lambda result: _rule(result.setting),
        **{name: OUTCOMES[name] for name in ("seed", "engine", "digest")},
    }
    points = [(result, len(result.curve)) for result in results]
    table: Table = {name: [each for r, P in points for each in [of(r)] * P] for name, of in of_runs.items()}
    table["episodes"] = [episodes for result in results for episodes in result.episodes.tolist()]
    return table | {"reward": [reward for result in results for reward in result.curve.tolist()]}


def parts(setting: Run) -> dict[str, dict[str, Cell]]:
    """Its settings by name, each as one cell or as several."""
    shown, own = flat(setting), settings_in(setting)
    del own["seed"]  # the setting's, not the run's
    cells: dict[str, dict[str, Cell]] = {"rule": {"rule": _rule(setting)}}
    cells |= {name: _cells(name, value, shown[name]) for name, value in own.items()}
    return cells | {name: {name: shown[name]} for name in EDITIONS if name in shown}


def _rule(setting: Run) -> str:
    return "+".join(dict.fromkeys(rule.name for rule in setting.rules))


def _cells(name: str, value: object, shown: str) -> dict[str, Cell]:
    if isinstance(value, tuple) and len(value) == 1:
        return _cells(name, value[0], shown)
    if isinstance(value, Linear):
        return {name: None, f"{name}_start": float(value.start), f"{name}_stop": float(value.stop)}
    if isinstance(value, tuple) and all(isinstance(each, bool | int | float | str | Linear) for each in value):
        layers = [_cells(f"{name}_{i}", each, str(each)) for i, each in enumerate(value, 1)]
        return {name: None} | {column: cell for cells in layers for column, cell in cells.items()}
    return {name: value if isinstance(value, bool | int | float | str) else shown}


def _kind(values: Sequence[Cell]) -> Any:
    """The type of a column: one of pandas' own where whole numbers or truths may be missing."""
    known = {type(value) for value in values if value is not None}
    if known <= {int, float} and known != {int}:
        return float
    missing = {frozenset({int}): "Int64", frozenset({bool}): "boolean"} if None in values else {}
    return missing.get(frozenset(known))
