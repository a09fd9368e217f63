"""Pipelines in virtual time: a bundle in memory, a forge in memory, and one worker that leads.

The forge does what a forge does and no more: it keeps requests, people and queues merge or close
them, and a merge writes the refs that the request carries.
"""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from tests.patience import PATIENCE_S
from tests.picture_key import LINKS, PUBLIC
from tests.pipelined import NEW, OLD, URL
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.explain.view import PartitionView
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Asked
from tidegate.kinds.promotions.app.pipelines.observation import (
    PipelineObservation,
    PipelineQuestions,
    PipelineReader,
)
from tidegate.kinds.promotions.app.pipelines.ports import PipelineRequests
from tidegate.kinds.promotions.channel_kind import PipelineKind
from tidegate.kinds.promotions.channel_rules import ChannelRules, PipelineState
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import DeploymentsSeen, RequestsSeen
from tidegate.kinds.promotions.core.channels.model import ShardRuns, SloState
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import (
    CommitRange,
    PipelineReading,
    SaasPublisher,
    SaasSubscriber,
    TargetPlace,
)
from tidegate.kinds.promotions.core.requests.data_block import RequestData
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    ChecksResult,
    HeldPromotion,
    RequestAct,
    RequestVerb,
    SeenRequest,
)
from tidegate.kinds.promotions.core.requests.record import (
    ClosedRequest,
    declined_requests,
    failed_batches,
)
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.client.memory import MemoryStore

START = Instant(1_800_000_000 * SECOND)
HOUR = 3600 * SECOND
DAY = 24 * HOUR
PARTITION = "channels/payments"


def place(name: str, environment: str, saas: str = "saas-payments") -> TargetPlace:
    """A target of the saas file."""
    return TargetPlace(
        saas=saas,
        template="api",
        target=name,
        cluster=environment,
        namespace=f"payments-{name}",
        environment=environment,
        file=f"data/{saas}.yml",
        namespace_ref=f"/services/{name}.yml",
        url=URL,
    )


def publisher(name: str, *channels: str, version: str | None = NEW) -> SaasPublisher:
    """A target on stage that publishes."""
    return SaasPublisher(place=place(name, "stage"), ref="main", channels=channels, version=version)


def subscriber(name: str, *channels: str, ref: str = OLD, soak: int = 0) -> SaasSubscriber:
    """A target in production that subscribes."""
    return SaasSubscriber(
        place=place(name, "prod"), ref=ref, channels=channels, soak=Duration(soak)
    )


class Shelf(PipelineReader):
    """A bundle in memory, and what is seen beside it."""

    def __init__(
        self,
        pipeline: Pipeline,
        publishers: Iterable[SaasPublisher],
        subscribers: Iterable[SaasSubscriber],
    ) -> None:
        self.pipeline = pipeline
        self.publishers = {each.name: each for each in publishers}
        self.subscribers = {each.name: each for each in subscribers}
        self.deployed: list[DeploymentSeen] = []
        self.runs: dict[str, ShardRuns] | None = None
        self.slos: dict[str, SloState] | None = None
        self.commits: dict[str, CommitRange] = {}
        self.forge: MemoryForge | None = None

    def release(self, version: str) -> None:
        """A new commit on the branch that publishers follow."""
        self.publishers = {
            name: replace(each, version=version) for name, each in self.publishers.items()
        }

    def write(self, name: str, version: str) -> None:
        """A ref in a saas file."""
        self.subscribers[name] = replace(self.subscribers[name], ref=version)

    async def partitions(self) -> list[str]:
        """The one pipeline."""
        return [self.pipeline.partition]

    async def observe(
        self, partition: str, asked: PipelineQuestions, now: Instant
    ) -> PipelineObservation | None:
        """What is there now."""
        assert partition == self.pipeline.partition
        assert all(len(each) == 2 for each in asked.pairs)
        reading = PipelineReading(
            pipeline=self.pipeline,
            base="f" * 40,
            subscribers=tuple(self.subscribers[name] for name in sorted(self.subscribers)),
            publishers=tuple(self.publishers[name] for name in sorted(self.publishers)),
            commits=dict(self.commits),
        )
        requests = None if self.forge is None else self.forge.seen()
        return PipelineObservation(
            at=now,
            reading=reading,
            deployments={"inventory": tuple(self.deployed)},
            runs=self.runs,
            slos=self.slos,
            requests=requests,
        )


class _Kept(msgspec.Struct):
    request: SeenRequest
    changes: dict[str, str]
    data: RequestData
    open: bool = True
    merged: bool = False


class MemoryForge(PipelineRequests):
    """Merge requests in memory; a merge writes what the request carries."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        shelf.forge = self
        self.kept: dict[int, _Kept] = {}
        self.acts: list[str] = []
        # Requests of the existing manager.
        self.others: tuple[SeenRequest, ...] = ()
        # How many calls fail from now on.
        self.failing = 0

    def seen(self) -> RequestsSeen:
        """What a reading shows."""
        closed = [
            ClosedRequest(number, each.data)
            for number, each in self.kept.items()
            if not each.open and not each.merged
        ]
        return RequestsSeen(
            requests=(*(e.request for e in self.kept.values() if e.open), *self.others),
            failed=failed_batches(closed),
            declined=declined_requests(closed),
        )

    async def read(self, reading: PipelineReading, known: Iterable[int]) -> RequestsSeen:
        """The same."""
        assert set(known) <= self.kept.keys() | {each.number for each in self.others}
        assert reading.pipeline.name == self._shelf.pipeline.name
        return self.seen()

    async def carry_out(
        self, act: RequestAct, plan: PipelinePlan, world: PipelineWorld, picture: str = ""
    ) -> str:
        """Open, change or close one."""
        assert picture.startswith(f"{PUBLIC}/picture/"), "as of the decision of the task"
        if self.failing:
            self.failing -= 1
            raise OutsideError("the forge does not answer")
        self.acts.append(act.verb.value)
        pipeline = world.reading.pipeline.name
        if act.number is not None and self.kept[act.number].request.foreign:
            raise StaleError(f"!{act.number} has work of others, and is left")
        if act.verb is RequestVerb.CLOSE:
            kept = self.kept[act.number or 0]
            kept.open = False
            kept.data = replace(kept.data, closed=act.cause)
            return f"closed !{act.number}"
        number = act.number or self._opened(act.key)
        held = {each.channels for each in act.holds}
        mine = [each for each in plan.promotions if each.channels in held]
        self.kept[number] = _Kept(
            SeenRequest(
                number=number,
                url=f"https://git.example.com/!{number}",
                branch=act.key or self.kept[number].request.branch,
                holds=act.holds,
                batchable=act.batchable,
            ),
            _written(mine),
            RequestData(pipeline=pipeline, holds=act.holds, batchable=act.batchable),
        )
        return f"!{number}"

    def _opened(self, key: str) -> int:
        same = [n for n, each in self.kept.items() if each.open and each.request.branch == key]
        return same[0] if same else len(self.kept) + 1

    def check(self, number: int, result: ChecksResult) -> None:
        """A check ends."""
        kept = self.kept[number]
        kept.request = replace(kept.request, check=result)

    def merge(self, number: int) -> None:
        """A queue merges it."""
        kept = self.kept[number]
        assert kept.open
        kept.open, kept.merged = False, True
        for name, version in kept.changes.items():
            self._shelf.write(name, version)

    def close(self, number: int) -> None:
        """A person closes it."""
        self.kept[number].open = False

    def push(self, number: int, words: str) -> None:
        """A person pushes a commit to its branch."""
        kept = self.kept[number]
        kept.request = replace(kept.request, foreign=words, check=ChecksResult.NONE)

    def conflict(self, number: int) -> None:
        """The target changed the same lines."""
        kept = self.kept[number]
        kept.request = replace(kept.request, conflict=True)

    def open_numbers(self) -> list[int]:
        """Those that are open."""
        return [number for number, each in self.kept.items() if each.open]

    def holds(self, number: int) -> tuple[HeldPromotion, ...]:
        """What one holds."""
        return self.kept[number].request.holds


def _written(promotions: Iterable[ChannelPromotion]) -> dict[str, str]:
    return {change.name: change.version for each in promotions for change in each.changes}


class Clock:
    """A clock that is set by hand."""

    def __init__(self, at: Instant = START) -> None:
        self.at = at

    def now(self) -> Instant:
        """What it shows."""
        return self.at


class Stage:
    """One worker that leads one pipeline; a round whenever it is asked for."""

    def __init__(self, shelf: Shelf, *, mode: Mode = Mode.ACT, forge: bool = True) -> None:
        self.shelf, self.mode, self.clock = shelf, mode, Clock()
        self.forge = MemoryForge(shelf) if forge else None
        self.store = MemoryStore()
        self.kind = PipelineKind(shelf, self.forge, self.clock, every=Duration(0), pictures=LINKS)
        self.rules = ChannelRules()

    def later(self, duration: int) -> None:
        """Time passes."""
        self.clock.at = Instant(self.clock.at + duration)

    def deployed(self, version: str, *names: str, good: bool = True, why: str = "") -> None:
        """Targets are deployed now; without names, all that publish."""
        for name in names or tuple(self.shelf.publishers):
            seen = DeploymentSeen(
                target=name, version=version, at=self.clock.at, good=good, why=why
            )
            self.shelf.deployed.append(seen)

    def round(self, times: int = 1) -> RoundResult:
        """Rounds, a second apart."""
        for _ in range(times):
            self.later(SECOND)
            result = asyncio.run(self._round())
        return result

    async def _round(self) -> RoundResult:
        lease = self.store.lease(PARTITION, "w", self.clock.now(), Duration(400 * DAY))
        assert lease is not None
        context = RoundContext(
            BrakeBook(self.store),
            Journal(self.store),
            Executor(Limits(timeout_s=PATIENCE_S), Breaker()),
            self.clock,
            OtherStates(self.store).of(self.kind.rules),
        )
        return await Round(context, self.kind, self.part(), lease, self.mode).run()

    def part(self) -> PartitionState[PipelineState]:
        """The pipeline as its journal has it."""
        return PartitionState(self.store, PARTITION, self.rules)

    def state(self) -> PipelineState:
        """What the journal folds to."""
        part = self.part()
        part.catch_up()
        return part.state

    def view(self) -> PartitionView:
        """What readers see now."""
        state, now = self.state(), self.clock.now()
        brakes = BrakeBook(self.store).seen(PARTITION, self.rules.under_way(state), now)
        world = self.rules.world(state, brakes, now, lambda _: None)
        assert world is not None
        return self.rules.view(PARTITION, state, world, self.rules.decide(world, now), now)

    def states(self) -> dict[str, str]:
        """The state of every subscriber, by its short name."""
        return {each.name.split(":")[2]: each.state for each in self.view().targets}

    def reasons(self, name: str) -> list[str]:
        """Why a subscriber waits: the shut gates."""
        (row,) = (each for each in self.view().targets if each.name.split(":")[2] == name)
        said = row.options[0].verdicts
        return [each.reason.value for each in said if each.outcome.value != "pass"]

    def refs(self) -> Mapping[str, str]:
        """What is written for every subscriber, by its short name."""
        return {name.split(":")[2]: each.ref for name, each in self.shelf.subscribers.items()}

    def say(self, fact: Fact, actor: str = "user:ada") -> None:
        """A person or a program writes a fact."""
        self.store.append(PARTITION, [JournalNote(self.clock.now(), actor, fact)])

    def ask(self, asked: Asked, actor: str = "user:bob") -> None:
        """A person asks for something."""
        self.say(asked, actor)


def webhook(stage: Stage, version: str, name: str, good: bool = True) -> None:
    """A pipeline of deployments reports a result."""
    seen = DeploymentSeen(target=name, version=version, at=stage.clock.now(), good=good)
    stage.say(DeploymentsSeen(deployments=(seen,), source="webhook"), "token:tekton")
