"""What is written in labels and cannot be meant so: mistakes, lists with holes, names that are
almost alike."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.kinds.upgrades.core.declared.label_error import LabelError
from tidegate.kinds.upgrades.core.declared.patterns import is_found
from tidegate.kinds.upgrades.core.labels.label_edit import (
    BLOCKED,
    CLUSTER_LABELS,
    INHERIT,
    ORG_LABELS,
    PUBLISH,
)
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL
from tidegate.kinds.upgrades.core.lint.findings import LintFinding, names
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.model.problem import nearest

# Lists of a cluster; blocked versions are patterns, in which a blank may be meant.
_CLUSTER_LISTS = ("workloads", "mutexes", "version-gate-approvals")
_ORG_LISTS = (INHERIT, PUBLISH, "version-gate-approvals")
_OF_SECTORS = (SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL)
# Versions as unlike as can be: a pattern found in all of them lets none through.
_ANY_VERSION = ("0.0.0", "4.12.17", "4.21.3-rc.2", "9.8.7", "11.20.33")
_CODES = {"sector": "unknown-sector", INHERIT: "unverified-inheritance"}


class LintOwner(msgspec.Struct, frozen=True):
    """Whose labels are looked at."""

    env: str
    org: str
    cluster: str = ""
    labels: Mapping[str, str] = {}

    def found(self, code: str, label: str, message: str, remedy: str) -> LintFinding:
        """Something that is found in one of them."""
        return LintFinding(
            code=code,
            env=self.env,
            org=self.org,
            cluster=self.cluster,
            label=label,
            value=self.labels.get(label, ""),
            message=message,
            remedy=remedy,
        )


def owner_of(fleet: OrganisationFleet, member: FleetMember | None = None) -> LintOwner:
    """The organisation, or one of its clusters."""
    if member is None:
        return LintOwner(fleet.org.env, fleet.org.id, "", fleet.org.labels)
    return LintOwner(fleet.org.env, fleet.org.id, member.called, member.cluster.labels)


def written(fleet: OrganisationFleet) -> Iterator[LintFinding]:
    """Everything that the labels of an organisation and its clusters say for themselves."""
    org = owner_of(fleet)
    yield from _complaints(org, fleet.label_errors)
    yield from _blocks(org, fleet.org_policy.blocked)
    yield from _items(org, (*_ORG_LISTS, *_sector_lists(org.labels)))
    yield from _of_the_org(org, fleet)
    for member in fleet.members:
        owner = owner_of(fleet, member)
        yield from _complaints(owner, member.label_errors)
        yield from _unknown(owner, CLUSTER_LABELS)
        yield from _blocks(owner, member.policy.blocked)
        yield from _items(owner, _CLUSTER_LISTS)
    yield from _alike(fleet)
    yield from _lonely(fleet)


def _complaints(owner: LintOwner, label_errors: Iterable[LabelError]) -> Iterator[LintFinding]:
    for each in label_errors:
        message, _, remedy = each.words.partition("; ")
        code = _CODES.get(each.label, "label")
        if each.label.startswith(SECTOR_DEPENDENCIES):
            code = "sector-circle"
        yield owner.found(code, each.label, message, remedy)


def _of_the_org(org: LintOwner, fleet: OrganisationFleet) -> Iterator[LintFinding]:
    sectors = [each for each in org.labels if each.startswith(_OF_SECTORS)]
    yield from _unknown(org, (*ORG_LABELS, *sectors))
    if fleet.org.id in _split(org.labels.get(INHERIT, "")):
        remedy = f"take {fleet.org.id} out of the list"
        yield org.found("self-inheritance", INHERIT, "names the organisation itself", remedy)
    for sector, limit in sorted(fleet.org_policy.limits.items()):
        there = [each.called for each in fleet.members if each.sector == sector]
        if not limit.amount and there:
            remedy = "raise it, or drop the label for no limit"
            message = f"lets no cluster of sector {sector} be upgraded: {names(there)}"
            yield org.found("sector-closed", f"{SECTOR_MAX_PARALLEL}{sector}", message, remedy)


def _unknown(owner: LintOwner, known: Iterable[str]) -> Iterator[LintFinding]:
    every = tuple(known)
    for label in sorted(owner.labels.keys() - set(every)):
        remedy = nearest(label, every) or "drop it"
        yield owner.found("unknown-label", label, "unknown label, ignored", remedy)


def _blocks(owner: LintOwner, patterns: Iterable[str]) -> Iterator[LintFinding]:
    for pattern in patterns:
        if all(is_found(pattern, each) for each in _ANY_VERSION):
            message = f'"{pattern}" is found in every version, so nothing is ever upgraded'
            remedy = r"name the versions, as ^4\.13\., or put a hold or a freeze on"
            yield owner.found("blocks-everything", BLOCKED, message, remedy)


def _sector_lists(labels: Mapping[str, str]) -> list[str]:
    return [label for label in labels if label.startswith(SECTOR_DEPENDENCIES)]


def _split(value: str) -> list[str]:
    return [each.strip() for each in value.split(",")] if value.strip() else []


def _items(owner: LintOwner, labels: Iterable[str]) -> Iterator[LintFinding]:
    """Holes, repetitions and blanks in lists."""
    for label in (*labels, BLOCKED):
        value = owner.labels.get(label, "")
        items = value.split(",") if value.strip() else []
        read = [each.strip() for each in items]
        clean = ",".join(dict.fromkeys(each for each in read if each))
        remedy = f'write "{clean}"'
        if "" in read:
            message = f'an item of "{value}" is empty; AUS takes it for a name'
            yield owner.found("phantom-item", label, message, remedy)
        twice = sorted({each for each in read if each and read.count(each) > 1})
        if twice:
            message = f"{names(twice)} stands in it twice, and counts once"
            yield owner.found("phantom-item", label, message, remedy)
        if label != BLOCKED and [each for each in items if each.strip() and each != each.strip()]:
            message = f'"{value}" has blanks around its items, which AUS keeps'
            yield owner.found("blank-item", label, message, remedy)


def _alike(fleet: OrganisationFleet) -> Iterator[LintFinding]:
    """Workloads, mutexes and sectors that look like one to a reader, and are two."""
    kinds: dict[str, dict[str, list[FleetMember]]] = {"workloads": {}, "mutexes": {}}
    for member in fleet.members:
        for label, items in (
            ("workloads", member.policy.workloads or ()),
            ("mutexes", member.mutexes),
        ):
            for each in items:
                kinds[label].setdefault(each, []).append(member)
    for label, having in kinds.items():
        likes: dict[str, list[str]] = {}
        for name in having:
            likes.setdefault("".join(name.split()).casefold(), []).append(name)
        for several in likes.values():
            # The name that most have is meant; of two as frequent, the one that comes first.
            meant, *others = sorted(several, key=lambda each: (-len(having[each]), each))
            for other in others:
                theirs = names(each.called for each in having[meant])
                for member in having[other]:
                    message = f'"{other}" is another than the "{meant}" of {theirs}'
                    remedy = f'write "{meant}" if it is meant'
                    yield owner_of(fleet, member).found("alike-names", label, message, remedy)


def _lonely(fleet: OrganisationFleet) -> Iterator[LintFinding]:
    having: dict[str, list[FleetMember]] = {}
    for member in fleet.members:
        for mutex in member.mutexes:
            having.setdefault(mutex, []).append(member)
    shared = [mutex for mutex, members in having.items() if len(members) > 1]
    for mutex, members in having.items():
        if len(members) == 1:
            remedy = (
                nearest(mutex, shared) or "drop it, or give it to the clusters it should exclude"
            )
            message = f'no other cluster has mutex "{mutex}", so it excludes none'
            yield owner_of(fleet, members[0]).found("lonely-mutex", "mutexes", message, remedy)
