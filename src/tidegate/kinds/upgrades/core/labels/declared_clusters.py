"""Which clusters a bundle means: by their ids where it writes them, else by their names."""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.labels.bundled import BundledCluster, BundledOrg
from tidegate.kinds.upgrades.core.labels.declared_labels import org_labels, policy_labels
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.problem import Problem, nearest


class Declarations(msgspec.Struct, frozen=True):
    """The labels that an organisation and its clusters are to have."""

    # By the id of the organisation, and of subscriptions.
    labels: Mapping[str, Mapping[str, str]]
    # What cannot be written as it is declared.
    problems: tuple[Problem, ...] = ()
    # Clusters that are declared and are not there, so that the declaration may be incomplete.
    missing: tuple[Problem, ...] = ()


def declarations(org: BundledOrg, clusters: Iterable[ManagedCluster]) -> Declarations:
    """What a bundle declares of one organisation, for the clusters that are there."""
    there = list(clusters)
    problems: list[Problem] = []
    missing: list[Problem] = []
    found: dict[str, Mapping[str, str]] = {}
    if own := org_labels(org, problems):
        found[org.id] = own
    declared_at: dict[str, str] = {}
    for each in org.clusters:
        where = f"{each.where}: cluster/{each.name}"
        meant = _meant(each, there)
        if len(meant) > 1:
            ids = ", ".join(sorted(one.ident for one in meant))
            what = f"{len(meant)} clusters of {org.name} are called so"
            problems.append(Problem(where, what, f"write spec.id: {ids}"))
        elif not meant:
            hint = nearest(each.name, [one.name for one in there])
            missing.append(Problem(where, f"not in {org.name}", hint))
        elif (holder := meant[0].subscribed_as) in declared_at:
            what = f"it is declared at {declared_at[holder]} too"
            problems.append(Problem(where, what, "keep one of them"))
        else:
            declared_at[holder] = each.where
            found[holder] = policy_labels(each, problems)
    return Declarations(found, tuple(problems), tuple(missing))


def _meant(declared: BundledCluster, there: list[ManagedCluster]) -> list[ManagedCluster]:
    if declared.id:
        return [each for each in there if declared.id in (each.ident, each.uuid)]
    return [each for each in there if each.name == declared.name]
