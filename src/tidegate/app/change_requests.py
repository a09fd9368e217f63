"""Changes that people request of a service: reported, and withdrawn.

A request is a fact of its partition. The worker that leads the partition carries it out as a task,
if every gate is open, with the rights of the service; until then it is shown with its verdicts.
"""

from hashlib import blake2b

import msgspec

from tidegate.app.consequence import AskConsequence, consequence
from tidegate.app.documents import RequestDoc, TargetDoc, TargetParts, request_doc
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.workers import PartitionWorker
from tidegate.explain.view import RequestRow
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Withdrawn
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant

IDENT_BYTES = 4


class ChangeRequestReport(Document, frozen=True, kw_only=True):
    """A change that is requested: what every gate says of it, and what follows."""

    rollout: str
    # As it is once it is recorded: what is carried out at once, and what still waits.
    requests: tuple[RequestDoc, ...]
    # The targets it is about, as they are then.
    targets: tuple[TargetDoc, ...] = ()
    # Requests that it takes the place of.
    replaces: tuple[RequestDoc, ...] = ()
    # What may not be meant.
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leads_to: AskConsequence = msgspec.field(default_factory=AskConsequence)
    # The worker that carries it out, if one is running.
    worker: PartitionWorker


class WithdrawalReport(Document, frozen=True, kw_only=True):
    """A request that is withdrawn, and what follows."""

    rollout: str
    request: RequestDoc
    leads_to: AskConsequence = msgspec.field(default_factory=AskConsequence)
    worker: PartitionWorker


class PreparedWithdrawal(msgspec.Struct, frozen=True):
    """A request that can be withdrawn."""

    one: Decision
    row: RequestRow
    fact: Withdrawn
    report: WithdrawalReport


def request_ident(partition: str, at: Instant, actor: str, what: object) -> str:
    """A short name for a request."""
    said = msgspec.json.encode([partition, at, actor, what], order="deterministic")
    return f"r{blake2b(said, digest_size=IDENT_BYTES).hexdigest()}"


def request_report(
    journals: Journals,
    one: Decision,
    fact: Fact,
    actor: str,
    *,
    warnings: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> ChangeRequestReport:
    """What follows if a request is recorded."""
    then = journals.supposing(one, fact, actor)
    before = {each.ident: each for each in one.view.requests}
    after = {} if then is None else {each.ident: each for each in then.view.requests}
    new = [each for ident, each in after.items() if ident not in before]
    names = {name for each in new for name in each.targets}
    rows = () if then is None else (each for each in then.view.targets if each.name in names)
    return ChangeRequestReport(
        rollout=one.partition,
        requests=tuple(map(request_doc, new)),
        targets=tuple(map(TargetParts().one, rows)),
        replaces=tuple(request_doc(before[each]) for each in before if each not in after),
        warnings=warnings,
        notes=notes,
        leads_to=consequence(one, then),
        worker=one.worker,
    )


def prepare_withdrawal(
    journals: Journals, name: str, ident: str, reason: str, actor: str
) -> PreparedWithdrawal:
    """Withdraw a request; NotFoundError names those there are."""
    one = journals.find(name)
    known = {each.ident: each for each in one.view.requests}
    if ident not in known:
        hint = nearest_or_all(ident, sorted(known), "nothing is requested")
        raise NotFoundError("request", ident, hint, f"of {one.partition}")
    fact = Withdrawn(ident=ident, reason=reason)
    then = journals.supposing(one, fact, actor)
    report = WithdrawalReport(
        rollout=one.partition,
        request=request_doc(known[ident]),
        leads_to=consequence(one, then),
        worker=one.worker,
    )
    return PreparedWithdrawal(one, known[ident], fact, report)


def record_withdrawal(
    journals: Journals, prepared: PreparedWithdrawal, actor: str
) -> WithdrawalReport:
    """Record that a request is withdrawn; the worker notices within a second."""
    note = JournalNote(journals.now, actor, prepared.fact)
    journals.store.append(prepared.one.partition, [note])
    return prepared.report
