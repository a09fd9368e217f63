"""Promotions through channels for tests: what was seen, and what three systems make of it.

The existing deployer records each run of it as an entry by publisher and version; `entries` keeps
its book from the same facts that our histories are folded from.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.kinds.promotions.core.channels.decide import ChannelDecision, decide
from tidegate.kinds.promotions.core.channels.history import (
    DeploymentSeen,
    PublisherHistory,
    fold,
)
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    PublisherTarget,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.compat.subscriber import PublisherDeployment
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Duration, Instant

HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = Instant(100 * DAY)


def seen(target: str, version: str, hours_ago: float, good: bool = True) -> DeploymentSeen:
    """A fact, so many hours before now."""
    at = Instant(NOW - round(hours_ago * HOUR))
    return DeploymentSeen(target=target, version=version, at=at, good=good)


def histories(facts: Iterable[DeploymentSeen]) -> dict[str, PublisherHistory]:
    """All facts, folded in the order they arrive in."""
    found: dict[str, PublisherHistory] = {}
    for fact in facts:
        found[fact.target] = fold(found.get(fact.target), fact)
    return found


def booked(facts: Iterable[DeploymentSeen]) -> dict[tuple[str, str], tuple[bool, bool, Instant]]:
    """By publisher and version: good the last time, good at any time, and its `check_in`."""
    book: dict[tuple[str, str], tuple[bool, bool, Instant]] = {}
    for fact in facts:
        was_good, once, at = book.get((fact.target, fact.version), (False, False, fact.at))
        kept = at if was_good and fact.good else fact.at
        book[fact.target, fact.version] = fact.good, once or fact.good, kept
    return book


def entries(
    facts: Iterable[DeploymentSeen],
    channels: Mapping[str, Iterable[str]],
    versions: Mapping[str, str],
    now: Instant = NOW,
) -> dict[str, tuple[PublisherDeployment, ...]]:
    """The deployer's book: `check_in` stays while runs of a version succeed one after the other."""
    book = booked(facts)
    found: dict[str, tuple[PublisherDeployment, ...]] = {}
    for channel, publishers in channels.items():
        found[channel] = tuple(
            _entry(versions[name], book.get((name, versions[name])), now) for name in publishers
        )
    return found


def _entry(
    version: str, known: tuple[bool, bool, Instant] | None, now: Instant
) -> PublisherDeployment:
    if known is None:
        return PublisherDeployment(version, recorded=False)
    good, once, at = known
    return PublisherDeployment(version, success=good, succeeded_once=once, age=Duration(now - at))


def world(
    facts: Iterable[DeploymentSeen],
    *subscribers: SubscriberTarget,
    channels: Mapping[str, tuple[str, ...]],
    versions: Mapping[str, str | None],
    **more: Any,
) -> ChannelWorld:
    """Publishers with the versions they are to have, and what was seen of them."""
    return ChannelWorld(
        subscribers=subscribers,
        channels=channels,
        publishers={name: PublisherTarget(name, version) for name, version in versions.items()},
        histories=histories(facts),
        **more,
    )


def shut(decision: ChannelDecision, at: int = 0) -> list[str]:
    """The reasons of gates that are shut for one subscriber."""
    said = decision.options[at].verdicts
    return [each.reason.value for each in said if each.outcome is not Outcome.PASS]


def passed(decision: ChannelDecision, at: int = 0) -> list[str]:
    """The reasons of gates that are open for one subscriber."""
    said = decision.options[at].verdicts
    return [each.reason.value for each in said if each.outcome is Outcome.PASS]


def decided(found: ChannelWorld, now: Instant = NOW) -> ChannelDecision:
    """The decision at a moment."""
    return decide(found, now)
