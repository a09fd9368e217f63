"""What must be true of everything that is asked for, said once more and from outside.

Each rule is a function of what the record shows: what is wrong with asking for an upgrade, or
nothing. Together they are all there is to wait for: where none says anything, a cluster that may be
upgraded is not, and must be before long.
"""

from collections.abc import Callable

from tests.sim.upgrades import owners
from tests.sim.upgrades.ahead import comes_after_its_sectors, has_soaked
from tests.sim.upgrades.ground import GRACE, MINUTE, Asked, Ground
from tests.sim.upgrades.owners import items, key, minor
from tests.sim.upgrades.record import Cluster
from tidegate.model.time import SECOND, Instant

# What people set is respected at once; an answer of the journal may take so long.
HEEDED = 45 * SECOND
LEAD_MIN, LEAD_MAX = 5 * MINUTE, 120 * MINUTE


Rule = Callable[[Ground, Asked, int], str]


def _is_ready(_: Ground, asked: Asked, at: int) -> str:
    state = asked.cluster.state.at(at)
    return "" if state == "ready" else f"it is {state}"


def _has_good_labels(ground: Ground, asked: Asked, at: int) -> str:
    labels, org = ground.labels(asked.cluster, at)
    if owners.patterns(org) is None:
        return "nobody can read what its organisation blocks"
    wrong = owners.mistakes(labels, org)
    return f"its labels cannot be read: {', '.join(wrong)}" if wrong else ""


def _is_alone(_: Ground, asked: Asked, at: int) -> str:
    """Nothing else is under way on it, nor set up by its owner."""
    beside = [
        each
        for each in asked.cluster.live(asked.at)
        if each is not asked.policy and (each.ours or each.made_at <= at)
    ]
    return f"there is a policy to {beside[0].version} already" if beside else ""


def _goes_on(_: Ground, asked: Asked, at: int) -> str:
    """Newer and offered; a control plane after its node pools, a node pool up to it."""
    cluster, version = asked.cluster, asked.version
    own = cluster.version.at(asked.at)
    if asked.pool:
        if version != own:
            return f"its control plane is on {own}"
        return "" if key(cluster.pools[asked.pool].at(asked.at)) < key(own) else "it is there"
    if lags := cluster.lags(asked.at):
        return f"node pool {lags[0]} has not caught up"
    if key(version) <= key(own) or version not in cluster.offers.at(at):
        return "it is not offered"
    wanted = "-" in own or cluster.channel.at(at).startswith("candidate")
    return f"{version} is no release" if "-" in version and not wanted else ""


def _is_not_blocked(ground: Ground, asked: Asked, at: int) -> str:
    for labels in ground.labels(asked.cluster, at):
        if owners.blocks(labels, asked.version):
            return f"{asked.version} is blocked by {labels['blocked-versions']}"
    return ""


def holds(cluster: Cluster, asked: Asked, at: int) -> bool:
    """Whether another cluster is being upgraded, or stuck in it."""
    for policy in cluster.live(asked.at):
        if policy.ours:
            return True
        begun = policy.state.at(at) in ("started", "delayed", "failed")
        if policy.made_at <= at and (begun or not policy.automatic):
            return True
    return bool(cluster.lags(asked.at)) and not asked.cluster.lags(asked.at)


def _has_its_mutexes(ground: Ground, asked: Asked, at: int) -> str:
    """No other has them, whatever its sector."""
    labels, _ = ground.labels(asked.cluster, at)
    others = ground.others(asked.cluster, at)
    for mutex in items(labels, "mutexes"):
        rivals = [each for each in others if mutex in items(each.labels.at(at), "mutexes")]
        having = [each.name for each in rivals if holds(each, asked, at)]
        if having:
            return f"mutex {mutex} is had by {having}"
    return ""


def _finds_room(ground: Ground, asked: Asked, at: int) -> str:
    labels, org = ground.labels(asked.cluster, at)
    sector = labels.get("sector", "")
    if not sector:
        return ""
    others = [
        e for e in ground.others(asked.cluster, at) if e.labels.at(at).get("sector") == sector
    ]
    limit = owners.most(org, sector, len(others) + 1)
    if limit is None:
        return ""
    busy = [each.name for each in others if holds(each, asked, at)]
    return "" if len(busy) < limit else f"{sector} has room for {limit}, and {busy} are upgraded"


def _is_in_its_window(ground: Ground, asked: Asked, at: int) -> str:
    if asked.next_run is None or ground.is_expedited(asked):
        return ""
    labels = asked.cluster.labels.at(at)
    if not {"schedule", "schedule-timezone"} & set(owners.mistakes(labels, {})):
        if owners.fires(labels, asked.next_run):
            return ""
    return f"{labels.get('schedule')} does not fire then"


def _has_a_lead(ground: Ground, asked: Asked, _: int) -> str:
    if asked.next_run is None:
        return ""
    lead = asked.next_run - asked.at
    if LEAD_MIN <= lead <= LEAD_MAX + ground.off:
        return ""
    return f"it starts {lead / MINUTE:.1f} minutes later"


def _is_well(ground: Ground, asked: Asked, at: int) -> str:
    """No alert that is younger than what it runs, where that counts."""
    alerts = asked.cluster.alerts
    if not ground.terms[asked.cluster.org].enforced or not alerts.at(at):
        return ""
    young = alerts.at(asked.at) and alerts.since > asked.cluster.version.since
    return f"{alerts.now[0]} fires" if young else ""


def _is_trusted(ground: Ground, asked: Asked, at: int) -> str:
    """Not so many upgrades to the version failed that no other goes to it."""
    many = ground.terms[asked.cluster.org].quarantine_after
    if not many or asked.pool:
        return ""
    failed = {
        each.name
        for each in ground.record.members(asked.cluster.org)
        for policy in each.live(at)
        if policy.version == asked.version and policy.state.at(at) == "failed"
    }
    failed -= {each for each in failed if not _is_failed(ground, each, asked)}
    return f"upgrades to it failed of {sorted(failed)}" if len(failed) >= many else ""


def _is_failed(ground: Ground, name: str, asked: Asked) -> bool:
    """Still, at the moment of asking."""
    clusters = (e for e in ground.record.members(asked.cluster.org) if e.name == name)
    return any(
        policy.version == asked.version and policy.state.at(asked.at) == "failed"
        for each in clusters
        for policy in each.live(asked.at)
    )


def _is_agreed_to(ground: Ground, asked: Asked, _: int) -> str:
    cluster = asked.cluster
    if asked.pool or minor(asked.version) <= minor(cluster.version.at(asked.at)):
        return ""
    missing = [
        gate.label
        for gate in ground.gates
        if minor(f"{gate.prefix}.0") == minor(asked.version)
        and gate.binds(cluster)
        and gate.id not in cluster.agreed.at(asked.at)
    ]
    return f"nobody agreed to {missing[0]}" if missing else ""


def is_held(ground: Ground, cluster: Cluster, now: int, at: int, kind: str = "hold") -> str:
    """Whether a person holds whatever is done to a cluster; or keeps it where it is (pin)."""
    for each in ground.board.on(kind, now, HEEDED + ground.off):
        if each.covers(cluster, at):
            return f"{each.name} is on"
    return ""


def _is_not_braked(ground: Ground, asked: Asked, at: int) -> str:
    cluster, off = asked.cluster, ground.off
    for kind in ("hold", "pin"):
        if held := is_held(ground, cluster, asked.at, at, kind):
            return held
    for each in ground.board.on("block", asked.at, HEEDED + off):
        if each.covers(cluster, at) and each.concerns(asked.version):
            return f"{each.name} blocks {asked.version}"
    for each in ground.board.on("freeze", asked.at, HEEDED + off):
        now_in = each.spans(asked.at - off) and each.spans(asked.at + off)
        if each.covers(cluster, at) and now_in:
            return f"freeze {each.name} is on"
    for each in ground.board.on("freeze", asked.at, GRACE):
        then_in = asked.next_run is not None and each.spans(asked.next_run)
        if each.covers(cluster, at) and then_in:
            return f"it starts in freeze {each.name}"
    return ""


RULES: tuple[Rule, ...] = (
    _is_ready,
    _has_good_labels,
    _is_alone,
    _goes_on,
    _is_not_blocked,
    _has_its_mutexes,
    _finds_room,
    comes_after_its_sectors,
    has_soaked,
    _is_in_its_window,
    _has_a_lead,
    _is_well,
    _is_trusted,
    _is_agreed_to,
    _is_not_braked,
)


def wrong_with(ground: Ground, asked: Asked) -> str:
    """What is wrong with asking, whichever moment of the last minutes it was asked because of."""
    every = moments(ground, asked.at)
    for rule in RULES:
        said = [rule(ground, asked, at) for at in every]
        if all(said):
            return said[-1]
    return ""


def moments(ground: Ground, now: Instant) -> list[int]:
    """The moments of the last minutes at which anything was otherwise than before."""
    since = now - GRACE
    marks = {since, now - 1, now}
    record = ground.record
    for cluster in record.clusters.values():
        for history in (
            *(cluster.labels, cluster.state, cluster.offers, cluster.alerts, cluster.agreed),
            *(cluster.channel, cluster.channels),
        ):
            marks |= set(history.changes(since, now))
        for policy in cluster.policies.values():
            marks |= {each for each in (policy.made_at, policy.gone_at) if each and each > since}
            marks |= set(policy.state.changes(since, now))
    for labels in record.orgs.values():
        marks |= set(labels.changes(since, now))
    return sorted(each for each in marks if each <= now)


def shut_out(ground: Ground, cluster: Cluster, channel: str, now: Instant, at: int) -> str:
    """Why a cluster cannot be put on the channel of the next minor; empty: it can."""
    group, _, wanted = channel.partition("-")
    own_group, _, own = cluster.channel.at(min(at, now - 1)).partition("-")
    if (group, minor(f"{wanted}.0")) != (own_group, _next(minor(f"{own}.0"))):
        return f"{own_group}-{own} does not lead there"
    if channel not in cluster.channels.at(at):
        return "it is not there"
    asked = Asked(cluster, "", f"{wanted}.0", now)
    before = Asked(cluster, "", f"{wanted}.0", Instant(at))
    shut = (_is_ready, _has_good_labels, _is_alone, _is_not_blocked, _has_its_mutexes)
    said = [rule(ground, before, at) for rule in shut]
    return next(filter(None, (*said, _is_not_braked(ground, asked, at))), "")


def _next(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return numbers[0], numbers[1] + 1
