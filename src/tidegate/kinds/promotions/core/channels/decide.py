"""Which subscribers get the version of their publishers now, and why the others wait.

A target is a subscriber. Each has one option, the version that its publishers are to have, with the
verdict of every gate; it gets the version if and only if all pass. Subscribers of the same channels
share what their publishers showed: 1,000 subscribers of 200 channels cost little more than 200.
"""

from tidegate.gates.claims import Claim
from tidegate.kinds.promotions.core.brakes import PromotionBrakes
from tidegate.kinds.promotions.core.channels.configs import (
    config_verdicts,
    has_configs,
    of_config,
)
from tidegate.kinds.promotions.core.channels.gates import (
    after_verdicts,
    block_verdict,
    evidence_verdicts,
    publishers_of,
    schedule_verdict,
    short,
    slo_verdicts,
    soak_verdicts,
    version_of,
    version_verdict,
)
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    SoakRule,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.channels.proof import (
    execution_verdicts,
    named_verdicts,
    quarantine_verdict,
    trouble_verdict,
    trust_verdict,
    try_verdicts,
)
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

Verdicts = tuple[Verdict, ...]


class ChannelDecision(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of the world's subscribers."""

    # Subscribers for which every gate is open, whether they are on their way or not.
    wanted: tuple[int, ...] = ()
    # Places of budgets and mutexes to claim before anything is promoted, and those to give back.
    claims: tuple[Claim, ...] = ()
    freed: tuple[Claim, ...] = ()


def decide(world: ChannelWorld, now: Instant) -> ChannelDecision:
    """What is promoted now, and what every gate says of every subscriber."""
    evidence = _Evidence(world, now)
    labels = {each.name: each.labels for each in world.subscribers}
    brakes = PromotionBrakes(world.brakes, labels, frozenset(world.under_way), now)
    named = {each.name: each for each in world.subscribers}
    options: list[Option] = []
    actions: list[Action] = []
    wanted: list[int] = []
    for at, each in enumerate(world.subscribers):
        version = evidence.version(each.channels)
        said = (
            *_running(world, version),
            *_progress(world, each, version),
            trouble_verdict(each.troubles),
            *evidence.verdicts(each),
            *config_verdicts(world, each),
            *after_verdicts(world, named, each.after, version),
            schedule_verdict(world, each.schedule, each.zone, version, now),
            *slo_verdicts(world, each.slos, version),
            *evidence.of_version(version),
            *brakes.verdicts(each.name, version),
        )
        change = evidence.change(version)
        options.append(Option(at, change, said))
        if all_pass(tuple(o for o in said if o.reason is not ProgressReason.InFlightSaying)):
            wanted.append(at)
        if all_pass(said):
            brakes.take(each.name)
            actions.append(Action(each.name, change))
    untils = [v.until for option in options for v in option.verdicts if v.until is not None]
    ahead = [each for each in (*untils, *brakes.moments()) if each > now]
    return ChannelDecision(
        options=options,
        actions=actions,
        recheck_at=min(ahead, default=None),
        wanted=tuple(wanted),
        claims=brakes.claims(),
        freed=brakes.freed(each.target for each in actions),
    )


def _running(world: ChannelWorld, version: str | None) -> Verdicts:
    """The pipeline is not paused, nor was the version aborted."""
    if version in world.aborted:
        return (verdict(ProgressReason.Aborted),)
    return (verdict(ProgressReason.Paused if world.paused else ProgressReason.Running),)


def _progress(world: ChannelWorld, subscriber: SubscriberTarget, version: str | None) -> Verdicts:
    """It does not have the version already, nor is it on its way to it."""
    if version is not None and subscriber.version == version and has_configs(world, subscriber):
        return (verdict(ProgressReason.Done),)
    if subscriber.name in world.under_way:
        going = world.under_way[subscriber.name]
        return (verdict(ProgressReason.InFlightSaying, short(going)),)
    return ()


class _Evidence:
    """What publishers showed, worked out once for subscribers of the same channels."""

    def __init__(self, world: ChannelWorld, now: Instant) -> None:
        self._world, self._now = world, now
        self._publishers: dict[tuple[str, ...], dict[str, str]] = {}
        self._versions: dict[tuple[str, ...], str | None] = {}
        self._shown: dict[tuple[str, ...], Verdicts] = {}
        self._soaks: dict[tuple[tuple[str, ...], Duration, SoakRule, bool], Verdicts] = {}
        self._changes: dict[str | None, Change] = {}
        self._said: dict[str | None, Verdicts] = {}

    def of_version(self, version: str | None) -> Verdicts:
        """What is said of a version alone: reports, failures, blocks, trust."""
        if version not in self._said:
            self._said[version] = (
                *named_verdicts(self._world, version),
                block_verdict(self._world, version),
                quarantine_verdict(self._world, version),
                *try_verdicts(self._world, version),
                trust_verdict(self._world, version, self._now),
            )
        return self._said[version]

    def version(self, channels: tuple[str, ...]) -> str | None:
        """The one version of all publishers, if there is one."""
        if channels not in self._versions:
            self._versions[channels] = version_of(self._world, self._of(channels))
        return self._versions[channels]

    def change(self, version: str | None) -> Change:
        """The change to a version; one value for all that get it."""
        if version not in self._changes:
            self._changes[version] = Change(ChangeKind.APPLY, version)
        return self._changes[version]

    def verdicts(self, subscriber: SubscriberTarget) -> Verdicts:
        """Evidence, one version, soak."""
        channels = subscriber.channels
        shown = self._shown.get(channels)
        if shown is None:
            publishers = self._of(channels)
            shown = self._shown[channels] = (
                *evidence_verdicts(self._world, channels, publishers),
                version_verdict(self._world, publishers),
                *execution_verdicts(self._world, publishers, self.version(channels)),
            )
        key = (channels, subscriber.soak, subscriber.soak_rule, subscriber.follows_configs)
        soaked = self._soaks.get(key)
        if soaked is None:
            version, publishers = self.version(channels), self._of(channels)
            asked = (subscriber.soak, subscriber.soak_rule, self._now)
            histories = self._world.histories
            if subscriber.follows_configs:
                histories = of_config({n: histories[n] for n in publishers if n in histories})
            soaked = tuple(soak_verdicts(self._world, publishers, histories, version, *asked))
            self._soaks[key] = soaked
        return (*shown, *soaked)

    def _of(self, channels: tuple[str, ...]) -> dict[str, str]:
        if channels not in self._publishers:
            self._publishers[channels] = publishers_of(self._world, channels)
        return self._publishers[channels]
