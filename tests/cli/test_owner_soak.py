"""Owners see the soak that the service publishes: with their token, and nothing told by hand."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.managed import Managed, example, managed
from tests.patience import ended, happened
from tidegate.api.app import local_probes, make_app
from tidegate.api.server import AppServer
from tidegate.cli.main import cli
from tidegate.kinds.upgrades.api.soak import soak_routes
from tidegate.kinds.upgrades.app.owners.soak_address import LABEL
from tidegate.kinds.upgrades.app.soak import published
from tidegate.wiring import clock, open_store

TOKEN = "token-of-payments"
CREDENTIALS = [
    {"client_id": "tidegate", "client_secret": "simulated"},
    {"token": TOKEN, "org": "o-payments"},
]
SOAKED = {
    "check_in": "2026-03-02T07:50:00Z",
    "versions": {"4.16.4": {"workloads": {"payments": {"soak_days": 1.25, "reporting": []}}}},
}
ELSEWHERE = {
    "check_in": "2026-03-02T07:50:00Z",
    "versions": {"4.16.4": {"workloads": {"payments": {"soak_days": 2.5, "reporting": []}}}},
}


def tidegate(*arguments: str) -> Result:
    """Call it as a user does."""
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OCM_TOKEN", raising=False)
    monkeypatch.setenv("OCM_SECRET", "simulated")


@contextmanager
def publishing(ear: socket.socket) -> Iterator[None]:
    """The service's own answers to /soak, from the journal here."""
    ready, stops = Event(), list[Any]()

    async def serve() -> None:
        store = open_store("t.db")
        probes = local_probes(ill=list, missing=list, metrics=lambda: b"", version={})
        server = AppServer(make_app(probes, soak_routes(published(store, clock()))))
        loop = asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(server.stop))
        ready.set()
        await server.serve([ear])
        store.close()

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    happened(ready, "the soak is published")
    try:
        yield
    finally:
        stops[0]()
        ended(thread)


def serve_once(manager: Managed, soak_url: str, *more: str) -> Result:
    """One round of the service, which has soak from before."""
    orgs = [
        {"id": "o-payments", "name": "Payments", "environment": "prod"},
        {"id": "o-maps", "name": "Maps", "environment": "prod"},
    ]
    document = {"environments": [manager.environment(soakUrl=soak_url)], "organizations": orgs}
    Path("upgrades.yaml").write_text(json.dumps(document), encoding="utf-8")
    soak = {"prod/o-payments": SOAKED, "prod/o-maps": ELSEWHERE}
    Path("soak.json").write_text(json.dumps(soak), encoding="utf-8")
    database = ("--database", "t.db")
    imported = tidegate(
        "upgrades", "soak", "import", "soak.json", "--create", "--reason", "x", *database
    )
    assert imported.exit_code == 0, imported.output
    serves = ("--kind", "upgrades", "--upgrades", "upgrades.yaml")
    return tidegate("run", "--once", *serves, *database, *more)


def of_an_owner(manager: Managed, *words: str) -> Result:
    """A command with an owner's token, and nothing else."""
    Path("token").write_text(TOKEN, encoding="utf-8")
    return tidegate(*words, "--ocm-url", manager.url, "--token", "file:token")


def days(found: Result) -> dict[str, dict[str, float]]:
    """What each cluster's versions have soaked, by the report."""
    assert found.exit_code == 0, found.output
    (org,) = json.loads(found.stdout)["organizations"]
    return {
        each["cluster"]: {one["version"]: one["soakDays"] for one in each["soaking"]}
        for each in org["clusters"]
    }


def labels_of(manager: Managed) -> list[str]:
    """The addresses that were written."""
    writes = (each for each in manager.writes if each.status < 300)
    return [each.body["value"] for each in writes if each.body.get("key") == LABEL]


def test_an_owner_sees_the_soak_of_the_service_and_how_old_it_is() -> None:
    """The same days as the operator sees, from an address that the service wrote itself."""
    document = example(credentials=CREDENTIALS)
    document["orgs"][0]["labels"]["version-data.inherit"] = "o-maps"
    document["orgs"][1]["labels"] = {"version-data.publish": "o-payments"}
    with managed(document) as manager, socket.create_server(("127.0.0.1", 0)) as ear:
        base = f"http://127.0.0.1:{ear.getsockname()[1]}"
        before = of_an_owner(manager, "upgrades", "report", "-o", "json")
        assert "soak is not known to you" in before.stderr
        assert set(days(before)["pay-prod-1"].values()) == {0}
        assert serve_once(manager, base, "--act", "upgrades/*").exit_code == 0
        assert sorted(labels_of(manager)) == [
            f"{base}/soak/prod/o-maps",
            f"{base}/soak/prod/o-payments",
        ]
        with publishing(ear):
            own = of_an_owner(manager, "upgrades", "report", "-o", "json")
            why = of_an_owner(manager, "why", "pay-prod-1")
        served = tidegate(
            *("upgrades", "report", "--recorded", "--org", "o-payments", "--database", "t.db"),
            *("-o", "json"),
        )
    assert days(own) == days(served)
    assert days(own)["pay-prod-1"]["4.16.4"] == 3.75, "with what is inherited"
    assert "note: soak of o-payments as of the last look, " in own.stderr
    assert "assumed to publish" not in own.stderr
    assert "payments has run 3.75 of 5 cluster-days on 4.16.4" in why.stdout


def test_soak_of_others_is_published_only_where_they_agree() -> None:
    """Inheriting alone shows nothing of another organisation."""
    document = example(credentials=CREDENTIALS)
    document["orgs"][0]["labels"]["version-data.inherit"] = "o-maps"
    with managed(document) as manager:
        assert serve_once(manager, "https://tidegate.example").exit_code == 0
    store = open_store("t.db")
    read = published(store, clock())
    assert set(read("prod/o-payments")) == {"prod/o-payments"}
    assert set(read("")) == {"prod/o-payments", "prod/o-maps"}
    assert read("prod/o-nobody") == {}
    store.close()


def test_the_address_is_written_once_and_only_by_a_service_that_acts() -> None:
    """A label that is right is left alone."""
    with managed(example(credentials=CREDENTIALS)) as manager:
        assert serve_once(manager, "https://tidegate.example").exit_code == 0
        assert labels_of(manager) == []
        Path("t.db").unlink()
        for _ in range(2):
            assert serve_once(manager, "https://tidegate.example", "--act", "*").exit_code == 0
            assert len(labels_of(manager)) == 2
            Path("t.db").unlink()


def test_an_address_that_does_not_answer_is_an_error_and_no_soak_is_guessed() -> None:
    """The owner learns which address, and that 0 is not what has soaked."""
    with managed(example(credentials=CREDENTIALS)) as manager:
        with socket.create_server(("127.0.0.1", 0)) as ear:
            base = f"http://127.0.0.1:{ear.getsockname()[1]}"
        assert serve_once(manager, base, "--act", "*").exit_code == 0
        found = of_an_owner(manager, "get", "clusters")
    assert found.exit_code == 1
    assert f"Error: soak cannot be read: {base}/soak/prod/o-payments: " in found.stderr
    assert "note: soak is shown as 0" in found.stderr
