"""Publishers, channels and subscribers, and everything that a decision about them depends on.

A *publisher* is a target that shows a version by deploying it; a *channel* names publishers; a
*subscriber* gets a version once every publisher of all its channels has shown it.
"""

import enum
from collections.abc import Mapping

import msgspec

from tidegate.gates.approval import ApprovalGate
from tidegate.gates.brakes import Brakes
from tidegate.kinds.promotions.core.channels.history import PublisherHistory
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.model.time import Duration, Instant


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
    # The name of its saas file.
    saas: str = ""


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
    # Whether it is promoted when only the configuration of a publisher changed, too, and the
    # configurations that are written for it.
    follows_configs: bool = False
    configs: tuple[ConfigHash, ...] = ()
    # What is written of it, or of what it depends on, and cannot be read; a few words each.
    troubles: tuple[str, ...] = ()


class ShardRuns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the shards that depend on a publisher ran its version."""

    version: str
    # 0: none depends on it, so that there is nothing to run.
    shards: int
    # Of the shard with the fewest, and which one that is.
    clean: int = 0
    least: str = ""
    # Shards whose last run failed, and shards that gave no answer, a few words each.
    failing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class NamedEvidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person or a program reported of a version under a name."""

    good: bool
    at: Instant
    by: str
    why: str = ""


class Quarantine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version that failed: where, when, and what was said of it."""

    version: str
    target: str
    at: Instant
    why: str = ""
    # The last version that was good there; empty: none is known.
    good: str = ""


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
    # Clean runs that are asked for, and how the shards of each publisher ran.
    runs_needed: int = 0
    runs: Mapping[str, ShardRuns] = {}
    # Names of results that are asked for, and what was reported: by version, then by name.
    names_needed: tuple[str, ...] = ()
    named: Mapping[str, Mapping[str, NamedEvidence]] = {}
    # Versions that failed, and the role that can lift a quarantine.
    quarantined: Mapping[str, Quarantine] = {}
    quarantine_role: str = ""
    # Versions that stage has only to find what broke another: where they are tried, and that other.
    tried: Mapping[str, tuple[str, str]] = {}
    # How many promotions went well, and how many must have without an approval of people.
    went_well: int = 0
    trusted_after: int = 0
    # By version, once it is known; one that is not there was not answered.
    trust_gates: Mapping[str, ApprovalGate] = {}
    paused: bool = False
    # Versions whose promotion was aborted.
    aborted: frozenset[str] = frozenset()
