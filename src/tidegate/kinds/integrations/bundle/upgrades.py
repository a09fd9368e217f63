"""What a bundle declares of upgrades: environments, organisations there, policies of clusters.

A policy stands in the file of a cluster, or in the list of its organisation; either may name a file
that holds it. What is broken is left out, and then nobody may take for gone what is not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidegate.kinds.integrations.bundle.finding import Finding
from tidegate.kinds.integrations.bundle.leaf import Doc, Leaf
from tidegate.kinds.integrations.bundle.places import Place
from tidegate.kinds.upgrades.core.labels.bundled import (
    Bundled,
    BundledCluster,
    BundledEnvironment,
    BundledOrg,
    BundledPolicy,
    BundledSector,
)

LABELS_WRITER = "ocm-labels"
"""The integration that writes such labels today: a cluster that disables it is left alone."""

_ORG, _ENVIRONMENT, _CLUSTER, _POLICY = (
    "ocm-organization",
    "ocm-environment",
    "cluster",
    "upgrade-policy",
)
_OURS = frozenset((_ORG, _ENVIRONMENT, _CLUSTER, _POLICY))
Data = Mapping[str, Any]


def bundled_upgrades(leaves: Mapping[str, Leaf], findings: Iterable[Finding]) -> Bundled:
    """All that is declared, and what may be missing of it."""
    reader = _Reader(leaves)
    return Bundled(
        environments=tuple(reader.environments()),
        organizations=tuple(reader.organizations()),
        gaps=tuple(
            f"{each.file}:{each.line}: {each.message}"
            for each in findings
            if each.severity == "error" and _matters(leaves.get(each.file), each)
        ),
    )


def _matters(leaf: Leaf | None, finding: Finding) -> bool:
    """Whether something of upgrades may be missing because of it."""
    if leaf is None or not leaf.docs:
        return True
    kinds = {doc.kind for doc in leaf.docs}
    return bool(kinds & _OURS) or ("" in kinds and finding.rule == "yaml")


class _Reader:
    """Documents with the files they name looked up."""

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        self._docs = [
            (Place(path, at), doc)
            for path, leaf in leaves.items()
            for at, doc in enumerate(leaf.docs)
            if doc.kind in _OURS and doc.data is not None
        ]
        self._files = {
            f"/{path}": leaf.docs[0] for path, leaf in leaves.items() if len(leaf.docs) == 1
        }
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

    def _organization(self, place: Place, doc: Doc, data: Data) -> BundledOrg:
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

    def _listed(self, place: Place, doc: Doc, data: Data) -> Iterator[BundledCluster]:
        for at, each in enumerate(data.get("upgradePolicyClusters") or ()):
            policy = self._policy(each["upgradePolicy"])
            if policy is not None:
                yield BundledCluster(
                    name=each["name"],
                    id=(each.get("spec") or {}).get("id") or "",
                    policy=policy,
                    where=place.where(doc, ("upgradePolicyClusters", at)),
                )

    def _note(self, place: Place, doc: Doc) -> None:
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

    def _sector(self, written: Data, place: Place) -> BundledSector:
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
        """A field of the file that is named; empty: it is not there, which is told elsewhere."""
        return str(self._data(reference or {}).get(field) or "")

    def _data(self, reference: Data) -> Data:
        doc = self._files.get(str(reference.get("$ref")))
        return (doc.data if doc is not None else None) or {}
