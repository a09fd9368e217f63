"""Which targets go first where not all start: by name, by a label's number, or spread over one.

Worked example, spread over `region`: eu-1 eu-2 us-1 us-2 us-3 go as eu-1 us-1 eu-2 us-2 us-3, so
that no region takes the first steps alone. What lacks the label, or has no number in it, goes last.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from tidegate.kinds.rollouts.core.strategy import OrderBy, Ordering

Labels = Mapping[str, Mapping[str, str]]

_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)
_NO_LABELS: Mapping[str, str] = {}


def ranked(names: Iterable[str], ordering: Ordering, labels: Labels) -> list[str]:
    """The names in the order in which they go."""
    by_name = sorted(names)
    match ordering.by:
        case OrderBy.NAME:
            return by_name
        case OrderBy.LABEL:
            return sorted(by_name, key=lambda name: _number_key(name, ordering.label, labels))
        case OrderBy.SPREAD:
            return _spread(by_name, ordering.label, labels)


def label_number(value: str | None) -> Fraction | None:
    """The number a label holds; None if it holds none."""
    return Fraction(value) if value is not None and _NUMBER.fullmatch(value) else None


def _number_key(name: str, label: str, labels: Labels) -> tuple[bool, Fraction]:
    number = label_number(labels.get(name, _NO_LABELS).get(label))
    return (number is None, number or Fraction(0))


def _spread(by_name: list[str], label: str, labels: Labels) -> list[str]:
    """Round after round, one of each value; the values in their order, those without one last."""
    rounds: dict[str | None, int] = defaultdict(int)
    keyed: list[tuple[bool, int, str, str]] = []
    for name in by_name:
        value = labels.get(name, _NO_LABELS).get(label)
        keyed.append((value is None, rounds[value], value or "", name))
        rounds[value] += 1
    return [name for *_, name in sorted(keyed)]
