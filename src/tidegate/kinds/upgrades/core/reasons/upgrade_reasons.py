"""The reasons of upgrades that are about a cluster: labels, windows, mutexes, what is under way.

Those about a version for it are in version_reasons.py.
Whoever reads them owns a cluster and its labels, and may know nothing of this service.
"""

from tidegate.kinds.upgrades.core.reasons.rules_reasons import RULES_REASONS
from tidegate.kinds.upgrades.core.reasons.sharing_reasons import SHARING_REASONS
from tidegate.kinds.upgrades.core.reasons.version_reasons import VERSION_REASONS
from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

_C, _N, _NS, _I = Kind.COUNT, Kind.NAME, Kind.NAMES, Kind.INSTANT
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP

_OF_THE_CLUSTER: dict[Reason, Entry] = {
    Reason.LabelsRead: Entry(Gate.LABELS, _PASS, "all its labels can be read"),
    Reason.LabelsUnreadable: Entry(
        Gate.LABELS,
        _STOP,
        "set aside, {problems:problem} with its labels: {first}",
        (("problems", _C), ("first", _N)),
        "its owner mends them",
    ),
    Reason.OrgLabelsUnreadable: Entry(
        Gate.LABELS,
        _STOP,
        "nobody knows what its organisation blocks: {first}",
        (("first", _N),),
        "the organisation mends its label",
    ),
    Reason.ClusterUnreadable: Entry(
        Gate.READING,
        _STOP,
        "set aside, it cannot be made out of what OpenShift Cluster Manager says: {what}",
        (("what", _N),),
        "OpenShift Cluster Manager describes it whole",
    ),
    Reason.ClusterUnread: Entry(
        Gate.READING,
        _WAIT,
        "set aside, what is under way on it could not be read: {what}",
        (("what", _N),),
        "OpenShift Cluster Manager answers",
    ),
    Reason.OrgPartlyRead: Entry(
        Gate.READING,
        _WAIT,
        "its organisation was not read as a whole: {what}",
        (("what", _N),),
        "all of it is read",
    ),
    Reason.NothingUnderWay: Entry(Gate.PROGRESS, _PASS, "ready, and nothing is under way on it"),
    Reason.ClusterNotReady: Entry(
        Gate.PROGRESS, _WAIT, "is {state}, not ready", (("state", _N),), "it is ready"
    ),
    Reason.UpgradeUnderWay: Entry(
        Gate.PROGRESS,
        _WAIT,
        "its upgrade to {version} is {state}",
        (("version", _N), ("state", _N)),
        "the upgrade ends",
    ),
    Reason.UpgradeFailed: Entry(
        Gate.PROGRESS,
        _STOP,
        "its upgrade to {version} failed",
        (("version", _N),),
        "somebody looks at it and deletes the failed upgrade policy",
    ),
    Reason.UpgradedByOwner: Entry(
        Gate.PROGRESS,
        _STOP,
        "OpenShift Cluster Manager upgrades it by itself (an automatic upgrade policy)",
        opens="its owner deletes that policy",
    ),
    Reason.TwoUpgrades: Entry(
        Gate.PROGRESS,
        _STOP,
        "has {count} upgrade policies at once ({versions})",
        (("count", _C), ("versions", _NS)),
        "its owner deletes all but one",
    ),
    Reason.PoolsBehind: Entry(
        Gate.PROGRESS,
        _WAIT,
        "{pools:node pool} behind its control plane",
        (("pools", _C), ("version", _N)),
        "they are on {version}, too",
    ),
    Reason.EarlierPoolFirst: Entry(
        Gate.PROGRESS,
        _WAIT,
        "node pool {pool} goes first",
        (("pool", _N),),
        "{pool} is upgraded",
    ),
    Reason.UpgradeNotStarted: Entry(
        Gate.PROGRESS,
        _PASS,
        "its upgrade to {version} is {state}, and has not started",
        (("version", _N), ("state", _N)),
    ),
    Reason.AddonUnderWay: Entry(
        Gate.PROGRESS,
        _WAIT,
        "the upgrade of its add-on {addon} to {version} is {state}",
        (("addon", _N), ("version", _N), ("state", _N)),
        "that ends",
    ),
    Reason.AddonFailed: Entry(
        Gate.PROGRESS,
        _STOP,
        "the upgrade of its add-on {addon} to {version} failed",
        (("addon", _N), ("version", _N)),
        "somebody looks at it and deletes the failed upgrade plan",
    ),
    Reason.AddonNotReady: Entry(
        Gate.PROGRESS,
        _WAIT,
        "add-on {addon} is {state}, not ready",
        (("addon", _N), ("state", _N)),
        "it is ready",
    ),
    Reason.AddonPlanLeft: Entry(
        Gate.PROGRESS,
        _WAIT,
        "a plan of add-on {addon} for {version} is in the way: {what}",
        (("addon", _N), ("version", _N), ("what", _N)),
        "it is deleted",
    ),
    Reason.AddonPlanDropped: Entry(
        Gate.PROGRESS,
        _PASS,
        "the plan of add-on {addon} for {version} is deleted: {what}",
        (("addon", _N), ("version", _N), ("what", _N)),
    ),
    Reason.ClusterFirst: Entry(
        Gate.PROGRESS,
        _WAIT,
        "one thing at a time: the cluster goes to {version} first",
        (("version", _N),),
        "that is done",
    ),
    Reason.EarlierAddonFirst: Entry(
        Gate.PROGRESS,
        _WAIT,
        "one thing at a time: add-on {addon} goes to {version} first",
        (("addon", _N), ("version", _N)),
        "that is done",
    ),
    Reason.InWindow: Entry(Gate.WINDOW, _PASS, "would start {starts}", (("starts", _I),)),
    Reason.OutsideWindow: Entry(
        Gate.WINDOW,
        _WAIT,
        "its schedule fires {fires}",
        (("fires", _I),),
        "that is at most 2 hours off",
    ),
    Reason.AddonOutsideWindow: Entry(
        Gate.WINDOW,
        _WAIT,
        "its schedule fires {fires}",
        (("fires", _I),),
        "that is at most 10 minutes off",
    ),
    Reason.ScheduleOver: Entry(
        Gate.WINDOW,
        _STOP,
        "its schedule never fires again",
        opens="its owner writes another schedule",
    ),
    Reason.WindowExpedited: Entry(
        Gate.WINDOW,
        _PASS,
        "would start {starts}, whatever its schedule: expedited, {why} ({owner})",
        (("starts", _I), ("why", _N), ("owner", _N)),
    ),
    Reason.ClusterHealthy: Entry(
        Gate.HEALTH, _PASS, "no critical alert is firing ({source})", (("source", _N),)
    ),
    Reason.AlertsShown: Entry(
        Gate.HEALTH,
        _PASS,
        "{alerts} firing; {why}",
        (("alerts", _NS), ("why", _N)),
    ),
    Reason.AlertsYoung: Entry(
        Gate.HEALTH,
        _WAIT,
        "{alerts} firing since it is on {version}",
        (("alerts", _NS), ("version", _N)),
        "the alerts end",
    ),
    Reason.HealthUnasked: Entry(
        Gate.HEALTH,
        _WAIT,
        "{source} could not be asked whether it is well",
        (("source", _N),),
        "{source} answers",
    ),
    Reason.MutexUpgrading: Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} is being upgraded",
        (("mutex", _N), ("holder", _N)),
        "{holder} is done, its node pools included",
    ),
    Reason.MutexUpgradeFailed: Entry(
        Gate.MUTEX,
        _STOP,
        "mutex {mutex}: {holder} has it, and its upgrade failed",
        (("mutex", _N), ("holder", _N)),
        "somebody looks at {holder} and deletes its failed upgrade policy",
    ),
    Reason.MutexUnread: Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} could not be read, and may be being upgraded",
        (("mutex", _N), ("holder", _N)),
        "{holder} is read",
    ),
    Reason.SectorRoom: Entry(
        Gate.SLOTS,
        _PASS,
        "sector {sector}: {used} of {limit} being upgraded",
        (("sector", _N), ("used", _C), ("limit", _C)),
    ),
    Reason.SectorFull: Entry(
        Gate.SLOTS,
        _WAIT,
        "sector {sector}: {used} of {limit} being upgraded ({clusters})",
        (("sector", _N), ("used", _C), ("limit", _C), ("clusters", _NS)),
        "one of them is done",
    ),
    Reason.SectorZero: Entry(
        Gate.SLOTS,
        _STOP,
        "sector {sector} lets none be upgraded: its limit is 0",
        (("sector", _N),),
        "the organisation raises sector-max-parallel-upgrades.{sector}",
    ),
    Reason.SectorLimitUnreadable: Entry(
        Gate.SLOTS,
        _STOP,
        "the limit of sector {sector} cannot be read",
        (("sector", _N),),
        "the organisation mends sector-max-parallel-upgrades.{sector}",
    ),
}

UPGRADE_REASONS: dict[Reason, Entry] = (
    _OF_THE_CLUSTER | VERSION_REASONS | SHARING_REASONS | RULES_REASONS
)
