"""Every reason Tidegate can give, with its gate, its outcome, its sentence and what would open it.

Reasons are public API: their names appear in JSON, metrics and runbooks, and never change meaning.
A gate that passes gives a reason too, so that `why` can show the numbers it passed with.

`wait` opens as the rollout goes on (time, other targets, an approval that is part of the plan);
`stop` stays shut until somebody changes something. Here are the reasons of rollouts; those of
holds, freezes and the other brakes are in brake_reasons.py, of promotions in promotion_reasons.py,
of upgrades in upgrade_reasons.py.
"""

from tidegate.kinds.promotions.core.reasons import PROMOTION_REASONS
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UPGRADE_REASONS
from tidegate.model.brake_reasons import BRAKE_REASONS
from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

__all__ = ["REASONS", "Entry", "Gate", "Kind", "Outcome", "Reason"]

_C, _N, _NS, _D = Kind.COUNT, Kind.NAME, Kind.NAMES, Kind.DURATION
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP

_ROLLOUT_REASONS: dict[Reason, Entry] = {
    Reason.InFlight: Entry(Gate.PROGRESS, _WAIT, "being updated", opens="it reports its result"),
    Reason.InFlightSaying: Entry(
        Gate.PROGRESS, _WAIT, "being updated: {says}", (("says", _N),), "it reports its result"
    ),
    Reason.InFlightUndated: Entry(
        Gate.PROGRESS,
        _WAIT,
        "being updated, but does not say since when; its {deadline} deadline cannot be counted",
        (("deadline", _D),),
        "it reports lastTransitionTime, or its result",
    ),
    Reason.UnknownStatus: Entry(
        Gate.PROGRESS,
        _WAIT,
        'reports "{status}", which is no status we know; held as being updated',
        (("status", _N),),
        "it reports a status we know",
    ),
    Reason.Soaking: Entry(
        Gate.PROGRESS, _WAIT, "succeeded, soaking for {soak}", (("soak", _D),), "the soak ends"
    ),
    Reason.SoakingUndated: Entry(
        Gate.PROGRESS,
        _WAIT,
        "succeeded, but does not say since when; its {soak} soak cannot be counted",
        (("soak", _D),),
        "it reports lastTransitionTime",
    ),
    Reason.Done: Entry(Gate.PROGRESS, _STOP, "done: it has the change"),
    Reason.Skipped: Entry(Gate.PROGRESS, _STOP, "skipped: left alone, counts neither way"),
    Reason.Failed: Entry(
        Gate.PROGRESS, _STOP, "failed", opens="a new revision, or `retry --failed`"
    ),
    Reason.FailedSaying: Entry(
        Gate.PROGRESS,
        _STOP,
        "failed: {says}",
        (("says", _N),),
        "a new revision, or `retry --failed`",
    ),
    Reason.TimedOut: Entry(
        Gate.PROGRESS,
        _STOP,
        "gave no answer within {deadline}",
        (("deadline", _D),),
        "a new revision, or `retry --failed`",
    ),
    Reason.NoAnswer: Entry(
        Gate.PROGRESS, _STOP, "gave no answer in time", opens="a new revision, or `retry --failed`"
    ),
    Reason.JoinedLater: Entry(
        Gate.PROGRESS, _PASS, "joined after the rollout was completed: gets the last good revision"
    ),
    Reason.Running: Entry(Gate.RUNNING, _PASS, "the rollout is running"),
    Reason.Paused: Entry(
        Gate.RUNNING, _STOP, "the rollout is paused", opens="`resume` the rollout"
    ),
    Reason.Aborted: Entry(
        Gate.RUNNING,
        _STOP,
        "the rollout was aborted",
        opens="a new revision, or `retry` of the rollout",
    ),
    Reason.ReadingComplete: Entry(Gate.READING, _PASS, "all members of its group are seen"),
    Reason.ReadingIncomplete: Entry(
        Gate.READING,
        _WAIT,
        "the reading is incomplete: {group} may have members we do not see",
        (("group", _N),),
        "a complete reading",
    ),
    Reason.LeftEveryGroup: Entry(
        Gate.READING, _PASS, "it is in no group of a complete reading: removed"
    ),
    Reason.MayBeUnseen: Entry(
        Gate.READING,
        _WAIT,
        "the reading is incomplete: it may be in a group we do not see",
        opens="a complete reading",
    ),
    Reason.WithinBudget: Entry(
        Gate.BUDGET,
        _PASS,
        "{failed:failure}, {allowed} allowed in {scope}",
        (("failed", _C), ("allowed", _C), ("scope", _N)),
    ),
    Reason.OverBudget: Entry(
        Gate.BUDGET,
        _STOP,
        "{failed:failure}, {allowed} allowed in {scope} ({targets})",
        (("failed", _C), ("allowed", _C), ("scope", _N), ("targets", _NS)),
        "a new revision, or `retry --failed`",
    ),
    Reason.MandatoryTargetFailed: Entry(
        Gate.BUDGET,
        _STOP,
        "{failed:failure} in the mandatory {scope}, where none is allowed ({targets})",
        (("failed", _C), ("allowed", _C), ("scope", _N), ("targets", _NS)),
        "a new revision, or `retry --failed`",
    ),
    Reason.FirstInOrder: Entry(Gate.ORDER, _PASS, "nothing goes before it"),
    Reason.EarlierGroupsDone: Entry(
        Gate.ORDER, _PASS, "{groups:earlier group} done", (("groups", _C),)
    ),
    Reason.EarlierGroupUnfinished: Entry(
        Gate.ORDER,
        _WAIT,
        "{group}: {done} of {total} done, waiting for {targets}",
        (("group", _N), ("done", _C), ("total", _C), ("targets", _NS)),
        "{group} finishes",
    ),
    Reason.EarlierGroupReopened: Entry(
        Gate.ORDER,
        _WAIT,
        "{group} goes first, though later groups had begun: {done} of {total} done, "
        "waiting for {targets}",
        (("group", _N), ("done", _C), ("total", _C), ("targets", _NS)),
        "{group} finishes",
    ),
    Reason.EarlierGroupIncomplete: Entry(
        Gate.ORDER,
        _WAIT,
        "{group} goes first and may have members we do not see",
        (("group", _N),),
        "a complete reading",
    ),
    Reason.Approved: Entry(
        Gate.APPROVAL,
        _PASS,
        "{group} is approved for {revision}",
        (("group", _N), ("revision", _N)),
    ),
    Reason.ApprovedStanding: Entry(
        Gate.APPROVAL, _PASS, "{group} is approved for every revision (standing)", (("group", _N),)
    ),
    Reason.ApprovedAsMandatory: Entry(
        Gate.APPROVAL, _PASS, "{group} is mandatory, which counts as approved", (("group", _N),)
    ),
    Reason.ApprovalMissing: Entry(
        Gate.APPROVAL, _WAIT, "{group} is not approved", (("group", _N),), "`approve` {group}"
    ),
    Reason.ApprovedForOtherRevision: Entry(
        Gate.APPROVAL,
        _WAIT,
        "{group} was approved for {given}, not for {revision}",
        (("group", _N), ("given", _N), ("revision", _N)),
        "`approve` {group} for {revision}",
    ),
    Reason.SlotFree: Entry(
        Gate.SLOTS,
        _PASS,
        "a slot is free: {busy} of {limit} were taken",
        (("busy", _C), ("limit", _C)),
    ),
    Reason.SlotHeld: Entry(
        Gate.SLOTS,
        _PASS,
        "it holds one of {limit:slot} already, from an earlier change",
        (("limit", _C),),
    ),
    Reason.NoSlotNeeded: Entry(
        Gate.SLOTS, _PASS, "its turn has come; an ignored target takes no slot"
    ),
    Reason.NoSlotFree: Entry(
        Gate.SLOTS,
        _WAIT,
        "{limit:slot}: {in_flight} being updated, {soaking} soaking, {starting} starting now",
        (("limit", _C), ("in_flight", _C), ("soaking", _C), ("starting", _C)),
        "one of them finishes",
    ),
    Reason.BehindInRank: Entry(
        Gate.SLOTS, _WAIT, "targets ranked before it still wait for a slot", opens="its turn comes"
    ),
    Reason.ConcurrencyZero: Entry(
        Gate.SLOTS, _STOP, "maxConcurrency is 0: nothing may start", opens="raise maxConcurrency"
    ),
    Reason.Reverting: Entry(
        Gate.RETURN,
        _PASS,
        "the revision is the last good one again: back at once, without order, approval or soak",
    ),
    Reason.RollbackDue: Entry(
        Gate.RETURN,
        _PASS,
        "the rollout failed or was aborted: back to {revision}",
        (("revision", _N),),
    ),
    Reason.Returning: Entry(
        Gate.RETURN,
        _WAIT,
        "on its way back to {revision}",
        (("revision", _N),),
        "it reports success",
    ),
    Reason.ReturnTimedOut: Entry(
        Gate.RETURN,
        _STOP,
        "gave no answer within {deadline} on its way back to {revision}",
        (("revision", _N), ("deadline", _D)),
        "mend the target, then `retry`",
    ),
    Reason.ReturnFailed: Entry(
        Gate.RETURN,
        _STOP,
        "failed on {revision}, the last good revision",
        (("revision", _N),),
        "mend the target, then `retry`",
    ),
    Reason.NoLastGood: Entry(
        Gate.RETURN,
        _STOP,
        "rollback is wanted, but no last good revision is known",
        opens="give `rollout.lastGood`, or a new revision",
    ),
}

REASONS: dict[Reason, Entry] = (
    _ROLLOUT_REASONS | BRAKE_REASONS | PROMOTION_REASONS | UPGRADE_REASONS
)
