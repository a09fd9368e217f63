"""What comes next for a cluster, and what becomes of each of its options, in words."""

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.explain.stand import Stand
from tidegate.kinds.upgrades.core.reasons.rules_reasons import LegacyReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.step import Doing, Step
from tidegate.model.plan import Option
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import format_second
from tidegate.model.verdict import all_pass


def standing_words(stand: Stand) -> str:
    """What comes next, or why nothing does, in a few words."""
    member, standing = stand.member, stand.member.standing
    if member.aside is not None:
        return "excluded"
    if standing.failed:
        return f"its upgrade to {standing.failed[0][0].version or '?'} failed"
    if standing.under_way:
        upgrade = standing.under_way[0][0]
        return f"next {upgrade.version or '?'}, {upgrade.state or 'under way'}"
    if not stand.next:
        return _WORDS.get(stand.shut.reason if stand.shut is not None else None, "nothing to go to")
    pool = stand.chief.change.pool if isinstance(stand.chief.change, Step) else ""
    what = f"node pool {pool} to {stand.next}" if pool else stand.next
    return f"next {what}: {option_state(stand.chief)}"


_WORDS: dict[Reason | None, str] = {
    VersionReason.NothingOffered: "up to date",
    LegacyReason.ExistingRulesWait: "waits",
}


def option_title(step: Step) -> str:
    """What a step does, in a few words."""
    return {
        Doing.UPGRADE: f"to {step.revision}",
        Doing.POOL: f"node pool {step.pool} to {step.revision}",
        Doing.CHANNEL: f"channel {step.revision}",
        Doing.CANCEL: f"take back the upgrade to {step.revision}",
        Doing.AGREE: f"agree to {step.ident or 'nothing'}",
        Doing.ADDON: f"add-on {step.addon} to {step.revision}",
        Doing.CANCEL_ADDON: f"delete a plan of add-on {step.addon} for {step.revision}",
    }[step.doing]


def option_state(option: Option) -> str:
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
