"""What one revision of a policy changes in another."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from tidegate.kinds.policies.app.stage_plan import named
from tidegate.kinds.policies.core.difference import differences
from tidegate.kinds.policies.core.losses import MoveLosses, losses_of
from tidegate.kinds.policies.core.revision import Revision, spec_of
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.hub.set_view import SetView
from tidegate.kinds.policies.hub.view import PolicyView
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


_Compared = tuple[list[RevisionChange], MoveLosses]


async def compare_revisions(
    fleet: PolicyFleet, name: str, before: str | None = None, after: str | None = None
) -> RevisionDiff:
    """Compare two revisions; by default what most clusters have with what the author wants."""
    view = await fleet.view(f"{WORD}/{named(name)}")
    first = _full(view.known, before) if before else view.last_good
    second = _full(view.known, after) if after else view.revision_name
    parts = [*_set_parts(view, first, second)] if isinstance(view, SetView) else []
    if isinstance(view, PolicyView):
        parts = [_compared("", view.known.get(first or ""), view.known[second])]
    return RevisionDiff(
        policy=view.rollout.name,
        before=first or "",
        after=second,
        changes=[change for changes, _ in parts for change in changes],
        deleted=[each for _, lost in parts for each in lost.deleted],
        left=[each for _, lost in parts for each in lost.left],
    )


def _set_parts(view: SetView, first: str | None, second: str) -> Iterator[_Compared]:
    """What differs in each policy of a set."""
    old, new = view.known.get(first or "", {}), view.known[second]
    for name, one in view.policies.items():
        after = one.known.get(new[name])
        if after is None:
            gone = f"revision {new[name]} of {name} is not on the hub any more"
            raise NotFoundError("revision", second, gone, "on the hub")
        yield _compared(name, one.known.get(old.get(name, "")), after)


def _compared(policy: str, before: Revision | None, after: Revision) -> _Compared:
    """What differs between two revisions of a policy, which is named in a set."""
    old = spec_of(before) if before is not None else {}
    changes = [
        RevisionChange(path=each.path, before=_text(each.before), after=_text(each.after))
        for each in differences(old, spec_of(after), f"{policy}: spec" if policy else "spec")
    ]
    return changes, losses_of(before, after) if before is not None else MoveLosses()


def _full(revisions: Collection[str], name: str) -> str:
    """A revision by its name, or by the beginning of it that no other has."""
    begins = [each for each in sorted(revisions) if each.startswith(name)]
    if len(begins) == 1:
        return begins[0]
    hint = nearest_or_all(name, begins or sorted(revisions))
    gone = "of those that no cluster has only the last are kept (spec.revisionHistoryLimit)"
    raise NotFoundError("revision", name, f"{hint}; {gone}", "on the hub")


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
