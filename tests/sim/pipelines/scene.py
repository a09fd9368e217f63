"""Weeks of a pipeline: releases, failing deployments and checks, people, dying workers."""

import random
from functools import partial

from msgspec.structs import replace

from tests.picture_key import LINKS
from tests.pipeline_stage import DAY, HOUR, MemoryForge, Shelf, publisher, subscriber
from tests.pipelined import declared
from tests.sim.pipelines.witness import PARTITION, PipelineWitness
from tests.sim.story import run
from tests.sim.story.ending import check_journal
from tests.sim.story.life import Life
from tests.sim.story.scene import Happening, Scene, in_order
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Asked, Braked, Lifted, Verb
from tidegate.kinds.promotions.app.pipelines.observation import (
    PipelineObservation,
    PipelineQuestions,
    PipelineReader,
)
from tidegate.kinds.promotions.app.pipelines.ports import PipelineRequests
from tidegate.kinds.promotions.channel_kind import PipelineKind
from tidegate.kinds.promotions.channel_rules import ChannelRules
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import QuarantineLifted, RequestsSeen
from tidegate.kinds.promotions.core.channels.pipeline import TrustRule
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.core.requests.model import ChecksResult, RequestAct
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.simulation.faults import CallFault, Faults
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.port import Store

HOLD = {"name": "quiet", "scope": {"everything": True}, "owner": "ada", "reason": "quiet"}
TRUST = 2
DAYS = 45
# Three of them, in days.
MONTHS = 91
# A merge request is merged by a queue this long after its check, at most.
QUEUE_S = 5 * 3600


class MortalReader(PipelineReader):
    """The bundle and the clusters as one life of a worker sees them."""

    def __init__(self, life: Life, shelf: Shelf) -> None:
        self._life, self._shelf = life, shelf

    async def partitions(self) -> list[str]:
        """The one pipeline."""
        return await self._shelf.partitions()

    async def observe(
        self, partition: str, asked: PipelineQuestions, now: Instant
    ) -> PipelineObservation | None:
        """A point to die at; of each target only what it runs now is shown."""
        self._life.step()
        found = await self._shelf.observe(partition, asked, now)
        assert found is not None
        last = {each.target: each for each in self._shelf.deployed}
        self._life.call()
        return replace(found, deployments={"inventory": tuple(last.values())})


class MortalRequests(PipelineRequests):
    """The forge as one life of a worker sees it: it fails now and then, before or after."""

    def __init__(self, life: Life, scene: "PipelineScene") -> None:
        self._life, self._scene = life, scene

    async def read(self, reading: PipelineReading, known: object) -> RequestsSeen:
        """Read with the rest."""
        raise NotImplementedError

    async def carry_out(
        self, act: RequestAct, plan: PipelinePlan, world: PipelineWorld, picture: str = ""
    ) -> str:
        """The witness sees it first."""
        self._life.step()
        scene = self._scene
        held = {each.channels for each in act.holds}
        promotions = [each for each in plan.promotions if each.channels in held]
        if scene.troubled() and scene.rng.random() < 0.1:
            raise OutsideError("the forge does not answer")
        scene.witness.acts(self._life, act, promotions, TRUST)
        done = await scene.forge.carry_out(act, plan, world, picture)
        scene.witness.one_each()
        self._life.call()
        if scene.troubled() and scene.rng.random() < 0.1:
            raise OutsideError("the answer is lost")
        return done


class PipelineScene(Scene):
    """Three publishers on stage, four subscribers in production, and all that may happen."""

    start = parse_instant("2026-01-01T00:00:00Z")
    freezes_s = (60, 3600, 7200)
    calls_max = 150
    poll_s = 3600.0
    polls_max = 24 * 30
    partitions = (PARTITION,)

    witness: PipelineWitness

    def __init__(self, seed: int, days: int, loop: VirtualLoop, store: Store) -> None:
        super().__init__(seed, loop, store, random.Random(f"pipelines/{seed}"))
        self.days = days
        self.version = 1
        publishers = [publisher("p1", "a"), publisher("p2", "b"), publisher("p3", "b")]
        subscribers = [
            subscriber("s1", "a", soak=DAY),
            subscriber("s2", "a"),
            subscriber("s3", "b", soak=12 * HOUR),
            subscriber("s4", "a", "b", soak=DAY),
        ]
        first = self._name(1)
        self.shelf = Shelf(
            declared(trust=TrustRule(promotions=TRUST)),
            [replace(each, version=first) for each in publishers],
            [replace(each, ref=first) for each in subscribers],
        )
        self.forge = MemoryForge(self.shelf)
        self.witness = PipelineWitness(loop, self.shelf, self.forge)
        self.trouble_s, self.workers, self.off_max = days * 86400.0, 2, 20 * SECOND
        until = Instant(self.start + days * DAY)
        store_faults = (CallFault.GONE_BEFORE, CallFault.GONE_AFTER, CallFault.OVERTAKEN)
        self.faults = Faults(seed, VirtualClock(loop), dict.fromkeys(store_faults, 5), until)

    @staticmethod
    def _name(number: int) -> str:
        return f"{number:07x}".ljust(40, "0")

    @property
    def newest(self) -> str:
        """The newest version."""
        return self._name(self.version)

    def troubled(self) -> bool:
        """Whether the forge still fails."""
        return self.now() < self.start + self.days * DAY

    def kind(self, life: Life) -> PipelineKind:
        """The pipeline."""
        reader, requests = MortalReader(life, self.shelf), MortalRequests(life, self)
        every = Duration(HOUR)
        return PipelineKind(reader, requests, life.clock, every=every, pictures=LINKS)

    def settings(self, holder: str) -> WorkerSettings:
        """Of a worker that acts; it looks as often as a pipeline of days needs it to."""
        return WorkerSettings(
            holder=holder,
            act=("*",),
            lease_term=Duration(90 * 60 * SECOND),
            listen_s=1800.0,
            resync_s=3600.0,
            discover_s=7200.0,
            follow_s=2700.0,
            backoff_max_s=600.0,
        )

    def _say(self, fact: Fact, partition: str = PARTITION) -> None:
        self.store.append(partition, [JournalNote(self.now(), "user:ada", fact)])

    # What happens

    def release(self) -> None:
        """A commit is merged, and stage deploys it some hours later, well or not."""
        self.version += 1
        self.shelf.release(self.newest)
        for name in self.shelf.publishers:
            good = self.rng.random() < 0.9
            self._later(self.rng.uniform(0, 6 * 3600), partial(self.deploy, name, good))

    def _later(self, seconds: float, what: partial[None]) -> None:
        self.loop.call_later(seconds, what)

    def deploy(self, name: str, good: bool, version: str = "") -> None:
        """A target is deployed with the version that it is to have."""
        written = self.shelf.subscribers.get(name)
        version = version or (written.ref if written is not None else self.newest)
        seen = DeploymentSeen(target=name, version=version, at=self.now(), good=good)
        self.shelf.deployed.append(seen)
        self.witness.deployed(name, version, good)

    def redeploy(self) -> None:
        """A publisher is deployed again."""
        self.deploy(self.rng.choice(list(self.shelf.publishers)), self.rng.random() < 0.9)

    def check(self) -> None:
        """Checks of open merge requests end; a queue merges those that pass."""
        for number in self.forge.open_numbers():
            passes = self.rng.random() < (0.8 if self.troubled() else 1.0)
            self.forge.check(number, ChecksResult.PASSED if passes else ChecksResult.FAILED)
            if passes:
                self._later(self.rng.uniform(0, QUEUE_S), partial(self.merge, number))

    def merge(self, number: int) -> None:
        """A queue merges one that is open still, and production deploys what is written."""
        kept = self.forge.kept[number]
        if not kept.open or kept.request.check is not ChecksResult.PASSED or kept.request.conflict:
            return
        self.forge.merge(number)
        self.witness.seen["merged"] += 1
        for name, version in kept.changes.items():
            self.witness.written.add((name, version))
            good = self.rng.random() < (0.95 if self.troubled() else 1.0)
            self._later(self.rng.uniform(60, 3600), partial(self.deploy, name, good))

    def close(self) -> None:
        """A person closes one."""
        if numbers := self.forge.open_numbers():
            self._close(self.rng.choice(numbers))

    def _close(self, number: int) -> None:
        for each in self.forge.holds(number):
            self.witness.declined.setdefault(each.content, self.now())
        self.forge.close(number)
        self.witness.seen["declined"] += 1

    def push(self) -> None:
        """A person pushes to one, and ends it some days later: merged if it passes, or closed."""
        numbers = [n for n in self.forge.open_numbers() if n not in self.witness.pushed]
        if numbers:
            number = self.rng.choice(numbers)
            self.forge.push(number, 'c0ffee0 "wait" by Bob')
            self.witness.pushed[number] = self.now()
            self.witness.seen["pushed"] += 1
            self._later(self.rng.uniform(1, 4) * 86400, partial(self._give_up, number))

    def _give_up(self, number: int) -> None:
        if self.forge.kept[number].open:
            self._close(number)

    def conflict(self) -> None:
        """Another change of the same lines is merged."""
        if numbers := self.forge.open_numbers():
            self.forge.conflict(self.rng.choice(numbers))
            self.witness.seen["conflicts"] += 1

    def hold(self) -> None:
        """Nothing is to be offered."""
        self._say(Braked(brake="hold", name="quiet", document=HOLD), BRAKES)
        self.witness.held_at = self.witness.held_at or self.now()

    def lift(self) -> None:
        """It may go on."""
        self._say(Lifted(brake="hold", name="quiet"), BRAKES)
        self.witness.held_at = None

    def pause(self) -> None:
        """A person pauses the pipeline."""
        self._say(Asked(verb=Verb.PAUSE))
        self.witness.paused_at = self.witness.paused_at or self.now()

    def resume(self) -> None:
        """And resumes it."""
        self._say(Asked(verb=Verb.RESUME))
        self.witness.paused_at = None

    def approve(self) -> None:
        """A person approves the newest version."""
        self._say(Asked(verb=Verb.APPROVE, gates=(f"trust/{self.newest[:7]}",)))
        self.witness.approved.setdefault(self.newest, self.now())

    def forgive(self) -> None:
        """The newest version failed for another reason."""
        self._say(QuarantineLifted(version=self.newest, reason="a full node"))
        self.witness.failed.pop(self.newest, None)

    def happenings(self) -> list[Happening]:
        """Releases every few days, checks every few hours, and the rest now and then."""
        people = [self.close, self.hold, self.lift, self.lift, self.pause, self.resume]
        people += [self.resume, self.approve, self.approve, self.approve, self.forgive]
        people += [self.push, self.conflict]
        doings = [*self.accidents(), *people, self.redeploy]
        # As often as in 45 days, however long it is.
        often = 60 * self.days // 45
        drawn = [self.rng.choice(doings) for _ in range(often)] + [self.release] * (self.days // 3)
        drawn += [self.restart] * often + [self.check] * (self.days * 4)
        # Requests are open for hours: most who want to push to one or close it find none.
        drawn += [self.push] * self.days + [self.close] * (self.days // 2)
        return in_order((self.rng.uniform(0, self.trouble_s), each) for each in drawn)

    def calm_down(self) -> None:
        """One worker is left, nothing is held, and a last version goes well everywhere."""
        for life in self.living():
            life.die()
        self.start_worker(mortal=False)
        self.lift()
        self.resume()
        self.version += 1
        self.shelf.release(self.newest)
        self.approve()
        for name in self.shelf.publishers:
            self.deploy(name, good=True)
        for hour in range(0, 24 * 20, 3):
            self._later(hour * 3600.0, partial(self.check))
        # What is offered last conflicts now and then in its first days, too.
        for hour in range(1, 40, 3):
            self._later(hour * 3600.0, partial(self.conflict))

    def is_at_rest(self) -> bool:
        """Whether every subscriber has the last version."""
        return all(each.ref == self.newest for each in self.shelf.subscribers.values())

    def check_end(self) -> None:
        """The journal holds and replays, and nothing is left to do."""
        _, state = check_journal(self, PARTITION, ChannelRules())
        assert state.known.reading is not None


def live_through(seed: int, days: int = DAYS) -> run.Told:
    """The story of a pipeline over some days."""
    again = f"tests.sim.pipelines.scene.live_through({seed}, {days})"
    return run.live_through(partial(PipelineScene, seed, days), PipelineScene.start, again)
