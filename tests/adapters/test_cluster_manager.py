"""How OpenShift Cluster Manager is asked when it behaves oddly: a small server plays each case."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from tests.patience import patiently
from tests.serving import Answering, answering
from tidegate.kinds.upgrades.core.faults import FaultParty
from tidegate.kinds.upgrades.ocm.client.client import ClusterManagerClient
from tidegate.kinds.upgrades.ocm.client.http import OcmLimits
from tidegate.kinds.upgrades.ocm.client.token import AccessToken, ServiceAccount
from tidegate.kinds.upgrades.ocm.port import OcmRefusedError, Upgradable
from tidegate.kinds.upgrades.telemetry.faults import fault_of_error
from tidegate.model.errors import OutsideError

QUICK = OcmLimits(tries_max=3, pause_s=0.001, timeout_s=5, total_s=20, wait_max_s=2)
Story = Callable[[ClusterManagerClient], Awaitable[None]]


def play(answer: Answering, story: Story, limits: OcmLimits = QUICK) -> None:
    """A story of one who asks a server that answers so."""

    async def played() -> None:
        async with answering(answer) as host:
            client = ClusterManagerClient(f"http://{host}/", AccessToken("s3cret"), limits)
            try:
                async with asyncio.timeout(30):
                    await story(client)
            finally:
                await client.close()

    patiently(played())


def listing(*items: Any, total: int | None = None, **headers: str) -> web.Response:
    """A page with items."""
    body = {"page": 1, "size": len(items), "total": len(items) if total is None else total}
    return web.json_response({"kind": "List", **body, "items": items}, headers=headers)


def refusing(status: int, **headers: str) -> web.Response:
    """A refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response({"kind": "Error"}, status=status, headers=named)


def test_a_client_that_is_asked_to_wait_waits() -> None:
    """For as long as was asked, and all others with them."""
    asked: list[float] = []

    async def answer(_: web.Request) -> web.Response:
        asked.append(asyncio.get_running_loop().time())
        return listing() if len(asked) > 1 else refusing(429, Retry_After="1")

    async def story(client: ClusterManagerClient) -> None:
        await client.gates()
        await client.versions()

    play(answer, story)
    assert asked[1] - asked[0] >= 1.0
    assert len(asked) == 3


@pytest.mark.parametrize(
    "headers, wait",
    [
        ({"Retry_After": "3600"}, "3600 s"),
        (
            {
                "Retry_After": "Mon, 02 Mar 2026 09:00:00 GMT",
                "Date": "Mon, 02 Mar 2026 08:00:00 GMT",
            },
            "3600 s",
        ),
    ],
)
def test_nothing_waits_for_an_hour(headers: dict[str, str], wait: str) -> None:
    """It is shown how long that would be."""

    async def answer(_: web.Request) -> web.Response:
        return refusing(429, **headers)

    async def story(client: ClusterManagerClient) -> None:
        with pytest.raises(OutsideError, match=wait):
            await client.gates()

    play(answer, story)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_passes_is_tried_so_often_and_then_reported(status: int) -> None:
    """As often as the limits say, with the status in the error."""
    asked = count()

    async def answer(_: web.Request) -> web.Response:
        next(asked)
        return refusing(status)

    async def story(client: ClusterManagerClient) -> None:
        with pytest.raises(OutsideError, match=f"version_gates: HTTP {status}"):
            await client.gates()
        assert client.calls() == {"GET": 3}

    play(answer, story)
    assert next(asked) == 3


def test_a_server_that_never_answers_is_given_up() -> None:
    """After the time of each try."""

    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return listing()

    async def story(client: ClusterManagerClient) -> None:
        with pytest.raises(OutsideError, match=r"no answer in 0\.05 s"):
            await client.gates()

    play(answer, story, OcmLimits(tries_max=2, pause_s=0.001, timeout_s=0.05))


def test_a_post_that_fails_is_looked_for_before_it_is_sent_again() -> None:
    """Nothing is there after the first: it is sent again. After the second it is: no third."""
    posts: list[dict[str, Any]] = []
    moment = "2026-03-02T10:00:00Z"

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            there = posts[1:]
            return listing(*({"id": str(i), **each} for i, each in enumerate(there)))
        posts.append(json.loads(await request.read()))
        return refusing(503)

    async def story(client: ClusterManagerClient) -> None:
        policy = await client.create_policy(Upgradable("c"), "4.16.4", moment)
        assert policy.id == "0"

    play(answer, story)
    assert posts == [{"version": "4.16.4", "schedule_type": "manual", "next_run": moment}] * 2


def test_a_list_that_never_rests_is_called_incomplete() -> None:
    """It is read again a few times; what was there is used."""
    gate = {"version_raw_id_prefix": "4.17", "label": "x"}
    numbers = count(1)

    async def answer(request: web.Request) -> web.Response:
        number = next(numbers)
        return listing({"id": f"g{number}", **gate}, total=2 + number % 2)

    async def story(client: ClusterManagerClient) -> None:
        reading = await client.gates()
        assert not reading.complete
        assert reading.items

    play(answer, story)


def test_a_server_that_gives_smaller_pages_is_read_to_the_end() -> None:
    """Its pages are as large as it likes; ours is but a wish."""
    gates = [{"id": f"g{i}", "version_raw_id_prefix": "4.17", "label": "x"} for i in range(25)]

    async def answer(request: web.Request) -> web.Response:
        page, size = int(request.query.get("page", 1)), min(10, int(request.query["size"]))
        return listing(*gates[(page - 1) * size : page * size], total=25)

    async def story(client: ClusterManagerClient) -> None:
        reading = await client.gates()
        assert len(reading.items) == 25
        assert reading.complete

    play(answer, story)


@pytest.mark.parametrize("body", ["no json", "[]", '{"items": 5}'])
def test_an_answer_that_is_none_is_reported(body: str) -> None:
    """As what it is, with the question."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    async def story(client: ClusterManagerClient) -> None:
        with pytest.raises(OutsideError, match=r"version_gates is odd"):
            await client.gates()

    play(answer, story)


def test_what_the_other_side_repeats_of_a_token_is_not_shown() -> None:
    """The reason is theirs, the token is not for everyone; a redirect is not followed with it."""

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("versions"):
            return web.Response(status=302, headers={"Location": "http://elsewhere.invalid/"})
        reason = f"bad header {request.headers['Authorization']}"
        return web.json_response({"code": "X-1", "reason": reason}, status=403)

    async def story(client: ClusterManagerClient) -> None:
        with pytest.raises(OcmRefusedError, match=r"bad header Bearer \*\*\*") as caught:
            await client.gates()
        assert caught.value.code == "X-1"
        assert "s3cret" not in f"{caught.value.reason} {caught.value!r}"
        with pytest.raises(OcmRefusedError, match="HTTP 302"):
            await client.versions()

    play(answer, story)


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_sign_on_that_is_refused_is_ours_to_fix(status: int) -> None:
    """It is asked for once, however many wait, and every one of them hears the same."""
    asked = count()

    async def answer(_: web.Request) -> web.Response:
        next(asked)
        return web.json_response({"error": "invalid_client"}, status=status)

    async def played() -> None:
        async with answering(answer) as host:
            account = ServiceAccount(f"http://{host}/token", "id", "s3cret")
            client = ClusterManagerClient(f"http://{host}", account, QUICK)
            waiting = (client.gates() for _ in range(20))
            for error in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(error, OcmRefusedError)
                assert (error.status, fault_of_error(error)) == (401, FaultParty.OURS)
                assert f"HTTP {status}: no token (invalid_client); check credentials" in str(error)
            await client.close()

    patiently(played())
    assert next(asked) == 1


def test_a_sign_on_that_fails_is_reported_without_the_secret() -> None:
    """It is tried while that may help."""
    asked = count()

    async def answer(request: web.Request) -> web.Response:
        next(asked)
        text = str((await request.post())["client_secret"])
        return web.json_response({"error": text, "error_description": text}, status=503)

    async def played() -> None:
        async with answering(answer) as host:
            account = ServiceAccount(f"http://{host}/token", "id", "s3cret")
            client = ClusterManagerClient(f"http://{host}", account, QUICK)
            waiting = (client.gates() for _ in range(20))
            told = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(each, OutsideError) for each in told)
            assert all("no token: HTTP 503" in str(each) for each in told)
            assert "s3cret" not in str(told)
            await client.close()

    patiently(played())
    # However many wait for it.
    assert next(asked) == 3
