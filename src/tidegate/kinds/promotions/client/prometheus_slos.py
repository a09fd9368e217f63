"""Whether SLOs are met, as the Prometheus that each names has it.

Only servers of the settings are asked, with their credentials: an address in a bundle is written by
many people. An SLO is met if every series that its query returns reaches its target. No series, no
number, no answer and no server are all unknown, and an unknown SLO is not met.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from tidegate.kinds.promotions.core.channels.model import SloState
from tidegate.kinds.promotions.core.channels.sources import SloDocument
from tidegate.model.errors import OutsideError
from tidegate.prometheus.client.source import PrometheusSource
from tidegate.prometheus.server import PrometheusServer

# A document is as bad as the worst of its SLOs.
_ORDER = (SloState.BREACHED, SloState.UNKNOWN, SloState.MET)


class PrometheusSlos:
    """One question an SLO and a Prometheus."""

    def __init__(self, source: PrometheusSource, servers: Iterable[PrometheusServer]) -> None:
        self._source = source
        self._names = {each.url.rstrip("/"): each.name for each in servers}

    async def read(self, slos: tuple[SloDocument, ...]) -> Mapping[str, SloState]:
        """By the name of the document; one that does not answer is unknown."""
        found = await asyncio.gather(*map(self._state, slos))
        states: dict[str, SloState] = {}
        for slo, state in zip(slos, found, strict=True):
            known = states.get(slo.document, SloState.MET)
            states[slo.document] = min(known, state, key=_ORDER.index)
        return states

    async def close(self) -> None:
        """Close the connections."""
        await self._source.close()

    async def _state(self, slo: SloDocument) -> SloState:
        server = self._names.get(slo.url.rstrip("/"))
        target = _number(slo.target)
        if server is None or target is None or not slo.query:
            return SloState.UNKNOWN
        try:
            found = await self._source.look(server, slo.query)
        except OutsideError:
            return SloState.UNKNOWN
        values = [series.samples[-1].value for series in found.series if series.samples]
        if not values or len(values) < len(found.series) or not all(map(math.isfinite, values)):
            return SloState.UNKNOWN
        # As it is written: 0.99 of an answer is the 0.99 of a document.
        met = all(Fraction(repr(value)) >= target for value in values)
        return SloState.MET if met else SloState.BREACHED


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
