"""A journal on a server is read in looks, and everything in between from memory."""

import asyncio
import gc
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from tests.api.stage import PARTITION, Client, copied, rollout_journal
from tests.contract.journals import notes
from tests.patience import happened
from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Role
from tidegate.api.dispatch import Api
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.live.looks import Looks
from tidegate.api.login.login import Login
from tidegate.api.request_keys import RequestKeys
from tidegate.api.route import BASE
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.app.access.tokens import TokenRequest, create_token
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Requested
from tidegate.kind_table import rules_of
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.page.pages import ServicePages
from tidegate.store import followed as module
from tidegate.store.archive_port import Archive, JournalSnapshot
from tidegate.store.client.memory import MemoryStore
from tidegate.store.followed import FollowedJournal, NotAtHandError
from tidegate.wiring import open_store


class CountingStore(MemoryStore):
    """Counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = self.reads = 0
        self.entries = 0

    def look(self, after: Mapping[str, int], *, claims: bool = False) -> JournalSnapshot:
        """One more."""
        self.looks += 1
        return super().look(after, claims=claims)

    def read(self, partition: str, **more: Any) -> Any:
        """One more, and so many entries."""
        self.reads += 1
        for entry in super().read(partition, **more):
            self.entries += 1
            yield entry


def test_what_was_read_is_at_hand_and_stays_so() -> None:
    """The first reader asks the server; after that a look brings what was added."""
    store = CountingStore()
    journal = FollowedJournal(store)
    store.append("r1", notes(3))
    journal.refresh()
    with journal.at_hand(), pytest.raises(NotAtHandError):
        list(journal.read("r1"))
    assert len(list(journal.read("r1"))) == 3
    store.append("r1", notes(2))
    with journal.at_hand():
        assert len(list(journal.read("r1"))) == 3
    journal.refresh()
    reads = store.reads
    with journal.at_hand():
        assert [each.seq for each in journal.read("r1", after=2)] == [3, 4, 5]
    assert store.reads == reads


def test_whatever_is_not_in_memory_is_not_at_hand() -> None:
    """An event loop that asks for it does not wait."""
    journal = FollowedJournal(MemoryStore())
    for ask in (
        lambda: journal.load("r1"),
        lambda: journal.verify("r1"),
        journal.claims,
        journal.refresh,
    ):
        with journal.at_hand(), pytest.raises(NotAtHandError):
            ask()


def test_an_own_write_is_seen_before_the_next_look() -> None:
    """And a look that began before it does not undo it."""
    store = MemoryStore()
    journal = FollowedJournal(store)
    store.append("r1", notes(2))
    journal.refresh()
    list(journal.read("r1"))
    before, early = store.head("r1"), store.look({})
    head = store.append("r1", notes(2), after=before)
    journal.wrote("r1", before, notes(2))
    assert journal.head("r1") == head
    assert journal.heads() == {"r1": 4}
    journal._take(early, {"r1": 2})
    assert journal.head("r1") == head
    assert list(journal.read("r1")) == list(store.read("r1"))
    journal.refresh()
    assert journal.head("r1") == store.head("r1")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not read for longest is forgotten, and read again when it is asked for."""
    monkeypatch.setattr(module, "BYTES_MAX", 20_000)
    store = CountingStore()
    journal = FollowedJournal(store)
    names = [f"r{number}" for number in range(20)]
    for name in names:
        store.append(name, notes(5))
    journal.refresh()
    for name in names:
        assert len(list(journal.read(name))) == 5
    with journal.at_hand():
        assert len(list(journal.read(names[-1]))) == 5
        with pytest.raises(NotAtHandError):
            list(journal.read(names[0]))
    assert list(journal.read(names[0])) == list(store.read(names[0]))


def test_requests_that_wait_share_a_look() -> None:
    """All that come while one is under way have the next, which begins after they came."""
    begun, goes_on, looks = threading.Event(), threading.Event(), list[int]()

    def look() -> None:
        looks.append(1)
        begun.set()
        happened(goes_on, "all requests came")

    async def story() -> None:
        first = asyncio.create_task(shared.fresh())
        await asyncio.to_thread(happened, begun, "the first look")
        others = [asyncio.create_task(shared.fresh()) for _ in range(20)]
        await asyncio.sleep(0)
        goes_on.set()
        await asyncio.gather(first, *others)

    shared = Looks(look)
    asyncio.run(story())
    shared.close()
    assert len(looks) == 2


def test_a_look_that_fails_is_the_error_of_those_that_wait() -> None:
    """And the next one is tried."""
    fails = [True, False]

    def look() -> None:
        if fails.pop(0):
            raise OutsideError("it is away")

    async def story() -> None:
        with pytest.raises(OutsideError):
            await shared.fresh()
        await shared.fresh()

    shared = Looks(look)
    asyncio.run(story())
    shared.close()


def test_a_key_costs_the_same_however_many_there_were() -> None:
    """The journal is searched once; after that only what was added is read."""
    store = CountingStore()
    keys = RequestKeys(store)

    def ask(key: str) -> JournalNote:
        said = Requested(act="pause/r1", via="token", key=key, digest=f"d-{key}")
        return JournalNote(Instant(1), "user:ada", said)

    store.append("r1", [ask(f"k{number}") for number in range(500)])
    assert keys.find("r1", "user:ada", "new") is None
    store.entries = 0
    for number in range(10):
        store.append("r1", [ask(f"new{number}")])
        found = keys.find("r1", "user:ada", f"new{number}")
        assert found is not None
        assert found.digest == f"d-new{number}"
    assert keys.find("r1", "user:bob", "new1") is None
    assert store.entries <= 2 * 10


def test_nothing_reads_the_journal_once_the_threads_have_ended() -> None:
    """A journal is closed after that: a statement under way would end the process."""
    begun, goes_on, left = threading.Event(), threading.Event(), list[str]()
    others = set(threading.enumerate())

    class SlowStore(MemoryStore):
        def look(self, after: Mapping[str, int], *, claims: bool = False) -> JournalSnapshot:
            begun.set()
            happened(goes_on, "it is told to end")
            left.append("look")
            return super().look(after, claims=claims)

    live = LiveJournals(SlowStore(), rules_of, SystemClock(), follows=True)

    async def story() -> None:
        asked = asyncio.create_task(live.turn(lambda: "answered"))
        await asyncio.to_thread(happened, begun, "a look")
        ends = asyncio.create_task(asyncio.to_thread(live.close))
        await asyncio.sleep(0)
        assert not ends.done()
        goes_on.set()
        await ends
        left.append("closed")
        assert await asked == "answered"

    asyncio.run(story())
    assert left == ["look", "closed"]
    more = {each.name for each in set(threading.enumerate()) - others}
    assert not [each for each in more if each.startswith(("looks", "answers"))]


def test_an_error_is_for_the_one_that_asked_and_none_that_waits() -> None:
    """Those that wait for the same turn go on, and nothing says that an error was not looked at."""
    begun, goes_on, said = threading.Event(), threading.Event(), list[str]()
    live = LiveJournals(MemoryStore(), rules_of, SystemClock(), follows=True)

    def fails() -> None:
        live.seen.load("r1")  # this is not at hand, so a thread has the turn
        begun.set()
        happened(goes_on, "another waits")
        raise OutsideError("it is away")

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: said.append(str(what)))
        asked = asyncio.create_task(live.turn_seen(fails))
        await asyncio.to_thread(happened, begun, "a turn of a thread")
        others = [asyncio.create_task(live.turn_seen(lambda: "answered")) for _ in range(3)]
        await asyncio.sleep(0)
        goes_on.set()
        assert await asyncio.gather(*others) == ["answered"] * 3
        with pytest.raises(OutsideError):
            await asked
        # Another turn of a thread: nothing refers to the one that failed any more.
        assert await live.turn_seen(live.seen.load, "r1") is None
        del asked, others
        gc.collect()

    asyncio.run(story())
    live.close()
    assert not said


class _WatchedArchive:
    """An archive that is never read in a thread with an event loop."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return getattr(self._archive, name)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rollout_journal(tmp_path_factory.mktemp("followed"))


# What the addresses of routes have in them.
_FILLED = {
    "name": PARTITION, "seq": "1", "verb": "pause", "signature": "x", "file": "page.js", "rest": "x"
}  # fmt: skip
# Those speak to an issuer, or do not end: streams are woken by one look for all of them.
_ELSEWHERE = ("/auth/", f"{BASE}/watch/", f"{BASE}/changes")


def _addresses(routes: Sequence[BaseRoute]) -> list[str]:
    """Where each route that reads is asked, twice: as things are, and as they were."""
    reads = [each for each in routes if isinstance(each, Route) and "GET" in (each.methods or ())]
    filled = [
        re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: _FILLED[found[1]], each.path)
        for each in reads
        if not each.path.startswith(_ELSEWHERE)
    ]
    return [*filled, *(f"{each}?at=1s+ago" for each in filled)]


def test_nothing_waits_for_a_server_in_the_event_loop(kept: Path, tmp_path: Path) -> None:
    """No route of the API and of the page; each is asked again, with what the first has brought."""
    with closing(open_store(str(copied(kept, tmp_path)))) as archive:
        request = TokenRequest(name="ada", role=Role.ADMIN, reason="a test")
        create_token(archive, request, "tidegate_ada", SystemClock().now(), "test")
        watched = cast(Archive, _WatchedArchive(archive))
        live = LiveJournals(watched, rules_of, SystemClock(), follows=True)
        login = Login(live.seen, SystemClock(), AccessPolicy(), turn=live.turn)
        api = Api(live, login, QUESTIONS, ACTS, "test")
        routes = [*api.routes(), *ServicePages(live, login, ACTS).routes()]
        client = Client(Starlette(routes=routes), "tidegate_ada", bare=True)
        seen = {client.get(path).status for path in _addresses(routes) * 2}
        assert 200 in seen
        assert max(seen) < 500
        client = Client(Starlette(routes=routes), "tidegate_ada")
        done = client.post(f"/pause/{PARTITION}", {"reason": "x"}, idempotency_key="k1")
        again = client.post(f"/pause/{PARTITION}", {"reason": "x"}, idempotency_key="k1")
        assert (done.status, again.text) == (200, done.text)
        live.close()
