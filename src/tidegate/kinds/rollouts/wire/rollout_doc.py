"""A rollout document: one line of `decide rollout`, or a saved state for `why`, as a typed world.

The format is described in docs/reference/lines.md. Whatever is wrong with a document is found in
one go: a world comes back only if nothing is.
"""

from typing import Any

import msgspec

from tidegate.documents.brake_doc import IN_DOCUMENT, read_brakes
from tidegate.documents.calendar_doc import Files, stretch_from
from tidegate.documents.reader import INSTANT_REMEDY, Reader
from tidegate.gates.brakes import Brakes
from tidegate.kinds.rollouts.core.strategy import Approvals, Retry, Rollout
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest, shown
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant, parse_instant

_STATUSES = {status.name: status for status in Status if status is not Status.Unknown}
_STATUSES["InProgress"] = Status.Progressing  # the design documents' word for it


class StatusDoc(msgspec.Struct, gc=False, rename="camel"):
    """What one cluster reports."""

    cluster: str
    status: str
    last_transition_time: str | None = None
    revision: str | None = None


class DecisionGroupDoc(msgspec.Struct, gc=False, rename="camel"):
    """One decision group."""

    index: int
    name: str = ""
    clusters: list[str] = []
    cluster_count: int | None = None


class ClusterLabelsDoc(msgspec.Struct, gc=False):
    """One cluster's labels."""

    name: str
    labels: dict[str, str] = {}


class RolloutReading(msgspec.Struct, frozen=True):
    """A document that can be decided on."""

    id: Any
    now: Instant
    world: RolloutWorld
    warnings: tuple[Problem, ...]


def read_rollout(
    document: object, *, now: Instant | None = None, files: Files | None = None
) -> RolloutReading:
    """Read a whole document; UserError lists everything that is wrong with it.

    `now` stands in for a document that does not say when it was taken; `files` reads what it
    names beside itself.
    """
    problems = Problems()
    reader = Reader(document, "", problems)
    if not isinstance(document, dict):
        problems.add("", "not an object", "write groups, strategy and now")
    ident = reader.raw("id")
    taken_at = reader.instant("now")
    if taken_at is None and now is None and not reader.has("now"):
        problems.add("now", "missing", INSTANT_REMEDY)
    if not reader.has("strategy"):
        problems.add("strategy", "missing", 'write at least {"type": "All"}')
    moment = (taken_at if taken_at is not None else now) or Instant(0)
    brakes = None
    if reader.has("brakes"):
        stretch = stretch_from(moment)
        brakes = read_brakes(reader.child("brakes"), stretch, files, lift=IN_DOCUMENT)
    world = _world(reader, problems, brakes)
    reader.close(fatal=False)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return RolloutReading(ident, moment, world, tuple(problems.warnings))


def _world(reader: Reader, problems: Problems, brakes: Brakes | None) -> RolloutWorld:
    strategy = read_strategy(reader.child("strategy"))
    memberships = _memberships(reader, problems)
    revision = reader.text("revision")
    statuses = _statuses(reader, problems, revision)
    labels = {one.name: one.labels for one in reader.typed_list("clusters", ClusterLabelsDoc)}
    rollout = _rollout(reader.child("rollout"))
    unclear = rollout.completed and rollout.revision is None and revision is not None
    if unclear and rollout.last_good not in (None, revision):
        problems.warn(
            "rollout.lastGood",
            f"the rollout of {shown(revision)} is completed, but the last good revision is "
            f"{shown(rollout.last_good)}",
            "targets that join get it; write completed: false to roll out the declared one",
        )
    known = {one.name for one in memberships if one.name}
    for name in sorted(rollout.approvals.groups - known):
        problems.warn("rollout.approvals.groups", f"no group {shown(name)}", nearest(name, known))
    return build_world(
        strategy,
        memberships,
        statuses,
        problems=problems,
        labels=labels,
        revision=revision,
        rollout=rollout,
        complete=reader.flag("complete", True),
        brakes=brakes,
    )


def _memberships(reader: Reader, problems: Problems) -> list[Membership]:
    if not reader.has("placements"):
        if not reader.has("groups"):
            problems.add("groups", "missing", "write a list of {name, index, clusters}")
        return _groups(reader, "", problems)
    if reader.has("groups"):
        problems.add("groups", "given together with placements", "write one of the two")
    found: list[Membership] = []
    names: set[str] = set()
    for each in reader.children("placements"):
        name = each.text("name")
        if not name or name in names:
            what = f"{shown(name)} is listed twice" if name else "missing"
            problems.add(each.at("name"), what, "give each placement a name of its own")
        names.add(name or "")
        found += _groups(each, name or "", problems)
        each.close()
    return found


def _groups(reader: Reader, placement: str, problems: Problems) -> list[Membership]:
    found: list[Membership] = []
    for i, one in reader.typed_items("groups", DecisionGroupDoc):
        path = f"{reader.at('groups')}[{i}]"
        if one.index < 0:
            problems.add(f"{path}.index", f"{one.index} is negative", "write 0 or more")
        if "" in one.clusters:
            problems.add(f"{path}.clusters", "holds an empty name", "name the cluster or drop it")
        members = tuple(one.clusters)
        found.append(Membership(one.name, one.index, members, placement, one.cluster_count))
    return found


def _statuses(reader: Reader, problems: Problems, revision: str | None) -> list[Target]:
    found: list[Target] = []
    labelled = None
    for i, one in reader.typed_items("statuses", StatusDoc):
        since: Instant | None = None
        if one.last_transition_time is not None:
            try:
                since = parse_instant(one.last_transition_time)
            except ValueError as error:
                path = f"statuses[{i}].lastTransitionTime"
                problems.add(path, f"{shown(one.last_transition_time)}: {error}", INSTANT_REMEDY)
        if not one.cluster:
            problems.warn(f"statuses[{i}].cluster", "empty", "ignored: it names no cluster")
            continue
        if one.revision is not None and labelled is None:
            labelled = i
        status = _STATUSES.get(one.status)
        if status is None:
            found.append(Target(one.cluster, Status.Unknown, since, one.revision, word=one.status))
        else:
            found.append(Target(one.cluster, status, since, one.revision))
    if labelled is not None and revision is None:
        problems.add(
            "revision",
            f"missing, but statuses[{labelled}] names the revision it speaks of",
            "write the revision that is rolled out",
        )
    return found


def _rollout(reader: Reader) -> Rollout:
    uid, version = reader.text("uid"), reader.text("version")
    approvals = reader.child("approvals")
    rollout = Rollout(
        uid=uid,
        version=version,
        revision=reader.text("revision"),
        completed=reader.flag("completed"),
        paused=reader.flag("paused"),
        aborted=reader.flag("aborted"),
        last_good=reader.text("lastGood"),
        approvals=Approvals(
            frozenset(approvals.texts("groups")),
            approvals.flag("ungrouped"),
            approvals.text("forVersion"),
        ),
        restarted=reader.flag("restarted"),
        **_retry(reader.child("retry"), uid),
    )
    approvals.close()
    reader.close()
    return rollout


def _retry(reader: Reader, uid: str | None) -> dict[str, Any]:
    """A retry names the rollout it is for, so that it is taken up once and only for that one."""
    failed_only, group = reader.flag("failedOnly"), reader.text("group")
    wanted = reader.text("uid")
    reader.close()
    if (wanted is not None and wanted != uid) or (wanted is None and not failed_only):
        return {}
    what = Retry.FAILED if failed_only else Retry.EVERYTHING
    return {"retry_groups": {group: what}} if group else {"retry": what}
