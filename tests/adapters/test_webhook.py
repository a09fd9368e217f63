"""The webhook against a real receiver on the loopback: refusals, silence, and what it is sent."""

import asyncio
import json
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.patience import patiently
from tests.picture_key import LINKS
from tidegate.api.server import AppServer, bind
from tidegate.explain.notice import Notice, NoticeKind
from tidegate.model.errors import OutsideError
from tidegate.notify.webhook import ATTEMPTS_MAX, TEXT_MAX, Webhook, text_of

TEMPLATE = "${rollout} ${revision} ${what}: ${why}"
STOP = Notice(
    "simulated/demo", NoticeKind.STOP, "v2", ("stopped",), "2 failures, 0 allowed", ("@v2/stop/x",)
)


class Receiver:
    """Answers as it is asked to, and keeps what it got."""

    def __init__(self, *codes: int, delay_s: float = 0.0) -> None:
        self.codes = list(codes)
        self.delay_s = delay_s
        self.got: list[dict[str, str]] = []
        self.types: list[str] = []

    async def take(self, request: Request) -> Response:
        """One post."""
        self.got.append(json.loads(await request.body()))
        self.types.append(request.headers["content-type"])
        await asyncio.sleep(self.delay_s)
        code = self.codes.pop(0) if self.codes else 200
        return Response(status_code=code, headers={"location": "/elsewhere"})


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[str]:
    """Its address; the path is a secret."""
    with bind("127.0.0.1", 0) as ear:
        server = AppServer(Starlette(routes=[Route("/s3cret", receiver.take, methods=["POST"])]))
        task = asyncio.create_task(server.serve([ear]))
        try:
            yield "http://{}:{}/s3cret".format(*ear.getsockname())
        finally:
            server.stop()
            await task


def send(receiver: Receiver, timeout_s: float = 10.0) -> None:
    """Send one notice, with pauses too short to notice."""

    async def sending() -> None:
        async with receiving(receiver) as url:
            await Webhook(url, TEMPLATE, timeout_s, pause_first_s=0.001).send(STOP)

    patiently(sending())


def test_it_posts_what_slack_takes() -> None:
    """One object with a text, as JSON."""
    receiver = Receiver()
    send(receiver)
    assert receiver.got == [{"text": "simulated/demo v2 stopped: 2 failures, 0 allowed"}]
    assert receiver.types == ["application/json"]


def test_a_picture_is_a_field_and_stands_below_the_text() -> None:
    """A template may have a place of its own for it; no address, no picture."""
    receiver = Receiver()
    notice = replace(STOP, entry=17)

    async def sending() -> None:
        async with receiving(receiver) as url:
            for template in (TEMPLATE, "${what} ${picture} now"):
                await Webhook(url, template, 10.0, LINKS).send(notice)
            await Webhook(url, TEMPLATE, 10.0).send(notice)

    patiently(sending())
    link = LINKS.of_entry("simulated/demo", 17)
    plain = "simulated/demo v2 stopped: 2 failures, 0 allowed"
    assert receiver.got == [
        {"text": f"{plain}\n{link}", "picture": link},
        {"text": f"stopped {link} now", "picture": link},
        {"text": plain},
    ]


def test_what_fails_for_now_is_tried_again(capfd: pytest.CaptureFixture[str]) -> None:
    """429 and 5xx pass: the same message, until it is taken; and no other is notified."""
    receiver = Receiver(429, 503, 500)
    send(receiver)
    assert capfd.readouterr() == ("", "")
    assert len(receiver.got) == 4
    assert len({each["text"] for each in receiver.got}) == 1


@pytest.mark.parametrize("code", [302, 400, 403, 404, 410])
def test_what_fails_for_good_is_not_tried_again(code: int) -> None:
    """A wrong address stays wrong; a redirect is not followed with a secret in hand."""
    receiver = Receiver(*[code] * ATTEMPTS_MAX)
    with pytest.raises(OutsideError, match=f"answered {code}: check its address"):
        send(receiver)
    assert len(receiver.got) == 1


def test_it_gives_up_in_the_end() -> None:
    """A receiver that never takes it gets so many tries, and no more."""
    receiver = Receiver(*[503] * 100)
    with pytest.raises(OutsideError, match="the webhook answered 503"):
        send(receiver)
    assert len(receiver.got) == ATTEMPTS_MAX


def test_a_receiver_that_does_not_answer_is_not_waited_for() -> None:
    """The time-out is for each try."""
    receiver = Receiver(delay_s=60)
    with pytest.raises(OutsideError, match="did not answer in time"):
        send(receiver, timeout_s=0.05)
    assert len(receiver.got) == ATTEMPTS_MAX


def test_no_error_tells_the_address() -> None:
    """With its address anyone can write into the chat."""
    with bind("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
    hook = Webhook(f"http://127.0.0.1:{port}/s3cret", TEMPLATE, 1.0, pause_first_s=0.001)
    with pytest.raises(OutsideError, match="cannot be reached") as caught:
        patiently(hook.send(STOP))
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_names_from_outside_are_no_links_and_no_mentions() -> None:
    """A target called <!channel> wakes no one up; the template's own marks stay."""
    bad = Notice("x/y", NoticeKind.FAILURE, "v2", ("<!channel>",), "a & b", ("k",))
    text = text_of(string.Template("<https://runbook|look> ${subjects}: ${why}"), bad)
    assert text == "<https://runbook|look> &lt;!channel&gt;: a &amp; b"


def test_a_long_message_is_cut() -> None:
    """Chats refuse what is too long; five subjects are named and the others counted."""
    many = tuple(f"cluster-{i}" for i in range(1000))
    one = Notice("x/y", NoticeKind.FAILURE, "v2", many, "w" * 9000, ("k",))
    assert len(text_of(string.Template("${why}"), one)) == TEXT_MAX
    named = text_of(string.Template("${subjects}"), one)
    assert named.endswith("cluster-3, cluster-4 and 995 more")
