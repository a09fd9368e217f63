"""The reasons of label changes that people request of a service."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_N = FactFormat.NAME
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class LabelReason(Reason):
    """Why a gate says what it says about labels that a person requested."""

    LabelsAsked = Entry(
        Gate.LABELS,
        _PASS,
        "requested by {actor}: {why}",
        (("actor", _N), ("why", _N)),
    )
    LabelsUnread = Entry(
        Gate.READING,
        _WAIT,
        "the cluster could not be read: {what}",
        (("what", _N),),
        "OpenShift Cluster Manager answers",
    )
    LabelsUntouched = Entry(
        Gate.LABELS, _PASS, "the labels are as they were when that was requested"
    )
    LabelMoved = Entry(
        Gate.LABELS,
        _STOP,
        "{label} is {now} by now, and was {before} when {after} was requested",
        (("label", _N), ("now", _N), ("before", _N), ("after", _N)),
        "the request is withdrawn, or made again on what is there",
    )
    LabelsSound = Entry(Gate.LABELS, _PASS, "valid by the rules that upgrades are decided by")
    LabelsUnsound = Entry(
        Gate.LABELS,
        _STOP,
        "not valid: {what}",
        (("what", _N),),
        "the request is withdrawn, or what it rests on is changed first",
    )
