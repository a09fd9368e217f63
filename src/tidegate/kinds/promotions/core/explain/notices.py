"""What people are notified of in a promotion: from its plan and what was sent before.

Keys are by event, environment and version, so that a worker that leads next derives the same ones:

    start/ENV/VERSION       a version was offered, with the merge request
    failure/ENV/VERSION     its offer was closed, undone or refused
    done/ENV/VERSION        the environment has it; sent only where the start was
    approvalNeeded/GATE     an approval is missing; /VERSION: of one that a person requested
    stop/paused             a person paused or aborted the promotion
"""

from collections.abc import Iterator, Mapping

from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.sentence import sentence
from tidegate.explain.view import TargetRow
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.decide import PromotionDecision
from tidegate.kinds.promotions.core.explain.view import promotion_view
from tidegate.kinds.promotions.core.world import OfferState, PromotionWorld
from tidegate.model.time import Instant

_HAS_IT = "the environment has it"
# Event, subject, version and reason, by key.
_Truths = dict[str, tuple[NoticeKind, str, str, str]]


def promotion_notices(
    partition: str,
    world: PromotionWorld,
    decision: PromotionDecision,
    told: Mapping[str, Instant],
    now: Instant,
) -> DueNotices:
    """What is to be sent now, and which keys may be sent again."""
    present: _Truths = {}
    view = promotion_view(partition, world, decision, now)
    for row in view.targets:
        for happening, why in _of_environment(world, row, told):
            version = world.wanted(row.name)[:SHORT]
            key = f"{happening.value}/{row.name}/{version}"
            present[key] = (happening, row.name, version, why)
        for version in _had(world, row, told):
            key = f"{NoticeKind.DONE.value}/{row.name}/{version}"
            present[key] = (NoticeKind.DONE, row.name, version, _HAS_IT)
    for gate in view.needs.approvals:
        for version in (view.gate_versions or {}).get(gate, (world.version,)):
            key = f"{NoticeKind.APPROVAL.value}/{gate}"
            if version != world.version:  # a person requested it
                key += f"/{version[:SHORT]}"
            why = "an approval is missing"
            present[key] = (NoticeKind.APPROVAL, gate, version[:SHORT], why)
    if world.paused or world.aborted:
        word = "aborted" if world.aborted else "paused"
        why = f"a person {word} it"
        present[f"stop/{word}"] = (NoticeKind.STOP, word, world.version[:SHORT], why)
    notices = tuple(
        Notice(partition, happening, version, (subject,), why, (key,))
        for key, (happening, subject, version, why) in present.items()
        if key not in told
    )
    return DueNotices(notices, tuple(key for key in told if _is_over(key, present, told)))


def _of_environment(
    world: PromotionWorld, row: TargetRow, told: Mapping[str, Instant]
) -> Iterator[tuple[NoticeKind, str]]:
    offer, wanted = world.offers.get(row.name), world.wanted(row.name)
    version = wanted[:SHORT]
    if offer is not None and offer.version == wanted and offer.state is OfferState.OPEN:
        yield NoticeKind.START, f"offered in {offer.name}"
    if row.state == "Failed" and row.shut is not None:
        yield NoticeKind.FAILURE, sentence(row.shut)
    if row.state == "Done" and f"{NoticeKind.START.value}/{row.name}/{version}" in told:
        yield NoticeKind.DONE, _HAS_IT


def _had(world: PromotionWorld, row: TargetRow, told: Mapping[str, Instant]) -> Iterator[str]:
    """A version that was told to have started, and is there, while another one is wanted."""
    written = {each.value[:SHORT] for each in world.commits_in(row.name)}
    for version in written - {world.wanted(row.name)[:SHORT]} if len(written) == 1 else ():
        if f"{NoticeKind.START.value}/{row.name}/{version}" in told:
            yield version


def _is_over(key: str, present: _Truths, told: Mapping[str, Instant]) -> bool:
    """Failures, approvals and stops end with what they report; a start with its end."""
    word, _, rest = key.partition("/")
    if word == NoticeKind.START.value:
        return f"{NoticeKind.DONE.value}/{rest}" in told
    if word == NoticeKind.DONE.value:
        return f"{NoticeKind.START.value}/{rest}" not in told and key not in present
    return key not in present
