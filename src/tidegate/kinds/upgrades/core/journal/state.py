"""The state of one organisation's upgrades: a fold over its facts, from which its world is built.

Soak is worked out here and nowhere else: every look at the clusters is a fact, and what counts
between two of them is added up (`kinds/upgrades/core/rules/soak.py`). What was asked of OpenShift
Cluster Manager and answered counts as there until the next look says otherwise.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes
from tidegate.journal.answers import answered
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, Asked, Bound, Folded, Mode, TaskOutcome, Told, Verb
from tidegate.kinds.upgrades.core.history import Minima, SoakHistory
from tidegate.kinds.upgrades.core.journal.facts import (
    Imported,
    Job,
    LabelsRequested,
    Planned,
    SoakDoc,
    SoakSample,
    Standpoint,
    Surveyed,
)
from tidegate.kinds.upgrades.core.journal.label_state import (
    LABEL_STEPS,
    labels_written,
    request_labels,
    settle_labels,
)
from tidegate.kinds.upgrades.core.journal.past import history_of, patched
from tidegate.kinds.upgrades.core.labels.label_requests import LabelRequests
from tidegate.kinds.upgrades.core.refusal import OcmRefusal, what_of
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger, SoakObservation, SoakSnapshot
from tidegate.kinds.upgrades.core.rules.soak import fold as soaked
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import (
    ClusterAddon,
    ClusterPool,
    ManagedCluster,
    MinorGate,
    OcmUpgrade,
    Organisation,
    UpgradeWorld,
    with_addon,
)
from tidegate.model.json_text import decode_json, json_decoder
from tidegate.model.time import SECOND, Duration, Instant, format_second

# What was told is forgotten after so long: it is told once a day.
TOLD_KEPT = Duration(2 * 24 * 3600 * SECOND)


class UpgradeState(msgspec.Struct):
    """What is known of one organisation. Mutable: a fold over many facts makes one, not many."""

    org: Organisation | None = None
    rules: RuleSet = RuleSet.STRICT
    others: tuple[Organisation, ...] = ()
    gates: tuple[MinorGate, ...] = ()
    clusters: dict[str, ManagedCluster] = {}
    unread: dict[str, str] = {}
    health_fails: bool = False
    ends: dict[str, Instant] = {}
    seen: dict[str, SoakSample] = {}
    minima: Minima | None = None
    ledger: SoakLedger = SoakLedger()
    # Of add-ons, by their ids.
    addon_minima: dict[str, Minima] = {}
    addon_ledgers: dict[str, SoakLedger] = {}
    # What AUS would have kept; None: its rules never decided here.
    history: SoakHistory | None = None
    # Decided and without an outcome, by key.
    jobs: dict[str, Job] = {}
    # When something was last done to a cluster: a look that began before does not show it.
    done_at: dict[str, Instant] = {}
    # By cluster, then what was asked for.
    refused: dict[str, dict[str, OcmRefusal]] = {}
    stands: dict[str, Standpoint] = {}
    told: dict[str, Instant] = {}
    brakes: Brakes | None = None
    surveyed_at: Instant | None = None
    planned_at: Instant | None = None
    recheck_at: Instant | None = None
    # Whether a person paused the organisation: nothing new starts.
    paused: bool = False
    # What people answered at approval gates, by gate.
    responses: dict[str, tuple[Response, ...]] = {}
    # Labels that people requested and that are not written yet.
    requested: LabelRequests = LabelRequests()
    # Clusters without labels, which may be requested.
    unlabelled: dict[str, ManagedCluster] = {}


def fold(state: UpgradeState, at: Instant, fact: Fact, actor: str) -> UpgradeState:
    """Take one fact into account; facts that are not about upgrades change nothing."""
    if isinstance(fact, Folded):
        return decode(fact.state)
    if isinstance(fact, Asked):
        _person_asked(state, at, fact, actor)
        return state
    if isinstance(fact, LabelsRequested):
        request_labels(state, at, fact, actor)
        return state
    step = _STEPS.get(type(fact))
    if step is not None:
        step(state, at, fact)
    return state


def _surveyed(state: UpgradeState, at: Instant, fact: Surveyed) -> None:
    for name in ("org", "rules", "others", "gates", "minima", "addon_minima", "ends"):
        value = getattr(fact, name)
        if value is not None:
            setattr(state, name, value)
    for uuid in fact.gone:
        state.clusters.pop(uuid, None)
        state.stands.pop(uuid, None)
        state.refused.pop(uuid, None)
        state.done_at.pop(uuid, None)
    for cluster in fact.clusters:
        state.clusters[cluster.uuid] = cluster
        state.unlabelled.pop(cluster.uuid, None)
        state.done_at.pop(cluster.uuid, None)
    for uuid in fact.unlabelled_gone:
        state.unlabelled.pop(uuid, None)
    # One with labels is known with them, though this look may not have read them.
    new = (each for each in fact.unlabelled if each.uuid not in state.clusters)
    state.unlabelled |= {each.uuid: each for each in new}
    for uuid in fact.unseen:
        state.seen.pop(uuid, None)
    state.seen |= {each.uuid: each for each in fact.seen}
    state.unread, state.health_fails = fact.unread, fact.health_fails
    state.ledger = soaked(state.ledger, _sights(state.seen.values(), at), state.minima)
    for addon in sorted({name for each in state.seen.values() for name in each.addons}):
        seen = _addon_sights(state.seen.values(), addon, at)
        known = state.addon_ledgers.get(addon, SoakLedger())
        state.addon_ledgers[addon] = soaked(known, seen, state.addon_minima.get(addon))
    state.surveyed_at = at
    # What was asked for before this look is seen in it, or was not carried out.
    state.jobs = {}
    settle_labels(state)


def _sights(glimpses: Iterable[SoakSample], at: Instant) -> Iterable[SoakObservation]:
    for each in glimpses:
        sight = SoakSnapshot(
            at=at, version=each.version, workloads=each.workloads, healthy=each.healthy
        )
        yield SoakObservation(each.uuid, each.name, each.unique, sight)


def _addon_sights(
    glimpses: Iterable[SoakSample], addon: str, at: Instant
) -> Iterable[SoakObservation]:
    """The same glimpses, for what they show of one add-on."""
    for each in glimpses:
        if addon in each.addons:
            version, healthy = each.addons[addon]
            sight = SoakSnapshot(at=at, version=version, workloads=each.workloads, healthy=healthy)
            yield SoakObservation(each.uuid, each.name, each.unique, sight)


def _planned(state: UpgradeState, _: Instant, fact: Planned) -> None:
    state.stands |= {each.target: each for each in fact.changed}
    state.planned_at, state.recheck_at = fact.now, fact.recheck_at
    if fact.tasks and fact.mode is Mode.ACT:
        state.jobs = {job.key: job for job in fact.tasks}
    if fact.kept is not None:
        state.history = patched(state.history or SoakHistory(), fact.kept)


def _acted(state: UpgradeState, at: Instant, fact: Acted) -> None:
    job = state.jobs.pop(fact.key, None)
    if job is None:
        return
    what = what_of(job.change)
    # A request without an answer may have been carried out.
    perhaps = (
        fact.outcome is TaskOutcome.FAILED and not fact.refused and job.change.doing in _STARTS
    )
    if fact.outcome is TaskOutcome.DONE or perhaps:
        state.done_at[job.target] = at
        cluster = state.clusters.get(job.target)
        if job.change.doing is StepKind.LABELS:
            labels_written(state, job)
        elif cluster is not None:
            state.clusters[job.target] = after(cluster, job.change)
    if fact.refused:
        known = state.refused.setdefault(job.target, {})
        before = known.get(what)
        tries = before.tries + 1 if before is not None else 1
        known[what] = OcmRefusal(at, tries, fact.detail)
    elif job.target in state.refused:
        state.refused[job.target].pop(what, None)


# What is under way once it was asked for.
_STARTS = (StepKind.UPGRADE, StepKind.POOL, StepKind.ADDON)


def perhaps_asked(state: UpgradeState) -> dict[str, ManagedCluster]:
    """Clusters with a decided request whose outcome is not known.

    Each as if it had been made: a worker that died or lost the journal may have made it before.
    """
    found: dict[str, ManagedCluster] = {}
    for job in state.jobs.values():
        cluster = found.get(job.target) or state.clusters.get(job.target)
        if cluster is not None and job.change.doing in _STARTS:
            found[job.target] = after(cluster, job.change)
    return found


def after(cluster: ManagedCluster, step: UpgradeStep) -> ManagedCluster:
    """A cluster for which a request was made, until it is read again."""
    if step.doing is StepKind.CHANNEL:
        return replace(cluster, channel=step.revision)
    if step.doing is StepKind.AGREE:
        return replace(cluster, gate_agreements=(*cluster.gate_agreements, step.ident))
    if step.doing is StepKind.UPGRADE:
        return replace(cluster, upgrade_policies=(*cluster.upgrade_policies, _asked(step)))
    if step.addon:
        return with_addon(cluster, step.addon, partial(_addon_after, step))
    if step.doing is StepKind.CANCEL and not step.pool:
        return replace(cluster, upgrade_policies=_without(cluster.upgrade_policies, step.ident))
    pools = tuple(
        _pool_after(each, step) if each.id == step.pool else each for each in cluster.node_pools
    )
    return replace(cluster, node_pools=pools)


def _pool_after(pool: ClusterPool, step: UpgradeStep) -> ClusterPool:
    if step.doing is StepKind.POOL:
        return replace(pool, upgrade_policies=(*pool.upgrade_policies, _asked(step)))
    return replace(pool, upgrade_policies=_without(pool.upgrade_policies, step.ident))


def _addon_after(step: UpgradeStep, addon: ClusterAddon) -> ClusterAddon:
    plans = addon.upgrade_plans
    if step.doing is StepKind.ADDON:
        return replace(addon, upgrade_plans=(*plans, _asked(step)))
    return replace(addon, upgrade_plans=_without(plans, step.ident))


def _asked(step: UpgradeStep) -> OcmUpgrade:
    starts_at = step.starts_at
    return OcmUpgrade(
        version=step.revision or "",
        state="pending",
        next_run=None if starts_at is None else format_second(starts_at),
    )


def _without(upgrades: tuple[OcmUpgrade, ...], ident: str) -> tuple[OcmUpgrade, ...]:
    return tuple(each for each in upgrades if each.id != ident)


def _person_asked(state: UpgradeState, at: Instant, fact: Asked, actor: str) -> None:
    """Pause, resume, retry, and answers at approval gates."""
    if fact.gates:
        state.responses = answered(state.responses, at, actor, fact)
    if fact.verb in (Verb.PAUSE, Verb.RESUME):
        state.paused = fact.verb is Verb.PAUSE
    elif fact.verb in (Verb.RETRY, Verb.RETRY_FAILED):
        state.refused = {}


def _told(state: UpgradeState, at: Instant, fact: Told) -> None:
    """Entries of service logs are repeated after a while; notices are not until retired."""
    state.told = {
        key: when
        for key, when in state.told.items()
        if key not in fact.retired and ("/" in key or at - when < TOLD_KEPT)
    }
    state.told |= dict.fromkeys(fact.keys, at)


def _bound(state: UpgradeState, _: Instant, fact: Bound) -> None:
    state.brakes = fact.brakes


def _imported(state: UpgradeState, _: Instant, fact: Imported) -> None:
    if fact.addon:
        state.addon_ledgers[fact.addon] = ledger_of(fact.soak)
    else:
        state.ledger = ledger_of(fact.soak)


_STEPS: dict[type, Callable[[UpgradeState, Instant, Fact], None]] = {
    Surveyed: _surveyed,  # type: ignore[dict-item]
    Planned: _planned,  # type: ignore[dict-item]
    Acted: _acted,  # type: ignore[dict-item]
    Told: _told,  # type: ignore[dict-item]
    Bound: _bound,  # type: ignore[dict-item]
    Imported: _imported,  # type: ignore[dict-item]
    **LABEL_STEPS,  # type: ignore[dict-item]
}


def world_of(
    state: UpgradeState,
    now: Instant,
    *,
    ledgers: Mapping[str, SoakLedger],
    brakes: Brakes | None = None,
    kept: Mapping[str, SoakHistory] | None = None,
) -> UpgradeWorld | None:
    """The world as the facts have it, with the soak of others; None while nothing was read.

    `kept`: what AUS keeps of others, for its rules; None: ours decide.
    """
    org = state.org
    if org is None or state.surveyed_at is None:
        return None
    return UpgradeWorld(
        now=now,
        read_at=state.surveyed_at,
        orgs=(org, *state.others),
        clusters=tuple((state.clusters | perhaps_asked(state)).values()),
        gates=state.gates,
        health_fails=state.health_fails,
        kept={**kept, f"{org.env}/{org.id}": past_of(state)} if kept is not None else {},
        ends=state.ends,
        unread=state.unread,
        refused=state.refused,
        ledgers={**ledgers, **ledgers_of(f"{org.env}/{org.id}", state)},
        brakes=brakes or Brakes(),
    )


def ledgers_of(key: str, state: UpgradeState) -> dict[str, SoakLedger]:
    """All ledgers of an organisation that is kept by `env/org`, those of add-ons included."""
    addons = {f"{key}/{addon}": each for addon, each in state.addon_ledgers.items()}
    return {key: state.ledger, **addons}


def past_of(state: UpgradeState) -> SoakHistory:
    """What AUS would have kept; our own ledger, where it never decided."""
    return state.history if state.history is not None else history_of(state.ledger)


def soak_doc(ledger: SoakLedger) -> SoakDoc:
    """A ledger as it is written down."""
    return SoakDoc(
        days=tuple((*key, amount) for key, amount in sorted(ledger.days.items())),
        sights=dict(ledger.sights),
        reporting=tuple((*key, names) for key, names in sorted(ledger.reporting.items())),
        minima=ledger.minima,
        checked_at=ledger.checked_at,
    )


def ledger_of(doc: SoakDoc) -> SoakLedger:
    """The ledger that was written down."""
    return SoakLedger(
        days={(version, workload): amount for version, workload, amount in doc.days},
        sights=doc.sights,
        reporting={(version, workload): names for version, workload, names in doc.reporting},
        minima=doc.minima,
        checked_at=doc.checked_at,
    )


class _Kept(msgspec.Struct, omit_defaults=True):
    """A state as it is kept: ledgers have keys of two parts, which no document has."""

    state: dict[str, msgspec.Raw]
    soak: SoakDoc
    addons: dict[str, SoakDoc] = {}


def encode(state: UpgradeState) -> bytes:
    """The state, to be kept."""
    fields = {
        name: msgspec.Raw(msgspec.json.encode(getattr(state, name)))
        for name in state.__struct_fields__
        if name not in ("ledger", "addon_ledgers")
    }
    addons = {addon: soak_doc(each) for addon, each in state.addon_ledgers.items()}
    return msgspec.json.encode(_Kept(fields, soak_doc(state.ledger), addons))


def decode(raw: bytes | msgspec.Raw) -> UpgradeState:
    """The state that was kept."""
    kept = decode_json(raw, _Kept)
    state = _decode_fields(msgspec.json.encode(kept.state))
    state.ledger = ledger_of(kept.soak)
    state.addon_ledgers = {addon: ledger_of(each) for addon, each in kept.addons.items()}
    return state


_decode_fields = json_decoder(UpgradeState)
