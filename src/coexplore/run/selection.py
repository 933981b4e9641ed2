"""Which of many results are meant: `rule=boltzmann,units=64`."""

import itertools
from collections.abc import Callable, Iterable, Sequence

from coexplore import rules
from coexplore.rules.renamed import selection, written_now
from coexplore.run.names import dashed, flat, settings_of
from coexplore.run.result import Result
from coexplore.run.run import Run
from coexplore.settings import FieldError, refusal

OF_A_RESULT = ("seed", "engine", "trained_for", "digest")  # what those of one setting differ in


def select(results: Sequence[Result], text: str) -> list[Result]:
    """The results that fit: keys are settings, engine, trained-for or digest; a key that is named twice means either
    value."""
    wanted: dict[str, set[str]] = {}
    for term in filter(None, text.split(",")):
        name, equals, value = term.partition("=")
        if not equals:
            raise refusal("select", term, "FLAG=VALUE, such as units=64")
        name = name.strip().lstrip("-").replace("-", "_")
        wanted.setdefault(name, set()).add(_rule_names(value.strip()) if name == "rule" else value.strip())
    settings = {setting: flat(setting) for setting in dict.fromkeys(result.setting for result in results)}
    known = dict.fromkeys([*(name for own in settings.values() for name in own), *OF_A_RESULT])
    for name, values in wanted.items():
        if results and name not in known:
            _refuse_former(name, values, settings)
            raise refusal("select", name, f"one of {', '.join(map(dashed, known))}", known)
    shared = {name: values for name, values in wanted.items() if name not in OF_A_RESULT}
    fitting = {setting for setting, values in settings.items() if _fits(setting, values, shared)}
    own = {name: wanted[name] for name in OF_A_RESULT if name in wanted}
    return [result for result in results if result.setting in fitting and (not own or _is(result, own))]


def _refuse_former(name: str, values: Iterable[str], settings: Iterable[Run]) -> None:
    """Refuse a former name of a setting by a line that says how it is written now."""
    rules_here = dict.fromkeys(rule.name for setting in settings for rule in setting.rules)
    for rule, value in itertools.product(rules_here, sorted(values)):
        if now := selection(rule, name, value):
            raise written_now(f"select: {dashed(name)}={value}", now)


def _rule_names(value: str) -> str:
    """Names of rules, joined by +, from names or MODULE:NAME."""
    return "+".join(rules.find(each).name if ":" in each else each for each in value.split("+"))


def _fits(setting: Run, values: dict[str, str], wanted: dict[str, set[str]]) -> bool:
    """In everything that runs which differ only in their seed share."""
    names = settings_of(setting)
    by_alias = "+".join(dict.fromkeys(rules.alias_of(rule) or rule.name for rule in setting.rules))

    def same(name: str, value: str) -> bool:
        if name == "rule":
            return value in (values["rule"], by_alias)
        try:
            return names[name].show(names[name].parse(name, value)) == values[name]  # 0.250 is 0.25
        except (KeyError, FieldError):
            return values.get(name) == value

    return all(any(same(name, value) for value in either) for name, either in wanted.items())


def _is(result: Result, wanted: dict[str, set[str]]) -> bool:
    own: dict[str, Callable[[], str]] = {
        "seed": lambda: str(result.seed),
        "engine": lambda: result.engine,
        "trained_for": lambda: result.trained_for,
        "digest": lambda: result.digest,
    }
    return all(own[name]() in either for name, either in wanted.items())
