"""The reasons of promotions: where a version is written, its direction, its offer, its needs."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class PromotionReason(Reason):
    """Why a gate of a promotion says what it says."""

    PlacesFound = Entry(Gate.PLACES, _PASS, "{places:place} to be changed", (("places", _C),))
    PlaceMissing = Entry(
        Gate.PLACES,
        _STOP,
        "not found: {places}",
        (("places", _NS),),
        "a commit is written there by hand, or the Promotion document drops the place",
    )
    NothingHeld = Entry(
        Gate.PLACES,
        _STOP,
        "no commit is written at any of its places",
        opens="a commit is written there once by hand",
    )
    FollowsBranch = Entry(
        Gate.PLACES,
        _STOP,
        "follows {branch}: it moves by itself",
        (("branch", _N),),
        "nothing needs to",
    )
    Forward = Entry(
        Gate.DIRECTION,
        _PASS,
        "{commits:commit} forward from {old}",
        (("commits", _C), ("old", _N)),
    )
    Backward = Entry(
        Gate.DIRECTION,
        _STOP,
        "{new} is {commits:commit} behind {old}",
        (("new", _N), ("commits", _C), ("old", _N)),
        "a newer version, or `--allow-backward`",
    )
    NotDescendant = Entry(
        Gate.DIRECTION,
        _STOP,
        "{new} does not descend from {old}: what is in {old} alone would be lost",
        (("new", _N), ("old", _N)),
        "a version that descends from it, or `--allow-backward`",
    )
    AncestryUnknown = Entry(
        Gate.DIRECTION,
        _STOP,
        "{old} is not in the artifact's repository: the direction is unknown",
        (("old", _N),),
        "`--allow-backward`, after a review",
    )
    BackwardAllowed = Entry(
        Gate.DIRECTION,
        _PASS,
        "{new} does not go forward from {old}; `--allow-backward` allows it",
        (("new", _N), ("old", _N)),
    )
    EarlierEnvironmentsHaveIt = Entry(
        Gate.ORDER, _PASS, "{environments} had it first", (("environments", _NS),)
    )
    EarlierEnvironmentNotRunning = Entry(
        Gate.ORDER,
        _WAIT,
        "{environment} goes first, and does not run {new} yet",
        (("environment", _N), ("new", _N)),
        "{environment} is seen to run {new}",
    )
    EarlierEnvironmentBehind = Entry(
        Gate.ORDER,
        _WAIT,
        "{environment} goes first, and is at {held}",
        (("environment", _N), ("held", _N), ("new", _N)),
        "{new} is promoted to {environment} before, or in the same change",
    )
    ImageThere = Entry(Gate.ARTIFACT, _PASS, "{image} exists", (("image", _N),))
    ImageUnasked = Entry(Gate.ARTIFACT, _PASS, "no registry was asked for its image")
    ImageMissing = Entry(
        Gate.ARTIFACT,
        _WAIT,
        "{image} is not in its registry",
        (("image", _N),),
        "it is built and pushed, or `--no-registry-check`",
    )
    ImageUnknown = Entry(
        Gate.ARTIFACT,
        _WAIT,
        "the registry of {image} did not answer",
        (("image", _N),),
        "the registry answers, or `--no-registry-check`",
    )
    SchemasNotNamed = Entry(Gate.SCHEMAS, _PASS, "names no schemas that it needs")
    SchemasSuffice = Entry(
        Gate.SCHEMAS,
        _PASS,
        "needs schemas {needed}, and the bundle has {has}",
        (("needed", _N), ("has", _N)),
    )
    SchemasNeeded = Entry(
        Gate.SCHEMAS,
        _STOP,
        "needs schemas {needed}, and the bundle has {has}",
        (("needed", _N), ("has", _N)),
        "`tidegate promote schemas --ref {needed}` is merged first",
    )
    VersionRequested = Entry(
        Gate.VERSION,
        _PASS,
        "requested by {by}: {why}",
        (("by", _N), ("why", _N)),
    )
    VersionUnread = Entry(
        Gate.VERSION,
        _WAIT,
        "{ref}, requested by {by}, was not read yet",
        (("ref", _N), ("by", _N)),
        "the worker reads it",
    )
    VersionUnknown = Entry(
        Gate.VERSION,
        _STOP,
        "{ref}, requested by {by}, cannot be promoted: {why}",
        (("ref", _N), ("by", _N), ("why", _N), ("request", _N)),
        "the cause is fixed; or `withdraw` of {request}, or another version is requested",
    )
    VersionKept = Entry(
        Gate.VERSION,
        _STOP,
        "stays at {version}, requested by {by}: {why}",
        (("version", _N), ("by", _N), ("why", _N), ("request", _N)),
        "`withdraw` of {request}, or another version is requested",
    )
    OfferOpen = Entry(
        Gate.PROGRESS,
        _WAIT,
        "offered in {request}, which is open",
        (("request", _N),),
        "the merge request is merged",
    )
    OfferMerged = Entry(
        Gate.PROGRESS,
        _WAIT,
        "{request} is merged; the bundle was read before that",
        (("request", _N),),
        "the bundle is read again",
    )
    OfferClosed = Entry(
        Gate.PROGRESS,
        _STOP,
        "{request} was closed without a merge",
        (("request", _N),),
        "a newer version, or `retry`",
    )
    OfferUndone = Entry(
        Gate.PROGRESS,
        _STOP,
        "{request} was merged, and {held} is written again",
        (("request", _N), ("held", _N)),
        "a newer version, or `retry`",
    )
    OfferReplaced = Entry(
        Gate.PROGRESS,
        _PASS,
        "replaces {old}, offered in {request}",
        (("old", _N), ("request", _N)),
    )
    OfferShared = Entry(
        Gate.PROGRESS,
        _WAIT,
        "shares {request} with {environment}, which waits",
        (("environment", _N), ("request", _N)),
        "{environment} can move as well, or the merge request is closed",
    )
    OfferEndedBy = Entry(
        Gate.PROGRESS,
        _PASS,
        "{by} {state} {request}",
        (("by", _N), ("state", _N), ("request", _N)),
    )
    RunUnchecked = Entry(
        Gate.PROGRESS,
        _WAIT,
        "merged; whether {new} runs is not checked yet",
        (("new", _N),),
        "what runs is checked (`verify`)",
    )
    NotRunningYet = Entry(
        Gate.PROGRESS,
        _WAIT,
        "merged; what runs differs: {differing}",
        (("differing", _NS),),
        "what runs is what its files promise (`verify`)",
    )
    RunsAsPromised = Entry(Gate.PROGRESS, _PASS, "runs {new}, as promised", (("new", _N),))
    WrittenAsPromised = Entry(
        Gate.PROGRESS,
        _PASS,
        "its files have {new}; no shard is compared for it",
        (("new", _N),),
    )
    OfferRefused = Entry(
        Gate.REFUSAL,
        _STOP,
        "{by} refused the offer: {why}",
        (("by", _N), ("why", _N)),
        "the cause is fixed, then `retry`; or a newer version",
    )
    OfferRefusedForNow = Entry(
        Gate.REFUSAL,
        _WAIT,
        "{by} refused the offer: {why}",
        (("by", _N), ("why", _N)),
        "it is tried again",
    )
