"""Who is served, from a bundle: the file of the settings adds what no bundle has."""

from pathlib import Path

import pytest

from tests.unit.test_bundle_upgrades import FILES, bundled
from tidegate.kinds.upgrades.core.labels.bundled import Bundled
from tidegate.kinds.upgrades.core.service import Credentials
from tidegate.kinds.upgrades.core.world import HealthCheck
from tidegate.kinds.upgrades.wire.service_file import ServiceFile, named_bundle, read_service_file
from tidegate.model.errors import UserError

WITH_MAPS = FILES["ocm/maps.yml"] + "environment: {$ref: /ocm/env.yml}\n"


def read(folder: Path, text: str, declared: Bundled | None = None) -> ServiceFile:
    """Who a file says is served, beside a bundle."""
    (folder / "upgrades.yaml").write_text(text)
    return read_service_file(
        folder / "upgrades.yaml", lambda _: bundled() if declared is None else declared
    )


def test_a_bundle_serves_its_organisations_with_secrets_from_the_file(tmp_path: Path) -> None:
    """Address, account and Prometheus from the bundle; the secret from where the file says."""
    text = """
bundle: true
environments: [{name: prod, clientSecret: env:OCM_SECRET, severity: info}]
organizations: [{name: payments, mode: compat, credentials: {token: env:T}}]
"""
    found = read(tmp_path, text, bundled(ocm__maps=WITH_MAPS))
    (prod,) = found.service.environments
    assert (prod.url, prod.token_url) == (
        "https://api.example.com",
        "https://sso.example.com/token",
    )
    assert prod.credentials == Credentials("us", "env:OCM_SECRET")
    assert (prod.severity, prod.prometheus) == ("info", "telemeter")
    payments, maps = found.service.served()
    assert (payments.id, payments.name, payments.environment) == ("o-payments", "payments", "prod")
    assert payments.rules.value == "compat"
    assert payments.disabled == ("version-gate-approver",)
    assert payments.health_checks == (HealthCheck("telemeter", True),)
    assert payments.addons
    assert payments.credentials == Credentials(token="env:T")
    assert maps.id == "o-maps"
    assert found.warnings == ()


def test_what_is_missing_is_said_with_what_to_write(tmp_path: Path) -> None:
    """A secret that is not set; an organisation's own, not used; a host without an answer."""
    with pytest.raises(UserError) as caught:
        read(tmp_path, "bundle: true\n")
    (problem,) = caught.value.problems
    assert '"prod" (ocm/env.yml:1) keeps its secret elsewhere' in problem.message
    assert problem.remedy == "write {name: prod, clientSecret: env:NAME}"
    found = read(tmp_path, "bundle: true\nenvironments: [{name: prod, token: env:T}]\n")
    told = [each.text() for each in found.warnings]
    assert any("payments has a service account of its own" in each for each in told)
    assert any("maps names no environment; it is not served" in each for each in told)
    assert [each.id for each in found.service.served()] == ["o-payments"]
    assert found.service.environments[0].credentials == Credentials(token="env:T")


def test_a_secret_is_asked_for_only_where_an_organisation_is_served_with_it(tmp_path: Path) -> None:
    """Not for whom this process leaves out."""
    assert read(tmp_path, "bundle: true\nexclude: ['*']\n").service.served() == ()
    own = "organizations: [{id: o-payments, credentials: {token: env:T}}]\n"
    assert len(read(tmp_path, f"bundle: true\n{own}").service.served()) == 1


def test_what_the_file_says_counts_over_the_bundle(tmp_path: Path) -> None:
    """Each field by itself, and the mistakes of the file stand where they are."""
    text = """
bundle: true
environments: [{name: prod, url: "https://elsewhere.example.com", token: env:T}]
organizations: [{id: o-payments, addons: false, disabled: true}]
"""
    (prod,) = (found := read(tmp_path, text).service).environments
    assert prod.url == "https://elsewhere.example.com"
    assert not found.organizations[0].addons
    assert len(found.organizations[0].disabled) == 2
    with pytest.raises(UserError, match=r"upgrades.yaml:3:.*environments\[0\].sevrity"):
        read(tmp_path, "\nbundle: true\nenvironments: [{name: prod, token: env:T, sevrity: 1}]\n")


def test_a_bundle_is_read_only_if_the_file_asks_for_it(tmp_path: Path) -> None:
    """And what cannot be read of it is warned of."""
    (tmp_path / "upgrades.yaml").write_text("environments: []\norganizations: []\n")

    def never(_: str) -> Bundled:
        raise AssertionError("nobody asked")

    assert read_service_file(tmp_path / "upgrades.yaml", never).service.organizations == ()
    found = read(tmp_path, "bundle: true\n", Bundled(gaps=("a.yml:1: no YAML",)))
    assert "a.yml:1: no YAML; who stands there is not served" in found.warnings[0].text()


@pytest.mark.parametrize("written, folder", [("true", ""), ("app-interface", "app-interface")])
def test_the_file_may_name_its_bundle(tmp_path: Path, written: str, folder: str) -> None:
    """Seen from the file; without a name it is that of the settings."""
    path, asked = tmp_path / "upgrades.yaml", list[str]()
    path.write_text(f"bundle: {written}\n")

    def read_it(name: str) -> Bundled:
        asked.append(name)
        return Bundled()

    read_service_file(path, read_it)
    assert asked == [str(tmp_path / folder) if folder else ""]
    assert named_bundle(path) == asked[0]
    path.write_text("bundle: false\nenvironments: []\norganizations: []\n")
    read_service_file(path, read_it)
    assert len(asked) == 1
    path.write_text("bundle: 3\n")
    with pytest.raises(UserError, match="3 is no bundle; write its directory, or true"):
        read_service_file(path, read_it)
