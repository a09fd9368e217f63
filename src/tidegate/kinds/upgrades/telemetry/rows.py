"""What one round over an organisation comes to in numbers: the lines of every metric of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.kinds.upgrades.core.explain.numbers import PLAIN, Sample, numbers
from tidegate.kinds.upgrades.core.explain.phase import UpgradePhase, phase_of
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.faults import NOBODY, fault_of
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.kinds.upgrades.telemetry.cluster_rows import cluster_samples
from tidegate.kinds.upgrades.telemetry.table import ROUND_GAUGES
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.model.verdict import Verdict
from tidegate.telemetry.exposition import lines

# Why a cluster is held, and since when; by its external id.
Since = Mapping[str, tuple[str, Instant]]


class ActSeen(msgspec.Struct, frozen=True):
    """One thing that was asked of OpenShift Cluster Manager, and what came of it."""

    uuid: str
    doing: StepKind
    # The version, the channel, or the gate's minor.
    revision: str
    # done, failed, dropped.
    outcome: str


class RoundSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A round over an organisation that went well."""

    env: str
    org_id: str
    now: Instant
    # When the clusters were looked at; None: now.
    read_at: Instant | None = None
    took_s: float = 0.0
    # What it was decided from, and what was decided.
    decided: tuple[UpgradeWorld, UpgradePlan]
    # AUS's numbers, where its rules decided; None: ours did.
    theirs: Mapping[str, list[Sample]] | None = None
    acts: tuple[ActSeen, ...] = ()


class Rows(msgspec.Struct, frozen=True):
    """The lines of a round, by metric, and since when clusters wait."""

    texts: dict[str, str]
    since: Since


def rows(seen: RoundSeen, before: Since) -> Rows:
    """Everything a round is counted by; `before` is what was known of waits."""
    world, plan = seen.decided
    samples = numbers(world, plan, seen.now)
    if seen.theirs is not None:
        samples = {name: samples[name] for name in PLAIN if name in samples} | dict(seen.theirs)
    placed = [(each, *phase_of(each)) for each in cluster_summaries(plan)]
    since = _since(placed, before, seen.now)
    samples |= _of_stands(seen, placed, since)
    samples["aus_cluster_channel_switch"] = list(_switched(seen, world))
    samples["tidegate_upgrade_start_timestamp_seconds"] = list(_starts(plan))
    samples |= cluster_samples([each for each, _, _ in placed], plan.fleets)
    known = [each.name for each in ROUND_GAUGES]
    return Rows({name: lines(name, samples[name]) for name in known if name in samples}, since)


_Placed = list[tuple[ClusterSummary, UpgradePhase, Verdict | None]]


def _since(placed: _Placed, before: Since, now: Instant) -> Since:
    """Since when each cluster waits for what it waits for; a new wait begins now."""
    found: dict[str, tuple[str, Instant]] = {}
    for stand, _, held in placed:
        if held is not None:
            uuid, reason = stand.member.cluster.uuid, held.reason.value
            known = before.get(uuid)
            found[uuid] = known if known is not None and known[0] == reason else (reason, now)
    return found


def _of_stands(seen: RoundSeen, placed: _Placed, since: Since) -> dict[str, list[Sample]]:
    org = {"ocm_env": seen.env, "org_id": seen.org_id}
    phases = Counter(phase.value for _, phase, _ in placed)
    waits: Counter[tuple[str, str, str]] = Counter()
    oldest: dict[tuple[str, str, str], Instant] = {}
    each_wait: list[Sample] = []
    for stand, _, held in placed:
        if held is None:
            continue
        gate, reason, fault = held.gate.value, held.reason.value, fault_of(held.reason)
        key = (gate, reason, NOBODY if fault is None else fault.value)
        waits[key] += 1
        uuid = stand.member.cluster.uuid
        oldest[key] = min(oldest.get(key, seen.now), since[uuid][1])
        labels = {"cluster_id": uuid, "version": stand.next, "gate": gate, "reason": reason}
        each_wait.append((labels, 1))
    names = ("gate", "reason", "fault")
    return {
        "tidegate_upgrade_clusters": [
            ({**org, "phase": phase}, number) for phase, number in sorted(phases.items())
        ],
        "tidegate_upgrade_waits": [
            ({**org, **dict(zip(names, key, strict=True))}, number)
            for key, number in sorted(waits.items())
        ],
        "tidegate_upgrade_oldest_wait_timestamp_seconds": [
            ({**org, **dict(zip(names, key, strict=True))}, at / SECOND)
            for key, at in sorted(oldest.items())
        ],
        "tidegate_upgrade_cluster_wait": each_wait,
    }


def _switched(seen: RoundSeen, world: UpgradeWorld) -> Iterator[Sample]:
    """Clusters that this round put on another channel."""
    clusters: dict[str, ManagedCluster] = {}
    switches = [each for each in seen.acts if each.doing is StepKind.CHANNEL]
    if switches:
        clusters = {each.uuid: each for each in world.clusters}
    for each in switches:
        if each.outcome == "done" and each.uuid in clusters:
            labels = {
                "integration": SERVICE,
                "ocm_env": seen.env,
                "org_id": seen.org_id,
                "cluster_uuid": each.uuid,
                "from_channel": clusters[each.uuid].updates_from,
                "to_channel": each.revision,
            }
            yield labels, 1


def _starts(plan: UpgradePlan) -> Iterator[Sample]:
    """When what is under way or failed starts or started."""
    for member in plan.members:
        standing = member.progress
        own = [(one, pool, "") for one, pool in (*standing.under_way, *standing.failed)]
        addons = (*standing.addons, *standing.addons_failed)
        for upgrade, pool, addon in (*own, *((one, "", addon) for one, addon in addons)):
            labels = {
                "cluster_id": member.cluster.uuid,
                "version": upgrade.version,
                "node_pool": pool,
                "addon": addon,
                "policy_state": upgrade.state or "unknown",
            }
            yield labels, _seconds(upgrade.next_run)


def _seconds(moment: str | None) -> float:
    try:
        return parse_instant(moment) / SECOND if moment is not None else 0
    except ValueError:
        return 0


def tally(acts: Iterable[ActSeen]) -> Counter[tuple[str, str]]:
    """How many acts, by what was asked for and what came of it."""
    return Counter((each.doing.value, each.outcome) for each in acts)
