"""What is promised and what runs, as people read it: counts first."""

import re
from collections.abc import Iterator

from tidegate.cli.render.causes import CauseCount
from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.verification import Verification, VerifiedShard
from tidegate.kinds.integrations.core.review.proof import NOTHING

# So much of a digest is shown.
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]+")
HEAD = ("SHARD", "ENVIRONMENT", "PROMISED", "RUNS", "WHY")
WIDE = ("CLUSTER", "NAMESPACE", "PODS", "DIGEST", "PINNED BY")


def headline(found: Verification) -> str:
    """How many are as promised, on one line."""
    good = sum(each.as_promised for each in found.environments)
    unread = sum(each.not_read for each in found.environments)
    more = f", {unread:,} not known" if unread else ""
    return f"{good:,} of {len(found.items):,} shards run what is promised{more}"


def progress_line(found: Verification) -> str:
    """How many are as promised, the first that is not, and what could not be read."""
    late = [each for each in found.items if not each.agrees]
    first = f"; {late[0].shard}: {late[0].why}" if late and late[0].why else ""
    trouble = f"; {found.troubles[0]}" if found.troubles else ""
    return f"{headline(found)}{first}{trouble}"


def tag_lines(found: Verification) -> Iterator[str]:
    """Tags under which several images run."""
    for each in found.moved_tags:
        what = f"the tag {each.tag} is {len(each.digests)} images: {', '.join(each.digests)}"
        yield f"{what}; promise a digest, or name a registry (--registry)"


def lines(
    found: Verification, width: int | None, *, wide: bool = False, verbose: bool = False
) -> Iterator[str]:
    """Counts by environment, then every shard that differs; wide: all shards.

    Of those that could not be read for one cause, two are listed.
    """
    yield headline(found)
    yield ""
    counts = [
        (each.name, *map(str, (each.shards, each.as_promised, each.differ, each.not_read)))
        for each in found.environments
    ]
    yield from layout(
        ("ENVIRONMENT", "SHARDS", "AS PROMISED", "DIFFER", "NOT KNOWN"), counts, width
    )
    count = CauseCount(verbose=verbose or wide)
    listed = [
        each
        for each in found.items
        if wide or (not each.agrees and (each.read or count.shows(each.why or each.note or "")))
    ]
    if not listed:
        return
    yield ""
    if wide:
        head = (*HEAD[:-1], *WIDE, HEAD[-1])
        rows = [(*_cells(each)[:-1], *_wide(each), _cells(each)[-1]) for each in listed]
        yield from layout(head, rows)
    else:
        yield from layout(HEAD, list(map(_cells, listed)), width)
    yield from count.rest()


def _cells(shard: VerifiedShard) -> tuple[str, ...]:
    why = shard.why or ("" if shard.read else shard.note)
    pinned = f"pinned by {shard.pinned_by}" if shard.pinned_by else ""
    runs = _short(", ".join(shard.running)) or ("?" if not shard.read else NOTHING)
    words = "; ".join(filter(None, (why, pinned)))
    return shard.shard, shard.environment, _promised(shard), runs, words


def _promised(shard: VerifiedShard) -> str:
    if not shard.promised:
        return "?"
    return NOTHING if shard.of == 0 and shard.kind != "CronJob" else _short(shard.promised)


def _wide(shard: VerifiedShard) -> tuple[str, ...]:
    digests = _short(", ".join(shard.digests))
    return shard.cluster, shard.namespace, str(shard.pods), digests, shard.pinned_by or ""


def _short(text: str) -> str:
    return _DIGEST.sub(r"\1", text)
