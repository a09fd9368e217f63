"""Labels that people request, where a survey shows less than there is."""

from collections.abc import Callable
from typing import Any

from tests.engine.test_label_requests import GOOD, PARTITION, SOAK, A, Asking, Strict
from tidegate.kinds.upgrades.core.journal.facts import Surveyed
from tidegate.kinds.upgrades.core.labels.label_edit import HolderChange, LabelEdit
from tidegate.kinds.upgrades.ocm.documents import Label
from tidegate.kinds.upgrades.ocm.port import OcmList
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.model.reason import Gate, Outcome

MUTEXES = LabelEdit("mutexes", "m", None)


def spoil(scene: Asking, label: str) -> Callable[[], None]:
    """A label is a document that cannot be read; how it is put right."""
    path = f"/api/accounts_mgmt/v1/subscriptions/{A.id}/labels"
    one = scene.state.collections[path][f"sre-capabilities.aus.{label}"]
    value = one.pop("value")
    scene.state.touch()

    def restore() -> None:
        one["value"] = value
        scene.state.touch()

    return restore


def test_a_label_that_cannot_be_read_is_not_taken_for_one_that_is_gone() -> None:
    """The request to remove it stays, and is carried out once it can be read."""
    scene = Asking()
    scene.change(A, "mutexes", "m")
    scene.live(1)
    put_right = spoil(scene, "mutexes")
    scene.request(HolderChange(A, (MUTEXES,)))
    scene.live(1)
    assert [each.ident for each in scene.view().requests] == ["r1"]
    assert (Gate.READING, Outcome.WAIT, "OrgPartlyRead") in scene.shut()
    put_right()
    scene.live(1)
    assert scene.labels() == GOOD
    assert scene.view().requests == ()


class Torn(Asking):
    """One whose list of labels changes while it is read, if it says so."""

    torn = False

    def manager(self) -> SimulatedClusters:
        """The way in."""
        found = TornClusters(self.state, self)
        found.scene = self
        return found


class TornClusters(Strict):
    """Lists that miss a cluster, and say that they are not whole."""

    scene: Torn

    async def labels(self, *args: Any, **more: Any) -> OcmList[Label]:
        """All but those of one cluster."""
        found = await super().labels(*args, **more)
        if not self.scene.torn or more.get("subscription"):
            return found
        items = tuple(each for each in found.items if each.subscription_id != A.id)
        return OcmList(items, found.unreadable, complete=False)


def test_a_cluster_with_labels_is_not_listed_as_one_without() -> None:
    """A list that is not whole misses its labels, and not the cluster."""
    scene = Torn()
    scene.torn = True
    scene.live(2)
    known = scene.known(PARTITION)
    assert {each.name for each in known.clusters.values()} == {"a", "b"}
    assert known.unlabelled == {}
    scene.torn = False
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(1)
    assert scene.labels() == {**GOOD, "soak-days": "5"}


def test_only_clusters_without_labels_that_changed_are_recorded() -> None:
    """An organisation may have thousands of them, and some change every hour."""
    some = [{"name": f"n{at}", "org": "o", "version": "4.16.3"} for at in range(5)]
    scene = Asking(clusters=some)
    assert len(scene.known(PARTITION).unlabelled) == 5
    known = scene.store.head(PARTITION).seq
    every = scene.state.collections["/api/clusters_mgmt/v1/clusters"].values()
    (one,) = (each for each in every if each["name"] == "n2")
    one["version"]["raw_id"] = "4.16.4"
    gone = scene.state.collections["/api/accounts_mgmt/v1/subscriptions"]["n3-sub"]
    gone["status"] = "Deprovisioned"
    scene.state.touch()
    scene.live(2)
    facts = [each.fact() for each in scene.store.read(PARTITION) if each.seq > known]
    news = [each for each in facts if isinstance(each, Surveyed) and each.is_news()]
    assert [[one.name for one in each.unlabelled] for each in news] == [["n2"]]
    assert [each.unlabelled_gone for each in news] == [("n3-uuid",)]
    names = {each.name for each in scene.known(PARTITION).unlabelled.values()}
    assert names == {"n0", "n1", "n2", "n4"}
