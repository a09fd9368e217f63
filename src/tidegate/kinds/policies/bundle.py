"""What policies read of a bundle: Rollouts, and the Policies of the authors that they name.

Both are documents as a hub takes them, known by `apiVersion` and `kind`. A Policy is looked at only
if a Rollout names it: a bundle may hold others, which are not ours to judge.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tidegate.bundle.finding import DocumentFault, faults_of
from tidegate.bundle.leaf import Doc
from tidegate.bundle.places import DocumentPlace
from tidegate.bundle.section import BundleSection, Documents, DocumentType, Faults
from tidegate.kinds.policies.core.lint import check_policy
from tidegate.kinds.policies.core.names import OCM_POLICY, VERSION
from tidegate.kinds.policies.core.wave_lint import check_wave_policy
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.wire.hub_doc import author_policy
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout, read_policy_rollout
from tidegate.model.problem import Problems

_ROLLOUT, _POLICY = "policy-rollout", "ocm-policy"
_RULE = "policy"
_TWICE = "duplicate"
_HERE_IN_FILE = "policy"
Data = Mapping[str, Any]
_Found = tuple[DocumentPlace, Doc]


class FiledRollout(msgspec.Struct, frozen=True, kw_only=True):
    """A Rollout in a file, with its author's Policy if that is in a file as well."""

    document: dict[str, Any]
    # `file:line`.
    origin: str
    policy: dict[str, Any] | None = None
    # What is wrong with it, in words; empty: it can be used.
    faults: tuple[str, ...] = ()


class FiledRollouts(msgspec.Struct, frozen=True, kw_only=True):
    """Every Rollout of a bundle."""

    rollouts: tuple[FiledRollout, ...] = ()


def _check(data: Data) -> list[DocumentFault]:
    """What is wrong with a Rollout by itself."""
    problems = Problems()
    read_policy_rollout(data, problems)
    return list(faults_of(problems, (), _RULE))


def _read(documents: Documents, faults: Faults) -> FiledRollouts:
    policies: dict[tuple[str, str], _Found] = {}
    for place, doc in documents.of(_POLICY):
        if name := _name(doc.data):
            policies.setdefault(name, (place, doc))
    every = [
        (place, doc, read_policy_rollout(doc.data, Problems()))
        for place, doc in documents.of(_ROLLOUT)
        if doc.data is not None
    ]
    times = Counter(rollout.name for _, _, rollout in every)
    found: list[FiledRollout] = []
    for place, doc, rollout in every:
        mine: Faults = []
        is_wave = rollout.stage is StageWay.WAVES
        if times[rollout.name] > 1:
            mine.append((place, _declared_twice(rollout, times[rollout.name])))
        source = policies.get((rollout.source_namespace, rollout.source_name))
        if source is not None:
            mine += ((source[0], fault) for fault in _lint(source[1], rollout))
        faults += mine
        found.append(
            FiledRollout(
                document=doc.data or {},
                origin=place.where(doc, ("spec",)),
                # What waves enforce is on the hub itself.
                policy=None if source is None or is_wave else source[1].data,
                faults=tuple(f"{at.file}: {each.message}" for at, each in mine if _stops(each)),
            )
        )
    return FiledRollouts(rollouts=tuple(found))


def _declared_twice(rollout: PolicyRollout, times: int) -> DocumentFault:
    return DocumentFault(
        path=("spec", "policy"),
        message=f"{times} rollouts are declared for {rollout.name}",
        rule=_TWICE,
        remedy="keep one",
    )


def _lint(doc: Doc, rollout: PolicyRollout) -> list[DocumentFault]:
    problems, data = Problems(), doc.data or {}
    if rollout.stage is StageWay.WAVES:
        check_wave_policy(_HERE_IN_FILE, data, problems)
        for some in (problems.errors, problems.warnings):
            # The file is named anyway.
            some[:] = [replace(each, path=each.path.partition(": ")[2]) for each in some]
    else:
        check_policy(author_policy(data), problems, (rollout.namespace, rollout.policy))
    return list(faults_of(problems, (), _RULE))


def _stops(fault: DocumentFault) -> bool:
    return fault.severity == "error"


def _name(data: Data | None) -> tuple[str, str] | None:
    """The namespace and the name of a Policy; None: it has none, so that nothing names it."""
    metadata = (data or {}).get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance((data or {}).get("spec"), Mapping):
        return None
    name = metadata.get("namespace"), metadata.get("name")
    return (name[0], name[1]) if isinstance(name[0], str) and isinstance(name[1], str) else None


_HERE = Path(__file__).parent

POLICIES_SECTION = BundleSection(
    name="policies",
    types=(
        DocumentType(
            name=_ROLLOUT,
            noun="a Rollout of a policy",
            schemas=(f"{VERSION} Rollout",),
            lined=True,
            check=_check,
        ),
        DocumentType(name=_POLICY, noun="a Policy", schemas=(f"{OCM_POLICY}/v1 Policy",)),
    ),
    schemas=_HERE / "schemas",
    rules={_RULE: "A rollout of a policy, or a policy, that cannot be staged"},
    value=FiledRollouts,
    read=_read,
    programs=(
        *(_HERE / name for name in ("bundle.py", "schemas", "core", "wire")),
        *(_HERE.parent / "rollouts" / name for name in ("core", "wire")),
        _HERE.parents[1] / "gates",
    ),
)
