"""Which of many results are meant: `rule=boltzmann,units=64`."""

from collections.abc import Sequence

from coexplore.run.names import dashed, flat, settings_of
from coexplore.run.result import Result
from coexplore.settings import FieldError, refusal


def select(results: Sequence[Result], text: str) -> list[Result]:
    """The results that fit: keys are settings, engine or digest; a key that is named twice means either value."""
    wanted: dict[str, set[str]] = {}
    for term in filter(None, text.split(",")):
        name, equals, value = term.partition("=")
        if not equals:
            raise refusal("select", term, "FLAG=VALUE, such as units=64")
        wanted.setdefault(name.strip().lstrip("-").replace("-", "_"), set()).add(value.strip())
    known = dict.fromkeys(name for result in results for name in _selectable(result))
    for name in wanted:
        if results and name not in known:
            raise refusal("select", name, f"one of {', '.join(map(dashed, known))}", known)
    return [result for result in results if _fits(result, wanted)]


def _selectable(result: Result) -> dict[str, str]:
    return {**flat(result.run), "engine": result.engine, "digest": result.run.digest}


def _fits(result: Result, wanted: dict[str, set[str]]) -> bool:
    own, names = _selectable(result), settings_of(result.run)

    def same(name: str, value: str) -> bool:
        try:
            return names[name].show(names[name].parse(name, value)) == own[name]  # 0.250 is 0.25
        except (KeyError, FieldError):
            return own.get(name) == value

    return all(any(same(name, value) for value in values) for name, values in wanted.items())
