"""Version gates before clusters: which there are, and agreeing to them."""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import UNSET, UnsetType, field

from tidegate.kinds.upgrades.app.owners.changes import LabelPlan, organisation_change
from tidegate.kinds.upgrades.app.owners.organisation import (
    DeclaredOrganisation,
    OwnerDocument,
    listed_items,
    read_organisation,
    unreadable,
)
from tidegate.kinds.upgrades.core.gates_ahead import PendingGate, ahead_of, approvals
from tidegate.kinds.upgrades.core.labels.label_edit import APPROVALS
from tidegate.kinds.upgrades.core.versions import is_version, minor_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, MinorGate, Organisation
from tidegate.kinds.upgrades.ocm.documents import VersionGate
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.document import Part
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant


class GateAhead(Part, frozen=True, kw_only=True):
    """One version gate before one cluster."""

    cluster: str
    called: str
    external_id: str
    version: str
    minor: str = field(name="for")
    gate: str
    label: str
    # Whether a version behind it is offered now.
    offered: bool
    # Null: the agreements could not be read.
    agreed: bool | None
    since: str | None
    # Whether the service agrees to it; if not, its owner must.
    by_service: bool
    # Whether the service knows this kind of gate.
    known: bool
    description: str
    warning: str
    documentation: str


class VersionGateList(OwnerDocument, frozen=True, kw_only=True):
    """The version gates before clusters."""

    # Clusters whose agreements could not be read, and why.
    errors: tuple[str, ...]
    items: tuple[GateAhead, ...]


class GateAgreementRow(Part, frozen=True, kw_only=True):
    """One version gate that a cluster is agreed to."""

    target: str
    minor: str = field(name="for")
    gate: str
    label: str
    agreed: bool
    why: str | UnsetType = UNSET


class GateText(Part, frozen=True, kw_only=True):
    """What a gate asks for, in the words of OpenShift Cluster Manager."""

    gate: str
    label: str
    text: str


class GateAgreementReport(OwnerDocument, frozen=True, kw_only=True):
    """The version gates that clusters are agreed to, and whether that was done."""

    dry_run: bool
    agreements: tuple[GateAgreementRow, ...]
    gates: tuple[GateText, ...]
    # Why there is nothing to do; null: there is.
    nothing: str | None

    @property
    def failed(self) -> tuple[GateAgreementRow, ...]:
        """The agreements that could not be given."""
        return tuple(each for each in self.agreements if each.why is not UNSET)


class GateOutlook(msgspec.Struct, frozen=True, kw_only=True):
    """Version gates before clusters, and since when each was agreed to."""

    declared: DeclaredOrganisation
    gates: Mapping[str, VersionGate]  # by id
    ahead: tuple[PendingGate, ...]
    since: Mapping[tuple[str, str], str]  # by the ids of cluster and gate
    unread: Mapping[str, str]  # clusters whose agreements could not be read, and why
    warnings: tuple[str, ...] = ()


class PreparedAgreements(msgspec.Struct, frozen=True, kw_only=True):
    """The version gates that are still to be agreed to."""

    outlook: GateOutlook
    missing: tuple[PendingGate, ...]
    nothing: str | None

    @property
    def reach(self) -> int:
        """How many clusters it is about."""
        return len({each.cluster.ident for each in self.missing})

    def report(self, done: Iterable[str] | None = None) -> GateAgreementReport:
        """What is agreed to; `done` says why each could not be, or is None for a dry run."""
        outcomes = list(done) if done is not None else None
        gates = dict.fromkeys(each.gate.id for each in self.missing)
        return GateAgreementReport(
            warnings=self.outlook.warnings,
            dry_run=outcomes is None,
            agreements=tuple(
                _row(self.outlook, each, None if outcomes is None else outcomes[at])
                for at, each in enumerate(self.missing)
            ),
            gates=tuple(_text(self.outlook.gates[each]) for each in gates),
            nothing=self.nothing,
        )


async def read_gates(
    manager: ManagedClusters, org: Organisation, names: tuple[str, ...], now: Instant
) -> GateOutlook:
    """The gates before the clusters of some names, or of all; agreements where there are gates."""
    declared = await read_organisation(manager, org, now)
    reading = await manager.gates()
    known = tuple(
        MinorGate(each.id, each.version_raw_id_prefix, each.label, each.sts_only)
        for each in reading.items
    )
    world = msgspec.structs.replace(declared.world, gates=known)
    chosen = declared.clusters(names, unlabelled=True)
    wanted = {each.cluster.ident for each in ahead_of(world, chosen, world.now)}
    found = await asyncio.gather(*(_agreements(manager, each) for each in sorted(wanted)))
    since = {(cluster, gate): at for cluster, agreed, _ in found for gate, at in agreed.items()}
    clusters = tuple(_with_agreements(each, since) for each in world.clusters)
    world = msgspec.structs.replace(world, clusters=clusters)
    mine = {each.ident for each in chosen}
    ahead = ahead_of(world, (each for each in clusters if each.ident in mine), world.now)
    ahead.sort(key=lambda one: (one.cluster.name, one.cluster.uuid))
    return GateOutlook(
        declared=declared,
        gates={each.id: each for each in reading.items},
        ahead=tuple(ahead),
        since=since,
        unread={cluster: why for cluster, _, why in found if why},
        warnings=(*declared.warnings, *map(unreadable, reading.unreadable)),
    )


async def _agreements(manager: ManagedClusters, cluster: str) -> tuple[str, dict[str, str], str]:
    """What was agreed to for a cluster and since when, or why that could not be read."""
    try:
        reading = await manager.agreements(cluster)
    except OutsideError as error:
        return cluster, {}, str(error)
    return cluster, {each.version_gate.id: each.agreed_timestamp for each in reading.items}, ""


def _with_agreements(
    cluster: ManagedCluster, since: Mapping[tuple[str, str], str]
) -> ManagedCluster:
    agreed = tuple(gate for ident, gate in since if ident == cluster.ident)
    return msgspec.structs.replace(cluster, gate_agreements=agreed) if agreed else cluster


def list_gates(outlook: GateOutlook, *, later_too: bool = False) -> VersionGateList:
    """The gates before versions that are offered now, or before all later ones too."""
    return VersionGateList(
        warnings=outlook.warnings,
        errors=tuple(f"agreements of {cluster}: {why}" for cluster, why in outlook.unread.items()),
        items=tuple(_gate(outlook, each) for each in outlook.ahead if each.near or later_too),
    )


def _gate(outlook: GateOutlook, ahead: PendingGate) -> GateAhead:
    gate = outlook.gates[ahead.gate.id]
    key = ahead.cluster.ident, gate.id
    return GateAhead(
        cluster=ahead.cluster.name,
        called=outlook.declared.holder(ahead.cluster).called,
        external_id=ahead.cluster.uuid,
        version=ahead.cluster.version,
        minor=ahead.gate.prefix,
        gate=gate.id,
        label=gate.label,
        offered=ahead.near,
        agreed=None if key[0] in outlook.unread else ahead.agreed,
        since=outlook.since.get(key) or None,
        by_service=ahead.approved,
        known=ahead.known,
        description=gate.description,
        warning=gate.warning_message,
        documentation=gate.documentation_url,
    )


def approve_gates(declared: DeclaredOrganisation, kinds: Iterable[str]) -> LabelPlan:
    """Have the service agree to kinds of gates, for the organisation; none: the default holds."""
    wanted = {APPROVALS: ",".join(approvals(listed_items(kinds)))}
    return LabelPlan(organisation_change(declared, wanted))


def prepare_agreements(
    outlook: GateOutlook, version: str, gate: str | None = None
) -> PreparedAgreements:
    """The gates of a minor version still to be agreed to; UserError if there is none such."""
    minor = minor_of(version) if is_version(version) else version
    wanted = _wanted(outlook, minor, gate)
    missing = tuple(each for each in wanted if not each.agreed)
    nothing = None
    if not missing:
        nothing = "all agreed to already" if wanted else f"no gates on the way to {minor}"
    return PreparedAgreements(outlook=outlook, missing=missing, nothing=nothing)


async def agree_to_gates(
    manager: ManagedClusters, prepared: PreparedAgreements
) -> GateAgreementReport:
    """Agree to all that is missing; each that could not be is reported."""
    done = await asyncio.gather(*(_agree(manager, each) for each in prepared.missing))
    return prepared.report(done)


async def _agree(manager: ManagedClusters, ahead: PendingGate) -> str:
    """Why an agreement could not be given; empty: it was."""
    try:
        await manager.agree(ahead.cluster.ident, ahead.gate.id)
    except OutsideError as error:
        return str(error)
    return ""


def _wanted(outlook: GateOutlook, minor: str, gate: str | None) -> list[PendingGate]:
    if outlook.unread:
        some = "; ".join(f"{cluster}: {why}" for cluster, why in outlook.unread.items())
        raise OutsideError(f"agreements could not be read, and nothing was done: {some}")
    minors = sorted({each.version_raw_id_prefix for each in outlook.gates.values()})
    if minor not in minors:
        hint = nearest_or_all(minor, minors)
        raise UserError((Problem("--version", f"no gates before {minor}", hint),))
    here = [each for each in outlook.ahead if each.gate.prefix == minor]
    if gate is None:
        return here
    known = [each for each in outlook.gates.values() if each.version_raw_id_prefix == minor]
    if not any(gate in _names(each.id, each.label) for each in known):
        hint = nearest_or_all(gate, sorted(short_name(each.label) for each in known))
        raise UserError((Problem("--gate", f'no gate "{gate}" before {minor}', hint),))
    return [each for each in here if gate in _names(each.gate.id, each.gate.label)]


def _names(ident: str, label: str) -> tuple[str, ...]:
    """All names of a gate."""
    short = short_name(label)
    return ident, label, short, short.removeprefix("gate-")


def short_name(label: str) -> str:
    """The short name of a kind of gate: gate-sts."""
    return label.rpartition("/")[2]


def _row(outlook: GateOutlook, ahead: PendingGate, why: str | None) -> GateAgreementRow:
    return GateAgreementRow(
        target=outlook.declared.holder(ahead.cluster).text(),
        minor=ahead.gate.prefix,
        gate=ahead.gate.id,
        label=ahead.gate.label,
        agreed=why == "",
        why=why or UNSET,
    )


def _text(gate: VersionGate) -> GateText:
    parts = (gate.description, gate.warning_message, gate.documentation_url)
    said = " ".join(each.strip() for each in parts if each.strip())
    return GateText(gate=gate.id, label=gate.label, text=said or "no description is given")
