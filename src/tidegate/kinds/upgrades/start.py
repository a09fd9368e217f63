"""Upgrades, started from settings: the organisations that are served, surveyed by one worker."""

from collections.abc import Sequence

from starlette.routing import Route

from tidegate.engine.started import Started
from tidegate.kinds.upgrades.api.soak import soak_routes
from tidegate.kinds.upgrades.app.owners.soak_address import SoakAddresses
from tidegate.kinds.upgrades.app.soak import published
from tidegate.kinds.upgrades.app.surveys import SurveyChannel, SurveyPace, Surveys
from tidegate.kinds.upgrades.cli.managers import Managers, health_of, service_of
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.health_port import ClusterHealth
from tidegate.kinds.upgrades.kind import UpgradeKind
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.kinds.upgrades.telemetry.observer import UpgradeTelemetry
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND
from tidegate.settings.settings import Settings
from tidegate.store.port import Store

# A new cluster can be given its first label through the service after an hour at most.
UNLABELLED_S = 3600.0


def start(settings: Settings, _seed: int) -> Started | None:
    """The organisations that are served; None: no file says which."""
    if not settings.upgrades:
        return None
    from tidegate.wiring import clock

    service, managers = service_of(settings), Managers()
    health = _health(settings, service)
    alerts = {name: each.alerts for name, each in health.items()}
    pace = SurveyPace(every_s=settings.ocm_every / SECOND, unlabelled_s=UNLABELLED_S)
    surveys = Surveys(_channels(service, managers), clock(), pace, alerts)
    telemetry = UpgradeTelemetry()
    telemetry.serve(service, managers.calls)
    surveys.on_survey = telemetry.on_survey

    async def close() -> None:
        await managers.close()
        for each in health.values():
            await each.close()

    def routes(store: Store) -> Sequence[Route]:
        return soak_routes(published(store, clock()))

    addresses = SoakAddresses({each.name: each.soak_url for each in service.environments})
    kind = UpgradeKind(surveys, addresses=addresses)
    return Started(kind, telemetry, close, (UpgradeRules.word,), routes)


def _channels(service: UpgradeService, managers: Managers) -> tuple[SurveyChannel, ...]:
    found: dict[int, tuple[OcmEnvironment, ManagedClusters, list[Registration]]] = {}
    for each in service.served():
        environment = service.environment(each.environment)
        if environment is None:
            problem = Problem(f"organization {each.id}", f"no environment {each.environment}")
            raise UserError((problem,))
        manager = managers.of(environment, each)
        found.setdefault(id(manager), (environment, manager, []))[2].append(each)
    return tuple(
        SurveyChannel(environment.name, manager, tuple(served))
        for environment, manager, served in found.values()
    )


def _health(settings: Settings, service: UpgradeService) -> dict[str, ClusterHealth]:
    """The source of alerts of clusters, by environment."""
    found = ((each.name, health_of(settings, each)) for each in service.environments)
    return {name: each for name, each in found if each is not None}
