"""The reasons of upgrades: labels, windows, soak, sectors, mutexes, agreements, what is under way.

Whoever reads them owns a cluster and its labels, and may know nothing of this service.
"""

from tidegate.core.model.reason import Entry, Gate, Kind, Outcome, Reason
from tidegate.core.model.rules_reasons import RULES_REASONS
from tidegate.core.model.sharing_reasons import SHARING_REASONS

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

_OF_THE_VERSION: dict[Reason, Entry] = {
    Reason.VersionNotBlocked: Entry(Gate.BLOCK, _PASS, "no label blocks it"),
    Reason.VersionBlocked: Entry(
        Gate.BLOCK,
        _STOP,
        "{version} is blocked by {pattern} (the labels of {owner})",
        (("version", _N), ("pattern", _N), ("owner", _N)),
        "another version, or {owner} changes blocked-versions",
    ),
    Reason.VersionUnwanted: Entry(
        Gate.BLOCK,
        _PASS,
        "{version} is blocked now, so its upgrade is taken back: {why}",
        (("version", _N), ("why", _N)),
    ),
    Reason.VersionOffered: Entry(
        Gate.VERSION, _PASS, "OpenShift Cluster Manager offers {version}", (("version", _N),)
    ),
    Reason.FollowsControlPlane: Entry(
        Gate.VERSION, _PASS, "its control plane is on {version}", (("version", _N),)
    ),
    Reason.VersionUnreadable: Entry(
        Gate.VERSION,
        _STOP,
        '"{version}" is no version',
        (("version", _N),),
        "OpenShift Cluster Manager offers one like 4.21.3",
    ),
    Reason.VersionNotNewer: Entry(
        Gate.VERSION,
        _STOP,
        "{version} is not newer than {current}",
        (("version", _N), ("current", _N)),
        "a newer version",
    ),
    Reason.PreReleaseUnwanted: Entry(
        Gate.VERSION,
        _STOP,
        "{version} is a pre-release, and the cluster is neither on one nor on a candidate channel",
        (("version", _N),),
        "the release, or a candidate channel",
    ),
    Reason.NewerVersionChosen: Entry(
        Gate.VERSION,
        _WAIT,
        "{version} is newer and chosen",
        (("version", _N),),
        "nothing needs to",
    ),
    Reason.NothingOffered: Entry(
        Gate.VERSION,
        _WAIT,
        "OpenShift Cluster Manager offers nothing newer than {current}",
        (("current", _N),),
        "a version comes out in its channel",
    ),
    Reason.NoSoakNeeded: Entry(Gate.SOAK, _PASS, "asks for no soak: it is a canary"),
    Reason.VersionSoaked: Entry(
        Gate.SOAK,
        _PASS,
        "{workload} has run {soaked} cluster-days on {version}, {needed} asked for",
        (("version", _N), ("workload", _N), ("soaked", _N), ("needed", _C)),
    ),
    Reason.VersionSoaking: Entry(
        Gate.SOAK,
        _WAIT,
        "{workload} has run {soaked} of {needed} cluster-days on {version}, {on:cluster} on it now",
        (("version", _N), ("workload", _N), ("soaked", _N), ("needed", _C), ("on", _C)),
        "clusters with {workload} run {version} for longer",
    ),
    Reason.SoakExpedited: Entry(
        Gate.SOAK,
        _PASS,
        "need not soak: expedited, {why} ({owner})",
        (("why", _N), ("owner", _N)),
    ),
    Reason.VersionTrusted: Entry(
        Gate.SOAK,
        _PASS,
        "{failed:upgrade} to {version} failed, {most} are too many",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
    ),
    Reason.VersionQuarantined: Entry(
        Gate.SOAK,
        _STOP,
        "{failed:upgrade} to {version} failed, {most} are too many ({clusters})",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
        "somebody looks at {clusters} and deletes the failed upgrade policies, or another version",
    ),
    Reason.FailuresUnread: Entry(
        Gate.SOAK,
        _WAIT,
        "{failed:upgrade} to {version} failed, {most} are too many, and {clusters} could not be"
        " read",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
        "{clusters} are read",
    ),
    Reason.NoSectorBefore: Entry(Gate.SECTOR, _PASS, "no sector goes before it"),
    Reason.SectorsHaveIt: Entry(
        Gate.SECTOR,
        _PASS,
        "{sectors} went before it and have {version}",
        (("sectors", _NS), ("version", _N)),
    ),
    Reason.SectorBehind: Entry(
        Gate.SECTOR,
        _WAIT,
        "sector {sector} goes first, and {cluster} with {workload} is on {held}",
        (("sector", _N), ("cluster", _N), ("workload", _N), ("held", _N), ("version", _N)),
        "{cluster} is on {version}",
    ),
    Reason.SectorMemberUnreadable: Entry(
        Gate.SECTOR,
        _STOP,
        "sector {sector} goes first, and nobody knows which version {cluster} is on",
        (("sector", _N), ("cluster", _N)),
        "OpenShift Cluster Manager says which version {cluster} is on",
    ),
    Reason.SectorMemberUnread: Entry(
        Gate.SECTOR,
        _WAIT,
        "sector {sector} goes first, and not all of {cluster} could be read",
        (("sector", _N), ("cluster", _N)),
        "{cluster} is read",
    ),
    Reason.SectorCircle: Entry(
        Gate.SECTOR,
        _STOP,
        "sector {sector} waits for itself: {sectors}",
        (("sector", _N), ("sectors", _NS)),
        "the organisation drops one of the dependencies (sector-deps)",
    ),
    Reason.InheritedBehind: Entry(
        Gate.SECTOR,
        _WAIT,
        "the organisations it inherits from are on {held} with {workload}",
        (("workload", _N), ("held", _N), ("version", _N)),
        "they are on {version}",
    ),
    Reason.InheritanceUnverified: Entry(
        Gate.SECTOR,
        _STOP,
        "{orgs} go first, and do not publish their version data to this organisation",
        (("orgs", _NS),),
        "they add it to version-data.publish, or it drops version-data.inherit",
    ),
    Reason.NoAgreementNeeded: Entry(Gate.AGREEMENT, _PASS, "needs no agreement"),
    Reason.AgreementsThere: Entry(
        Gate.AGREEMENT,
        _PASS,
        "{gates} for {minor}: agreed to",
        (("minor", _N), ("gates", _NS)),
    ),
    Reason.AgreementMissing: Entry(
        Gate.AGREEMENT,
        _WAIT,
        "{gates} for {minor}: not agreed to",
        (("minor", _N), ("gates", _NS)),
        "its owner agrees, or lists them in version-gate-approvals",
    ),
    Reason.AgreementWanted: Entry(
        Gate.AGREEMENT,
        _PASS,
        "{gate} for {minor} is approved by its labels",
        (("minor", _N), ("gate", _N)),
    ),
    Reason.AgreementUnasked: Entry(
        Gate.AGREEMENT,
        _STOP,
        "{gate} for {minor} is not approved by its labels",
        (("minor", _N), ("gate", _N)),
        "its owner agrees, or lists it in version-gate-approvals",
    ),
    Reason.NothingToAgree: Entry(
        Gate.AGREEMENT,
        _WAIT,
        "no version gate on its way is left to agree to",
        opens="a version gate comes up",
    ),
    Reason.ChannelThere: Entry(
        Gate.CHANNEL,
        _PASS,
        "{next} follows {channel}, and is there",
        (("channel", _N), ("next", _N)),
    ),
    Reason.UpgradeFirst: Entry(
        Gate.CHANNEL,
        _WAIT,
        "{version} goes first",
        (("version", _N),),
        "the cluster has it",
    ),
    Reason.RefusedLately: Entry(
        Gate.REFUSAL,
        _WAIT,
        "OpenShift Cluster Manager refused it {tries:time}: {detail}",
        (("tries", _C), ("detail", _N)),
        "some time has passed, and it is asked again",
    ),
}

UPGRADE_REASONS: dict[Reason, Entry] = (
    _OF_THE_CLUSTER | _OF_THE_VERSION | SHARING_REASONS | RULES_REASONS
)
