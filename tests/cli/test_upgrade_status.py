"""`upgrades status`: an organisation on one screen, for owners and operators, at any width."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.managed import example, managed
from tests.upgraded import world
from tidegate.cli.main import cli

TOKEN = "token-of-payments"
CREDENTIALS = [{"token": TOKEN, "org": "o-payments"}]
LABELS = {
    "sector-deps.prod": "stage",
    "sector-deps.stage": "canary",
    "sector-max-parallel-upgrades.prod": "50%",
    "blocked-versions": "[,^4\\.12\\.18$",
    "version-data.inherit": "p,q",
    "version-data.publish": "r",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OCM_TOKEN", raising=False)


def status(asked: dict[str, Any], *more: str, columns: int = 80) -> Result:
    """The screen of a world."""
    Path("world.json").write_text(json.dumps(asked), encoding="utf-8")
    words = ["upgrades", "status", "--world", "world.json", *more]
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, words)


def sharing(publish: str = "o") -> dict[str, Any]:
    """Three sectors; two organisations to inherit from, of which one may not publish."""
    asked = world(
        {"name": "c1", "labels": {"sector": "canary"}, "version": "4.12.19"},
        {"name": "s1", "labels": {"sector": "stage", "soak-days": "2"}},
        {"name": "p2", "labels": {"sector": "prod", "soak-days": "5"}},
        {"name": "p1", "labels": {"sector": "prod", "soak-days": "5"}, "version": "4.12.16"},
        {"name": "free"},
        labels=LABELS,
    )
    for each, to in (("p", "o"), ("q", publish)):
        asked["orgs"].append(
            {"id": each, "name": each.upper(), "labels": {"version-data.publish": to}}
            | {"registered": False}
        )
    return asked


def test_everything_an_organisation_declares_is_on_the_screen() -> None:
    """What goes first stands first; a pattern that cannot be read says so."""
    found = status(sharing())
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].startswith("upgrades/prod/o · O · 5 clusters")
    assert any(line.startswith("blocks versions    [  cannot be read: ") for line in lines)
    assert "                   ^4\\.12\\.18$  4.12.18, offered to 5 clusters" in lines
    assert "inherits soak of   p (P)" in lines
    assert "                   q (Q)" in lines
    assert "publishes soak to  r" in lines
    sectors = lines.index("SECTOR  DEPENDS ON  MAX PARALLEL  CLUSTERS  VERSIONS")
    assert [line.split() for line in lines[sectors + 1 : sectors + 4]] == [
        ["canary", "-", "-", "1", "4.12.19", "(1);", "declared", "by", "stage", "alone"],
        ["stage", "canary", "-", "1", "4.12.17", "(1)"],
        ["prod", "stage", "50%", "2", "4.12.16", "(1),", "4.12.17", "(1)"],
    ]
    rows = [line.split()[0] for line in lines[sectors + 6 :] if line and line[0] != " "]
    assert rows == ["c1", "s1", "p1", "p2", "free"]


def test_soak_that_is_not_published_does_not_count() -> None:
    """Nor does that of another, until all agree: each says its side."""
    found = status(sharing(publish="another"))
    assert (
        "inherits soak of   p (P)  does not count until all of them publish to it" in found.stdout
    )
    assert "q (Q)  does not publish to it: ask its owner to" in found.stdout
    assert "✗ label sre-capabilities.aus.version-data.inherit: q do not publish" in found.stdout
    (org,) = json.loads(status(sharing("another"), "-o", "json").stdout)["items"]
    assert [(each["org"], each["publishes"], each["counts"]) for each in org["inherits"]] == [
        ("p", True, False),
        ("q", False, False),
    ]


def test_sectors_that_wait_for_each_other_say_so() -> None:
    """In the row of the sector."""
    asked = world({"name": "a", "labels": {"sector": "x"}}, labels=dict.fromkeys(("x", "y"), ""))
    asked["orgs"][0]["labels"] = {"sector-deps.x": "y", "sector-deps.y": "x"}
    found = " ".join(status(asked).stdout.split())
    assert "waits for ever: x, y wait for each other" in found


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
@pytest.mark.parametrize("more", [[], ["-o", "wide"]])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    columns: int, more: list[str]
) -> None:
    """The same words at every width."""
    asked = sharing(publish="another")
    asked["clusters"][0]["labels"]["soak-days"] = "two"
    narrow, whole = status(asked, *more, columns=columns), status(asked, *more, columns=1000)
    assert max(map(len, narrow.stdout.splitlines())) <= columns
    assert "…" not in narrow.stdout
    said, all_of_it = (
        sorted(set(each.stdout.split()) - {"WHY", "VERSIONS"}) for each in (narrow, whole)
    )
    assert said == all_of_it


def test_an_owner_sees_their_organisation_with_their_token_alone() -> None:
    """And which organisations they cannot see."""
    document = example(credentials=CREDENTIALS)
    document["orgs"][0]["labels"]["version-data.inherit"] = "o-elsewhere"
    Path("token").write_text(TOKEN, encoding="utf-8")
    with managed(document) as manager:
        words = ["upgrades", "status", "--ocm-url", manager.url, "--token", "file:token"]
        found = CliRunner(env={"COLUMNS": "80"}).invoke(cli, words)
        assert manager.writes == []
    assert found.exit_code == 0, found.output
    assert "inherits soak of   o-elsewhere  not visible to you: assumed to publish" in found.stdout
    assert "pay-prod-1" in found.stdout
    assert "maps" not in found.stdout
    assert "soak is not known to you" in found.stderr


def test_the_status_of_rollouts_is_another_command() -> None:
    """`tidegate status` stays what it was."""
    found = CliRunner().invoke(cli, ["status", "--help"])
    assert found.output.startswith("Usage: cli status [OPTIONS]")
    assert "--world" not in found.output
