"""How the clusters of an organisation are: the alerts that fire for them."""

from collections.abc import Mapping
from typing import Protocol

Alerts = Mapping[str, tuple[str, ...]]
"""The names of alerts by the external id of a cluster; who is not in it has none."""


class ClusterHealth(Protocol):
    """The alerts of clusters. A call may take long."""

    async def alerts(self, org_id: str) -> Alerts:
        """What fires now for the clusters of an organisation, names in order.

        OutsideError if it cannot be had, or not for sure: silence is never taken for health.
        """
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
