"""Waves: a policy informs everywhere, and is enforced group by group. What proves a wave.

The content is in the root, which is its author's: nothing is rendered, so no message is stamped.
What goes out is not content but enforcement, by a binding of ours that overrides the action of the
policy on the clusters in decisions of ours. Two revisions of each content:

    inform-HASH    what every cluster has, and what a wave is taken back to
    enforce-HASH   what goes out

The hub's word "Compliant" may be from before a cluster was enforced. Two things make it one about
enforcement, and both are needed:

    the replica    the hub's copy for the cluster says enforce
    the history    an agent adds an entry whenever it evaluates another generation, and enforcing
                   is one. Each decision notes the newest entry from before it (its *grant*), and
                   only a newer one counts. Both are of the cluster's own clock, so that those of
                   hub and cluster need not agree; one that is set back delays a success, and
                   makes none

What this cannot tell: an entry that an agent added while enforcement was still on its way to it. It
adds one then only if what it finds has changed since the entry before, so that a cluster may be
believed moments early, when something else made it compliant in those moments. The soak is for
that. A cluster that had no entry when it was enforced has to add two, since the first may be from
before.

An edit of the content reaches enforced clusters at once, whatever we do. It is another revision:
the count starts again from the first group, approvals are asked again, and no cluster is believed
by what it said of the content before. Each is taken back and enforced anew in its turn, since
nothing else makes an agent add an entry that is known to be newer.

A wave that is taken back is proved in the same way: the replica informs, and the agent has added an
entry since. Until then the cluster is on its way back, and is not enforced anew: an agent that sees
two changes as none would never say anything.
"""

import enum
import re
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.policies.core.compliance import Replica, TemplateReport, failed
from tidegate.kinds.policies.core.revision import Fields, hash_of, template_names
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND

_ENFORCE, _INFORM = "enforce-", "inform-"
# One evaluation may be reported twice, some microseconds apart; two are never so close.
APART = SECOND // 1000
_GRANT = re.compile(r"(?:enforce|inform) ([0-9a-f]+) after (never|[0-9a-f]+)")


class StageWay(enum.Enum):
    """What a rollout lets into clusters group by group."""

    STAGED = "staged"  # revisions: what is enforced changes
    WAVES = "waves"  # enforcement: what informs is enforced


class WaveGrant(msgspec.Struct, frozen=True, gc=False):
    """What a decision notes of a cluster that it has enforced, or that was taken back."""

    # The content of that moment.
    content: str
    # The newest entry of its history from before, by its clock; 0: there was none.
    after: int = 0


# A decision that others wrote: nothing is known of the cluster but that it is enforced.
UNKNOWN = WaveGrant("unknown")


# The policies that go together: the spec of each, and the replica of one cluster.
WaveParts = Mapping[str, tuple[Fields, Replica | None]]


def enforced(content: str) -> str:
    """The revision that goes out."""
    return f"{_ENFORCE}{content}"


def informed(content: str) -> str:
    """The revision that every cluster has before, and after a wave is taken back."""
    return f"{_INFORM}{content}"


def is_informed(revision: str | None) -> bool:
    """Whether a revision means that a wave is taken back."""
    return revision is not None and revision.startswith(_INFORM)


def content_of(policies: Mapping[str, Fields]) -> str:
    """The content of a policy, or of all policies of a set: by their specs."""
    return hash_of(dict(policies))


def grant_note(grant: WaveGrant, *, back: bool = False) -> str:
    """A grant as a decision keeps it."""
    after = f"{grant.after:x}" if grant.after else "never"
    return f"{'inform' if back else 'enforce'} {grant.content} after {after}"


def read_grant(note: str) -> WaveGrant:
    """The grant in a decision."""
    found = _GRANT.fullmatch(note)
    if found is None:
        return UNKNOWN
    return WaveGrant(found[1], 0 if found[2] == "never" else int(found[2], 16))


def taken_back(grant: WaveGrant, newest: int) -> WaveGrant:
    """What is noted of a cluster that is taken back, whose newest entry is of that moment.

    An agent that is not known to have seen enforcement may never say that it is over.
    """
    seen = grant.after > 0 and newest > grant.after + APART
    return WaveGrant(grant.content, newest if seen else 0)


def newest_entry(replicas: Iterable[Replica | None]) -> int:
    """When a cluster's agents last said something of some policies; 0: never."""
    reports = (each for replica in replicas if replica is not None for each in replica.reports)
    return max((each.at for each in reports), default=0)


def wave_report(
    cluster: str,
    content: str,
    grant: WaveGrant | None,
    parts: WaveParts,
    *,
    back: WaveGrant | None = None,
    unreachable: str = "",
) -> Target:
    """What a cluster reports of the policies that go together.

    `grant` is None where it is not to be enforced; `back` is how it was when it was taken back.
    """
    if grant is None:
        why = return_left(parts, back)
        if why:
            return Target(cluster, Status.Progressing, revision=informed(content), detail=why)
        if any(replica is None for _, replica in parts.values()):
            return Target(cluster)
        return Target(cluster, Status.Succeeded, revision=informed(content))
    revision = enforced(grant.content)
    if unreachable:
        return Target(cluster, Status.Progressing, revision=revision, detail=unreachable)
    waits: list[str] = []
    for name, (spec, replica) in parts.items():
        why = _propagation(name, replica)
        if why or replica is None:
            waits.append(why)
            continue
        if replica.hub_error:
            return failed(cluster, revision, f"{name}: {replica.hub_error}")
        said = {each.template: each for each in replica.reports}
        for template in template_names(spec):
            found = said.get(template, TemplateReport(template))
            if not _is_newer(found, grant):
                waits.append(f"{template} is not evaluated since it is enforced")
            elif found.compliant == "NonCompliant":
                return failed(cluster, revision, f"{template}: {found.message}")
            elif found.compliant != "Compliant":
                waits.append(f"{template} is {found.compliant or 'without a word'}")
    if waits:
        return Target(cluster, Status.Progressing, revision=revision, detail=waits[0])
    return Target(cluster, Status.Succeeded, revision=revision)


def return_left(parts: WaveParts, back: WaveGrant | None) -> str:
    """Why a cluster that is not to be enforced is not known to inform; empty: it is."""
    for name, (spec, replica) in parts.items():
        if replica is None:
            continue
        if replica.enforced:
            return f"the hub has {name} enforced still"
        said = {each.template: each for each in replica.reports}
        for template in template_names(spec) if back is not None and back.after else ():
            found = said.get(template, TemplateReport(template))
            if not _is_newer(found, back or UNKNOWN):
                return f"{template} is not evaluated since it was taken back"
    return ""


def _propagation(name: str, replica: Replica | None) -> str:
    """Why the hub has not brought enforcement to a cluster yet; empty: it has."""
    if replica is None:
        return f"{name} is not propagated yet"
    return "" if replica.enforced else f"{name} is not propagated as enforced yet"


def _is_newer(report: TemplateReport, grant: WaveGrant) -> bool:
    """Whether an agent evaluated a template since its cluster is enforced."""
    if not grant.after:
        return report.entries > 1
    return report.at > grant.after + APART
