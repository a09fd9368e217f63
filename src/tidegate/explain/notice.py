"""A notice: one thing that people are told of a partition, and the words of its template."""

import enum

import msgspec

from tidegate.gates.scope import kind_word

# A notice names this many of its subjects; the others are counted.
SUBJECTS_MAX = 5


class Happening(enum.Enum):
    """What people are told of."""

    START = "start"
    STOP = "stop"
    FAILURE = "failure"
    APPROVAL = "approvalNeeded"
    DONE = "done"


class Notice(msgspec.Struct, frozen=True):
    """One thing to tell."""

    rollout: str
    happening: Happening
    revision: str
    # What it is about: targets, a group, how it stopped; empty where it is the rollout itself.
    subjects: tuple[str, ...]
    why: str
    # One a subject: told twice under one key, it was told once too often.
    keys: tuple[str, ...]


def words(notice: Notice) -> dict[str, str]:
    """A notice as the words a template is filled with."""
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
    }


_WHAT = {
    Happening.START: "started",
    Happening.STOP: "stopped",
    Happening.FAILURE: "has failures",
    Happening.APPROVAL: "needs an approval",
    Happening.DONE: "is done",
}
WORDS = ("rollout", "kind", "name", "revision", "event", "what", "subjects", "why", "key")


class Due(msgspec.Struct, frozen=True):
    """What people are notified of now, and the keys that may be sent again."""

    notices: tuple[Notice, ...] = ()
    retired: tuple[str, ...] = ()
