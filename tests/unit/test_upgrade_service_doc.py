"""Who is served, read strictly: every mistake at once, each with its place and remedy."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.kinds.upgrades.core.service import Credentials, RuleSet, UpgradeService
from tidegate.kinds.upgrades.core.world import HealthCheck
from tidegate.kinds.upgrades.wire.service_doc import SERVICES, read_service
from tidegate.kinds.upgrades.wire.service_file import read_service_file
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/upgrades-file.md").read_text(encoding="utf-8")


def document(org: dict[str, Any] | None = None, **environment: Any) -> dict[str, Any]:
    """One environment, and an organisation there."""
    prod = {"name": "prod", "url": "https://ocm.example.com", **environment}
    some = {"id": "o1", "environment": "prod", **(org or {})}
    return {"environments": [prod], "organizations": [some]}


def read(written: object) -> tuple[UpgradeService, list[str], list[str]]:
    """Who is served, the mistakes, and the warnings."""
    problems = Problems()
    service = read_service(written, problems)
    return (
        service,
        [each.text() for each in problems.errors],
        [each.text() for each in problems.warnings],
    )


def test_the_page_names_every_field_there_is() -> None:
    """Its example reads, and a field that is not known is shown those that are: all on the page."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    example = yaml.safe_load(block)
    service, wrong, odd = read(example)
    assert (wrong, odd) == (
        [],
        ['exclude[0]: "o-retired" is no organisation; there are o-payments'],
    )
    (one,) = service.served()
    assert one.rules is RuleSet.STRICT
    assert one.health_checks == (HealthCheck("telemeter", True),)
    assert one.credentials == Credentials(token="file:secrets/payments")
    assert service.environments[0].prometheus == "telemeter"
    for part in (example, example["environments"][0], example["organizations"][0]):
        part["zzz"] = 1
    hints = [each.partition("known here: ")[2] for each in read(example)[1]]
    assert len(hints) == 3
    for field in ", ".join(hints).split(", "):
        assert re.search(rf"`{field}(\[\])?`", PAGE), field


def test_the_example_fits_the_simulated_fleet() -> None:
    """Every organisation of examples/ocm.yaml is served, in its environment."""
    read_file = read_service_file(ROOT / "examples/upgrades.yaml")
    world = yaml.safe_load((ROOT / "examples/ocm.yaml").read_text(encoding="utf-8"))
    assert read_file.warnings == ()
    assert {each.id for each in read_file.service.served()} == {
        each["id"] for each in world["orgs"]
    }
    assert {each.environment for each in read_file.service.served()} == {"prod"}


@pytest.mark.parametrize(
    "written, says",
    [
        ({}, "environments: missing; write a list of {name, url}"),
        (document(url=None), "environments[0].url: missing; write https://api.openshift.com"),
        (document(url="ocm"), 'environments[0].url: "ocm" is not an address; write https://'),
        (
            document({"environment": "a/b"}, name="a/b"),
            'environments[0].name: "a/b" is no name; write letters',
        ),
        (document(url="http://ocm"), "plain HTTP; write https://…, or plainHttp: true"),
        (document(tokenUrl="http://sso"), 'environments[0].tokenUrl: "http://sso" would carry'),
        (document(clientId="me"), "clientSecret: missing; a client has an id and a secret"),
        (
            document(clientId="me", clientSecret="env:X"),
            "environments[0].tokenUrl: a client needs an address",
        ),
        (document(clientId="me", token="env:X"), "token: beside a client; keep one"),
        (document(token="env:"), "token: env: of nothing; write env:NAME"),
        (document(severity="critcal"), 'did you mean "critical"?'),
        (document(addons=3), "addons: 3 is neither of its services; 1 or 2"),
        (document(prometheus=""), "prometheus: an empty text"),
        (document({"id": None}), "organizations[0].id: missing"),
        (document({"environment": "prd"}), 'no environment "prd"; did you mean "prod"?'),
        (document({"environment": None}), "organizations[0].environment: missing"),
        (document({"mode": "compt"}), 'did you mean "compat"?'),
        (document({"disabled": ["version-gate"]}), 'did you mean "version-gate-approver"?'),
        (document({"quarantineAfter": -1}), "quarantineAfter: -1 is not a whole number"),
        (document({"health": []}), "organizations[0].health: unknown field"),
        (
            document({"healthChecks": [{"provider": "telemetr"}]}, prometheus="main"),
            'healthChecks[0].provider: no provider "telemetr"; did you mean "telemeter"?',
        ),
        (
            document({"credentials": {"clientId": "me", "clientSecret": "env:X"}}),
            "organizations[0].credentials: a client needs an address",
        ),
        (
            {**document(), "organizations": document()["organizations"] * 2},
            'organizations[1]: "o1" stands at organizations[0] too; keep one',
        ),
        (
            {**document(), "environments": document()["environments"] * 2},
            'environments[1]: "prod" stands at environments[0] too; keep one',
        ),
    ],
)
def test_a_mistake_says_where_and_what_to_write(written: object, says: str) -> None:
    """Each alone, and nothing else with it."""
    _, wrong, _ = read(written)
    assert any(says in each for each in wrong), wrong
    assert len(wrong) == (2 if written == {} else 1), wrong


def test_plain_http_is_for_this_machine_or_those_who_say_so() -> None:
    """A listener in between could read what is secret."""
    assert read(document(url="http://localhost:8710"))[1] == []
    assert read(document(url="http://127.0.0.1:8710"))[1] == []
    assert read(document(url="http://ocm.svc", plainHttp=True))[1] == []


def test_a_secret_in_clear_text_is_warned_of_and_shown_nowhere() -> None:
    """It works, for it may be a simulation's; no one reads it in a message or a log."""
    service, wrong, odd = read(
        document(tokenUrl="https://sso.example.com", clientId="me", clientSecret="hush")
    )
    assert wrong == []
    (warning,) = odd
    assert warning.startswith(
        "environments[0].clientSecret: a secret that all can read; write env:"
    )
    assert service.environments[0].credentials.client_secret == "hush"
    assert "hush" not in repr(service)


def test_who_is_disabled_for_all_is_so_for_each() -> None:
    """`true` is every service, and `false` none."""
    assert read(document({"disabled": True}))[0].organizations[0].disabled == SERVICES
    assert read(document({"disabled": False}))[0].organizations[0].disabled == ()


def test_an_empty_include_serves_nothing() -> None:
    """Which is not the same as none being written."""
    assert read({**document(), "include": []})[0].served() == ()
    assert len(read(document())[0].served()) == 1


def test_health_that_is_not_known_is_warned_of() -> None:
    """One organisation's check must not keep all others from being served."""
    _, wrong, odd = read(document({"healthChecks": [{"provider": "telemeter"}]}))
    assert wrong == []
    (warning,) = odd
    assert warning.startswith("organizations[0].healthChecks: the environment prod names no Prom")


def test_a_misspelt_include_is_warned_of() -> None:
    """It would serve none without a word."""
    _, wrong, odd = read({**document({"id": "o-payments"}), "include": ["o-paymets"]})
    assert wrong == []
    assert odd == ['include[0]: "o-paymets" is no organisation; did you mean "o-payments"?']


def test_a_file_tells_the_line_of_every_problem(tmp_path: Path) -> None:
    """And a file that is not there is said to be."""
    path = tmp_path / "upgrades.yaml"
    path.write_text("environments: []\norganizations:\n  - {id: o1, enviroment: prod}\n")
    with pytest.raises(UserError) as caught:
        read_service_file(path)
    told = [each.text() for each in caught.value.problems]
    assert any(f"{path}:3:" in each and 'mean "environment"?' in each for each in told), told
    with pytest.raises(UserError, match="no such file"):
        read_service_file(tmp_path / "none.yaml")


def test_files_of_secrets_are_seen_from_the_document(tmp_path: Path) -> None:
    """Wherever the process was started."""
    path = tmp_path / "upgrades.yaml"
    path.write_text(
        "environments: [{name: prod, url: https://a, token: file:secret}]\n"
        "organizations: [{id: o, environment: prod, credentials: {token: env:T}}]\n"
    )
    service = read_service_file(path).service
    assert service.environments[0].credentials.token == f"file:{tmp_path / 'secret'}"
    assert service.organizations[0].credentials == Credentials(token="env:T")
