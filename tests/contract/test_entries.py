"""Entries of an object that many write to: set as they were seen, and no others are touched."""

import asyncio
from contextlib import aclosing

import pytest

from tests.contract.clusters import EVERY, Stage, config_map, stage_of
from tidegate.kubernetes.port import CONFIG_MAP, Cluster, Object, Take
from tidegate.model.errors import OutsideError, StaleError

POINTERS = "tidegate-pointers"
FORMER = "tidegate-"


@pytest.fixture(params=EVERY)
def stage(request: pytest.FixtureRequest) -> Stage:
    """A simulated cluster, one over HTTP, and a real one."""
    return stage_of(request.param, request)


def head(namespace: str) -> dict[str, object]:
    """The object without its data."""
    return {key: each for key, each in config_map(namespace).items() if key != "data"}


async def there(cluster: Cluster, namespace: str) -> Object:
    """The object as it is."""
    found = await cluster.get(CONFIG_MAP, namespace, "a")
    assert found is not None
    return found


def data_of(found: Object | None) -> dict[str, str]:
    """Its entries."""
    assert found is not None
    return dict(found.document.get("data") or {})


def test_an_entry_is_set_changed_and_removed_beside_others(stage: Stage) -> None:
    """The object is made with its first entry, is ours, and goes once it is empty."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        assert await us.set_entries(head(ns), {"web": None}, seen={"web": None}) is None
        made = await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None})
        assert made is not None
        assert made.ours
        assert made.document["metadata"]["labels"] == {"app": "a"}
        await us.set_entries(head(ns), {"db.x": "r1"}, seen={"db.x": None})
        found = await us.set_entries(head(ns), {"web": "r2"}, seen={"web": "r1"})
        assert data_of(found) == {"web": "r2", "db.x": "r1"}
        assert found == await there(us, ns)
        found = await us.set_entries(head(ns), {"db.x": None}, seen={"db.x": "r1"})
        assert data_of(found) == {"web": "r2"}
        found = await us.set_entries(head(ns), {"web": None}, seen={"web": "r2"})
        assert data_of(found) == {}
        assert found is not None
        assert found.ours
        again = await us.set_entries(head(ns), {"web": "r3"}, seen={"web": None})
        assert data_of(again) == {"web": "r3"}
        found = await us.set_entries(head(ns), {"web": None}, seen={"web": "r3"})
        assert found is not None
        assert await us.delete(found)
        assert await us.get(CONFIG_MAP, ns, "a") is None

    stage.play(story)


def test_setting_the_same_again_changes_nothing(stage: Stage) -> None:
    """As after an answer that was lost: not even the version differs."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        made = await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None})
        assert await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None}) == made
        assert await us.set_entries(head(ns), {"web": "r1"}, seen={"web": "r0"}) == made
        await us.set_entries(head(ns), {"web": None}, seen={"web": "r1"})
        gone = await there(us, ns)
        assert await us.set_entries(head(ns), {"web": None}, seen={"web": "r1"}) == gone

    stage.play(story)


def test_what_another_wrote_since_is_not_overwritten(stage: Stage) -> None:
    """Neither an entry of another value, nor one that was made or removed meanwhile."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None})
        await them.apply({**head(ns), "data": {"web": "r9"}}, take=Take.OVER)
        for value in ("r2", None):
            with pytest.raises(StaleError, match='web is "r9" by now, not "r1"'):
                await us.set_entries(head(ns), {"web": value}, seen={"web": "r1"})
        with pytest.raises(StaleError, match='web is "r9" by now'):
            await us.set_entries(head(ns), {"web": "r2"}, seen={"web": None})
        assert data_of(await there(us, ns)) == {"web": "r9"}
        assert data_of(await us.set_entries(head(ns), {"web": "r2"}, seen={"web": "r9"})) == {
            "web": "r2"
        }
        await us.set_entries(head(ns), {"web": None}, seen={"web": "r2"})
        with pytest.raises(StaleError, match='web is null by now, not "r2"'):
            await us.set_entries(head(ns), {"web": "r3"}, seen={"web": "r2"})
        await them.apply({**head(ns), "data": {"web": ""}}, take=Take.OVER)
        # An empty one is none.
        assert data_of(await us.set_entries(head(ns), {"web": "r3"}, seen={"web": None})) == {
            "web": "r3"
        }

    stage.play(story)


def test_an_object_that_is_gone_is_not_made_again_for_an_entry_that_was_seen(stage: Stage) -> None:
    """Another deleted it, and what was in it: that is to be looked at first."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        made = await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None})
        assert made is not None
        assert await us.delete(made)
        with pytest.raises(StaleError, match="no more"):
            await us.set_entries(head(ns), {"web": "r2"}, seen={"web": "r1"})
        assert await us.set_entries(head(ns), {"web": None}, seen={"web": "r1"}) is None
        assert await us.get(CONFIG_MAP, ns, "a") is None

    stage.play(story)


def test_labels_that_another_took_are_put_back_before_anything_is_set(stage: Stage) -> None:
    """Without them it is on no list: what it holds was not seen."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        await us.set_entries(head(ns), {"web": "r1"}, seen={"web": None})
        metadata = {**config_map(ns)["metadata"], "labels": {"app": "other", "more": "yes"}}
        await them.apply({**head(ns), "metadata": metadata}, take=Take.OVER)
        with pytest.raises(StaleError, match="labels"):
            await us.set_entries(head(ns), {"web": "r2"}, seen={"web": None})
        found = await there(us, ns)
        assert found.document["metadata"]["labels"] == {"app": "a", "more": "yes"}
        assert data_of(found) == {"web": "r1"}
        assert data_of(await us.set_entries(head(ns), {"web": "r2"}, seen={"web": "r1"})) == {
            "web": "r2"
        }

    stage.play(story)


def test_what_several_managers_applied_is_taken_over(stage: Stage) -> None:
    """All of it, with the first entry that is set; what a person owns stays that person's."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        for each in ("db", "web"):
            await us.under(f"{FORMER}{ns}.{each}").apply({**head(ns), "data": {each: "r1"}})
        noted = {**config_map(ns)["metadata"], "annotations": {"note": "mine"}}
        await them.apply({**head(ns), "metadata": noted})
        us = us.under(POINTERS)
        assert not (await there(us, ns)).ours
        found = await us.set_entries(
            head(ns), {"web": "r2"}, seen={"web": "r1"}, former=f"{FORMER}{ns}."
        )
        assert data_of(found) == {"web": "r2", "db": "r1"}
        assert found is not None
        assert found.ours
        assert found == await there(us, ns)
        for each in ("db", "web"):
            assert not (await there(us.under(f"{FORMER}{ns}.{each}"), ns)).ours
        assert (await there(them, ns)).ours
        # A former version that still runs applies nothing away: what it left out is not its own.
        await us.under(f"{FORMER}{ns}.db").apply({**head(ns), "data": {}})
        assert data_of(await there(us, ns)) == {"web": "r2", "db": "r1"}
        found = await us.set_entries(
            head(ns), {"db": "r2"}, seen={"db": "r1"}, former=f"{FORMER}{ns}."
        )
        assert data_of(found) == {"web": "r2", "db": "r2"}
        assert not (await there(us.under(f"{FORMER}{ns}.db"), ns)).ours

    stage.play(story)


def test_entries_that_many_set_at_once_are_all_there(stage: Stage) -> None:
    """None is refused for what another set, be it the first."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        keys = [f"p{at}" for at in range(20)]
        await asyncio.gather(
            *(us.set_entries(head(ns), {key: "r1"}, seen={key: None}) for key in keys)
        )
        await asyncio.gather(
            *(us.set_entries(head(ns), {key: "r2"}, seen={key: "r1"}) for key in keys)
        )
        assert data_of(await there(us, ns)) == dict.fromkeys(keys, "r2")

    stage.play(story)


def test_an_object_in_no_namespace_that_is_there_is_an_error(stage: Stage) -> None:
    """And not an absence."""

    async def story(us: Cluster, _them: Cluster, _ns: str) -> None:
        with pytest.raises(OutsideError, match="not found"):
            await us.set_entries(head("nowhere"), {"web": "r1"}, seen={"web": None})

    stage.play(story)


def test_entries_are_set_all_at_once_or_not_at_all(stage: Stage) -> None:
    """One that another wrote meanwhile keeps all of them as they are."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        us = us.under(POINTERS)
        first = {"web": "r1", "db": "r1"}
        await us.set_entries(head(ns), first, seen={})
        made = await there(us, ns)
        second = {"web": "r2", "db": "r2", "more": "r2"}
        after = await us.set_entries(head(ns), second, seen=first)
        assert data_of(after) == second
        # One write: what watches sees them together.
        events = us.watch(ns, CONFIG_MAP, made.version)
        async with aclosing(events):
            assert data_of((await anext(events)).object) == second
        await them.apply({**head(ns), "data": {"db": "r9"}}, take=Take.OVER)
        with pytest.raises(StaleError, match='db is "r9" by now, not "r2"'):
            await us.set_entries(head(ns), dict.fromkeys(second, "r3"), seen=second)
        assert data_of(await there(us, ns)) == {**second, "db": "r9"}
        # What is as wanted already is no obstacle, whatever was seen.
        third = {"web": None, "db": "r9", "more": "r3"}
        found = await us.set_entries(head(ns), third, seen=second)
        assert data_of(found) == {"db": "r9", "more": "r3"}

    stage.play(story)
