"""Where waves through Git are offered: one merge request for each place at a time."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace


class WaveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The newest merge request that changes overrides of a place, unless it was merged."""

    number: int
    url: str
    # The default image of the place when it was made.
    revision: str
    # What each shard that it changes is to have, by the name of its unit.
    units: Mapping[str, str]
    # A person closed it without a merge; else it is open.
    declined: bool = False


class WaveRequests(Protocol):
    """Offers overrides of shards as merge requests."""

    async def newest(self, place: ManagedPlace) -> WaveRequest | None:
        """The merge request of a place that is open, or that a person closed since the last offer.

        None: there is none, or it cannot be read.
        """
        ...

    async def offer(self, place: ManagedPlace, moves: Mapping[str, str], picture: str = "") -> str:
        """Offer images for some units, beside what is open already; where it is offered.

        `picture`: the address of one that shows how far the rollout is; empty: there is none.

        StaleError if the bundle is not what the place was read from, or a person changed the
        branch. Offering the same again changes nothing.
        """
        ...

    async def supersede(self, place: ManagedPlace) -> None:
        """Close what is open of a place for another default than its present one, and say why.

        StaleError if a person changed the branch: it is left to that person.
        """
        ...
