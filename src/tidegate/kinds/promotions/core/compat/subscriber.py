"""The version and configuration hashes that the existing manager wants for one subscriber.

Gates in its order: every publisher of every channel has a good deployment of its version; the
versions are one; soak; schedule; SLOs; blocked versions. Any shut gate keeps the current version.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.model.cron.cron import next_after
from tidegate.model.cron.cron_text import CronError, parse_cron
from tidegate.model.time import SECOND, Duration, Instant

ALWAYS = "* * * * *"
_DAY = 24 * 3600 * SECOND
# A schedule is open until a minute after it fired; one with a column of seconds, for a second.
_OPEN_FOR = 60 * SECOND


class PublisherDeployment(msgspec.Struct, frozen=True):
    """What is known of a publisher in one channel, about the version it has."""

    version: str
    # False: the state has no entry for this version.
    recorded: bool = True
    success: bool = True
    # How long ago the entry was checked in; None: it has no such time.
    age: Duration | None = None
    # Whether any deployment of this version ever succeeded; only the deployer looks at it.
    succeeded_once: bool = False
    saas: str = ""
    config_hash: str = ""

    @property
    def good(self) -> bool:
        return self.recorded and self.success


Channels = Mapping[str, tuple[PublisherDeployment, ...]]


class AutoSubscriber(msgspec.Struct, frozen=True, kw_only=True):
    """A target with `promotion.auto`, and what its code component says of versions."""

    ref: str
    soak_days: int = 0
    schedule: str = ALWAYS
    blocked: frozenset[str] = frozenset()
    hotfix: frozenset[str] = frozenset()
    slo_breached: bool = False
    # Whether it follows the configuration hash of its publishers, and the hashes it has.
    follows_config: bool = False
    hashes: Mapping[str, tuple[ConfigHash, ...]] = {}


class DesiredTarget(msgspec.Struct, frozen=True):
    """What a subscriber shall have."""

    ref: str
    hashes: tuple[ConfigHash, ...]
    has_diff: bool


def desired_target(subscriber: AutoSubscriber, channels: Channels, now: Instant) -> DesiredTarget:
    """The version and the hashes a subscriber shall have, and whether that is a change.

    LookupError: a channel has no publisher whose configuration could be followed; the existing
    manager stops there.
    """
    version = desired_version(subscriber, channels, now)
    ref = subscriber.ref if version is None else version
    hashes = _hashes(subscriber, channels) if subscriber.follows_config else ()
    current = {each for some in subscriber.hashes.values() for each in some}
    return DesiredTarget(ref, hashes, ref != subscriber.ref or not current.issuperset(hashes))


def desired_version(subscriber: AutoSubscriber, channels: Channels, now: Instant) -> str | None:
    """The version that passes every gate; None: the subscriber keeps its own."""
    deployments = [each for some in channels.values() for each in some]
    versions = {each.version for each in deployments}
    if len(versions) != 1 or not all(each.good for each in deployments):
        return None
    (version,) = versions
    if not _soaked(subscriber, deployments) or not is_open(subscriber.schedule, now):
        return None
    if subscriber.slo_breached and version not in subscriber.hotfix:
        return None
    return None if version in subscriber.blocked else version


def deployer_allows(subscriber: AutoSubscriber, channels: Channels, version: str) -> bool:
    """Whether the existing deployer deploys a version that was promoted; it has rules of its own.

    A hotfix passes at once; a publisher whose deployment succeeded at any time is good enough; no
    schedule and no SLO is looked at. The publishers' entries are those of this version.
    """
    if version in subscriber.blocked:
        return False
    if version in subscriber.hotfix:
        return True
    deployments = [each for some in channels.values() for each in some]
    good = all(each.recorded and (each.success or each.succeeded_once) for each in deployments)
    return good and _soaked(subscriber, deployments)


def _soaked(subscriber: AutoSubscriber, deployments: Iterable[PublisherDeployment]) -> bool:
    """The sum over all of them; an entry without a time adds nothing."""
    soaked = sum(each.age for each in deployments if each.age is not None)
    return soaked >= subscriber.soak_days * _DAY


def is_open(schedule: str, now: Instant) -> bool:
    """Whether a crontab, in UTC, allows this minute; one that cannot be read never does."""
    try:
        cron = parse_cron(schedule)
    except CronError:
        return False
    fired = next_after(cron, now - (SECOND if cron.seconds is not None else _OPEN_FOR))
    return fired is not None and fired <= now


def _hashes(subscriber: AutoSubscriber, channels: Channels) -> tuple[ConfigHash, ...]:
    found: list[ConfigHash] = []
    for name, publishers in channels.items():
        if not publishers:
            raise LookupError(name)
        first = publishers[0]
        if first.good:
            found.append(ConfigHash(name, first.saas, first.config_hash))
        else:
            found += subscriber.hashes.get(name, ())[:1]
    return tuple(found)
