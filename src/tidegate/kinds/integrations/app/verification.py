"""Whether every shard runs what the bundle promises, and waiting until it does."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tidegate.kinds.integrations.app.estate import FindCluster
from tidegate.kinds.integrations.app.shards import (
    NamespaceReadings,
    Units,
    read_namespaces,
    row_in,
)
from tidegate.kinds.integrations.core.review.proof import Proof, moved_tags, proof_of
from tidegate.kinds.integrations.fleet.snapshot import where_of
from tidegate.model.document import Document, Part

# How often clusters are read again.
EVERY_S = 2.0


class VerifiedEnvironment(Part, frozen=True, kw_only=True):
    """How many shards of an environment are as promised."""

    name: str
    shards: int
    as_promised: int
    differ: int
    not_read: int


class VerifiedShard(Part, frozen=True, kw_only=True):
    """One shard: what is promised, and what its pods run."""

    shard: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    kind: str
    promised: str
    running: tuple[str, ...]
    digests: tuple[str, ...]
    pods: int
    pinned_by: str | None
    # Whether it is known what is promised, and what runs; else the note says why not.
    read: bool
    agrees: bool
    why: str | None
    # How many pods it is to have.
    of: int
    note: str | None


class MovedTag(Part, frozen=True, kw_only=True):
    """A tag under which pods run several images."""

    tag: str
    digests: tuple[str, ...]


class Verification(Document, frozen=True, kw_only=True):
    """What `verify` answers."""

    agrees: bool
    environments: tuple[VerifiedEnvironment, ...]
    items: tuple[VerifiedShard, ...]
    # What could not be read, a line each.
    troubles: tuple[str, ...] = ()
    moved_tags: tuple[MovedTag, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether a shard that was read runs something else."""
        return any(each.read and each.why for each in self.items)


async def verify(
    units: Units,
    find: FindCluster,
    wait_s: float | None = None,
    every_s: float = EVERY_S,
    progress: Callable[[Verification], None] = lambda _: None,
) -> Verification:
    """What shards run; with `wait_s`, read again until they agree or the time is over."""
    loop = asyncio.get_running_loop()
    ends_at = None if wait_s is None else loop.time() + wait_s
    while True:
        found = await verify_once(units, find)
        if ends_at is None or (_settled(units, found) and not found.troubles):
            return found
        progress(found)
        if loop.time() >= ends_at:
            return found
        await asyncio.sleep(max(0.0, min(every_s, ends_at - loop.time())))


def _settled(units: Units, found: Verification) -> bool:
    """Whether waiting changes nothing: a promise that is not known stays so."""
    paired = zip(units, found.items, strict=True)
    return all(item.agrees or bool(place.no_image) for (place, _), item in paired)


async def verify_once(units: Units, find: FindCluster) -> Verification:
    """What every one of some shards runs now, and what could not be read."""
    readings = await read_namespaces(units, find)
    proofs = proofs_in(units, readings)
    gaps = dict.fromkeys(
        f"{'/'.join(where_of(place))}: not everything there could be read"
        for (place, _), proof in zip(units, proofs, strict=True)
        if proof.why and not proof.read
    )
    return verification_of(proofs, (*readings.troubles, *gaps))


def proofs_in(units: Units, readings: NamespaceReadings) -> list[Proof]:
    """What became of the promise to each unit, as the namespaces have it."""
    proofs: list[Proof] = []
    for place, unit in units:
        snapshot = readings.snapshots.get(where_of(place))
        row = row_in(place, unit, snapshot)
        if snapshot is None:
            proofs.append(Proof(row=row, read=False))
            continue
        proof = proof_of(place, unit, row, snapshot.workloads, snapshot.pods)
        if proof.why and not snapshot.complete:
            # What seems missing may only not have been read.
            proof = msgspec.structs.replace(proof, read=False)
        proofs.append(proof)
    return proofs


def verification_of(proofs: Sequence[Proof], troubles: Iterable[str] = ()) -> Verification:
    """Proofs as programs read them."""
    environments: dict[str, list[Proof]] = {}
    for each in proofs:
        environments.setdefault(each.row.environment, []).append(each)
    return Verification(
        agrees=all(each.agrees for each in proofs),
        environments=tuple(_environment(name, environments[name]) for name in sorted(environments)),
        items=tuple(map(_item, proofs)),
        troubles=tuple(troubles),
        moved_tags=tuple(
            MovedTag(tag=tag, digests=tuple(digests)) for tag, digests in moved_tags(proofs).items()
        ),
    )


def _environment(name: str, proofs: Sequence[Proof]) -> VerifiedEnvironment:
    good, unread = sum(each.agrees for each in proofs), sum(not each.read for each in proofs)
    return VerifiedEnvironment(
        name=name,
        shards=len(proofs),
        as_promised=good,
        differ=len(proofs) - good - unread,
        not_read=unread,
    )


def _item(proof: Proof) -> VerifiedShard:
    row = proof.row
    return VerifiedShard(
        shard=row.shard,
        integration=row.integration,
        environment=row.environment,
        cluster=row.cluster,
        namespace=row.namespace,
        kind=row.kind,
        promised=row.wants,
        running=proof.running,
        digests=proof.digests,
        pods=proof.pods,
        pinned_by=row.pinned_by or None,
        read=proof.read,
        agrees=proof.agrees,
        why=proof.why or None,
        of=row.of,
        note=row.note or None,
    )
