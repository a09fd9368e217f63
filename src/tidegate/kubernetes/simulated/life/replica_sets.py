"""The ReplicaSets of Deployments: one a template, kept as often as a way back is wanted."""

from collections.abc import Mapping
from typing import Any

from tidegate.kubernetes.port import REPLICA_SET
from tidegate.kubernetes.simulated.api import Key, SimulatedApi, StoredObject
from tidegate.kubernetes.simulated.life.steps import Scene, revision_of, without_zeros

_KEPT_DEFAULT = 10


class ReplicaSets:
    """The ReplicaSets of one cluster; its Deployments count pods by themselves."""

    def __init__(self, api: SimulatedApi) -> None:
        self._api = api
        # Of each Deployment, oldest first: the template by its identity.
        self._templates: dict[Key, dict[str, Mapping[str, Any]]] = {}
        # How many pods were written last: all, ready, available.
        self._counts: dict[Key, tuple[int, int, int]] = {}

    def reference(
        self, key: Key, record: StoredObject, scene: Scene, revision: str
    ) -> dict[str, Any]:
        """The ReplicaSet of a template as an owner, made if there is none."""
        self._write(key, record, scene, revision)
        found = self._api.records[_key(key, revision)]
        return reference(_key(key, revision), found.uid)

    def settle(self, key: Key, record: StoredObject, scene: Scene) -> None:
        """Write what they have, and forget the oldest that have nothing."""
        if key not in self._api.records:
            return
        current = revision_of(scene.spec.get("template") or {})
        known = self._templates.setdefault(key, {})
        for revision in {**known, current: None}:
            self._write(key, record, scene, revision)
        used = {each.revision for each in scene.pods} | {current}
        idle = [revision for revision in known if revision not in used]
        limit = scene.spec.get("revisionHistoryLimit")
        kept = _KEPT_DEFAULT if limit is None else int(limit)
        for revision in idle[: max(0, len(idle) - kept)]:
            del known[revision]
            self._counts.pop(_key(key, revision), None)
            self._api.remove(_key(key, revision))

    def forget(self, key: Key) -> None:
        """Its Deployment is gone."""
        for revision in self._templates.pop(key, {}):
            self._counts.pop(_key(key, revision), None)
            if _key(key, revision) in self._api.records:
                self._api.remove(_key(key, revision))

    def _write(self, key: Key, record: StoredObject, scene: Scene, revision: str) -> None:
        known = self._templates.setdefault(key, {})
        if revision not in known:
            known[revision] = scene.spec.get("template") or {}
        template, own = known[revision], _key(key, revision)
        pods = [each for each in scene.staying if each.revision == revision]
        ready = sum(each.is_ready(scene.now) for each in pods)
        available = sum(map(scene.available, pods))
        counts = len(pods), ready, available
        if own in self._api.records and self._counts.get(own) == counts:
            return
        self._counts[own] = counts
        labels = {
            **((template.get("metadata") or {}).get("labels") or {}),
            "pod-template-hash": revision,
        }
        status = {"readyReplicas": ready, "availableReplicas": available}
        self._api.put(
            own,
            {
                "apiVersion": REPLICA_SET.api_version,
                "kind": REPLICA_SET.name,
                "metadata": {
                    "name": f"{key[2]}-{revision}",
                    "namespace": key[1],
                    "labels": labels,
                    "ownerReferences": [
                        {
                            **reference(key, record.uid),
                            "controller": True,
                            "blockOwnerDeletion": True,
                        }
                    ],
                },
                "spec": {
                    "replicas": len(pods),
                    "selector": {"matchLabels": labels},
                    "template": template,
                },
                "status": {**without_zeros(status), "replicas": len(pods)},
            },
        )


def reference(key: Key, uid: str) -> dict[str, Any]:
    """An object as an owner of another."""
    return {"apiVersion": key[0].api_version, "kind": key[0].name, "name": key[2], "uid": uid}


def _key(deployment: Key, revision: str) -> Key:
    return REPLICA_SET, deployment[1], f"{deployment[2]}-{revision}"
