"""What a reading of one policy, or of one set, holds beside what every rollout reports."""

from tidegate.kinds.rollouts.fleet import Observation


class PolicyObservation(Observation, frozen=True):
    """A reading of one policy."""

    # Clusters that are there and whose agents are not heard: they have not left.
    offline: frozenset[str] = frozenset()
    # All clusters that are registered.
    registered: frozenset[str] = frozenset()
    # Whether clusters keep their group.
    stable: bool = True
    # Whether its clusters are given revisions by pointers.
    staged: bool = False
    # Whether a pointer that another moved is left where it is.
    leaves_drift: bool = False
