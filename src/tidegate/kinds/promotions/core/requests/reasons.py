"""The reasons of merge requests of a pipeline: why one is opened, extended, closed or left."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class RequestReason(Reason):
    """Why something is done about a merge request, or nothing."""

    RequestNew = Entry(
        Gate.PROGRESS, _PASS, "offered with {promotions:promotion}", (("promotions", _C),)
    )
    RequestHalved = Entry(
        Gate.PROGRESS,
        _PASS,
        "offered with {promotions} of the {of:promotion} that failed together in {request}",
        (("promotions", _C), ("of", _C), ("request", _N)),
    )
    RequestExtended = Entry(
        Gate.PROGRESS,
        _PASS,
        "{added:promotion} more in {request}",
        (("added", _C), ("request", _N)),
    )
    RequestRebased = Entry(
        Gate.PROGRESS,
        _PASS,
        "{request} conflicts with its target, and is made anew on it",
        (("request", _N),),
    )
    RequestRelabelled = Entry(
        Gate.PROGRESS,
        _PASS,
        "{request} lacks labels: {labels}",
        (("request", _N), ("labels", _NS)),
    )
    BatchFailed = Entry(
        Gate.PROGRESS,
        _PASS,
        "the check of {request} failed: its {promotions:promotion} are offered by halves",
        (("request", _N), ("promotions", _C)),
    )
    RequestOutdated = Entry(
        Gate.PROGRESS,
        _PASS,
        "{request} holds what is not wanted any more: {channels}",
        (("request", _N), ("channels", _NS)),
    )
    RequestDoubled = Entry(
        Gate.PROGRESS,
        _PASS,
        "{request} holds a promotion that {other} holds, too",
        (("request", _N), ("other", _N)),
    )
    RequestDataUnreadable = Entry(
        Gate.PROGRESS,
        _PASS,
        "the data of {request} cannot be read: {why}",
        (("request", _N), ("why", _N)),
    )
    RequestAdopted = Entry(
        Gate.PROGRESS,
        _PASS,
        "{request} of the existing manager is taken over: what is wanted of it is offered anew",
        (("request", _N),),
    )
    RequestUnchecked = Entry(
        Gate.PROGRESS,
        _WAIT,
        "in {request}, which no check has spoken about",
        (("request", _N),),
        "it is merged",
    )
    RequestChecking = Entry(
        Gate.PROGRESS,
        _WAIT,
        "in {request}, whose check runs",
        (("request", _N),),
        "the check passes, and it is merged",
    )
    RequestChecked = Entry(
        Gate.PROGRESS,
        _WAIT,
        "in {request}, whose check passed",
        (("request", _N),),
        "it is merged",
    )
    RequestClosing = Entry(
        Gate.PROGRESS,
        _WAIT,
        "{request}, which holds these channels, is being closed",
        (("request", _N),),
        "it is seen to be closed",
    )
    RequestLeftToManager = Entry(
        Gate.PROGRESS,
        _WAIT,
        "in {request} of the existing manager, which is not changed",
        (("request", _N),),
        "it is merged or closed, or `--promotion-requests adopt`",
    )
    CulpritFound = Entry(
        Gate.PROGRESS,
        _STOP,
        "{channels} alone fails the check of {request}",
        (("channels", _N), ("request", _N)),
        "the cause is fixed and the check passes, or a newer version",
    )
    RequestHandEdited = Entry(
        Gate.PROGRESS,
        _STOP,
        "{request} has work of others, and is neither changed nor closed: {commit}",
        (("request", _N), ("commit", _N)),
        "it is merged or closed by a person",
    )
    RequestsUncertain = Entry(
        Gate.PROGRESS,
        _STOP,
        "what {request} holds is not known: it has work of others, and {why}",
        (("request", _N), ("why", _N)),
        "it is merged or closed by a person, or its description is restored",
    )
    RequestDeclined = Entry(
        Gate.PROGRESS,
        _STOP,
        "{by} closed {request} without a merge",
        (("by", _N), ("request", _N)),
        "a newer version; or it is opened again; or it is not labelled as one of the pipeline",
    )
