"""The merge requests of pipelines at a real forge: read, and carried out as planned."""

from collections.abc import Iterable

from tidegate.forge.port import Forge
from tidegate.kinds.promotions.app.pipelines.ports import PipelineRequests
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.app.requests.acts import PipelineOffers, carry_out_act
from tidegate.kinds.promotions.app.requests.survey import read_requests
from tidegate.kinds.promotions.core.channels.journal.facts import RequestsSeen
from tidegate.kinds.promotions.core.channels.plan import (
    PipelinePlan,
    PipelineWorld,
    request_labels,
)
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.core.requests.model import RequestAct
from tidegate.kinds.promotions.core.requests.record import (
    ClosedRequest,
    closing_causes,
    declined_requests,
    failed_batches,
)
from tidegate.model.errors import StaleError


class ForgeRequests(PipelineRequests):
    """PipelineRequests at the forge of a bundle."""

    def __init__(self, ports: PromotionPorts, forge: Forge) -> None:
        self._ports, self._forge = ports, forge
        # Requests of the same content that an act found closed, by pipeline: read next time.
        self._found: dict[str, list[ClosedRequest]] = {}

    async def read(self, reading: PipelineReading, known: Iterable[int]) -> RequestsSeen:
        """Those that are open, and what became of known ones that are not."""
        name = reading.pipeline.name
        channels = {each for one in reading.subscribers for each in one.channels}
        found = await read_requests(self._forge, self._ports.bundle, name, known, channels)
        closed = (*found.closed, *self._found.pop(name, ()))
        return RequestsSeen(
            requests=found.open,
            merged=tuple(each.number for each in found.merged),
            failed=failed_batches(closed),
            declined=declined_requests(closed),
            closed=closing_causes(closed),
        )

    async def carry_out(
        self, act: RequestAct, plan: PipelinePlan, world: PipelineWorld, picture: str = ""
    ) -> str:
        """Open, change or close one; StaleError: something changed, and it is planned again."""
        name = world.reading.pipeline.name
        subscribers = world.channels.subscribers
        offers = PipelineOffers(
            pipeline=name,
            wanted=plan.promotions,
            said={subscribers[each.target].name: each.verdicts for each in plan.options},
            labels=request_labels(world),
            picture=picture,
        )
        done = await carry_out_act(self._ports, self._forge, offers, act)
        if done.closed_before is not None:
            self._found.setdefault(name, []).append(done.closed_before)
            raise StaleError(f"!{done.closed_before.number} of the same content was closed")
        return done.url or done.branch
