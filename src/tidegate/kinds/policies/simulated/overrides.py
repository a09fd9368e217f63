"""Which replicas bindings have enforced, as a propagator decides it: by what it is told of.

A decision that gains or loses a cluster, a binding that comes or goes, and an edit of the root have
it look at replicas. A Placement that goes has not: its clusters stay enforced until something else
happens to them.
"""

from collections.abc import Collection, Mapping

from tidegate.kinds.policies.core.revision import Fields


class Overrides:
    """The replicas that are enforced though their roots are not."""

    def __init__(self) -> None:
        self._roots: dict[str, Fields] = {}
        # By root: the Placement by which each cluster is enforced.
        self._enforced: dict[str, dict[str, str]] = {}
        # By root: clusters that are enforced by nothing any more.
        self._stuck: dict[str, set[str]] = {}

    def follow(
        self, name: str, root: Fields, wanted: Mapping[str, str], placements: Collection[str]
    ) -> Collection[str]:
        """The clusters that have a root enforced; `wanted` are those in decisions, by Placement."""
        before = self._enforced.get(name, {})
        stuck = self._stuck.setdefault(name, set())
        if self._roots.get(name) != root:
            stuck.clear()
        else:
            stuck.update(each for each in before if before[each] not in placements)
        self._roots[name] = root
        self._enforced[name] = dict(wanted)
        stuck.difference_update(wanted)
        return {*wanted, *stuck}
