"""The rules of policies, which are those of rollouts."""

from typing import ClassVar

from tidegate.kinds.policies.core.history import NOT_UNDONE
from tidegate.kinds.rollouts.rules import RolloutRules


class PolicyRules(RolloutRules):
    """A revision of a policy over the groups of its placement."""

    not_undone: ClassVar[str] = NOT_UNDONE
