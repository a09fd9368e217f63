"""The tag of a plan: what a write names, so that it is not carried out on another one.

It covers what a person decides by (state, revision, whether it starts, which gate is shut and why)
and nothing that a clock alone changes: a plan keeps its tag while its targets soak.
"""

from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from tidegate.explain.view import PartitionView, RequestRow, TargetRow
from tidegate.model.document import Part

TAG_BYTES = 12
# A difference lists this many things; the others are counted.
LISTED = 50


class PlanChange(Part, frozen=True, kw_only=True):
    """One thing that is not as it was."""

    what: str
    # Null: it was not there, or is there no more.
    before: str | None
    after: str | None


class PlanDifference(Part, frozen=True, kw_only=True):
    """What is not as it was when a plan was read."""

    changes: int
    # The first of them, by name.
    items: tuple[PlanChange, ...]


def tag_of(rows: Mapping[str, str]) -> str:
    """The tag of what a person decides by, thing by thing."""
    body = msgspec.json.encode(sorted(rows.items()))
    return blake2b(body, digest_size=TAG_BYTES).hexdigest()


def plan_rows(view: PartitionView) -> dict[str, str]:
    """A plan as a person decides by it: a line for each target, and one for the whole."""
    rows = {each.name: _line(each) for each in view.targets}
    rows[view.partition] = f"{view.summary}, {view.revision or 'no revision'}"
    for request in view.requests:
        rows[f"request {request.ident}"] = _request_line(request)
    if view.paused:
        rows[view.partition] += ", paused"
    return rows


def _request_line(row: RequestRow) -> str:
    line = f"{row.state}, {row.change}"
    if row.starts:
        return f"{line}, starts"
    return line if row.shut is None else f"{line}, {row.shut.gate.value}: {row.shut.reason.value}"


def _line(row: TargetRow) -> str:
    line = f"{row.state}, {row.revision or 'no revision'}"
    if row.next and row.next != row.revision:
        line += f" to {row.next}"
    if row.starts:
        return f"{line}, starts"
    if row.waits and row.shut is not None:
        return f"{line}, {row.shut.gate.value}: {row.shut.reason.value}"
    return line


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> PlanDifference:
    """What changed from one plan to another."""
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    return PlanDifference(
        changes=len(names),
        items=tuple(
            PlanChange(what=name, before=before.get(name), after=after.get(name))
            for name in names[:LISTED]
        ),
    )
