"""Sessions of browsers, listed and ended by an admin: facts, like those that began them."""

from tidegate.access.sessions import SessionEnded, SessionStarted, SessionState, fold_session
from tidegate.access.tokens import PARTITION
from tidegate.journal.chain import JournalNote
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_instant
from tidegate.store.port import Store

# As much of the hash of a cookie as entries of the journal name a session by.
ID_CHARACTERS = 12


class SessionRow(Part, frozen=True, kw_only=True):
    """One session of a browser."""

    # The beginning of the hash of its cookie, as the journal names it.
    id: str
    # The person, or the token that was logged in with.
    name: str
    # The issuer by which the person is known; empty: by a token of this service.
    issuer: str
    groups: tuple[str, ...]
    started_at: str
    expires_at: str


class SessionList(Document, frozen=True, kw_only=True):
    """Sessions that have not ended, by name and beginning."""

    items: tuple[SessionRow, ...]


def session_list(store: Store, now: Instant) -> SessionList:
    """Every session that has not ended."""
    return SessionList(items=tuple(row for row, _ in _running(store, now)))


def ended_sessions(
    store: Store, name: str, reason: str, now: Instant
) -> tuple[SessionList, tuple[SessionEnded, ...]]:
    """The session of an id, or all of a person; and the facts that end them.

    NotFoundError names the nearest.
    """
    every = _running(store, now)
    found = [each for each in every if name in (each[0].id, each[0].name)]
    if not found:
        known = sorted({each for row, _ in every for each in (row.id, row.name)})
        raise NotFoundError("session", name, nearest_or_all(name, known))
    facts = (SessionEnded(hash=each.hash, name=each.name, reason=reason) for _, each in found)
    return SessionList(items=tuple(row for row, _ in found)), tuple(facts)


def end_sessions(store: Store, name: str, reason: str, now: Instant, actor: str) -> SessionList:
    """End a session, or all of a person."""
    found, facts = ended_sessions(store, name, reason, now)
    store.append(PARTITION, [JournalNote(now, actor, each) for each in facts])
    return found


def _running(store: Store, now: Instant) -> list[tuple[SessionRow, SessionStarted]]:
    state, began = SessionState(), dict[str, Instant]()
    for entry in store.read(PARTITION):
        fact = entry.fact()
        fold_session(state, entry.at, fact)
        if isinstance(fact, SessionStarted):
            began[fact.hash] = entry.at
    running = [each for each in state.by_hash.values() if now < each.expires_at]
    rows = [(_row(each, began[each.hash]), each) for each in running]
    return sorted(rows, key=lambda each: (each[0].name, each[0].started_at, each[0].id))


def _row(session: SessionStarted, began: Instant) -> SessionRow:
    return SessionRow(
        id=session.hash[:ID_CHARACTERS],
        name=session.name,
        issuer=session.issuer,
        groups=session.groups,
        started_at=format_instant(began),
        expires_at=format_instant(session.expires_at),
    )
