"""A hub is read once and followed: gaps are no absence, and older words change nothing."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tidegate.kinds.policies.hub.mirror import HubMirror, Shelf
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    AbsentError,
    ExpiredError,
    NotAllowedError,
    Object,
    ObjectPage,
)
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.errors import OutsideError


def api() -> SimulatedApi:
    found = SimulatedApi("hub")
    found.namespaces.add("ns")
    return found


def put(on: SimulatedApi, name: str, value: str) -> None:
    """A person writes a ConfigMap."""
    metadata = {"namespace": "ns", "name": name}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    on.put((CONFIG_MAP, "ns", name), {**document, "data": {"v": value}})


def shelf(**more: Any) -> Shelf[str]:
    def take(found: Object) -> str:
        value: str = found.document["data"]["v"]
        return value

    return Shelf(CONFIG_MAP, take, **more)


def values(of: Shelf[str]) -> dict[str, str]:
    return {name: value for (_, name), value in of.items.items()}


def gap_of(of: Shelf[str]) -> str | None:
    """Why it could not be read, as it is now."""
    return of.gap


async def eventually(of: Shelf[str], wanted: dict[str, str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while values(of) != wanted:  # noqa: ASYNC110  a shelf tells of nothing
            await asyncio.sleep(0.001)


def test_what_cannot_be_read_is_a_gap_and_stays_as_it_was() -> None:
    """Nothing is gone because a server does not answer."""
    hub, it = api(), shelf()
    put(hub, "a", "1")

    async def story() -> None:
        client = SimulatedCluster(hub)
        await it.load(client)
        assert values(it) == {"a": "1"}
        assert gap_of(it) is None

        def down(_: str) -> None:
            raise OutsideError("hub: no answer")

        hub.fault = down
        await it.load(client)
        assert values(it) == {"a": "1"}
        assert gap_of(it) == "hub: no answer"
        hub.fault = lambda _: None
        hub.remove((CONFIG_MAP, "ns", "a"))
        await it.load(client)
        assert values(it) == {}
        assert it.removals == 1

    asyncio.run(story())


def test_a_kind_that_a_hub_does_not_have_is_empty_only_where_that_is_fine() -> None:
    """A missing definition is not a hub that is down."""
    hub = api()

    def absent(_: str) -> None:
        raise AbsentError("hub: HTTP 404: the server could not find the requested resource")

    hub.fault = absent

    async def story() -> None:
        fine, needed = shelf(optional=True), shelf()
        await fine.load(SimulatedCluster(hub))
        await needed.load(SimulatedCluster(hub))
        assert fine.gap is None
        assert needed.gap is not None

    asyncio.run(story())


def test_what_our_account_may_not_see_is_empty_and_told_where_that_is_fine() -> None:
    """Whether it is seen or not is a change: what is said of it differs."""
    hub, it, strict = api(), shelf(hideable=True), shelf()
    put(hub, "a", "1")

    def forbid(_: str) -> None:
        raise NotAllowedError("configmaps: forbidden")

    async def story() -> None:
        client = SimulatedCluster(hub)
        await it.load(client)
        assert (values(it), it.hidden) == ({"a": "1"}, "")
        allowed, before = hub.fault, it.changes
        hub.fault = forbid
        await asyncio.gather(it.load(client), strict.load(client))
        assert (values(it), it.gap, it.hidden) == ({}, None, "configmaps: forbidden")
        assert gap_of(strict) == "configmaps: forbidden"
        hub.fault, unseen = allowed, it.changes
        assert unseen > before
        hub.remove((CONFIG_MAP, "ns", "a"))
        await it.load(client)
        assert (values(it), it.hidden) == ({}, "")
        assert it.changes > unseen

    asyncio.run(story())


def test_what_appears_with_its_kind_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manager is installed while a worker runs: what it brings is heard of."""
    monkeypatch.setattr("tidegate.kinds.policies.hub.mirror.AGAIN_S", 0.0)
    hub, it = api(), shelf(optional=True)
    allowed = hub.fault

    def absent(_: str) -> None:
        raise AbsentError("no such kind")

    async def story() -> None:
        hub.fault = absent
        client = SimulatedCluster(hub)
        changes = HubMirror(client, [it], fresh_s=0.0).changes()
        async with aclosing(changes), asyncio.timeout(PATIENCE_S):
            heard = asyncio.ensure_future(anext(changes))
            while gap_of(it) is not None:  # noqa: ASYNC110  a shelf tells of nothing
                await asyncio.sleep(0)
            put(hub, "a", "1")
            hub.fault = allowed
            _, change = await heard
            assert (change.name, change.before, change.after) == (("ns", "a"), None, "1")

    asyncio.run(story())


def test_an_older_word_does_not_undo_what_we_wrote() -> None:
    """A watch, or a list that was made before, may still bring it."""
    hub, it = api(), shelf()
    put(hub, "a", "1")

    async def story() -> None:
        client = SimulatedCluster(hub)
        await it.load(client)
        old = await client.get(CONFIG_MAP, "ns", "a")
        put(hub, "a", "2")
        put(hub, "b", "1")
        new, other = [await client.get(CONFIG_MAP, "ns", name) for name in ("a", "b")]
        assert old is not None
        assert new is not None
        assert other is not None
        it.put(new)
        it.put(other)
        it.put(old)
        assert values(it) == {"a": "2", "b": "1"}

        before = ObjectPage((old,), old.version)

        class Behind(SimulatedCluster):
            """A server whose lists are from before."""

            async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[ObjectPage, None]:
                yield before

        await it.load(Behind(hub))
        assert values(it) == {"a": "2", "b": "1"}

    asyncio.run(story())


def test_changes_are_followed_while_they_are_asked_for() -> None:
    """Once no watch runs, everything is read again."""
    hub, it = api(), shelf()
    put(hub, "a", "1")

    async def story() -> None:
        mirror = HubMirror(SimulatedCluster(hub), [it], fresh_s=0.0)
        seen: list[str] = []

        async def listen() -> None:
            changes = mirror.changes()
            async with aclosing(changes):
                async for _, change in changes:
                    seen.append(change.name[1])

        task = asyncio.create_task(listen())
        await eventually(it, {"a": "1"})
        put(hub, "b", "1")
        hub.remove((CONFIG_MAP, "ns", "a"))
        await eventually(it, {"b": "1"})
        assert it.is_fresh(0.0, 0.0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert seen == ["b", "a"]
        assert not it.is_fresh(0.0, 0.0)
        put(hub, "c", "1")
        await mirror.fresh()
        assert values(it) == {"b": "1", "c": "1"}

    asyncio.run(story())


def test_a_list_that_breaks_off_removes_nothing() -> None:
    """Nor does one that has to begin again: only the last one, read to its end, counts."""
    hub, it = api(), shelf()
    put(hub, "a", "1")
    put(hub, "b", "1")

    class Broken(SimulatedCluster):
        """A server that fails after the first page, in some way, so many times."""

        error: Exception = OutsideError("hub: no answer")
        times = 1

        async def pages(self, *args: Any, **more: Any) -> AsyncGenerator[ObjectPage, None]:
            async for page in super().pages(*args, **more):
                yield ObjectPage(page.objects[:1], page.version)
                if self.times:
                    self.times -= 1
                    raise self.error
                yield ObjectPage(page.objects[1:], page.version)

    async def story() -> None:
        client = Broken(hub)
        client.times = 0
        await it.load(client)
        put(hub, "a", "2")
        hub.remove((CONFIG_MAP, "ns", "b"))
        client.times = 1
        assert await it.load(client) == []
        assert values(it) == {"a": "1", "b": "1"}
        assert gap_of(it) == "hub: no answer"
        client.error, client.times = ExpiredError("hub: its history is gone"), 2
        changes = await it.load(client)
        assert {each.name[1]: each.after for each in changes} == {"a": "2", "b": None}
        assert gap_of(it) is None
        client.times = 3
        await it.load(client)
        assert gap_of(it) == "hub: its history is gone"
        assert values(it) == {"a": "2"}

    asyncio.run(story())


def test_what_is_gone_does_not_come_back_by_a_late_answer() -> None:
    """We write, another deletes, and the watch is faster than our answer."""
    hub, it = api(), shelf()
    put(hub, "a", "1")

    async def story() -> None:
        client = SimulatedCluster(hub)
        await it.load(client)
        put(hub, "a", "2")
        answer = await client.get(CONFIG_MAP, "ns", "a")
        assert answer is not None
        it.drop(answer)
        assert it.put(answer) is None
        assert values(it) == {}
        hub.remove((CONFIG_MAP, "ns", "a"))
        put(hub, "a", "3")
        again = await client.get(CONFIG_MAP, "ns", "a")
        assert again is not None
        assert it.put(again) is not None
        assert values(it) == {"a": "3"}

    asyncio.run(story())


def test_what_nothing_looks_at_is_no_change() -> None:
    """An object that was written and says the same wakes nothing."""
    hub, it = api(), shelf()
    put(hub, "a", "1")

    async def story() -> None:
        client = SimulatedCluster(hub)
        await it.load(client)
        before = it.changes
        metadata = {"namespace": "ns", "name": "a", "labels": {"beat": "2"}}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        hub.put((CONFIG_MAP, "ns", "a"), {**document, "data": {"v": "1"}})
        assert await it.load(client) == []
        assert it.changes == before

    asyncio.run(story())


def test_a_shelf_that_two_ask_for_is_read_once() -> None:
    """And one that was just read is followed from there."""
    hub, it = api(), shelf()
    put(hub, "a", "1")
    reads: list[str] = []
    hub.fault = reads.append

    async def story() -> None:
        mirror = HubMirror(SimulatedCluster(hub), [it], fresh_s=1.0)
        await asyncio.gather(mirror.fresh(), mirror.fresh())
        follower = asyncio.create_task(anext(mirror.changes()))
        await asyncio.sleep(0)
        put(hub, "a", "2")
        _, change = await follower
        assert change.after == "2"
        assert reads == ["read ConfigMap"]

    asyncio.run(story())


def test_a_bug_in_a_watch_is_not_passed_over() -> None:
    """Whatever follows the hub hears of it."""
    hub = api()
    put(hub, "a", "1")

    def take(_: Object) -> str:
        raise ZeroDivisionError

    async def story() -> None:
        mirror = HubMirror(SimulatedCluster(hub), [Shelf(CONFIG_MAP, take)], fresh_s=1.0)
        with pytest.raises(ZeroDivisionError):
            await anext(mirror.changes())

    asyncio.run(story())


def test_a_reading_goes_on_though_the_one_that_asked_gave_up() -> None:
    """A hub that takes longer to read than a round may take is read once, not begun for ever."""
    hub, it = api(), shelf()
    put(hub, "a", "1")
    begun = asyncio.Event()
    goes_on = asyncio.Event()

    class Long(SimulatedCluster):
        """A server that takes its time for a page."""

        times = 0

        async def pages(self, *args: Any, **more: Any) -> AsyncGenerator[ObjectPage, None]:
            self.times += 1
            begun.set()
            await goes_on.wait()
            async for page in super().pages(*args, **more):
                yield page

    async def story() -> None:
        client = Long(hub)
        mirror = HubMirror(client, [it], fresh_s=1.0)
        impatient = asyncio.create_task(mirror.fresh())
        await begun.wait()
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
        patient = asyncio.create_task(mirror.fresh())
        await asyncio.sleep(0)
        goes_on.set()
        await patient
        assert values(it) == {"a": "1"}
        assert client.times == 1

    asyncio.run(story())
