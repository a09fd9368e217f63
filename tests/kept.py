"""Namespaces that a worker keeps equal to Git, in virtual time, on a simulated cluster."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tests.staged import Declared, rules
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.explain.view import TargetRow
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted
from tidegate.kind_table import rules_of
from tidegate.kinds.integrations.app.executor import ObjectExecutor, apply
from tidegate.kinds.integrations.app.survey import KINDS, read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, workload_of
from tidegate.kinds.integrations.fleet.predecessor import Predecessor
from tidegate.kinds.integrations.kind import NamespaceKind
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kubernetes.port import MANAGER, Document, Take
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import read_behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore

T = TypeVar("T")
START = Instant(1_790_000_000 * SECOND)
NAMESPACE, PORT = "ns", 9090
PARTITION = f"integrations/one.{NAMESPACE}"
BASE = "qontract-reconcile-"
BEHAVIOUR: dict[str, Any] = {
    "defaults": {"readyAfter": "5s", "stopsAfter": "25s", "every": "30s", "takes": "5s"},
    "rules": [{"tag": "stuck-*", "start": "never-ready"}],
}
# A commit is noticed within so long, decided on and carried out.
ROUND_S = 25.0


class Kept:
    """A bundle that a person edits, a cluster, and a worker that keeps one equal to the other."""

    def __init__(self, loop: VirtualLoop, rules_text: str = "") -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.faults: Callable[[str], None] = lambda _: None
        self.api = SimulatedApi("one", lambda call: self.faults(call), self.clock)
        self.api.namespaces |= {NAMESPACE, "other"}
        self._nodes = asyncio.create_task(
            Nodes(self.api, self.clock, read_behaviour(BEHAVIOUR)).run()
        )
        self.git = Declared(NAMESPACE, rules=rules_text or rules(soak="2m", deadline="30m"))
        self.store = MemoryStore()
        self.troubles: list[str] = []
        self._working: asyncio.Task[None] | None = None
        self.worker: Worker | None = None
        self._deaths = 0

    def begin(
        self,
        act: tuple[str, ...] = ("*",),
        *,
        allow_mass_delete: bool = False,
        resync_s: float = 10,
    ) -> None:
        """A worker that knows what the journal and the cluster tell."""
        cluster = SimulatedCluster(self.api)
        fleet = self.git.fleet(lambda _: cluster, self.clock, port=PORT, look_s=10.0)
        namespaces = NamespaceKind(fleet)
        namespaces.allow_mass_removal = allow_mass_delete
        settings = WorkerSettings(
            holder=f"w{self._deaths}", act=act, discover_s=10, listen_s=5, resync_s=resync_s
        )
        self.worker = Worker(
            self.store,
            (RolloutKind(fleet), namespaces),
            self.clock,
            Executor(Limits(), Breaker()),
            settings,
            self._report,
        )
        self._working = asyncio.create_task(self.worker.run())

    def _report(self, partition: str, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self.troubles.append(f"{partition}: {outcome}")

    async def kill(self) -> None:
        """End the worker where it stands; its lease runs out."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self._deaths += 1
            self._working = None

    async def end(self) -> None:
        """Nothing is left."""
        await self.kill()
        self._nodes.cancel()
        await asyncio.gather(self._nodes, return_exceptions=True)
        self.store.close()

    async def wait(self, seconds: float = ROUND_S) -> None:
        """Some time passes, and the worker still works."""
        await asyncio.sleep(seconds)
        if self._working is not None and self._working.done():
            self._working.result()

    # What is there.

    def documents(self) -> dict[str, Document]:
        """Every object by kind and name."""
        return {
            f"{key[0].name}/{key[2]}": self.api.document(record)
            for key, record in self.api.records.items()
            if key[0].name not in ("Pod", "ReplicaSet")
        }

    def workload(self, name: str) -> LiveWorkload | None:
        """A Deployment or StatefulSet by the end of its name."""
        found = self.documents()
        for kind in ("Deployment", "StatefulSet"):
            if f"{kind}/{BASE}{name}" in found:
                return workload_of(found[f"{kind}/{BASE}{name}"])
        return None

    def tag(self, name: str) -> str:
        """The tag of the image it is to run; empty: it is not there."""
        found = self.workload(name)
        return "" if found is None else found.image.rpartition(":")[2]

    async def edit(self, name: str, change: Callable[[dict[str, Any]], None], who: str) -> None:
        """A person changes a Deployment on the cluster."""
        theirs = SimulatedCluster(self.api, who)
        document: dict[str, Any] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"{BASE}{name}", "namespace": NAMESPACE},
        }
        change(document)
        await theirs.apply(document, take=Take.OVER)

    async def run_by(self, who: str) -> None:
        """Another manager makes everything that is declared, as the existing one does."""
        theirs, ours = (SimulatedCluster(self.api, each) for each in (who, MANAGER))
        manager = Predecessor(self.git.estates, {"one": theirs}, {"one": ours})
        await manager.make(await self.git.estates.read())

    async def adopt(self, estate: Estate) -> None:
        """A person adopts everything, as `apply --adopt` does."""
        cluster = SimulatedCluster(self.api)
        surveys = await read_clusters({"one": cluster}, {"one": [NAMESPACE]})
        seen = {name: each.seen for name, each in surveys.items()}
        changes = changes_of(estate, seen, ChangeRequest(adopt=True))
        executor = ObjectExecutor(
            clusters={"one": cluster}, objects=surveys["one"].objects, consent=True
        )
        await apply(changes, executor)

    async def release(self) -> None:
        """A person gives everything back."""
        cluster = SimulatedCluster(self.api)
        for each in (await cluster.read(NAMESPACE, KINDS)).objects:
            await cluster.release(each)

    def brake(self, fact: Fact) -> None:
        """A person sets a brake, or lifts one."""
        self.store.append(BRAKES, [JournalNote(self.clock.now(), "ada", fact)])

    def ours(self) -> set[str]:
        """Names of objects that are ours."""
        return {key[2] for key, record in self.api.records.items() if MANAGER in record.owners}

    # What is said of it.

    def decided(self, partition: str = PARTITION) -> Decision:
        """A partition as readers see it now."""
        found = Journals(self.store, rules_of, self.clock.now()).read(partition)
        assert found is not None
        return found

    def row(self, target: str) -> TargetRow:
        """One target."""
        return next(each for each in self.decided().view.targets if each.name == target)

    def acted(self, partition: str = PARTITION) -> list[Acted]:
        """Every outcome so far."""
        facts = (entry.fact() for entry in self.store.read(partition))
        return [fact for fact in facts if isinstance(fact, Acted)]

    def replayed(self) -> list[object]:
        """Decisions that are decided otherwise when they are decided again."""
        rules_ = rules_of(PARTITION)
        found = rules_.replay(self.store.read(PARTITION), lambda *_: {})
        return [each.difference for each in found if each.difference is not None]


def play(story: Callable[[Kept], Awaitable[T]], rules_text: str = "") -> T:
    """A story in virtual time; at its end every decision is decided again, the same."""

    async def main(loop: VirtualLoop) -> T:
        kept = Kept(loop, rules_text)
        try:
            found = await story(kept)
            assert not kept.replayed()
            return found
        finally:
            await kept.end()

    return run_virtually(main, START)
