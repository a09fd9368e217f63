"""Which kinds of documents are known, and what each may say: our own JSON Schemas.

Objects that only Tidegate reads are closed, so that a misspelt field is found; those that others
read too may hold more. Checked by jsonschema-rs, whose findings are turned into our words here.
"""

import json
from functools import cache, lru_cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.kinds.integrations.bundle.finding import Fault, Path
from tidegate.kinds.promotions.wire.promotion_doc import SCHEMA as PROMOTION_SCHEMA
from tidegate.model.problem import nearest, shown

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

FOLDER = FilePath(__file__).parent / "schemas_json"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of document."""

    name: str
    noun: str
    # What documents of this kind write under `$schema`.
    schemas: tuple[str, ...]
    # The fields that are kept of it; None: all of them.
    kept: tuple[str, ...] | None = None
    # Which kind the files must be of that a field names.
    links: dict[str, str] = {}


_INVENTORY = ("name", "labels", "disable")
_DISABLE = {"disable.integrations": "cluster-integrations"}
KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="integration",
            noun="an integration",
            schemas=("/app-sre/integration-1.yml",),
            links={
                "managed.namespace": "namespace",
                "managed.rollout": "rollout",
                "rollout": "rollout",
            },
        ),
        Kind(
            name="namespace",
            noun="a namespace",
            schemas=("/openshift/namespace-1.yml", "/openshift/lean-namespace-1.yml"),
            kept=("name", "labels", "cluster", "environment", "delete"),
            links={"cluster": "cluster", "environment": "environment"},
        ),
        Kind(
            name="environment",
            noun="an environment",
            schemas=("/app-sre/environment-1.yml",),
            kept=("name", "labels", "servicePhase", "dependsOn", "parameters"),
            links={"dependsOn": "environment"},
        ),
        Kind(
            name="cluster",
            noun="a cluster",
            schemas=("/openshift/cluster-1.yml",),
            kept=(*_INVENTORY, "ocm", "spec", "upgradePolicy"),
            links={"ocm": "ocm-organization", "upgradePolicy": "upgrade-policy", **_DISABLE},
        ),
        Kind(
            name="cluster-integrations",
            noun="a list of integrations",
            schemas=("/openshift/cluster-integrations-1.yml",),
            kept=("integrations",),
        ),
        Kind(
            name="aws-account",
            noun="an AWS account",
            schemas=("/aws/account-1.yml",),
            kept=_INVENTORY,
            links=_DISABLE,
        ),
        Kind(
            name="cloudflare-zone",
            noun="a Cloudflare zone",
            schemas=("/cloudflare/dns-zone-1.yml", "/cloudflare/zone-1.yml"),
            kept=(*_INVENTORY, "identifier", "zone", "account"),
            links=_DISABLE,
        ),
        Kind(
            name="ocm-organization",
            noun="an OpenShift Cluster Manager organisation",
            schemas=("/openshift/openshift-cluster-manager-1.yml",),
            links={
                "environment": "ocm-environment",
                "inheritVersionData": "ocm-organization",
                "publishVersionData": "ocm-organization",
                "sectors.dependencies.ocm": "ocm-organization",
                "upgradePolicyClusters.upgradePolicy": "upgrade-policy",
                **_DISABLE,
            },
        ),
        Kind(
            name="ocm-environment",
            noun="an OpenShift Cluster Manager",
            schemas=("/openshift/openshift-cluster-manager-environment-1.yml",),
        ),
        Kind(
            name="upgrade-policy",
            noun="an upgrade policy",
            schemas=("/openshift/cluster-upgrade-policy-1.yml",),
        ),
        Kind(
            name="saas-file",
            noun="a saas file",
            schemas=("/app-sre/saas-file-2.yml",),
            links={
                "resourceTemplates.targets": "saas-target",
                "resourceTemplates.targets.namespace": "namespace",
            },
        ),
        Kind(
            name="saas-target",
            noun="a saas target",
            schemas=("/app-sre/saas-file-target-1.yml",),
            links={"namespace": "namespace"},
        ),
        Kind(
            name="settings",
            noun="settings",
            schemas=("/app-interface/app-interface-settings-1.yml",),
            kept=("name", "hashLength", "rollout"),
            links={"rollout": "rollout"},
        ),
        Kind(name="rollout", noun="rules of a rollout", schemas=("/tidegate/rollout-1.yml",)),
        Kind(name="promotion", noun="a promotion", schemas=(PROMOTION_SCHEMA,)),
    )
}
KIND_OF = {schema: kind.name for kind in KINDS.values() for schema in kind.schemas}

_NOUNS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}
# What to write where a pattern or a choice of types says little.
_REMEDIES = {
    "$ref": "write the path of a file from the root of the bundle, like /clusters/a/cluster.yml",
    "shard": "write the name of a shard, its number, or {$ref: /path/of/its/file.yml}",
    "ref": "write a commit of 40 hex digits, or a branch like master",
    "sleepDurationSecs": 'write seconds in quotes, like "300"',
    "uid": "write digits in quotes",
    "name": "write letters, digits and hyphens",
    "schemas": "write paths of schemas, like /aws/account-1.yml",
}


@lru_cache(maxsize=1)
def documents() -> dict[str, dict[str, Any]]:
    """Every schema by its identifier."""
    read = (json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.json")))
    return {schema["$id"]: schema for schema in read}


@cache
def validator(kind: str) -> "Draft202012Validator":
    """What checks documents of a kind."""
    # Whoever finds everything in the cache does not wait for this to be imported.
    from jsonschema_rs import Draft202012Validator, Registry

    registry = Registry(list(documents().items()))
    return Draft202012Validator({"$ref": f"tidegate:/{kind}"}, registry=registry)


def is_valid(kind: str, data: Any) -> bool:
    """Whether a document says only what its kind may."""
    return validator(kind).is_valid(data)


def schema_faults(kind: str, data: Any) -> list[Fault]:
    """Everything a document says that its kind may not."""
    found: list[Fault] = []
    for error in validator(kind).iter_errors(data):
        found += _explained(kind, error)
    return found


def _explained(kind: str, error: "ValidationError") -> list[Fault]:
    path: Path = tuple(error.instance_path)
    what, wanted, value = error.kind.name, error.kind.value, error.instance
    if what == "additionalProperties":
        return [_unknown(kind, path, name, value) for name in wanted]
    if what == "required":
        remedy = f"write {wanted}"
        return [Fault(path=path, message=f"{wanted} is missing", rule="schema", remedy=remedy)]
    message, remedy = _worded(path, what, wanted, value)
    return [Fault(path=path, message=message, rule="schema", remedy=remedy, value=shown(value))]


def _worded(path: Path, what: str, wanted: Any, value: Any) -> tuple[str, str]:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if what == "type":
        nouns = " or ".join(_NOUNS[each] for each in wanted if each != "null")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if "string" in wanted and (number or isinstance(value, bool)):
            return f"{shown(value)} is not {nouns}", f'quote it: "{_written(value)}"'
        return f"{shown(value)} is not {nouns}", _REMEDIES.get(name, f"write {nouns}")
    if what == "enum":
        choices = [str(each) for each in wanted]
        hint = nearest(str(value), choices) or f"write one of {', '.join(choices)}"
        return f"{shown(value)} is not known here", hint
    if what in ("minLength", "minItems", "minProperties") and not value:
        return f"{shown(value)} is empty", _REMEDIES.get(name, "write something, or drop it")
    if what == "minimum":
        return f"{shown(value)} is below {wanted}", f"write {wanted} or more"
    if what == "maximum":
        return f"{shown(value)} is above {wanted}", f"write {wanted} or less"
    if what == "maxLength":
        return f"{shown(value)} is longer than {wanted} characters", "shorten it"
    if what == "pattern":
        remedy = _REMEDIES.get(name, f"write what matches {wanted}")
        return f"{shown(value)} cannot be used here", remedy
    if what == "minProperties" or what == "maxProperties":
        return f"{shown(value)} has the wrong number of fields", f"write {wanted} of them"
    return f"{shown(value)} cannot be used here", _REMEDIES.get(
        name, "see docs/reference/bundle.md"
    )


def _unknown(kind: str, path: Path, name: str, holder: Any) -> Fault:
    known = _field_names(kind) - set(holder)
    remedy = nearest(name, known) or "drop it, or see docs/reference/bundle.md for what is known"
    value = shown(holder.get(name))
    message = f"unknown field {shown(name)}"
    return Fault(path=path, message=message, rule="schema", remedy=remedy, value=value, key=name)


@cache
def _field_names(kind: str) -> frozenset[str]:
    """Every name of a field anywhere in documents of a kind."""
    names: set[str] = set()
    seen: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each)
        if not isinstance(node, dict):
            return
        if isinstance(node.get("properties"), dict):
            names.update(node["properties"])
        other = node.get("$ref")
        if isinstance(other, str) and other.partition("#")[0] not in seen | {""}:
            seen.add(other.partition("#")[0])
            walk(documents()[other.partition("#")[0]])
        for each in node.values():
            walk(each)

    walk(documents()[f"tidegate:/{kind}"])
    return frozenset(names)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
