"""What upgrades read of a bundle: environments, organisations there, upgrade policies of clusters.

An upgrade policy is written in the file of a cluster, or in the list of its organisation; either
may name a file that holds it. What is broken is left out and listed as a gap, so that what could
not be read is not taken for removed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tidegate.bundle.finding import BundleFinding
from tidegate.bundle.leaf import Doc, Leaf
from tidegate.bundle.places import DocumentPlace
from tidegate.bundle.section import BundleSection, Documents, DocumentType, Faults
from tidegate.kinds.upgrades.core.labels.bundled import (
    Bundled,
    BundledCluster,
    BundledEnvironment,
    BundledOrg,
    BundledPolicy,
    BundledSector,
)

LABELS_WRITER = "ocm-labels"
"""The integration that writes such labels today: a cluster that disables it is unchanged."""

_ORG, _ENVIRONMENT, _CLUSTER, _POLICY = (
    "ocm-organization",
    "ocm-environment",
    "cluster",
    "upgrade-policy",
)
_OURS = frozenset((_ORG, _ENVIRONMENT, _CLUSTER, _POLICY))
Data = Mapping[str, Any]


def _read(documents: Documents, _faults: Faults) -> Bundled:
    """All that is declared of upgrades."""
    reader = _Reader(documents)
    return Bundled(
        environments=tuple(reader.environments()), organizations=tuple(reader.organizations())
    )


def _with_gaps(
    bundled: Bundled, documents: Documents, findings: Sequence[BundleFinding]
) -> Bundled:
    """The same, with the errors because of which something may be missing."""
    gaps = tuple(
        f"{each.file}:{each.line}: {each.message}"
        for each in findings
        if each.severity == "error" and _matters(documents.leaves.get(each.file), each)
    )
    return msgspec.structs.replace(bundled, gaps=gaps)


def _matters(leaf: Leaf | None, finding: BundleFinding) -> bool:
    """Whether something of upgrades may be missing because of it."""
    if leaf is None or not leaf.docs:
        return True
    kinds = {doc.kind for doc in leaf.docs}
    return bool(kinds & _OURS) or ("" in kinds and finding.rule == "yaml")


class _Reader:
    """Documents with the files they name looked up."""

    def __init__(self, documents: Documents) -> None:
        self._data = documents.data
        found = documents.of(_ORG, _ENVIRONMENT, _CLUSTER)
        self._docs = [(place, doc) for place, doc in found if doc.data is not None]
        # By the file of their organisation.
        self._clusters: dict[str, list[BundledCluster]] = {}
        for place, doc in self._docs:
            if doc.kind == _CLUSTER:
                self._note(place, doc)

    def environments(self) -> Iterator[BundledEnvironment]:
        """Every OpenShift Cluster Manager."""
        for place, doc in self._docs:
            if doc.kind == _ENVIRONMENT and doc.data is not None:
                data = doc.data
                yield BundledEnvironment(
                    name=data["name"],
                    url=data["url"],
                    token_url=data.get("accessTokenUrl") or "",
                    client_id=data.get("accessTokenClientId") or "",
                    prometheus=self._named(data.get("telemeter"), "name"),
                    where=place.where(doc, ()),
                )

    def organizations(self) -> Iterator[BundledOrg]:
        """Every organisation, with the clusters that have a policy."""
        for place, doc in self._docs:
            if doc.kind == _ORG and doc.data is not None:
                yield self._organization(place, doc, doc.data)

    def _organization(self, place: DocumentPlace, doc: Doc, data: Data) -> BundledOrg:
        clusters = [*self._listed(place, doc, data), *self._clusters.get(f"/{place.file}", ())]
        return BundledOrg(
            id=data["orgId"],
            name=data["name"],
            environment=self._named(data.get("environment"), "name"),
            where=place.where(doc, ()),
            disabled=self._disabled(data),
            health_checks=tuple(
                (each["provider"], each["enforced"])
                for each in data.get("ausClusterHealthChecks") or ()
            ),
            addons=data.get("addonManagedUpgrades") or False,
            client_id=data.get("accessTokenClientId") or "",
            blocked=tuple(data.get("blockedVersions") or ()),
            sectors=tuple(self._sector(each, place) for each in data.get("sectors") or ()),
            inherit=self._ids(data.get("inheritVersionData")),
            publish=self._ids(data.get("publishVersionData")),
            clusters=tuple(clusters),
        )

    def _listed(self, place: DocumentPlace, doc: Doc, data: Data) -> Iterator[BundledCluster]:
        for at, each in enumerate(data.get("upgradePolicyClusters") or ()):
            policy = self._policy(each["upgradePolicy"])
            if policy is not None:
                yield BundledCluster(
                    name=each["name"],
                    id=(each.get("spec") or {}).get("id") or "",
                    policy=policy,
                    where=place.where(doc, ("upgradePolicyClusters", at)),
                )

    def _note(self, place: DocumentPlace, doc: Doc) -> None:
        """A cluster with a file of its own, beside the others of its organisation."""
        data = doc.data or {}
        policy = self._policy(data.get("upgradePolicy"))
        if policy is None or "ocm" not in data or LABELS_WRITER in self._disabled(data):
            return
        found = BundledCluster(
            name=data["name"],
            id=(data.get("spec") or {}).get("id") or "",
            policy=policy,
            where=place.where(doc, ()),
        )
        self._clusters.setdefault(data["ocm"]["$ref"], []).append(found)

    def _policy(self, written: Data | None) -> BundledPolicy | None:
        """A policy, or the one in the file that is named; None: there is none, or it is broken."""
        if not written:
            return None
        data = self._data(written) if "$ref" in written else written
        if "workloads" not in data:
            return None
        conditions = data["conditions"]
        return BundledPolicy(
            workloads=tuple(data["workloads"]),
            schedule=data["schedule"],
            soak_days=conditions.get("soakDays") or 0,
            mutexes=tuple(conditions.get("mutexes") or ()),
            sector=conditions.get("sector") or "",
            blocked=tuple(conditions.get("blockedVersions") or ()),
            approvals=tuple(data.get("versionGateApprovals") or ()),
        )

    def _sector(self, written: Data, place: DocumentPlace) -> BundledSector:
        behind, elsewhere = [], []
        for each in written.get("dependencies") or ():
            other = each.get("ocm") or {}
            if other and other["$ref"] != f"/{place.file}":
                elsewhere.append((each["name"], self._named(other, "name") or other["$ref"]))
            else:
                behind.append(each["name"])
        return BundledSector(
            name=written["name"],
            dependencies=tuple(behind),
            elsewhere=tuple(elsewhere),
            max_parallel=written.get("maxParallelUpgrades") or "",
        )

    def _disabled(self, data: Data) -> tuple[str, ...]:
        found = (data.get("disable") or {}).get("integrations") or ()
        if isinstance(found, dict):
            found = self._data(found).get("integrations") or ()
        return tuple(found)

    def _ids(self, references: Iterable[Data] | None) -> tuple[str, ...]:
        found = (self._named(each, "orgId") for each in references or ())
        return tuple(each for each in found if each)

    def _named(self, reference: Data | None, field: str) -> str:
        """A field of the file that is named; empty: there is none, which is reported elsewhere."""
        return str(self._data(reference or {}).get(field) or "")


_ROOT = Path(__file__).parent

UPGRADES_SECTION = BundleSection(
    name="upgrades",
    types=(
        DocumentType(
            name=_ENVIRONMENT,
            noun="an OpenShift Cluster Manager",
            schemas=("/openshift/openshift-cluster-manager-environment-1.yml",),
        ),
        DocumentType(
            name=_POLICY,
            noun="an upgrade policy",
            schemas=("/openshift/cluster-upgrade-policy-1.yml",),
        ),
        DocumentType(name=_CLUSTER, kept=("upgradePolicy",), links={"upgradePolicy": _POLICY}),
        DocumentType(
            name=_ORG,
            kept=(
                "environment",
                "accessTokenClientId",
                "addonManagedUpgrades",
                "ausClusterHealthChecks",
                "blockedVersions",
                "sectors",
                "inheritVersionData",
                "publishVersionData",
                "upgradePolicyClusters",
            ),
            links={
                "environment": _ENVIRONMENT,
                "inheritVersionData": _ORG,
                "publishVersionData": _ORG,
                "sectors.dependencies.ocm": _ORG,
                "upgradePolicyClusters.upgradePolicy": _POLICY,
            },
            lined=True,
        ),
    ),
    schemas=_ROOT / "schemas",
    value=Bundled,
    read=_read,
    finish=_with_gaps,
    programs=(_ROOT / "bundle.py", _ROOT / "schemas", _ROOT / "core" / "labels" / "bundled.py"),
)
