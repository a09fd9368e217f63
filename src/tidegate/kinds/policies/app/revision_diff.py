"""What one revision of a policy changes in another."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.app.stage_plan import named
from tidegate.kinds.policies.core.difference import differences
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


async def compare_revisions(
    fleet: PolicyFleet, name: str, before: str | None = None, after: str | None = None
) -> RevisionDiff:
    """Compare two revisions; by default what most clusters have with what the author wants."""
    view = await fleet.view(f"{WORD}/{named(name)}")
    known = view.known
    first, second = before or view.last_good, after or view.revision.name
    old = spec_of(_known(known, first)) if first is not None else {}
    new = spec_of(_known(known, second))
    return RevisionDiff(
        policy=view.rollout.name,
        before=first or "",
        after=second,
        changes=[
            RevisionChange(path=each.path, before=_text(each.before), after=_text(each.after))
            for each in differences(old, new, "spec")
        ],
    )


def _known(revisions: Mapping[str, Revision], name: str) -> Revision:
    if name not in revisions:
        raise NotFoundError("revision", name, nearest_or_all(name, revisions))
    return revisions[name]


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
