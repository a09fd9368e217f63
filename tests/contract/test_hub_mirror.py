"""A shelf is what the server has, through whatever the server forgets meanwhile."""

import asyncio
from contextlib import aclosing

import pytest

from tests.contract.clusters import EVERY, Stage, config_map, stage_of, until
from tidegate.kinds.policies.hub.mirror import HubMirror, Shelf
from tidegate.kubernetes.port import CONFIG_MAP, Cluster, Object


@pytest.fixture(params=EVERY)
def forgetful(request: pytest.FixtureRequest) -> Stage:
    """A server that keeps no history of its own beside its database's."""
    return stage_of(request.param, request, "--watch-cache=false")


def _value(found: Object) -> str:
    value: str = (found.document.get("data") or {}).get("x", "")
    return value


def test_a_shelf_is_followed_through_what_a_server_forgot(forgetful: Stage) -> None:
    """What was written, changed and deleted while no watch ran is a change, and at once."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        shelf = Shelf(CONFIG_MAP, _value, f"app,app!={ns}")
        mirror = HubMirror(us, [shelf], fresh_s=0.0)
        seen: dict[str, str | None] = {}

        async def listen() -> None:
            async with aclosing(mirror.changes()) as changes:
                async for _, change in changes:
                    if change.name[0] == ns:
                        seen[change.name[1]] = change.after

        async def known(**wanted: str | None) -> None:
            async def so() -> bool:
                return seen == wanted

            await until(so)
            seen.clear()

        await them.apply(config_map(ns, "kept", x="1"))
        await us.apply(config_map(ns, "gone", x="1"))
        await mirror.fresh()
        gone = await us.get(CONFIG_MAP, ns, "gone")
        assert gone is not None
        # Between the reading and the watch, and then forgotten.
        await them.apply(config_map(ns, "kept", x="2"))
        await us.apply(config_map(ns, "new", x="1"))
        await us.delete(gone)
        await asyncio.to_thread(forgetful.forget)
        task = asyncio.create_task(listen())
        try:
            await known(kept="2", new="1", gone=None)
            await them.apply(config_map(ns, "kept", x="3"))
            await known(kept="3")
            mine = {name: value for (where, name), value in shelf.items.items() if where == ns}
            assert mine == {"kept": "3", "new": "1"}
            assert shelf.gap is None
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    forgetful.play(story)
