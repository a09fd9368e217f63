"""Streams: each entry once, resumed by its number, ended with the service."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request

from tests.api.stage import PARTITION, Client, Service
from tests.patience import PATIENCE_S, happened
from tidegate.access.roles import Caller, Role
from tidegate.api import stream
from tidegate.app.asks import OperatorRequest, prepare, record
from tidegate.app.journal.compaction import CompactionRequest, compact, plan_compaction
from tidegate.app.partitions.journals import Journals
from tidegate.journal.facts import Verb
from tidegate.kind_table import rules_of
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration


class Reader:
    """Reads a stream, event by event."""

    def __init__(self, service: Service, client: Client) -> None:
        self._service = service
        self._client = client
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        # Events that were sent together, and not taken yet.
        self._waiting: list[dict[str, str]] = []
        self.gone = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def open(self, path: str, last: str = "") -> int:
        """Begin; the status."""
        headers = [(b"authorization", f"Bearer {self._client.token}".encode())]
        headers += [(b"last-event-id", last.encode())] if last else []
        scope = {
            "type": "http", "method": "GET", "path": f"/api/v1{path.partition('?')[0]}",
            "query_string": path.partition("?")[2].encode(),
            "headers": headers, "raw_path": b"", "http_version": "1.1", "scheme": "http",
            "server": ("test", 80), "client": ("test", 1), "root_path": "",
        }  # fmt: skip

        async def receive() -> Any:
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            await self.sent.put(message)

        self.task = asyncio.create_task(self._service.app(scope, receive, send))
        start = await asyncio.wait_for(self.sent.get(), PATIENCE_S)
        return int(start["status"])

    async def event(self) -> dict[str, str]:
        """The next event that is not a beat."""
        while not self._waiting:
            message = await asyncio.wait_for(self.sent.get(), PATIENCE_S)
            text = message.get("body", b"").decode()
            if not text or text.startswith(":"):
                if not message.get("more_body"):
                    return {"event": "end"}
                continue
            self._waiting += [
                dict(line.split(": ", 1) for line in each.splitlines())
                for each in text.strip().split("\n\n")
            ]
        return self._waiting.pop(0)


def ask(service: Service, verb: Verb) -> None:
    """A person asks for something, elsewhere."""
    journals = Journals(service.archive, rules_of, SystemClock().now())
    request = OperatorRequest(verb=verb, reason="elsewhere")
    record(journals, prepare(journals, PARTITION, request), "user:other")


def run(
    service: Service, monkeypatch: pytest.MonkeyPatch, story: Callable[[], Awaitable[None]]
) -> None:
    """A story with streams, at speed."""
    monkeypatch.setattr(stream, "POLL_S", 0.02)
    asyncio.run(_within(service, story))


async def _within(service: Service, story: Callable[[], Awaitable[None]]) -> None:
    await story()
    service.api.close()


def test_each_entry_is_sent_once_and_resumed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From now on, or behind the number that was read last."""
    client = service.client()

    async def story() -> None:
        reader = Reader(service, client)
        assert await reader.open(f"/watch/{PARTITION}") == 200
        head = service.archive.head(PARTITION).seq
        ask(service, Verb.PAUSE)
        first = await reader.event()
        assert (first["event"], first["id"]) == ("entry", str(head + 1))
        assert json.loads(first["data"])["actor"] == "user:other"
        reader.gone.set()
        ask(service, Verb.RESUME)
        again = Reader(service, client)
        assert await again.open(f"/watch/{PARTITION}", str(head)) == 200
        assert [(await again.event())["id"] for _ in range(2)] == [str(head + 1), str(head + 2)]

    run(service, monkeypatch, story)


def test_a_question_with_watch_is_a_stream(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one rollout its entries, of all of them which changed."""
    client = service.client()

    async def story() -> None:
        one, every = Reader(service, client), Reader(service, client)
        assert await one.open(f"/rollouts/{PARTITION}?watch") == 200
        assert await every.open("/rollouts?watch=true") == 200
        assert (await every.event())["event"] == "reset"
        ask(service, Verb.PAUSE)
        assert (await one.event())["event"] == "entry"
        assert (await every.event())["event"] == "changed"

    run(service, monkeypatch, story)


def test_a_page_is_told_that_a_worker_came_and_fell_silent(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No entry says so: without it, a page that only follows entries would show a dead worker."""
    client = service.client()

    async def story() -> None:
        reader = Reader(service, client)
        assert await reader.open("/changes") == 200
        assert (await reader.event())["event"] == "reset"
        now = SystemClock().now()
        lease = service.archive.lease(PARTITION, "w", now, Duration(3600 * SECOND))
        assert lease is not None
        assert json.loads((await reader.event())["data"])["rollout"] == PARTITION
        service.archive.release(lease)
        assert json.loads((await reader.event())["data"])["rollout"] == PARTITION

    run(service, monkeypatch, story)


def test_a_page_is_told_what_changed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with a reset; what a caller does not see is not told."""
    client, blind = service.client(), service.client(Role.VIEWER, kinds=("upgrades",))

    async def story() -> None:
        reader, other = Reader(service, client), Reader(service, blind)
        for each in (reader, other):
            assert await each.open("/changes") == 200
            assert (await each.event())["event"] == "reset"
        ask(service, Verb.PAUSE)
        told = await reader.event()
        assert told["event"] == "changed"
        assert json.loads(told["data"])["rollout"] == PARTITION
        await asyncio.to_thread(
            client.post, "/hold/x", {"reason": "x", "scope": {"everything": True}}
        )
        assert json.loads((await other.event())["data"])["rollout"] == "brakes"

    run(service, monkeypatch, story)


def test_what_was_compacted_is_gone(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """410 below the base, 400 for what is no number, 404 for what is not there."""
    client = service.client()
    for verb in ("pause", "resume", "pause"):
        done = client.post(f"/{verb}/{PARTITION}", {"reason": "x"}, if_match="*")
        assert done.status == 200
    now = SystemClock().now()
    plan = plan_compaction(
        service.archive,
        rules_of,
        CompactionRequest(partitions=(PARTITION,), before=now, reason="room"),
    )
    (dropped,) = compact(service.archive, rules_of, plan, "user:test", now).items
    assert dropped.dropped > 1

    async def story() -> None:
        assert await Reader(service, client).open(f"/watch/{PARTITION}", "x") == 400
        assert await Reader(service, client).open("/watch/simulated/none") == 404
        assert await Reader(service, client).open(f"/watch/{PARTITION}", "1") == 410
        reader = Reader(service, client)
        assert await reader.open(f"/watch/{PARTITION}", str(dropped.dropped)) == 200
        assert (await reader.event())["id"] == str(dropped.dropped + 1)

    run(service, monkeypatch, story)


def test_a_number_that_no_entry_has_is_gone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a journal that was restored: what is written up to that number would be missed."""
    client = service.client()
    head = service.archive.head(PARTITION).seq

    async def story() -> None:
        assert await Reader(service, client).open(f"/watch/{PARTITION}", str(head + 1)) == 410
        assert await Reader(service, client).open(f"/watch/{PARTITION}", "9" * 5000) == 400
        assert await Reader(service, client).open(f"/watch/{PARTITION}", str(head)) == 200

    run(service, monkeypatch, story)


@pytest.mark.parametrize("path", [f"/watch/{PARTITION}", "/changes"])
def test_a_stream_ends_with_the_login_of_its_reader(
    path: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that is revoked reads nothing more; others go on."""
    monkeypatch.setattr(stream, "BEAT_S", 0.05)
    admin, eve = service.client(), service.client(Role.VIEWER)

    async def story() -> None:
        reader, other = Reader(service, eve), Reader(service, admin)
        for each in (reader, other):
            assert await each.open(path) == 200
            if path == "/changes":
                assert (await each.event())["event"] == "reset"
        ask(service, Verb.PAUSE)
        assert (await reader.event())["event"] in ("entry", "changed")
        done = await asyncio.to_thread(
            admin.post, "/revoke-token/viewer-1", {"reason": "leaked"}, if_match="*"
        )
        assert done.status == 200, done.text
        await asyncio.sleep(2 * stream.BEAT_S)
        ask(service, Verb.RESUME)
        assert (await reader.event())["event"] == "end"
        assert (await other.event())["event"] in ("entry", "changed")

    run(service, monkeypatch, story)


def test_a_login_that_cannot_be_checked_is_sent_nothing_until_it_can(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An issuer, a cluster or a journal does not answer: the stream stays, and waits."""
    monkeypatch.setattr(stream, "BEAT_S", 0.02)
    fails = [True] * 3
    known = service.login.again

    async def failing(request: Request) -> Caller:
        if fails:
            fails.pop()
            raise OutsideError("the issuer does not answer")
        return await known(request)

    async def story() -> None:
        reader = Reader(service, service.client())
        assert await reader.open(f"/watch/{PARTITION}") == 200
        monkeypatch.setattr(service.login, "again", failing)
        await asyncio.sleep(stream.BEAT_S)
        ask(service, Verb.PAUSE)
        assert (await reader.event())["event"] == "entry"
        assert not fails

    run(service, monkeypatch, story)


def test_no_change_is_lost_between_the_reset_and_the_first_look(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a page reads on a reset is as new as what changes are counted from."""
    looks = threading.Event()
    heads = service.archive.heads

    def slowly() -> dict[str, int]:
        happened(looks, "the story goes on")
        return heads()

    monkeypatch.setattr(service.archive, "heads", slowly)

    async def story() -> None:
        reader = Reader(service, service.client())
        assert await reader.open("/changes") == 200
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.event(), 0.1)
        looks.set()
        assert (await reader.event())["event"] == "reset"
        ask(service, Verb.PAUSE)
        assert (await reader.event())["event"] == "changed"

    run(service, monkeypatch, story)


def test_a_journal_that_does_not_answer_at_first_is_asked_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream begins when it does."""
    heads = service.archive.heads
    fails = [True, True]

    def failing() -> dict[str, int]:
        if fails:
            fails.pop()
            raise OutsideError("the journal is busy")
        return heads()

    monkeypatch.setattr(service.archive, "heads", failing)

    async def story() -> None:
        reader = Reader(service, service.client())
        assert await reader.open("/changes") == 200
        assert (await reader.event())["event"] == "reset"
        ask(service, Verb.PAUSE)
        assert (await reader.event())["event"] == "changed"

    run(service, monkeypatch, story)


def test_streams_end_with_the_service(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and not when their connection times out."""
    client = service.client()

    async def story() -> None:
        readers = [Reader(service, client) for _ in range(3)]
        for each in readers:
            assert await each.open("/changes") == 200
        service.api.close()
        for each in readers:
            while (await each.event())["event"] != "end":
                pass
            assert each.task is not None
            await asyncio.wait_for(each.task, PATIENCE_S)

    run(service, monkeypatch, story)


def test_there_are_not_too_many(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes must get through: the next one is refused, until another ends."""
    client = service.client()
    monkeypatch.setattr(stream, "STREAMS_MAX", 2)

    async def story() -> None:
        readers = [Reader(service, client) for _ in range(3)]
        assert [await each.open("/changes") for each in readers] == [200, 200, 429]

    run(service, monkeypatch, story)
