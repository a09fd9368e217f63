"""The reasons of promotions: where a version is written, which way it goes, what it needs."""

from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

_C, _N, _NS = Kind.COUNT, Kind.NAME, Kind.NAMES
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class PromotionReason(Reason):
    """Why a gate of a promotion says what it says."""

    PlacesFound = Entry(Gate.PLACES, _PASS, "{places:place} to be changed", (("places", _C),))
    PlaceMissing = Entry(
        Gate.PLACES,
        _STOP,
        "stands nowhere: {places}",
        (("places", _NS),),
        "the place is written in its file once by hand, or dropped from the Promotion document",
    )
    NothingHeld = Entry(
        Gate.PLACES,
        _STOP,
        "no commit stands at any of its places",
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
        "{old} is not in the artifact's repository, so nobody knows which way this goes",
        (("old", _N),),
        "`--allow-backward`, once somebody has looked",
    )
    BackwardAllowed = Entry(
        Gate.DIRECTION,
        _PASS,
        "{new} does not go forward from {old}, as was asked for",
        (("new", _N), ("old", _N)),
    )
    EarlierEnvironmentsHaveIt = Entry(
        Gate.ORDER, _PASS, "{environments} had it first", (("environments", _NS),)
    )
    EarlierEnvironmentBehind = Entry(
        Gate.ORDER,
        _WAIT,
        "{environment} goes first, and is at {held}",
        (("environment", _N), ("held", _N), ("new", _N)),
        "{new} is promoted to {environment} before, or in the same go",
    )
    ImageThere = Entry(Gate.ARTIFACT, _PASS, "{image} is there", (("image", _N),))
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
        "nobody knows whether {image} is there: its registry gave no answer",
        (("image", _N),),
        "the registry answers, or `--no-registry-check`",
    )
    SchemasNotNamed = Entry(Gate.SCHEMAS, _PASS, "names no schemas that it needs")
    SchemasSuffice = Entry(
        Gate.SCHEMAS,
        _PASS,
        "needs schemas {needed}, and there are {has}",
        (("needed", _N), ("has", _N)),
    )
    SchemasNeeded = Entry(
        Gate.SCHEMAS,
        _STOP,
        "needs schemas {needed}, and there are {has}",
        (("needed", _N), ("has", _N)),
        "`tidegate promote schemas --ref {needed}` is merged first",
    )
