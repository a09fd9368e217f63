"""What people ask of a partition of any kind: approve, reject, revoke, pause, resume, abort, retry.

An act is prepared first, which says what it reaches, and recorded then, as one fact.
"""

from collections.abc import Iterator

import msgspec
from msgspec import field

from tidegate.app.consequence import AskConsequence, consequence
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.phase import meaningless
from tidegate.app.workers import PartitionWorker
from tidegate.explain.view import PartitionView
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import NAMES_REVISION, Asked, Verb
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant, format_instant

_ANSWERS = (Verb.APPROVE, Verb.REJECT, Verb.REVOKE)
_RETRIES = (Verb.RETRY, Verb.RETRY_FAILED)


class OperatorRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for."""

    verb: Verb
    groups: tuple[str, ...] = ()
    # Approval gates, beside groups.
    gates: tuple[str, ...] = ()
    # Of an answer at a gate, where targets have versions of their own: which; empty: the only one.
    version: str = ""
    # An approval for every revision to come, not only for this one.
    standing: bool = False
    expires_at: Instant | None = None
    reason: str = ""


class AskReport(Document, frozen=True, kw_only=True):
    """What a request reaches, and what it was recorded as."""

    rollout: str
    verb: str
    targets: int
    # Of these, the ones that do not have it: what an approval lets in.
    reaches: tuple[str, ...] = ()
    # Of the whole partition: targets that change or soak, and targets that wait.
    moving: int
    waiting: int
    groups: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    # What an answer is for; None: every revision, or none is meant.
    version: str | None = None
    expires_at: str | None = None
    reason: str = ""
    # What follows as soon as a worker acts on it.
    leads_to: AskConsequence = field(default_factory=AskConsequence)
    # What going back does not undo, where something goes back.
    not_undone: str = ""
    # The worker that acts on it, if one is running.
    worker: PartitionWorker


class Prepared(msgspec.Struct, frozen=True):
    """A request that can be recorded, and what it reaches."""

    partition: str
    fact: Asked
    report: AskReport


def prepare(
    journals: Journals, name: str, asked: OperatorRequest, actor: str = "user:unknown"
) -> Prepared:
    """What a request reaches and leads to; UserError if it cannot mean anything."""
    one = journals.find(name)
    view = one.view
    _check(asked, view, one)
    version = answer_version(asked, view)
    aborts = asked.verb is Verb.ABORT
    fact = Asked(
        v=NAMES_REVISION if aborts else 1,
        verb=asked.verb,
        groups=asked.groups,
        gates=asked.gates,
        version=view.revision or None if aborts else version,
        expires_at=asked.expires_at,
        reason=asked.reason,
    )
    if why := one.rules.asked(fact, view):
        raise UserError((Problem(one.partition, why),))
    expires_at, states = asked.expires_at, view.states()
    then = journals.supposing(one, fact, actor)
    if problem := meaningless(fact, view, then is not None and then.rows != one.rows):
        raise UserError((problem,))
    follows = consequence(one, then)
    report = AskReport(
        rollout=one.partition,
        verb=asked.verb.value,
        targets=_reach(asked, view),
        reaches=tuple(_reached(asked, view)),
        moving=states["Updating"] + states["Soaking"],
        waiting=states["Waiting"],
        groups=asked.groups,
        gates=asked.gates,
        version=version,
        expires_at=None if expires_at is None else format_instant(expires_at),
        reason=asked.reason,
        leads_to=follows,
        not_undone=one.rules.not_undone if follows.returns else "",
        worker=one.worker,
    )
    return Prepared(one.partition, fact, report)


def record(journals: Journals, prepared: Prepared, actor: str) -> AskReport:
    """Record a request; the worker that leads the partition notices within a second."""
    note = JournalNote(journals.now, actor, prepared.fact)
    journals.store.append(prepared.partition, [note])
    return prepared.report


def answer_version(asked: OperatorRequest, view: PartitionView) -> str | None:
    """What an answer is for; None: every revision, or one without a name."""
    if asked.verb not in _ANSWERS or asked.standing:
        return None
    if view.gate_versions is None or not asked.gates:
        if asked.version not in ("", view.version):
            remedy = f"leave it out: the answer is for {view.version or 'what goes out'}"
            raise UserError((Problem("--version", f'"{asked.version}" does not go out', remedy),))
        return view.version
    if asked.version:
        return asked.version
    found = sorted({one for gate in asked.gates for one in view.gate_versions.get(gate, ())})
    if len(found) == 1:
        return found[0]
    gates = ", ".join(asked.gates)
    what = f"{', '.join(found)} wait at {gates}" if found else f"no version waits at {gates}"
    raise UserError((Problem(view.partition, what, "name the version you mean: --version"),))


def _check(asked: OperatorRequest, view: PartitionView, one: Decision) -> None:
    if asked.verb in _ANSWERS and not (asked.groups or asked.gates):
        names = ", ".join(f"--group {each.key}" for each in view.groups)
        gates = ", ".join(f"--gate {each}" for each in view.gates)
        offered = ", ".join(each for each in (names, gates) if each)
        remedy = (
            f"there are {offered}" if offered else "no group or gate of it asks for an approval"
        )
        problem = Problem("", "Specify a group or a gate: --group NAME or --gate NAME", remedy)
        raise UserError((problem,))
    if asked.standing and asked.gates:
        problem = Problem("--standing", "is for groups; a gate asks again for every revision")
        raise UserError((problem,))
    if asked.expires_at is not None and asked.groups:
        remedy = "take back a group's approval with `revoke`"
        raise UserError((Problem("--expires", "is for gates", remedy),))
    _check_grouped(asked, view, one)
    groups = [each.key for each in view.groups]
    for group in asked.groups:
        if group not in groups:
            hint = nearest_or_all(group, sorted(groups))
            raise NotFoundError("group", group, hint, f"in {one.partition}")
    for gate in asked.gates:
        if gate not in view.gates:
            hint = nearest_or_all(gate, sorted(view.gates))
            raise NotFoundError("approval gate", gate, hint, f"over {one.partition}")


def _check_grouped(asked: OperatorRequest, view: PartitionView, one: Decision) -> None:
    """Whether groups are something that a request of this kind can be about."""
    remedy = ""
    if asked.verb in _RETRIES and not one.rules.retries_groups:
        remedy = f"retry the whole {one.rules.noun}"
    elif asked.verb in _ANSWERS and not view.groups:
        offered = ", ".join(f"--gate {each}" for each in view.gates)
        remedy = f"answer at a gate: {offered}" if offered else "no gate asks for an approval here"
    if asked.groups and remedy:
        verb = "retry" if asked.verb in _RETRIES else asked.verb.value
        what = f"{one.partition} has no group to {verb}"
        raise UserError((Problem("--group", what, remedy),))


def _reached(asked: OperatorRequest, view: PartitionView) -> Iterator[str]:
    """The targets that an approval of groups lets in, by name."""
    if asked.verb is not Verb.APPROVE or not asked.groups:
        return
    mine = {each.name for each in view.groups if each.key in asked.groups}
    for each in view.targets:
        if each.group in mine and each.waits:
            yield each.name


def _reach(asked: OperatorRequest, view: PartitionView) -> int:
    """How many targets a request is about."""
    if asked.groups and not asked.gates:
        return sum(each.size for each in view.groups if each.key in asked.groups)
    return len(view.targets)
