"""What runs of loops and jobs show of an image: clean ones in a row, and nothing of another."""

from typing import Any

import pytest

from tests.estates import REPOSITORY, estate, integration, managed
from tidegate.kinds.integrations.core.review.proof import Proof
from tidegate.kinds.integrations.core.sharding.inventory import ShardRow
from tidegate.kinds.integrations.core.waves.execution import ShardExecution, executed, tried
from tidegate.kinds.integrations.core.waves.trial import ShardRun, Trial
from tidegate.kinds.integrations.core.workloads.live import Pod, pod_of

NEW, OLD = f"{REPOSITORY}:new", f"{REPOSITORY}:old"
UNIT = estate(integration("dns", managed("new"))).places[0].units[0]
NAME = UNIT.shards[0].workload
Reading = tuple[Pod, ShardRun | None]


def pod(uid: str = "a", image: str = NEW, **more: Any) -> Pod:
    """One that runs."""
    return Pod(uid=uid, name=uid, workload=NAME, image=image, **{"ready": True} | more)


def job(uid: str, at: int, **more: Any) -> Pod:
    """One that ended."""
    return pod(uid, **{"over": True, "ended_at": at, "ready": False} | more)


def row(kind: str = "Deployment") -> ShardRow:
    """The shard in the inventory."""
    return ShardRow(
        shard=UNIT.name,
        integration="dns",
        environment="stage",
        cluster="c",
        namespace="ns",
        kind=kind,
        wants="new",
    )


def told(readings: list[Reading]) -> ShardExecution:
    """What is said of a loop after some readings; three clean runs are asked for."""
    trial, last = Trial(), pod()
    for last, run in readings:
        runs = {} if run is None else {last.uid: run}
        trial = tried(trial, "Deployment", NEW, [last], runs, needed=3)
    return executed(UNIT, Proof(row=row()), NEW, {NAME: trial}, {NAME: [last]}, needed=3)


@pytest.mark.parametrize(
    "readings, clean, failing, unread",
    [
        # Met in the middle of its life, its last run good: nothing is tried again for our sake.
        ([(pod(), ShardRun(40, 0))], 3, "", False),
        ([(pod(), ShardRun(2, 0))], 2, "", False),
        # Of the runs between two readings only the last one was seen.
        ([(pod(), ShardRun(0, 0)), (pod(), ShardRun(5, 0))], 1, "", False),
        ([(pod(), ShardRun(0, 0))], 0, "", False),
        ([(pod(), ShardRun(40, 1))], 0, "its last run failed", False),
        ([(pod(), ShardRun(4, 1)), (pod(), ShardRun(5, 1))], 0, "its last 2 runs failed", False),
        ([(pod(), ShardRun(4, 1)), (pod(), ShardRun(5, 0))], 1, "", False),
        # No answer now: what was answered of the same image stands. None at all: not known.
        ([(pod(), ShardRun(40, 0)), (pod(), None)], 3, "", False),
        ([(pod(), None)], 0, "", True),
        # A container that was started again counts from nothing.
        ([(pod(), ShardRun(40, 0)), (pod(restarts=1), ShardRun(1, 1))], 0,
         "its last run failed", False),
        # Another image, a pod that ends or is not ready: none of theirs counts.
        ([(pod(image=OLD), ShardRun(40, 0))], 0, "", True),
        ([(pod(ending=True), ShardRun(40, 0))], 0, "", True),
        ([(pod(ready=False), ShardRun(40, 0))], 0, "", True),
        ([(pod(ready=False, waiting="CrashLoopBackOff", restarts=7), None)], 0,
         "7 restarts (CrashLoopBackOff)", False),
    ],
)  # fmt: skip
def test_clean_runs_of_a_loop(
    readings: list[Reading], clean: int, failing: str, unread: bool
) -> None:
    """In a row, of the image that is promised."""
    found = told(readings)
    assert (found.clean, found.failing, bool(found.unread)) == (clean, failing, unread)


@pytest.mark.parametrize(
    "jobs, clean, failing",
    [
        ([], 0, ""),
        ([job("1", 10), job("2", 20)], 2, ""),
        ([job("2", 20), job("1", 10, failed=True)], 1, ""),
        ([job("1", 10), job("2", 20, failed=True)], 0, "its last run failed"),
        # It took a second attempt: that run was not clean.
        ([job("1", 10), job("2", 20, restarts=1)], 0, "its last run failed"),
        ([job("1", 10, image=OLD), job("2", 20)], 1, ""),
        ([job("1", 10), pod("2")], 1, ""),
        ([job(str(each), each) for each in range(1, 9)], 3, ""),
    ],
)
def test_clean_runs_of_jobs(jobs: list[Pod], clean: int, failing: str) -> None:
    """Each job is a run, in the order in which they ended; read twice, none counts twice."""
    trial = Trial()
    for _ in range(2):
        trial = tried(trial, "CronJob", NEW, jobs, {}, needed=3)
    proof = Proof(row=row("CronJob"))
    found = executed(UNIT, proof, NEW, {NAME: trial}, {NAME: jobs}, needed=3)
    assert (found.clean, found.failing, found.unread) == (clean, failing, "")


def test_a_shard_that_runs_something_else_or_was_not_read_shows_nothing() -> None:
    """However good its runs were before."""
    trials = {NAME: Trial(good=9, pod="a/0", passed=True)}
    other = executed(UNIT, Proof(row=row(), why="no"), NEW, trials, {}, needed=3)
    assert (other.clean, other.unread) == (0, "")
    unread = executed(UNIT, Proof(row=row(), read=False), NEW, trials, {}, needed=3)
    assert (unread.clean, unread.unread) == (0, "it was not read")


def test_a_pod_that_ended_says_when_and_how() -> None:
    """As a node reports it."""
    ended = {"terminated": {"finishedAt": "2026-11-01T00:00:00Z", "exitCode": 1}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "int", "state": ended}]}
    found = pod_of({"metadata": {}, "spec": {}, "status": status})
    assert (found.over, found.failed) == (True, True)
    assert found.ended_at is not None
    assert not pod_of({"status": {"phase": "Succeeded"}}).failed
