"""What people are notified of in an organisation: from its plan and what was sent before.

Keys are by event, cluster and version, so that a worker that leads next derives the same ones:

    start/NAME/VERSION      an upgrade was asked for, or is under way
    failure/NAME/VERSION    it failed
    done/NAME/VERSION       the cluster reached it; sent only where the start was
    approvalNeeded/GATE     an approval is missing
    stop/paused             a person paused the organisation
"""

from collections.abc import Iterator, Mapping

from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.explain.view import organisation_view
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan
from tidegate.model.time import Instant

_Truth = tuple[NoticeKind, str, str, str]


def organisation_notices(
    partition: str, made: OrganisationPlan, told: Mapping[str, Instant], now: Instant, paused: bool
) -> DueNotices:
    """What is to be sent now, and which keys may be sent again."""
    view = organisation_view(partition, made, now, paused=paused, recheck_at=None)
    present = {_key(each): each for each in _true_now(made, told)}
    present |= {
        f"{NoticeKind.APPROVAL.value}/{gate}": (
            NoticeKind.APPROVAL,
            gate,
            "",
            "an approval is missing",
        )
        for gate in view.needs.approvals
    }
    if paused:
        present["stop/paused"] = (NoticeKind.STOP, "paused", "", "a person paused it")
    notices = tuple(
        Notice(partition, happening, version, (subject,), why, (key,))
        for key, (happening, subject, version, why) in present.items()
        if key not in told
    )
    return DueNotices(
        notices, tuple(key for key in told if "/" in key and _is_over(key, present, told))
    )


def _key(truth: _Truth) -> str:
    happening, subject, version, _ = truth
    return f"{happening.value}/{subject}/{version}"


def _true_now(made: OrganisationPlan, told: Mapping[str, Instant]) -> Iterator[_Truth]:
    for summary in cluster_summaries(made.plan):
        name = summary.member.cluster.name
        yield from _of_cluster(summary, name)
        version = summary.member.cluster.version
        if not summary.member.progress.occupies and f"start/{name}/{version}" in told:
            yield NoticeKind.DONE, name, version, "the upgrade is complete"


def _of_cluster(summary: ClusterSummary, name: str) -> Iterator[_Truth]:
    progress = summary.member.progress
    for upgrade, state in progress.under_way:
        yield NoticeKind.START, name, upgrade.version, f"its upgrade is {state}"
    if progress.failed:
        why = sentence(summary.shut) if summary.shut is not None else "its upgrade failed"
        yield NoticeKind.FAILURE, name, summary.next, why


def _is_over(key: str, present: Mapping[str, object], told: Mapping[str, Instant]) -> bool:
    """Failures, approvals and stops end with what they report; a start with its end."""
    word, _, rest = key.partition("/")
    if word == NoticeKind.START.value:
        return f"{NoticeKind.DONE.value}/{rest}" in told
    if word == NoticeKind.DONE.value:
        return f"{NoticeKind.START.value}/{rest}" not in told and key not in present
    return key not in present
