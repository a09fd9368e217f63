"""Placement lines: a placement and its clusters in, decision groups and PlacementDecisions out.

The placement is read as the hub holds it, so most of its fields are not read here; its
group strategy is read to the letter. A misconfigured one is refused as a whole: part of the
decisions would look like clusters that left, and clusters that left lose what runs on them.
"""

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tidegate.documents.line import fields_of
from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_selector
from tidegate.kinds.policies.core.placement import (
    DeclaredGroup,
    Placement,
    PlacementCluster,
    PlacementDecision,
    PlacementGroup,
    decisions,
    scheduler_groups,
    stable_groups,
)
from tidegate.model.errors import UserError
from tidegate.model.limit import Limit, parse_limit
from tidegate.model.problem import Problem, Problems, shown
from tidegate.model.selector import Selector

_LABEL = "cluster.open-cluster-management.io/"
# What the API takes as a group's name: two characters at least, 63 at most.
_GROUP_NAME = re.compile(r"[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]")
# What Kubernetes takes in a selector; anything else makes it refuse the selector.
_LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[a-zA-Z0-9]([-A-Za-z0-9_.]{0,61}[a-zA-Z0-9])?")
_LABEL_VALUE = re.compile(r"([a-zA-Z0-9]([-A-Za-z0-9_.]{0,61}[a-zA-Z0-9])?)?")


class Grouping(enum.Enum):
    """How clusters are grouped."""

    SCHEDULER = "scheduler"
    STABLE = "stable"


class ClusterIn(msgspec.Struct, frozen=True, gc=False):
    """A cluster, its labels, and the claims it makes about itself."""

    name: str
    labels: dict[str, str] | None = None
    claims: dict[str, str] | None = None


class PreviousIn(msgspec.Struct, frozen=True, gc=False):
    """A group as it was formed before."""

    index: int
    name: str = ""
    clusters: list[str] = []


class PlacementQuestion(msgspec.Struct, frozen=True):
    """A line that can be answered."""

    id: Any
    placement: Placement
    clusters: list[PlacementCluster]
    grouping: Grouping
    previous: list[PlacementGroup]
    warnings: tuple[Problem, ...]


class DecisionOut(msgspec.Struct, frozen=True):
    """One PlacementDecision."""

    name: str
    labels: dict[str, str]
    clusters: list[str]


class GroupOut(msgspec.Struct, frozen=True, rename="camel"):
    """One decision group, as a Placement's status shows it."""

    decision_group_index: int
    decision_group_name: str
    decisions: list[str]
    cluster_count: int


class PlacementAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The line out."""

    id: Any = msgspec.UNSET
    decisions: list[DecisionOut]
    groups: list[GroupOut]
    warnings: list[str] | msgspec.UnsetType = msgspec.UNSET


def reply(raw: bytes | Mapping[str, Any]) -> PlacementAnswer:
    """The answer to one line."""
    question = decode(raw)
    if question.grouping is Grouping.STABLE:
        groups = stable_groups(question.placement, question.clusters, question.previous)
    else:
        groups = scheduler_groups(question.placement, question.clusters)
    return answer(question, groups)


def decode(raw: bytes | Mapping[str, Any]) -> PlacementQuestion:
    """Read a whole line; UserError lists everything that is wrong with it."""
    problems = Problems()
    reader = Reader(fields_of(raw), "", problems)
    if not reader.has("clusters"):
        problems.add("clusters", "missing", "write a list of {name, labels, claims}")
    ident = reader.raw("id")
    placement = read_placement(reader.child("placement"))
    clusters = _clusters(reader.typed_list("clusters", ClusterIn), problems)
    grouping = reader.choice("grouping", Grouping, Grouping.SCHEDULER)
    previous = _previous(reader.typed_list("previous", PreviousIn), problems)
    if grouping is Grouping.STABLE:
        _warn_of_namesakes(placement, problems)
    elif previous:
        problems.warn("previous", "ignored", 'only the "stable" grouping remembers')
    reader.close(fatal=False)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return PlacementQuestion(
        ident, placement, clusters, grouping, previous, tuple(problems.warnings)
    )


def answer(question: PlacementQuestion, groups: Sequence[PlacementGroup]) -> PlacementAnswer:
    """The line out for the groups that were formed."""
    made = decisions(question.placement, groups)
    parts: dict[int, list[str]] = {group.index: [] for group in groups}
    for decision in made:
        parts[decision.group.index].append(decision.name)
    return PlacementAnswer(
        id=msgspec.UNSET if question.id is None else question.id,
        decisions=[_decision(question.placement, decision) for decision in made],
        groups=[
            GroupOut(group.index, group.name, parts[group.index], len(group.clusters))
            for group in groups
        ],
        warnings=[warning.text() for warning in question.warnings] or msgspec.UNSET,
    )


def read_placement(reader: Reader) -> Placement:
    """What a Placement says of groups; what is wrong with that is added to the problems."""
    metadata, spec = reader.child("metadata"), reader.child("spec")
    name = metadata.text("name")
    if name == "" or not metadata.has("name"):
        reader.problems.add(metadata.at("name"), "missing", "name the placement")
    chooser = spec.child("decisionStrategy")
    strategy = chooser.child("groupStrategy")
    declared = tuple(_declared(each) for each in strategy.children("decisionGroups"))
    per_group = _per_group(strategy)
    strategy.close()
    chooser.close()
    return Placement(name or "", declared, per_group, spec.whole("numberOfClusters"))


def _declared(reader: Reader) -> DeclaredGroup:
    name = reader.text("groupName")
    remedy = "write 2 to 63 letters, digits, -, _ or ., the first and last a letter or digit"
    if not reader.has("groupName"):
        reader.problems.add(reader.at("groupName"), "missing", remedy)
    elif name is not None and not _GROUP_NAME.fullmatch(name):
        reader.problems.add(reader.at("groupName"), f"{shown(name)} is no group name", remedy)
    selector = reader.child("groupClusterSelector")
    labels, claims = selector.child("labelSelector"), selector.child("claimSelector")
    if claims.has("matchLabels"):
        claims.problems.add(claims.at("matchLabels"), "not for claims", "use matchExpressions")
    group = DeclaredGroup(name or "", _selector(labels), _selector(claims))
    selector.close()
    reader.close()
    return group


def _selector(reader: Reader) -> Selector:
    selector = read_selector(reader)
    for each in selector.requirements:
        if each.key and not _LABEL_KEY.fullmatch(each.key):
            reader.problems.add(reader.path, f"{shown(each.key)} is not a label's name", "fix it")
        for value in sorted(each.values):
            if not _LABEL_VALUE.fullmatch(value):
                what = f"{each.key}: {shown(value)} cannot be a label's value"
                reader.problems.add(reader.path, what, "fix it")
    return selector


def _warn_of_namesakes(placement: Placement, problems: Problems) -> None:
    for name in _twice(each.name for each in placement.declared):
        path = "placement.spec.decisionStrategy.groupStrategy.decisionGroups"
        problems.warn(path, f"{shown(name)} is listed more than once", "they share their groups")


def _per_group(reader: Reader) -> Limit:
    """A mistake here would cut groups anew and move clusters, so nothing is guessed."""
    name = "clustersPerDecisionGroup"
    value = reader.raw(name)
    if value is None:
        return Limit(100, percent=True)
    try:
        limit = parse_limit(value)
        if limit.amount > 0:
            return limit
        wrong = "no cluster a group"
    except ValueError as error:
        wrong = str(error)
    remedy = 'write a whole number of 1 or more, or a percentage from "1%" to "100%"'
    reader.problems.add(reader.at(name), f"{shown(value)} is {wrong}", remedy)
    return Limit(100, percent=True)


def _clusters(found: list[ClusterIn], problems: Problems) -> list[PlacementCluster]:
    for name in _twice(one.name for one in found):
        problems.add("clusters", f"{shown(name)} is listed more than once", "list it once")
    if any(not one.name for one in found):
        problems.add("clusters", "a cluster without a name", "name it or drop it")
    return [PlacementCluster(one.name, one.labels or {}, one.claims or {}) for one in found]


def _previous(found: list[PreviousIn], problems: Problems) -> list[PlacementGroup]:
    for name in _twice(name for one in found for name in set(one.clusters)):
        problems.add("previous", f"{shown(name)} is in more than one group", "put it in one")
    indexes = sorted(one.index for one in found)
    if indexes != list(range(len(found))):
        problems.add(
            "previous",
            f"the indexes are {shown(indexes)}, not 0, 1, 2 and so on",
            "give all groups of the last answer, the empty ones too",
        )
    return [
        PlacementGroup(one.name, one.index, tuple(dict.fromkeys(one.clusters))) for one in found
    ]


def _twice(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _decision(placement: Placement, decision: PlacementDecision) -> DecisionOut:
    labels = {
        f"{_LABEL}decision-group-index": str(decision.group.index),
        f"{_LABEL}decision-group-name": decision.group.name,
        f"{_LABEL}placement": placement.name,
    }
    return DecisionOut(decision.name, labels, list(decision.clusters))
