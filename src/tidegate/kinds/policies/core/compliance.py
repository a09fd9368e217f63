"""What a cluster's compliance says of the revision it was given.

The hub's word "Compliant" has no generation: after an edit it stands for as long as the agent is
silent. So nothing is proved but by the stamp in an agent's message:

    pointer  stamp    agent says            the target is
    none     -        -                     ToApply
    r2       none/r1  anything              Progressing: it has not evaluated r2
    r2       r2       Compliant             Succeeded
    r2       r2       NonCompliant          Failed, for the kind to weigh against the deadline;
                                            of an inform policy Succeeded, by choice
    r2       -        a template error      Failed, likewise
    r2       any      unreachable           Progressing, however green the hub is
"""

import enum
import re

import msgspec

from tidegate.kinds.policies.core.revision import Revision, stamp_in
from tidegate.model.target import Status, Target

# A message is for people: its beginning says what is wrong.
DETAIL_MAX = 300
_TEMPLATE_ERROR = "template-error"
# What is said of a cluster with which nothing is wrong, here and of waves; what an agent says
# follows a name with a colon.
_ON_COURSE = re.compile(r"(?:[^\s:]+ is )?not (?:evaluated|propagated) .*")


class InformEnd(enum.Enum):
    """When a policy that only informs has reached its end."""

    EVALUATED = "evaluated"  # every template was evaluated at the revision
    COMPLIANT = "compliant"  # every template is compliant as well


class TemplateReport(msgspec.Struct, frozen=True, gc=False):
    """What an agent said last of one template."""

    template: str
    compliant: str = ""
    message: str = ""
    # When it said so, in nanoseconds by the cluster's own clock; 0: it has said nothing.
    at: int = 0
    # How much of its history is kept.
    entries: int = 0


class Replica(msgspec.Struct, frozen=True):
    """A replicated Policy in a cluster's namespace."""

    cluster: str
    reports: tuple[TemplateReport, ...] = ()
    # Why the propagator could not resolve it; empty: it could.
    hub_error: str = ""
    # Whether the hub has it enforced.
    enforced: bool = False


def report_of(
    cluster: str,
    revision: Revision | None,
    replica: Replica | None,
    *,
    unreachable: str = "",
    inform: InformEnd = InformEnd.EVALUATED,
) -> Target:
    """What a cluster reports of the revision its pointer names; None: it has no pointer."""
    if revision is None:
        return Target(cluster)
    name = revision.name
    if unreachable:
        return Target(cluster, Status.Progressing, revision=name, detail=unreachable)
    if replica is None:
        return Target(cluster, Status.Progressing, revision=name, detail="not propagated yet")
    if replica.hub_error:
        return failed(cluster, name, replica.hub_error)
    said = {each.template: each for each in replica.reports}
    open_to = inform is InformEnd.EVALUATED and revision.is_inform
    waits: list[str] = []
    for template in revision.templates:
        found = said.get(template, TemplateReport(template))
        if stamp_in(found.message) != name:
            if _TEMPLATE_ERROR in found.message:
                return failed(cluster, name, f"{template}: {found.message}")
            waits.append(template)
        elif found.compliant == "NonCompliant" and not open_to:
            return failed(cluster, name, f"{template}: {found.message}")
        elif found.compliant not in ("Compliant", "NonCompliant"):
            waits.append(template)
    if waits:
        detail = f"{waits[0]} is not evaluated at {name}"
        return Target(cluster, Status.Progressing, revision=name, detail=detail)
    return Target(cluster, Status.Succeeded, revision=name)


def is_on_course(report: Target) -> bool:
    """Whether a cluster that is on its way only takes its time."""
    return not report.detail or _ON_COURSE.fullmatch(report.detail) is not None


def failed(cluster: str, revision: str, why: str) -> Target:
    """A cluster that says what is wrong with a revision."""
    detail = why if len(why) <= DETAIL_MAX else why[: DETAIL_MAX - 1] + "…"
    return Target(cluster, Status.Failed, revision=revision, detail=detail)
