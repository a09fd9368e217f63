"""What comes next for a cluster, and what becomes of each of its options, in words."""

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.reasons.rules_reasons import LegacyReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.model.plan import Option
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import format_second
from tidegate.model.verdict import all_pass


def next_words(summary: ClusterSummary) -> str:
    """What comes next, or why nothing does, in a few words."""
    member, progress = summary.member, summary.member.progress
    if member.excluded is not None:
        return "excluded"
    if progress.failed:
        return f"its upgrade to {progress.failed[0][0].version or '?'} failed"
    if progress.under_way:
        upgrade = progress.under_way[0][0]
        return f"next {upgrade.version or '?'}, {upgrade.state or 'under way'}"
    if not summary.next:
        return _WORDS.get(
            summary.shut.reason if summary.shut is not None else None, "nothing to go to"
        )
    pool = summary.chief.change.pool if isinstance(summary.chief.change, UpgradeStep) else ""
    what = f"node pool {pool} to {summary.next}" if pool else summary.next
    return f"next {what}: {option_state(summary.chief)}"


_WORDS: dict[Reason | None, str] = {
    VersionReason.NothingOffered: "up to date",
    LegacyReason.ExistingRulesWait: "waits",
}


def option_title(step: UpgradeStep) -> str:
    """What a step does, in a few words."""
    return {
        StepKind.UPGRADE: f"to {step.revision}",
        StepKind.POOL: f"node pool {step.pool} to {step.revision}",
        StepKind.CHANNEL: f"channel {step.revision}",
        StepKind.CANCEL: f"take back the upgrade to {step.revision}",
        StepKind.AGREE: f"agree to {step.ident or 'nothing'}",
        StepKind.ADDON: f"add-on {step.addon} to {step.revision}",
        StepKind.LABELS: f"labels {step.revision}",
        StepKind.CANCEL_ADDON: f"delete a plan of add-on {step.addon} for {step.revision}",
    }[step.doing]


def option_state(option: Option) -> str:
    """What becomes of an option: it starts, or which gates are shut."""
    step = option.change
    if all_pass(option.verdicts):
        starts_at = step.starts_at if isinstance(step, UpgradeStep) else None
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
