"""The way to a registry and back, on one that does everything wrong: real HTTP, no mocks."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.patience import patiently
from tests.serving import answering
from tidegate.model.errors import OutsideError
from tidegate.registry.client.registry import Lives, OciRegistry
from tidegate.registry.client.requests import RegistryLimits
from tidegate.registry.client.signature import read_config, sign
from tidegate.registry.document import Challenge, ConfigLogin, DockerConfig, RegistryServer, server

FAST = RegistryLimits(timeout_s=0.3, total_s=1.5, pause_s=0.01, rest_s=60, bytes_max=20_000)
BODY = b'{"schemaVersion": 2}'
DIGEST = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Fake:
    """A registry with one image, until a test lets it misbehave."""

    def __init__(self, instead: Answering | None = None) -> None:
        self.requests: list[web.Request] = []
        self.at_once = self.most_at_once = 0
        # None: as it should.
        self.instead = instead
        self.address = ""
        self.now_s = 1000.0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request, counted."""
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0.01)
            return await (self.instead or well)(request)
        finally:
            self.at_once -= 1

    @property
    def asked(self) -> list[str]:
        """What was asked, in order."""
        return [f"{each.method} {each.path_qs}" for each in self.requests]


async def well(_request: web.Request) -> web.StreamResponse:
    """What a registry in good health says."""
    return web.Response(body=BODY, headers={"Docker-Content-Digest": DIGEST})


def always(status: int, **headers: str) -> Answering:
    """The same answer to everything."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, headers=named, body=BODY)

    return answer


@asynccontextmanager
async def serving(fake: Fake) -> AsyncIterator[Fake]:
    """The fake on a port of this machine."""
    async with answering(fake.answer) as address:
        fake.address = address
        yield fake


def told(
    fake: Fake,
    story: Callable[[OciRegistry, str], Awaitable[object]],
    auth_file: Path | None = None,
    limits: RegistryLimits = FAST,
) -> object:
    """What comes of a story; the text of an error, if it is one."""

    async def run() -> object:
        async with serving(fake):
            servers = [server(fake.address)]
            registry = OciRegistry(servers, auth_file, limits, Lives(), lambda: fake.now_s)
            try:
                return await story(registry, f"{fake.address}/a/b")
            except OutsideError as error:
                return str(error).removeprefix(fake.address)
            finally:
                await registry.close()

    return patiently(run())


def digest(fake: Fake, tag: str = "ed21267") -> object:
    return told(fake, lambda registry, at: registry.digest(f"{at}:{tag}"))


def test_a_tag_costs_one_question_without_a_body() -> None:
    fake = Fake()
    assert digest(fake) == DIGEST
    assert fake.asked == ["HEAD /v2/a/b/manifests/ed21267"]
    accepted = fake.requests[0].headers["Accept"]
    assert "image.index.v1" in accepted
    assert "manifest.list.v2" in accepted


def test_what_fails_in_passing_is_asked_again() -> None:
    fake = Fake()

    async def second(request: web.Request) -> web.StreamResponse:
        return await (well if len(fake.requests) > 1 else always(503))(request)

    fake.instead = second
    assert digest(fake) == DIGEST
    assert len(fake.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_registry_that_stays_broken_is_left_alone_for_a_while(status: int) -> None:
    """A thousand images then cost one wait, and not a thousand."""
    fake = Fake(always(status))

    async def story(registry: OciRegistry, at: str) -> list[int]:
        counts = []
        for wait_s in (0.0, 0.0, 61.0):
            fake.now_s += wait_s
            with pytest.raises(OutsideError, match=rf"HTTP {status} \(3 tries\)"):
                await registry.digest(f"{at}:ed21267")
            counts.append(len(fake.requests))
        return counts

    assert told(fake, story) == [3, 3, 6]


def test_a_registry_that_hangs_is_given_up() -> None:
    async def hang(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    assert digest(Fake(hang)) == ": no answer in 0.3 s (3 tries)"


def test_nothing_there_is_an_error_that_names_the_registry() -> None:
    async def story() -> None:
        registry = OciRegistry([server("127.0.0.1:1")], None, FAST)
        with pytest.raises(OutsideError, match=r"^127\.0\.0\.1:1: cannot be asked: "):
            await registry.digest("127.0.0.1:1/a/b:c")
        await registry.close()

    patiently(story())


def test_without_the_header_a_digest_is_worked_out() -> None:
    fake = Fake(always(200))
    assert digest(fake) == DIGEST
    assert [each.partition(" ")[0] for each in fake.asked] == ["HEAD", "GET"]


@pytest.mark.parametrize(
    "instead, wanted",
    [
        (always(200, Docker_Content_Digest="latest"), ': "latest" is no digest'),
        (always(200, Docker_Content_Digest="sha256:12"), ': "sha256:12" is no digest'),
        (always(307, Location="http://127.0.0.1:1/"), ": HTTP 307, which is no answer"),
        (always(204), ": HTTP 204, which is no answer"),
        (always(401), ": HTTP 401, and it does not say how to sign in"),
        (always(401, WWW_Authenticate="Digest x=y"), ": HTTP 401, and it does not say how"),
        (always(403), ": HTTP 403 for a/b; "),
        (
            always(401, WWW_Authenticate='Bearer realm="ftp://x/"'),
            ': it wants a login sent to "ftp',
        ),
        (always(401, WWW_Authenticate="Bearer"), ": it wants a login sent to "),
    ],
)
def test_what_is_no_answer_is_an_error_at_once(instead: Answering, wanted: str) -> None:
    fake = Fake(instead)
    found = digest(fake)
    assert str(found).startswith(wanted)
    assert len(fake.requests) == 1


def test_an_answer_that_never_ends_is_cut() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        if request.method == "HEAD":
            return web.Response()
        return web.Response(body=b"x" * 30_000)

    assert digest(Fake(flood)) == ": an answer of more than 20000 bytes"


def test_answers_are_remembered_for_as_long_as_their_tag_deserves() -> None:
    """One build for an hour, a tag that moves for a minute, what is not there for half of one."""

    async def story(fake: Fake, tag: str) -> list[int]:
        async with serving(fake):
            registry = OciRegistry([server(fake.address)], None, FAST, Lives(), lambda: fake.now_s)
            counts = []
            for wait_s in (0, 29, 2, 30, 3540, 60):
                fake.now_s += wait_s
                await registry.digest(f"{fake.address}/a/b:{tag}")
                counts.append(len(fake.requests))
            await registry.close()
            return counts

    assert patiently(story(Fake(), "ed21267")) == [1, 1, 1, 1, 2, 2]
    assert patiently(story(Fake(), "latest")) == [1, 1, 1, 2, 3, 4]
    assert patiently(story(Fake(always(404)), "ed21267")) == [1, 1, 2, 3, 4, 5]


def test_the_memory_has_an_end() -> None:
    fake = Fake()

    async def story() -> int:
        async with serving(fake):
            lives = Lives(kept_max=2)
            registry = OciRegistry([server(fake.address)], None, FAST, lives, lambda: 0.0)
            for tag in ("aaaaaaa", "bbbbbbb", "ccccccc", "ccccccc", "bbbbbbb", "aaaaaaa"):
                await registry.digest(f"{fake.address}/a/b:{tag}")
            await registry.close()
            return len(fake.requests)

    assert patiently(story()) == 4


def test_no_more_is_asked_at_once_than_the_limit() -> None:
    fake = Fake()

    async def story(registry: OciRegistry, at: str) -> None:
        await asyncio.gather(*(registry.digest(f"{at}:{i:07x}") for i in range(40)))

    told(fake, story)
    assert len(fake.requests) == 40
    assert fake.most_at_once <= FAST.concurrency_max


def test_the_next_page_of_tags_leads_nowhere_else() -> None:
    """Only the query of a link is followed, and not for ever."""
    fake = Fake()

    async def answer(request: web.Request) -> web.StreamResponse:
        head = {"Link": '<http://127.0.0.1:1/v2/other/tags/list?n=1000&last=x>; rel="next"'}
        return web.json_response({"tags": [f"t{len(fake.requests)}"]}, headers=head)

    fake.instead = answer
    assert told(fake, lambda r, at: r.tags(at)) == ("t1", "t2", "t3", "t4", "t5")
    assert fake.asked[0] == "GET /v2/a/b/tags/list?n=1000"
    assert set(fake.asked[1:]) == {"GET /v2/a/b/tags/list?n=1000&last=x"}


def test_an_unreadable_list_of_tags_is_an_error() -> None:
    fake = Fake(always(200))
    fake.instead = lambda _request: _text("[1]")
    assert told(fake, lambda r, at: r.tags(at)) == ": its list of tags cannot be read"


async def _text(text: str) -> web.StreamResponse:
    return web.Response(text=text)


@pytest.mark.parametrize("body", ["", "{}", '{"token": ""}', '{"token": "a\\nb"}', '{"token": 5}'])
def test_a_token_that_cannot_be_used_is_an_error(body: str) -> None:
    fake = Fake()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return web.Response(text=body)
        realm = f'Bearer realm="http://{fake.address}/token"'
        return web.Response(status=401, headers={"WWW-Authenticate": realm})

    fake.instead = answer
    assert digest(fake) == ": it handed out no token that can be used"


def test_a_login_is_never_sent_in_plain_text_for_a_registry_behind_tls() -> None:
    """Nor is anything fetched from there: the answer could be anyone's."""

    async def fetch(_url: str, _head: object) -> bytes:
        raise AssertionError("fetched")

    config = DockerConfig(auths={"quay.io": ConfigLogin(username="u", password="hidden")})
    asked = Challenge("bearer", "http://quay.io/token", "quay.io")
    with pytest.raises(OutsideError, match="which is not done") as error:
        patiently(
            sign(config, RegistryServer("quay.io", "https://quay.io"), "a/b", asked, fetch, 0)
        )
    assert "hidden" not in str(error.value)


def test_a_file_of_logins_that_cannot_be_read_says_so_and_shows_nothing(tmp_path: Path) -> None:
    assert read_config(None) == DockerConfig()
    (tmp_path / "text").write_text('{"auths": "hidden"}')
    (tmp_path / "long").write_bytes(b" " * (1024 * 1024 + 1))
    for name, wanted in (
        ("missing", "cannot be read: No such file"),
        ("text", "is no docker config file"),
        ("long", "is longer than"),
    ):
        with pytest.raises(OutsideError, match=wanted) as error:
            read_config(tmp_path / name)
        assert "hidden" not in str(error.value)


def test_an_image_elsewhere_is_not_asked_about() -> None:
    registry = OciRegistry([server("quay.io")])
    assert registry.asks("quay.io/a/b:c")
    assert not registry.asks("quay.io/a/b@sha256:12")
    assert not registry.asks("quay.io.example/a/b:c")
    assert not registry.asks("a/b:c")
    assert OciRegistry([server("docker.io")]).asks("busybox:1")
