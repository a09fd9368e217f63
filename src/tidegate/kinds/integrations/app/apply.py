"""Applies a plan, or gives objects back, and records every object with its verdicts."""

from collections.abc import Iterable

import msgspec

from tidegate.app.by_hand import HandledRecord
from tidegate.journal.facts import Handled, HandledObject, HandledVerdict
from tidegate.kinds.integrations.app.executor import (
    BAD,
    ObjectResult,
    OnResult,
    OnStart,
    acts,
    apply,
    release,
)
from tidegate.kinds.integrations.app.plan import ChangePlan, ObjectVerdict, verdict_parts
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.workloads.change import ACTING, ObjectAction, PlannedChange
from tidegate.model.document import Document, Part
from tidegate.model.verdict import Verdict, verdict

# Where it is recorded: it is of no rollout.
PARTITION = "by-hand/clusters"


class AppliedObject(Part, frozen=True, kw_only=True):
    """One object, and what became of it."""

    object: str  # cluster/namespace/kind/name
    outcome: str
    detail: str
    verdicts: tuple[ObjectVerdict, ...]


class UndoneObject(Part, frozen=True, kw_only=True):
    """One object that is declared, or is to be removed, and was not changed: why."""

    object: str  # cluster/namespace/kind/name
    action: str
    reason: str


class ApplyReport(Document, frozen=True, kw_only=True):
    """What `apply` and `release` did."""

    objects: tuple[AppliedObject, ...]
    # Whether all that is declared was done, and everything could be read.
    ok: bool
    # Whether a change failed.
    failed: bool
    dry_run: bool = False
    # What is declared and was not done; an image that waits for its rollout is as declared.
    undone: tuple[UndoneObject, ...] = ()


# What is left undone by these is named; a staged image is left to its rollout, as is declared.
_UNDONE = frozenset(ObjectAction) - ACTING - {ObjectAction.UNCHANGED, ObjectAction.STAGED}


class ApplyResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all changes that act."""

    plan: ChangePlan
    results: tuple[ObjectResult, ...] = ()
    dry_run: bool = False

    @property
    def failed(self) -> bool:
        """Whether a change failed."""
        return any(each.outcome in BAD for each in self.results)

    @property
    def undone(self) -> tuple[PlannedChange, ...]:
        """What is declared and was not tried: held, kept, not ours, not read, not its turn."""
        consent = self.plan.executor.consent
        return tuple(
            each
            for each in self.plan.changes
            if each.verb in _UNDONE or (each.verb is ObjectAction.ADOPT and not consent)
        )

    @property
    def ok(self) -> bool:
        """Whether all that is declared was done, and everything could be read."""
        return (
            not self.failed and self.plan.view.sound and not self.plan.failures and not self.undone
        )

    def document(self) -> ApplyReport:
        """The same for programs."""
        return ApplyReport(
            objects=tuple(
                AppliedObject(
                    object=_name(each.change),
                    outcome=each.outcome.value,
                    detail=each.detail,
                    verdicts=verdict_parts(each.verdicts),
                )
                for each in self.results
            ),
            ok=self.ok,
            failed=self.failed,
            dry_run=self.dry_run,
            undone=tuple(
                UndoneObject(object=_name(each), action=each.verb.value, reason=each.reason)
                for each in self.undone
            ),
        )


def ready(plan: ChangePlan) -> tuple[PlannedChange, ...]:
    """The changes of a plan that are sent to clusters."""
    return tuple(each for each in plan.changes if acts(each, plan.executor.consent))


async def apply_plan(
    plan: ChangePlan,
    record: HandledRecord,
    reason: str,
    on_result: OnResult = lambda _: None,
    on_start: OnStart = lambda _: None,
) -> ApplyResult:
    """Carry a plan out; whatever ends it, what was done is recorded."""
    results: list[ObjectResult] = []

    def heard(result: ObjectResult) -> None:
        results.append(result)
        on_result(result)

    try:
        done = await apply(plan.changes, plan.executor, on_result=heard, on_start=on_start)
    finally:
        if results:
            record(handled(results, _withheld(plan), reason))
    return ApplyResult(plan=plan, results=done)


async def try_plan(plan: ChangePlan, on_result: OnResult = lambda _: None) -> ApplyResult:
    """Have the servers try a plan; nothing is changed or recorded."""
    done = await apply(plan.changes, plan.executor, dry_run=True, on_result=on_result)
    return ApplyResult(plan=plan, results=done, dry_run=True)


def ours(plan: ChangePlan) -> tuple[PlannedChange, ...]:
    """The objects of a plan that Tidegate applied, and still owns fields of."""
    return tuple(
        each for each in plan.changes if each.key in plan.objects and plan.objects[each.key].ours
    )


async def release_objects(
    plan: ChangePlan, record: HandledRecord, reason: str, on_result: OnResult = lambda _: None
) -> ApplyResult:
    """Give the objects back as they are; whatever ends it, what was done is recorded."""
    given = verdict(ObjectReason.ReleasedByHand)
    found = [
        (msgspec.structs.replace(each, verdicts=(given,)), plan.objects[each.key])
        for each in ours(plan)
    ]
    results: list[ObjectResult] = []

    def heard(result: ObjectResult) -> None:
        results.append(result)
        on_result(result)

    try:
        done = await release(found, plan.executor, heard)
    finally:
        if results:
            record(handled(results, (), reason))
    return ApplyResult(plan=plan, results=done)


def handled(
    results: Iterable[ObjectResult], withheld: Iterable[PlannedChange], reason: str
) -> Handled:
    """What was done and what was not, as the journal keeps it: each object with its verdicts."""
    done = (_object(each.change, each.outcome.value, each.verdicts) for each in results)
    kept = (_object(each, each.verb.value, each.verdicts) for each in withheld)
    return Handled(objects=(*done, *kept), reason=reason)


def _withheld(plan: ChangePlan) -> Iterable[PlannedChange]:
    """What differs and was not changed: held, kept, in conflict, not ours, or not read."""
    acting = {each.key for each in ready(plan)}
    return (
        each
        for each in plan.changes
        if each.verb is not ObjectAction.UNCHANGED and each.key not in acting
    )


def _object(change: PlannedChange, outcome: str, verdicts: tuple[Verdict, ...]) -> HandledObject:
    return HandledObject(
        _name(change),
        outcome,
        reason=verdicts[-1].reason.value if verdicts else "",
        verdicts=tuple(
            HandledVerdict(
                each.gate.value, each.outcome.value, each.reason.value, tuple(each.facts)
            )
            for each in verdicts
        ),
    )


def _name(change: PlannedChange) -> str:
    return f"{change.cluster}/{change.namespace}/{change.where}"
