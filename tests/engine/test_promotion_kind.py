"""Promotions run by the engine: rounds on real repositories, in virtual time, with a journal."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.stage import VirtualClock
from tests.engine.test_promotion_rounds import NAME
from tests.engine.test_promotion_rounds import Round as Site
from tests.patience import PATIENCE_S
from tests.promoted import Source, make_source
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.forge.port import MergeRequest, RequestState
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact, Mode, tag_of
from tidegate.journal.facts import Asked, Braked, Lifted, Verb
from tidegate.kinds.promotions.app.ports import TrialFiles
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.kinds.promotions.kind import PromotionKind
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.client.memory import MemoryStore

START = Instant(1_800_000_000 * SECOND)
HOLD = {"name": "h", "scope": {"everything": True}, "owner": "ada", "reason": "wait"}


class Mortal(PromotionKind):
    """A process that may die before it records what it did."""

    dies = False

    async def after_round(self, round_: Round) -> Mapping[str, str]:
        return {} if self.dies else await super().after_round(round_)


class Worker:
    """One worker on a site: a round every two minutes."""

    def __init__(self, site: Site) -> None:
        self.site, self.store = site, MemoryStore()
        self.clock = VirtualClock(START)
        self.restart()

    def restart(self) -> None:
        """What was only in memory is gone."""
        self.kind = Mortal(self.site.ports, self.site.forge, self.clock)

    def round(self, mode: Mode = Mode.ACT, *, dies: bool = False) -> RoundResult:
        """One round, two minutes later; the process may die before its results are recorded."""
        self.clock.at = Instant(self.clock.at + 120 * SECOND)
        return asyncio.run(self._round(mode, dies))

    async def _round(self, mode: Mode, dies: bool) -> RoundResult:
        store, rules = self.store, self.kind.rules
        lease = store.lease(NAME, "w", self.clock.now(), Duration(3600 * SECOND))
        assert lease is not None
        context = RoundContext(
            BrakeBook(store),
            Journal(store),
            Executor(Limits(timeout_s=PATIENCE_S), Breaker()),
            self.clock,
            OtherStates(store).of(rules),
        )
        self.kind.dies = dies
        return await Round(context, self.kind, self._part(), lease, mode).run()

    def _part(self) -> PartitionState[PromotionState]:
        return PartitionState(self.store, NAME, PromotionRules())

    def ask(self, partition: str, fact: Fact) -> None:
        """A person does something."""
        self.store.append(partition, [JournalNote(self.clock.now(), "user:ada", fact)])

    def tags(self) -> list[str]:
        """The facts of the journal, in order."""
        return [tag_of(entry.fact()) for entry in self.store.read(NAME)]

    def states(self) -> dict[str, str]:
        """The state of every environment, as readers see it."""
        part = self._part()
        part.catch_up()
        rules, now = PromotionRules(), self.clock.now()
        brakes = BrakeBook(self.store).seen(NAME, rules.under_way(part.state), now)
        world = rules.world(part.state, brakes, now, lambda _: None)
        assert world is not None
        view = rules.view(NAME, part.state, world, rules.decide(world, now), now)
        return {each.name: each.state for each in view.targets if each.state != "Ignored"}

    def requests(self) -> tuple[MergeRequest, ...]:
        """Every merge request there ever was."""
        return asyncio.run(self.site.forge.find(state=None))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def worker(tmp_path: Path, source: Source) -> Worker:
    """A worker on a bundle of its own."""
    return Worker(Site(tmp_path, source))


def test_a_version_is_offered_merged_and_done_as_the_journal_has_it(worker: Worker) -> None:
    """One merge request; every step is a fact, and every decision is the same when replayed."""
    worker.round()
    assert set(worker.states().values()) == {"Updating"}
    worker.round()
    (request,) = worker.requests()
    worker.round()
    assert " ".join(worker.tags()) == (
        "promotionRead promotionDecided acted offered promotionDecided"
    )
    asyncio.run(worker.site.forge.merge(request.number))
    worker.round()
    worker.round()
    assert set(worker.states().values()) == {"Done"}
    assert {"mergeRequestSeen", "promotionRead"} <= set(worker.tags()[5:])
    size = len(worker.tags())
    worker.round()
    assert len(worker.tags()) == size, "nothing is written while nothing happens"
    assert len(worker.requests()) == 1
    replayed = list(PromotionRules().replay(worker.store.read(NAME), lambda _keys, _at: {}))
    assert replayed
    assert all(each.difference is None for each in replayed)


class Clusters:
    """What the shards of every environment run, as a test says."""

    def __init__(self) -> None:
        self.differing: tuple[str, ...] = ()
        self.error: OutsideError | None = None
        self.asked: list[str] = []

    async def __call__(self, commit: str, trials: TrialFiles) -> Mapping[str, EnvironmentRuns]:
        self.asked += trials
        if self.error is not None:
            raise self.error
        return {
            name: EnvironmentRuns(environment=name, shards=2, differing=self.differing)
            for name in trials
        }


def test_what_is_merged_is_done_once_it_is_seen_to_run(worker: Worker) -> None:
    """Clusters that do not answer, then shards that differ, then what is promised: each a fact."""
    clusters = Clusters()
    worker.site.ports = replace(worker.site.ports, running=clusters)
    worker.restart()
    worker.round()
    worker.round()
    assert clusters.asked == [], "nothing has the version: there is nothing to compare"
    asyncio.run(worker.site.forge.merge(worker.requests()[0].number))
    clusters.error = OutsideError("one: no answer")
    worker.round()
    worker.round()
    assert set(worker.states().values()) == {"Updating"}
    assert "mergeRequestSeen" in worker.tags(), "what else was read is recorded"
    clusters.error, clusters.differing = None, ("tf/a: 1 pod not replaced yet",)
    worker.round()
    assert set(worker.states().values()) == {"Updating"}
    clusters.differing = ()
    worker.round()
    assert set(worker.states().values()) == {"Done"}
    # What was seen to run is not taken back by a cluster that does not answer.
    clusters.error = OutsideError("one: no answer")
    worker.round()
    assert set(worker.states().values()) == {"Done"}
    assert worker.tags().count("verified") == 3
    replayed = list(PromotionRules().replay(worker.store.read(NAME), lambda _keys, _at: {}))
    assert all(each.difference is None for each in replayed)


def test_who_only_observes_offers_nothing(worker: Worker) -> None:
    """What would be offered is in the journal all the same."""
    worker.round(Mode.OBSERVE)
    assert worker.requests() == ()
    assert worker.tags() == ["promotionRead", "promotionDecided"]


def test_a_hold_and_a_pause_keep_a_promotion_from_being_offered(worker: Worker) -> None:
    """Both bind it as they bind other kinds."""
    worker.ask("brakes", Braked(brake="hold", name="h", document=HOLD))
    worker.round()
    assert worker.requests() == ()
    assert set(worker.states().values()) == {"Waiting"}
    worker.ask("brakes", Lifted(brake="hold", name="h"))
    worker.ask(NAME, Asked(verb=Verb.PAUSE))
    worker.round()
    assert worker.requests() == ()
    worker.ask(NAME, Asked(verb=Verb.RESUME))
    worker.round()
    assert [each.state for each in worker.requests()] == [RequestState.OPEN]


def test_a_worker_that_dies_after_an_offer_finds_it_again(worker: Worker) -> None:
    """What it had not recorded is offered once more, and is the same merge request."""
    worker.round(dies=True)
    worker.restart()
    worker.round()
    worker.round()
    assert len(worker.requests()) == 1
    assert worker.tags().count("offered") == 1
    assert set(worker.states().values()) == {"Updating"}


def test_a_closed_offer_is_a_failure_until_it_is_retried(worker: Worker) -> None:
    """`retry` offers it anew, in another merge request."""
    worker.round()
    worker.round()
    asyncio.run(worker.site.forge.decline(worker.requests()[0].number))
    worker.round()
    worker.round()
    assert set(worker.states().values()) == {"Failed"}
    worker.ask(NAME, Asked(verb=Verb.RETRY))
    worker.round()
    assert sorted(each.state.value for each in worker.requests()) == ["closed", "open"]
