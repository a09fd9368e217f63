"""What happens to a fleet that upgrades by its labels: in its OpenShift Cluster Manager, and in the
decisions made on it.

What happened there comes from the simulation itself; of decisions, what keeps clusters from going
on for longer than others moving does is an event when it begins, and brakes when they end.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tidegate.explain.sentence import opens, sentence
from tidegate.kinds.upgrades.core.explain.words import exclusion_words
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.ocm.simulated.events import OcmEvent, OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.start import hosted_plane
from tidegate.kinds.upgrades.ocm.simulated.state import GATES, OcmState
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

ASIDE, HELD, FREED, SILENT = "setAside", "held", "freed", "silent"

# Shown for any gate of these that is shut: it was set on purpose, or something is wrong.
_GATES = (Gate.HOLD, Gate.FREEZE, Gate.PIN, Gate.APPROVAL, Gate.HEALTH, Gate.REFUSAL)
# Shown for other gates, which mostly wait for clusters to move.
_REASONS = (
    VersionReason.VersionBlocked,
    BrakeReason.Blocked,
    BrakeReason.BlockedUntil,
    VersionReason.VersionQuarantined,
    UpgradeReason.MutexUpgradeFailed,
    VersionReason.SectorCircle,
    UpgradeReason.SectorZero,
    UpgradeReason.ScheduleOver,
    UpgradeReason.UpgradedByOwner,
    UpgradeReason.TwoUpgrades,
    UpgradeReason.OrgLabelsUnreadable,
    VersionReason.AgreementUnasked,
    VersionReason.SectorMemberUnreadable,
    VersionReason.InheritanceUnverified,
)
# Gates whose end is shown, too.
_BRAKES = (Gate.HOLD, Gate.FREEZE)


class UpgradeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened at a moment."""

    at: Instant
    event: str
    org: str = ""
    # By their names; several where one thing holds them.
    clusters: tuple[str, ...] = ()
    sector: str = ""
    # Which part of a cluster: its hosted control plane, a node pool, an add-on; none: all of it.
    hosted: bool = False
    pool: str = ""
    addon: str = ""
    to: str = ""
    was: str = ""
    starts_at: Instant | None = None
    # What holds clusters, and when time alone may change that.
    gate: str = ""
    reason: str = ""
    until: Instant | None = None
    # In words, with a title where it is a service log; and what would open it.
    summary: str = ""
    text: str = ""
    opens: str = ""


def of_happening(state: OcmState, one: OcmEvent) -> UpgradeEvent:
    """An event of an OpenShift Cluster Manager, with the names that people know."""
    doc = state.declared.get(one.cluster)
    to = one.to
    if one.what is OcmEventKind.AGREED:
        gate = state.collections[GATES][one.to]
        to = f"{gate['label'].rpartition('/')[2]} for {gate['version_raw_id_prefix']}"
    return UpgradeEvent(
        at=one.at,
        event=one.what.value,
        org=doc.org if doc is not None else "",
        clusters=(doc.name,) if doc is not None else (),
        sector=doc.labels.get("sector", "").strip() if doc is not None else "",
        hosted=_is_hosted(state, one),
        pool=one.pool,
        addon=one.addon,
        to=to,
        was=one.was,
        starts_at=one.starts_at,
        summary=one.summary,
        text=one.text,
    )


def _is_hosted(state: OcmState, one: OcmEvent) -> bool:
    """Whether an upgrade is of a control plane alone."""
    whole = one.starts_at is not None and not one.pool and not one.addon
    return whole and hosted_plane(state.cluster(one.cluster))


class HeldCluster(msgspec.Struct, frozen=True):
    """Something that keeps clusters of an organisation where they are."""

    verdict: Verdict
    clusters: tuple[str, ...]
    text: str


Key = tuple[str, str, str]


class EventWatch:
    """Tells what is new in the decisions on organisations, plan after plan."""

    def __init__(self) -> None:
        self._held: dict[str, dict[Key, HeldCluster]] = {}

    def news(self, at: Instant, plans: Sequence[UpgradePlan]) -> Iterator[UpgradeEvent]:
        """What began to hold clusters, and which brakes ended, by plans that were made together."""
        for fleet in plans[0].fleets:
            org = fleet.org.id
            before, now = self._held.get(org, {}), _holdings(org, plans)
            # A cluster that could not be read this time did not change.
            unread = {each.cluster.name for each in fleet.members if _is_unread(each)}
            now |= {
                key: one
                for key, one in before.items()
                if key not in now and unread.issuperset(one.clusters)
            }
            self._held[org] = now
            for key in [each for each in now if each not in before]:
                yield _event(at, ASIDE if key[0] == ASIDE else HELD, org, now[key])
            for key in [each for each in before if each not in now]:
                one = before[key]
                if one.verdict.gate in _BRAKES:
                    text = f"{key[0]} {key[1]} is over"
                    yield _event(at, FREED, org, msgspec.structs.replace(one, text=text))


def _is_unread(member: FleetMember) -> bool:
    return member.excluded is not None and member.excluded.reason is UpgradeReason.ClusterUnread


def _event(at: Instant, event: str, org: str, one: HeldCluster) -> UpgradeEvent:
    return UpgradeEvent(
        at=at,
        event=event,
        org=org,
        clusters=one.clusters,
        gate=one.verdict.gate.value,
        reason=one.verdict.reason.value,
        until=one.verdict.until,
        text=one.text,
        opens=opens(one.verdict),
    )


def _holdings(org: str, plans: Iterable[UpgradePlan]) -> dict[Key, HeldCluster]:
    """All that holds clusters of an organisation, each with its clusters."""
    found: dict[Key, tuple[Verdict, FleetMember]] = {}
    names: dict[Key, dict[str, None]] = {}
    for plan in plans:
        for option in plan.options:
            member = plan.members[option.target]
            if member.cluster.org != org:
                continue
            for each in option.verdicts:
                if (key := _key(each, member.cluster.name)) is not None:
                    found.setdefault(key, (each, member))
                    names.setdefault(key, {})[member.cluster.name] = None
    return {
        key: HeldCluster(one, tuple(sorted(names[key])), exclusion_words(member) or sentence(one))
        for key, (one, member) in found.items()
    }


def _key(one: Verdict, cluster: str) -> Key | None:
    """What makes two verdicts one story; None: it is not shown."""
    if one.outcome is Outcome.PASS:
        return None
    if one.reason in (UpgradeReason.LabelsUnreadable, UpgradeReason.ClusterUnreadable):
        return ASIDE, cluster, ""
    if one.gate not in _GATES and one.reason not in _REASONS:
        return None
    texts = [str(each) for each in one.facts if not isinstance(each, int)]
    about = " ".join(texts[: 2 if one.reason is VersionReason.AgreementUnasked else 1])
    # A brake is one whatever it says; a version is blocked, or suspected, each by itself.
    return one.gate.value, about, "" if one.gate in _GATES else one.reason.value
