"""What cannot be enforced in waves, and why: refused before anything is written to a hub.

An error means that a cluster would be enforced before its turn, or could never prove that it is. A
warning has a safe meaning, and says what to expect.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.kinds.policies.core.difference import DEPTH_MAX
from tidegate.kinds.policies.core.names import LABEL_MAX, OCM_CLUSTER, STAGED, wave_name
from tidegate.kinds.policies.core.revision import Fields
from tidegate.model.problem import Problems, shown

# The one kind of which it is known that an evaluation under enforcement adds to its history.
ENFORCED_KIND = "ConfigurationPolicy"
_UNREACHABLE = f"{OCM_CLUSTER}/unreachable"
_HUB = "{{hub"


def check_wave_policy(where: str, policy: Fields, problems: Problems) -> None:
    """What is wrong with one policy that is to be enforced in waves."""
    notes = (policy.get("metadata") or {}).get("annotations") or {}
    spec = policy.get("spec") or {}
    if STAGED in notes:
        remedy = "hand it back first (`tidegate policies leave`)"
        problems.add(where, "its revisions are staged: what it has is looked up", remedy)
    action = str(spec.get("remediationAction") or "")
    if action.lower() == "enforce":
        problems.add(
            f"{where}: spec.remediationAction",
            "every cluster has it enforced already",
            "write inform; or let its revisions in with stage: staged",
        )
    elif action.lower() != "inform":
        what = f"{shown(action)}, so that each template's own counts" if action else "missing"
        problems.add(f"{where}: spec.remediationAction", what, "write inform")
    if spec.get("disabled"):
        problems.add(f"{where}: spec.disabled", "no cluster has the policy", "write false")
    if spec.get("dependencies"):
        problems.warn(
            f"{where}: spec.dependencies",
            "objects of this policy are deleted while a dependency is not met",
            "set pruneObjectBehavior: None, or drop them",
        )
    templates = spec.get("policy-templates") or ()
    if not templates:
        problems.add(f"{where}: spec.policy-templates", "missing", "write at least one template")
    for at, template in enumerate(templates):
        path = f"{where}: spec.policy-templates[{at}].objectDefinition"
        _check_template(path, template.get("objectDefinition") or {}, problems)


def check_wave_name(subject: str, problems: Problems) -> None:
    """What is wrong with the name of what goes together."""
    name = wave_name(subject)
    if len(name) > LABEL_MAX:
        what = f"{shown(name)} has {len(name)} characters, and is a label of decisions"
        problems.add("spec", what, f"a label has {LABEL_MAX}: shorten the name")


def check_tolerations(placement: Fields, problems: Problems) -> None:
    """Warn of a placement that takes the policy from clusters that are out of reach."""
    spec = placement.get("spec") or {}
    for each in spec.get("tolerations") or ():
        key = each.get("key")
        if key == _UNREACHABLE or (not key and each.get("operator") == "Exists"):
            return
    problems.warn(
        f"placement/{placement['metadata']['name']}: spec.tolerations",
        "a cluster that is unreachable for a moment loses the policy, and objects that are pruned "
        "with it",
        f"tolerate {_UNREACHABLE}",
    )


def _check_template(path: str, definition: Fields, problems: Problems) -> None:
    kind = definition.get("kind")
    if kind != ENFORCED_KIND:
        problems.add(
            f"{path}.kind",
            f"{shown(kind)} is not known to say when it was evaluated as enforced",
            f"only {ENFORCED_KIND} adds to its history then",
        )
    if not (definition.get("metadata") or {}).get("name"):
        problems.add(f"{path}.metadata.name", "missing", "name the template")
    spec = definition.get("spec") or {}
    if str(spec.get("remediationAction") or "").lower() == "informonly":
        problems.add(
            f"{path}.spec.remediationAction",
            "InformOnly is never enforced, and adds nothing to its history then",
            "put the template into a policy of its own",
        )
    if any(_HUB in text for text in _texts(spec)):
        problems.warn(
            f"{path}.spec",
            "what its hub templates look up is not part of the revision, and reaches every "
            "cluster at once",
            "write the value, or use a template of the managed cluster",
        )


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text in a value; what is deeper than a hub takes is not looked into."""
    if isinstance(value, str):
        yield value
    elif depth < DEPTH_MAX and isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner, depth + 1)
    elif depth < DEPTH_MAX and isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, depth + 1)
