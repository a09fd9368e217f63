"""Two promotions of one bundle under way at once: facts, notices and metrics of each its own."""

import asyncio
from pathlib import Path

import pytest

from tests.engine.stage import VirtualClock
from tests.engine.test_promotion_rounds import Round as Site
from tests.git_repos import commit, git
from tests.patience import PATIENCE_S
from tests.picture_key import LINKS, PUBLIC
from tests.promoted import Source, make_source
from tidegate.app.partitions.journals import Journals
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.explain.notice import NoticeKind
from tidegate.forge.port import MergeRequest
from tidegate.journal.fact import Mode, tag_of
from tidegate.kind_table import rules_of
from tidegate.kinds.promotions.app.lane_parts import LaneEnvironment
from tidegate.kinds.promotions.app.lanes import promotion_lanes
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.kind import PromotionKind
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.kinds.promotions.telemetry.observer import PromotionTelemetry
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.client.memory import MemoryStore
from tidegate.telemetry.listener import with_listener
from tidegate.telemetry.metrics import Gauges, Metrics

START = Instant(1_800_000_000 * SECOND)
CHECKS, BUILDS = "promotions/checks", "promotions/builds"
PLACES = {
    "checks": ("pr-check", "{file: .env, line: 'export RECONCILE_IMAGE_TAG='}"),
    "builds": ("jenkins", "{file: 'resources/jenkins/**', key: qontract_reconcile_image_tag}"),
}


def declared(name: str) -> str:
    """A promotion with one environment."""
    environment, place = PLACES[name]
    return (
        f"---\n$schema: /tidegate/promotion-1.yml\nname: {name}\n"
        "artifact: {repository: 'https://git.example.com/app-sre/qontract-reconcile'}\n"
        f"environments:\n- {{name: {environment}, places: [{place}]}}\n"
    )


class Office:
    """One worker that leads both promotions; a round of each every two minutes."""

    def __init__(self, site: Site) -> None:
        self.site, self.clock = site, VirtualClock(START)
        self.telemetry = PromotionTelemetry()
        self.metrics = Metrics("1", _nothing, self.telemetry.text)
        self.store = with_listener(MemoryStore(), self.telemetry.written)
        self.kind = PromotionKind(site.ports, site.forge, self.clock, pictures=LINKS)

    def rounds(self) -> None:
        """A round of every promotion that there is."""
        self.clock.at = Instant(self.clock.at + 120 * SECOND)
        for name in asyncio.run(self.kind.partitions()):
            result = asyncio.run(self._round(name))
            self.metrics.round_ended(name, result.count if result.is_new else None, 0.1, 1.0)
            if result.is_new:
                self.telemetry.round_ended(result)

    async def _round(self, name: str) -> RoundResult:
        lease = self.store.lease(name, "w", self.clock.now(), Duration(3600 * SECOND))
        assert lease is not None
        context = RoundContext(
            BrakeBook(self.store),
            Journal(self.store),
            Executor(Limits(timeout_s=PATIENCE_S), Breaker()),
            self.clock,
            OtherStates(self.store).of(self.kind.rules),
        )
        return await Round(context, self.kind, self.part(name), lease, Mode.ACT).run()

    def part(self, name: str) -> PartitionState[PromotionState]:
        """A promotion as its journal has it."""
        return PartitionState(self.store, name, PromotionRules())

    def requests(self) -> dict[str, MergeRequest]:
        """Every merge request by the promotion it is of."""
        found = asyncio.run(self.site.forge.find(state=None))
        return {name: each for each in found for name in PLACES if f"promote-{name}" in each.source}

    def states(self, name: str) -> tuple[dict[str, str], set[NoticeKind]]:
        """The state of every environment, and what people are notified of."""
        part = self.part(name)
        part.catch_up()
        rules, now = PromotionRules(), self.clock.now()
        brakes = BrakeBook(self.store).seen(name, rules.under_way(part.state), now)
        world = rules.world(part.state, brakes, now, lambda _: None)
        assert world is not None
        plan = rules.decide(world, now)
        view = rules.view(name, part.state, world, plan, now)
        due = rules.notices(name, part.state, world, plan, now)
        return {e.name: e.state for e in view.targets}, {e.happening for e in due.notices}

    def lanes(self) -> dict[str, LaneEnvironment]:
        """The one environment of each promotion, as readers of the journal see it."""
        found = promotion_lanes(Journals(self.store, rules_of, self.clock.now()))
        return {each.promotion: each.environments[0] for each in found.items}

    def tags(self, name: str) -> list[str]:
        """The facts of a promotion, in order."""
        return [tag_of(entry.fact()) for entry in self.store.read(name)]

    def scraped(self) -> str:
        """What a scrape gets."""
        return self.metrics.text().decode()


def waits(name: str, gate: str, reason: str) -> str:
    """The line that says that one environment of a promotion waits for a reason."""
    of = f'kind="promotions",reason="{reason}",rollout="promotions/{name}"'
    return f'tidegate_waits{{gate="{gate}",{of}}} 1.0\n'


def _nothing() -> Gauges:
    none: frozenset[str] = frozenset()
    return Gauges(
        led=none,
        running=none,
        waiting=0,
        under_way=0,
        behind=0,
        loop_lag_s=0.0,
        lines_dropped=0,
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def office(tmp_path: Path, source: Source) -> Office:
    """A worker on a bundle that declares two promotions."""
    site = Site(tmp_path, source)
    commit(site.clone, {f"data/{name}.yml": declared(name) for name in PLACES}, "declare")
    git(site.clone, "push", "-q", "origin", "HEAD:main")
    return Office(site)


def test_two_promotions_are_under_way_and_each_ends_by_itself(
    office: Office,
) -> None:
    """Both are offered; one is merged and verified, the other declined: all of it is reported."""
    office.rounds()
    office.rounds()
    assert sorted(office.requests()) == ["builds", "checks"]
    for name, environment in ((CHECKS, "pr-check"), (BUILDS, "jenkins")):
        assert office.states(name) == ({environment: "Updating"}, {NoticeKind.START})
    for name, environment in (("checks", "pr-check"), ("builds", "jenkins")):
        lane = office.lanes()[name]
        assert (lane.name, lane.state) == (environment, "Updating")
        assert lane.offer is not None
        assert (lane.offer.url, lane.offer.state) == (office.requests()[name].url, "open")
        assert lane.behind
        assert f"]({PUBLIC}/picture/" in office.requests()[name].description
        assert lane.why is not None
        assert lane.offer.url is not None
        assert lane.offer.url in lane.why
    text = office.scraped()
    for name, environment in (("checks", "pr-check"), ("builds", "jenkins")):
        labels = f'promotion="{name}",environment="{environment}"'
        assert f"tidegate_promotion_requests_open{{{labels}}} 1\n" in text
        since = f'oldest_request_timestamp_seconds{{promotion="{name}"}} 18000001'
        assert since in text
        kind = f'kind="promotions",rollout="promotions/{name}"'
        assert f'tidegate_targets{{{kind},state="updating"}} 1.0\n' in text
        assert waits(name, "progress", "OfferOpen") in text
        assert f'tidegate_promotion_events_total{{promotion="{name}",event="offered"}} 1\n' in text

    asyncio.run(office.site.forge.merge(office.requests()["checks"].number))
    asyncio.run(office.site.forge.decline(office.requests()["builds"].number))
    office.rounds()
    office.rounds()
    assert office.states(CHECKS)[0] == {"pr-check": "Done"}
    assert office.states(BUILDS) == (
        {"jenkins": "Failed"},
        {NoticeKind.FAILURE},
    )
    assert {"offered", "mergeRequestSeen", "verified"} <= set(office.tags(CHECKS))
    done, failed = office.lanes()["checks"], office.lanes()["builds"]
    assert (done.behind, done.why, done.running is not None) == (0, None, True)
    assert failed.offer is not None
    assert (failed.offer.state, failed.running) == ("closed", None)
    assert "verified" not in office.tags(BUILDS)
    text = office.scraped()
    for promotion, event in (("checks", "merged"), ("checks", "verified"), ("builds", "closed")):
        labels = f'promotion="{promotion}",event="{event}"'
        assert f"tidegate_promotion_events_total{{{labels}}} 1\n" in text
    assert 'event="verified"' not in "".join(line for line in text.splitlines() if "builds" in line)
    assert 'requests_open{promotion="checks",environment="pr-check"} 0\n' in text
    assert "tidegate_promotion_oldest_request_timestamp_seconds{" not in text
    assert 'tidegate_rollouts{kind="promotions",summary="Succeeded"} 1.0\n' in text
    assert 'tidegate_rollouts{kind="promotions",summary="Failed"} 1.0\n' in text
    for name in (CHECKS, BUILDS):
        replayed = list(PromotionRules().replay(office.store.read(name), lambda _keys, _at: {}))
        assert replayed
        assert all(each.difference is None for each in replayed)
    office.telemetry.on_lease_lost(CHECKS)
    assert 'requests_open{promotion="checks"' not in office.scraped()


def test_a_refusal_is_counted_and_concerns_no_other_promotion(office: Office) -> None:
    """The bundle refuses both; each has its own refusal, and nothing is offered."""
    office.site.outside.errors = (Problem("data/x.yml:1", "wrong", "write it right"),)
    office.rounds()
    office.rounds()
    assert office.requests() == {}
    text = office.scraped()
    for name in ("checks", "builds"):
        labels = f'promotion="{name}",event="refused"'
        assert f"tidegate_promotion_events_total{{{labels}}} 1\n" in text
        assert waits(name, "refusal", "OfferRefused") in text
        assert office.tags(f"promotions/{name}").count("promotionRefused") == 1
