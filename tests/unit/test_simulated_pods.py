"""What simulated pods do and say, by the clock: tables of moments, numbers, lines and schedules."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tidegate.documents.strict_yaml import read_yaml
from tidegate.kubernetes.port import CRON_JOB, JOB, POD
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import (
    Behaviour,
    ContainerPurpose,
    ContainerStart,
    read_behaviour,
)
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.fields import unflatten
from tidegate.kubernetes.simulated.life.cron import parse_schedule
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.kubernetes.simulated.life.pods import image_id
from tidegate.model.errors import UserError
from tidegate.model.time import SECOND, Instant, format_second, parse_instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually

START = parse_instant("2026-11-15T10:00:00Z")
EXAMPLE = Path(__file__).parents[2] / "examples/behaviour.yaml"
Story = Callable[[SimulatedCluster, SimulatedApi], Awaitable[None]]


def example() -> Behaviour:
    """The one in the examples."""
    return read_behaviour(read_yaml(EXAMPLE.name, EXAMPLE.read_text()).data)


def live(story: Story, behaviour: Behaviour | None = None, speed: int = 1) -> None:
    """A story in a cluster whose nodes run, in virtual time."""

    async def main(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        api = SimulatedApi("c", clock=clock)
        api.namespaces.add("ns")
        running = asyncio.create_task(Nodes(api, clock, behaviour or example(), speed).run())
        await story(SimulatedCluster(api), api)
        assert not running.done(), running.exception()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    run_virtually(main, START)


def template(tag: str, shard: str = "", **env: str) -> dict[str, Any]:
    """A pod of an integration."""
    variables = {"INTEGRATION_NAME": "terraform-resources", "SHARD_KEY": shard, **env}
    return {
        "spec": {
            "containers": [
                {
                    "name": "int",
                    "image": f"quay.io/app-sre/qontract-reconcile:{tag}",
                    "ports": [{"containerPort": 9090}],
                    "env": [{"name": name, "value": value} for name, value in variables.items()],
                },
                {"name": "fluentd", "image": "quay.io/app-sre/fluentd:1"},
            ]
        }
    }


def document(kind: Any, **spec: Any) -> dict[str, Any]:
    """An object of a kind."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"namespace": "ns", "name": "a"},
        "spec": spec,
    }


def pod(tag: str, shard: str = "", **env: str) -> dict[str, Any]:
    """A pod by itself."""
    return document(POD) | template(tag, shard, **env)


def status(api: SimulatedApi, name: str = "a") -> dict[str, Any]:
    """The state of a pod."""
    found: dict[str, Any] = unflatten(api.records[POD, "ns", name].fields)["status"]
    return found


def test_a_loop_tells_how_its_last_run_ended_and_how_many_there_were() -> None:
    """Under the labels of its shard; ready after 20 s, runs of 40 s, 60 s of sleep."""

    async def story(us: SimulatedCluster, _: SimulatedApi) -> None:
        made = (await us.apply(pod("stable", "app-sre-stage", SLEEP_DURATION_SECS="60"))).object
        await asyncio.sleep(59)
        assert "execution_counter_total{" not in await us.fetch(made, 9090, "/metrics")
        await asyncio.sleep(2)
        labels = 'integration="terraform-resources",shards="1",shard_id="app-sre-stage"'
        numbers = await us.fetch(made, 9090, "metrics")
        for line in (
            f"qontract_reconcile_last_run_status{{{labels}}} 0.0",
            f"qontract_reconcile_last_run_seconds{{{labels}}} 40.0",
            f"qontract_reconcile_execution_counter_total{{{labels}}} 1.0",
        ):
            assert line in numbers.splitlines()
        await asyncio.sleep(100)
        assert f"counter_total{{{labels}}} 2.0" in await us.fetch(made, 9090, "/metrics")

    live(story)


def test_an_image_fails_on_the_shards_and_from_the_run_on_that_are_said() -> None:
    """Elsewhere and before it is well; the log says why."""

    async def story(us: SimulatedCluster, _: SimulatedApi) -> None:
        for name, tag, shard in (
            ("bad", "superdangerous", "app-sre-stage"),
            ("elsewhere", "superdangerous", "ter-int-dev"),
            ("before", "f929a38", "app-sre-stage"),
            ("later", "leaky", "ter-int-dev"),
        ):
            made = pod(tag, shard, SLEEP_DURATION_SECS="60")
            made["metadata"]["name"] = name
            await us.apply(made)

        async def codes(name: str) -> str:
            found = await us.get(POD, "ns", name)
            assert found is not None
            numbers = await us.fetch(found, 9090, "/metrics")
            (line,) = (x for x in numbers.splitlines() if "last_run_status{" in x)
            return line.rpartition(" ")[2]

        await asyncio.sleep(61)
        assert [await codes(x) for x in ("bad", "elsewhere", "before", "later")] == [
            "1.0",
            "0.0",
            "0.0",
            "0.0",
        ]
        await asyncio.sleep(200)
        assert await codes("later") == "1.0"
        (first, why, last) = [line async for line in us.logs("ns", "bad", "int", tail=3)]
        assert first == "[2026-11-15 10:03:40] [INFO] reconciling app-sre-stage"
        assert why.startswith("[2026-11-15 10:03:53] [ERROR] [app-sre-stage] AccessDenied")
        assert "sts:AssumeRole" in why
        assert last.endswith("[ERROR] run 3 of terraform-resources failed")

    live(story)


def test_a_followed_log_ends_with_its_pod() -> None:
    """Each line comes when it is written."""
    told: list[tuple[Instant, str]] = []

    async def story(us: SimulatedCluster, api: SimulatedApi) -> None:
        assert api.clock is not None
        clock = api.clock
        made = (await us.apply(pod("stable", "s", SLEEP_DURATION_SECS="60"))).object
        await asyncio.sleep(15)

        async def follow() -> None:
            async for line in us.logs("ns", "a", "int", follow=True):
                told.append((clock.now(), line))  # noqa: PERF401  its moment counts

        following = asyncio.create_task(follow())
        await asyncio.sleep(150)
        assert await us.delete(made)
        await following
        assert clock.now() <= START + 166 * SECOND
        assert len(told) == 6
        for at, line in told:
            assert line.startswith(f"[{format_second(at)[:10]} {format_second(at)[11:19]}] [INFO]")

    live(story)


def test_a_crash_loop_waits_longer_each_time() -> None:
    """10 s, 20, 40, … between two starts, as on a real node; it is never ready."""
    rows = [
        # Seconds since it was made, restarts, and what it waits for.
        (9, 0, "ContainerCreating"),
        (15, 0, None),
        (25, 0, "CrashLoopBackOff"),
        (35, 1, None),
        (45, 1, "CrashLoopBackOff"),
        (65, 2, None),
        (1005, 7, "CrashLoopBackOff"),
        (10_000, 36, "CrashLoopBackOff"),
    ]

    async def story(us: SimulatedCluster, api: SimulatedApi) -> None:
        await us.apply(pod("crashing"))
        passed = 0
        for at, restarts, waits in rows:
            await asyncio.sleep(at - passed)
            passed = at
            container = status(api)["containerStatuses"][0]
            assert not container["ready"]
            reason = container["state"].get("waiting", {}).get("reason")
            assert (at, container["restartCount"], reason) == (at, restarts, waits)
            if restarts:
                assert container["lastState"]["terminated"]["exitCode"] == 1

    live(story)


def test_everything_is_as_many_times_faster_as_is_asked() -> None:
    """Ready after 20 s is ready after 2 at ten times the speed; what is written is the clock's."""

    async def story(us: SimulatedCluster, api: SimulatedApi) -> None:
        made = (await us.apply(pod("stable", "s", SLEEP_DURATION_SECS="60"))).object
        await asyncio.sleep(1.9)
        assert not status(api)["containerStatuses"][0]["ready"]
        await asyncio.sleep(0.2)
        assert status(api)["containerStatuses"][0]["ready"]
        assert status(api)["conditions"][-1]["lastTransitionTime"] == "2026-11-15T10:00:02Z"
        await asyncio.sleep(4)
        numbers = await us.fetch(made, 9090, "/metrics")
        assert 'shard_id="s"} 40.0' in numbers, "a run takes what it takes by itself"

    live(story, speed=10)


def test_a_cron_job_makes_jobs_when_they_are_due() -> None:
    """And keeps as many as it should; suspended it makes none, deleted it takes them along."""

    async def story(us: SimulatedCluster, api: SimulatedApi) -> None:
        def jobs() -> list[str]:
            return [key[2] for key, _ in api.listed(JOB, "ns")]

        fields: dict[str, Any] = {
            "schedule": "*/10 * * * *",
            "successfulJobsHistoryLimit": 2,
            "jobTemplate": {"spec": {"template": template("stable")}},
        }
        await us.apply(document(CRON_JOB, **fields))
        await asyncio.sleep(599)
        assert jobs() == []
        await asyncio.sleep(2)
        assert len(jobs()) == 1
        await asyncio.sleep(3600)
        assert len(jobs()) == 3, "two that are kept and one that runs"
        found = unflatten(api.records[CRON_JOB, "ns", "a"].fields)["status"]
        assert found["lastScheduleTime"] == "2026-11-15T11:10:00Z"
        assert found["lastSuccessfulTime"] > "2026-11-15T11:00:00Z"
        before = jobs()
        await us.apply(document(CRON_JOB, suspend=True, **fields))
        await asyncio.sleep(3600)
        assert len(jobs()) == 2
        assert set(jobs()) <= set(before)
        made = await us.get(CRON_JOB, "ns", "a")
        assert made is not None
        assert await us.delete(made)
        await asyncio.sleep(60)
        assert jobs() == []
        assert not list(api.listed(POD, "ns"))

    live(story)


def test_a_job_that_fails_is_tried_again_as_often_as_it_may() -> None:
    """A run that is well the third time completes it."""
    behaviour = read_behaviour({"rules": [{"tag": "shaky", "fails": {"from": 1, "until": 3}}]})

    async def story(us: SimulatedCluster, api: SimulatedApi) -> None:
        await us.apply(document(JOB, backoffLimit=3, template=template("shaky")))
        await asyncio.sleep(600)
        found = unflatten(api.records[JOB, "ns", "a"].fields)["status"]
        assert (found["succeeded"], found["failed"]) == (1, 2)
        assert found["conditions"][0]["type"] == "Complete"
        codes = [
            unflatten(record.fields)["status"]["containerStatuses"][0]["state"]["terminated"][
                "exitCode"
            ]
            for _, record in api.listed(POD, "ns")
        ]
        assert sorted(codes) == [0, 1, 1]

    live(story, behaviour)


@pytest.mark.parametrize(
    "text, after, due",
    [
        ("*/20 3-5 * * 1", "2026-11-15T10:00:00Z", "2026-11-16T03:00:00Z"),
        ("*/20 3-5 * * 1", "2026-11-16T03:00:00Z", "2026-11-16T03:20:00Z"),
        ("*/20 3-5 * * mon", "2026-11-16T05:40:00Z", "2026-11-23T03:00:00Z"),
        ("0 0 1 jan *", "2026-11-15T10:00:00Z", "2027-01-01T00:00:00Z"),
        ("@hourly", "2026-11-15T10:00:30Z", "2026-11-15T11:00:00Z"),
        ("5/15 * * * *", "2026-11-15T10:00:00Z", "2026-11-15T10:05:00Z"),
        ("0 12 1 * 0", "2026-11-16T00:00:00Z", "2026-11-22T12:00:00Z"),
        ("0 12 * * 7", "2026-11-16T00:00:00Z", "2026-11-22T12:00:00Z"),
        ("0 0 29 2 *", "2026-11-15T10:00:00Z", "2028-02-29T00:00:00Z"),
    ],
)
def test_a_schedule_says_when_it_is_due_next(text: str, after: str, due: str) -> None:
    """A row each: a schedule, a moment, and the first one after it."""
    found = parse_schedule(text).after(parse_instant(after))
    assert found is not None
    assert format_second(found) == due


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "x * * * *", "5-1 * * * *"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    """Rather than never due."""
    with pytest.raises(ValueError):
        parse_schedule(text)


def test_a_schedule_that_never_comes_is_never_due() -> None:
    """The 30th of February."""
    assert parse_schedule("0 0 30 2 *").after(START) is None


@pytest.mark.parametrize(
    "image, resolved",
    [
        ("r.test/a@sha256:12", "r.test/a@sha256:12"),
        ("r.test/a:1@sha256:12", "r.test/a@sha256:12"),
        ("r.test:5000/a@sha256:12", "r.test:5000/a@sha256:12"),
    ],
)
def test_a_digest_is_what_it_is(image: str, resolved: str) -> None:
    """Whatever tag stands before it."""
    assert image_id(image) == resolved


def test_a_tag_has_always_the_same_digest() -> None:
    """And another one than every other tag."""
    one, again, other = map(image_id, ("r.test:5000/a:1", "r.test:5000/a:1", "r.test:5000/a:2"))
    assert one == again != other
    assert one.startswith("r.test:5000/a@sha256:")
    assert len(one.rpartition(":")[2]) == 64


def test_rules_count_field_by_field_the_later_over_the_earlier() -> None:
    """By tag, integration, shard and cluster."""
    behaviour = read_behaviour(
        {
            "defaults": {"readyAfter": "1s", "takes": "2s"},
            "rules": [
                {"tag": "v2-*", "takes": "3s"},
                {"tag": "v2-*", "shards": ["a", "b*"], "clusters": ["prod-?"], "fails": {}},
                {"tag": "v2-x", "start": "never-ready", "takes": "4s"},
            ],
        }
    )
    assert behaviour.of("v1").takes == 2 * SECOND
    assert behaviour.of("v2-y").takes == 3 * SECOND
    both = behaviour.of("v2-x", "any", "b1", "prod-1")
    assert (both.start, both.takes, both.fails_from) == (ContainerStart.NEVER_READY, 4 * SECOND, 1)
    assert both.ready_after == SECOND
    assert not behaviour.of("v2-x", "any", "b1", "stage-1").fails(1)


def test_a_dry_run_may_be_well_where_the_loop_is_not() -> None:
    """By the workload."""
    found = example()
    rest = "superdangerous", "terraform-resources", "app-sre-stage", "c"
    assert found.of(*rest, ContainerPurpose.LOOP).fails(1)
    assert not found.of(*rest, ContainerPurpose.JOB).fails(1)


def test_every_mistake_in_a_behaviour_is_reported() -> None:
    """All at once, each with its place and what to write."""
    with pytest.raises(UserError) as caught:
        read_behaviour(
            {
                "defaults": {"readyafter": "1s"},
                "rules": [{"start": "crashloop", "takes": 5, "fails": {"from": 0}}],
            }
        )
    texts = "\n".join(problem.text() for problem in caught.value.problems)
    assert 'defaults.readyafter: unknown field; did you mean "readyAfter"?' in texts
    assert 'rules[0].start: "crashloop" is not known here; did you mean "crash-loop"?' in texts
    assert "rules[0].takes: 5: not a text" in texts
    assert "rules[0].fails.from: there is no run 0; count from 1" in texts
