"""The person who merges in `make demo`: a merge that fails once is tried again, never refused."""

import asyncio

from tidegate.forge.port import MergeRequest, RequestState
from tidegate.kinds.promotions.cli.life import MergingForge, merge_offers
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually

HOUR_S = 3600.0
OFFER = MergeRequest(
    number=1, url="", title="", description="", source="a", target="b", state=RequestState.OPEN
)


class _BusyForge:
    """A forge that does not merge the first time, as on a machine that is too busy."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def find(self) -> tuple[MergeRequest, ...]:
        return () if "merged" in self.calls else (OFFER,)

    async def merge(self, number: int) -> MergeRequest:
        assert number == OFFER.number
        first = not self.calls
        self.calls.append("busy" if first else "merged")
        if first:
            raise OutsideError("git: too many writers at once")
        return OFFER

    async def decline(self, number: int) -> MergeRequest:
        self.calls.append(f"declined {number}")
        return OFFER


def test_what_cannot_be_merged_now_is_merged_at_the_next_look() -> None:
    """A refusal would show all environments of the demo as failed."""
    forge = _BusyForge()
    assert isinstance(forge, MergingForge)

    async def looks(_: VirtualLoop) -> None:
        task = asyncio.create_task(merge_offers(forge, HOUR_S))
        await asyncio.sleep(5 * HOUR_S)
        task.cancel()

    run_virtually(looks, Instant(0))
    assert forge.calls == ["busy", "merged"]
