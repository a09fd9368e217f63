"""What callers ask to be declared for upgrades, over HTTP: labels of clusters and organisations.

Each is a request that a worker carries out with the rights of the service, if every gate is open.
"""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from tidegate.access.roles import Reached, Right, refusal
from tidegate.api.problem import bad_request, forbidden
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.kinds.upgrades.app.owners.changes import LabelPlan, Planner
from tidegate.kinds.upgrades.app.owners.inheritance import (
    add_inheritance,
    remove_inheritance,
    set_inheritance,
)
from tidegate.kinds.upgrades.app.owners.label_requests import LabelRequestReport, prepare_labels
from tidegate.kinds.upgrades.app.owners.organisation import DeclaredOrganisation
from tidegate.kinds.upgrades.app.owners.policies import (
    WantedPolicy,
    remove_policies,
    set_policies,
)
from tidegate.kinds.upgrades.app.owners.sectors import (
    SectorFlags,
    remove_sectors,
    set_sectors,
    wanted_sector,
)
from tidegate.kinds.upgrades.app.owners.version_blocks import (
    Patterns,
    set_version_blocks,
    without_patterns,
)
from tidegate.kinds.upgrades.app.owners.version_gates import approve_gates
from tidegate.kinds.upgrades.core.labels.label_edit import CLUSTER_LABELS, INHERIT, PUBLISH
from tidegate.kinds.upgrades.core.labels.label_sync import MARK
from tidegate.kinds.upgrades.core.labels.sector_edit import WantedSector
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

Names = tuple[str, ...]
Some = Annotated[Names, Meta(min_length=1)]


class PolicyEntry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Labels of the upgrade policies of clusters."""

    # A cluster by its name, its id, its external id or a pattern with * and ?.
    name: str
    # By their names without prefix, as in `soak-days`; null or an empty text removes one.
    labels: dict[str, str | None]
    # Labels that are no part of an upgrade policy.
    others: dict[str, str | None] = {}


class PolicyBody(RouteBody, frozen=True):
    """What upgrade policies are to be."""

    policies: Annotated[tuple[PolicyEntry, ...], Meta(min_length=1)]
    # Whether every label of a policy that is not named is removed.
    replace: bool = False


class PolicyRemovalBody(RouteBody, frozen=True):
    """Clusters that are to have no upgrade policy."""

    clusters: Some
    # Whether labels that are no part of an upgrade policy are removed, too.
    all: bool = False


class SectorEntry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What is asked for of one sector."""

    name: str
    # The sectors that it waits for, and no others; null: they stay.
    depends_on: Names | None = None
    add_dependency: Names = ()
    remove_dependency: Names = ()
    # How many of its clusters are upgraded at once; empty: no limit; null: it stays.
    max_parallel: str | None = None


class SectorsBody(RouteBody, frozen=True):
    """What sectors are to be."""

    sectors: Annotated[tuple[SectorEntry, ...], Meta(min_length=1)]
    # Whether every sector that is not named is removed.
    replace: bool = False


class SectorRemovalBody(RouteBody, frozen=True):
    """Sectors that are to be removed."""

    sectors: Some


class VersionBlocksBody(RouteBody, frozen=True):
    """Patterns (RE2) of versions that no cluster of an organisation is upgraded to."""

    add: Names = ()
    remove: Names = ()
    # Exactly these; null: those that are there stay.
    set: Names | None = None


class InheritanceSides(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Organisations on each side; null: that side stays."""

    inherit: Names | None = None
    publish: Names | None = None


class InheritanceBody(RouteBody, frozen=True):
    """Organisations that soak is shared with: some more, some less, or exactly these."""

    add: InheritanceSides | None = None
    remove: InheritanceSides | None = None
    set: InheritanceSides | None = None


class GateApprovalsBody(RouteBody, frozen=True):
    """Kinds of version gates that the service agrees to."""

    # ocp, sts, ingress, a whole label, or none; empty: the default holds.
    gates: Names


def policy(act: RouteAct[PolicyBody]) -> PreparedAct:
    """Request labels of upgrade policies of clusters; all else is unchanged."""
    body = act.body
    _check_labels(body)
    every = [WantedPolicy(each.name, "", {**each.labels, **each.others}) for each in body.policies]
    return _requested(act, "policy", lambda found: set_policies(found, every, replace=body.replace))


def remove_policy(act: RouteAct[PolicyRemovalBody]) -> PreparedAct:
    """Request that clusters have no upgrade policy any more."""
    body = act.body
    return _requested(
        act,
        "remove-policy",
        lambda found: remove_policies(found, body.clusters, unknown_too=body.all),
    )


def sectors(act: RouteAct[SectorsBody]) -> PreparedAct:
    """Request other sectors of an organisation; what is not named is unchanged."""
    body = act.body

    def planner(found: DeclaredOrganisation) -> LabelPlan:
        wanted = [_sector(found, each) for each in body.sectors]
        return set_sectors(found, wanted, replace=body.replace)

    return _of_organisation(act, "sectors", planner)


def remove_sector(act: RouteAct[SectorRemovalBody]) -> PreparedAct:
    """Request that sectors that no cluster is in are removed."""
    return _of_organisation(
        act, "remove-sectors", lambda found: remove_sectors(found, act.body.sectors)
    )


def version_blocks(act: RouteAct[VersionBlocksBody]) -> PreparedAct:
    """Request that an organisation blocks more versions, fewer, or exactly these."""
    wanted = _patterns(act.body)
    return _of_organisation(act, "version-blocks", lambda found: set_version_blocks(found, wanted))


def inheritance(act: RouteAct[InheritanceBody]) -> PreparedAct:
    """Request that soak is shared with other organisations."""
    body, verb = act.body, "inheritance"
    named = [each for each in (body.add, body.remove, body.set) if each is not None]
    if len(named) != 1:
        raise bad_request("write one of add, remove and set")
    sides = _sides(named[0])
    if not sides:
        raise bad_request("name organisations: inherit, publish")
    if body.add is not None:
        return _of_organisation(act, verb, lambda found: add_inheritance(found, sides))
    if body.remove is not None:
        return _of_organisation(act, verb, lambda found: remove_inheritance(found, sides))
    wanted = {label: ",".join(items) for label, items in sides.items()}
    return _of_organisation(act, verb, lambda found: set_inheritance(found, wanted))


def gate_approvals(act: RouteAct[GateApprovalsBody]) -> PreparedAct:
    """Request that the service agrees to these kinds of version gates, and to no others."""
    return _of_organisation(
        act, "gate-approvals", lambda found: approve_gates(found, act.body.gates)
    )


def _of_organisation(act: RouteAct[RouteBody], verb: str, planner: Planner) -> PreparedAct:
    return _requested(act, verb, planner, of_organisation=True)


def _requested(
    act: RouteAct[RouteBody], verb: str, planner: Planner, *, of_organisation: bool = False
) -> PreparedAct:
    def allow(reached: Iterable[Reached]) -> None:
        if why := refusal(act.caller, Right.OPERATE, reached, verb):
            raise forbidden(why)

    made = prepare_labels(
        act.journals,
        act.caller,
        act.name,
        planner,
        act.body.reason,
        allow,
        of_organisation=of_organisation,
    )
    return PreparedAct(
        partition=made.partition,
        facts=() if made.fact is None else (made.fact,),
        reach=made.report,
        answer=made.report,
        rows=made.rows,
        reached=made.reached,
    )


def _check_labels(body: PolicyBody) -> None:
    """UserError for labels that are no part of an upgrade policy, or the mark of a bundle."""
    problems = [
        Problem(f"{each.name}/{label}", "no label of an upgrade policy", hint)
        for each in body.policies
        for label in each.labels
        if label not in CLUSTER_LABELS and (hint := nearest_or_all(label, CLUSTER_LABELS))
    ]
    problems += [
        Problem(f"{each.name}/{MARK}", "kept by `upgrades policy sync`", "leave it out")
        for each in body.policies
        if MARK in each.others
    ]
    if problems:
        raise UserError(tuple(problems))


def _sector(found: DeclaredOrganisation, entry: SectorEntry) -> WantedSector:
    if entry.depends_on is not None and not entry.add_dependency and not entry.remove_dependency:
        return WantedSector(entry.name, entry.depends_on, entry.max_parallel)
    flags = SectorFlags(
        # An empty list is one that is given: it waits for none.
        depends_on=() if entry.depends_on is None else entry.depends_on or ("",),
        add_dependency=entry.add_dependency,
        remove_dependency=entry.remove_dependency,
        max_parallel=entry.max_parallel,
    )
    return wanted_sector(found, entry.name, flags)


def _patterns(body: VersionBlocksBody) -> Patterns:
    if body.set is not None and (body.add or body.remove):
        raise bad_request("set names all that is blocked; leave out add and remove", "set")
    if body.set is None and not (body.add or body.remove):
        raise bad_request("write what to block: add, remove or set")
    exactly = body.set
    fewer = without_patterns(body.remove)
    more = [each.strip() for each in body.add]

    def wanted(there: list[str]) -> list[str]:
        if exactly is not None:
            return [each.strip() for each in exactly]
        return list(dict.fromkeys(fewer(there) + more))

    return wanted


def _sides(sides: InheritanceSides) -> dict[str, list[str]]:
    both = ((INHERIT, sides.inherit), (PUBLISH, sides.publish))
    return {label: list(items) for label, items in both if items is not None}


LABEL_ACTS: tuple[ActRoute, ...] = tuple(
    ActRoute(f"/{verb}/{{name}}", prepare, (LabelRequestReport,), Right.OPERATE)
    for verb, prepare in (
        ("policy", policy),
        ("remove-policy", remove_policy),
        ("sectors", sectors),
        ("remove-sectors", remove_sector),
        ("version-blocks", version_blocks),
        ("inheritance", inheritance),
        ("gate-approvals", gate_approvals),
    )
)
