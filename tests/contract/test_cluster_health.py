"""How clusters are, asked over real HTTP of something that answers like a Prometheus."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.patience import patiently
from tests.property.prometheus_worlds import body
from tests.serving import answering
from tidegate.kinds.upgrades.cli.managers import health_of
from tidegate.kinds.upgrades.client.prometheus_health import PrometheusHealth
from tidegate.kinds.upgrades.core.service import OcmEnvironment
from tidegate.kinds.upgrades.wire.cluster_alerts import alerts_query
from tidegate.model.errors import OutsideError, UserError
from tidegate.prometheus.client.source import PrometheusLimits, PrometheusSource
from tidegate.prometheus.server import PrometheusServer, Secret
from tidegate.settings.settings import load

FAST = PrometheusLimits(timeout_s=0.3, total_s=1.5, pause_s=0.01, tries_max=2)


def fires(cluster: str, alert: str) -> tuple[dict[str, str], str]:
    """An alert of a cluster, as the answer has it."""
    labels = {"_id": cluster, "alertname": alert, "organization": "o1", "severity": "critical"}
    return {key: value for key, value in labels.items() if value}, "1"


def vector(*series: tuple[dict[str, str], str], **more: Any) -> bytes:
    """An answer about this moment."""
    result = [{"metric": labels, "value": [1_000, value]} for labels, value in series]
    return body({"resultType": "vector", "result": result}, **more)


def ask(
    answer: bytes, status: int = 200, org: str = "o1", **server: Any
) -> tuple[Mapping[str, tuple[str, ...]] | str, list[tuple[str, str]]]:
    """The alerts, or why there are none; and what was asked with which credentials."""
    asked: list[tuple[str, str]] = []

    async def respond(request: web.Request) -> web.Response:
        query = str((await request.post()).get("query", ""))
        asked.append((query, request.headers.get("Authorization", "")))
        return web.Response(body=answer, status=status, content_type="application/json")

    async def story() -> Mapping[str, tuple[str, ...]] | str:
        async with answering(respond) as address:
            main = PrometheusServer(name="telemeter", url=f"http://{address}", **server)
            health = PrometheusHealth(PrometheusSource([main], FAST), "telemeter")
            try:
                return await health.alerts(org)
            except OutsideError as error:
                return str(error)
            finally:
                await health.close()

    return patiently(story()), asked


def test_alerts_come_by_cluster_each_name_once_in_order() -> None:
    """From one question; what is not in the answer has none."""
    answer = vector(fires("b", "Down"), fires("a", "Slow"), fires("a", "Down"), fires("a", "Slow"))
    found, asked = ask(answer)
    assert found == {"a": ("Down", "Slow"), "b": ("Down",)}
    ((query, _),) = asked
    assert query == (
        'alerts{alertstate="firing", severity="critical"} * on (_id) group_left(organization) '
        'max(ocm_subscription{organization="o1"}) by (_id, organization)'
    )
    assert ask(vector())[0] == {}


def test_the_credentials_of_the_servers_file_are_used(tmp_path: Path) -> None:
    """And the name of an organisation cannot become part of the question."""
    (tmp_path / "token").write_text("hush")
    _, asked = ask(vector(), org='x"} or alerts{a="', token=Secret(file=str(tmp_path / "token")))
    assert asked == [(alerts_query('x"} or alerts{a="'), "Bearer hush")]
    assert r'organization="x\"} or alerts{a=\""' in asked[0][0]


@pytest.mark.parametrize(
    "answer, status, why",
    [
        (b"", 500, "telemeter: HTTP 500"),
        (b"", 401, "telemeter: HTTP 401"),
        (b"<html>", 200, "cannot be read"),
        (body({"resultType": "matrix", "result": []}), 200, "not with a vector"),
        (vector(fires("a", "Down"), warnings=["a store is gone"]), 200, "missing: a store is gone"),
        (vector(fires("a", "")), 200, "an alert without alertname"),
        (vector(fires("", "Down")), 200, "an alert without _id"),
    ],
)
def test_what_is_not_sure_is_no_health(answer: bytes, status: int, why: str) -> None:
    """A caller is shown who answered and why; silence is not health."""
    found, _ = ask(answer, status)
    assert isinstance(found, str)
    assert found.startswith("telemeter: ")
    assert why in found


def test_who_knows_an_environments_health_is_in_the_settings(tmp_path: Path) -> None:
    """By name; a misspelt one gets the nearest; without a name no request is made."""
    file = tmp_path / "servers.yaml"
    file.write_text("servers: [{name: telemeter, url: 'http://127.0.0.1:9'}]\n")
    named = load({"prometheus": (str(file),)}, {}).settings()

    async def known(name: str, settings: Any = named) -> bool:
        health = health_of(settings, OcmEnvironment(name="prod", url="http://x", prometheus=name))
        if health is not None:
            await health.close()
        return health is not None

    assert asyncio.run(known("telemeter"))
    assert not asyncio.run(known(""))
    with pytest.raises(UserError, match='did you mean "telemeter"'):
        asyncio.run(known("telemetre"))
    with pytest.raises(UserError, match="name a file of servers with --prometheus"):
        asyncio.run(known("telemeter", load({}, {}).settings()))
