"""How clusters are, as a Prometheus has it that they report their alerts to."""

from tidegate.kinds.upgrades.health_port import Alerts
from tidegate.kinds.upgrades.wire.cluster_alerts import alerts_of, alerts_query
from tidegate.model.errors import OutsideError
from tidegate.prometheus.answer import AnswerError
from tidegate.prometheus.client.source import PrometheusSource


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
