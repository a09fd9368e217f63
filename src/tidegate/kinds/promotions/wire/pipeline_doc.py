"""A `Pipeline` document: what is promoted by itself, and under which conditions.

    $schema: /tidegate/pipeline-1.yml
    name: payments
    saasFiles: ["saas-payments*"]
    channels: ["payments-*"]
    soak: continuous
    timeZone: Europe/Prague
    mergeRequests: {batch: 5, labels: [auto-promotion], priority: "bot/approved: high"}
    evidence: {runs: 3, named: [load-test]}
    trust: {promotions: 5, quorum: 1, people: [user:ada, user:bob]}
    quarantine: {role: operator}
    hotfix: {skips: [soak, schedule], owner: user:ada}

Only `name` is needed: without the rest, it moves every subscriber of the bundle.
"""

from tidegate.access.roles import Right, Role
from tidegate.documents.reader import Reader
from tidegate.kinds.promotions.core.channels.model import SkippableGate, SoakRule
from tidegate.kinds.promotions.core.channels.pipeline import (
    BATCH_MAX,
    OPERATOR,
    EvidenceRule,
    Pipeline,
    TrustRule,
)
from tidegate.kinds.promotions.core.channels.window import is_zone
from tidegate.model.problem import Problems, nearest_or_all, shown

PIPELINE_SCHEMA = "/tidegate/pipeline-1.yml"
_ANY = ("*",)


def read_pipeline(data: object, problems: Problems, where: str = "") -> Pipeline:
    """The pipeline a document declares; its problems are collected on the way."""
    reader = Reader(data, "", problems)
    for name in ("$schema", "labels", "description"):
        reader.raw(name)
    requests, hotfix = reader.child("mergeRequests"), reader.child("hotfix")
    found = Pipeline(
        name=_name(reader),
        saas=tuple(reader.texts("saasFiles")) or _ANY,
        channels=tuple(reader.texts("channels")) or _ANY,
        soak_rule=reader.choice("soak", SoakRule, SoakRule.CONTINUOUS),
        zone=_zone(reader),
        batch_max=_at_least(requests, "batch", BATCH_MAX, 1),
        labels=tuple(requests.texts("labels")),
        priority=requests.text("priority") or "",
        evidence=_evidence(reader.child("evidence")),
        trust=_trust(reader.child("trust")),
        quarantine_role=_role(reader.child("quarantine")),
        hotfix_skips=_skips(hotfix),
        hotfix_owner=_owner(hotfix),
        where=where,
    )
    for each in (requests, hotfix, reader):
        each.close()
    return found


def _name(reader: Reader) -> str:
    name = reader.text("name") or ""
    if not name:
        reader.problems.add(reader.at("name"), "missing", "name it like what it moves")
    return name


def _zone(reader: Reader) -> str:
    zone = reader.text("timeZone") or ""
    if not is_zone(zone):
        what = f"{shown(zone)} is no time zone"
        reader.problems.add(reader.at("timeZone"), what, "write one like Europe/Prague")
    return zone


def _evidence(reader: Reader) -> EvidenceRule:
    found = EvidenceRule(
        runs=_at_least(reader, "runs", 0, 0), named=tuple(dict.fromkeys(reader.texts("named")))
    )
    reader.close()
    return found


def _trust(reader: Reader) -> TrustRule:
    found = TrustRule(
        promotions=_at_least(reader, "promotions", 0, 0),
        quorum=_at_least(reader, "quorum", 1, 1),
        people=tuple(reader.texts("people")),
    )
    if found.people and len(set(found.people)) < found.quorum:
        what = f"{len(set(found.people))} people cannot give {found.quorum} approvals"
        reader.problems.add(reader.at("people"), what, "name more people, or ask for fewer")
    reader.close()
    return found


def _role(reader: Reader) -> str:
    role = reader.text("role") or OPERATOR
    known = [each.value for each in Role if Right.APPROVE in each.rights]
    if role not in known:
        remedy = nearest_or_all(role, known)
        reader.problems.add(reader.at("role"), f"{shown(role)} cannot lift anything", remedy)
    reader.close()
    return role


def _skips(reader: Reader) -> tuple[SkippableGate, ...]:
    known = {each.value: each for each in SkippableGate}
    found: dict[SkippableGate, None] = {}
    for name in reader.texts("skips"):
        if name in known:
            found[known[name]] = None
            continue
        remedy = nearest_or_all(name, list(known))
        reader.problems.add(reader.at("skips"), f"{shown(name)} cannot be skipped", remedy)
    return tuple(found)


def _owner(reader: Reader) -> str:
    owner = reader.text("owner") or ""
    if reader.texts("skips") and not owner:
        reader.problems.add(reader.at("owner"), "missing", "name the person who answers for it")
    return owner


def _at_least(reader: Reader, name: str, default: int, least: int) -> int:
    found = reader.whole(name)
    if found is None:
        return default
    if found < least:
        reader.problems.add(reader.at(name), f"{found} is less than {least}", f"write {least}")
        return default
    return found
