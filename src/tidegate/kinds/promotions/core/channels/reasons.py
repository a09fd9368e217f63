"""The reasons of promotions through channels: evidence, version, soak, schedule, SLOs, blocks."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES
_D, _I = FactFormat.DURATION, FactFormat.INSTANT
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class ChannelReason(Reason):
    """Why a gate says what it says of a subscriber."""

    PublishersDeployed = Entry(
        Gate.ORDER,
        _PASS,
        "{publishers:publisher} deployed {version}",
        (("publishers", _C), ("version", _N)),
    )
    PublisherUndeployed = Entry(
        Gate.ORDER,
        _WAIT,
        "{publisher} ({channel}) was not seen to deploy {version}",
        (("publisher", _N), ("channel", _N), ("version", _N)),
        "{publisher} deploys {version}",
    )
    PublisherBehind = Entry(
        Gate.ORDER,
        _WAIT,
        "{publisher} ({channel}) deployed {deployed} last, and is to have {version}",
        (("publisher", _N), ("channel", _N), ("deployed", _N), ("version", _N)),
        "{publisher} deploys {version}",
    )
    PublisherEvidenceOld = Entry(
        Gate.ORDER,
        _WAIT,
        "{publisher} ({channel}) deployed {version} at {at}, and {deployed} since: whether it has "
        "{version} again is not known",
        (("publisher", _N), ("channel", _N), ("deployed", _N), ("version", _N), ("at", _I)),
        "it is reported once it has it (`promotions deployed`), or its shards are read",
    )
    PublisherFailed = Entry(
        Gate.ORDER,
        _STOP,
        "{publisher} ({channel}) failed to deploy {version}",
        (("publisher", _N), ("channel", _N), ("version", _N)),
        "{publisher} deploys {version} again and succeeds, or gets a newer version",
    )
    ChannelEmpty = Entry(
        Gate.ORDER,
        _STOP,
        "no target publishes to {channel}",
        (("channel", _N),),
        "a target publishes to {channel}, or it is not subscribed to any more",
    )
    NoChannelSubscribed = Entry(
        Gate.ORDER,
        _STOP,
        "it subscribes to no channel",
        opens="it subscribes to one",
    )
    PublishersAgree = Entry(
        Gate.VERSION, _PASS, "all its publishers have {version}", (("version", _N),)
    )
    PublishersDiffer = Entry(
        Gate.VERSION,
        _WAIT,
        "its publishers have different versions: {versions}",
        (("versions", _NS),),
        "they have one version",
    )
    PublisherUnread = Entry(
        Gate.VERSION,
        _WAIT,
        "which version {publisher} is to have is not known",
        (("publisher", _N),),
        "the branch that {publisher} follows can be read",
    )
    NoPublisherVersion = Entry(
        Gate.VERSION,
        _STOP,
        "no publisher names a version",
        opens="its channels have publishers",
    )
    ConfigCurrent = Entry(
        Gate.VERSION, _PASS, "it has the configurations of its publishers written down"
    )
    ConfigChanged = Entry(
        Gate.VERSION,
        _PASS,
        "publishers of {channels} have another configuration than it has written down",
        (("channels", _NS),),
    )
    ConfigUnknown = Entry(
        Gate.VERSION,
        _WAIT,
        "it follows configurations, and those of the publishers of {channels} are not known",
        (("channels", _NS),),
        "a deployment is reported with its configuration, as the existing state store does",
    )
    SoakNotAsked = Entry(Gate.SOAK, _PASS, "no soak is asked for")
    PublishersSoaked = Entry(
        Gate.SOAK,
        _PASS,
        "every publisher has run {version} for {needed} without a break",
        (("version", _N), ("needed", _D)),
    )
    PublisherSoaking = Entry(
        Gate.SOAK,
        _WAIT,
        "{publisher} has run {version} without a break since {since}; {needed} are needed",
        (("publisher", _N), ("version", _N), ("since", _I), ("needed", _D)),
        "{publisher} runs {version} for longer",
    )
    PublisherSoakUndated = Entry(
        Gate.SOAK,
        _WAIT,
        "since when {publisher} runs {version} is not known",
        (("publisher", _N), ("version", _N)),
        "{publisher} deploys {version} again",
    )
    SoakedTogether = Entry(
        Gate.SOAK,
        _PASS,
        "its publishers have run {version} for {needed}, added up over all",
        (("version", _N), ("needed", _D)),
    )
    SoakingTogether = Entry(
        Gate.SOAK,
        _WAIT,
        "its {publishers:publisher} must have run {version} for {needed}, added up over all",
        (("publishers", _C), ("version", _N), ("needed", _D)),
        "they run {version} for longer",
    )
    SoakUncounted = Entry(
        Gate.SOAK,
        _WAIT,
        "there is no version that all its publishers run",
        opens="every publisher deploys one version",
    )
    HotfixSkipsSoak = Entry(
        Gate.SOAK,
        _PASS,
        "{owner} declared {version} a hotfix that skips soak: {why}",
        (("owner", _N), ("version", _N), ("why", _N)),
    )
    PromotedAnytime = Entry(Gate.WINDOW, _PASS, "it has no schedule")
    PromotionWindowOpen = Entry(
        Gate.WINDOW,
        _PASS,
        "its schedule {schedule} ({zone}) is open",
        (("schedule", _N), ("zone", _N)),
    )
    PromotionWindowShut = Entry(
        Gate.WINDOW,
        _WAIT,
        "its schedule {schedule} ({zone}) is shut",
        (("schedule", _N), ("zone", _N)),
        "its schedule opens",
    )
    PromotionWindowNever = Entry(
        Gate.WINDOW,
        _STOP,
        "its schedule {schedule} ({zone}) never opens",
        (("schedule", _N), ("zone", _N)),
        "a schedule of days that exist",
    )
    PromotionScheduleUnreadable = Entry(
        Gate.WINDOW,
        _STOP,
        "its schedule {schedule} ({zone}) cannot be read: {why}",
        (("schedule", _N), ("zone", _N), ("why", _N)),
        "a crontab of five columns, and a time zone like Europe/Prague",
    )
    HotfixSkipsSchedule = Entry(
        Gate.WINDOW,
        _PASS,
        "{owner} declared {version} a hotfix that skips schedules: {why}",
        (("owner", _N), ("version", _N), ("why", _N)),
    )
    SlosUnasked = Entry(Gate.HEALTH, _PASS, "it has no SLOs")
    SlosMet = Entry(Gate.HEALTH, _PASS, "its SLOs are met: {slos}", (("slos", _NS),))
    SlosBreached = Entry(
        Gate.HEALTH,
        _WAIT,
        "breached: {slos}",
        (("slos", _NS),),
        "they are met again, or a hotfix declares that it skips SLOs",
    )
    SlosUnknown = Entry(
        Gate.HEALTH,
        _WAIT,
        "whether these SLOs are met is not known: {slos}",
        (("slos", _NS),),
        "they can be read",
    )
    HotfixSkipsSlos = Entry(
        Gate.HEALTH,
        _PASS,
        "{owner} declared {version} a hotfix that skips SLOs: {why}",
        (("owner", _N), ("version", _N), ("why", _N)),
    )
    CodeVersionAllowed = Entry(Gate.BLOCK, _PASS, "no code component blocks it")
    CodeVersionBlocked = Entry(
        Gate.BLOCK,
        _STOP,
        "{version} is among the blocked versions: {why}",
        (("version", _N), ("why", _N)),
        "another version, or {version} is removed from blockedVersions",
    )
    SubscriberRead = Entry(Gate.PLACES, _PASS, "all that it depends on can be read")
    SubscriberUnread = Entry(
        Gate.PLACES,
        _STOP,
        "not known: {troubles}",
        (("troubles", _NS),),
        "these are fixed in the bundle",
    )
    ExecutionUnasked = Entry(Gate.HEALTH, _PASS, "no clean runs are asked for")
    ExecutedCleanly = Entry(
        Gate.HEALTH,
        _PASS,
        "{shards:shard} of its publishers ran {version} cleanly {needed:time} or more",
        (("shards", _C), ("version", _N), ("needed", _C)),
    )
    ExecutionUnseen = Entry(
        Gate.HEALTH,
        _WAIT,
        "whether the shards of {publisher} ran {version} is not known: {why}",
        (("publisher", _N), ("version", _N), ("why", _NS)),
        "what they run can be read (`--kubeconfig`), with the results of their runs",
    )
    ExecutionTooShort = Entry(
        Gate.HEALTH,
        _WAIT,
        "{shard} of {publisher} ran {version} cleanly {clean:time}; {needed} are asked for",
        (("publisher", _N), ("version", _N), ("clean", _C), ("needed", _C), ("shard", _N)),
        "{shard} ends more runs of {version} well",
    )
    ExecutionFailing = Entry(
        Gate.HEALTH,
        _WAIT,
        "runs of {version} fail on {publisher}: {shards}",
        (("version", _N), ("publisher", _N), ("shards", _NS)),
        "they run cleanly, or a newer version",
    )
    ExecutionNowhere = Entry(
        Gate.HEALTH,
        _STOP,
        "no shard depends on {publishers}: there is no run to see",
        (("publishers", _NS),),
        "the pipeline asks for other evidence than runs",
    )
    NamedEvidenceUnasked = Entry(Gate.HEALTH, _PASS, "no named evidence is asked for")
    NamedEvidenceGood = Entry(
        Gate.HEALTH,
        _PASS,
        "reported good of {version}: {names}",
        (("version", _N), ("names", _NS)),
    )
    NamedEvidenceMissing = Entry(
        Gate.HEALTH,
        _WAIT,
        "not reported of {version}: {names}",
        (("version", _N), ("names", _NS)),
        "`promotions evidence {version} NAME --good`, or a report by webhook",
    )
    NamedEvidenceBad = Entry(
        Gate.HEALTH,
        _STOP,
        "{name} is reported bad of {version} by {by}: {why}",
        (("name", _N), ("version", _N), ("by", _N), ("why", _N)),
        "it is reported good, or a newer version",
    )
    NotQuarantined = Entry(Gate.BLOCK, _PASS, "it failed in no environment")
    PromotionQuarantined = Entry(
        Gate.BLOCK,
        _STOP,
        "{version} is quarantined: it failed on {target} at {at}: {why}",
        (("version", _N), ("target", _N), ("at", _I), ("why", _N), ("role", _N)),
        "a newer version, or {role} lifts it: `promotions lift {version}`",
    )
    TriedOnStage = Entry(
        Gate.BLOCK,
        _STOP,
        "{version} is on {target} only to find what broke {broken}",
        (("version", _N), ("target", _N), ("broken", _N)),
        "the search ends (`promotions suspects {broken} --bisect`), and it is written as before",
    )
    PipelineTrusted = Entry(
        Gate.APPROVAL,
        _PASS,
        "{well:promotion} of the pipeline went well; {needed} are asked for",
        (("well", _C), ("needed", _C)),
    )
    RequestsUnread = Entry(
        Gate.READING,
        _WAIT,
        "the merge requests of the pipeline were not read yet",
        opens="the forge answers",
    )
