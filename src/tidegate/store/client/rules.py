"""What every store refuses, in the same words: the half of the contract that needs no database."""

from collections.abc import Sequence

import msgspec

from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Folded
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.model.counted import counted
from tidegate.model.errors import StaleError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Duration, Instant
from tidegate.store.port import Head, TakenPlace

# Both databases keep whole numbers in 64 bits.
NUMBER_MAX = 2**63 - 1


def fitting(number: int) -> int:
    """The number that databases compare with: beyond 64 bits, the nearest end, as nothing kept is.

    Times of the years 1 to 9999 can be asked for; those that fit end in 2262.
    """
    return max(-NUMBER_MAX, min(number, NUMBER_MAX))


def check_names(*names: str) -> None:
    """PostgreSQL stores no NUL in a text, so that no database may."""
    for name in names:
        if "\0" in name:
            raise ValueError(f"{name!r}: a name cannot hold a NUL")


def check_claims(claims: Sequence[TakenPlace], frees: Sequence[str]) -> None:
    """What is claimed or freed is called by names, too."""
    for claim in claims:
        check_names(claim.name, claim.partition, claim.key)
    check_names(*frees)


def check_notes(notes: Sequence[JournalNote]) -> None:
    """A value that is stored in a column has to fit into it."""
    for note in notes:
        target = getattr(note.fact, "target", "")
        if "\0" in note.actor or "\0" in target:
            check_names(note.actor, target)


def check_after(partition: str, head: Head, after: Head | None) -> None:
    """A writer that names the end of a chain has to name the current one."""
    if after is None or after == head:
        return
    if after.seq == head.seq:
        what = f"entry {head.seq} is another one than the one this follows"
    else:
        what = f"the chain ends at {head.seq}, not at {after.seq}"
    raise StaleError(f"{partition}: {what}; read it and decide again")


def check_token(partition: str, newest: Lease, token: int | None) -> None:
    """Only the newest token writes. One that was never given out is from another journal."""
    if token is None or token == newest.token:
        return
    if token > newest.token:
        raise StaleError(f"{partition}: token {token} was not given out here; take a lease")
    by = f" to {newest.holder}" if newest.holder else ""
    raise StaleError(f"{partition}: token {token} is void: {newest.token} was given out{by}")


def check_projection(partition: str, head_seq: int, seq: int) -> None:
    """A state cannot include entries that are not there."""
    if seq > head_seq:
        raise StaleError(f"{partition}: the chain ends at {head_seq}, there is no entry {seq}")
    if seq < 0:
        raise ValueError(f"{partition}: a state after entry {seq}")


def check_compaction(partition: str, note: JournalNote, head_seq: int, keep_after: int) -> None:
    """What is dropped has to be in the state that takes its place."""
    if not isinstance(note.fact, Folded):
        raise ValueError(f"{partition}: only a Folded fact can stand for what is dropped")
    if not 0 <= keep_after <= head_seq:
        raise ValueError(f"{partition}: cannot drop up to {keep_after} of {head_seq} entries")


def check_adoption(partition: str, head_seq: int) -> None:
    """Two histories cannot become one chain."""
    if head_seq > 0:
        what = f"partition {partition} has {counted(head_seq, 'entry', 'entries')} here"
        raise UserError((Problem("", what, "import into a journal without it"),))


def next_lease(held: Lease, holder: str, now: Instant, term: Duration) -> Lease | None:
    """The lease after a request for it; None if another holder has it.

    A holder whose lease expired gets a new token: a writer with the old one may be a
    process that was thought dead.
    """
    if not holder:
        raise ValueError(f"{held.partition}: a lease needs a holder's name")
    until = now + term
    if until > NUMBER_MAX:
        raise ValueError(f"{held.partition}: a lease until {until} is past what can be kept")
    running = bool(held.holder) and held.until > now
    if running and held.holder != holder:
        return None
    token = held.token if running else held.token + 1
    return Lease(held.partition, holder, token, Instant(until))


def next_record(
    held: KeptLease, holder: str, now: Instant, term: Duration, look: Look | None
) -> KeptLease | None:
    """What is kept after a request for a lease; None if another holder has it."""
    if look is not None:
        check_names(look.by)
    lease = next_lease(held.lease, holder, now, term)
    if lease is None:
        return None
    wish = held.wish if held.wish is not None and held.wish.by != holder else None
    return KeptLease(lease, term, _last(held.look, look), wish)


def renewed(
    held: KeptLease, holder: str, now: Instant, term: Duration, look: Look
) -> KeptLease | None:
    """What is kept after a lease is renewed; None if it expired, or is another holder's."""
    if held.lease.holder != holder or not held.runs(now):
        return None
    return next_record(held, holder, now, term, look)


def wished(held: KeptLease, wish: LeaseRequest, now: Instant) -> KeptLease | None:
    """What is kept after a wish for a lease; None if nothing holds it, or another asked first."""
    before = held.wished(now)
    free = not held.runs(now) or held.lease.holder == wish.by
    if free or (before is not None and before.by != wish.by):
        return None
    return msgspec.structs.replace(held, wish=wish)


def released(held: KeptLease, lease: Lease, look: Look | None) -> KeptLease | None:
    """What is kept after a lease is given back; None if it is another holder's by now."""
    if (held.lease.holder, held.lease.token) != (lease.holder, lease.token):
        return None
    given_back = Lease(lease.partition, "", lease.token, Instant(0))
    return KeptLease(given_back, held.term, _last(held.look, look), held.wish)


def _last(before: Look | None, look: Look | None) -> Look | None:
    """The last look: of one that has not looked yet, when it was looked at before."""
    if before is None or look is None:
        return look or before
    return look if look.at is not None else msgspec.structs.replace(look, at=before.at)
