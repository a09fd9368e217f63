"""What every gate of a channel says of a version, for subscribers that ask alike.

Each function is one gate. A fact that is missing never passes: a publisher that was not seen, a
branch that was not read, an SLO without an answer all keep a subscriber where it is.
"""

from collections.abc import Iterable, Iterator, Mapping

from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.channels.history import (
    PublisherHistory,
    accumulated,
    continuous,
)
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    Hotfix,
    PublisherTarget,
    SkippableGate,
    SloState,
    SoakRule,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.channels.window import WindowError, window
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, verdict

_UTC = "UTC"


def publishers_of(world: ChannelWorld, channels: Iterable[str]) -> dict[str, str]:
    """Every publisher of some channels, once, with the first channel that names it."""
    found: dict[str, str] = {}
    for channel in channels:
        for name in sorted(world.channels.get(channel, ())):
            found.setdefault(name, channel)
    return found


def version_of(world: ChannelWorld, publishers: Iterable[str]) -> str | None:
    """The one version that publishers are to have; None: there is none, or several."""
    versions = {_target(world, name).version for name in publishers}
    return versions.pop() if len(versions) == 1 else None


def version_verdict(world: ChannelWorld, publishers: Iterable[str]) -> Verdict:
    """All publishers are to have one version, and it is known."""
    targets = [_target(world, name) for name in publishers]
    unread = [each.name for each in targets if each.version is None]
    if unread:
        return verdict(ChannelReason.PublisherUnread, unread[0])
    versions = sorted({short(each.version or "") for each in targets})
    if not versions:
        return verdict(ChannelReason.NoPublisherVersion)
    if len(versions) > 1:
        return verdict(ChannelReason.PublishersDiffer, tuple(versions))
    return verdict(ChannelReason.PublishersAgree, versions[0])


def evidence_verdicts(
    world: ChannelWorld, channels: tuple[str, ...], publishers: Mapping[str, str]
) -> Iterator[Verdict]:
    """Every publisher of every channel has deployed its version, and the last time it went well."""
    if not channels:
        yield verdict(ChannelReason.NoChannelSubscribed)
        return
    shut = [
        verdict(ChannelReason.ChannelEmpty, each)
        for each in sorted(set(channels))
        if not world.channels.get(each)
    ]
    for name, channel in publishers.items():
        shut += _undeployed(_target(world, name), channel, world.histories.get(name))
    yield from shut
    if not shut:
        version = version_of(world, publishers)
        shown = short(version) if version is not None else "their versions"
        yield verdict(ChannelReason.PublishersDeployed, len(publishers), shown)


def _undeployed(
    target: PublisherTarget, channel: str, history: PublisherHistory | None
) -> Iterator[Verdict]:
    facts: tuple[str, ...] = (target.name, channel)
    version = "its version" if target.version is None else short(target.version)
    if history is None or target.version is None:
        yield verdict(ChannelReason.PublisherUndeployed, *facts, version)
    elif history.version != target.version:
        facts = (*facts, short(history.version), version)
        if history.earlier is not None and history.earlier[0] == target.version:
            yield verdict(ChannelReason.PublisherEvidenceOld, *facts, history.earlier[1])
        else:
            yield verdict(ChannelReason.PublisherBehind, *facts)
    elif not history.good:
        yield verdict(ChannelReason.PublisherFailed, *facts, version)


def soak_verdicts(
    world: ChannelWorld,
    publishers: Iterable[str],
    histories: Mapping[str, PublisherHistory],
    version: str | None,
    needed: Duration,
    rule: SoakRule,
    now: Instant,
) -> Iterator[Verdict]:
    """The version has run long enough, by the rule that the subscriber declares."""
    if needed <= 0:
        yield verdict(ChannelReason.SoakNotAsked)
        return
    runs = {name: histories.get(name) for name in publishers}
    known = {name: each for name, each in runs.items() if each is not None and _runs(each, version)}
    if version is None or not runs or len(known) < len(runs):
        yield verdict(ChannelReason.SoakUncounted)
    elif skips := _hotfix(world, version, SkippableGate.SOAK):
        yield verdict(ChannelReason.HotfixSkipsSoak, *_said(skips))
    elif rule is SoakRule.ACCUMULATED:
        yield _together(known, version, needed, now)
    else:
        yield from _each(known, version, needed, now)


def _runs(history: PublisherHistory, version: str | None) -> bool:
    return history.version == version and history.good


def _together(
    known: Mapping[str, PublisherHistory], version: str, needed: Duration, now: Instant
) -> Verdict:
    left = needed - sum(accumulated(each, version, now) for each in known.values())
    if left <= 0:
        return verdict(ChannelReason.SoakedTogether, short(version), needed)
    undated = [name for name, each in known.items() if each.since is None]
    counting = len(known) - len(undated)
    if not counting:
        return verdict(ChannelReason.PublisherSoakUndated, undated[0], short(version))
    # Rounded up: all that run it go on at once. Those of unknown length add nothing.
    until = Instant(now - (-left // counting))
    return verdict(ChannelReason.SoakingTogether, len(known), short(version), needed, until=until)


def _each(
    known: Mapping[str, PublisherHistory], version: str, needed: Duration, now: Instant
) -> Iterator[Verdict]:
    shut: list[Verdict] = []
    for name, each in known.items():
        soaked = continuous(each, version, now)
        if soaked is None or each.since is None:
            shut.append(verdict(ChannelReason.PublisherSoakUndated, name, short(version)))
        elif soaked < needed:
            facts = (name, short(version), each.since, needed)
            until = Instant(each.since + needed)
            shut.append(verdict(ChannelReason.PublisherSoaking, *facts, until=until))
    yield from shut or (verdict(ChannelReason.PublishersSoaked, short(version), needed),)


def schedule_verdict(
    world: ChannelWorld, schedule: str, zone: str, version: str | None, now: Instant
) -> Verdict:
    """The schedule of the subscriber is open at this minute."""
    if not schedule:
        return verdict(ChannelReason.PromotedAnytime)
    if version is not None and (skips := _hotfix(world, version, SkippableGate.SCHEDULE)):
        return verdict(ChannelReason.HotfixSkipsSchedule, *_said(skips))
    facts = (schedule, zone or _UTC)
    try:
        found = window(schedule, zone, now)
    except WindowError as error:
        return verdict(ChannelReason.PromotionScheduleUnreadable, *facts, str(error))
    if found.is_open:
        return verdict(ChannelReason.PromotionWindowOpen, *facts, until=found.until)
    if found.until is None:
        return verdict(ChannelReason.PromotionWindowNever, *facts)
    return verdict(ChannelReason.PromotionWindowShut, *facts, until=found.until)


def slo_verdicts(
    world: ChannelWorld, slos: tuple[str, ...], version: str | None
) -> Iterator[Verdict]:
    """Every SLO of the subscriber is known to be met."""
    if not slos:
        yield verdict(ChannelReason.SlosUnasked)
        return
    if version is not None and (skips := _hotfix(world, version, SkippableGate.SLOS)):
        yield verdict(ChannelReason.HotfixSkipsSlos, *_said(skips))
        return
    states = {name: world.slos.get(name, SloState.UNKNOWN) for name in sorted(set(slos))}
    breached = tuple(name for name, state in states.items() if state is SloState.BREACHED)
    unknown = tuple(name for name, state in states.items() if state is SloState.UNKNOWN)
    if breached:
        yield verdict(ChannelReason.SlosBreached, breached)
    if unknown:
        yield verdict(ChannelReason.SlosUnknown, unknown)
    if not breached and not unknown:
        yield verdict(ChannelReason.SlosMet, tuple(states))


def block_verdict(world: ChannelWorld, version: str | None) -> Verdict:
    """No code component blocks the version; a hotfix does not change that."""
    if version is None or version not in world.blocked:
        return verdict(ChannelReason.CodeVersionAllowed)
    return verdict(ChannelReason.CodeVersionBlocked, short(version), world.blocked[version])


def after_verdicts(
    world: ChannelWorld,
    subscribers: Mapping[str, SubscriberTarget],
    after: tuple[str, ...],
    version: str | None,
) -> Iterator[Verdict]:
    """Subscribers that go earlier have the version, and run it where that is seen."""
    if not after:
        return
    new = short(version or "nothing")
    shut: list[Verdict] = []
    for name in after:
        earlier, history = subscribers.get(name), world.histories.get(name)
        if earlier is None or version is None or earlier.version != version:
            held = short(earlier.version) if earlier is not None else "nothing"
            shut.append(verdict(PromotionReason.EarlierEnvironmentBehind, name, held, new))
        elif history is not None and not _runs(history, version):
            shut.append(verdict(PromotionReason.EarlierEnvironmentNotRunning, name, new))
    yield from shut or (verdict(PromotionReason.EarlierEnvironmentsHaveIt, after),)


def short(version: str) -> str:
    """A version as verdicts show it."""
    return version[:SHORT]


def _target(world: ChannelWorld, name: str) -> PublisherTarget:
    """A publisher; one that a channel names and that is not there has no known version."""
    return world.publishers.get(name) or PublisherTarget(name, None)


def _hotfix(world: ChannelWorld, version: str, gate: SkippableGate) -> Hotfix | None:
    found = world.hotfixes.get(version)
    return found if found is not None and gate in found.skips else None


def _said(hotfix: Hotfix) -> tuple[str, str, str]:
    return hotfix.owner, short(hotfix.version), hotfix.why
