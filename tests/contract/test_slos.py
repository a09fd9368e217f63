"""SLOs, asked over real HTTP of something that answers like a Prometheus."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.contract.test_cluster_health import FAST, vector
from tests.patience import patiently
from tests.serving import answering
from tidegate.kinds.promotions.client.prometheus_slos import PrometheusSlos
from tidegate.kinds.promotions.core.channels.model import SloState
from tidegate.kinds.promotions.core.channels.sources import SloDocument
from tidegate.prometheus.client.source import PrometheusSource
from tidegate.prometheus.server import PrometheusServer

MET, BREACHED, UNKNOWN = SloState.MET, SloState.BREACHED, SloState.UNKNOWN


def state(answers: dict[str, bytes], *slos: SloDocument, status: int = 200) -> Any:
    """What is known of documents; an SLO without an address is of the server that answers."""

    async def respond(request: web.Request) -> web.Response:
        query = str((await request.post()).get("query", ""))
        await asyncio.sleep(0)
        return web.Response(body=answers[query], status=status, content_type="application/json")

    async def story() -> Any:
        async with answering(respond) as address:
            main = PrometheusServer(name="main", url=f"http://{address}/")
            asked = tuple(
                each
                if each.url
                else SloDocument(
                    document=each.document,
                    name=each.name,
                    url=f"http://{address}",
                    query=each.query,
                    target=each.target,
                )
                for each in slos
            )
            source = PrometheusSlos(PrometheusSource([main], FAST), [main])
            try:
                return await source.read(asked)
            finally:
                await source.close()

    return patiently(story())


def slo(target: str = "0.99", query: str = "q", url: str = "", document: str = "d") -> SloDocument:
    """One SLO."""
    return SloDocument(document=document, name="s", url=url, query=query, target=target)


@pytest.mark.parametrize(
    "values, expected",
    [
        (["0.995"], MET),
        (["0.99"], MET),
        (["0.98999"], BREACHED),
        (["0.995", "0.5"], BREACHED),
        (["NaN"], UNKNOWN),
        (["+Inf"], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_every_series_reaches_the_target(values: list[str], expected: SloState) -> None:
    """No series and no number are no answer; exactly at the target is met."""
    answer = vector(*(({"i": str(at)}, value) for at, value in enumerate(values)))
    assert state({"q": answer}, slo()) == {"d": expected}


def test_a_document_is_as_bad_as_its_worst_slo() -> None:
    """Breached before unknown, unknown before met."""
    answers = {"good": vector(({}, "1")), "bad": vector(({}, "0")), "none": vector()}
    good, bad, none = (slo(query=name) for name in answers)
    assert state(answers, good, bad, none) == {"d": BREACHED}
    assert state(answers, none, good) == {"d": UNKNOWN}
    assert state(answers, good, good) == {"d": MET}


@pytest.mark.parametrize("one", [slo(url="https://other.example.com"), slo("high"), slo(query="")])
def test_what_cannot_be_asked_is_unknown(one: SloDocument) -> None:
    """A server that is not in the settings is not asked: its address is written by others."""
    assert state({"q": vector(({}, "1"))}, one) == {"d": UNKNOWN}


def test_a_server_that_fails_is_unknown() -> None:
    """And stops no reading."""
    assert state({"q": b"no"}, slo(), status=500) == {"d": UNKNOWN}
