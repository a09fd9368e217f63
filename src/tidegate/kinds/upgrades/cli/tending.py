"""Upgrades for `run` and `serve`: all registered organisations, by one worker."""

import msgspec

from tidegate.engine.acting import Limits
from tidegate.journal.facts import Mode, Outcome
from tidegate.kinds.upgrades.app.acting import Hands, words
from tidegate.kinds.upgrades.app.rounds import UpgradeRound, Upgrades
from tidegate.kinds.upgrades.app.sight import Channel, Pace, Sight
from tidegate.kinds.upgrades.cli.managers import Managers, health_of, service_of
from tidegate.kinds.upgrades.core.service import Environment, Registration, Service
from tidegate.kinds.upgrades.health_port import ClusterHealth
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND, format_age
from tidegate.model.verdict import all_pass
from tidegate.settings.settings import Settings
from tidegate.wiring import clock


class Tended(msgspec.Struct, frozen=True):
    """The kind, and what has to be closed in the end."""

    kind: Upgrades
    sight: Sight
    managers: Managers
    service: Service
    health: tuple[ClusterHealth, ...] = ()

    async def close(self) -> None:
        """Let go of all of it."""
        await self.managers.close()
        for each in self.health:
            await each.close()


def tended_upgrades(settings: Settings) -> Tended | None:
    """Everybody who is served, if the settings say that anybody is; nobody is asked yet."""
    if not settings.upgrades:
        return None
    service, managers = service_of(settings), Managers()
    found: dict[int, tuple[Environment, ManagedClusters, list[Registration]]] = {}
    for each in service.served():
        environment = service.environment(each.environment)
        if environment is None:
            problem = Problem(f"organization {each.id}", f"no environment {each.environment}")
            raise UserError((problem,))
        manager = managers.of(environment, each)
        found.setdefault(id(manager), (environment, manager, []))[2].append(each)
    channels = tuple(
        Channel(environment.name, manager, tuple(served))
        for environment, manager, served in found.values()
    )
    pace = Pace(every_s=settings.ocm_every / SECOND)
    limits = Limits(
        concurrency_max=settings.limits_actions, timeout_s=settings.limits_action_time / SECOND
    )
    health = _health(settings, service)
    alerts = {name: each.alerts for name, each in health.items()}
    sight = Sight(channels, clock(), pace, alerts)
    kind = Upgrades(sight, Hands(limits))
    return Tended(kind, sight, managers, service, tuple(health.values()))


def _health(settings: Settings, service: Service) -> dict[str, ClusterHealth]:
    """Who knows the alerts of clusters, by environment."""
    found = ((each.name, health_of(settings, each)) for each in service.environments)
    return {name: each for name, each in found if each is not None}


def line_of(partition: str, ended: UpgradeRound) -> str:
    """What a round did, on a line; empty: nothing is new."""
    planned, plan = ended.planned, ended.plan
    if planned is None or plan is None or not (planned.changed or planned.tasks):
        return ""
    verb = "" if planned.mode is Mode.ACT else "would "
    failed = {job.key for job, outcome in ended.outcomes if outcome is not Outcome.DONE}
    done = [
        f"{job.name} {words(job)}{' (not done)' if job.key in failed else ''}"
        for job in planned.tasks
    ]
    starts = {each.target for each in plan.options if all_pass(each.verdicts)}
    waits = len({each.target for each in plan.options} - starts)
    left = ""
    if planned.recheck_at is not None:
        left = f", look again in {format_age(planned.recheck_at - planned.now)}"
    return f"{partition}: {verb}{'; '.join(done) or 'start nothing'}; {waits} wait{left}"
