"""Who goes first: sectors, organisations that publish, and clusters on which a version soaks."""

from itertools import pairwise

from tests.sim.upgrades import owners
from tests.sim.upgrades.ground import DAY, START_OF_TIME, Asked, Ground
from tests.sim.upgrades.owners import items, key
from tests.sim.upgrades.record import Cluster
from tidegate.model.time import Instant

# The lowest versions of another organisation are known from when it was looked at last.
TOLD = DAY


def comes_after_its_sectors(ground: Ground, asked: Asked, at: int) -> str:
    """All that go first have the version: sectors before it, and organisations it inherits from."""
    labels, org = ground.labels(asked.cluster, at)
    sector = labels.get("sector", "")
    if asked.pool or not sector:
        return ""
    if owners.circling(org, sector):
        return f"{sector} waits for itself"
    if ground.sources(asked.cluster.org, at)[1]:
        return "it inherits from somebody who does not publish"
    graph = owners.sectors(org)
    for workload in items(labels, "workloads"):
        left = list(graph.get(sector, ()))
        while left:
            one = left.pop()
            there = _running(ground, asked.cluster, one, workload, at)
            if not there:
                left += graph.get(one, ())
            for other in there:
                if min(map(key, other.versions(asked.at))) < key(asked.version):
                    return f"{other.name} of {one} is behind"
    return _inherits_enough(ground, asked, at)


def _running(
    ground: Ground, cluster: Cluster, sector: str, workload: str, at: int
) -> list[Cluster]:
    """The clusters of a sector with a workload, or with an unknown one."""
    found = []
    for each in ground.others(cluster, at):
        labels = each.labels.at(at)
        workloads = items(labels, "workloads")
        if labels.get("sector") == sector and (workload in workloads or not workloads):
            found.append(each)
    return found


def _inherits_enough(ground: Ground, asked: Asked, at: int) -> str:
    """The organisation it inherits from runs the version, as far as reported for a while."""
    mine = set(items(asked.cluster.labels.at(at), "workloads"))
    there = [
        e for org in ground.sources(asked.cluster.org, at)[0] for e in ground.record.members(org)
    ]
    there = [each for each in there if each.labels.at(at)]
    known = {each for cluster in there for each in items(cluster.labels.at(at), "workloads")}
    every = not mine <= known
    for each in there:
        if each.labels.changes(asked.at - TOLD, asked.at):
            every = False
    for each in there:
        if each.labels.changes(asked.at - TOLD, asked.at):
            continue
        counts = every or mine & set(items(each.labels.at(at), "workloads"))
        if counts and key(each.version.at(asked.at)) < key(asked.version):
            return f"{each.name} of {each.org}, from which it inherits, is behind"
    return ""


def has_soaked(ground: Ground, asked: Asked, at: int) -> str:
    """Clusters with its workloads ran the version for as long as it wants."""
    labels, _ = ground.labels(asked.cluster, at)
    days = labels.get("soak-days", "")
    needed = int(days) if days.isdigit() else 0  # what is no number is reported elsewhere
    if asked.pool or not needed or ground.is_expedited(asked):
        return ""
    orgs = [asked.cluster.org]
    sources, others = ground.sources(asked.cluster.org, at)
    orgs += sources if not others else []
    for workload in items(labels, "workloads"):
        until = asked.soaked_by or asked.at
        stretch = asked.soaked_from, asked.unseen
        ran = sum(soaked(ground, org, asked.version, workload, until, *stretch) for org in orgs)
        if ran + ground.slack < needed * DAY:
            return f"{workload} ran {ran / DAY:.3f} of {needed} days on {asked.version}"
    return ""


def soaked(
    ground: Ground,
    org: str,
    version: str,
    workload: str,
    until: Instant,
    since: Instant = START_OF_TIME,
    unseen: int = 0,
) -> int:
    """For how long clusters of an organisation really ran a version with a workload, and well."""
    ran = 0
    terms = ground.terms[org]
    for cluster in ground.record.members(org):
        for start, end, there in cluster.version.stretches(until):
            start = max(start, since)
            if there != version or start >= end:
                continue
            marks = {start, end}
            for history in (
                *(cluster.labels, cluster.state, cluster.alerts),
                ground.record.orgs[org],
            ):
                marks |= set(history.changes(start, end))
            moments = sorted(marks)
            for one, next_one in pairwise(moments):
                labels, of_org = ground.labels(cluster, one)
                ran += max(0, next_one - one - unseen) * (
                    workload in items(labels, "workloads")
                    and cluster.state.at(one) == "ready"
                    and not (terms.enforced and cluster.alerts.at(one))
                    and not owners.mistakes(labels, of_org)
                )
    return ran
