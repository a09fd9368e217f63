"""What months of virtual time found, each defect as small as it can be reported."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from tests.upgrades_live import Scene
from tidegate.engine.worker import Worker
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked
from tidegate.journal.lease import KeptLease, Lease
from tidegate.kinds.upgrades.ocm.documents import Label
from tidegate.kinds.upgrades.ocm.port import OcmList
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Head, Store

T = TypeVar("T")

GOOD = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
BOTH = "upgrades/prod/o"


def cluster(name: str, org: str = "o", **labels: str) -> dict[str, Any]:
    """A cluster that can go from 4.16.3 to 4.16.4 at once."""
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    return {"name": name, "org": org, "version": "4.16.3", "labels": {**GOOD, **named}}


def world(*clusters: dict[str, Any], **orgs: dict[str, str]) -> dict[str, Any]:
    """Clusters of some organisations, with the labels of those."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": each, "name": each, "labels": labels} for each, labels in orgs.items()],
        "versions": [{"version": "4.16.3"}, {"version": "4.16.4"}],
        "clusters": list(clusters),
    }


def started(scene: Scene) -> list[str]:
    """Clusters whose upgrade was asked for and taken."""
    found = (
        re.search(r"clusters/([a-z0-9-]+)-id/upgrade_policies", each.path)
        for each in scene.writes
        if each.status == 201
    )
    return [each[1] for each in found if each]


def told(scene: Scene) -> list[str]:
    """The notices to owners."""
    logs = (each for each in scene.writes if each.path.endswith("/cluster_logs"))
    return [each.body["description"] for each in logs]


def hold(scene: Scene, *names: str) -> None:
    """A person holds some clusters."""
    document = {"name": "h", "scope": {"targets": list(names)}, "owner": "ada", "reason": "no"}
    fact = Braked(brake="hold", name="h", document=document, reason="no")
    scene.store.append("brakes", [JournalNote(scene.now(), "user:ada", fact)])


async def at_work(worker: Worker, seconds: float) -> None:
    """A worker works for some time, and ends."""
    task = asyncio.create_task(worker.run())
    await asyncio.sleep(seconds)
    worker.stop()
    await task


class Torn(SimulatedClusters):
    """What organisations publish changes while it is read: some is missing, and that is said."""

    async def labels(self, prefix: str, *rest: Any, **more: Any) -> OcmList[Label]:
        found = await super().labels(prefix, *rest, **more)
        if not prefix.endswith("version-data."):
            return found
        items = tuple(each for each in found.items if not each.key.endswith(".publish"))
        return OcmList(items, found.unreadable, complete=False)


def test_a_list_of_publishers_that_is_not_whole_is_no_mistake_of_owners() -> None:
    """What inherits waits, and does not say that none publishes to it."""
    scene = Scene(
        world(
            cluster("a", "o", sector="s"),
            o={"version-data.inherit": "p", "sector-deps.s": ""},
            p={"version-data.publish": "o"},
        )
    )
    torn = Torn(scene.state, scene)
    scene.play(lambda: at_work(scene.worker(manager=torn), 60))
    assert told(scene) == []
    assert started(scene) == []
    scene.live(1)
    assert started(scene) == ["a"]


def test_nothing_goes_ahead_of_an_organisation_that_was_not_looked_at_yet() -> None:
    """With an empty journal it is not known what runs where soak is inherited from: no yes."""
    scene = Scene(
        world(
            cluster("a", "o", sector="s"),
            cluster("behind", "p", soak_days="9"),
            o={"version-data.inherit": "p", "sector-deps.s": ""},
            p={"version-data.publish": "o"},
        )
    )
    scene.live(3)
    assert started(scene) == []


class Lossy(SimulatedClusters):
    """The first policy is made, and the answer is lost."""

    lost = False

    async def _ask(self, method: str, path: str, *rest: Any, **more: Any) -> tuple[int, Any]:
        answer = await super()._ask(method, path, *rest, **more)
        if method == "POST" and "upgrade_policies" in path and not self.lost:
            self.lost = True
            raise OutsideError("the answer is lost")
        return answer


def test_what_may_have_been_done_keeps_its_mutex_until_the_next_look() -> None:
    """An answer is lost and the cluster is held: no other is upgraded in its place meanwhile."""
    scene = Scene(world(cluster("a", mutexes="m"), cluster("b", mutexes="m"), o={}))
    worker = scene.worker(manager=Lossy(scene.state, scene))

    async def story() -> None:
        working = asyncio.create_task(at_work(worker, 60))
        await asyncio.sleep(20)
        hold(scene, "a")
        worker.wake(BOTH)
        await working

    scene.play(story)
    assert started(scene) == ["a"]


class Closing(MemoryStore):
    """A journal that cannot be written to once a policy was made, for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.scene: Scene | None = None
        self.closed_until = 0

    def append(self, partition: str, notes: Sequence[JournalNote], **rest: Any) -> Head:
        """Nothing, for as long as it is closed."""
        scene = self.scene
        if scene is not None and partition == BOTH:
            if started(scene) and not self.closed_until:
                self.closed_until = scene.now() + 5 * SECOND
            if scene.now() < self.closed_until:
                raise OutsideError("the disk is full")
        return super().append(partition, notes, **rest)


def test_what_could_not_be_recorded_keeps_its_mutex_until_the_next_look() -> None:
    """The policy is made, the journal is away, the cluster is held: no other goes in its place."""
    store = Closing()
    scene = Scene(world(cluster("a", mutexes="m"), cluster("b", mutexes="m"), o={}), store=store)
    store.scene = scene
    worker = scene.worker()

    async def story() -> None:
        working = asyncio.create_task(at_work(worker, 60))
        await asyncio.sleep(2)
        hold(scene, "a")
        await working

    scene.play(story)
    assert started(scene) == ["a"]
    assert any("disk is full" in str(each) for _, each in scene.told)


def test_who_only_observes_remembers_nothing_as_asked_for() -> None:
    """What would be asked for is not under way, however often it is decided."""
    scene = Scene(world(cluster("a", mutexes="m"), cluster("b", mutexes="m"), o={}))
    scene.live(2, scene.worker(act=()))
    (stand,) = (each for each in scene.known(BOTH).stands.values() if each.target == "a-uuid")
    assert ("upgrade", "4.16.4", ()) in stand.options


class Cut(SimulatedClusters):
    """The first policy is not made, and no one says so."""

    cut = False

    async def _ask(self, method: str, path: str, *rest: Any, **more: Any) -> tuple[int, Any]:
        if method == "POST" and "upgrade_policies" in path and not self.cut:
            self.cut = True
            raise OutsideError("the connection is cut")
        return await super()._ask(method, path, *rest, **more)


def test_no_owner_is_notified_of_an_upgrade_whose_outcome_is_unknown() -> None:
    """It is reported once it was seen; what was never made is not reported."""
    scene = Scene(world(cluster("a"), o={}), notice=True)
    worker = scene.worker(manager=Cut(scene.state, scene))

    async def story() -> None:
        working = asyncio.create_task(at_work(worker, 60))
        await asyncio.sleep(20)
        hold(scene, "a")
        worker.wake(BOTH)
        await working

    scene.play(story)
    assert started(scene) == told(scene) == []


class Late(SimulatedClusters):
    """Whether the same was reported before is answered half a minute late."""

    async def _list(self, path: str, kind: type[T], search: str = "") -> OcmList[T]:
        found = await super()._list(path, kind, search)
        await asyncio.sleep(30 if path.endswith("cluster_logs") else 0)
        return found


class Unrenewed:
    """A journal that gives a worker its leases, and does not answer when they are to be renewed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._given = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def renew(self, *_: object) -> dict[str, KeptLease]:
        """No answer."""
        raise OutsideError("the journal does not answer")

    def take_many(self, *of: Any) -> dict[str, Lease]:
        """The first time, and no answer from then on."""
        if self._given:
            raise OutsideError("the journal does not answer")
        self._given = True
        return self._store.take_many(*of)


def test_no_owner_is_notified_twice_by_one_who_lost_its_lease_meanwhile() -> None:
    """Another leads and tells while the first still waits for an answer: the first tells no one."""
    scene = Scene(world(cluster("a", soak_days="two"), o={}), look=Duration(5 * SECOND))
    kept = cast("Store", Unrenewed(scene.store))
    late = scene.worker("late", manager=Late(scene.state, scene), store=kept)
    other = scene.worker("other")

    async def story() -> None:
        first = asyncio.create_task(at_work(late, 50))
        await asyncio.sleep(1)
        await asyncio.gather(at_work(other, 49), first)

    scene.play(story)
    assert len(told(scene)) == 1
