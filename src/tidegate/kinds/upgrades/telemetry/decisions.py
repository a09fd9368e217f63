"""From a round of upgrades to the lines about it: one for every cluster whose decision changed."""

from collections.abc import Iterator
from typing import Any

from tidegate.explain.sentence import sentence
from tidegate.journal.facts import Mode
from tidegate.kinds.upgrades.core.explain.phase import phase_of
from tidegate.kinds.upgrades.core.explain.summary import cluster_summaries
from tidegate.kinds.upgrades.core.journal.facts import Job, Planned
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.telemetry.log import Record
from tidegate.telemetry.verdict_keys import why_not


def upgrade_records(partition: str, planned: Planned, plan: UpgradePlan) -> Iterator[Record]:
    """The lines of one round: what is asked for, and what each of the others waits for."""
    jobs: dict[str, list[Job]] = {}
    for job in planned.tasks:
        jobs.setdefault(job.target, []).append(job)
    changed = {each.target for each in planned.changed}
    if planned.mode is Mode.ACT:
        changed |= jobs.keys()
    for stand in cluster_summaries(plan):
        cluster = stand.member.cluster
        if cluster.uuid not in changed:
            continue
        keys: dict[str, Any] = {"rollout": partition, "target": stand.member.called}
        keys |= {"what": "decision", "at": planned.now}
        for job in jobs.get(cluster.uuid, ()):
            yield "info", _does(planned.mode, job), keys | {"action": job.change.doing.value}
        # A cluster that is put on another channel still waits for its next version.
        _, held = phase_of(stand)
        if held is not None:
            version = {"version": stand.next} if stand.next else {}
            yield "info", sentence(held), keys | version | why_not(held)


def _does(mode: Mode, job: Job) -> str:
    would = "would " if mode is Mode.OBSERVE else ""
    pool = f" of pool {job.change.pool}" if job.change.pool else ""
    return f"{would}{job.change.doing.value} {job.change.revision or job.change.ident}{pool}"
