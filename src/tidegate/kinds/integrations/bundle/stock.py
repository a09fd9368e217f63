"""What integrations refer to: inventories, namespaces, and the shard an override is for."""

from typing import Any

import msgspec

from tidegate.bundle.finding import DocumentFault
from tidegate.bundle.places import DocumentPlace
from tidegate.bundle.section import Documents, Faults
from tidegate.kinds.integrations.bundle.managers import ManagerTargets
from tidegate.kinds.integrations.core.sharding.model import Namespace, ShardKey
from tidegate.kinds.integrations.core.sharding.strategies import STATIC, STRATEGIES, key_of
from tidegate.model.problem import nearest, shown

# The kind of document that the items of an inventory are.
INVENTORY_OF = {
    "aws-account": "per-aws-account",
    "cluster": "per-openshift-cluster",
    "ocm-organization": "per-ocm-organization",
    "cloudflare-zone": "per-cloudflare-zone",
}


class Named(msgspec.Struct, frozen=True):
    """The shard an override is for; None where it is for none, and why."""

    name: str | None
    fault: DocumentFault | None = None


class Stock:
    """Everything of a bundle that others name."""

    def __init__(self, documents: Documents) -> None:
        self.faults: Faults = []
        self._files, self._data, self._types = documents.files, documents.data, documents.types
        self._managers = ManagerTargets(documents)
        # Items by the file they stand in.
        self._items: dict[str, tuple[str, ShardKey]] = {}
        listed: dict[str, dict[str, ShardKey]] = {strategy: {} for strategy in STRATEGIES}
        for place, doc in documents.of(*INVENTORY_OF):
            if doc.data is not None:
                strategy = INVENTORY_OF[doc.kind]
                self._list(place, doc.data, strategy, listed[strategy])
        self.inventories: dict[str, tuple[ShardKey, ...]] = {
            STRATEGIES[strategy].inventory: tuple(keys.values())
            for strategy, keys in listed.items()
        }

    def _list(
        self, place: DocumentPlace, data: dict[str, Any], strategy: str, into: dict[str, ShardKey]
    ) -> None:
        row = STRATEGIES[strategy]
        alone = f"/{place.file}" in self._files
        made = key_of(row, self._resolved(data))
        key = msgspec.structs.replace(made, file=place.file, alone=alone)
        if key.name in into:
            fault = DocumentFault(
                path=("name",) if "name" in data else ("identifier",),
                message=f"another {row.noun} is called {shown(key.name)}",
                rule="duplicate",
                remedy="give it another name",
                value=shown(key.name),
            )
            self.faults.append((place, fault))
            return
        into[key.name] = key
        if alone:
            self._items[f"/{place.file}"] = strategy, key

    def _resolved(self, data: dict[str, Any]) -> dict[str, Any]:
        """An item with what it takes from other files written into it."""
        item = dict(data)
        disable = data.get("disable") or {}
        integrations = disable.get("integrations")
        if isinstance(integrations, dict):
            shared = self._data(integrations).get("integrations")
            item["disable"] = {"integrations": shared or []}
        account = data.get("account")
        if isinstance(account, dict) and "$ref" in account:
            item["account"] = {"name": self._data(account).get("name") or ""}
        return item

    def namespace(self, path: str) -> Namespace | None:
        """A namespace by its file; None if it is none, or lacks what it names."""
        doc = self._files.get(path)
        if doc is None or doc.kind != "namespace" or doc.data is None:
            return None
        data = doc.data
        cluster, environment = (self._data(data[name]) for name in ("cluster", "environment"))
        # Without them a finding says so, and nothing can run there.
        if "name" not in cluster or "name" not in environment:
            return None
        return Namespace(
            path=path,
            name=data["name"],
            cluster=cluster["name"],
            environment=environment["name"],
            parameters=environment.get("parameters") or {},
            image=self._managers.default(
                str(data["environment"].get("$ref")), str(data["cluster"].get("$ref"))
            ),
            phase=environment.get("servicePhase") or "",
            labels={**(environment.get("labels") or {}), **(data.get("labels") or {})},
        )

    def shard(self, written: Any, strategy: str) -> Named:
        """The shard that is meant by a name, a number or the file of what it is a shard of."""
        if isinstance(written, dict):
            return self._by_file(str(written["$ref"]), strategy)
        if strategy == STATIC or strategy not in STRATEGIES:
            return Named(str(written))
        every = self.inventories[STRATEGIES[strategy].inventory]
        text = str(written)
        named = [key for key in every if key.name == text]
        keyed = [key for key in every if text in (key.key, key.uid)]
        if named and keyed and named != keyed:
            one, other = named[0], keyed[0]
            message = f"{shown(text)} is the name of one and the id of another ({other.name})"
            remedy = "write {$ref: …} of the one you mean"
            return Named(
                None,
                DocumentFault(
                    path=("shard",),
                    message=message,
                    rule="spelling",
                    remedy=remedy,
                    value=shown(one.name),
                ),
            )
        found = named or keyed
        # One that does not exist is reported when the shards are worked out.
        return Named(found[0].name if found else text)

    def _by_file(self, ref: str, strategy: str) -> Named:
        item = self._items.get(ref)
        if item is not None and item[0] == strategy:
            return Named(item[1].name)
        doc = self._files.get(ref)
        if doc is None or (doc.kind and doc.data is None):
            # Reported where names of files are looked up, or in that file.
            return Named(None)
        wanted = next((k for k, of in INVENTORY_OF.items() if of == strategy), None)
        if wanted is None:
            message, remedy = "static shards have no file", "write the number of the shard"
            if strategy != STATIC:
                message = f"no strategy {shown(strategy)}"
                remedy = nearest(strategy, STRATEGIES) or f"write one of {', '.join(STRATEGIES)}"
        else:
            is_a = self._types[doc.kind].noun if doc.kind else "no document we read"
            message = f"{shown(ref)} is {is_a}, and {strategy} splits by {self._types[wanted].noun}"
            remedy = f"name {self._types[wanted].noun}"
        fault = DocumentFault(
            path=("shard",), message=message, rule="reference", remedy=remedy, value=shown(ref)
        )
        return Named(None, fault)
