"""What people are notified of in a pipeline: from its plan and what was sent before.

Keys are by event, subject and version, so that a worker that leads next derives the same ones:

    start/NAME/VERSION        a version is in a merge request for a subscriber
    done/NAME/VERSION         the subscriber has it; sent only where the start was
    failure/NAME/VERSION      its merge request failed alone
    failure/quarantine/VERSION  a version failed in an environment, with the suspects
    approvalNeeded/GATE       an approval is missing
    stop/paused               a person paused the pipeline
"""

from collections.abc import Iterator, Mapping

from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.sentence import sentence
from tidegate.kinds.promotions.core.channels.explain.suspects import (
    authors_in,
    good_before,
    suspects_of,
)
from tidegate.kinds.promotions.core.channels.explain.view import pipeline_view
from tidegate.kinds.promotions.core.channels.gates import short
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.model import Quarantine
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.counted import counted
from tidegate.model.plan import Option
from tidegate.model.time import Instant

# So many authors are named; the others are counted.
AUTHORS_MAX = 5

# Event, subject, version and reason, by key.
_Truths = dict[str, tuple[NoticeKind, str, str, str]]


def pipeline_notices(
    partition: str,
    known: PipelineKnown,
    world: PipelineWorld,
    plan: PipelinePlan,
    told: Mapping[str, Instant],
    now: Instant,
) -> DueNotices:
    """What is to be sent now, and which keys may be sent again."""
    present: _Truths = {}
    view = pipeline_view(partition, known, world, plan, now)
    present |= _of_subscribers(world, plan, told)
    for version, failed in known.quarantined.items():
        key = f"{NoticeKind.FAILURE.value}/quarantine/{short(version)}"
        why = quarantine_text(known, failed, world.channels.quarantine_role)
        present[key] = (NoticeKind.FAILURE, failed.target, short(version), why)
    for gate in view.needs.approvals:
        key = f"{NoticeKind.APPROVAL.value}/{gate}"
        present[key] = (NoticeKind.APPROVAL, gate, view.revision, "an approval is missing")
    if world.channels.paused:
        why = "a person paused it"
        present["stop/paused"] = (NoticeKind.STOP, "paused", view.revision, why)
    notices = tuple(
        Notice(partition, happening, version, (subject,), why, (key,))
        for key, (happening, subject, version, why) in present.items()
        if key not in told
    )
    return DueNotices(notices, tuple(key for key in told if _is_over(key, present, told)))


def quarantine_text(known: PipelineKnown, failed: Quarantine, role: str) -> str:
    """Where a version failed, which commits are suspects, by whom, and who can lift it."""
    parts = [f"{short(failed.version)} failed on {failed.target}"]
    if failed.why:
        parts.append(failed.why)
    found, good = suspects_of(known, failed), good_before(known, failed)
    if found is None:
        parts.append("which commits are suspects is not known")
    else:
        named = [each.name for each in authors_in(found)]
        more = len(named) - AUTHORS_MAX
        by = ", ".join(named[:AUTHORS_MAX]) + (f" and {more} more" if more > 0 else "")
        number = counted(found.number, "suspect")
        parts.append(f"{number} since {short(good)}" + (f", by {by}" if by else ""))
    parts.append(f"{role} can lift the quarantine")
    return "; ".join(parts)


def _of_subscribers(
    world: PipelineWorld, plan: PipelinePlan, told: Mapping[str, Instant]
) -> _Truths:
    found: _Truths = {}
    for option in plan.options:
        target = world.channels.subscribers[option.target]
        for happening, version, why in _happenings(target.version, option):
            key = f"{happening.value}/{target.name}/{version}"
            start = f"{NoticeKind.START.value}/{target.name}/{version}"
            if happening is not NoticeKind.DONE or start in told:
                found[key] = (happening, target.name, version, why)
    return found


_IN_REQUEST = (
    RequestReason.RequestUnchecked,
    RequestReason.RequestChecking,
    RequestReason.RequestChecked,
)


def _happenings(has: str, option: Option) -> Iterator[tuple[NoticeKind, str, str]]:
    version = option.change.revision
    yield NoticeKind.DONE, short(has), "the subscriber has it"
    for each in option.verdicts:
        if version is not None and each.reason in _IN_REQUEST:
            yield NoticeKind.START, short(version), sentence(each)
        elif version is not None and each.reason is RequestReason.CulpritFound:
            yield NoticeKind.FAILURE, short(version), sentence(each)


def _is_over(key: str, present: _Truths, told: Mapping[str, Instant]) -> bool:
    """A start is over with its end, an end with its start; the rest with what it reports."""
    word, _, rest = key.partition("/")
    if word == NoticeKind.START.value:
        return f"{NoticeKind.DONE.value}/{rest}" in told
    if word == NoticeKind.DONE.value:
        return f"{NoticeKind.START.value}/{rest}" not in told
    return key not in present
