"""Revisions of a policy: an author's Policy as immutable content, and the root that points at it.

A root Policy that is edited reaches every cluster at once. So the root is rendered once, and what
differs between revisions is looked up for each cluster by hub templates:

    root         the author's Policy; the spec of each template is a hub template
    revision     a ConfigMap NAME-rev-HASH, never changed, with one line of JSON for each template
    pointer      a ConfigMap for each cluster, with a key for each policy: the HASH it gets

Moving a pointer changes one policy on one cluster. What is not in the spec of a template (the
*frame*: names, kinds, dependencies, remediationAction) is in the root, and cannot be staged.

Compliance does not say what it is about, so that every revision is stamped: the message of each
template begins with `[rev HASH]`, before anything that could be cut off or be written by others.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.core.names import (
    CLUSTER_LABEL,
    OCM_POLICY,
    POLICY_LABEL,
    STAGED,
    full_name,
    pointer_map,
    revision_map,
)
from tidegate.model.json_text import decode_json

# A document as people and the hub write it.
Fields = Mapping[str, Any]

# 48 bits: in a million revisions of one policy two are alike with a chance of one in 500.
HASH_LENGTH = 12
# The message of a template is this, where its author wrote none.
DEFAULT_MESSAGE = "{{ .DefaultMessage }}"
# What the controller says first is by itself; the stamp follows at once.
_STAMPED = re.compile(
    r"(?:\(combined from similar events\): )?(?:[A-Za-z]+; )?"
    rf"\[rev ([0-9a-f]{{{HASH_LENGTH}}})\] "
)
_OWN = "customMessage"
_MESSAGES = ("compliant", "noncompliant")
# Line ends and marks that YAML sees where JSON sees letters.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


class AuthorPolicy(msgspec.Struct, frozen=True):
    """A Policy as its author wrote it."""

    namespace: str
    name: str
    spec: Fields
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    @property
    def templates(self) -> tuple[Fields, ...]:
        """The templates in their order, as they are written."""
        return tuple(self.spec.get("policy-templates") or ())


class Revision(msgspec.Struct, frozen=True):
    """The content of a policy. Two of the same name are the same."""

    name: str
    # The author's spec without the spec of its templates.
    frame: Fields
    # The spec of each template, in order.
    bodies: tuple[Fields, ...]

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of its templates."""
        return template_names(self.frame)

    @property
    def is_inform(self) -> bool:
        """Whether it changes nothing on clusters: NonCompliant is a legitimate end then."""
        action = self.frame.get("remediationAction")
        actions = [action] if action else [each.get("remediationAction") for each in self.bodies]
        return all(str(each or "inform").lower() == "inform" for each in actions)


def revision_of(spec: Fields) -> Revision:
    """The revision that a spec is: it depends on the content, not on the order of its fields."""
    bodies = tuple(_definition(each).get("spec") or {} for each in _templates(spec))
    return Revision(hash_of(spec), frame_of(spec), bodies)


def hash_of(value: Fields) -> str:
    """A name for a value; the order of its fields does not matter."""
    return hashlib.sha256(_canonical(value)).hexdigest()[:HASH_LENGTH]


def template_names(spec: Fields) -> tuple[str, ...]:
    """The names of the templates of a spec."""
    return tuple(_definition(each)["metadata"]["name"] for each in _templates(spec))


def spec_of(revision: Revision) -> dict[str, Any]:
    """The author's spec again."""
    templates = [
        {**each, "objectDefinition": {**_definition(each), "spec": body}}
        for each, body in zip(_templates(revision.frame), revision.bodies, strict=True)
    ]
    return {**revision.frame, "policy-templates": templates}


def revision_data(revision: Revision) -> dict[str, str]:
    """What the ConfigMap of a revision holds; the numbered keys are what clusters get."""
    data = {str(at): _line(stamped(body, revision.name)) for at, body in enumerate(revision.bodies)}
    # What stamping hides: the author's own messages, or none.
    messages = [[body[_OWN]] if _OWN in body else [] for body in revision.bodies]
    return data | {"frame": _line(revision.frame), "messages": _line(messages)}


def revision_object(namespace: str, policy: str, revision: Revision) -> dict[str, Any]:
    """The ConfigMap of a revision."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": namespace,
            "name": revision_map(policy, revision.name),
            "labels": {POLICY_LABEL: full_name(namespace, policy)},
        },
        "immutable": True,
        "data": revision_data(revision),
    }


def read_revision(document: Fields) -> Revision:
    """The revision in a ConfigMap; ValueError if it is not the one its name says."""
    name = str(document["metadata"]["name"]).rpartition("-")[2]
    data = document.get("data") or {}
    try:
        frame = decode_json(data["frame"], dict[str, Any])
        messages = decode_json(data["messages"], list[list[Any]])
        lines = [data[str(at)] for at in range(len(messages))]
        bodies = [decode_json(line, dict[str, Any]) for line in lines]
        plain = tuple(map(_with_message, bodies, messages))
        found = revision_of(spec_of(Revision(name, frame, plain)))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{document['metadata']['name']} holds no revision: {error}") from None
    if found.name != name:
        raise ValueError(f"{document['metadata']['name']} holds {found.name}: it was changed")
    return found


def stamped(body: Fields, revision: str) -> dict[str, Any]:
    """The spec of a template whose messages name the revision."""
    written = body.get(_OWN) or {}
    messages = {
        each: f"[rev {revision}] {written.get(each) or DEFAULT_MESSAGE}" for each in _MESSAGES
    }
    return {**body, _OWN: {**written, **messages}}


def stamp_in(message: str) -> str | None:
    """The revision that a message of compliance is about; None: it does not say."""
    found = _STAMPED.match(message)
    return found[1] if found else None


def root_object(policy: AuthorPolicy, frame: Fields, namespace: str, name: str) -> dict[str, Any]:
    """The root Policy: the frame, and for each template what looks its content up."""
    templates = [
        {**each, "objectDefinition": {**_definition(each), "spec": _lookup(name, at)}}
        for at, each in enumerate(_templates(frame))
    ]
    root = plain_object(policy, {**frame, "policy-templates": templates}, namespace, name)
    root["metadata"]["annotations"] = {**policy.annotations, STAGED: "true"}
    return root


def plain_object(policy: AuthorPolicy, spec: Fields, namespace: str, name: str) -> dict[str, Any]:
    """The root Policy with content of its own: how a policy is handed back."""
    metadata: dict[str, Any] = {"namespace": namespace, "name": name}
    if policy.labels:
        metadata["labels"] = dict(policy.labels)
    if policy.annotations:
        metadata["annotations"] = dict(policy.annotations)
    return {
        "apiVersion": f"{OCM_POLICY}/v1",
        "kind": "Policy",
        "metadata": metadata,
        "spec": dict(spec),
    }


def is_staged(root: Fields) -> bool:
    """Whether a root Policy looks its content up, whatever else it says of itself."""
    templates = _templates(root.get("spec") or {})
    name = str(root["metadata"]["name"])
    return bool(templates) and all(
        _definition(each).get("spec") == _lookup(name, at) for at, each in enumerate(templates)
    )


def frame_of(spec: Fields) -> dict[str, Any]:
    """What is in the root itself."""
    return {**spec, "policy-templates": [_without_body(each) for each in _templates(spec)]}


def pointer_head(namespace: str, cluster: str) -> dict[str, Any]:
    """The ConfigMap of a cluster's pointers, without them: each policy writes its own."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": namespace,
            "name": pointer_map(cluster),
            "labels": {CLUSTER_LABEL: cluster},
        },
    }


def _lookup(policy: str, at: int) -> str:
    """The hub template that a cluster's content is looked up with."""
    pointers = f'(printf "{pointer_map("%s")}" .ManagedClusterName)'
    pointer = f'(fromConfigMap "" {pointers} "{policy}")'
    content = f'(printf "{revision_map(policy, "%s")}" {pointer})'
    return f'{{{{hub fromConfigMap "" {content} "{at}" | toLiteral hub}}}}'


def _templates(spec: Fields) -> list[Fields]:
    return list(spec.get("policy-templates") or ())


def _definition(template: Fields) -> Fields:
    found: Fields = template.get("objectDefinition") or {}
    return found


def _without_body(template: Fields) -> dict[str, Any]:
    kept = {key: value for key, value in _definition(template).items() if key != "spec"}
    return {**template, "objectDefinition": kept}


def _with_message(body: Fields, message: list[Any]) -> dict[str, Any]:
    kept = {key: value for key, value in body.items() if key != _OWN}
    return {**kept, _OWN: message[0]} if message else kept


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _line(value: Any) -> str:
    """One line that JSON and YAML read alike."""
    text = _canonical(value).decode()
    return _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
