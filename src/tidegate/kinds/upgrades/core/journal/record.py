"""From a plan of upgrades to what is written down of it: jobs with keys, and who stands elsewhere.

Moments are left out: the date soak is expected to end moves a little with every look, and would
fill the journal with decisions that are not new.
"""

from collections.abc import Iterable
from hashlib import blake2b

from tidegate.journal.fact import Mode
from tidegate.journal.keys import task_key
from tidegate.kinds.upgrades.core.journal.facts import HistoryNews, Job, Planned, Standpoint
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.labels.label_requests import stand_key
from tidegate.kinds.upgrades.core.rules.label_requests import LabelRequestPlan
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import LATEST
from tidegate.model.plan import Option, Plan
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

Shut = tuple[str, ...]


def record_plans(
    partition: str,
    seq: int,
    state: UpgradeState,
    plans: tuple[UpgradePlan, ...],
    now: Instant,
    mode: Mode,
    kept: HistoryNews | None = None,
    unseen: tuple[str, ...] = (),
    labelling: LabelRequestPlan | None = None,
) -> Planned:
    """What is written down of plans made together, as entry number `seq` of their partition."""
    stands = standpoints(plans, labelling)
    changed = tuple(each for each in stands if state.stands.get(each.target) != each)
    jobs = tuple(job for i, plan in enumerate(plans) for job in _jobs(partition, seq, i, plan))
    every: tuple[Plan, ...] = plans
    if labelling is not None:
        jobs += tuple(_label_jobs(partition, seq, len(plans), labelling))
        every += (labelling,)
    return Planned(
        now=now,
        mode=mode,
        tasks=jobs,
        changed=changed,
        recheck_at=opens_at(every, now),
        digest=digest(stands, jobs),
        kept=kept,
        unseen=unseen,
        edition=LATEST,
    )


def opens_at(plans: Iterable[Plan], now: Instant) -> Instant | None:
    """The first moment at which time alone may let something start; None: it does not.

    A gate that time shuts stops nothing that was asked for before, so it is not counted.
    """
    shut = {
        id(each): each
        for plan in plans
        for option in plan.options
        for each in option.verdicts
        if each.outcome is not Outcome.PASS
    }
    moments = (each.until for each in shut.values())
    return min((each for each in moments if each is not None and each > now), default=None)


def _jobs(partition: str, seq: int, which: int, plan: UpgradePlan) -> Iterable[Job]:
    names = {member.cluster.uuid: member.called for member in plan.members}
    for at, action in enumerate(plan.actions):
        step = action.change
        if isinstance(step, UpgradeStep):
            name = names[action.target]
            key = task_key(partition, f"{seq}.{which}.{at}", name)
            yield Job(key, action.target, name, step)


def _label_jobs(partition: str, seq: int, which: int, labelling: LabelRequestPlan) -> Iterable[Job]:
    called = {each.target: each.called for each in labelling.holders}
    for at, action in enumerate(labelling.actions):
        step, name = action.change, called[action.target]
        if isinstance(step, UpgradeStep):
            yield Job(task_key(partition, f"{seq}.{which}.{at}", name), action.target, name, step)


def standpoints(
    plans: Iterable[UpgradePlan], labelling: LabelRequestPlan | None = None
) -> list[Standpoint]:
    """Where every cluster stands, over all its options; then every holder of requested labels."""
    texts: dict[int, str] = {}
    options: dict[str, list[tuple[str, str, Shut]]] = {}
    for plan in plans:
        for option in plan.options:
            uuid = plan.members[option.target].cluster.uuid
            options.setdefault(uuid, []).append(_stand(option, texts))
    if labelling is not None:
        for option in labelling.options:
            key = stand_key(labelling.holders[option.target].holder)
            options.setdefault(key, []).append(_stand(option, texts))
    return [Standpoint(uuid, tuple(some)) for uuid, some in options.items()]


def _stand(option: Option, texts: dict[int, str]) -> tuple[str, str, Shut]:
    change = option.change
    doing = change.doing.value if isinstance(change, UpgradeStep) else ""
    shut = tuple(_text(each, texts) for each in option.verdicts if each.outcome is not Outcome.PASS)
    return doing, change.revision or "", shut


def _text(verdict: Verdict, texts: dict[int, str]) -> str:
    text = texts.get(id(verdict))
    if text is None:
        text = texts[id(verdict)] = f"{verdict.gate.value} {verdict.reason.value}"
    return text


def digest(stands: Iterable[Standpoint], jobs: Iterable[Job]) -> str:
    """One number for a whole plan: two that decide and explain the same have the same."""
    said = [f"{each.target} {each.options}" for each in stands]
    said += [f"{job.target} {_step_text(job.change)}" for job in jobs]
    return blake2b("\n".join(said).encode(), digest_size=16).hexdigest()


def _step_text(step: UpgradeStep) -> str:
    """A step as digests have it; the names in it are those of the first journals, and stay."""
    fields = (f"{name}={_field_text(getattr(step, name))}" for name in step.__struct_fields__)
    return f"Step({', '.join(fields)})"


def _field_text(value: object) -> str:
    if isinstance(value, StepKind):
        return f"<Doing.{value.name}: {value.value!r}>"
    return repr(value)
