"""The way to a Prometheus and back, on a server that does everything wrong: real HTTP, no mocks."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp import web

from tests.patience import patiently
from tests.property.prometheus_worlds import BEGIN, SINCE, body, matrix, told_at
from tests.serving import answering
from tidegate.documents.probe import AlertRules, Counters, PrometheusProbe
from tidegate.gates.health import Evidence
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant
from tidegate.prometheus.client.source import PrometheusLimits, PrometheusSource
from tidegate.prometheus.server import PrometheusServer, Secret

NOW = Instant(SINCE + 20 * SECOND)
FAST = PrometheusLimits(timeout_s=0.3, total_s=1.5, pause_s=0.01, bytes_max=20_000)
PROBE = PrometheusProbe(
    wanted=1, runs=Counters("clean{v=$revision}", "failed"), alerts=AlertRules(("A",))
)
SAMPLES = matrix([({}, [(BEGIN + t, str(t // 5)) for t in range(20)])])
ZEROS = matrix([({}, [(BEGIN + t, "0") for t in range(20)])])

Answering = Callable[[web.Request, str], Awaitable[web.Response]]
T = TypeVar("T")


class Fake:
    """A server that answers like a Prometheus, until a test lets it misbehave."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.at_once = 0
        self.most_at_once = 0
        # None: as it should.
        self.instead: Answering | None = None
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request, counted."""
        query = str((await request.post()).get("query", ""))
        self.requests.append((request.path, query, dict(request.headers)))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0.01)
            if self.instead is not None:
                return await self.instead(request, query)
            return self.well(request.path, query)
        finally:
            self.at_once -= 1

    @staticmethod
    def well(path: str, query: str) -> web.Response:
        """What a healthy Prometheus says."""
        at = BEGIN + 20
        rules = [{"name": "A", "health": "ok", "lastEvaluation": told_at(19)}]
        found: dict[str, Any] = {"resultType": "vector", "result": []}
        if path.endswith("/rules"):
            found = {"groups": [{"rules": rules}]}
        elif query == "time()":
            found = {"resultType": "scalar", "result": [at, str(at)]}
        elif query.startswith("clean"):
            found = SAMPLES
        elif query.startswith("failed"):
            found = ZEROS
        return web.Response(body=body(found), content_type="application/json")


@asynccontextmanager
async def serving(fake: Fake) -> AsyncIterator[Fake]:
    """The fake on a port of this machine."""
    async with answering(fake.answer) as address:
        fake.url = f"http://{address}"
        yield fake


def ask(
    instead: Answering | None = None,
    probe: PrometheusProbe = PROBE,
    limits: PrometheusLimits = FAST,
    **server: Any,
) -> tuple[Evidence | str, Fake]:
    """One gathering; the evidence, or why there is none."""

    async def story() -> tuple[Evidence | str, Fake]:
        async with serving(Fake()) as fake:
            fake.instead = instead
            source = PrometheusSource(
                [PrometheusServer(name="main", url=fake.url, **server)], limits
            )
            try:
                return await source.gather(probe, "v2", SINCE, NOW), fake
            except OutsideError as error:
                return str(error), fake
            finally:
                await source.close()

    return patiently(story())


def always(status: int, text: bytes = b"") -> Answering:
    """The same answer to everything."""

    async def answer(_request: web.Request, _query: str) -> web.Response:
        return web.Response(status=status, body=text)

    return answer


def test_evidence_comes_back() -> None:
    """All questions are asked, and what follows from the answers is evidence."""
    found, fake = ask()
    assert isinstance(found, Evidence)
    assert [run.clean for run in found.runs] == [True]
    assert found.revision == "v2"
    paths = sorted(path for path, _, _ in fake.requests)
    assert paths == ["/api/v1/query"] * 4 + ["/api/v1/rules"]
    assert any(query.startswith('clean{v="v2"}[') for _, query, _ in fake.requests)
    assert all("Authorization" not in headers for _, _, headers in fake.requests)


@pytest.mark.parametrize(
    "status, text, why, tries",
    [
        (400, b'{"status":"error","errorType":"bad_data","error":"no"}', "bad_data: no", 1),
        (401, b"", "HTTP 401: no reason given", 1),
        (404, b"<html>", "HTTP 404: no reason given", 1),
        (302, b"", "HTTP 302", 1),
        (200, b"<html>", "cannot be read", 1),
        (200, b"", "cannot be read", 1),
        (200, b"x" * 30_000, "more than 20000 bytes", 1),
        (429, b"", "HTTP 429", 3),
        (500, b"", "HTTP 500", 3),
        (
            503,
            b'{"status":"error","errorType":"timeout","error":"query timed out"}',
            "query timed out (3 tries)",
            3,
        ),
    ],
)
def test_a_refusal_says_who_and_why(status: int, text: bytes, why: str, tries: int) -> None:
    """What may pass is tried again, a few times; what will not is reported at once."""
    found, fake = ask(always(status, text), PrometheusProbe(alerts=AlertRules(("A",))))
    assert isinstance(found, str)
    assert found.startswith("main: ")
    assert why in found
    clocks = [query for _, query, _ in fake.requests if query == "time()"]
    assert 1 <= len(clocks) <= tries
    assert len(fake.requests) > 3 or tries == 1


def test_one_bad_moment_is_forgiven() -> None:
    """The first answer to each question is an error, the second is not."""
    seen: set[str] = set()

    async def stumble(request: web.Request, query: str) -> web.Response:
        if request.path + query not in seen:
            seen.add(request.path + query)
            return web.Response(status=503)
        return Fake.well(request.path, query)

    found, fake = ask(stumble)
    assert isinstance(found, Evidence)
    assert len(fake.requests) == 10


def test_a_server_that_hangs_is_given_up() -> None:
    """No wait is longer than the caller said."""

    async def hang(_request: web.Request, _query: str) -> web.Response:
        await asyncio.sleep(60)
        raise AssertionError("nobody waited")

    found, _ = ask(hang)
    assert isinstance(found, str)
    assert found.startswith("main: no answer in ")


def test_an_answer_that_breaks_off_is_none() -> None:
    """Half an answer is tried again, and is no evidence."""

    async def cut(request: web.Request, _query: str) -> web.Response:
        assert request.transport is not None
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"
        request.transport.write(head + b'{"status":"succ')
        request.transport.close()
        return web.Response()

    found, _ = ask(cut)
    assert isinstance(found, str)
    assert "cannot be asked" in found


def test_part_of_the_answers_is_no_evidence() -> None:
    """The counters answer, the rules do not."""

    async def no_rules(request: web.Request, query: str) -> web.Response:
        if request.path.endswith("/rules"):
            return web.Response(status=404)
        return Fake.well(request.path, query)

    found, _ = ask(no_rules)
    assert isinstance(found, str)
    assert "HTTP 404" in found
    assert "asked: api/v1/rules" in found


def test_few_questions_at_once() -> None:
    """A server is never asked more at once than it was said, however many probes there are."""

    async def story() -> int:
        async with serving(Fake()) as fake:
            limits = PrometheusLimits(concurrency_max=2)
            source = PrometheusSource([PrometheusServer(name="main", url=fake.url)], limits)
            asks = (source.gather(PROBE, "v2", SINCE, NOW) for _ in range(6))
            found = await asyncio.gather(*asks)
            await source.close()
            assert len(found) == 6
            return fake.most_at_once

    assert patiently(story()) == 2


def test_credentials_are_fetched_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a file or the environment, anew for each gathering; never shown."""
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    _, fake = ask(token=Secret(file=str(token)))
    assert {headers["Authorization"] for _, _, headers in fake.requests} == {"Bearer s3cret"}
    monkeypatch.setenv("PROMETHEUS_PASSWORD", "hush")
    _, fake = ask(username="me", password=Secret(env="PROMETHEUS_PASSWORD"))
    basic = f"Basic {base64.b64encode(b'me:hush').decode()}"
    assert {headers["Authorization"] for _, _, headers in fake.requests} == {basic}
    found, _ = ask(always(401), token=Secret(file=str(token)))
    assert "s3cret" not in str(found)


def test_missing_credentials_are_said_before_anything_is_sent(tmp_path: Path) -> None:
    """No request is made without the credentials it needs."""
    bad = tmp_path / "bad"
    bad.write_text("two\nlines")
    for secret, why in (
        (Secret(file=str(tmp_path / "none")), "No such file"),
        (Secret(env="TIDEGATE_TEST_NO_SUCH_VARIABLE"), "is not in $TIDEGATE_TEST"),
        (Secret(file=str(bad)), "more than one line"),
    ):
        found, fake = ask(token=secret)
        assert why in str(found)
        assert "two" not in str(found)
        assert not fake.requests


def test_who_is_asked() -> None:
    """By name, by address without credentials, or the only one there is."""

    async def told(probe: PrometheusProbe, *names: str) -> str:
        servers = [PrometheusServer(name=name, url="http://127.0.0.1:9") for name in names]
        source = PrometheusSource(servers, FAST)
        with pytest.raises(OutsideError) as error:
            await source.gather(probe, "v2", SINCE, NOW)
        await source.close()
        return str(error.value)

    def asked(*names: str, **probe: Any) -> str:
        return patiently(told(PrometheusProbe(alerts=AlertRules(("A",)), **probe), *names))

    assert asked("main", server="man") == ('no Prometheus is called "man"; did you mean "main"?')
    assert asked("a", "b") == "the probe names no Prometheus; known: a, b"
    assert asked() == "the probe names no Prometheus; known: none"
    assert asked("main").startswith("main: cannot be asked")
    assert asked("main", url="http://127.0.0.1:9").startswith("http://127.0.0.1:9: cannot be asked")


def test_an_address_in_a_document_gets_no_credentials(tmp_path: Path) -> None:
    """A person who may write a document cannot have our token sent elsewhere."""
    (tmp_path / "token").write_text("s3cret")

    async def story() -> list[dict[str, str]]:
        async with serving(Fake()) as fake:
            secret = Secret(file=str(tmp_path / "token"))
            source = PrometheusSource([PrometheusServer(name="m", url=fake.url, token=secret)])
            probe = PrometheusProbe(url=fake.url, alerts=AlertRules(("A",)))
            await source.gather(probe, "v2", SINCE, NOW)
            await source.close()
            return [headers for _, _, headers in fake.requests]

    sent = patiently(story())
    assert sent
    assert all("Authorization" not in headers for headers in sent)


def test_a_command_without_requests_loads_no_client() -> None:
    """An HTTP client takes half a second to import: only who makes a source has it."""
    code = (
        "import sys; from tidegate.wiring import outside\n"
        "assert 'aiohttp' not in sys.modules\n"
        "outside.evidence_source()\n"
        "assert 'aiohttp' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
