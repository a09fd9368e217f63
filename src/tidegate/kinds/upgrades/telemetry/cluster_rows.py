"""What dashboards show of each cluster, excluded ones too: labels as written, mistakes, dates."""

from collections.abc import Iterable, Iterator

from tidegate.explain.markup import cut
from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.explain.numbers import Sample
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.model.time import SECOND

# Labels as their owner wrote them: what cannot be read is shown, too.
_WRITTEN = ("schedule", "sector", "mutexes", "soak-days", "workloads")
_UTC = "UTC"


def cluster_samples(
    summaries: Iterable[ClusterSummary], fleets: Iterable[OrganisationFleet]
) -> dict[str, list[Sample]]:
    """Every number of a cluster by itself, by name."""
    several = list(summaries)
    problems = [one for fleet in fleets for one in _of_organisation(fleet)]
    problems += [one for each in several for one in _problems(each)]
    return {
        "tidegate_upgrade_cluster_info": _once(_info(each) for each in several),
        "tidegate_upgrade_problem": _once(problems),
        "tidegate_upgrade_soaked_timestamp_seconds": _once(
            one for each in several for one in _soaked(each)
        ),
    }


def _once(samples: Iterable[Sample]) -> list[Sample]:
    """Each series once: a scrape with one twice is refused whole."""
    return list({tuple(labels.values()): (labels, value) for labels, value in samples}.values())


def _owner(fleet: OrganisationFleet, member: FleetMember | None) -> dict[str, str]:
    return {
        "ocm_env": fleet.org.env,
        "org_id": fleet.org.id,
        "org_name": fleet.org.name,
        "cluster_id": "" if member is None else member.cluster.uuid,
        "cluster_name": "" if member is None else member.cluster.name,
    }


def _info(summary: ClusterSummary) -> Sample:
    member = summary.member
    cluster = member.cluster
    written = {name.replace("-", "_"): cluster.labels.get(name, "") for name in _WRITTEN}
    labels = {
        **_owner(summary.fleet, member),
        "version": summary.oldest,
        "channel": cluster.updates_from,
        "timezone": cluster.labels.get("schedule-timezone", "") or _UTC,
        **written,
    }
    return labels, 1


def _of_organisation(fleet: OrganisationFleet) -> Iterator[Sample]:
    owner = _owner(fleet, None)
    for each in fleet.label_errors:
        yield {**owner, "label": each.label, "message": cut(each.words)}, 1


def _problems(summary: ClusterSummary) -> Iterator[Sample]:
    member = summary.member
    owner = _owner(summary.fleet, member)
    for each in member.label_errors:
        yield {**owner, "label": each.label, "message": cut(each.words)}, 1
    if member.excluded is not None and not member.label_errors:
        yield {**owner, "label": "", "message": cut(sentence(member.excluded))}, 1


def _soaked(summary: ClusterSummary) -> Iterator[Sample]:
    for option in summary.options:
        for each in option.verdicts:
            if each.reason is VersionReason.VersionSoaking and each.until is not None:
                version = option.change.revision or ""
                labels = {"cluster_id": summary.member.cluster.uuid, "version": version}
                yield labels, each.until / SECOND
