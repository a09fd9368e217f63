"""Keys of an issuer: read once, again when they change, and kept while it does not answer."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.api.listener import listening_app
from tests.oidc.small_issuer import CLIENT, SmallIssuer
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.oidc.command_line import device_login
from tidegate.oidc.identity import IssuerSettings, LoginRefusedError
from tidegate.oidc.issuer import AGAIN, FRESH, KEPT, DeviceCode, Issuer


class MovedClock:
    """The machine's clock, moved on by hand."""

    def __init__(self) -> None:
        self.ahead = 0

    def now(self) -> Instant:
        """The time."""
        return Instant(SystemClock().now() + self.ahead)


@pytest.fixture
def small() -> Iterator[SmallIssuer]:
    """An issuer that answers, and whose tokens last two days."""
    made = SmallIssuer()
    made.lasts_s = 2 * 24 * 3600
    with listening_app(made.app) as url:
        made.url = url
        yield made


def client_of(small: SmallIssuer, clock: MovedClock) -> Issuer:
    """A client of it."""
    return Issuer(IssuerSettings(issuer=small.url, client_id=CLIENT), clock)


def test_keys_are_read_once_and_again_when_they_change(small: SmallIssuer) -> None:
    """A token with an unknown key makes them be read again, but not for every such token."""
    clock = MovedClock()
    issuer = client_of(small, clock)

    async def story() -> None:
        old = small.token()
        for _ in range(3):
            await issuer.identity(old)
        assert small.asked == ["metadata", "keys"]
        clock.ahead += AGAIN
        small.rotate("k2")
        await issuer.identity(small.token())
        assert small.asked.count("keys") == 2
        # The key that was withdrawn is not trusted any more, and many such tokens ask once.
        for _ in range(5):
            with pytest.raises(LoginRefusedError):
                await issuer.identity(old)
        assert small.asked.count("keys") == 2
        clock.ahead += FRESH
        await issuer.identity(small.token())
        await asyncio.sleep(0)  # old keys are read again beside the request
        assert issuer._reading is not None
        await issuer._reading
        assert small.asked.count("keys") == 3

    asyncio.run(story())


def test_an_issuer_that_is_down_keeps_known_logins_and_takes_no_new_ones(
    small: SmallIssuer,
) -> None:
    """For as long as its keys are not older than a day."""
    clock = MovedClock()
    issuer = client_of(small, clock)

    async def story() -> None:
        known = small.token()
        await issuer.identity(known)
        small.is_down = True
        clock.ahead += FRESH + 1
        assert (await issuer.identity(known)).name == "ann@example.com"
        assert issuer._reading is not None
        await issuer._reading
        assert (await issuer.identity(known)).name == "ann@example.com"
        clock.ahead += AGAIN
        small.rotate("k2")
        with pytest.raises(OutsideError, match="HTTP 503"):
            await issuer.identity(small.token())
        clock.ahead += KEPT
        with pytest.raises(OutsideError, match="HTTP 503"):
            await issuer.identity(known)
        small.is_down = False
        clock.ahead += AGAIN
        assert (await issuer.identity(small.token())).name == "ann@example.com"
        fresh = client_of(small, clock)
        small.is_down = True
        with pytest.raises(OutsideError, match="HTTP 503"):
            await fresh.identity(known)

    asyncio.run(story())


@pytest.mark.parametrize(
    "metadata, said",
    [
        ({"issuer": "https://evil.example"}, "says that it is"),
        ({"token_endpoint": "http://evil.example/token"}, "no https address"),
        ({"jwks_uri": 7}, "none of an issuer"),
    ],
)
def test_an_issuer_that_is_another_is_not_used(
    small: SmallIssuer, metadata: dict[str, object], said: str
) -> None:
    """Neither its name nor where it sends secrets to may differ."""
    small.metadata = metadata
    with pytest.raises(OutsideError, match=said):
        asyncio.run(client_of(small, MovedClock()).metadata())


def test_an_address_without_an_issuer_is_an_error_of_ours() -> None:
    """Not reached: what, and why."""
    issuer = Issuer(IssuerSettings(issuer="http://127.0.0.1:9", client_id="x"), MovedClock())
    with pytest.raises(OutsideError, match=r"http://127.0.0.1:9: cannot be asked"):
        asyncio.run(issuer.metadata())


def test_a_device_login_asks_until_it_is_done(small: SmallIssuer) -> None:
    """Pausing as it is told; and it ends, if no person ever logs in."""
    pauses: list[float] = []
    shown: list[DeviceCode] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def story() -> None:
        issuer = client_of(small, MovedClock())
        small.pending = 2
        given = await device_login(issuer, CLIENT, shown.append, sleep)
        assert (await issuer.identity(given.id_token)).name == "ann@example.com"
        assert (pauses, shown[0].user_code) == ([1.0, 1.0, 1.0], "ABCD")
        small.pending = 1000
        with pytest.raises(OutsideError, match="no login in time"):
            await device_login(issuer, CLIENT, shown.append, sleep)
        assert len(pauses) == 3 + 60

    asyncio.run(story())
