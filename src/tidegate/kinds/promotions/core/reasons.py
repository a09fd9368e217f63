"""The reasons of promotions: where a version is written, which way it goes, what it needs."""

from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

_C, _N, _NS = Kind.COUNT, Kind.NAME, Kind.NAMES
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP

PROMOTION_REASONS: dict[Reason, Entry] = {
    Reason.PlacesFound: Entry(
        Gate.PLACES, _PASS, "{places:place} to be changed", (("places", _C),)
    ),
    Reason.PlaceMissing: Entry(
        Gate.PLACES,
        _STOP,
        "stands nowhere: {places}",
        (("places", _NS),),
        "the place is written in its file once by hand, or dropped from the Promotion document",
    ),
    Reason.NothingHeld: Entry(
        Gate.PLACES,
        _STOP,
        "no commit stands at any of its places",
        opens="a commit is written there once by hand",
    ),
    Reason.FollowsBranch: Entry(
        Gate.PLACES,
        _STOP,
        "follows {branch}: it moves by itself",
        (("branch", _N),),
        "nothing needs to",
    ),
    Reason.Forward: Entry(
        Gate.DIRECTION,
        _PASS,
        "{commits:commit} forward from {old}",
        (("commits", _C), ("old", _N)),
    ),
    Reason.Backward: Entry(
        Gate.DIRECTION,
        _STOP,
        "{new} is {commits:commit} behind {old}",
        (("new", _N), ("commits", _C), ("old", _N)),
        "a newer version, or `--allow-backward`",
    ),
    Reason.NotDescendant: Entry(
        Gate.DIRECTION,
        _STOP,
        "{new} does not descend from {old}: what is in {old} alone would be lost",
        (("new", _N), ("old", _N)),
        "a version that descends from it, or `--allow-backward`",
    ),
    Reason.AncestryUnknown: Entry(
        Gate.DIRECTION,
        _STOP,
        "{old} is not in the artifact's repository, so nobody knows which way this goes",
        (("old", _N),),
        "`--allow-backward`, once somebody has looked",
    ),
    Reason.BackwardAllowed: Entry(
        Gate.DIRECTION,
        _PASS,
        "{new} does not go forward from {old}, as was asked for",
        (("new", _N), ("old", _N)),
    ),
    Reason.EarlierEnvironmentsHaveIt: Entry(
        Gate.ORDER, _PASS, "{environments} had it first", (("environments", _NS),)
    ),
    Reason.EarlierEnvironmentBehind: Entry(
        Gate.ORDER,
        _WAIT,
        "{environment} goes first, and is at {held}",
        (("environment", _N), ("held", _N), ("new", _N)),
        "{new} is promoted to {environment} before, or in the same go",
    ),
    Reason.ImageThere: Entry(Gate.ARTIFACT, _PASS, "{image} is there", (("image", _N),)),
    Reason.ImageUnasked: Entry(Gate.ARTIFACT, _PASS, "no registry was asked for its image"),
    Reason.ImageMissing: Entry(
        Gate.ARTIFACT,
        _WAIT,
        "{image} is not in its registry",
        (("image", _N),),
        "it is built and pushed, or `--no-registry-check`",
    ),
    Reason.ImageUnknown: Entry(
        Gate.ARTIFACT,
        _WAIT,
        "nobody knows whether {image} is there: its registry gave no answer",
        (("image", _N),),
        "the registry answers, or `--no-registry-check`",
    ),
    Reason.SchemasNotNamed: Entry(Gate.SCHEMAS, _PASS, "names no schemas that it needs"),
    Reason.SchemasSuffice: Entry(
        Gate.SCHEMAS,
        _PASS,
        "needs schemas {needed}, and there are {has}",
        (("needed", _N), ("has", _N)),
    ),
    Reason.SchemasNeeded: Entry(
        Gate.SCHEMAS,
        _STOP,
        "needs schemas {needed}, and there are {has}",
        (("needed", _N), ("has", _N)),
        "`tidegate promote schemas --ref {needed}` is merged first",
    ),
}
