"""Label selectors as Kubernetes documents spell them."""

from tidegate.documents.reader import Reader
from tidegate.model.problem import shown
from tidegate.model.selector import Operator, Requirement, Selector

_NEEDS_VALUES = frozenset((Operator.IN, Operator.NOT_IN))


def read_selector(reader: Reader) -> Selector:
    """`matchLabels` and `matchExpressions`, as one conjunction."""
    labels = reader.child("matchLabels")
    wanted = [
        Requirement(key, Operator.IN, frozenset((value,)))
        for key, value in _label_values(labels).items()
    ]
    wanted += [_requirement(each) for each in reader.children("matchExpressions")]
    reader.close()
    return Selector(tuple(wanted))


def _label_values(labels: Reader) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in labels.names():
        value = labels.text(key)
        if value is not None:
            found[key] = value
    return found


def _requirement(reader: Reader) -> Requirement:
    key = reader.text("key")
    if key is None:
        reader.problems.add(reader.at("key"), "missing", "name the label")
    operator = reader.choice("operator", Operator, Operator.EXISTS)
    if not reader.has("operator"):
        offer = ", ".join(each.value for each in Operator)
        reader.problems.add(reader.at("operator"), "missing", f"write one of {offer}")
    values = reader.texts("values")
    readable = reader.raw("operator") == operator.value
    if readable and operator in _NEEDS_VALUES and not values:
        reader.problems.add(reader.at("values"), f"{operator.value} needs values", "list them")
    if readable and operator not in _NEEDS_VALUES and values:
        reader.problems.add(
            reader.at("values"), f"{operator.value} takes no values: {shown(values)}", "drop them"
        )
    reader.close()
    return Requirement(key or "", operator, frozenset(values))
