"""The clusters that an expedite lets start at once, and what the others still wait for."""

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.app.brakes.request import CheckedBrake
from tidegate.app.partitions.journals import Journals
from tidegate.explain.sentence import sentence
from tidegate.gates.block import is_like
from tidegate.gates.expedite import Expedite
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.document import Document, Part
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant

_EXPEDITED = frozenset((VersionReason.SoakExpedited, UpgradeReason.WindowExpedited))


class ExpeditedOrganisation(Part, frozen=True, kw_only=True):
    """What an expedite changes in one organisation."""

    partition: str
    # Versions that start at once and did not before, by cluster.
    starting: Mapping[str, str]
    # What clusters still wait for, in words, by cluster.
    waiting: Mapping[str, str]


class ExpediteEffect(Document, frozen=True, kw_only=True):
    """What an expedite changes, organisation by organisation."""

    items: tuple[ExpeditedOrganisation, ...]


def _worlds(journals: Journals) -> Iterator[tuple[str, UpgradeWorld]]:
    """Every organisation as of its last recorded survey."""
    journal = UpgradeJournal(journals.store, journals.book, broken=journals.broken)
    now = journals.now
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is not None:
            yield partition, world


def expedite_effect(journals: Journals, checked: CheckedBrake) -> ExpediteEffect:
    """What an expedite changes."""
    found = (
        _expedited(partition, world, checked.brakes.expedites, journals.now)
        for partition, world in _worlds(journals)
    )
    return ExpediteEffect(items=tuple(each for each in found if each.starting or each.waiting))


def _expedited(
    partition: str, world: UpgradeWorld, more: tuple[Expedite, ...], now: Instant
) -> ExpeditedOrganisation:
    known = world.brakes
    every = msgspec.structs.replace(known, expedites=(*known.expedites, *more))
    before = {each.target for each in decide(world, now).actions}
    plan = decide(msgspec.structs.replace(world, brakes=every), now)
    starting: dict[str, str] = {}
    waiting: dict[str, str] = {}
    for option in plan.options:
        step, member = option.change, plan.members[option.target]
        reasons = {each.reason for each in option.verdicts}
        if not isinstance(step, UpgradeStep) or not reasons & _EXPEDITED:
            continue
        version = step.revision or ""
        if not any(is_like(version, each.version) for each in more):
            continue
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if not shut and member.cluster.uuid not in before:
            starting[member.called] = version
        elif shut and not member.progress.occupies:
            waiting.setdefault(member.called, sentence(shut[0]))
    for name in starting:
        waiting.pop(name, None)
    return ExpeditedOrganisation(partition=partition, starting=starting, waiting=waiting)
