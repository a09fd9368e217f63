"""What a Kubernetes server can do wrong, and how often it is asked again."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.patience import patiently
from tests.real.certificates import Authority
from tests.real.prometheus import free_port
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ApiServer, ServerLimits
from tidegate.kubernetes.client.watch import Watching
from tidegate.kubernetes.port import CONFIG_MAP, ExpiredError, NotAllowedError, ObjectEvent
from tidegate.model.errors import OutsideError, StaleError

QUICK = ServerLimits(pause_s=0.001, pause_max_s=0.01, tries_max=4, timeout_s=1, total_s=5)
NAMES = {"namespace": "ns", "name": "a"}
DOCUMENT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": NAMES}
MADE = {**DOCUMENT, "metadata": {**NAMES, "uid": "u", "resourceVersion": "7"}}

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Story = Callable[[str], Awaitable[None]]


def json(body: object, status: int = 200, **headers: str) -> Answer:
    """One answer."""

    async def told(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return told


def status(code: int, message: str = "no", **headers: str) -> Answer:
    """A refusal."""
    return json({"kind": "Status", "message": message, "code": code}, code, **headers)


class Scripted:
    """Answers in turn; the last one for ever. Everything that was asked is kept."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[web.Request] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        left = len(self._answers) > 1
        return await (self._answers.pop(0) if left else self._answers[0])(request)


def play(script: Scripted, story: Story, tls: ssl.SSLContext | None = None) -> None:
    """A story played on a server that follows a script; its address is handed over."""

    async def played() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", script.answer)
        server = TestServer(app, host="127.0.0.1", scheme="https" if tls else "http")
        await server.start_server(ssl=tls)
        async with server, asyncio.timeout(30):
            await story(str(server.make_url("")).rstrip("/"))

    patiently(played())


def cluster(url: str, limits: ServerLimits = QUICK, **fields: Any) -> KubernetesCluster:
    """A cluster at an address."""
    watching = Watching(period_s=1, grace_s=1, pause_s=0.001, failures_max=3)
    access = ClusterAccess(name="c", server=url, **fields)
    return KubernetesCluster(access, limits=limits, watching=watching)


def test_what_fails_in_passing_is_tried_again() -> None:
    """Until it is well; each kind of passing failure once."""
    script = Scripted(*map(status, (500, 503, 504)), json(MADE, 201))

    async def story(url: str) -> None:
        found = cluster(url)
        applied = await found.apply(DOCUMENT)
        await found.close()
        assert applied.outcome == "created"
        assert len(script.asked) == 4

    play(script, story)


def test_a_server_that_asks_for_time_gets_it() -> None:
    """429 with Retry-After: not sooner than it says."""
    script = Scripted(status(429, **{"Retry-After": "1"}), json(MADE))

    async def story(url: str) -> None:
        found = cluster(url)
        begun = asyncio.get_running_loop().time()
        await found.apply(DOCUMENT)
        await found.close()
        assert asyncio.get_running_loop().time() - begun >= 1

    play(script, story)


def test_a_server_that_stays_ill_is_given_up_with_its_words() -> None:
    """After as many tries as there are."""
    script = Scripted(status(503, "etcd has no leader"))

    async def story(url: str) -> None:
        found = cluster(url)
        with pytest.raises(OutsideError, match="c: configmap/ns/a: HTTP 503: etcd has no leader"):
            await found.apply(DOCUMENT)
        await found.close()
        assert len(script.asked) == QUICK.tries_max

    play(script, story)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422])
def test_a_refusal_is_not_asked_again(code: int) -> None:
    """What is refused is refused once."""
    script = Scripted(status(code))

    async def story(url: str) -> None:
        found = cluster(url, token="t")
        with pytest.raises((OutsideError, StaleError)):
            await found.apply(DOCUMENT)
        await found.close()
        assert len(script.asked) == 1

    play(script, story)


def test_what_must_not_be_done_twice_is_not_sent_twice() -> None:
    """A write that may have been done is said to be so; one that was put off is sent again."""
    script = Scripted(status(429), status(500))

    async def story(url: str) -> None:
        server = ApiServer(ClusterAccess(name="c", server=url), QUICK)
        with pytest.raises(OutsideError, match="HTTP 500: no; it may have been done"):
            await server.ask("PUT", "/x", "lease/x", body=b"{}", again=False)
        await server.close()
        assert len(script.asked) == 2

    play(script, story)


def test_nothing_queues_for_a_server_that_is_not_there() -> None:
    """The first ones find out; a call that waited for a place is answered at once."""
    nobody = f"http://127.0.0.1:{free_port()}"
    limits = ServerLimits(concurrency_max=1, tries_max=3, pause_s=0.1, pause_max_s=0.1, rest_s=60)

    async def story() -> None:
        found = cluster(nobody, limits)
        told = await asyncio.gather(
            *(found.apply(DOCUMENT) for _ in range(500)), return_exceptions=True
        )
        await found.close()
        assert all(isinstance(each, OutsideError) for each in told)
        assert all("cannot be reached at 127.0.0.1" in str(each) for each in told)
        assert all("Connection refused" in str(each) for each in told)
        assert all("check its address" in str(each) for each in told)

    # If they took turns at finding out, it would be a hundred seconds.
    patiently(asyncio.wait_for(story(), 50))


def test_credentials_are_not_led_elsewhere() -> None:
    """A redirect is an answer, and the wrong one."""
    script = Scripted(status(302, Location="http://127.0.0.1:1/elsewhere"))

    async def story(url: str) -> None:
        found = cluster(url, token="secret")
        with pytest.raises(OutsideError, match="HTTP 302"):
            await found.apply(DOCUMENT)
        await found.close()
        assert len(script.asked) == 1

    play(script, story)


def test_a_token_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    """The server does not know the old one: the file has a new one by then."""
    path = tmp_path / "token"
    path.write_text("old\n")

    async def knows(request: web.Request) -> web.StreamResponse:
        new = request.headers["Authorization"] == "Bearer new"
        return await (
            json({"items": [], "metadata": {"resourceVersion": "1"}}) if new else status(401)
        )(request)

    async def story(url: str) -> None:
        found = cluster(url, token_file=str(path))
        with pytest.raises(NotAllowedError, match="401"):
            await found.read("ns", [CONFIG_MAP])
        path.write_text("new\n")
        assert (await found.read("ns", [CONFIG_MAP])).complete
        await found.close()

    play(Scripted(knows), story)


def test_a_server_is_known_by_the_authority_of_its_cluster(tmp_path: Path) -> None:
    """One that the authorities of the machine do not vouch for is asked nothing without it."""
    authority = Authority(tmp_path)
    issued = authority.issue("server", serves=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(issued.certificate, issued.key)
    script = Scripted(json({"items": [], "metadata": {"resourceVersion": "1"}}))

    async def story(url: str) -> None:
        unknown = cluster(url, token="s3cret")
        with pytest.raises(OutsideError, match="certificate"):
            await unknown.read("ns", [CONFIG_MAP])
        await unknown.close()
        assert not script.asked
        for fields in ({"ca": authority.certificate.read_text()}, {"verify": False}):
            known = cluster(url, token="s3cret", **fields)
            assert (await known.read("ns", [CONFIG_MAP])).complete
            await known.close()

    play(script, story, tls)


def test_an_answer_without_end_is_cut() -> None:
    """Whatever sends it."""

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"x" * 4096)
        return response

    async def story(url: str) -> None:
        found = cluster(url, ServerLimits(bytes_max=10_000))
        with pytest.raises(OutsideError, match="more than 10000 bytes"):
            await found.read("ns", [CONFIG_MAP])
        await found.close()

    play(Scripted(endless), story)


def events(*lines: dict[str, Any]) -> Answer:
    """A watch that says this, and ends."""

    async def told(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"".join(msgspec.json.encode(each) + b"\n" for each in lines))

    return told


def test_a_watch_resumes_after_the_last_thing_it_heard() -> None:
    """An event or a bookmark; a 410 inside a good answer ends it."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    gone = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
    added = {"type": "ADDED", "object": MADE}
    script = Scripted(events(added), status(503), events(bookmark), events(gone))

    async def story(url: str) -> None:
        found = cluster(url)
        watch = found.watch("ns", CONFIG_MAP, "1")
        assert (await anext(watch)).change is ObjectEvent.ADDED
        with pytest.raises(ExpiredError, match="read anew"):
            await anext(watch)
        await found.close()
        asked = [request.query["resourceVersion"] for request in script.asked]
        assert asked == ["1", "7", "7", "9"]

    play(script, story)


def test_a_watch_that_hears_nothing_is_no_peace() -> None:
    """Not even a bookmark from its beginning to its end."""

    async def story(url: str) -> None:
        found = cluster(url)
        with pytest.raises(ExpiredError, match="not a word"):
            await anext(found.watch("ns", CONFIG_MAP, "1"))
        await found.close()

    play(Scripted(events()), story)


def test_a_watch_gives_up_on_a_server_that_stays_away() -> None:
    """With its words, after some tries in a row."""
    script = Scripted(status(503, "starting"))

    async def story(url: str) -> None:
        found = cluster(url)
        with pytest.raises(OutsideError, match="HTTP 503: starting"):
            await anext(found.watch("ns", CONFIG_MAP, "1"))
        await found.close()
        assert len(script.asked) == 4

    play(script, story)


def test_a_list_whose_pages_are_gone_is_read_from_the_beginning() -> None:
    """And is a gap if it never ends."""
    page = {"items": [MADE], "metadata": {"resourceVersion": "7", "continue": "more"}}
    last = {"items": [], "metadata": {"resourceVersion": "8"}}
    script = Scripted(json(page), status(410), json(page), json(last))

    async def story(url: str) -> None:
        found = cluster(url)
        read = await found.read("ns", [CONFIG_MAP])
        assert [each.name for each in read.objects] == ["a"]
        assert read.versions == {"ConfigMap": "8"}
        await found.close()

    play(script, story)
    never = Scripted(*[json(page), status(410)] * 3)

    async def endless(url: str) -> None:
        found = cluster(url)
        with pytest.raises(OutsideError, match="410"):
            await found.read("ns", [CONFIG_MAP])
        await found.close()

    play(never, endless)


def test_a_stream_is_waited_for_until_it_begins() -> None:
    """Then it lasts, and owes nothing; one that cannot be had was not answered."""
    said: list[str] = []

    @contextmanager
    def waiting() -> Iterator[None]:
        said.append("asked")
        try:
            yield
        except BaseException:
            said.append("no answer")
            raise
        said.append("answered")

    async def story(url: str) -> None:
        server = ApiServer(ClusterAccess(name="c", server=url), QUICK, waiting)
        async with server.listen("/log", "a log", {}, 1.0) as stream:
            assert said == ["asked", "answered"]
            assert await stream.read() == b'"a line"'
        await server.close()
        gone = ApiServer(
            ClusterAccess(name="c", server=f"http://127.0.0.1:{free_port()}"), QUICK, waiting
        )
        with pytest.raises(OutsideError):
            async with gone.listen("/log", "a log", {}, 1.0):
                pass
        await gone.close()
        assert said == ["asked", "answered", "asked", "no answer"]

    play(Scripted(json("a line")), story)
