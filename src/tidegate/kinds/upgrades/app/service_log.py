"""Entries in the service logs of clusters, for their owners: a mistake once a day, in our words.

OpenShift Cluster Manager is asked whether the same entry was written within a day, in our words or
in those of the predecessor under the same title, so that an owner who moves from one service to the
other is told once; what we wrote is recorded besides, so that it is not asked in every round.
"""

import asyncio
from collections.abc import Iterable
from hashlib import blake2b

from tidegate.engine.kind import ACTOR
from tidegate.engine.partition import PartitionState
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Told
from tidegate.journal.lease import Lease
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice
from tidegate.kinds.upgrades.ocm.documents import LogEntry
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant

AGAIN = Duration(24 * 3600 * SECOND)


def key_of(owner_notice: OwnerNotice) -> str:
    """What makes two tellings the same."""
    text = "\0".join((owner_notice.uuid, owner_notice.summary, owner_notice.description))
    return blake2b(text.encode(), digest_size=12).hexdigest()


async def write_log(
    part: PartitionState[UpgradeState],
    manager: ManagedClusters,
    clock: Clock,
    lease: Lease,
    owner_notices: Iterable[OwnerNotice],
) -> dict[str, str]:
    """Write what was not written within a day; why an entry could not be, by its cluster."""
    now = clock.now()
    known = part.state.told
    due = {
        key: each
        for each in owner_notices
        if (key := key_of(each)) not in known or now - known[key] > AGAIN
    }
    if not due:
        return {}
    # No other worker writes while the lease is ours; one that follows asks what was written, and
    # not what is about to be.
    await asyncio.to_thread(part.confirm, lease.token)
    left_s = (lease.until - clock.now()) / SECOND
    if left_s <= 0:
        return {}
    answers = await asyncio.gather(*(_one(manager, each, now, left_s) for each in due.values()))
    keys = tuple(sorted(key for key, answer in zip(due, answers, strict=True) if answer is None))
    if keys:
        note = JournalNote(clock.now(), ACTOR, Told(keys=keys))
        await asyncio.to_thread(part.write, [note], token=lease.token)
    told = zip(due.values(), answers, strict=True)
    return {f"service log {each.uuid}": answer for each, answer in told if answer}


async def _one(
    manager: ManagedClusters, owner_notice: OwnerNotice, now: Instant, left_s: float
) -> str | None:
    """Write one entry: why it could not be; None: written; empty: another service wrote it."""
    entry = LogEntry(
        cluster_uuid=owner_notice.uuid,
        service_name=SERVICE,
        summary=owner_notice.summary,
        description=owner_notice.description,
        severity=owner_notice.severity,
        known=owner_notice.known,
    )
    try:
        async with asyncio.timeout(left_s):
            told = await manager.tell(entry, Instant(now - AGAIN))
    except (OutsideError, TimeoutError, OSError) as error:
        return str(error) or "no answer in time"
    # What another service wrote is asked again next time: its day ends before ours would.
    return None if told is not None else ""
