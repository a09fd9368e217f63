"""What beside its deployment must be seen of a version: runs, reports, no failure, and trust.

A change that is deployed need not have been executed: shards that depend on a publisher show that
by clean runs. What else counts is declared by name, and reported by people or programs.
"""

from collections.abc import Iterable, Iterator

from tidegate.gates.approval import ApprovalGate, approval_verdicts
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.promotions.core.channels.gates import short
from tidegate.kinds.promotions.core.channels.model import ChannelWorld, ShardRuns
from tidegate.kinds.promotions.core.channels.pipeline import TRUST_GATE
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

_UNSAID = "no reason is known"
_VERSION = "the version"
_UNSEEN, _A_SHARD = "no runs of it were seen", "a shard"


def trouble_verdict(troubles: tuple[str, ...]) -> Verdict:
    """Everything that a subscriber depends on can be read."""
    if troubles:
        return verdict(ChannelReason.SubscriberUnread, troubles)
    return verdict(ChannelReason.SubscriberRead)


def execution_verdicts(
    world: ChannelWorld, publishers: Iterable[str], version: str | None
) -> Iterator[Verdict]:
    """The shards that depend on publishers ran the version cleanly, so many times."""
    needed = world.runs_needed
    if not needed:
        yield verdict(ChannelReason.ExecutionUnasked)
        return
    names = tuple(publishers)
    found = {name: world.runs.get(name) for name in names}
    shown = _shown(version)
    shut: list[Verdict] = []
    shards = 0
    for name, runs in found.items():
        if version is None or runs is None or runs.version != version:
            shut.append(verdict(ChannelReason.ExecutionUnseen, name, shown, (_UNSEEN,)))
            continue
        shards += runs.shards
        shut += _unclean(name, runs, shown, needed)
    yield from shut
    if not shut and not shards:
        yield verdict(ChannelReason.ExecutionNowhere, names)
    elif not shut:
        yield verdict(ChannelReason.ExecutedCleanly, shards, shown, needed)


def _unclean(name: str, runs: ShardRuns, version: str, needed: int) -> Iterator[Verdict]:
    if runs.failing:
        yield verdict(ChannelReason.ExecutionFailing, version, name, runs.failing)
    elif runs.unread:
        yield verdict(ChannelReason.ExecutionUnseen, name, version, runs.unread)
    elif runs.shards and runs.clean < needed:
        facts = (name, version, runs.clean, needed, runs.least or _A_SHARD)
        yield verdict(ChannelReason.ExecutionTooShort, *facts)


def named_verdicts(world: ChannelWorld, version: str | None) -> Iterator[Verdict]:
    """Everything that the pipeline names was reported good of the version."""
    if not world.names_needed:
        yield verdict(ChannelReason.NamedEvidenceUnasked)
        return
    reported = world.named.get(version, {}) if version is not None else {}
    missing = tuple(name for name in world.names_needed if name not in reported)
    shown = _shown(version)
    if missing:
        yield verdict(ChannelReason.NamedEvidenceMissing, shown, missing)
    bad = [name for name in world.names_needed if name in reported and not reported[name].good]
    for name in bad:
        said = reported[name]
        facts = (name, shown, said.by, said.why or _UNSAID)
        yield verdict(ChannelReason.NamedEvidenceBad, *facts)
    if not missing and not bad:
        yield verdict(ChannelReason.NamedEvidenceGood, shown, world.names_needed)


def quarantine_verdict(world: ChannelWorld, version: str | None) -> Verdict:
    """The version failed in no environment, or a person lifted its quarantine."""
    found = world.quarantined.get(version) if version is not None else None
    if found is None:
        return verdict(ChannelReason.NotQuarantined)
    return verdict(
        ChannelReason.PromotionQuarantined,
        short(found.version),
        found.target,
        found.at,
        found.why or _UNSAID,
        world.quarantine_role,
    )


def try_verdicts(world: ChannelWorld, version: str | None) -> Iterator[Verdict]:
    """The version is not on stage only because a person looks for what broke another."""
    if version is not None and version in world.tried:
        target, broken = world.tried[version]
        yield verdict(ChannelReason.TriedOnStage, short(version), target, short(broken))


def trust_verdict(world: ChannelWorld, version: str | None, now: Instant) -> Verdict:
    """Enough promotions of the pipeline went well, or other people approve this one."""
    if world.went_well >= world.trusted_after:
        return verdict(ChannelReason.PipelineTrusted, world.went_well, world.trusted_after)
    gate = world.trust_gates.get(version or "")
    if gate is None:
        gate = ApprovalGate(name=f"{TRUST_GATE}/{_shown(version)}", scope=EVERYTHING)
    return approval_verdicts((gate,), version, None, now)[0]


def _shown(version: str | None) -> str:
    return _VERSION if version is None else short(version)
