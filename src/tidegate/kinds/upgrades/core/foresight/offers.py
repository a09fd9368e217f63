"""What clusters are offered, by where they are: their version, their channel, hosted or not.

It is read of clusters, and of nothing else: what a channel offers a version on which no cluster is
cannot be known before one is there.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.rules.soak import key_or_least
from tidegate.kinds.upgrades.core.world import ManagedCluster

_Place = tuple[str, str, bool]


class KnownOffers:
    """What clusters are offered today."""

    def __init__(self, clusters: Iterable[ManagedCluster]) -> None:
        self._places: dict[_Place, set[str]] = {}
        self._channels: dict[tuple[str, bool], set[str]] = {}
        for each in clusters:
            offers = each.available_upgrades
            self._places.setdefault(_place(each), set()).update(offers)
            self._channels.setdefault(_place(each)[1:], set()).update(offers)

    def of(self, cluster: ManagedCluster) -> tuple[str, ...] | None:
        """What others where a cluster is are offered, and is newer; None: there are none."""
        offers = self._places.get(_place(cluster))
        return None if offers is None else _newer(cluster, offers)

    def guess(self, cluster: ManagedCluster) -> tuple[str, ...]:
        """What it was offered before, and what others on its channel are; one minor at most."""
        offers = {*cluster.available_upgrades, *self._channels.get(_place(cluster)[1:], ())}
        return tuple(each for each in _newer(cluster, offers) if _is_near(cluster, each))


def _place(cluster: ManagedCluster) -> _Place:
    """What decides where a cluster can go."""
    return cluster.version, cluster.updates_from, cluster.is_hosted


def _newer(cluster: ManagedCluster, offers: Iterable[str]) -> tuple[str, ...]:
    own = key_or_least(cluster.version)
    return tuple(each for each in sorted(offers) if key_or_least(each) > own)


def _is_near(cluster: ManagedCluster, version: str) -> bool:
    """Whether it is at most one minor ahead; what it was offered before is near enough."""
    own, other = key_or_least(cluster.version), key_or_least(version)
    if version in cluster.available_upgrades or not own or not other:
        return version in cluster.available_upgrades
    return other[0] == own[0] and other[1] <= own[1] + 1
