"""A new image rehearsed on a bundle: the real engine, the bundle's own rules, simulated clusters.

Everything runs in this process and in virtual time. The clusters run the bundle as it is for a
while, then the image is declared, and its rollout is simulated to the end.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing

import msgspec

from tidegate.bundle.section import Bundle
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.round import RoundResult
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.kinds.integrations.app.estates import estate_in, with_heads
from tidegate.kinds.integrations.app.life import StagedEstate, with_image
from tidegate.kinds.integrations.core.waves.declaration import declared_of
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.workloads.estate import (
    ManagedPlace,
    Site,
    Unit,
    manifest_of,
    pieces_of,
)
from tidegate.kinds.integrations.core.workloads.live import CONTAINER, pod_of
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.simulated.story import is_news, on_the_way_back
from tidegate.kinds.rollouts.wire.scenario_doc import (
    DEFAULT_START,
    Scenario,
    SimulatedGroup,
)
from tidegate.kubernetes.port import POD
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import Behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.target import State
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.archive_port import Archive

# So long everything has run before the image is declared.
SETTLED = Duration(12 * 3600 * SECOND)
# A rehearsal longer than this does not end by itself.
LASTS_MAX = Duration(14 * 24 * 3600 * SECOND)
SOME_COMMIT = "0" * 40
LOOK_S = 30.0
LEASE_TERM = Duration(3600 * SECOND)
# How much of a log is read for what went wrong.
LINES_READ = 20
_ERROR = "[ERROR]"


async def rehearse(
    loop: VirtualLoop,
    place: ManagedPlace,
    image: str,
    behaviour: Behaviour | None,
    store: Archive,
    on_error: Callable[[Exception], None] = lambda _: None,
    on_look: Callable[[], None] = lambda: None,
) -> tuple[Scenario, list[SimulatedStep]]:
    """What becomes of an image, step by step; the store is empty, and used for this only."""
    rules = place.managed.rollout
    assert rules is not None, "only a place with a rollout is rehearsed"
    return await _Rehearsal(loop, place, rules, image, behaviour, store, on_error, on_look).live()


def starts_at() -> Instant:
    """The virtual moment at which a rehearsal begins."""
    return Instant(DEFAULT_START - SETTLED)


def rehearsed_place(
    bundle: Bundle, integration: str | None, environment: str | None
) -> ManagedPlace:
    """The place of an integration in an environment; UserError says which there are."""
    # Which commit a branch is at makes no difference on a simulated cluster.
    known = with_heads(bundle, lambda _url, _branch: SOME_COMMIT)
    every = [each for each in estate_in(known, Site()).places if each.managed.rollout is not None]
    if not every:
        raise _wrong("no integration has a rollout", "see `tidegate validate`")
    named = [each for each in every if each.integration.name == integration]
    if not named:
        names = sorted({each.integration.name for each in every})
        what = f'no integration "{integration}"' if integration else "--integration is missing"
        errors = f"; {bundle.errors} errors in the bundle, see `tidegate validate`"
        hint = nearest_or_all(integration or "", names) + (errors if bundle.errors else "")
        raise _wrong(what, hint)
    found = [e for e in named if environment in (None, e.managed.namespace.environment)]
    if len(found) != 1:
        names = [each.managed.namespace.environment for each in named]
        hint = f"write --environment: {nearest_or_all(environment or '', names)}"
        raise _wrong(f"{integration} runs in several environments", hint)
    place = found[0]
    # One integration alone: its shards need no more than their own names.
    units = tuple(
        msgspec.structs.replace(unit, name=unit.name.partition("/")[2] or unit.name)
        for unit in place.units
    )
    return msgspec.structs.replace(place, units=units)


def _wrong(what: str, remedy: str) -> UserError:
    return UserError((Problem("", what, remedy),))


class _Rehearsal:
    def __init__(
        self,
        loop: VirtualLoop,
        place: ManagedPlace,
        rules: ImageRules,
        image: str,
        behaviour: Behaviour | None,
        store: Archive,
        on_error: Callable[[Exception], None],
        on_look: Callable[[], None],
    ) -> None:
        self._loop, self._old, self._rules = loop, place, rules
        self._store, self._on_error, self._on_look = store, on_error, on_look
        self._new = with_image(place, image)
        self._clock = VirtualClock(loop)
        namespace = place.managed.namespace
        self._api = SimulatedApi(namespace.cluster, clock=self._clock)
        self._api.namespaces.add(namespace.name)
        self._nodes = Nodes(self._api, self._clock, behaviour)
        self._cluster = SimulatedCluster(self._api)
        self._steps: list[SimulatedStep] = []
        self._said: dict[str, str] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()

    async def live(self) -> tuple[Scenario, list[SimulatedStep]]:
        """From the old image to wherever the new one gets."""
        nodes = asyncio.create_task(self._nodes.run())
        for piece in pieces_of(self._old):
            await self._cluster.apply(manifest_of(piece, Site()))
        await asyncio.sleep(SETTLED / SECOND)
        worker = self._worker()
        working = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(LASTS_MAX / SECOND):
                await self._over.wait()
        except TimeoutError:
            pass
        finally:
            worker.stop()
            await asyncio.gather(working, *self._asking)
            nodes.cancel()
            await asyncio.gather(nodes, return_exceptions=True)
        return self._scenario(), self._stated()

    def _worker(self) -> Worker:
        fleet = IntegrationsFleet(
            StagedEstate(self._new), lambda _: self._cluster, PodRuns(), self._clock, look_s=LOOK_S
        )
        # No other worker is there: the lease need not be renewed between two looks.
        settings = WorkerSettings(
            holder="rehearsal",
            act=("*",),
            lease_term=LEASE_TERM,
            resync_s=LOOK_S,
            discover_s=600,
            listen_s=60,
        )
        executor = Executor(Limits(), Breaker())
        kinds = (RolloutKind(fleet),)
        return Worker(self._store, kinds, self._clock, executor, settings, self._hear)

    def _hear(self, _: str, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self._on_error(outcome)
        if not isinstance(outcome, RoundResult) or outcome.plan is None or outcome.world is None:
            return
        step = SimulatedStep(self._clock.now(), outcome.world, outcome.plan, (), {})
        self._on_look()
        before = self._steps[-1] if self._steps else None
        if before is None or is_news(before, step):
            self._steps.append(step)
            self._listen_to(step)
        if _is_over(step):
            self._over.set()

    def _listen_to(self, step: SimulatedStep) -> None:
        """Keep what failing ones said last, while their pods are there."""
        for target, state in zip(step.world.targets, step.plan.states, strict=True):
            if state is State.SOAKING:
                self._said.setdefault(target.name, f"{self._rules.runs} clean runs")
            elif state is State.FAILED and not self._said.get(target.name, "").startswith("!"):
                self._said[target.name] = f"!{target.detail}"
                task = asyncio.create_task(self._last_words(target.name, target.detail))
                self._asking.add(task)

    async def _last_words(self, name: str, detail: str) -> None:
        unit = self._new.unit(name)
        line = await self._error_of(unit) if unit is not None else ""
        self._said[name] = f"!{detail}: {line}" if line else f"!{detail}"

    async def _error_of(self, unit: Unit) -> str:
        """The first line of the errors its log ends with."""
        namespace = self._new.managed.namespace.name
        read = await self._cluster.read(namespace, [POD])
        names = {shard.workload for shard in unit.shards}
        for each in read.objects:
            if pod_of(each.document).workload not in names:
                continue
            try:
                said = self._cluster.logs(namespace, each.name, CONTAINER, tail=LINES_READ)
                async with aclosing(said):
                    lines = [line async for line in said]
            except OutsideError:
                continue
            errors: list[str] = []
            for line in lines:
                errors = [*errors, line] if _ERROR in line else []
            if errors:
                return errors[0].partition(_ERROR)[2].strip()
        return ""

    def _stated(self) -> list[SimulatedStep]:
        said = {name: text.removeprefix("!") for name, text in self._said.items()}
        return [msgspec.structs.replace(step, said=said) for step in self._steps]

    def _scenario(self) -> Scenario:
        """What the story is about, in the words scenarios have."""
        declared = declared_of(self._new, self._rules, {}, {})
        return Scenario(
            name=self._new.integration.name,
            start=DEFAULT_START,
            revision=self._new.revision,
            last_good=self._old.revision,
            groups=tuple(SimulatedGroup(g.name, g.clusters) for g in declared.groups),
            strategy=self._rules.strategy,
            stop_after=LASTS_MAX,
        )


def _is_over(step: SimulatedStep) -> bool:
    summary = step.plan.summary
    if summary is Summary.SUCCEEDED:
        return True
    stuck = summary in (Summary.FAILED, Summary.ABORTED)
    return stuck and not on_the_way_back(step) and not _busy(step.plan.states)


def _busy(states: Iterable[State]) -> bool:
    return any(state in (State.IN_FLIGHT, State.SOAKING, State.HOLDING) for state in states)
