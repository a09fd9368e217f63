"""Which clusters an expedite lets start at once, and what the others still wait for."""

from collections.abc import Container, Iterator

import msgspec

from tidegate.engine.brakes.book import BrakeBook
from tidegate.explain.sentence import sentence
from tidegate.gates.block import is_like
from tidegate.gates.brakes import Brakes
from tidegate.gates.expedite import Expedite
from tidegate.kinds.upgrades.cli.look.journal import Journal
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.service import Rules
from tidegate.kinds.upgrades.core.step import Step
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.store.port import Store

_EXPEDITED = frozenset((VersionReason.SoakExpedited, UpgradeReason.WindowExpedited))


def _worlds(
    store: Store, now: Instant, rules: Container[Rules] = frozenset(Rules)
) -> Iterator[tuple[str, World]]:
    """Every organisation served by these rules, as it was last looked at."""
    journal = Journal(store, BrakeBook(store))
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is not None and journal.state(partition).rules in rules:
            yield partition, world


class Hurried(msgspec.Struct):
    """What an expedite changes in one organisation, as it stands now."""

    partition: str
    # Versions that start at once and did not before, by cluster.
    starting: dict[str, str] = {}
    # What clusters wait for all the same, in words.
    waiting: dict[str, str] = {}


def clusters_hurried(store: Store, brakes: Brakes, now: Instant) -> list[Hurried]:
    """Whom an expedite lets skip something, organisation by organisation."""
    found = [
        _hurried(partition, world, brakes.expedites, now)
        for partition, world in _worlds(store, now)
    ]
    return [each for each in found if each.starting or each.waiting]


def _hurried(partition: str, world: World, more: tuple[Expedite, ...], now: Instant) -> Hurried:
    known = world.brakes
    every = msgspec.structs.replace(known, expedites=(*known.expedites, *more))
    before = {each.target for each in decide(world, now).actions}
    plan = decide(msgspec.structs.replace(world, brakes=every), now)
    hurried = Hurried(partition)
    for option in plan.options:
        step, member = option.change, plan.members[option.target]
        reasons = {each.reason for each in option.verdicts}
        if not isinstance(step, Step) or not reasons & _EXPEDITED:
            continue
        version = step.revision or ""
        if not any(is_like(version, each.version) for each in more):
            continue
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if not shut and member.cluster.uuid not in before:
            hurried.starting[member.called] = version
        elif shut and not member.standing.occupies:
            hurried.waiting.setdefault(member.called, sentence(shut[0]))
    for name in hurried.starting:
        hurried.waiting.pop(name, None)
    return hurried
