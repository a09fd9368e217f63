"""Label selectors as Kubernetes means them: every part must hold; an empty one always does."""

import enum
from collections.abc import Mapping

import msgspec


class Operator(enum.Enum):
    """How a requirement compares a label with its values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One comparison of one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy it. A missing label satisfies NotIn, as in Kubernetes."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None


class Selector(msgspec.Struct, frozen=True, gc=False):
    """A conjunction of requirements; matchLabels are requirements with one value."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all requirements hold for these labels."""
        return all(requirement.holds(labels) for requirement in self.requirements)


EVERYTHING = Selector()
