"""Which clusters a bundle means, and what of its declarations cannot be written."""

from tidegate.kinds.upgrades.core.labels.bundled import BundledCluster, BundledOrg, BundledPolicy
from tidegate.kinds.upgrades.core.labels.declared_clusters import Declarations, declarations
from tidegate.kinds.upgrades.core.world import ManagedCluster

POLICY = BundledPolicy(workloads=("w",), schedule="@daily")
LABELS = {"soak-days": "0", "schedule": "@daily", "workloads": "w"}


def read(*declared: tuple[str, str], there: tuple[ManagedCluster, ...]) -> Declarations:
    """Clusters by name and id, against those that are there."""
    clusters = tuple(
        BundledCluster(name=name, id=ident, policy=POLICY, where=f"f.yml:{i}")
        for i, (name, ident) in enumerate(declared)
    )
    return declarations(BundledOrg(id="o", name="Pay", clusters=clusters), there)


def cluster(name: str, ident: str = "", uuid: str = "") -> ManagedCluster:
    """One that is there."""
    return ManagedCluster(
        name, "o", "4.16.3", id=ident, external_id=uuid, subscription=f"{ident or name}-s"
    )


def test_clusters_are_found_by_id_or_by_name() -> None:
    """An id counts alone, whatever the name; the external one will do, too."""
    there = (cluster("a", "1"), cluster("b", "2", "uuid-2"), cluster("c", "3"))
    found = read(("a", ""), ("renamed", "2"), ("c", "3"), there=there)
    assert found.labels == {"1-s": LABELS, "2-s": LABELS, "3-s": LABELS}
    assert read(("b", "uuid-2"), there=there).labels == {"2-s": LABELS}
    assert (found.problems, found.missing) == ((), ())


def test_one_that_is_not_there_is_missing_and_the_others_go_on() -> None:
    """With the nearest name; an id is not taken for a name."""
    found = read(("prod-1", ""), ("prod-2", "9"), there=(cluster("prod-11", "2"),))
    assert found.labels == {}
    assert [each.text() for each in found.missing] == [
        'f.yml:0: cluster/prod-1: not in Pay; did you mean "prod-11"?',
        'f.yml:1: cluster/prod-2: not in Pay; did you mean "prod-11"?',
    ]


def test_a_name_of_several_and_a_cluster_declared_twice_are_problems() -> None:
    """No one guesses which is meant."""
    twins = (cluster("a", "1"), cluster("a", "2"))
    (both,) = read(("a", ""), there=twins).problems
    assert both.text() == "f.yml:0: cluster/a: 2 clusters of Pay are called so; write spec.id: 1, 2"
    (twice,) = read(("a", "1"), ("b", "1"), there=twins).problems
    assert twice.text() == "f.yml:1: cluster/b: it is declared at f.yml:0 too; keep one of them"
