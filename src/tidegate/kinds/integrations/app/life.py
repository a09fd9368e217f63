"""A place of a bundle that goes on: shards run on a simulated cluster, images come one by one."""

import asyncio
from collections.abc import Sequence

import msgspec

from tidegate.engine.started import Living
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Site,
    manifest_of,
    pieces_of,
)
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.rollouts.start import started
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import Behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.machine.clock import Clock


class StagedEstate:
    """An estate of one place, whose image can be declared anew."""

    def __init__(self, place: ManagedPlace) -> None:
        self.place = place

    async def read(self) -> Estate:
        """Everything there is."""
        return Estate((self.place,))

    def declare(self, image: str) -> None:
        """Another image."""
        self.place = with_image(self.place, image)


def with_image(place: ManagedPlace, image: str) -> ManagedPlace:
    """A place as it is with another image."""
    spec = {**place.managed.spec, "imageRef": image}
    managed = msgspec.structs.replace(place.managed, spec=spec)
    return msgspec.structs.replace(place, managed=managed)


def living_place(
    place: ManagedPlace,
    images: Sequence[str],
    every_s: float,
    behaviour: Behaviour | None,
    clock: Clock,
    look_s: float,
) -> Living:
    """The shards of a place; one of the images is declared every so often, over and over."""
    namespace, estate = place.managed.namespace, StagedEstate(place)
    api = SimulatedApi(namespace.cluster, clock=clock)
    api.namespaces.add(namespace.name)
    cluster = SimulatedCluster(api)

    async def set_up() -> None:
        for piece in pieces_of(place):
            await cluster.apply(manifest_of(piece, Site()))

    async def declare() -> None:
        while True:
            for image in images:
                await asyncio.sleep(every_s)
                estate.declare(image)

    async def live() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(Nodes(api, clock, behaviour).run())
            group.create_task(declare())

    fleet = IntegrationsFleet(
        estate, lambda _: cluster, PodRuns(), clock, fresh_s=look_s / 2, look_s=look_s
    )
    words = (KindOfChange.INTEGRATIONS.value,)
    return Living(started=started(fleet, words), set_up=set_up, live=live)
