"""Labels that people request, where a survey shows less than there is."""

from collections.abc import Callable
from typing import Any

from tests.engine.test_label_requests import GOOD, PARTITION, SOAK, A, Asking, Strict
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
