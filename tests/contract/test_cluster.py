"""What Tidegate may rely on, whichever cluster it talks to: versions, owners, preconditions."""

import asyncio
import re
from contextlib import aclosing

import pytest

from tests.contract.clusters import (
    EVERY,
    SOMEBODY,
    Stage,
    config_map,
    deployment,
    loop,
    running_stage_of,
    stage_of,
    until,
)
from tests.real.kubelet import METRICS_PORT
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    DEPLOYMENT,
    MANAGER,
    POD,
    ApplyOutcome,
    Cluster,
    ConflictError,
    ExpiredError,
    FieldConflict,
    Object,
    ObjectEvent,
    ObjectRefusedError,
    Take,
    WatchEvent,
)
from tidegate.model.errors import OutsideError, StaleError

IMAGE = '.spec.template.spec.containers[name="int"].image'


@pytest.fixture(params=EVERY)
def stage(request: pytest.FixtureRequest) -> Stage:
    """A simulated cluster, one over HTTP, and a real one."""
    return stage_of(request.param, request)


@pytest.fixture(params=EVERY)
def forgetful(request: pytest.FixtureRequest) -> Stage:
    """The same, but the server keeps no history of its own beside its database's."""
    return stage_of(request.param, request, "--watch-cache=false")


@pytest.fixture(params=EVERY)
def running(request: pytest.FixtureRequest) -> Stage:
    """Clusters in which pods run."""
    return running_stage_of(request.param, request)


def image_of(found: Object) -> str:
    """The image of the one container."""
    (container,) = found.document["spec"]["template"]["spec"]["containers"]
    image: str = container["image"]
    return image


# Applying


def test_two_managers_keep_keys_of_one_map(stage: Stage) -> None:
    """What one leaves out is removed only where it had applied it itself."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        one, other = us.under("one"), us.under("other")
        await one.apply({**config_map(ns), "data": {"a": "1"}})
        await other.apply({**config_map(ns), "data": {"b": "1"}})
        await one.apply({**config_map(ns), "data": {"a": "2"}})
        name = config_map(ns)["metadata"]["name"]
        found = await us.get(CONFIG_MAP, ns, name)
        assert found is not None
        assert found.document["data"] == {"a": "2", "b": "1"}
        assert not found.ours
        await one.apply({**config_map(ns), "data": {}})
        found = await one.get(CONFIG_MAP, ns, name)
        assert found is not None
        assert found.document["data"] == {"b": "1"}

    stage.play(story)


def test_a_status_is_written_apart(stage: Stage) -> None:
    """The declaration stays; an object that is gone, or another of its name, is not written to."""

    async def story(us: Cluster, _them: Cluster, ns: str) -> None:
        made = (await us.apply(deployment(ns))).object
        after = await us.write_status(made, {"observedGeneration": 1})
        after = await us.write_status(after, {"replicas": 3})
        assert after.document["status"]["observedGeneration"] == 1
        assert after.document["status"]["replicas"] == 3
        assert after.document["spec"] == made.document["spec"]
        assert after.ours
        assert await us.delete(after)
        with pytest.raises(StaleError):
            await us.write_status(after, {"replicas": 4})
        await us.apply(deployment(ns))
        with pytest.raises(StaleError):
            await us.write_status(after, {"replicas": 4})

    stage.play(story)


def test_what_is_applied_is_there_and_ours(stage: Stage) -> None:
    """A new object is created, read back by every way there is, and known to be ours."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        made = await us.apply(deployment(ns, replicas=2))
        assert made.outcome is ApplyOutcome.CREATED
        assert made.object.ours
        assert made.object.where == f"deployment/{ns}/a"
        read = await us.read(ns, [DEPLOYMENT])
        assert read.complete
        assert read.objects == (made.object,)
        assert await us.get(DEPLOYMENT, ns, "a") == made.object
        assert await us.get(DEPLOYMENT, ns, "b") is None
        theirs = await them.get(DEPLOYMENT, ns, "a")
        assert theirs is not None
        assert not theirs.ours
        assert (theirs.uid, theirs.version) == (made.object.uid, made.object.version)

    stage.play(story)


def test_applying_the_same_again_changes_nothing(stage: Stage) -> None:
    """Not even the version: what watches hears nothing."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        made = await us.apply(deployment(ns))
        again = await us.apply(deployment(ns), before=made.object)
        assert again.outcome is ApplyOutcome.UNCHANGED
        assert again.object == made.object
        other = await us.apply(deployment(ns, image="registry.test/a:2"), before=made.object)
        assert other.outcome is ApplyOutcome.CONFIGURED
        assert other.object.version != made.object.version
        assert other.object.uid == made.object.uid
        assert image_of(other.object) == "registry.test/a:2"

    stage.play(story)


def test_a_dry_run_says_what_would_be_and_changes_nothing(stage: Stage) -> None:
    """Creation, change, conflict and deletion, without any of them."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        would = await us.apply(deployment(ns), dry_run=True)
        assert would.outcome is ApplyOutcome.CREATED
        assert await us.get(DEPLOYMENT, ns, "a") is None
        made = (await us.apply(deployment(ns))).object
        changed = deployment(ns, image="registry.test/a:2")
        would = await us.apply(changed, before=made, dry_run=True)
        assert would.outcome is ApplyOutcome.CONFIGURED
        assert image_of(would.object) == "registry.test/a:2"
        same = await us.apply(deployment(ns), before=made, dry_run=True)
        assert same.outcome is ApplyOutcome.UNCHANGED
        with pytest.raises(ConflictError):
            await them.apply(changed, dry_run=True)
        over = await them.apply(changed, take=Take.OVER, dry_run=True)
        assert over.taken == (FieldConflict(IMAGE, MANAGER),)
        assert await us.delete(made, dry_run=True)
        assert await us.get(DEPLOYMENT, ns, "a") == made

    stage.play(story)


def test_what_we_no_longer_name_is_removed_and_what_others_name_stays(stage: Stage) -> None:
    """Each field goes with its last owner."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        await us.apply(config_map(ns, ours="1", both="1"))
        await them.apply(config_map(ns, theirs="1", both="1"))
        left = (await us.apply(config_map(ns, more="1"))).object
        assert left.document["data"] == {"theirs": "1", "both": "1", "more": "1"}

    stage.play(story)


def test_named_things_in_a_list_have_owners_each(stage: Stage) -> None:
    """A person's sidecar and variables stay when we apply our container."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        await us.apply(deployment(ns))
        theirs = deployment(ns)
        theirs["spec"]["template"]["spec"]["containers"] = [
            {"name": "int", "env": [{"name": "X", "value": "1"}]},
            {"name": "side", "image": "registry.test/side:1"},
        ]
        await them.apply(theirs)
        after = (await us.apply(deployment(ns, image="registry.test/a:2"))).object
        containers = after.document["spec"]["template"]["spec"]["containers"]
        assert {each["name"]: each["image"] for each in containers} == {
            "int": "registry.test/a:2",
            "side": "registry.test/side:1",
        }
        (first,) = (each for each in containers if each["name"] == "int")
        assert first["env"] == [{"name": "X", "value": "1"}]

    stage.play(story)


def test_a_conflict_names_the_field_and_its_owner_and_writes_nothing(stage: Stage) -> None:
    """Who must talk to whom is in the message."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        made = (await them.apply(deployment(ns, replicas=3))).object
        with pytest.raises(ConflictError) as caught:
            await us.apply(deployment(ns, replicas=1, image="registry.test/a:2"))
        assert set(caught.value.conflicts) == {
            FieldConflict(".spec.replicas", SOMEBODY),
            FieldConflict(IMAGE, SOMEBODY),
        }
        assert f".spec.replicas belongs to {SOMEBODY}" in str(caught.value)
        assert f"{us.name}: deployment/{ns}/a" in str(caught.value)
        assert await them.get(DEPLOYMENT, ns, "a") == made

    stage.play(story)


def test_fields_are_taken_back_only_in_what_is_ours(stage: Stage) -> None:
    """Drift in our object is undone, by name; another's object is not touched."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        ours = (await us.apply(deployment(ns, replicas=1))).object
        await them.apply(deployment(ns, replicas=5), take=Take.OVER)
        with pytest.raises(ConflictError):
            await us.apply(deployment(ns, replicas=1), before=ours)
        back = await us.apply(deployment(ns, replicas=1), before=ours, take=Take.BACK)
        assert back.outcome is ApplyOutcome.CONFIGURED
        assert back.taken == (FieldConflict(".spec.replicas", SOMEBODY),)
        assert back.object.document["spec"]["replicas"] == 1
        theirs = (await them.apply(deployment(ns, "b", replicas=5))).object
        with pytest.raises(ConflictError):
            await us.apply(deployment(ns, "b", replicas=1), take=Take.BACK)
        assert await them.get(DEPLOYMENT, ns, "b") == theirs

    stage.play(story)


def test_what_two_own_is_changed_by_either_and_what_one_owns_by_that_one(stage: Stage) -> None:
    """As in an object that was adopted: its former manager owns the same fields with us."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        await them.apply(deployment(ns, image="x:1"))
        await us.apply(deployment(ns, image="x:1"), take=Take.OVER)
        with pytest.raises(ConflictError):
            await us.apply(deployment(ns, image="x:2"))
        done = await us.apply(deployment(ns, image="x:2"), take=Take.SHARED)
        assert image_of(done.object) == "x:2"
        assert [each.field for each in done.taken] == [IMAGE]
        await them.apply(deployment(ns, image="x:2", paused=True), take=Take.OVER)
        with pytest.raises(ConflictError, match="paused"):
            await us.apply(deployment(ns, image="x:3", paused=False), take=Take.SHARED)
        last = await us.get(DEPLOYMENT, ns, "a")
        assert last is not None
        assert image_of(last) == "x:2"

    stage.play(story)


def test_an_object_is_adopted_in_place(stage: Stage) -> None:
    """With the same values nothing is lost; with others, only if we are asked to take over."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        theirs = (await them.apply(deployment(ns, replicas=2))).object
        seen = await us.get(DEPLOYMENT, ns, "a")
        assert seen is not None
        assert not seen.ours
        shared = await us.apply(deployment(ns, replicas=2), before=seen)
        assert shared.object.ours
        assert shared.object.uid == theirs.uid
        assert shared.object.document["spec"] == theirs.document["spec"]
        over = await us.apply(deployment(ns, replicas=4), take=Take.OVER)
        assert over.taken == (FieldConflict(".spec.replicas", SOMEBODY),)
        assert over.object.uid == theirs.uid

    stage.play(story)


def test_only_the_object_that_was_seen_is_applied_to(stage: Stage) -> None:
    """One that is gone, or that another took the name of, is not made again or changed."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        seen = (await us.apply(config_map(ns, x="1"))).object
        assert await us.delete(seen)
        with pytest.raises(StaleError):
            await us.apply(config_map(ns, x="2"), before=seen)
        assert await us.get(CONFIG_MAP, ns, "a") is None
        second = (await us.apply(config_map(ns, x="3"))).object
        assert second.uid != seen.uid
        for take in Take:
            with pytest.raises(StaleError):
                await us.apply(config_map(ns, x="2"), before=seen, take=take)
        assert await us.get(CONFIG_MAP, ns, "a") == second

    stage.play(story)


def test_exactly_what_was_seen_is_applied_to_or_nothing(stage: Stage) -> None:
    """One that was changed since is left as it is, by us or by another; as it was read, it is not.

    A field that another took in the object that was seen is taken back.
    """

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        first = (await us.apply(config_map(ns, x="1"))).object
        second = (await us.apply(config_map(ns, x="2"))).object
        for take in Take:
            with pytest.raises(StaleError, match="changed after it was read"):
                await us.apply(config_map(ns, x="3"), before=first, take=take, exact=True)
        assert await us.get(CONFIG_MAP, ns, "a") == second
        done = await us.apply(config_map(ns, x="3"), before=second, exact=True)
        assert done.outcome is ApplyOutcome.CONFIGURED
        await them.apply(config_map(ns, x="4"), take=Take.OVER)
        with pytest.raises(StaleError):
            await us.apply(config_map(ns, x="3"), before=done.object, take=Take.BACK, exact=True)
        drifted = await us.get(CONFIG_MAP, ns, "a")
        back = await us.apply(config_map(ns, x="3"), before=drifted, take=Take.BACK, exact=True)
        assert [each.field for each in back.taken] == [".data.x"]
        assert back.object.document["data"] == {"x": "3"}

    stage.play(story)


def test_what_a_server_refuses_is_reported_with_its_reasons(stage: Stage) -> None:
    """Not tried again, and not mistaken for a server that is ill."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        document = deployment(ns)
        del document["spec"]["selector"]
        with pytest.raises(ObjectRefusedError, match=r"spec\.selector: Required value"):
            await us.apply(document)
        await us.apply(deployment(ns))
        other = deployment(ns)
        for labels in (other["spec"]["selector"], other["spec"]["template"]["metadata"]):
            labels["matchLabels" if "matchLabels" in labels else "labels"] = {"app": "other"}
        with pytest.raises(ObjectRefusedError, match=r"spec\.selector: .*field is immutable"):
            await us.apply(other)
        with pytest.raises(ObjectRefusedError, match="Moon: no kind Tidegate applies"):
            await us.apply({"apiVersion": "v1", "kind": "Moon", "metadata": {}})
        with pytest.raises(ObjectRefusedError, match="namespace"):
            await us.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        with pytest.raises(OutsideError, match='namespaces "nowhere" not found'):
            await us.apply(config_map("nowhere"))
        assert (await us.read(ns, [DEPLOYMENT, CONFIG_MAP])).complete

    stage.play(story)


# Deleting and giving back


def test_only_what_is_ours_and_as_it_was_read_is_deleted(stage: Stage) -> None:
    """Everything else is left alone with a word."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        await them.apply(config_map(ns, "theirs"))
        theirs = await us.get(CONFIG_MAP, ns, "theirs")
        assert theirs is not None
        with pytest.raises(StaleError, match="not applied by Tidegate"):
            await us.delete(theirs)
        first = (await us.apply(config_map(ns, x="1"))).object
        second = (await us.apply(config_map(ns, x="2"))).object
        with pytest.raises(StaleError, match="changed after it was read"):
            await us.delete(first)
        assert await us.delete(second)
        assert not await us.delete(second), "it is gone already"
        again = (await us.apply(config_map(ns, x="2"))).object
        with pytest.raises(StaleError):
            await us.delete(second)
        left = {each.name: each for each in (await us.read(ns, [CONFIG_MAP])).objects}
        assert left["theirs"] == theirs
        assert left["a"] == again

    stage.play(story)


def test_what_a_person_took_over_is_not_deleted(stage: Stage) -> None:
    """After the reading, and before the deletion."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        seen = (await us.apply(config_map(ns, x="1"))).object
        await them.apply(config_map(ns, x="2"), take=Take.OVER)
        with pytest.raises(StaleError):
            await us.delete(seen)
        assert await us.get(CONFIG_MAP, ns, "a") is not None

    stage.play(story)


def test_an_object_is_given_back_as_it_is(stage: Stage) -> None:
    """It is ours no more; nothing in it changes, and others may."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        ours = (await us.apply(deployment(ns, replicas=2))).object
        given = await us.release(ours)
        assert not given.ours
        assert given.uid == ours.uid
        assert given.document["spec"] == ours.document["spec"]
        assert given.document["metadata"]["labels"] == ours.document["metadata"]["labels"]
        assert await us.release(given) == given, "the second time there is nothing to give"
        with pytest.raises(StaleError):
            await us.delete(given)
        taken = await them.apply(deployment(ns, replicas=7), take=Take.OVER)
        assert taken.object.ours
        assert taken.object.uid == ours.uid

    stage.play(story)


# Reading


def test_a_reading_holds_what_was_asked_for(stage: Stage) -> None:
    """By kind, namespace and label, ours or not; over as many pages as it takes."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        names = [f"n{number}" for number in range(7)]
        for name in names:
            await us.apply(config_map(ns, name))
        await them.apply(config_map(ns, "theirs"))
        await us.apply(deployment(ns))
        read = await us.read(ns, [CONFIG_MAP, DEPLOYMENT])
        ours = [each.name for each in read.objects if each.ours]
        assert sorted(ours) == ["a", *names]
        assert "theirs" in {each.name for each in read.objects}
        assert read.complete
        assert set(read.versions) == {"ConfigMap", "Deployment"}
        one = await us.read(ns, [CONFIG_MAP, DEPLOYMENT], selector="app in (n3,a)")
        assert sorted(each.where for each in one.objects) == [
            f"configmap/{ns}/n3",
            f"deployment/{ns}/a",
        ]
        assert (await us.read("nowhere", [DEPLOYMENT])).objects == ()

    stage.play(story)


def test_a_reading_of_no_namespace_holds_all_of_them(stage: Stage) -> None:
    """What is ours is found wherever it is; and heard of."""
    elsewhere = stage.namespace()

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        after = (await us.read("", [CONFIG_MAP])).versions["ConfigMap"]
        one = (await us.apply(config_map(ns, x="1"))).object
        two = (await us.apply(config_map(elsewhere, x="2"))).object
        read = await us.read("", [CONFIG_MAP], "app=a")
        assert {one.where, two.where} <= {each.where for each in read.objects if each.ours}
        assert (await us.read(ns, [CONFIG_MAP], "app=a")).objects == (one,)
        events = await heard(us, "", after, 2, "app=a")
        assert [each.object for each in events] == [one, two]

    stage.play(story)


def test_pages_are_one_reading(stage: Stage) -> None:
    """All of them together, of one moment; what happens after it is heard from there."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        for number in range(7):
            await us.apply(config_map(ns, f"n{number}"))
        await them.apply(config_map(ns, "theirs"))
        pages = [page async for page in us.pages(ns, CONFIG_MAP, "app in (n1,n5,theirs)")]
        assert [each.name for page in pages for each in page.objects] == ["n1", "n5", "theirs"]
        (version,) = {page.version for page in pages}
        made = (await us.apply(config_map(ns, "later"))).object
        events = await heard(us, ns, version, 1)
        assert [each.object for each in events] == [made]
        nothing = [page async for page in us.pages(ns, CONFIG_MAP, "app=nothing")]
        assert [page.objects for page in nothing] == [()]

    stage.play(story)


# Pods


async def ready_pod(us: Cluster, ns: str) -> Object:
    """The pod of the only workload, once it is ready."""
    found: list[Object] = []

    async def ready() -> bool:
        for pod in (await us.read(ns, [POD])).objects:
            conditions = pod.document["status"].get("conditions") or ()
            if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
                found.append(pod)
        return bool(found)

    await until(ready)
    return found[0]


def test_a_pod_is_asked_for_its_numbers(running: Stage) -> None:
    """What it answers comes back whole; whatever else happens is an error that names it."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        await us.apply(loop(ns))
        pod = await ready_pod(us, ns)

        async def answers() -> bool:
            numbers = await us.fetch(pod, METRICS_PORT, "/metrics")
            runs = re.search(r"^\w+_execution_counter_total\S* ([1-9])", numbers, re.MULTILINE)
            return runs is not None

        await until(answers)
        numbers = await us.fetch(pod, METRICS_PORT, "/metrics")
        assert re.search(r"^qontract_reconcile_last_run_status\S* 0", numbers, re.MULTILINE)
        where = f"{us.name}: {pod.where}: port"
        with pytest.raises(OutsideError, match=where):
            await us.fetch(pod, METRICS_PORT, "/nothing-here")
        with pytest.raises(OutsideError, match=where):
            await us.fetch(pod, METRICS_PORT + 1, "/metrics")

    running.play(story, runs=True)


def test_a_log_is_read_and_followed(running: Stage) -> None:
    """Whole, its last lines, and on while the pod lives; its end is the end of the log."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        made = (await us.apply(loop(ns))).object
        pod = await ready_pod(us, ns)
        followed: list[str] = []

        async def follow() -> None:
            async with aclosing(us.logs(ns, pod.name, "int", follow=True)) as lines:
                async for line in lines:
                    followed.append(line)  # noqa: PERF401  it is looked at meanwhile

        async def some() -> bool:
            return len(followed) >= 6

        following = asyncio.create_task(follow())
        await until(some)
        whole = [line async for line in us.logs(ns, pod.name)]
        assert len(whole) >= 6
        shorter = min(len(whole), len(followed))
        assert whole[:shorter] == followed[:shorter]
        assert len([line async for line in us.logs(ns, pod.name, tail=2)]) == 2
        newest = await us.get(DEPLOYMENT, ns, "a")
        assert newest is not None
        assert newest.uid == made.uid
        assert await us.delete(newest)
        await following
        assert followed[:shorter] == whole[:shorter]

    running.play(story, runs=True)


def test_where_there_is_no_log_there_is_an_error(running: Stage) -> None:
    """A pod that is not there, and a container that is not."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        with pytest.raises(OutsideError, match=f"pod/{ns}/nobody"):
            await anext(us.logs(ns, "nobody"))
        await us.apply(loop(ns))
        pod = await ready_pod(us, ns)
        with pytest.raises(OutsideError, match="container nothing is not valid for pod"):
            await anext(us.logs(ns, pod.name, "nothing"))

    running.play(story, runs=True)


# Watching


async def heard(
    us: Cluster, ns: str, after: str, count: int, selector: str = ""
) -> list[WatchEvent]:
    """So many events after a version."""
    found: list[WatchEvent] = []
    async with aclosing(us.watch(ns, CONFIG_MAP, after, selector)) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


def test_what_happens_after_a_reading_is_heard_in_order(stage: Stage) -> None:
    """What happened between the reading and the watch too, and nothing twice."""

    async def story(us: Cluster, them: Cluster, ns: str) -> None:
        await us.apply(config_map(ns, "old"))
        after = (await us.read(ns, [CONFIG_MAP])).versions["ConfigMap"]
        made = (await us.apply(config_map(ns, x="1"))).object
        listening = asyncio.create_task(heard(us, ns, after, 4))
        await them.apply(config_map(ns, "theirs"))
        changed = (await us.apply(config_map(ns, x="2"))).object
        await us.delete(changed)
        events = await listening
        assert [(each.change, each.object.name) for each in events] == [
            (ObjectEvent.ADDED, "a"),
            (ObjectEvent.ADDED, "theirs"),
            (ObjectEvent.MODIFIED, "a"),
            (ObjectEvent.DELETED, "a"),
        ]
        assert [events[0].object, events[2].object] == [made, changed]
        assert not events[1].object.ours
        later = await heard(us, ns, events[0].object.version, 3)
        assert later == events[1:]

    stage.play(story)


def test_a_watch_hears_what_its_selector_chooses(stage: Stage) -> None:
    """And nothing else."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        after = (await us.read(ns, [CONFIG_MAP])).versions["ConfigMap"]
        for name in ("x", "y", "z"):
            await us.apply(config_map(ns, name))
        events = await heard(us, ns, after, 2, "app!=y,app in (x,y,z)")
        assert [each.object.name for each in events] == ["x", "z"]

    stage.play(story)


def test_a_watch_never_passes_over_a_gap(forgetful: Stage) -> None:
    """If the server has forgotten what happened since, it is said, and a new reading is due."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        after = (await us.read(ns, [CONFIG_MAP])).versions["ConfigMap"]
        for number in range(3):
            await us.apply(config_map(ns, x=str(number)))
        await asyncio.to_thread(forgetful.forget)
        with pytest.raises(ExpiredError, match="read anew"):
            await heard(us, ns, after, 1)

    forgetful.play(story)
