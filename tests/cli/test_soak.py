"""What versions have soaked, taken over from elsewhere and handed on, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.upgrades_live import Scene, example
from tidegate.cli.main import cli
from tidegate.kinds.upgrades.app.soak import published
from tidegate.kinds.upgrades.core.rules.soak import DAY
from tidegate.wiring import clock, open_store

BEFORE = {
    "check_in": "2026-03-02T07:00:00Z",
    "versions": {
        "4.16.4": {"workloads": {"payments": {"soak_days": 6.5, "reporting": ["pay-stage-1"]}}}
    },
}


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A journal of some hours."""
    name = str(tmp_path / "t.db")
    scene = Scene(example(), store=open_store(name))
    scene.live(4)
    scene.store.close()
    return name


def tidegate(*arguments: str) -> Result:
    """Call it as a user does."""
    return CliRunner().invoke(cli, list(arguments))


def exported(database: str) -> dict[str, Any]:
    """What is handed on."""
    done = tidegate("soak", "export", "--database", database)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_handed_on_can_be_taken_over_whole(database: str, tmp_path: Path) -> None:
    """Another journal then knows the same, who was seen when included; as one file, and as many."""
    found = exported(database)
    assert set(found) == {"prod/o-payments", "prod/o-maps"}
    file = tmp_path / "soak.json"
    file.write_text(json.dumps(found))
    folder = tmp_path / "state"
    assert tidegate("soak", "export", "--to", str(folder), "--database", database).exit_code == 0
    for number, source in enumerate((file, folder)):
        other = str(tmp_path / f"other{number}.db")
        said = tidegate(
            "soak", "import", str(source), "--create", "--reason", "moving", "--database", other
        )
        assert said.exit_code == 0, said.output
        assert exported(other) == found


def test_what_the_existing_service_kept_goes_on_soaking(tmp_path: Path) -> None:
    """A cluster that reported there counts as seen at its last look."""
    name, file = str(tmp_path / "t.db"), tmp_path / "o-payments"
    file.write_text(json.dumps(BEFORE))
    said = tidegate(
        "soak",
        "import",
        str(file),
        "--create",
        "--org",
        "prod/o-payments",
        "--reason",
        "x",
        "--database",
        name,
    )
    assert said.exit_code == 0, said.output
    assert "1 version, 6.50 days" in said.stderr
    document = example()
    document["clusters"][0]["version"] = "4.16.4"
    scene = Scene(document, store=open_store(name))
    scene.live(1)
    days = scene.known("upgrades/prod/o-payments").ledger.days["4.16.4", "payments"] / DAY
    assert days == pytest.approx(6.5 + 2 / 24, abs=0.01), "the hour before counts, and this one"
    scene.store.close()


def test_nothing_that_has_soaked_is_replaced_unasked(database: str, tmp_path: Path) -> None:
    """It is said what is there, and what to write."""
    file = tmp_path / "x"
    file.write_text(json.dumps(BEFORE))
    words = ("soak", "import", str(file), "--org", "prod/o-payments", "--reason", "x")
    said = tidegate(*words, "--database", database)
    assert said.exit_code != 0
    assert "--replace" in str(said.exception or said.output)
    assert tidegate(*words, "--dry-run", "--replace", "--database", database).exit_code == 0
    assert "4.16.5" not in str(exported(database)["prod/o-payments"]["versions"])
    assert tidegate(*words, "--replace", "--yes", "--database", database).exit_code == 0
    versions = exported(database)["prod/o-payments"]["versions"]
    assert versions["4.16.4"]["workloads"]["payments"]["soak_days"] == 6.5


@pytest.mark.parametrize(
    "text, words",
    [
        ("[]", "not an object"),
        ("{", "input data was truncated"),
        ('{"prod/o": {"versions": 3}}', "expected `object`"),
        ('{"versions": {}}', "environment and organisation"),
        ('{"prod/o": {"check_in": "soon"}}', "is no moment"),
        ('{"prod/o": {}}', "neither versions nor check_in"),
        ("{}", "empty"),
    ],
)
def test_what_cannot_be_read_is_not_taken_for_nothing(
    tmp_path: Path, text: str, words: str
) -> None:
    """Soak would silently be lost otherwise."""
    file = tmp_path / "x.json"
    file.write_text(text)
    database = str(tmp_path / "t.db")
    said = tidegate("soak", "import", str(file), "--reason", "x", "--database", database)
    assert said.exit_code != 0
    assert words in str(said.exception).lower()


def test_it_is_published_for_any_caller(database: str) -> None:
    """One organisation, or all there are; none where there is none."""
    store = open_store(database, writes=False)
    read = published(store, clock())
    assert set(read("")) == {"prod/o-payments", "prod/o-maps"}
    assert set(read("prod/o-maps")) == {"prod/o-maps"}
    assert read("prod/nobody") == {}
    store.close()


def test_what_add_ons_have_soaked_goes_along(tmp_path: Path) -> None:
    """By organisation and add-on: as one file, and in a folder of their own."""
    name = str(tmp_path / "t.db")
    scene = Scene(example(), store=open_store(name), addons=True)
    scene.live(4)
    scene.store.close()
    found = exported(name)
    assert set(found) == {"prod/o-payments", "prod/o-payments/logging", "prod/o-maps"}
    assert set(found["prod/o-payments/logging"]["versions"]) == {"1.2.0"}
    file, folder = tmp_path / "soak.json", tmp_path / "state"
    file.write_text(json.dumps(found))
    assert tidegate("soak", "export", "--to", str(folder), "--database", name).exit_code == 0
    assert (folder / "addons/prod/o-payments/logging").is_file()
    for number, source in enumerate((file, folder)):
        other = str(tmp_path / f"other{number}.db")
        said = tidegate(
            "soak", "import", str(source), "--create", "--reason", "moving", "--database", other
        )
        assert said.exit_code == 0, said.output
        assert exported(other) == found
