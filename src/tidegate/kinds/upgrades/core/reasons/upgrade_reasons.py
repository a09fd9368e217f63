"""The reasons of upgrades that are about a cluster: labels, windows, mutexes, what is under way.

Those about a version for it are in version_reasons.py.
Their readers own a cluster and its labels, and may know nothing of this service.
"""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS, _I = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES, FactFormat.INSTANT
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class UpgradeReason(Reason):
    """Why a gate says what it says about a cluster."""

    LabelsRead = Entry(Gate.LABELS, _PASS, "all its labels can be read")
    LabelsUnreadable = Entry(
        Gate.LABELS,
        _STOP,
        "excluded, {problems:problem} with its labels: {first}",
        (("problems", _C), ("first", _N)),
        "its owner fixes them",
    )
    OrgLabelsUnreadable = Entry(
        Gate.LABELS,
        _STOP,
        "what its organisation blocks cannot be read: {first}",
        (("first", _N),),
        "the organisation fixes its label",
    )
    ClusterUnreadable = Entry(
        Gate.READING,
        _STOP,
        "excluded, its description by OpenShift Cluster Manager cannot be used: {what}",
        (("what", _N),),
        "OpenShift Cluster Manager describes it completely",
    )
    ClusterUnread = Entry(
        Gate.READING,
        _WAIT,
        "excluded, what is under way on it could not be read: {what}",
        (("what", _N),),
        "OpenShift Cluster Manager answers",
    )
    OrgPartlyRead = Entry(
        Gate.READING,
        _WAIT,
        "its organisation was not read completely: {what}",
        (("what", _N),),
        "all of it is read",
    )
    NothingUnderWay = Entry(Gate.PROGRESS, _PASS, "ready, and nothing is under way on it")
    ClusterNotReady = Entry(
        Gate.PROGRESS, _WAIT, "is {state}, not ready", (("state", _N),), "it is ready"
    )
    SubscriptionNotInUse = Entry(
        Gate.PROGRESS,
        _WAIT,
        "its subscription is {status}: it is not upgraded, and still counts for others",
        (("status", _N),),
        "the subscription is Active or Reserved again, or is archived",
    )
    UpgradeUnderWay = Entry(
        Gate.PROGRESS,
        _WAIT,
        "its upgrade to {version} is {state}",
        (("version", _N), ("state", _N)),
        "the upgrade ends",
    )
    UpgradeFailed = Entry(
        Gate.PROGRESS,
        _STOP,
        "its upgrade to {version} failed",
        (("version", _N),),
        "its owner checks it and deletes the failed OCM policy",
    )
    UpgradedByOwner = Entry(
        Gate.PROGRESS,
        _STOP,
        "OpenShift Cluster Manager upgrades it by itself (an automatic OCM policy)",
        opens="its owner deletes that OCM policy",
    )
    TwoUpgrades = Entry(
        Gate.PROGRESS,
        _STOP,
        "has {count} OCM policies at once ({versions})",
        (("count", _C), ("versions", _NS)),
        "its owner deletes all but one",
    )
    PoolsBehind = Entry(
        Gate.PROGRESS,
        _WAIT,
        "{pools:node pool} behind its control plane",
        (("pools", _C), ("version", _N)),
        "they are on {version}, too",
    )
    EarlierPoolFirst = Entry(
        Gate.PROGRESS,
        _WAIT,
        "node pool {pool} goes first",
        (("pool", _N),),
        "{pool} is upgraded",
    )
    UpgradeNotStarted = Entry(
        Gate.PROGRESS,
        _PASS,
        "its upgrade to {version} is {state}, and has not started",
        (("version", _N), ("state", _N)),
    )
    AddonUnderWay = Entry(
        Gate.PROGRESS,
        _WAIT,
        "the upgrade of its add-on {addon} to {version} is {state}",
        (("addon", _N), ("version", _N), ("state", _N)),
        "that ends",
    )
    AddonFailed = Entry(
        Gate.PROGRESS,
        _STOP,
        "the upgrade of its add-on {addon} to {version} failed",
        (("addon", _N), ("version", _N)),
        "its owner checks it and deletes the failed upgrade plan",
    )
    AddonNotReady = Entry(
        Gate.PROGRESS,
        _WAIT,
        "add-on {addon} is {state}, not ready",
        (("addon", _N), ("state", _N)),
        "it is ready",
    )
    AddonPlanLeft = Entry(
        Gate.PROGRESS,
        _WAIT,
        "a plan of add-on {addon} for {version} is in the way: {what}",
        (("addon", _N), ("version", _N), ("what", _N)),
        "it is deleted",
    )
    AddonPlanDropped = Entry(
        Gate.PROGRESS,
        _PASS,
        "the plan of add-on {addon} for {version} is deleted: {what}",
        (("addon", _N), ("version", _N), ("what", _N)),
    )
    ClusterFirst = Entry(
        Gate.PROGRESS,
        _WAIT,
        "one thing at a time: the cluster goes to {version} first",
        (("version", _N),),
        "that is done",
    )
    EarlierAddonFirst = Entry(
        Gate.PROGRESS,
        _WAIT,
        "one thing at a time: add-on {addon} goes to {version} first",
        (("addon", _N), ("version", _N)),
        "that is done",
    )
    InWindow = Entry(Gate.WINDOW, _PASS, "would start {starts}", (("starts", _I),))
    OutsideWindow = Entry(
        Gate.WINDOW,
        _WAIT,
        "its schedule fires {fires}",
        (("fires", _I),),
        "2 hours before the scheduled start",
    )
    AddonOutsideWindow = Entry(
        Gate.WINDOW,
        _WAIT,
        "its schedule fires {fires}",
        (("fires", _I),),
        "10 minutes before the scheduled start",
    )
    ScheduleOver = Entry(
        Gate.WINDOW,
        _STOP,
        "its schedule never fires again",
        opens="its owner writes another schedule",
    )
    WindowExpedited = Entry(
        Gate.WINDOW,
        _PASS,
        "would start {starts}, whatever its schedule: expedited, {why} ({owner})",
        (("starts", _I), ("why", _N), ("owner", _N)),
    )
    ClusterHealthy = Entry(
        Gate.HEALTH, _PASS, "no critical alert is firing ({source})", (("source", _N),)
    )
    AlertsShown = Entry(
        Gate.HEALTH,
        _PASS,
        "{alerts} firing; {why}",
        (("alerts", _NS), ("why", _N)),
    )
    AlertsYoung = Entry(
        Gate.HEALTH,
        _WAIT,
        "{alerts} firing since it is on {version}",
        (("alerts", _NS), ("version", _N)),
        "the alerts end",
    )
    HealthUnasked = Entry(
        Gate.HEALTH,
        _WAIT,
        "its health could not be read from {source}",
        (("source", _N),),
        "{source} answers",
    )
    MutexUpgrading = Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} is being upgraded",
        (("mutex", _N), ("holder", _N)),
        "{holder} is done, its node pools included",
    )
    MutexUpgradeFailed = Entry(
        Gate.MUTEX,
        _STOP,
        "mutex {mutex}: {holder} has it, and its upgrade failed",
        (("mutex", _N), ("holder", _N)),
        "the owner of {holder} checks it and deletes its failed OCM policy",
    )
    MutexUnread = Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} could not be read, and may be being upgraded",
        (("mutex", _N), ("holder", _N)),
        "{holder} is read",
    )
    SectorRoom = Entry(
        Gate.SLOTS,
        _PASS,
        "sector {sector}: {used} of {limit} being upgraded",
        (("sector", _N), ("used", _C), ("limit", _C)),
    )
    SectorFull = Entry(
        Gate.SLOTS,
        _WAIT,
        "sector {sector}: {used} of {limit} being upgraded ({clusters})",
        (("sector", _N), ("used", _C), ("limit", _C), ("clusters", _NS)),
        "one of them is done",
    )
    SectorZero = Entry(
        Gate.SLOTS,
        _STOP,
        "sector {sector} lets none be upgraded: its limit is 0",
        (("sector", _N),),
        "the organisation raises sector-max-parallel-upgrades.{sector}",
    )
    SectorLimitUnreadable = Entry(
        Gate.SLOTS,
        _STOP,
        "the limit of sector {sector} cannot be read",
        (("sector", _N),),
        "the organisation fixes sector-max-parallel-upgrades.{sector}",
    )
