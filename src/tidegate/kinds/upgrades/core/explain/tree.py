"""One cluster as a tree: every version it could go to, newest first, and all that gates say of it.

What is said of the cluster whatever the version stands once, above the versions.
"""

from collections.abc import Sequence

from tidegate.explain.sentence import sentence
from tidegate.explain.tree import verdict_lines
from tidegate.kinds.upgrades.core.explain.stand import Stand, doing_of
from tidegate.kinds.upgrades.core.reasons.rules_reasons import LegacyReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import Doing, Step
from tidegate.model.plan import Option
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import Instant, format_age, format_second
from tidegate.model.verdict import Verdict, all_pass

EVERY_VERSION = "whatever the version"


def cluster_tree(stand: Stand, now: Instant, since: Instant | None = None) -> list[str]:
    """The lines of the tree; `since` is how long it has had its version, if anybody knows."""
    lines = [headline(stand, now, since)]
    upgrades = [each for each in stand.options if doing_of(each) is Doing.UPGRADE]
    shared = _shared(upgrades)
    if shared:
        lines += [EVERY_VERSION, *verdict_lines(shared, now)]
    for option in stand.options:
        said = option.verdicts
        if option in upgrades:
            said = tuple(each for each in said if each not in shared)
        if isinstance(option.change, Step):
            lines.append(_title(option))
        lines += verdict_lines(said, now)
    return [*lines, *(f"also: {each.text()}" for each in stand.member.complaints[1:])]


def headline(stand: Stand, now: Instant, since: Instant | None = None) -> str:
    """Where it stands, on one line: its version, what comes next, and what waits."""
    age = f" for {format_age(now - since)}" if since is not None else ""
    behind = [f"{pool.id} {pool.version}" for pool in stand.member.standing.behind]
    pools = f" (node pool {', '.join(behind)})" if behind else ""
    on = f"on {stand.member.cluster.version}{age}{pools}"
    journal = f"({PARTITION}/{stand.fleet.key})"
    return "  ".join((stand.member.called, on, standing_words(stand), journal))


def standing_words(stand: Stand) -> str:
    """What comes next, or why nothing does, in a few words."""
    member, standing = stand.member, stand.member.standing
    if member.aside is not None:
        return "set aside"
    if standing.failed:
        return f"its upgrade to {standing.failed[0][0].version or '?'} failed"
    if standing.under_way:
        upgrade = standing.under_way[0][0]
        return f"next {upgrade.version or '?'}, {upgrade.state or 'under way'}"
    if not stand.next:
        return _WORDS.get(stand.shut.reason if stand.shut is not None else None, "nothing to go to")
    pool = stand.chief.change.pool if isinstance(stand.chief.change, Step) else ""
    what = f"node pool {pool} to {stand.next}" if pool else stand.next
    return f"next {what}: {_state(stand.chief)}"


_WORDS: dict[Reason | None, str] = {
    VersionReason.NothingOffered: "up to date",
    LegacyReason.ExistingRulesWait: "waits",
}


def _shared(options: Sequence[Option]) -> tuple[Verdict, ...]:
    """What is said of every one of them; nothing where there is only one."""
    if len(options) < 2:
        return ()
    first, *rest = options
    return tuple(each for each in first.verdicts if all(each in one.verdicts for one in rest))


def _title(option: Option) -> str:
    step = option.change
    assert isinstance(step, Step)
    what = {
        Doing.UPGRADE: f"to {step.revision}",
        Doing.POOL: f"node pool {step.pool} to {step.revision}",
        Doing.CHANNEL: f"channel {step.revision}",
        Doing.CANCEL: f"take back the upgrade to {step.revision}",
        Doing.AGREE: f"agree to {step.ident or 'nothing'}",
        Doing.ADDON: f"add-on {step.addon} to {step.revision}",
        Doing.CANCEL_ADDON: f"delete a plan of add-on {step.addon} for {step.revision}",
    }[step.doing]
    return f"{what}: {_state(option)}"


def _state(option: Option) -> str:
    """What becomes of an option: it starts, or which gates are shut."""
    step = option.change
    if all_pass(option.verdicts):
        starts_at = step.starts_at if isinstance(step, Step) else None
        return f"starts {format_second(starts_at)}" if starts_at is not None else "now"
    newer = next((e for e in option.verdicts if e.reason is VersionReason.NewerVersionChosen), None)
    if newer is not None:
        return sentence(newer)
    parts = []
    for words, outcome in (("shut by", Outcome.STOP), ("waits for", Outcome.WAIT)):
        gates = [each.gate.value for each in option.verdicts if each.outcome is outcome]
        if gates:
            parts.append(f"{words} {', '.join(dict.fromkeys(gates))}")
    return "; ".join(parts)
