"""Commands of stories about channels: one subscriber, and what three systems make of it.

The existing manager and deployer know the deployer's book, in which `check_in` stays while runs of
a version succeed one after the other; strict knows the facts of its journal.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from tests.channels import booked, entries
from tests.scenarios.story import BEGINNING, StoryError, pairs_of
from tidegate.explain.sentence import opens, sentence
from tidegate.kinds.promotions.core.channels.decide import decide
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import DeploymentsSeen
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown, take
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    Hotfix,
    PublisherTarget,
    SkippableGate,
    SoakRule,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.compat.subscriber import (
    ALWAYS,
    AutoSubscriber,
    deployer_allows,
    desired_version,
)
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Duration, Instant, parse_duration
from tidegate.model.verdict import Verdict

DAY = 24 * 3600 * SECOND
# What the subscriber has, and what it is about.
CURRENT, NEW = "cur", "new"
PROD = SubscriberTarget(name="prod", version=CURRENT, channels=())


@dataclass
class ChannelStory:
    """Publishers, channels, one subscriber, and what was deployed."""

    now: Instant = BEGINNING
    channels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    subscriber: SubscriberTarget = PROD
    blocked: set[str] = field(default_factory=set)
    hotfixes: dict[str, Hotfix] = field(default_factory=dict)
    # Runs of the deployer, and what of it is a fact here.
    runs: list[DeploymentSeen] = field(default_factory=list)
    known: PipelineKnown = field(default_factory=PipelineKnown)

    def world(self) -> ChannelWorld:
        """What strict decides on."""
        return ChannelWorld(
            subscribers=(replace(self.subscriber, channels=tuple(self.channels)),),
            channels=self.channels,
            publishers={n: PublisherTarget(n, each) for n, each in self.versions.items()},
            histories=dict(self.known.histories),
            quarantined=dict(self.known.quarantined),
            quarantine_role="operator",
            blocked=dict.fromkeys(self.blocked, "corrupts data"),
            hotfixes=self.hotfixes,
        )

    def existing(self) -> AutoSubscriber:
        """What the existing manager and deployer know of the subscriber."""
        return AutoSubscriber(
            ref=CURRENT,
            soak_days=self.subscriber.soak // DAY,
            schedule=self.subscriber.schedule or ALWAYS,
            blocked=frozenset(self.blocked),
            hotfix=frozenset(self.hotfixes),
        )

    def learn(self, fact: DeploymentSeen) -> None:
        """A fact for the journal."""
        take(self.known, self.now, DeploymentsSeen(deployments=(fact,), source="test"), "tidegate")


def _channel(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    name, *publishers = rest.split()
    story.channels[name] = tuple(publishers)
    story.versions = dict.fromkeys(publishers, NEW) | story.versions
    return []


def _wants(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.versions |= pairs_of(rest.split())
    return []


def _subscriber(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    given = pairs_of(rest.split())
    story.subscriber = replace(
        story.subscriber,
        soak=Duration(int(given.get("soakDays", 0)) * DAY),
        soak_rule=SoakRule(given.get("soak", "continuous")),
        zone=given.get("zone", ""),
    )
    return []


def _schedule(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.subscriber = replace(story.subscriber, schedule=rest)
    return []


def _block(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.blocked |= set(rest.split())
    return []


def _hotfix(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    version, *skips = rest.split()
    gates = frozenset(map(SkippableGate, skips))
    story.hotfixes[version] = Hotfix(version=version, owner="ana", why="a leak", skips=gates)
    return []


def _ran(story: ChannelStory, rest: str, *, good: bool) -> DeploymentSeen:
    target, version = rest.split()
    if target not in story.versions:
        raise StoryError(f"{target}: no channel has it")
    fact = DeploymentSeen(target=target, version=version, at=story.now, good=good)
    story.runs.append(fact)
    return fact


def _deployed(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.learn(_ran(story, rest, good=True))
    return []


def _failed(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.learn(_ran(story, rest, good=False))
    return []


def _unseen(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    _ran(story, rest, good=True)
    return []


def _store(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    book = booked(story.runs)
    for name, version in sorted(story.versions.items()):
        if (entry := book.get((name, version))) is not None:
            story.learn(DeploymentSeen(target=name, version=version, at=entry[2], good=entry[0]))
    return []


def _wait(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    story.now = Instant(story.now + parse_duration(rest))
    return []


def _decide(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    theirs, versions = story.existing(), story.versions
    book = entries(story.runs, story.channels, versions, story.now)
    # The deployer judges what was written; it looks up the entries of that version alone.
    written = entries(story.runs, story.channels, dict.fromkeys(versions, NEW), story.now)
    manager = desired_version(theirs, book, story.now) is not None
    deployer = deployer_allows(theirs, written, NEW)
    shut = _shut(story)
    strict = f"keeps: {', '.join(each.reason.value for each in shut)}" if shut else "promotes"
    return [
        f"manager   {'promotes' if manager else 'keeps'}",
        f"deployer  {'deploys' if deployer else 'refuses'}",
        f"strict    {strict}",
    ]


def _why(story: ChannelStory, rest: str, _: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for each in _shut(story):
        found += [sentence(each), f"  opens: {opens(each)}"]
    return found


def _shut(story: ChannelStory) -> list[Verdict]:
    (option,) = decide(story.world(), story.now).options
    return [each for each in option.verdicts if each.outcome is not Outcome.PASS]


CHANNEL_COMMANDS: dict[str, Callable[[Any, str, tuple[str, ...]], list[str]]] = {
    "channel": _channel,
    "wants": _wants,
    "subscriber": _subscriber,
    "schedule": _schedule,
    "block": _block,
    "hotfix": _hotfix,
    "deployed": _deployed,
    "failed": _failed,
    "unseen": _unseen,
    "store": _store,
    "wait": _wait,
    "decide": _decide,
    "why": _why,
}
