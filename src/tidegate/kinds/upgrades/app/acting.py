"""Asking OpenShift Cluster Manager for what was decided: what is taken back first, then the rest.

Right before each request the lease is still ours and nothing brakes the cluster; else it is
dropped, which is an outcome too. Nothing that went wrong is tried again from here: the next look
shows what is there, and it is decided anew.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from tidegate.engine.acting import ACTOR, Limits
from tidegate.engine.desk import AnyDesk
from tidegate.engine.together import Together
from tidegate.explain.sentence import sentence
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import Coverages
from tidegate.journal.chain import Note
from tidegate.journal.facts import Acted, Outcome
from tidegate.kinds.upgrades.core.journal.facts import Job
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.rules.braking import HOLDS
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.step import Doing
from tidegate.kinds.upgrades.core.world import Cluster
from tidegate.kinds.upgrades.ocm.port import (
    UNAUTHORIZED,
    ManagedClusters,
    RefusedError,
    Upgradable,
)
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, format_second
from tidegate.store.port import Lease

UpgradeDesk = AnyDesk[UpgradeState]

_TAKEN_BACK = (Doing.CANCEL, Doing.CANCEL_ADDON)
# Why each job is not carried out after all; empty: it is.
_Check = Together[Job, str]


class Hands:
    """Asks for what was decided, few things at a time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._slots = asyncio.Semaphore(self._limits.concurrency_max)
        self.stopping = False

    async def carry_out(
        self, desk: UpgradeDesk, manager: ManagedClusters, clock: Clock, lease: Lease
    ) -> list[tuple[Job, Outcome]]:
        """Ask for all that is decided and has no outcome; what came of each."""
        check = Together(partial(_refusals, desk, lease, clock))
        write = Together(partial(_write, desk, lease))
        jobs = list(desk.state.jobs.values())
        found: list[tuple[Job, Outcome]] = []
        for some in _in_turn(jobs):
            ones = (self._one(desk, manager, clock, lease, job, check, write) for job in some)
            # All of them end before the round does, whatever becomes of one: none acts unseen.
            outcomes = await asyncio.gather(*ones, return_exceptions=True)
            for job, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    raise outcome
                if outcome is not None:
                    found.append((job, outcome))
        return found

    async def _one(
        self,
        desk: UpgradeDesk,
        manager: ManagedClusters,
        clock: Clock,
        lease: Lease,
        job: Job,
        check: _Check,
        write: Together[Note, None],
    ) -> Outcome | None:
        async with self._slots:
            if self.stopping or clock.now() >= lease.until:
                return None  # whoever leads next looks, and decides anew
            cluster = desk.state.clusters.get(job.target)
            why = "it is gone" if cluster is None else await check(job)
            left = Duration(lease.until - clock.now())
            if left <= 0:
                return None
            outcome, detail, refused = Outcome.DROPPED, why, False
            if cluster is not None and not why:
                outcome, detail, refused = await self._try(manager, cluster, job, left)
            fact = Acted(
                key=job.key, target=job.name, outcome=outcome, detail=detail, refused=refused
            )
            await write(Note(clock.now(), ACTOR, fact))
            return outcome

    async def _try(
        self, manager: ManagedClusters, cluster: Cluster, job: Job, left: Duration
    ) -> tuple[Outcome, str, bool]:
        try:
            async with asyncio.timeout(min(self._limits.timeout_s, left / SECOND)):
                await ask(manager, cluster, job)
        except RefusedError as error:  # of whom nobody knows, nothing was refused in particular
            return Outcome.FAILED, str(error), error.status != UNAUTHORIZED
        except (OutsideError, TimeoutError, OSError) as error:
            return Outcome.FAILED, str(error) or "no answer in time", False
        return Outcome.DONE, words(job), False


def _in_turn(jobs: list[Job]) -> list[list[Job]]:
    first = [job for job in jobs if job.change.doing in _TAKEN_BACK]
    return [some for some in (first, [job for job in jobs if job not in first]) if some]


async def ask(manager: ManagedClusters, cluster: Cluster, job: Job) -> None:
    """Ask for one thing."""
    step, ident = job.change, cluster.ident
    of = Upgradable(ident, cluster.is_hosted, step.pool)
    if step.doing is Doing.AGREE:
        await manager.agree(ident, step.ident)
    elif step.doing is Doing.CHANNEL:
        await manager.switch_channel(ident, step.revision or "")
    elif step.doing is Doing.CANCEL:
        await manager.delete_policy(of, step.ident)
    elif step.doing is Doing.CANCEL_ADDON:
        await manager.delete_addon_plan(ident, step.ident)
    elif step.starts_at is not None and step.doing is Doing.ADDON:
        when = format_second(step.starts_at)
        await manager.create_addon_plan(ident, step.addon, step.revision or "", when)
    elif step.starts_at is not None:
        await manager.create_policy(of, step.revision or "", format_second(step.starts_at))


def words(job: Job) -> str:
    """What was done, for the journal."""
    step = job.change
    part = f" of pool {step.pool}" if step.pool else ""
    part = f" of add-on {step.addon}" if step.addon else part
    starts = f" at {format_second(step.starts_at)}" if step.starts_at is not None else ""
    return f"{step.doing.value} {step.revision or step.ident}{part}{starts}"


def _refusals(desk: UpgradeDesk, lease: Lease, clock: Clock, jobs: list[Job]) -> list[str]:
    """Why each job is not carried out after all, as of this very moment; empty if it is.

    StaleError if the lease was lost: then nothing is, and nothing is written either.
    """
    desk.confirm(lease.token)
    shut = _shutting(desk, clock)
    return [_unwanted(desk.state, job) or shut(job) for job in jobs]


def _unwanted(state: UpgradeState, job: Job) -> str:
    return "" if job.key in state.jobs else "another decision took its place"


def _shutting(desk: UpgradeDesk, clock: Clock) -> Callable[[Job], str]:
    now, state = clock.now(), desk.state
    brakes = desk.book.brakes_for(desk.partition, now)
    org = state.org
    named = {
        each.name: brake_labels(org, each) for each in state.clusters.values() if org is not None
    }
    coverages = Coverages(brakes, named)

    def shut(job: Job) -> str:
        if job.change.doing in _TAKEN_BACK:
            return ""  # to take something back is never too soon
        name = job.change.revision
        if job.change.addon:
            name = f"{job.change.addon}/{name}"
        question = Ask(purpose=Purpose.ROLL_OUT, now=now, revision=name, need=Duration(0))
        found = shut_now(coverages.of(state.clusters[job.target].name), question)
        if found is None or (job.change.doing is Doing.AGREE and found.gate not in HOLDS):
            return ""
        return sentence(found)

    return shut


def _write(desk: UpgradeDesk, lease: Lease, notes: list[Note]) -> list[None]:
    desk.write(notes, token=lease.token)
    return [None] * len(notes)
