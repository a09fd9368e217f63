"""The labels that a bundle's declarations result in.

Upgrade policies in files are written as labels, like all others: lists sorted and
parted by commas, days of soak 0 unless said otherwise, and what is empty not at all. What cannot be
said in a label is a problem, and never dropped.

    workloads [b, a], soakDays absent, mutexes []: workloads "a,b", soak-days "0", no mutexes
"""

from collections.abc import Callable, Iterable, Iterator

from tidegate.kinds.upgrades.core.declared.patterns import comma_problem
from tidegate.kinds.upgrades.core.labels.bundled import BundledCluster, BundledOrg
from tidegate.kinds.upgrades.core.labels.label_edit import BLOCKED, INHERIT, PUBLISH
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL
from tidegate.model.problem import Problem, shown


def policy_labels(cluster: BundledCluster, problems: list[Problem]) -> dict[str, str]:
    """The labels of a cluster; what cannot be said in one is a problem."""
    policy = cluster.policy
    lists = {
        "workloads": policy.workloads,
        "mutexes": policy.mutexes,
        BLOCKED: policy.blocked,
        "version-gate-approvals": policy.approvals,
    }
    where = f"{cluster.where}: cluster/{cluster.name}"
    labels = {"soak-days": str(policy.soak_days), "schedule": policy.schedule}
    if policy.sector:
        labels["sector"] = policy.sector
    for label, items in lists.items():
        if items:
            wrong = comma_problem if label == BLOCKED else _comma
            labels[label] = ",".join(sorted(_single(items, f"{where}: {label}", problems, wrong)))
    return labels


def org_labels(org: BundledOrg, problems: list[Problem]) -> dict[str, str]:
    """The labels of an organisation; what cannot be said in one is a problem."""
    where = f"{org.where}: {org.name}"
    labels: dict[str, str] = {}
    if org.blocked:
        labels[BLOCKED] = ",".join(
            _single(org.blocked, f"{where}: blockedVersions", problems, comma_problem)
        )
    for label, ids in ((INHERIT, org.inherit), (PUBLISH, org.publish)):
        if ids:
            labels[label] = ",".join(sorted(ids))
    named = {each for sector in org.sectors for each in sector.dependencies}
    for sector in org.sectors:
        at = f"{where}: sectors.{sector.name}"
        list(_single((sector.name,), at, problems))
        for name, other in sector.elsewhere:
            what = f"waits for the sector {shown(name)} of {other}, which no label can say"
            problems.append(Problem(at, what, "inherit its version data instead"))
        behind = ",".join(sorted(_single(sector.dependencies, at, problems)))
        if sector.max_parallel:
            labels[SECTOR_MAX_PARALLEL + sector.name] = sector.max_parallel
        # One that nothing else tells of would not be there at all.
        if behind or (sector.name not in named and not sector.max_parallel):
            labels[SECTOR_DEPENDENCIES + sector.name] = behind
    return labels


def _comma(item: str) -> tuple[str, str]:
    what = f"{shown(item)} contains a comma, which separates the items of a label"
    return what, "write an item for each part"


def _single(
    items: Iterable[str],
    where: str,
    problems: list[Problem],
    wrong: Callable[[str], tuple[str, str]] = _comma,
) -> Iterator[str]:
    """The items of a list, each of which must be one item still when it is read."""
    for each in dict.fromkeys(items):
        if "," in each:
            problems.append(Problem(where, *wrong(each)))
        yield each
