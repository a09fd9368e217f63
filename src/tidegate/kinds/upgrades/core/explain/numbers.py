"""The numbers of a round, by the names dashboards know: the predecessor's, and the first design's.

`aus_cluster_version_remaining_soak_days` keeps its rounding, its marks below 0 (−1 scheduled, −2
started, −3 for long, −4 blocked) and what it hides; `aus_remaining_soak_days` has every version
that is offered, and true numbers.
"""

from collections.abc import Iterable, Iterator

from tidegate.kinds.upgrades.core.declared.patterns import first_found
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.addons import about, addon_fleets
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE, FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.gates import can_be_asked
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import DAY, Days, inherited
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.model.plan import Option
from tidegate.model.time import SECOND, Instant, parse_instant

Sample = tuple[dict[str, str], float]
_SCHEDULED, _STARTED, _LONG, _BLOCKED = -1.0, -2.0, -3.0, -4.0
_HIDES = (0.0, _SCHEDULED, _STARTED, _LONG)
_LONG_AFTER = 6 * 60 * 60 * SECOND


def numbers(world: UpgradeWorld, plan: UpgradePlan, now: Instant) -> dict[str, list[Sample]]:
    """Every number, by name."""
    found: dict[str, list[Sample]] = {}
    for fleet in plan.fleets:
        ledger = plan.ledgers.get(fleet.key)
        if ledger is None:
            continue
        sources = [world.ledgers[key] for key in fleet.sources if key in world.ledgers]
        soak, _ = inherited(ledger, sources)
        for name, labels, value in _of_fleet(world, fleet, soak, ledger.days, now):
            every = {"integration": SERVICE, "ocm_env": fleet.org.env, **labels}
            plain = name in PLAIN
            found.setdefault(name, []).append((labels if plain else every, value))
        for name, labels, value in _of_addons(world, fleet, plan, now):
            every = {"integration": ADDON_SERVICE, "ocm_env": fleet.org.env, **labels}
            found.setdefault(name, []).append((every, value))
    if missing := _missing(plan):
        found["aus_cluster_missing_version_gate_agreements"] = missing
    return found


ADDON_SERVICE = "ocm-addons-upgrade-scheduler-org"
"""What numbers of add-ons are known by."""
PLAIN = ("aus_cluster_info", "aus_remaining_soak_days")
"""The first design's, with its labels and no others."""


def _of_fleet(
    world: UpgradeWorld, fleet: OrganisationFleet, soak: Days, own: Days, now: Instant
) -> Iterator[tuple[str, dict[str, str], float]]:
    org = fleet.org
    wrong = sum(bool(each.label_errors) for each in fleet.members) + len(fleet.label_errors)
    yield "aus_organization_validation_errors", {"org_id": org.id}, wrong
    for (version, workload), amount in sorted(own.items()):
        labels = {"org_id": org.id, "version": version, "workload": workload}
        yield "aus_organization_version_data", labels, amount / DAY
    for member in fleet.members:
        if member.excluded is None:
            yield from _of_member(world, fleet, member, soak, now)


def _of_member(
    world: UpgradeWorld, fleet: OrganisationFleet, member: FleetMember, soak: Days, now: Instant
) -> Iterator[tuple[str, dict[str, str], float]]:
    cluster, policy, org = member.cluster, member.policy, fleet.org
    shared = _declared(fleet, member)
    pools = cluster.node_pools if cluster.is_hosted else ()
    oldest = min((cluster.version, *(pool.version for pool in pools)), key=key_of)
    yield "aus_cluster_upgrade_policy_info", shared | _theirs(fleet, cluster, oldest), 1
    yield "aus_cluster_info", shared | {"cluster_id": cluster.uuid, "version": oldest}, 1
    for check in org.health_checks:
        if can_be_asked(world, check):
            labels = {"cluster_uuid": cluster.uuid, "health_source": check.provider}
            yield "aus_cluster_health_state", labels, 0 if cluster.alerts else 1
    for version, left in _remaining(fleet, member, soak, now):
        labels = {"cluster_uuid": cluster.uuid, "soaking_version": version}
        yield "aus_cluster_version_remaining_soak_days", labels, left
    for version in cluster.available_upgrades:
        left = max((policy.soak_days or 0) * DAY - _soaked(member, soak, version), 0) / DAY
        yield "aus_remaining_soak_days", {"cluster_id": cluster.uuid, "version": version}, left


def _declared(fleet: OrganisationFleet, member: FleetMember) -> dict[str, str]:
    """What its owner declared, as labels."""
    cluster, policy = member.cluster, member.policy
    return {
        "org_id": fleet.org.id,
        "channel": cluster.updates_from,
        "cluster_name": cluster.name,
        "schedule": policy.schedule or "",
        "sector": policy.sector,
        "mutexes": ",".join(policy.mutexes),
        "soak_days": str(policy.soak_days),
        "workloads": ",".join(policy.workloads or ()),
    }


def _theirs(fleet: OrganisationFleet, cluster: ManagedCluster, version: str) -> dict[str, str]:
    """What AUS tells of a cluster besides."""
    return {
        "cluster_uuid": cluster.uuid,
        "org_name": fleet.org.name,
        "current_version": version,
        "product": cluster.product,
        "hypershift": str(cluster.hypershift).lower(),
    }


def _of_addons(
    world: UpgradeWorld, fleet: OrganisationFleet, plan: UpgradePlan, now: Instant
) -> Iterator[tuple[str, dict[str, str], float]]:
    """The same of every add-on that is upgraded by the labels of its clusters."""
    clusters = {each.cluster.uuid: each.cluster for each in fleet.members}
    for each in addon_fleets(fleet, now) if fleet.org.addons else ():
        ledger = plan.ledgers.get(each.key)
        if ledger is None:
            continue
        sources = [world.ledgers[key] for key in each.sources if key in world.ledgers]
        soak, _ = inherited(ledger, sources)
        for member in each.members:
            if member.excluded is not None:
                continue
            cluster, version = clusters[member.cluster.uuid], member.cluster.version
            known = {**_declared(fleet, member), "channel": cluster.updates_from}
            known |= {**_theirs(fleet, cluster, version), "addon": each.addon}
            yield "aus_addon_upgrade_policy_info", known, 1
            for soaking, left in _remaining(each, member, soak, now):
                labels = {"cluster_uuid": cluster.uuid, "soaking_version": soaking}
                name = "aus_addon_version_remaining_soak_days"
                yield name, {**labels, "addon": each.addon}, left


def _soaked(member: FleetMember, soak: Days, version: str) -> int:
    return min(soak.get((version, each), 0) for each in member.policy.workloads or ("",))


def _remaining(
    fleet: OrganisationFleet, member: FleetMember, soak: Days, now: Instant
) -> Iterator[tuple[str, float]]:
    """Days each candidate still soaks, last first; what comes behind a ready one is hidden."""
    hidden = False
    own, offered = member.cluster.version, member.cluster.available_upgrades
    # While a node pool is behind, the version of its control plane is still to be reached.
    every = (own, *offered) if member.progress.behind and own not in offered else offered
    for version in reversed(every):
        soaked = round(_soaked(member, soak, version) / DAY, 2)
        left = max((member.policy.soak_days or 0) - soaked, 0.0)
        left = _marked(fleet, member, version, left, now)
        if not (hidden and left >= 0):
            yield version, left
        hidden = hidden or left in _HIDES


def _marked(
    fleet: OrganisationFleet, member: FleetMember, version: str, left: float, now: Instant
) -> float:
    current = next((one for one, _ in member.progress.under_way if one.version == version), None)
    if current is None:
        patterns: Iterable[str] = (*member.policy.blocked, *fleet.org_policy.blocked)
        name = version
        if fleet.addon:
            patterns, name = about(fleet.addon, patterns), f"{fleet.addon}/{version}"
        return _BLOCKED if first_found(patterns, name) is not None else left
    if current.state == "scheduled":
        return _SCHEDULED
    if current.state in ("started", "delayed"):
        return _LONG if _is_long_past(current.next_run, now) else _STARTED
    return left


def _is_long_past(next_run: str | None, now: Instant) -> bool:
    try:
        return next_run is not None and now - parse_instant(next_run) >= _LONG_AFTER
    except ValueError:
        return False


def _missing(plan: UpgradePlan) -> list[Sample]:
    """How many agreements each cluster lacks, by minor version."""
    envs = {each.org.id: each.org.env for each in plan.fleets}
    found: dict[tuple[str, str], Sample] = {}
    for option in plan.options:
        cluster = plan.members[option.target].cluster
        for minor, count in _agreements_missing(option):
            labels = {
                "integration": SERVICE,
                "ocm_env": envs[cluster.org],
                "org_id": cluster.org,
                "cluster_uuid": cluster.uuid,
                "version_prefix": minor,
            }
            found[cluster.uuid, minor] = (labels, count)
    return list(found.values())


def _agreements_missing(option: Option) -> Iterator[tuple[str, float]]:
    for each in option.verdicts:
        if each.reason is VersionReason.AgreementMissing:
            minor, gates = each.facts
            yield str(minor), len(gates) if isinstance(gates, tuple) else 1
