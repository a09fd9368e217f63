"""Law: the quorum is exact, and only what was said of this revision and still lasts counts."""

from hypothesis import given
from hypothesis import strategies as st

from tests.property.brake_worlds import NOON, PEOPLE, REVISIONS, approval_gates, at
from tidegate.gates.approval import ApprovalGate, approval_verdicts
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import Instant

authors = st.none() | st.sampled_from(PEOPLE)
versions = st.none() | st.sampled_from(REVISIONS)
hours = st.integers(-7, 7).map(at)


def oracle(gate: ApprovalGate, version: str | None, author: str | None, now: Instant) -> Reason:
    """The same, person by person and word by word."""
    approve = 0
    for person in PEOPLE:
        words = [
            (each.at, each.rejects)
            for each in gate.responses
            if each.who == person and each.revision == version and each.at <= now
            if each.expires_at is None or each.expires_at > now
        ]
        if not words:
            continue
        if max(words)[1]:
            return BrakeReason.Rejected
        may = not gate.people or person in gate.people
        if may and (gate.by_author or person != author):
            approve += 1
    if not gate.by_author and author is None:
        return BrakeReason.AuthorUnknown
    return BrakeReason.QuorumReached if approve >= gate.quorum else BrakeReason.QuorumMissing


@given(approval_gates, versions, authors, hours)
def test_the_quorum_is_exact(
    gate: ApprovalGate, version: str | None, author: str | None, now: Instant
) -> None:
    """So many different people, not one less; one rejection stops; the author may not count."""
    (said,) = approval_verdicts([gate], version, author, now)
    if any(each.at <= now and each.rejects for each in gate.responses):
        # Of two words at one instant the rejection counts, which the oracle's max() agrees with.
        assert (said.reason is BrakeReason.Rejected) == (
            oracle(gate, version, author, now) is BrakeReason.Rejected
        )
    assert said.reason is oracle(gate, version, author, now)


@given(approval_gates, versions, authors, hours)
def test_until_is_when_time_alone_changes_it(
    gate: ApprovalGate, version: str | None, author: str | None, now: Instant
) -> None:
    """Before `until` the answer is the same; at it, another; without one, it stays for ever."""
    (said,) = approval_verdicts([gate], version, author, now)
    for hour in range(-8, 9):
        moment = at(hour)
        if moment <= now:
            continue
        then = oracle(gate, version, author, moment)
        if said.until is None or moment < said.until:
            assert then is said.reason
        elif moment == said.until:
            assert then is not said.reason


@given(approval_gates, st.randoms(use_true_random=False))
def test_the_order_of_responses_does_not_matter(gate: ApprovalGate, random: object) -> None:
    """Words are weighed by when they were said, not by where they stand."""
    shuffled = list(gate.responses)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = type(gate)(
        name=gate.name,
        scope=gate.scope,
        quorum=gate.quorum,
        people=gate.people,
        by_author=gate.by_author,
        responses=tuple(shuffled),
    )
    assert approval_verdicts([gate], "r2", "ada", NOON) == approval_verdicts(
        [other], "r2", "ada", NOON
    )


def test_a_word_for_another_revision_never_passes() -> None:
    """All approved r1; r2 has no approval."""
    from tidegate.gates.approval import Response
    from tidegate.gates.scope import EVERYTHING

    words = tuple(Response(who=who, at=at(-1), revision="r1") for who in PEOPLE)
    gate = ApprovalGate(name="x", scope=EVERYTHING, responses=words)
    assert approval_verdicts([gate], "r1", None, NOON)[0].outcome is Outcome.PASS
    assert approval_verdicts([gate], "r2", None, NOON)[0].outcome is Outcome.WAIT
    assert approval_verdicts([gate], None, None, NOON)[0].outcome is Outcome.WAIT
