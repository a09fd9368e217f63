"""A notice: one event of a partition that people are notified of, and its template."""

import enum

import msgspec

from tidegate.gates.scope import kind_word

# A notice names this many of its subjects; the others are counted.
SUBJECTS_MAX = 5


class NoticeKind(enum.Enum):
    """The events that people are notified of."""

    START = "start"
    STOP = "stop"
    FAILURE = "failure"
    APPROVAL = "approvalNeeded"
    DONE = "done"


class Notice(msgspec.Struct, frozen=True):
    """One notice."""

    rollout: str
    happening: NoticeKind
    revision: str
    # What it is about: targets, a group, how it stopped; empty where it is the rollout itself.
    subjects: tuple[str, ...]
    why: str
    # One for each subject: a notice is sent once for each key.
    keys: tuple[str, ...]
    # The entry of the journal that it is as of; 0: not known.
    entry: int = 0


def words(notice: Notice, picture: str = "") -> dict[str, str]:
    """A notice as the words a template is filled with; `picture`: the address of one."""
    named = ", ".join(notice.subjects[:SUBJECTS_MAX])
    more = len(notice.subjects) - SUBJECTS_MAX
    return {
        "rollout": notice.rollout,
        "kind": kind_word(notice.rollout),
        "name": notice.rollout.partition("/")[2],
        "revision": notice.revision,
        "event": notice.happening.value,
        "what": _WHAT[notice.happening],
        "subjects": f"{named} and {more} more" if more > 0 else named,
        "why": notice.why,
        "key": f"{notice.rollout}/{notice.keys[0]}",
        "picture": picture,
    }


_WHAT = {
    NoticeKind.START: "started",
    NoticeKind.STOP: "stopped",
    NoticeKind.FAILURE: "has failures",
    NoticeKind.APPROVAL: "needs an approval",
    NoticeKind.DONE: "is done",
}
WORDS = (
    "rollout", "kind", "name", "revision", "event", "what", "subjects", "why", "key", "picture",
)  # fmt: skip


class DueNotices(msgspec.Struct, frozen=True):
    """What people are notified of now, and the keys that may be sent again."""

    notices: tuple[Notice, ...] = ()
    retired: tuple[str, ...] = ()
