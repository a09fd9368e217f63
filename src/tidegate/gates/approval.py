"""Approvals with a quorum: so many different people, for this very revision.

The last answer of each person counts until it expires; of two at one instant, the rejection. One
rejection by any person stops. Where an author may not approve their own change and the author is
not known, no approval counts.

Worked example, quorum 2: ada approves, ada approves again, bob approves r1 → 1 of 2 for r2; bob
approves r2 → 2 of 2; eve rejects r2 → stopped; eve approves r2 → 3 of 2.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidegate.gates.scope import Scope
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

# What is said where the revision has no name.
_UNNAMED = "a revision without a name"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What one person said about one revision."""

    who: str
    at: Instant
    revision: str
    why: str = ""
    rejects: bool = False
    # None: for as long as the revision is rolled out.
    expires_at: Instant | None = None


class ApprovalGate(msgspec.Struct, frozen=True, kw_only=True):
    """An approval that a revision needs before it reaches the targets in its scope."""

    name: str
    scope: Scope
    quorum: int = 1
    # The people whose approval counts; empty: every person.
    people: frozenset[str] = frozenset()
    # Whether the author of the change may approve it.
    by_author: bool = True
    responses: tuple[Response, ...] = ()


def missing_approvals(every: Iterable[Sequence[Verdict]]) -> tuple[str, ...]:
    """The approval gates that are shut in some of these verdicts, by name."""
    said = {id(verdicts): verdicts for verdicts in every}  # many targets share theirs
    return tuple(
        sorted(
            {
                str(each.facts[0])
                for verdicts in said.values()
                for each in verdicts
                if each.gate is Gate.APPROVAL and each.outcome is not Outcome.PASS
            }
        )
    )


def approval_verdicts(
    gates: Iterable[ApprovalGate], version: str | None, author: str | None, now: Instant
) -> list[Verdict]:
    """What the approval gates that cover a target say: one verdict each."""
    return [_judge(gate, version, author, now) for gate in gates]


def _judge(gate: ApprovalGate, version: str | None, author: str | None, now: Instant) -> Verdict:
    said = _say(gate, version, author, now)
    mine = [each for each in gate.responses if each.revision == version]
    ends = [each.expires_at for each in mine if each.expires_at is not None]
    later = sorted(moment for moment in {*ends, *(each.at for each in mine)} if moment > now)
    for moment in later:  # at most two a response
        if _say(gate, version, author, moment).reason is not said.reason:
            return msgspec.structs.replace(said, until=moment)
    return said


def _say(gate: ApprovalGate, version: str | None, author: str | None, now: Instant) -> Verdict:
    words = _last_words(gate, version, now)
    revision = version or _UNNAMED
    rejections = [word for word in words if word.rejects]
    if rejections:
        first = min(rejections, key=lambda word: (word.at, word.who))
        return verdict(
            BrakeReason.Rejected, gate.name, revision, first.who, first.why or "no reason"
        )
    if not gate.by_author and author is None:
        return verdict(BrakeReason.AuthorUnknown, gate.name)
    given = sorted(word.who for word in words if _counts(gate, word.who, author))
    enough = len(given) >= gate.quorum
    reason = BrakeReason.QuorumReached if enough else BrakeReason.QuorumMissing
    return verdict(reason, gate.name, len(given), gate.quorum, revision, tuple(given))


def _last_words(gate: ApprovalGate, version: str | None, now: Instant) -> list[Response]:
    """What each person says of this revision now: the last thing that was said and still lasts."""
    last: dict[str, Response] = {}
    for each in gate.responses:
        lasts = each.expires_at is None or now < each.expires_at
        if each.revision != version or each.at > now or not lasts:
            continue
        known = last.get(each.who)
        if known is None or _order(each) > _order(known):
            last[each.who] = each
    return list(last.values())


def _order(word: Response) -> tuple[Instant, bool, str, int]:
    """Later is greater; at one instant a rejection is; the rest only makes it one order."""
    return (word.at, word.rejects, word.why, word.expires_at or 0)


def _counts(gate: ApprovalGate, who: str, author: str | None) -> bool:
    if not gate.by_author and who == author:
        return False
    return not gate.people or who in gate.people
