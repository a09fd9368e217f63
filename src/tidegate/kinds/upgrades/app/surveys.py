"""Surveys of OpenShift Cluster Manager: environments side by side, for all organisations of each.

Surveys run beside the rounds, so that a slow environment delays no lease. Only organisations that
this worker leads are surveyed; a round is called for as soon as there is something new.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.app.read.organisations import AskAlerts, publishing, read_organisations
from tidegate.kinds.upgrades.app.read.unlabelled_clusters import unlabelled_clusters
from tidegate.kinds.upgrades.core.schedule.schedule import notice_lead
from tidegate.kinds.upgrades.core.service import PARTITION, Registration
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.kinds.upgrades.ocm.port import ManagedClusters, OcmRefusedError
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant

# Organisations that are asked for within this time are surveyed together.
SETTLE_S = 0.2


class OrganisationReading(msgspec.Struct, frozen=True):
    """One organisation as it was read, and when."""

    partition: str
    began_at: Instant
    ended_at: Instant
    # Of this organisation alone; the others are those it inherits from.
    world: UpgradeWorld
    took_s: float
    # Its clusters without labels; None: they were not read this time.
    unlabelled: tuple[ManagedCluster, ...] | None = None


class SurveyChannel(msgspec.Struct, frozen=True):
    """One connection to an OpenShift Cluster Manager, and the organisations it is used for."""

    environment: str
    manager: ManagedClusters
    served: tuple[Registration, ...]


class SurveyReport(msgspec.Struct, frozen=True):
    """An environment was read, or could not be: for numbers and logs."""

    environment: str
    at: Instant
    took_s: float
    # Documents that could not be read, by their kind.
    set_aside: Mapping[str, int] = {}
    # None: it was read.
    error: OutsideError | None = None


# A survey that was made does not wait longer for clusters of which nothing is decided.
UNLABELLED_TIMEOUT_S = 20.0


class SurveyPace(msgspec.Struct, frozen=True):
    """How often to survey, how long it may take, and how long to wait after a failure."""

    every_s: float = 600.0
    timeout_s: float = 300.0
    rest_s: float = 30.0
    # How often clusters without labels are read; 0: never.
    unlabelled_s: float = 0.0


class Surveys:
    """What was last read of every organisation."""

    def __init__(
        self,
        channels: tuple[SurveyChannel, ...],
        clock: Clock,
        pace: SurveyPace | None = None,
        alerts: Mapping[str, AskAlerts] | None = None,
    ) -> None:
        self._channels = channels
        self._clock = clock
        self._pace = pace or SurveyPace()
        # By environment.
        self._alerts = alerts or {}
        self._readings: dict[str, OrganisationReading] = {}
        self._errors: dict[str, OutsideError] = {}
        # When clusters without labels were last read, by partition.
        self._unlabelled_at: dict[str, float] = {}
        # Organisations that are led here.
        self._wanted: set[str] = set()
        self._asked = {id(each): asyncio.Event() for each in channels}
        self._news: asyncio.Queue[str] = asyncio.Queue()
        self._timers: dict[str, list[asyncio.TimerHandle]] = {}
        # Called whenever an environment was read, or could not be.
        self.on_survey: Callable[[SurveyReport], None] = lambda _report: None
        self.served = {each.partition: each for one in channels for each in one.served}

    def manager_of(self, partition: str) -> ManagedClusters:
        """The OpenShift Cluster Manager of an organisation."""
        return self._channel_of(partition).manager

    def reading(self, partition: str) -> OrganisationReading | None:
        """What was last read of an organisation; None: nothing yet, but it is on its way.

        OutsideError if it cannot be read.
        """
        if partition not in self._wanted:
            self._wanted.add(partition)
            self.ask(partition)
        if (error := self._errors.get(partition)) is not None:
            raise error.with_traceback(None)
        return self._readings.get(partition)

    def ask(self, partition: str) -> None:
        """OrganisationReading again soon."""
        self._asked[id(self._channel_of(partition))].set()

    def look_at(self, partition: str, moments: Iterable[Instant]) -> None:
        """Survey again at some moments, in place of those that were named before."""
        loop, now = asyncio.get_running_loop(), self._clock.now()
        for each in self._timers.pop(partition, ()):
            each.cancel()
        self._timers[partition] = [
            loop.call_later((moment - now) / SECOND, self.ask, partition)
            for moment in sorted(set(moments))
            if moment > now
        ]

    def forget(self, partition: str) -> None:
        """Another worker leads it."""
        self.look_at(partition, ())
        self._wanted.discard(partition)
        self._readings.pop(partition, None)
        self._errors.pop(partition, None)

    async def changes(self) -> AsyncIterator[str]:
        """Organisations that were surveyed, as it happens."""
        tasks = [
            asyncio.create_task(self._watch(each), name=f"{PARTITION}/{each.environment}")
            for each in self._channels
        ]
        try:
            while True:
                yield await self._news.get()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _channel_of(self, partition: str) -> SurveyChannel:
        return next(
            one for one in self._channels if any(r.partition == partition for r in one.served)
        )

    async def _watch(self, channel: SurveyChannel) -> None:
        asked = self._asked[id(channel)]
        pause = self._pace.rest_s
        while True:
            try:
                async with asyncio.timeout(pause):
                    await asked.wait()
                await asyncio.sleep(SETTLE_S)  # others may be asked for at the same moment
            except TimeoutError:
                pass
            asked.clear()
            wanted = self._led(channel)
            pause = self._pace.every_s
            if wanted and not await self._survey(channel, wanted):
                pause = min(self._pace.rest_s, pause)

    def _led(self, channel: SurveyChannel) -> tuple[Registration, ...]:
        return tuple(each for each in channel.served if each.partition in self._wanted)

    async def _survey(self, channel: SurveyChannel, wanted: tuple[Registration, ...]) -> bool:
        """Read some organisations; whether they could be read."""
        began_at, loop = self._clock.now(), asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._pace.timeout_s):
                looked, excluded = await self._read(channel, wanted, began_at)
        except (OutsideError, TimeoutError, OSError) as error:
            told = _told(channel.environment, error, self._pace.timeout_s)
            self._report(channel, began, error=told)
            for each in wanted:
                self._errors[each.partition] = told
                self._news.put_nowait(each.partition)
            return False
        self._report(channel, began, set_aside=excluded)
        ended_at, took_s = self._clock.now(), loop.time() - began
        unlabelled = await self._unlabelled(channel, wanted, looked)
        for each, world in zip(wanted, looked, strict=True):
            self._errors.pop(each.partition, None)
            self._readings[each.partition] = OrganisationReading(
                each.partition, began_at, ended_at, world, took_s, unlabelled.get(each.id)
            )
            self._news.put_nowait(each.partition)
        return True

    async def _unlabelled(
        self,
        channel: SurveyChannel,
        wanted: tuple[Registration, ...],
        looked: tuple[UpgradeWorld, ...],
    ) -> dict[str, tuple[ManagedCluster, ...]]:
        """Clusters without labels of organisations that are due.

        Nothing is decided about them: where they cannot be read, the survey counts without them,
        and a later one asks again.
        """
        every, now = self._pace.unlabelled_s, asyncio.get_running_loop().time()
        last = self._unlabelled_at
        due = [e for e in wanted if every and now - last.get(e.partition, now - every) >= every]
        if not due:
            return {}
        labelled = {each.subscribed_as for world in looked for each in world.clusters}
        orgs = [each.id for each in due]
        try:
            async with asyncio.timeout(UNLABELLED_TIMEOUT_S):
                found = await unlabelled_clusters(channel.manager, orgs, labelled)
        except (OutsideError, TimeoutError, OSError):
            # A quarter of the time later, so that few surveys wait for lists that hang.
            last |= {each.partition: now - every * 3 / 4 for each in due}
            return {}
        last |= {each.partition: now for each in due}
        return {org: tuple(each for each in found if each.org == org) for org in orgs}

    def _report(self, channel: SurveyChannel, began: float, **more: Any) -> None:
        took_s = asyncio.get_running_loop().time() - began
        self.on_survey(SurveyReport(channel.environment, self._clock.now(), took_s, **more))

    async def _read(
        self, channel: SurveyChannel, wanted: tuple[Registration, ...], now: Instant
    ) -> tuple[tuple[UpgradeWorld, ...], dict[str, int]]:
        """The world of each organisation by itself, and how much could not be read, by kind."""
        ways = {each.environment: each.manager for each in self._channels}
        ask = self._alerts.get(channel.environment)
        read = await read_organisations(channel.manager, wanted, now, publishing(ways), ask)
        lead = notice_lead(Duration(round(self._pace.every_s * SECOND)))
        worlds = (
            _with_lead(world, lead) if each.notice else world
            for each, world in zip(wanted, read.worlds, strict=True)
        )
        return tuple(worlds), dict(Counter(each.kind for each in read.unreadable))


def _with_lead(world: UpgradeWorld, lead: Duration) -> UpgradeWorld:
    """The world of an organisation whose owners can stop an upgrade that they are notified of."""
    org = msgspec.structs.replace(world.orgs[0], notice_lead=lead)
    return msgspec.structs.replace(world, orgs=(org, *world.orgs[1:]))


def _told(environment: str, error: Exception, timeout_s: float) -> OutsideError:
    """The error with where it happened; what was refused stays refused."""
    text = f"{environment} cannot be read: {str(error) or f'no answer within {timeout_s:.0f} s'}"
    if isinstance(error, OcmRefusedError):
        return OcmRefusedError(text, error.status, error.code, error.reason)
    return OutsideError(text)
