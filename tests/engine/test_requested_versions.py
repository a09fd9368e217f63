"""Versions that people request: read, decided, offered and ended, on real repositories."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_promotion_kind import Worker
from tests.engine.test_promotion_rounds import NAME
from tests.engine.test_promotion_rounds import Round as Site
from tests.git_repos import clone, commit, git
from tests.promoted import JENKINS, Source, make_source
from tidegate.app.access.sight import limited_view
from tidegate.explain.view import PartitionView
from tidegate.forge.port import MergeRequest, RequestState
from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import EVERYTHING
from tidegate.journal.fact import Mode
from tidegate.journal.facts import Asked, Verb, Withdrawn
from tidegate.kinds.promotions.core.journal.facts import VersionRequested
from tidegate.kinds.promotions.rules import PromotionRules


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def worker(tmp_path: Path, source: Source) -> Worker:
    """A worker on a bundle of its own, that has read it once and offered nothing."""
    worker = Worker(Site(tmp_path, source))
    worker.round(Mode.OBSERVE)
    return worker


def request(worker: Worker, ref: str, *names: str, backward: bool = False) -> str:
    """A person requests a version; the name of the request."""
    ident = f"r{len(worker.tags())}"
    fact = VersionRequested(
        ident=ident, ref=ref, environments=names, backward=backward, reason="inc-42"
    )
    worker.ask(NAME, fact)
    return ident


def offers(worker: Worker, name: str) -> list[MergeRequest]:
    """The merge requests for one environment alone, in order."""
    mine = (each for each in worker.requests() if each.source.endswith(f"-to-{name}"))
    return sorted(mine, key=lambda each: each.number)


def merge(worker: Worker) -> None:
    """A person merges the newest merge request, and what follows is seen."""
    asyncio.run(worker.site.forge.merge(max(each.number for each in worker.requests())))
    for _ in range(2):
        worker.round()


def view(worker: Worker) -> PartitionView:
    """The promotion as readers see it."""
    part, rules, now = worker._part(), PromotionRules(), worker.clock.now()
    part.catch_up()
    world = rules.world(part.state, part.state.brakes or Brakes(), now, lambda _: None)
    assert world is not None
    return rules.view(NAME, part.state, world, rules.decide(world, now), now)


def reasons(worker: Worker, name: str) -> list[str]:
    """The reasons of all verdicts on an environment."""
    row = next(each for each in view(worker).targets if each.name == name)
    return [each.reason.value for each in row.options[0].verdicts]


def written(worker: Worker, path: str) -> str:
    """A file of the bundle, as it is merged."""
    git(worker.site.clone, "fetch", "-q")
    return git(worker.site.clone, "show", f"origin/main:{path}")


def test_a_requested_version_is_offered_alone_and_the_rest_get_the_newest(
    worker: Worker, source: Source
) -> None:
    """Two merge requests: what a person requested, and what goes out by itself."""
    ident = request(worker, source.second[:7], "jenkins")
    [row] = view(worker).requests
    assert (row.ident, row.state, row.targets) == (ident, "Waiting", ("jenkins",))
    assert reasons(worker, "jenkins") == ["VersionUnread"]
    for _ in range(3):
        worker.round()
    assert len(worker.requests()) == 2
    [asked] = offers(worker, "jenkins")
    assert source.second[:7] in asked.description
    assert "inc-42 (user:ada)" in asked.description
    assert [each.state for each in view(worker).requests] == ["Updating"]
    merge(worker)
    assert source.second[:7] in written(worker, JENKINS)
    assert not view(worker).requests, "it went forward, and is done"
    worker.round()
    worker.round()
    assert source.newest[:7] in offers(worker, "jenkins")[-1].description
    replayed = list(PromotionRules().replay(worker.store.read(NAME), lambda _keys, _at: {}))
    assert all(each.difference is None for each in replayed)


def test_a_version_that_goes_back_stays_until_it_is_withdrawn(
    worker: Worker, source: Source
) -> None:
    """The newest does not undo what a person went back to; withdrawn, it goes out again."""
    for _ in range(2):
        worker.round()
    merge(worker)
    ident = request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round()
    assert "Backward" in reasons(worker, "jenkins")
    assert view(worker).needs.requests == (ident,), "a person has to decide"
    assert len(worker.requests()) == 1
    ident = request(worker, source.second, "jenkins", backward=True)
    for _ in range(3):
        worker.round()
    merge(worker)
    assert source.second[:7] in written(worker, JENKINS)
    assert worker.states()["jenkins"] == "Done"
    assert "VersionKept" in reasons(worker, "jenkins")
    size = len(worker.requests())
    for _ in range(3):
        worker.round()
    assert len(worker.requests()) == size, "the newest waits"
    worker.ask(NAME, Withdrawn(ident=ident, reason="fixed"))
    for _ in range(2):
        worker.round()
    assert len(worker.requests()) == size + 1


def test_what_cannot_be_promoted_says_why_and_keeps_nothing_else(
    worker: Worker, source: Source
) -> None:
    """A revision that is not there is a verdict; other environments move."""
    ident = request(worker, "no-such-tag", "jenkins")
    for _ in range(3):
        worker.round()
    [row] = view(worker).requests
    assert row.shut is not None
    assert row.shut.reason.value == "VersionUnknown"
    assert "no-such-tag" in str(row.shut.facts)
    assert view(worker).needs.requests == (ident,)
    assert worker.states()["manager"] == "Updating"
    assert not any("jenkins" in each.source for each in worker.requests())


def test_a_declined_offer_ends_its_request(worker: Worker, source: Source) -> None:
    """Closed without a merge: a person declined it, and the newest is offered as before."""
    request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round()
    [asked] = offers(worker, "jenkins")
    asyncio.run(worker.site.forge.decline(asked.number))
    for _ in range(3):
        worker.round()
    assert not view(worker).requests
    again = offers(worker, "jenkins")
    assert [each.state for each in again] == [RequestState.CLOSED, RequestState.OPEN]
    assert source.newest[:7] in again[-1].description


def test_a_worker_that_only_observes_offers_nothing_requested(
    worker: Worker, source: Source
) -> None:
    """It is read and decided: what would start is shown."""
    request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round(Mode.OBSERVE)
    assert worker.requests() == ()
    [row] = view(worker).requests
    assert row.starts


def test_a_pause_binds_what_is_requested_and_an_abort_ends_it(
    worker: Worker, source: Source
) -> None:
    """As both bind the newest version."""
    worker.ask(NAME, Asked(verb=Verb.PAUSE))
    request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round()
    assert worker.requests() == ()
    assert "Paused" in reasons(worker, "jenkins")
    worker.ask(NAME, Asked(verb=Verb.RESUME))
    worker.ask(NAME, Asked(verb=Verb.ABORT))
    for _ in range(2):
        worker.round()
    assert worker.requests() == ()
    assert not view(worker).requests


def test_a_worker_that_starts_anew_forgets_nothing_that_was_read(
    worker: Worker, source: Source
) -> None:
    """Its first reading does not know of the request: nothing is written, and nothing waits."""
    request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round()
    size = len(worker.tags())
    worker.restart()
    for _ in range(2):
        worker.round()
    assert worker.tags()[size:] == []


def test_a_worker_that_dies_after_it_offered_a_request_finds_it_again(
    worker: Worker, source: Source
) -> None:
    """One merge request, whatever was recorded of it."""
    request(worker, source.second, "jenkins")
    worker.round()
    worker.round(dies=True)
    worker.restart()
    for _ in range(3):
        worker.round()
    assert len(offers(worker, "jenkins")) == 1


def test_an_approval_is_for_the_version_that_was_requested(worker: Worker, source: Source) -> None:
    """The person who requested it proposed it, and does not approve it."""
    gate = ApprovalGate(name="board", scope=EVERYTHING, by_author=False)
    request(worker, source.second, "jenkins")
    for _ in range(2):
        worker.round(Mode.OBSERVE)
    part, rules, now = worker._part(), PromotionRules(), worker.clock.now()
    part.catch_up()

    def starts(*responses: Response) -> bool:
        brakes = Brakes(approvals=(replace(gate, responses=responses),))
        world = rules.world(part.state, brakes, now, lambda _: None)
        assert world is not None
        found = rules.view(NAME, part.state, world, rules.decide(world, now), now)
        if not responses:
            assert found.gate_versions == {"board": tuple(sorted((source.newest, source.second)))}
            # A caller that sees one environment is not told what another one waits for.
            part_of_it = limited_view(found, {"manager"}, {"jenkins"}, whole=False)
            assert part_of_it.gate_versions == {"board": (source.newest,)}
        return next(each for each in found.targets if each.name == "jenkins").starts

    by_bob = Response(who="user:bob", at=now, revision=source.second)
    assert not starts()
    assert not starts(replace(by_bob, revision=source.newest))
    assert not starts(replace(by_bob, who="user:ada")), "she requested it"
    assert starts(by_bob)
    assert "user:ada" in rules.proposers(part.state, source.second)
    assert "user:ada" not in rules.proposers(part.state, source.newest)


def test_what_has_an_open_merge_request_is_offered_in_that_one(
    worker: Worker, source: Source
) -> None:
    """Withdrawn, an environment does not join the others: two requests would change its lines."""
    ident = request(worker, source.second, "jenkins")
    for _ in range(3):
        worker.round()
    [asked] = offers(worker, "jenkins")
    assert len(worker.requests()) == 2
    worker.ask(NAME, Withdrawn(ident=ident, reason="why"))
    for _ in range(3):
        worker.round()
    assert len(worker.requests()) == 2
    [again] = offers(worker, "jenkins")
    assert again.number == asked.number
    assert source.newest[:7] in again.description


def test_an_environment_that_got_ahead_leaves_the_others_in_their_merge_request(
    tmp_path: Path,
) -> None:
    """A newer version for those that are left goes into the request that is open."""
    source = make_source(tmp_path / "own")
    worker = Worker(Site(tmp_path / "site", source))
    for _ in range(2):
        worker.round()
    [opened] = worker.requests()
    newer = commit(clone(source.bare, tmp_path / "work"), {"z": "9"}, "newer")
    git(tmp_path / "work", "push", "-q", "origin", "HEAD:main")
    by_hand = written(worker, JENKINS).replace(source.first[:7], newer[:7])
    commit(worker.site.clone, {JENKINS: by_hand}, "by hand")
    git(worker.site.clone, "push", "-q", "origin", "HEAD:main")
    for _ in range(3):
        worker.round()
    [request] = worker.requests()
    assert request.number == opened.number
    assert newer[:7] in request.description
    states = worker.states()
    assert (states["jenkins"], states["manager"]) == ("Done", "Updating")
