"""The reasons of upgrades that are about a version: blocks, soak, sectors, agreements, refusals."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class VersionReason(Reason):
    """Why a gate says what it says about a version for a cluster."""

    VersionNotBlocked = Entry(Gate.BLOCK, _PASS, "no label blocks it")
    VersionBlocked = Entry(
        Gate.BLOCK,
        _STOP,
        "{version} is blocked by {pattern} (the labels of {owner})",
        (("version", _N), ("pattern", _N), ("owner", _N)),
        "another version, or {owner} changes blocked-versions",
    )
    VersionUnwanted = Entry(
        Gate.BLOCK,
        _PASS,
        "{version} is blocked now, so its upgrade is cancelled: {why}",
        (("version", _N), ("why", _N)),
    )
    VersionOffered = Entry(
        Gate.VERSION, _PASS, "OpenShift Cluster Manager offers {version}", (("version", _N),)
    )
    FollowsControlPlane = Entry(
        Gate.VERSION, _PASS, "its control plane is on {version}", (("version", _N),)
    )
    VersionUnreadable = Entry(
        Gate.VERSION,
        _STOP,
        '"{version}" is not a version',
        (("version", _N),),
        "OpenShift Cluster Manager offers one like 4.21.3",
    )
    VersionNotNewer = Entry(
        Gate.VERSION,
        _STOP,
        "{version} is not newer than {current}",
        (("version", _N), ("current", _N)),
        "a newer version",
    )
    PreReleaseUnwanted = Entry(
        Gate.VERSION,
        _STOP,
        "{version} is a pre-release, and the cluster is neither on one nor on a candidate channel",
        (("version", _N),),
        "the release, or a candidate channel",
    )
    NewerVersionChosen = Entry(
        Gate.VERSION,
        _WAIT,
        "{version} is newer and chosen",
        (("version", _N),),
        "nothing needs to",
    )
    NothingOffered = Entry(
        Gate.VERSION,
        _WAIT,
        "OpenShift Cluster Manager offers nothing newer than {current}",
        (("current", _N),),
        "a version comes out in its channel",
    )
    NoSoakNeeded = Entry(Gate.SOAK, _PASS, "asks for no soak: it is a canary")
    VersionSoaked = Entry(
        Gate.SOAK,
        _PASS,
        "{workload} has run {soaked} cluster-days on {version}, {needed} asked for",
        (("version", _N), ("workload", _N), ("soaked", _N), ("needed", _C)),
    )
    VersionSoaking = Entry(
        Gate.SOAK,
        _WAIT,
        "{workload} has run {soaked} of {needed} cluster-days on {version}, {on:cluster} on it now",
        (("version", _N), ("workload", _N), ("soaked", _N), ("needed", _C), ("on", _C)),
        "clusters with {workload} run {version} for longer",
    )
    SoakExpedited = Entry(
        Gate.SOAK,
        _PASS,
        "need not soak: expedited, {why} ({owner})",
        (("why", _N), ("owner", _N)),
    )
    VersionTrusted = Entry(
        Gate.SOAK,
        _PASS,
        "{failed:upgrade} to {version} failed, it is quarantined from {most} on",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
    )
    VersionQuarantined = Entry(
        Gate.SOAK,
        _STOP,
        "{version} is quarantined: {failed:upgrade} to it failed ({clusters})",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
        "the owners of {clusters} delete the failed OCM policies, or another version",
    )
    FailuresUnread = Entry(
        Gate.SOAK,
        _WAIT,
        "{failed:upgrade} to {version} failed, it is quarantined from {most} on, and {clusters}"
        " could not be read",
        (("version", _N), ("failed", _C), ("most", _C), ("clusters", _NS)),
        "{clusters} are read",
    )
    NoSectorBefore = Entry(Gate.SECTOR, _PASS, "no sector goes before it")
    SectorsHaveIt = Entry(
        Gate.SECTOR,
        _PASS,
        "sectors that go first have {version}: {sectors}",
        (("sectors", _NS), ("version", _N)),
    )
    SectorBehind = Entry(
        Gate.SECTOR,
        _WAIT,
        "sector {sector} goes first, and {cluster} with {workload} is on {held}",
        (("sector", _N), ("cluster", _N), ("workload", _N), ("held", _N), ("version", _N)),
        "{cluster} is on {version}",
    )
    SectorMemberUnreadable = Entry(
        Gate.SECTOR,
        _STOP,
        "sector {sector} goes first, and the version of {cluster} is not known",
        (("sector", _N), ("cluster", _N)),
        "OpenShift Cluster Manager says which version {cluster} is on",
    )
    SectorMemberUnread = Entry(
        Gate.SECTOR,
        _WAIT,
        "sector {sector} goes first, and not all of {cluster} could be read",
        (("sector", _N), ("cluster", _N)),
        "{cluster} is read",
    )
    SectorCircle = Entry(
        Gate.SECTOR,
        _STOP,
        "sector {sector} is in a circle of sectors, or waits for one: {sectors}",
        (("sector", _N), ("sectors", _NS)),
        "the organisation drops one of the dependencies (sector-deps)",
    )
    InheritedBehind = Entry(
        Gate.SECTOR,
        _WAIT,
        "the organisations it inherits from are on {held} with {workload}",
        (("workload", _N), ("held", _N), ("version", _N)),
        "they are on {version}",
    )
    InheritanceUnverified = Entry(
        Gate.SECTOR,
        _STOP,
        "{orgs} go first, and do not publish their version data to this organisation",
        (("orgs", _NS),),
        "they add it to version-data.publish, or it drops version-data.inherit",
    )
    NoAgreementNeeded = Entry(Gate.AGREEMENT, _PASS, "needs no agreement")
    AgreementsThere = Entry(
        Gate.AGREEMENT,
        _PASS,
        "{gates} for {minor}: agreed to",
        (("minor", _N), ("gates", _NS)),
    )
    AgreementMissing = Entry(
        Gate.AGREEMENT,
        _WAIT,
        "{gates} for {minor}: not agreed to",
        (("minor", _N), ("gates", _NS)),
        "its owner agrees, or lists them in version-gate-approvals",
    )
    AgreementRefused = Entry(
        Gate.AGREEMENT,
        _WAIT,
        "{gates} for {minor}: OpenShift Cluster Manager refused our agreement: {detail}",
        (("minor", _N), ("gates", _NS), ("detail", _N)),
        "the operators of Tidegate may agree to it, which is retried; its owner need do nothing",
    )
    AgreementWanted = Entry(
        Gate.AGREEMENT,
        _PASS,
        "{gate} for {minor} is approved by its labels",
        (("minor", _N), ("gate", _N)),
    )
    AgreementUnasked = Entry(
        Gate.AGREEMENT,
        _STOP,
        "{gate} for {minor} is not approved by its labels",
        (("minor", _N), ("gate", _N)),
        "its owner agrees, or lists it in version-gate-approvals",
    )
    NothingToAgree = Entry(
        Gate.AGREEMENT,
        _WAIT,
        "no version gate on its way is left to agree to",
        opens="a version gate comes up",
    )
    ChannelThere = Entry(
        Gate.CHANNEL,
        _PASS,
        "{next} follows {channel}, and is there",
        (("channel", _N), ("next", _N)),
    )
    UpgradeFirst = Entry(
        Gate.CHANNEL,
        _WAIT,
        "{version} goes first",
        (("version", _N),),
        "the cluster has it",
    )
    RefusedLately = Entry(
        Gate.REFUSAL,
        _WAIT,
        "OpenShift Cluster Manager refused it {tries:time}: {detail}",
        (("tries", _C), ("detail", _N)),
        "some time has passed, and it is asked again",
    )
