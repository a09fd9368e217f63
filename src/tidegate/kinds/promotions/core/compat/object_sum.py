"""What the existing integrations manager takes a checksum of, and how it replaces lines of files.

The kinds are the four that manager writes; other kinds have rules of their own there.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

KINDS = ("CronJob", "Deployment", "Service", "StatefulSet")
_NOISE = (
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "selfLink",
    "uid",
    "namespace",
    "managedFields",
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_REVISION = "deployment.kubernetes.io/revision"
_OWN = "qontract."


def canonical(body: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the server and the manager add to it."""
    kind = body.get("kind")
    metadata = {
        name: value for name, value in (body.get("metadata") or {}).items() if name not in _NOISE
    }
    metadata["annotations"] = {
        name: value
        for name, value in (metadata.get("annotations") or {}).items()
        if not name.startswith(_OWN)
        and name != _LAST_APPLIED
        and not (kind == "Deployment" and name == _REVISION)
    }
    kept = {name: value for name, value in body.items() if name != "status"}
    kept["metadata"] = metadata
    if kind == "Service" and isinstance(body.get("spec"), Mapping):
        kept["spec"] = _service(body["spec"])
    return kept


def _service(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(spec)
    if kept.get("sessionAffinity") == "None":
        del kept["sessionAffinity"]
    if kept.get("type") == "ClusterIP":
        kept.pop("clusterIP", None)
    return kept


def digest(sorted_json: str) -> str:
    """The checksum of a canonical object, given as Python's JSON with sorted keys."""
    return sha256(sorted_json.encode()).hexdigest()


def replace_lines(content: str, prefix: str, line: str) -> str:
    """The text with every line that starts with the prefix replaced; it ends with a line break."""
    lines = (line if each.startswith(prefix) else each for each in content.splitlines())
    return "\n".join(lines) + "\n"
