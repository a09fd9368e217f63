"""Checks in virtual time: so many at once, so long each, tried again; and Jobs in their cluster."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from tests.estates import estate, integration, managed
from tidegate.kinds.integrations.app.check.runs import (
    BASE,
    HEAD,
    CheckData,
    CheckLimits,
    CheckResult,
    CheckRuns,
)
from tidegate.kinds.integrations.core.review.affected import (
    Affected,
    Case,
    CheckedSide,
    Input,
    affected_by,
    without_data,
)
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.review.fault import CheckFault
from tidegate.kinds.integrations.core.waves.rehearsal import LINES_MAX
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, MissingError, Tell
from tidegate.kinds.integrations.fleet.dry_jobs import JobRunner
from tidegate.kubernetes.port import JOB, Cluster
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import read_behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.model.errors import OutsideError
from tidegate.model.time import parse_instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually

START = parse_instant("2026-11-15T10:00:00Z")
Script = Callable[[DryRunRequest, Tell], Coroutine[Any, Any, int]]


class Scripted:
    """A runner that does as it is asked, and counts."""

    reads_data = True

    def __init__(self, script: Script) -> None:
        self._script = script
        self.began: list[DryRunRequest] = []
        self.running = self.most = 0

    async def run(self, dry_run: DryRunRequest, said: Tell, noted: Tell) -> int:
        self.began.append(dry_run)
        noted("begun")
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._script(dry_run, said)
        finally:
            self.running -= 1

    async def close(self) -> None:
        pass


def _affected(
    old: str = "aaaaaaa", new: str = "bbbbbbb", accounts: Iterable[str] = ("one", "two", "three")
) -> Affected:
    base = estate(integration("tf", managed(old, accounts=True)), accounts=accounts)
    head = estate(integration("tf", managed(new, accounts=True)), accounts=accounts)
    return affected_by(_view(base), _view(head), effects_of(base, head), {})


def _view(estate: Estate) -> CheckedSide:
    return CheckedSide(
        estate=estate, integrations=tuple(place.integration for place in estate.places)
    )


def _checked(
    script: Script, cases: Iterable[Case] | None = None, **limits: Any
) -> tuple[dict[str, CheckResult], Scripted, list[tuple[str, str, str]]]:
    runner = Scripted(script)
    log: list[tuple[str, str, str]] = []
    told: list[CheckResult] = []

    async def main(_: VirtualLoop) -> None:
        checking = CheckRuns(
            runner,
            CheckLimits(**limits),
            CheckData("/base", "/head"),
            lambda case, side, line: log.append((case.shard, side, line)),
            told.append,
            key="k",
        )
        results = await checking.all(_affected().cases if cases is None else cases)
        assert sorted(told, key=lambda each: each.case.shard) == sorted(
            results, key=lambda each: each.case.shard
        )

    run_virtually(main, START)
    return {each.case.shard: each for each in told}, runner, log


async def _fine(dry_run: DryRunRequest, said: Tell) -> int:
    await asyncio.sleep(10)
    said(f"[2026-11-15 10:00:0{len(dry_run.key) % 9}] done with {dry_run.input.revision}")
    return 0


def test_no_more_run_at_once_than_may_and_each_case_runs_on_both_sides() -> None:
    results, runner, log = _checked(_fine, parallel=2)
    assert runner.most == 2
    assert len(runner.began) == len({each.key for each in runner.began}) == 6
    assert {each.judgement.fault for each in results.values()} == {CheckFault.OK}
    # What a shard says of its own image is no difference.
    assert {each.judgement.difference.count for each in results.values()} == {0}
    assert ("tf/one", BASE, "begun") in log
    assert [line for shard, side, line in log if (shard, side) == ("tf/one", HEAD)][-1].endswith(
        "done with bbbbbbb"
    )


def test_two_images_run_on_the_same_data_and_one_image_on_both() -> None:
    _, runner, _ = _checked(_fine)
    assert {(each.input.revision, each.data) for each in runner.began} == {
        ("aaaaaaa", "/head"),
        ("bbbbbbb", "/head"),
    }
    same = _affected(new="aaaaaaa")
    assert same == Affected()
    base = estate(integration("tf", managed()))
    more = estate(integration("tf", managed(extraArgs="--x")))
    found = affected_by(_view(base), _view(more), effects_of(base, more), {})
    _, runner, _ = _checked(_fine, found.cases)
    assert {each.data for each in runner.began} == {"/base", "/head"}


def test_what_takes_too_long_is_ended_and_tried_again() -> None:
    async def slow(dry_run: DryRunRequest, said: Tell) -> int:
        said("begun")
        await asyncio.sleep(1000 if dry_run.input.revision == "bbbbbbb" else 1)
        return 0

    results, runner, log = _checked(slow, time_s=60.0, retries=2)
    assert runner.running == 0
    assert {len(each.head) for each in results.values()} == {3}
    assert {each.judgement.fault for each in results.values()} == {CheckFault.CHANGE}
    assert ("tf/one", HEAD, "# not done after 60 s; once more") in log


def test_what_works_the_second_time_is_a_flake_and_is_not_tried_a_third_time() -> None:
    tries: dict[str, int] = {}

    async def flaky(dry_run: DryRunRequest, said: Tell) -> int:
        name = f"{dry_run.shard} {dry_run.input.revision}"
        tries[name] = tries.get(name, 0) + 1
        said("x")
        return 1 if name == "tf/two bbbbbbb" and tries[name] == 1 else 0

    results, _, _ = _checked(flaky, retries=3)
    assert results["tf/two"].judgement.fault is CheckFault.FLAKE
    assert results["tf/one"].judgement.fault is CheckFault.OK
    assert tries == {
        f"tf/{shard} {image}": 2 if (shard, image) == ("two", "bbbbbbb") else 1
        for shard in ("one", "two", "three")
        for image in ("aaaaaaa", "bbbbbbb")
    }


@pytest.mark.parametrize(
    "error, fault, tries",
    [
        (OutsideError("no image"), CheckFault.OUTSIDE, 2),
        (MissingError("no docker"), CheckFault.OURS, 1),
    ],
)
def test_what_cannot_be_run_is_not_the_change(
    error: Exception, fault: CheckFault, tries: int
) -> None:
    async def broken(dry_run: DryRunRequest, said: Tell) -> int:
        raise error

    results, _, _ = _checked(broken)
    assert {each.judgement.fault for each in results.values()} == {fault}
    assert {len(each.head) for each in results.values()} == {tries}


def test_a_flood_is_kept_up_to_a_bound_and_the_rest_is_counted() -> None:
    async def flood(_: DryRunRequest, said: Tell) -> int:
        for number in range(LINES_MAX + 5):
            said(str(number))
        return 0

    results, _, log = _checked(flood, _affected(accounts=("one",)).cases)
    assert len(results["tf/one"].head[0].lines) == LINES_MAX
    assert ("tf/one", HEAD, "# 5 more lines are not kept") in log


def test_a_cancelled_check_leaves_nothing_running() -> None:
    async def forever(_: DryRunRequest, said: Tell) -> int:
        await asyncio.sleep(10**6)
        return 0

    runner = Scripted(forever)

    async def main(_: VirtualLoop) -> None:
        checking = CheckRuns(runner, CheckLimits(), CheckData(), lambda *_: None, lambda _: None)
        task = asyncio.create_task(checking.all(_affected().cases))
        await asyncio.sleep(5)
        assert runner.running == 4
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert runner.running == 0

    run_virtually(main, START)


BEHAVIOUR = {
    "defaults": {"readyAfter": "2s", "takes": "30s", "log": ["reconciling {shard}"]},
    "rules": [
        {"tag": "bbbbbbb", "log": ["reconciling {shard}", "a new word about {shard}"]},
        {"tag": "bbbbbbb", "shards": ["two"], "fails": {"from": 1, "exit": 3, "log": ["boom"]}},
        {"tag": "bbbbbbb", "shards": ["three"], "takes": "1h"},
    ],
}


def test_jobs_run_where_the_shards_do_and_are_gone_afterwards() -> None:
    """One says more, one fails, one takes too long; with the old image all are well."""
    results: list[CheckResult] = []

    async def main(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        api = SimulatedApi("c1", clock=clock)
        api.namespaces.add("ns")
        nodes = asyncio.create_task(Nodes(api, clock, read_behaviour(BEHAVIOUR), 1).run())
        cluster = SimulatedCluster(api)
        seen: set[str] = set()

        async def watch() -> None:
            while True:
                reading = await cluster.read("ns", [JOB])
                seen.update(each.name for each in reading.objects)
                await asyncio.sleep(1)

        watching = asyncio.create_task(watch())
        runner = JobRunner({"c1": cluster}.__getitem__)
        checking = CheckRuns(
            runner,
            CheckLimits(time_s=300.0, retries=0),
            CheckData(),
            lambda *_: None,
            lambda _: None,
        )
        results.extend(await checking.all(_affected().cases))
        await runner.close()
        assert len(seen) == 6
        assert (await cluster.read("ns", [JOB])).objects == ()
        for task in (nodes, watching):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run_virtually(main, START)
    told = {each.case.shard: each for each in results}
    assert told["tf/one"].judgement.fault is CheckFault.OK
    assert told["tf/one"].judgement.difference.added == ("[INFO] a new word about one",)
    assert told["tf/two"].judgement.words == "exit code 3; without the change it works"
    assert told["tf/three"].judgement.words == "not done after 300 s; without the change it works"


def test_no_job_stands_for_what_runs_nowhere() -> None:
    case = _affected().cases[0]
    runs_nowhere = DryRunRequest(integration="x", shard="x", input=_unmanaged(case))

    async def main(_: VirtualLoop) -> None:
        with pytest.raises(OutsideError, match="x runs on no cluster"):
            await JobRunner(dict[str, Cluster]().__getitem__).run(runs_nowhere, print, print)

    run_virtually(main, START)


def test_a_runner_with_data_of_its_own_is_not_asked_about_others() -> None:
    moved = _affected(accounts=("one",))
    (case,) = moved.cases
    data = msgspec.structs.replace(case, differs=False)
    assert without_data(moved) == moved
    left = without_data(Affected((case, data)))
    assert left.cases == (case,)
    assert [each.why for each in left.skipped] == [
        "only its data changed, and a Job reads those that are live"
    ]


def _unmanaged(case: Case) -> Input:
    return msgspec.structs.replace(case.head, piece=None)
