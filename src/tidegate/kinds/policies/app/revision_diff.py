"""What one revision of a policy changes in another."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.app.stage_plan import named
from tidegate.kinds.policies.core.difference import differences
from tidegate.kinds.policies.core.losses import MoveLosses, losses_of
from tidegate.kinds.policies.core.revision import Revision, spec_of
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all


class RevisionChange(Part, frozen=True, kw_only=True):
    """One place that differs, with both values as JSON."""

    path: str
    before: str
    after: str


class RevisionDiff(Document, frozen=True, kw_only=True):
    """What differs between two revisions of a policy."""

    policy: str
    # Empty: no cluster has the policy yet.
    before: str
    after: str
    changes: list[RevisionChange]
    # Objects that the first one names and the second does not: what a cluster that moves from one
    # to the other loses, and what stays on it and is no longer looked at.
    deleted: list[str]
    left: list[str]


async def compare_revisions(
    fleet: PolicyFleet, name: str, before: str | None = None, after: str | None = None
) -> RevisionDiff:
    """Compare two revisions; by default what most clusters have with what the author wants."""
    view = await fleet.view(f"{WORD}/{named(name)}")
    known = view.known
    first = _full(known, before) if before else view.last_good
    second = _full(known, after) if after else view.revision.name
    old = spec_of(known[first]) if first is not None else {}
    new = spec_of(known[second])
    dropped = losses_of(known[first], known[second]) if first is not None else MoveLosses()
    return RevisionDiff(
        policy=view.rollout.name,
        before=first or "",
        after=second,
        changes=[
            RevisionChange(path=each.path, before=_text(each.before), after=_text(each.after))
            for each in differences(old, new, "spec")
        ],
        deleted=list(dropped.deleted),
        left=list(dropped.left),
    )


def _full(revisions: Mapping[str, Revision], name: str) -> str:
    """A revision by its name, or by the beginning of it that no other has."""
    begins = [each for each in sorted(revisions) if each.startswith(name)]
    if len(begins) == 1:
        return begins[0]
    hint = nearest_or_all(name, begins or sorted(revisions))
    gone = "of those that no cluster has only the last are kept (spec.revisionHistoryLimit)"
    raise NotFoundError("revision", name, f"{hint}; {gone}", "on the hub")


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
