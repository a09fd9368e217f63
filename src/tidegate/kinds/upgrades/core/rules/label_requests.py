"""Labels that people requested: which are written now, and why others are not.

One option a holder, with all that is requested of it: its labels are written together, or wait
together. Nothing that was changed since the request is overwritten, and nothing is written that the
service would report as an error. Holds bind, as they bind agreements. Freezes, blocks, pins,
budgets and a pause do not: labels are declarations, and an owner must be able to fix them while
nothing is upgraded.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from tidegate.gates.ask import Ask, Purpose, say
from tidegate.gates.brakes import LISTS, Coverages
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.upgrades.core.labels.label_check import check
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER,
    ORGANISATION,
    HolderChange,
    LabelHolder,
)
from tidegate.kinds.upgrades.core.labels.label_requests import (
    LabelRequests,
    RequestedLabel,
    edits_text,
)
from tidegate.kinds.upgrades.core.reasons.label_reasons import LabelReason
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.brake_gates import HOLDS
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.rules.gates import lately
from tidegate.kinds.upgrades.core.rules.plan import recheck_of
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.model.plan import Action, ChangeKind, Option, Plan
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

_UNTOUCHED = verdict(LabelReason.LabelsUntouched)
_SOUND = verdict(LabelReason.LabelsSound)
# What a text says of a label that is not there.
_NOTHING = "not there"


class RequestedHolder(msgspec.Struct, frozen=True):
    """A holder with what is requested of its labels."""

    holder: LabelHolder
    labels: tuple[RequestedLabel, ...]
    # As tasks name it: a cluster by its external id, and as people call it: the name, and
    # where it alone would not tell which row it is, that id.
    target: str
    called: str
    # None: the labels are those of the organisation.
    cluster: ManagedCluster | None = None


class LabelRequestPlan(Plan, frozen=True, kw_only=True):
    """What is written of requested labels; positions are those of `holders`."""

    holders: tuple[RequestedHolder, ...]
    requests: LabelRequests


def label_plan(
    world: UpgradeWorld,
    requests: LabelRequests,
    now: Instant,
    unlabelled: tuple[ManagedCluster, ...] = (),
) -> LabelRequestPlan:
    """Which requested labels are written now, and why others are not.

    `unlabelled`: clusters without labels, which are no part of the world.
    """
    holders = tuple(_holders(world, requests, unlabelled))
    options = [
        Option(at, labels_step(each), tuple(_verdicts(world, requests, each, now)))
        for at, each in enumerate(holders)
    ]
    return LabelRequestPlan(
        options=options,
        actions=[
            Action(holders[each.target].target, each.change)
            for each in options
            if all_pass(each.verdicts)
        ],
        recheck_at=recheck_of(options, (), now),
        holders=holders,
        requests=requests,
    )


def labels_step(one: RequestedHolder) -> UpgradeStep:
    """The step that writes what is requested of one holder."""
    return UpgradeStep(
        kind=ChangeKind.APPLY,
        revision=edits_text(each.edit for each in one.labels),
        doing=StepKind.LABELS,
        ident=one.holder.kind,
    )


def _holders(
    world: UpgradeWorld, requests: LabelRequests, unlabelled: tuple[ManagedCluster, ...]
) -> Iterator[RequestedHolder]:
    clusters = {each.subscribed_as: each for each in (*unlabelled, *world.clusters)}
    first = {each.subscribed_as for each in unlabelled}
    rows = Counter(each.name for each in world.clusters)
    names = Counter(each.name for each in clusters.values())
    org = world.orgs[0]
    for holder, mine in requests.by_holder().items():
        cluster = clusters.get(holder.id) if holder.kind == CLUSTER else None
        if cluster is not None:
            # One without labels is no row: it is not to be taken for a row of its name.
            alone = (names if holder.id in first else rows)[cluster.name] == 1
            called = cluster.name if alone else f"{cluster.name} ({cluster.uuid})"
            yield RequestedHolder(holder, mine, cluster.uuid, called, cluster)
        elif holder.kind == ORGANISATION and holder.id == org.id:
            yield RequestedHolder(holder, mine, org.id, org.id)


def _verdicts(
    world: UpgradeWorld, requests: LabelRequests, one: RequestedHolder, now: Instant
) -> Iterator[Verdict]:
    asked = dict.fromkeys(each.request for each in one.labels)
    for each in (requests.requests[ident] for ident in asked):
        yield verdict(LabelReason.LabelsAsked, each.by, each.reason or "no reason is given")
    org, cluster = world.orgs[0], one.cluster
    if org.partial:
        yield verdict(UpgradeReason.OrgPartlyRead, org.partial)
    elif cluster is not None and cluster.uuid in world.unread:
        yield verdict(LabelReason.LabelsUnread, world.unread[cluster.uuid])
    yield from _moved(org.labels if cluster is None else cluster.labels, one)
    yield _soundness(world, one, now)
    yield from lately(world, one.target, labels_step(one), now)
    yield from _held(world, org, cluster, now)


def _moved(there: dict[str, str], one: RequestedHolder) -> Iterator[Verdict]:
    """Whether each label is as it was: what was changed meanwhile is not overwritten."""
    stale = [each for each in one.labels if there.get(each.edit.label) != each.edit.before]
    for each in stale:
        edit = each.edit
        facts = (_said(there.get(edit.label)), _said(edit.before), _said(edit.after))
        yield verdict(LabelReason.LabelMoved, edit.label, *facts)
    if not stale:
        yield _UNTOUCHED


def _said(value: str | None) -> str:
    return _NOTHING if value is None else value or '""'


def _soundness(world: UpgradeWorld, one: RequestedHolder, now: Instant) -> Verdict:
    """Whether the service would report what is requested as an error.

    What may be wrong with the labels of a cluster rests on them and on its organisation alone.
    """
    if one.cluster is not None:
        world = msgspec.structs.replace(world, clusters=(one.cluster,))
    change = HolderChange(one.holder, tuple(each.edit for each in one.labels))
    refused = check(world, (change,), now).refused
    return verdict(LabelReason.LabelsUnsound, "; ".join(refused)) if refused else _SOUND


def _held(
    world: UpgradeWorld, org: Organisation, cluster: ManagedCluster | None, now: Instant
) -> tuple[Verdict, ...]:
    """The holds on a cluster; those on an organisation are the ones that leave no cluster out."""
    brakes = msgspec.structs.replace(world.brakes, kind=KindOfChange.UPGRADES)
    if not any(getattr(brakes, field) for field in LISTS):
        return ()
    ask = Ask(
        purpose=Purpose.ROLL_OUT,
        now=now,
        revision="",
        version="",
        author=brakes.author,
        need=brakes.apply_time,
    )
    found: tuple[Verdict, ...] = ()
    for each in world.clusters if cluster is None else (cluster,):
        coverage = Coverages(brakes, {each.name: brake_labels(org, each)}).of(each.name)
        found = tuple(one for one in say(brakes, coverage, ask) if one.gate in HOLDS)
        if all(one.outcome is Outcome.PASS for one in found):
            break
    return found
