"""The port for evidence of health: a system that measures a revision."""

from typing import Protocol

from tidegate.documents.probe import PrometheusProbe
from tidegate.gates.health import Evidence
from tidegate.model.time import Instant

# What to request, and from which server. One kind so far.
Probe = PrometheusProbe


class EvidenceSource(Protocol):
    """A system with measurements. A call may take long."""

    async def gather(
        self, probe: Probe, revision: str | None, since: Instant, now: Instant
    ) -> Evidence:
        """What was seen by `now` of a revision that began to roll out at `since`.

        OutsideError if nothing follows from it: no answer is never a good one.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
