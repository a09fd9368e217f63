"""Promotions that go on: commits come, offers are merged, in real repositories on this machine.

The registry has every image and no shard is compared, for both would be asked elsewhere.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from tidegate.engine.started import Living, Started
from tidegate.forge.port import MergeRequest
from tidegate.kinds.promotions.app.ports import ChangeReach, PromotionPorts
from tidegate.kinds.promotions.cli.ports import SourceRepositories
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.world import ImageState
from tidegate.kinds.promotions.kind import PromotionKind
from tidegate.kinds.promotions.telemetry.observer import PromotionTelemetry
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND, Duration

if TYPE_CHECKING:
    from tidegate.git.port import Repository

# Where `examples/promotion.py` puts what is deployed, and where it is declared.
SOURCE, BUNDLE = "qontract-reconcile", "app-interface"
# The branch on which commits are made before they are pushed to the main one.
_WORK = "work"


class PromotionPace(msgspec.Struct, frozen=True):
    """What people do when, by the clock of the simulation."""

    # How often the repositories are read.
    every: Duration
    # How often a person looks at merge requests; each is merged at the second look.
    merge: Duration
    commit: Duration


@runtime_checkable
class MergingForge(Protocol):
    """A forge in whose place people can be simulated, too."""

    async def find(self) -> tuple[MergeRequest, ...]:
        """Every open merge request."""
        ...

    async def merge(self, number: int) -> MergeRequest:
        """Merge one; OutsideError if it cannot be merged now."""
        ...


class _Plain:
    """A registry that has every image, and a bundle of which nothing is compared."""

    async def state(self, image: str) -> ImageState:  # noqa: ARG002  of the port
        return ImageState.THERE

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> ChangeReach:  # noqa: ARG002
        return ChangeReach()


def living_promotions(folder: Path, clock: Clock, pace: PromotionPace) -> Living:
    """The promotions of the repositories below a folder."""
    from tidegate.wiring import forges, repositories

    bundle, source = (
        repositories.repository(folder / BUNDLE),
        repositories.repository(folder / SOURCE),
    )
    forge = forges.forge(bundle.url)
    if not isinstance(forge, MergingForge):
        problem = Problem("--promotions", f"{bundle.url} is not a folder", "merges are made there")
        raise UserError((problem,))
    ports = PromotionPorts(
        bundle=bundle,
        folder=str(folder / BUNDLE),
        repositories=SourceRepositories(fetch=True),
        images=_Plain(),
        reach=_Plain(),
        artifact_address=str((folder / f"{SOURCE}.git").resolve()),
    )
    kind = PromotionKind(ports, forge, clock, every=pace.every)

    async def live() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(merge_offers(forge, pace.merge / SECOND))
            group.create_task(_commit(source, pace.commit / SECOND))

    started = Started(kind, PromotionTelemetry(), forge.close, (KIND,))
    return Living(started=started, live=live)


async def merge_offers(forge: MergingForge, every_s: float) -> None:
    """Merge what was open at the look before.

    What cannot be merged stays open for the next look: a refused merge request would say of every
    environment that it failed, when a machine was only too busy.
    """
    seen = set[int]()
    while True:
        await asyncio.sleep(every_s)
        for each in await forge.find():
            if each.number in seen:
                with contextlib.suppress(OutsideError):
                    await forge.merge(each.number)
            seen.add(each.number)


async def _commit(source: "Repository", every_s: float) -> None:
    """Add a commit to what is deployed."""
    number = 0
    while True:
        await asyncio.sleep(every_s)
        number += 1
        try:
            await asyncio.to_thread(_add, source, number)
        except (OutsideError, StaleError):
            continue  # the next one is as good


def _add(source: "Repository", number: int) -> None:
    branch = source.branch()
    tip = source.pushed(branch)
    text = f"change {number} of the simulation\n"
    made = source.commit(_WORK, tip, {f"simulated-{number}.md": text.encode()}, text)
    source.push(branch, made, tip)
