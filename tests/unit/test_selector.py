"""Label selectors as Kubernetes means them."""

import pytest

from tidegate.model.selector import EVERYTHING, Operator, Requirement, Selector

IN, NOT_IN = Operator.IN, Operator.NOT_IN
EXISTS, MISSING = Operator.EXISTS, Operator.DOES_NOT_EXIST
VALUES = frozenset(("eu", "us"))

TABLE = [
    (IN, {"region": "eu"}, True),
    (IN, {"region": "ap"}, False),
    (IN, {"region": ""}, False),
    (IN, {}, False),
    (NOT_IN, {"region": "eu"}, False),
    (NOT_IN, {"region": "ap"}, True),
    (NOT_IN, {}, True),
    (EXISTS, {"region": ""}, True),
    (EXISTS, {"other": "eu"}, False),
    (MISSING, {"region": ""}, False),
    (MISSING, {"other": "eu"}, True),
]


@pytest.mark.parametrize("operator, labels, holds", TABLE)
def test_a_requirement_compares_one_label(
    operator: Operator, labels: dict[str, str], holds: bool
) -> None:
    """A missing label satisfies NotIn and DoesNotExist, an empty one exists."""
    assert Requirement("region", operator, VALUES).holds(labels) is holds


def test_every_operator_is_in_the_table() -> None:
    """The table above leaves none out."""
    assert {operator for operator, *_ in TABLE} == set(Operator)


def test_all_requirements_must_hold() -> None:
    """A selector is a conjunction."""
    both = Selector((Requirement("region", IN, VALUES), Requirement("flaky", EXISTS)))
    assert both.matches({"region": "eu", "flaky": "yes"})
    assert not both.matches({"region": "eu"})
    assert not both.matches({"flaky": "yes"})


def test_an_empty_selector_matches_everything() -> None:
    """No requirement, nothing to fail."""
    assert EVERYTHING.matches({})
