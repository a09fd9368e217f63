"""Ways to OpenShift Cluster Managers, over HTTP against the simulation."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.upgrades.cli.managers import (
    OCM_URL,
    SIGN_ON,
    Managers,
    is_own,
    own_environment,
    service_of,
)
from tidegate.kinds.upgrades.core.service import Credentials, OcmEnvironment, Registration
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.tokens import Tokens
from tidegate.kinds.upgrades.ocm.simulated.world_doc import CredentialDoc, read_world
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError, UserError
from tidegate.settings.settings import Settings, load, shown
from tidegate.simulation.fast_loop import SimulatedClock

EXAMPLES = Path(__file__).parents[2] / "examples"
WHO = (
    CredentialDoc(client_id="tidegate", client_secret="simulated"),
    CredentialDoc(client_id="maps", client_secret="theirs", org="o-maps"),
    CredentialDoc(token="mine", org="o-payments"),
)
ALL = {"o-maps", "o-payments"}


@asynccontextmanager
async def simulated() -> AsyncIterator[OcmEnvironment]:
    """The example, served, and the way to it as ourselves."""
    world = read_world(read_yaml("ocm.yaml", (EXAMPLES / "ocm.yaml").read_text()).data)
    clock = SimulatedClock(SystemClock(), world.now)
    server = ManagerServer(found(world), clock, Tokens(WHO), FaultDraw(OcmFaults()))
    with socket.create_server(("127.0.0.1", 0)) as ear:
        serving = asyncio.create_task(server.serve(ear))
        url = f"http://127.0.0.1:{ear.getsockname()[1]}"
        try:
            yield OcmEnvironment(
                name="prod",
                url=url,
                token_url=f"{url}/token",
                credentials=Credentials("tidegate", "env:OCM_SECRET"),
            )
        finally:
            server.stop()
            await serving


def settings(**flags: str) -> Settings:
    """What flags make of the defaults."""
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return load(named, {}).settings()


async def seen(environment: OcmEnvironment, env: Mapping[str, str], *of: Registration) -> set[str]:
    """Whose clusters can be seen there."""
    async with Managers(env) as managers:
        manager = managers.of(environment, *of)
        reading = await manager.subscriptions(organizations=sorted(ALL))
        return {each.organization_id for each in reading.items}


def registration(credentials: Credentials | None = None) -> Registration:
    """An organisation, with credentials of its own or without."""
    return Registration(id="o-maps", name="Maps", environment="prod", credentials=credentials)


def test_an_organisation_is_read_with_its_own_credentials(tmp_path: Path) -> None:
    """Ours see all organisations, theirs only their own; a file holds one, a variable the other."""

    async def story() -> None:
        (tmp_path / "secret").write_text("theirs\n")
        own = registration(Credentials("maps", f"file:{tmp_path / 'secret'}"))
        async with simulated() as prod:
            env = {"OCM_SECRET": "simulated"}
            assert await seen(prod, env) == ALL
            assert await seen(prod, env, registration()) == ALL
            assert await seen(prod, {}, own) == {"o-maps"}

    asyncio.run(story())


def test_the_same_credentials_share_a_client() -> None:
    """And others do not, nor another address."""

    async def story() -> None:
        prod = OcmEnvironment(
            name="prod",
            url="http://127.0.0.1:9",
            token_url="http://127.0.0.1:9/token",
            credentials=Credentials("me", "env:A"),
        )
        stage = OcmEnvironment(
            name="stage", url="http://127.0.0.1:8", credentials=Credentials("", "", "t")
        )
        async with Managers({"A": "x", "B": "x"}) as managers:
            ours = managers.of(prod)
            assert managers.of(prod, registration()) is ours
            assert managers.of(prod, registration(Credentials("me", "env:B"))) is ours
            assert managers.of(prod, registration(Credentials("you", "env:B"))) is not ours
            assert managers.of(stage) is not ours

    asyncio.run(story())


def test_missing_credentials_say_whose_and_what_to_write() -> None:
    """Before any request."""
    bare = OcmEnvironment(name="prod", url="http://127.0.0.1:9")
    client = Credentials("me", "env:NOWHERE")
    for environment, says in (
        (bare, "environment prod: no credentials; write clientId and clientSecret"),
        (OcmEnvironment(name="prod", url="http://x", credentials=client), "write tokenUrl"),
        (
            OcmEnvironment(name="prod", url="http://x", token_url="http://x", credentials=client),
            "environment prod: clientSecret: Environment variable NOWHERE is not set",
        ),
    ):
        with pytest.raises(UserError) as caught:
            Managers({}).of(environment)
        assert says in str(caught.value)


def test_a_tenant_needs_a_token_and_no_document() -> None:
    """Exchanged where that is said, and as it is where not; he sees what is his."""

    async def story() -> None:
        async with simulated() as prod:
            for more in ({}, {"ocm__tokenUrl": prod.token_url}):
                here = settings(ocm__url=prod.url, ocm__token="env:MINE", **more)
                assert is_own(here)
                own = own_environment(here, {"MINE": "mine"})
                assert own.token_url == more.get("ocm__tokenUrl", "")
                assert await seen(own, {}) == {"o-payments"}
            by_variable = own_environment(settings(ocm__url=prod.url), {"OCM_TOKEN": "mine"})
            assert await seen(by_variable, {}) == {"o-payments"}
            wrong = own_environment(settings(ocm__url=prod.url, ocm__token="guessed"), {})
            with pytest.raises(OutsideError) as caught:
                await seen(wrong, {})
            assert "guessed" not in str(caught.value)

    asyncio.run(story())


def token_of(kind: str) -> str:
    """A token that says what it is."""
    claims = base64.urlsafe_b64encode(json.dumps({"typ": kind}).encode()).decode().rstrip("=")
    return f"e30.{claims}.x"


@pytest.mark.parametrize(
    "token, flags, where",
    [
        ("opaque", {}, ""),
        ("opaque", {"ocm__tokenUrl": "https://sso"}, "https://sso"),
        (token_of("Bearer"), {"ocm__tokenUrl": "https://sso"}, ""),
        (token_of("Offline"), {}, SIGN_ON),
        (token_of("Offline"), {"ocm__tokenUrl": "https://sso"}, "https://sso"),
        ("not.base64!.x", {}, ""),
        ("a.e.c", {}, ""),
    ],
)
def test_a_token_is_exchanged_if_it_says_so(token: str, flags: Any, where: str) -> None:
    """And by default with the public service."""
    own = own_environment(settings(ocm__token=token, **flags), {})
    assert (own.url, own.token_url) == (OCM_URL, where)


@pytest.mark.parametrize(
    "flags, says",
    [
        ({}, "--token: missing; write --token env:NAME or file:PATH, or set OCM_TOKEN"),
        ({"ocm__url": "http://ocm.example.com"}, "would carry your token over plain HTTP"),
        ({"ocm__url": "ocm"}, '--ocm-url: "ocm" is not an address; write https://'),
        ({"ocm__token": "env:NO"}, "--token: Environment variable NO is not set; set it"),
        ({"ocm__token": token_of("Offline"), "ocm__url": "https://x"}, "write --token-url"),
    ],
)
def test_what_a_tenant_left_out_is_said(flags: Any, says: str) -> None:
    """Each with the flag to write."""
    with pytest.raises(UserError) as caught:
        own_environment(settings(**flags), {})
    assert says in str(caught.value)


def test_who_is_served_comes_from_the_file_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its warnings on stderr; without one, what to write is said."""
    path = tmp_path / "upgrades.yaml"
    path.write_text("environments: [{name: p, url: https://x, token: t}]\norganizations: []\n")
    here = settings(upgrades=str(path))
    assert not is_own(here)
    assert [each.name for each in service_of(here).environments] == ["p"]
    assert "a secret that all can read" in capsys.readouterr().err
    with pytest.raises(UserError, match="write --upgrades FILE"):
        service_of(settings())


def test_a_token_of_the_settings_is_shown_nowhere() -> None:
    """Neither as it is written, nor where it cannot be one."""
    assert shown("ocm.token", "hush") == "***"
    assert shown("ocm.token", "env:MINE") == "env:MINE"
    with pytest.raises(UserError) as caught:
        settings(ocm__token="two words")
    assert "two words" not in str(caught.value)
    assert "--token: no token" in str(caught.value)
