"""Publishers, channels and subscribers, and everything that a decision about them depends on.

A *publisher* is a target that shows a version by deploying it; a *channel* names publishers; a
*subscriber* gets a version once every publisher of all its channels has shown it.
"""

import enum
from collections.abc import Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.kinds.promotions.core.channels.history import PublisherHistory
from tidegate.model.time import Duration


class SoakRule(enum.Enum):
    """How the time that publishers ran a version is counted."""

    CONTINUOUS = "continuous"  # each of them, without a break, up to now
    ACCUMULATED = "accumulated"  # all of them together, breaks left out


class SkippableGate(enum.Enum):
    """What a hotfix may declare to skip; evidence, order and blocks are skipped by none."""

    SOAK = "soak"
    SCHEDULE = "schedule"
    SLOS = "slos"


class SloState(enum.Enum):
    """What is known of an SLO."""

    MET = "met"
    BREACHED = "breached"
    UNKNOWN = "unknown"


class Hotfix(msgspec.Struct, frozen=True, kw_only=True):
    """A version that skips the gates it names, and no other."""

    version: str
    owner: str
    why: str
    skips: frozenset[SkippableGate] = frozenset()


class PublisherTarget(msgspec.Struct, frozen=True):
    """A target that publishes; its version is its commit, or the newest of its branch."""

    name: str
    # None: not known, as the branch could not be read.
    version: str | None


class SubscriberTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target that gets versions by promotion."""

    name: str
    # What is written for it now.
    version: str
    channels: tuple[str, ...]
    soak: Duration = Duration(0)
    soak_rule: SoakRule = SoakRule.CONTINUOUS
    # A crontab of the minutes in which it may be promoted; empty: any.
    schedule: str = ""
    # The time zone of the schedule; empty: UTC.
    zone: str = ""
    slos: tuple[str, ...] = ()
    # Subscribers that must have a version before this one gets it.
    after: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}


class ChannelWorld(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of everything that promotions through channels depend on."""

    subscribers: tuple[SubscriberTarget, ...]
    # The names of the publishers of each channel.
    channels: Mapping[str, tuple[str, ...]]
    publishers: Mapping[str, PublisherTarget]
    # What was seen of each target that deploys, publishers and subscribers.
    histories: Mapping[str, PublisherHistory] = {}
    # Versions that no subscriber gets, each with the reason.
    blocked: Mapping[str, str] = {}
    hotfixes: Mapping[str, Hotfix] = {}
    # An SLO that is not there is not known.
    slos: Mapping[str, SloState] = {}
    brakes: Brakes = Brakes()
    # Subscribers with a promotion under way, and the version of it.
    under_way: Mapping[str, str] = {}
