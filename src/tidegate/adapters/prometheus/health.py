"""How clusters are, as a Prometheus has it that they report their alerts to."""

from tidegate.adapters.prometheus.source import PrometheusSource
from tidegate.core.errors import OutsideError
from tidegate.ports.cluster_health import Alerts
from tidegate.wire.prometheus.answer import AnswerError
from tidegate.wire.prometheus.cluster_alerts import alerts_of, alerts_query


class PrometheusHealth:
    """One question an organisation."""

    def __init__(self, source: PrometheusSource, server: str) -> None:
        self._source = source
        self._server = server

    async def alerts(self, org_id: str) -> Alerts:
        """What fires now for the clusters of an organisation; OutsideError says who knows not."""
        reading = await self._source.look(self._server, alerts_query(org_id))
        try:
            return alerts_of(reading)
        except AnswerError as error:
            raise OutsideError(f"{self._server}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._source.close()
