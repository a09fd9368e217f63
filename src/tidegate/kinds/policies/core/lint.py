"""What cannot be staged, and why: refused before anything is written to a hub.

An error means that some cluster would get content before its turn, lose objects, or never be able
to say which revision it runs. A warning has a safe meaning, and says what to expect.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.kinds.policies.core.difference import DEPTH_MAX, differences
from tidegate.kinds.policies.core.names import FULL_NAME_MAX, full_name
from tidegate.kinds.policies.core.revision import (
    AuthorPolicy,
    Fields,
    frame_of,
    revision_data,
    revision_of,
)
from tidegate.model.problem import Problems, shown

# What the API server takes in one ConfigMap.
MAP_BYTES_MAX = 1 << 20
# The one kind whose messages can be stamped.
STAMPED_KIND = "ConfigurationPolicy"
_TEMPLATES = "spec.policy-templates"
_ENCRYPTED = "$ocm_encrypted:"
_HUB = "{{hub"


def check_policy(policy: AuthorPolicy, problems: Problems, root: tuple[str, str]) -> None:
    """What is wrong with one revision by itself, to be staged as the root of a namespace, name."""
    name = full_name(*root)
    if len(name) > FULL_NAME_MAX:
        problems.add(
            "metadata.name",
            f"{shown(name)} has {len(name)} characters, and replicas are called so",
            f"namespace and name may have {FULL_NAME_MAX} with the dot between them",
        )
    if not policy.templates:
        problems.add(_TEMPLATES, "missing", "write at least one template")
    for at, template in enumerate(policy.templates):
        _check_template(f"{_TEMPLATES}[{at}].objectDefinition", template, problems)
    _check_names(policy, problems)
    if policy.spec.get("dependencies"):
        problems.warn(
            "spec.dependencies",
            "objects of this policy are deleted while a dependency is not met",
            "set pruneObjectBehavior: None, or drop them",
        )
    if not problems.errors:
        _check_size(policy, problems)


def check_change(before: Fields, after: Fields, problems: Problems) -> None:
    """What differs between two specs that is in the root itself, and so reaches all at once."""
    old, new = frame_of(before), frame_of(after)
    count, then = len(new["policy-templates"]), len(old["policy-templates"])
    if count != then:
        problems.add(
            _TEMPLATES,
            f"{count} templates where there were {then}",
            "keep their number, or give the policy back first (`tidegate policies leave`)",
        )
        return
    for each in differences(old, new, "spec"):
        problems.add(
            each.path,
            "differs from the revision before, and would reach every cluster at once",
            "change only the spec of templates, or give the policy back first",
        )


def _check_template(path: str, template: Fields, problems: Problems) -> None:
    definition: Fields = template.get("objectDefinition") or {}
    kind = definition.get("kind")
    if kind != STAMPED_KIND:
        problems.add(
            f"{path}.kind",
            f"{shown(kind)} cannot say which revision it is compliant with",
            f"only {STAMPED_KIND} has a customMessage to say it in; keep others in a policy of "
            "their own",
        )
    body = definition.get("spec")
    if not isinstance(body, Mapping) or not body:
        problems.add(f"{path}.spec", "missing", "write what the template wants")
        return
    for where, text in _texts(body, f"{path}.spec", problems):
        if _HUB in text:
            problems.add(
                where,
                "a hub template inside a revision is not resolved, and not reported",
                "write the value, or use a template of the managed cluster",
            )
        if _ENCRYPTED in text:
            problems.add(
                where,
                "an encrypted value is good for one cluster only",
                "use a template of the managed cluster (fromSecret)",
            )
    written = body.get("customMessage")
    if written is not None and not isinstance(written, Mapping):
        problems.add(f"{path}.spec.customMessage", f"{shown(written)} is not an object")
    if str(body.get("pruneObjectBehavior") or "None") != "None":
        problems.warn(
            f"{path}.spec.pruneObjectBehavior",
            "an object that a revision no longer names is deleted, even where the one that takes "
            "its place cannot be created",
            "keep names and namespaces of objects, or write None",
        )


def _check_names(policy: AuthorPolicy, problems: Problems) -> None:
    definitions = [each.get("objectDefinition") or {} for each in policy.templates]
    names = [(each.get("metadata") or {}).get("name") for each in definitions]
    for at, name in enumerate(names):
        if not isinstance(name, str) or not name:
            path = f"{_TEMPLATES}[{at}].objectDefinition.metadata.name"
            problems.add(path, "missing", "name the template")
    for name, count in Counter(each for each in names if isinstance(each, str)).items():
        if count > 1:
            problems.add(_TEMPLATES, f"{count} templates are called {shown(name)}", "name them")


def _check_size(policy: AuthorPolicy, problems: Problems) -> None:
    data = revision_data(revision_of(policy.spec))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in data.items())
    if size > MAP_BYTES_MAX:
        problems.add(
            "spec",
            f"a revision takes {size} bytes",
            f"a ConfigMap holds {MAP_BYTES_MAX}: divide the policy",
        )


def _texts(value: Any, path: str, problems: Problems, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in a value and every key, with its place."""
    if depth > DEPTH_MAX:
        problems.add(path, f"deeper than {DEPTH_MAX} levels", "a hub does not take it")
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield path, str(key)
            yield from _texts(inner, f"{path}.{key}", problems, depth + 1)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{at}]", problems, depth + 1)
