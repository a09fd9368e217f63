"""Events on a Rollout object: what happened between two of its statuses.

The status is on the hub, so that a worker that starts anew finds what was told before. An Event is
written before the status that it tells of: if a worker dies in between, the next writes the same
Event again, under the same name, and by its mark sees that it is there.
"""

import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from tidegate.journal.fact import some_names
from tidegate.kinds.policies.core.history import NOT_UNDONE
from tidegate.kinds.policies.core.names import GROUP
from tidegate.kinds.policies.wire.status_doc import ACCEPTED, conditions_of, shortened
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kubernetes.port import EVENT
from tidegate.model.counted import counted
from tidegate.model.time import SECOND, Instant, format_second

Fields = Mapping[str, Any]

# The server takes 1 kB, in UTF-8.
NOTE_MAX = 1000
# More groups that start or end at once share one Event.
GROUPS_APART = 5
# Names are no longer than this; 17 characters tell Events of one object apart.
_NAME_MAX = 253 - 17
_MARK = f"{GROUP}/occurrence"
_CONTROLLER = f"{GROUP}/worker"
_WARNINGS = frozenset(("RolloutFailed", "RolloutAborted", "RolledBack", "RolloutRefused"))


class EventReason(enum.Enum):
    """What an Event is about: public, and never renamed."""

    ROLLOUT_STARTED = "RolloutStarted"
    GROUP_STARTED = "GroupStarted"
    GROUP_DONE = "GroupDone"
    ROLLOUT_SUCCEEDED = "RolloutSucceeded"
    ROLLOUT_FAILED = "RolloutFailed"
    ROLLOUT_PAUSED = "RolloutPaused"
    ROLLOUT_ABORTED = "RolloutAborted"
    ROLLED_BACK = "RolledBack"
    ROLLOUT_SUPERSEDED = "RolloutSuperseded"
    ROLLOUT_REFUSED = "RolloutRefused"
    DRIFT_PUT_BACK = "DriftPutBack"


class RolloutEvent(msgspec.Struct, frozen=True):
    """One thing that happened to a rollout."""

    reason: EventReason
    note: str


_SUMMARIES = {
    Summary.SUCCEEDED.value: EventReason.ROLLOUT_SUCCEEDED,
    Summary.FAILED.value: EventReason.ROLLOUT_FAILED,
    Summary.PAUSED.value: EventReason.ROLLOUT_PAUSED,
    Summary.ABORTED.value: EventReason.ROLLOUT_ABORTED,
}


def events_between(before: Fields, after: Fields, returns_to: str = "") -> list[RolloutEvent]:
    """What happened between two statuses of an object, in order.

    `returns_to` is what an aborted rollout returns to; empty: its clusters stay as they are.
    """
    revision, old = after.get("revision") or "", before.get("revision") or ""
    same = (before.get("rolloutUID"), old) == (after.get("rolloutUID"), revision)
    word = after.get("rolloutStatus") or ""
    found: list[RolloutEvent] = []
    if old and old != revision and before.get("rolloutStatus") != Summary.SUCCEEDED.value:
        note = f"{revision} takes the place of {old}, of which {before.get('done')} were done"
        found.append(RolloutEvent(EventReason.ROLLOUT_SUPERSEDED, note))
    known = _rows(before) if same else {}
    if _touched(after.get("clusters") or {}) and not _touched(
        (before.get("clusters") or {}) if same else {}
    ):
        found.append(RolloutEvent(EventReason.ROLLOUT_STARTED, f"revision {revision} goes out"))
    over = Summary.SUCCEEDED.value
    if not (same and before.get("rolloutStatus") == word == over):
        # What a cluster does that joins after the end is no news of its group.
        found += _of_groups(known, _rows(after), revision)
    if word in _SUMMARIES and (not same or word != before.get("rolloutStatus")):
        reason, note = _SUMMARIES[word], f"revision {revision}: {after.get('done')} done"
        if word == Summary.ABORTED.value and returns_to:
            reason = EventReason.ROLLED_BACK
            note = f"clusters return from {revision} to {returns_to}; {NOT_UNDONE}"
        found.append(RolloutEvent(reason, note))
    return found


def refusal(before: Fields, after: Fields) -> list[RolloutEvent]:
    """That a rollout is refused, if that or its reason is new."""
    old = conditions_of({"status": before}).get(ACCEPTED) or {}
    new = conditions_of({"status": after}).get(ACCEPTED) or {}
    if new.get("status") != "False" or old.get("message") == new.get("message"):
        return []
    return [RolloutEvent(EventReason.ROLLOUT_REFUSED, f"{new['reason']}: {new['message']}")]


def _of_groups(
    before: Mapping[str, Fields], after: Mapping[str, Fields], revision: str
) -> Iterator[RolloutEvent]:
    tests: tuple[tuple[EventReason, str, Callable[[Fields], object]], ...] = (
        (EventReason.GROUP_STARTED, "gets", _touched),
        (EventReason.GROUP_DONE, "has", _is_done),
    )
    for reason, verb, test in tests:
        names = [
            name for name, row in after.items() if test(row) and not test(before.get(name) or {})
        ]
        if len(names) > GROUPS_APART:
            note = f"{counted(len(names), 'group')}: {some_names(names)} ({revision})"
            yield RolloutEvent(reason, note)
            continue
        for name in names:
            yield RolloutEvent(reason, f"{name} {verb} {revision}")


def _rows(status: Fields) -> dict[str, Fields]:
    return {str(each.get("groupName")): each for each in status.get("decisionGroups") or ()}


def _touched(row: Fields) -> int:
    return sum(int(row.get(each) or 0) for each in ("updating", "soaking", "done", "failed"))


def _is_done(row: Fields) -> bool:
    return row.get("rolloutStatus") == Summary.SUCCEEDED.value and bool(_touched(row))


def mark_of(before: Fields) -> str:
    """What tells one occurrence from another of the same: the status that it ended."""
    return _hash(msgspec.json.encode(before, order="sorted"))


def event_name(document: Fields, event: RolloutEvent) -> str:
    """The name of an Event: the same for the same thing of the same object."""
    metadata = document["metadata"]
    about = "\n".join((str(metadata.get("uid")), event.reason.value, event.note))
    return f"{str(metadata['name'])[:_NAME_MAX]}.{_hash(about.encode())}"


def event_object(
    document: Fields,
    event: RolloutEvent,
    known: Fields | None,
    *,
    mark: str,
    worker: str,
    now: Instant,
) -> dict[str, Any] | None:
    """An Event, or the one there is with another occurrence of it; None: it is told already."""
    metadata = document["metadata"]
    fixed: dict[str, Any] = {
        "eventTime": _micro(now),
        "reportingInstance": worker[:128] or "tidegate",
        "note": _bytes_cut(event.note),
    }
    more: dict[str, Any] = {}
    if known is not None:
        if (known["metadata"].get("annotations") or {}).get(_MARK) == mark:
            return None
        # Of an Event that is there only its series may change.
        fixed = {key: known.get(key) for key in fixed}
        times = int((known.get("series") or {}).get("count") or 1)
        more = {"series": {"count": times + 1, "lastObservedTime": _micro(now)}}
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {
            "namespace": metadata["namespace"],
            "name": event_name(document, event),
            "annotations": {_MARK: mark},
        },
        "reportingController": _CONTROLLER,
        "action": "Rollout",
        "reason": event.reason.value,
        "type": "Warning" if event.reason.value in _WARNINGS else "Normal",
        "regarding": {
            "apiVersion": document["apiVersion"],
            "kind": document["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata.get("uid") or "",
        },
        **fixed,
        **more,
    }


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _bytes_cut(note: str) -> str:
    """A note that is short enough in UTF-8, too."""
    text = shortened(note, NOTE_MAX)
    return text.encode()[:NOTE_MAX].decode(errors="ignore")


def _micro(now: Instant) -> str:
    """With exactly six digits: the server reads no other."""
    return f"{format_second(now)[:-1]}.{now % SECOND // 1000:06d}Z"
