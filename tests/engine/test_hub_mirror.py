"""A hub is read once and followed: gaps are no absence, and older words change nothing."""

import asyncio
from contextlib import aclosing
from typing import Any

from tidegate.kinds.policies.hub.mirror import HubMirror, Shelf
from tidegate.kubernetes.port import CONFIG_MAP, AbsentError, Object, ObjectReading
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
    async with asyncio.timeout(20):
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

        before = ObjectReading((old,), {CONFIG_MAP.name: old.version})

        class Behind(SimulatedCluster):
            """A server whose lists are from before."""

            async def read(self, *_: Any, **__: Any) -> ObjectReading:
                return before

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
                async for _, found in changes:
                    seen.append(found.name)

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
