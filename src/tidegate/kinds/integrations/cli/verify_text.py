"""What is promised and what runs, as people and programs read it: counts first."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.explain.table import layout
from tidegate.kinds.integrations.core.review.proof import NOTHING, Proof
from tidegate.kinds.integrations.core.sharding.inventory import Row

# Of a digest so much tells it from others.
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]+")
HEAD = ("SHARD", "ENVIRONMENT", "PROMISED", "RUNS", "WHY")
WIDE = ("CLUSTER", "NAMESPACE", "PODS", "DIGEST", "PINNED BY")


def headline(proofs: Sequence[Proof]) -> str:
    """How many are as promised, on one line."""
    good, unread = sum(each.agrees for each in proofs), sum(not each.read for each in proofs)
    more = f", {unread:,} not read" if unread else ""
    return f"{good:,} of {len(proofs):,} shards run what is promised{more}"


def lines(proofs: Sequence[Proof], width: int | None, *, wide: bool = False) -> Iterator[str]:
    """Counts by environment, then whoever differs; wide: everybody."""
    yield headline(proofs)
    yield ""
    counts = [(name, *map(str, _counts(some))) for name, some in _environments(proofs).items()]
    yield from layout(("ENVIRONMENT", "SHARDS", "AS PROMISED", "DIFFER", "NOT READ"), counts, width)
    listed = [each for each in proofs if wide or not each.agrees]
    if not listed:
        return
    yield ""
    if wide:
        head = (*HEAD[:-1], *WIDE, HEAD[-1])
        rows = [(*_cells(each)[:-1], *_wide(each), _cells(each)[-1]) for each in listed]
        yield from layout(head, rows)
    else:
        yield from layout(HEAD, list(map(_cells, listed)), width)


def _environments(proofs: Sequence[Proof]) -> dict[str, list[Proof]]:
    found: dict[str, list[Proof]] = {}
    for each in proofs:
        found.setdefault(each.row.environment, []).append(each)
    return dict(sorted(found.items()))


def _counts(proofs: Sequence[Proof]) -> tuple[int, int, int, int]:
    good, unread = sum(each.agrees for each in proofs), sum(not each.read for each in proofs)
    return len(proofs), good, len(proofs) - good - unread, unread


def _cells(proof: Proof) -> tuple[str, ...]:
    row = proof.row
    why = proof.why or ("" if proof.read else row.note)
    pinned = f"pinned by {row.pinned_by}" if row.pinned_by else ""
    runs = _short(", ".join(proof.running)) or ("?" if not proof.read else NOTHING)
    said = "; ".join(filter(None, (why, pinned)))
    return row.shard, row.environment, _promised(row), runs, said


def _promised(row: Row) -> str:
    return NOTHING if row.of == 0 and row.kind != "CronJob" else _short(row.wants)


def _wide(proof: Proof) -> tuple[str, ...]:
    row = proof.row
    digests = _short(", ".join(proof.digests))
    return row.cluster, row.namespace, str(proof.pods), digests, row.pinned_by


def _short(text: str) -> str:
    return _DIGEST.sub(r"\1", text)


def as_data(proofs: Sequence[Proof]) -> dict[str, Any]:
    """The same for programs, everybody; these names are API."""
    names = ("shards", "asPromised", "differ", "notRead")
    return {
        "kind": "Verification",
        "agrees": all(each.agrees for each in proofs),
        "environments": [
            {"name": name, **dict(zip(names, _counts(some), strict=True))}
            for name, some in _environments(proofs).items()
        ],
        "items": [_item(each) for each in proofs],
    }


def _item(proof: Proof) -> dict[str, Any]:
    row = proof.row
    return {
        "shard": row.shard,
        "integration": row.integration,
        "environment": row.environment,
        "cluster": row.cluster,
        "namespace": row.namespace,
        "kind": row.kind,
        "promised": row.wants,
        "running": list(proof.running),
        "digests": list(proof.digests),
        "pods": proof.pods,
        "pinnedBy": row.pinned_by or None,
        "read": proof.read,
        "agrees": proof.agrees,
        "why": proof.why or None,
    }
