"""A strategy with other settings, as its documents name them: to see dates before it is written."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.model.errors import UserError
from tidegate.model.limit import REMEDY, Limit, parse_limit
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Duration, format_duration, parse_duration

_NONE = "None"


def _duration(text: str) -> Duration:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{error}; write it like 30m") from None


def _deadline(text: str) -> Duration | None:
    return None if text == _NONE else _duration(text)


def _limit(text: str) -> Limit:
    try:
        return parse_limit(int(text) if text.isascii() and text.isdigit() else text)
    except ValueError as error:
        raise ValueError(f"{error}; {REMEDY}") from None


# By the name that a document has for it: the field of a strategy, and how a value is read.
_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "minSuccessTime": ("soak", _duration),
    "maxConcurrency": ("max_concurrency", _limit),
    "maxFailures": ("max_failures", _limit),
    "progressDeadline": ("deadline", _deadline),
}
# Under All, nothing but the deadline is read.
_OF_ALL = ("progressDeadline",)


def strategy_settings(strategy: Strategy) -> dict[str, str]:
    """The settings of a strategy as documents have them; empty: there is no limit."""
    names = _OF_ALL if strategy.type is StrategyType.ALL else tuple(_SETTINGS)
    return {name: _text(getattr(strategy, _SETTINGS[name][0])) for name in names}


def _text(value: Limit | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, Limit) else format_duration(value)


def with_settings(declared: RolloutDeclared, settings: Mapping[str, str]) -> RolloutDeclared:
    """The same rollout with other settings; UserError lists all that cannot be read."""
    known, problems, found = strategy_settings(declared.strategy), list[Problem](), {}
    for name, text in settings.items():
        if name not in known:
            hint = nearest_or_all(name, sorted(known))
            what = f"no setting of the strategy {declared.strategy.type.value}"
            problems.append(Problem(name, what, hint))
            continue
        field, read = _SETTINGS[name]
        try:
            found[field] = read(text)
        except ValueError as error:
            problems.append(Problem(name, f'"{text}" is {error}'))
    if problems:
        raise UserError(tuple(problems))
    return replace(declared, strategy=replace(declared.strategy, **found))
