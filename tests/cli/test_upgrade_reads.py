"""`get clusters` and `why` of upgrades: over HTTP as an operator and as a tenant, and on files.

What is printed is kept in `upgrades/`; `--rewrite` writes it anew, and then it is read.
"""

import json
from collections.abc import Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.managed import NOW, Managed, example, managed
from tests.printed import printed
from tests.serving import beside
from tidegate.cli.main import cli

ROOT = Path(__file__).parents[2]
WORLD = str(ROOT / "examples/upgrade-world.yaml")
GOLDEN = Path(__file__).parent / "upgrades"
PAYMENTS, EVERYTHING = "token-of-payments", "token-that-sees-all"
CREDENTIALS = [
    {"client_id": "tidegate", "client_secret": "simulated"},
    {"token": PAYMENTS, "org": "o-payments"},
    {"token": EVERYTHING},
]
SOAKED = {
    "check_in": "2026-03-02T07:50:00Z",
    "versions": {"4.16.4": {"workloads": {"payments": {"soak_days": 1.25, "reporting": []}}}},
}


def run(*args: str, columns: int | None = None) -> Result:
    """One command, somewhere without settings."""
    env = {"COLUMNS": None if columns is None else str(columns)}
    return printed(CliRunner(env=env).invoke(cli, list(args), catch_exceptions=True))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OCM_TOKEN", raising=False)
    monkeypatch.setenv("OCM_SECRET", "simulated")


@pytest.fixture
def manager() -> Iterator[Managed]:
    """The example, with a person of one organisation and one who sees all."""
    with managed(example(credentials=CREDENTIALS)) as found:
        yield found


def served(manager: Managed, **more: Any) -> str:
    """A file that says who is served there."""
    document = {
        "environments": [manager.environment()],
        "organizations": [
            {"id": "o-payments", "name": "Payments", "environment": "prod"},
            {"id": "o-maps", "name": "Maps", "environment": "prod"},
        ],
        **more,
    }
    Path("upgrades.yaml").write_text(json.dumps(document), encoding="utf-8")
    return "upgrades.yaml"


def as_tenant(manager: Managed, token: str, *more: str) -> list[str]:
    """The flags of a person who has nothing but a token."""
    return ["--ocm-url", manager.url, "--token", token, "--now", NOW, *more]


@pytest.mark.parametrize(
    "name, columns, args",
    [
        ("clusters-80", 80, ["get", "clusters", "--world", WORLD]),
        ("clusters-160", 160, ["get", "clusters", "--world", WORLD]),
        ("clusters-org-80", 80, ["get", "clusters", "--world", WORLD, "--org", "o-payments"]),
        ("clusters-wide-160", 160, ["get", "clusters", "--world", WORLD, "-o", "wide"]),
        ("why-org-80", 80, ["why", "upgrades/prod/o-payments", "--world", WORLD]),
        ("why-all-160", 160, ["why", WORLD]),
        ("why-prod", None, ["why", WORLD, "pay-prod-1"]),
        ("why-pools", None, ["why", "cluster/pay-prod-2", "--world", WORLD]),
        ("why-aside", None, ["why", WORLD, "maps-2"]),
        ("why-under-way", None, ["why", WORLD, "maps-1-uuid"]),
        ("why-json", None, ["why", WORLD, "maps-3-id", "-o", "json"]),
        ("plan-80", 80, ["plan", "upgrades", "--world", WORLD, "--org", "o-payments"]),
        ("plan-160", 160, ["plan", "upgrades", "--world", WORLD, "--org", "o-payments"]),
        ("status-80", 80, ["upgrades", "status", "--world", WORLD]),
        ("status-160", 160, ["upgrades", "status", "--world", WORLD]),
        ("status-wide-80", 80, ["upgrades", "status", "--world", WORLD, "-o", "wide"]),
        (
            "status-yaml",
            None,
            ["upgrades", "status", "--world", WORLD, "--org", "o-maps", "-o", "yaml"],
        ),
        ("plan-both", None, ["plan", "upgrades", "--world", WORLD, "--mode", "both"]),
    ],
)
def test_what_is_printed_is_what_was_read_and_found_good(
    name: str, columns: int | None, args: list[str], request: pytest.FixtureRequest
) -> None:
    """At both widths, as a table and as a tree."""
    found = run(*args, columns=columns)
    assert (found.exit_code, found.stderr) == (0, "")
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--rewrite", default=False):
        golden.write_text(found.stdout, encoding="utf-8")
    assert found.stdout == golden.read_text(encoding="utf-8"), f"{name}: run with --rewrite"
    if columns is not None:
        assert max(map(len, found.stdout.splitlines())) <= columns


def test_an_operator_sees_all_that_are_served_and_no_other(manager: Managed) -> None:
    """Both organisations; one alone if asked for; none that is excluded; nothing is written."""
    listed = run("get", "clusters", "--upgrades", served(manager), "--now", NOW, "-o", "name")
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) == 6
    one = run("get", "clusters", "--upgrades", served(manager), "--org", "Maps", "-o", "name")
    assert one.stdout.splitlines() == ["cluster/maps-1", "cluster/maps-2"]
    less = served(manager, exclude=["o-maps"])
    assert "maps" not in run("get", "clusters", "--upgrades", less).stdout
    refused = run("get", "clusters", "--upgrades", less, "--org", "o-maps")
    assert refused.exit_code == 2
    assert 'no organisation "o-maps" is served' in refused.stderr
    assert manager.writes == []


def test_without_published_soak_an_operator_is_notified_that_none_is_known(
    manager: Managed,
) -> None:
    """And with it, how old it is; days that soaked elsewhere count."""
    asked = ["get", "clusters", "pay-prod-1", "--upgrades", served(manager), "--now", NOW]
    without = run(*asked, "-o", "json")
    assert json.loads(without.stdout)["items"][0]["soakLeftDays"] == 5
    assert "soak of o-payments is not known: shown as 0" in without.stderr
    Path("soak.json").write_text(json.dumps({"prod/o-payments": SOAKED}), encoding="utf-8")
    known = run(*asked, "--soak", "soak.json", "-o", "json")
    assert json.loads(known.stdout)["items"][0]["soakLeftDays"] == 3.75
    assert "soak of o-payments as of the last look, 2026-03-02T07:50:00Z, 10m ago" in known.stderr


@pytest.mark.parametrize(
    "token, more", [(PAYMENTS, []), (EVERYTHING, ["--org", "o-payments"])], ids=["own", "all"]
)
def test_a_tenant_sees_their_organisation_and_writes_nothing(
    manager: Managed, token: str, more: list[str]
) -> None:
    """Even if their token sees the labels of others; no document, no database is needed."""
    asked = as_tenant(manager, token, *more)
    listed = run("get", "clusters", *asked, "-o", "json")
    assert listed.exit_code == 0
    assert {each["org"] for each in json.loads(listed.stdout)["items"]} == {"o-payments"}
    assert "soak is not known to you: shown as 0" in listed.stderr
    assert "the service publishes none to your organisation" in listed.stderr
    why = run("why", "pay-prod-1", *asked)
    assert why.stdout.startswith("pay-prod-1  on 4.16.3  next 4.16.4: waits for")
    other = run("why", "cluster/maps-1", *asked)
    assert other.exit_code == 2
    assert 'no cluster "maps-1"' in other.stderr
    assert run("why", "upgrades/ocm/o-payments", *asked).exit_code == 0
    assert manager.writes == []
    assert list(Path().iterdir()) == []


def test_a_tenant_cannot_ask_for_others(manager: Managed) -> None:
    """A token belongs to one organisation; one that belongs to none must name it."""
    other = run("get", "clusters", *as_tenant(manager, PAYMENTS, "--org", "o-maps"))
    assert other.exit_code == 2
    assert "your token is of o-payments, and only that is shown" in other.stderr
    none = run("get", "clusters", *as_tenant(manager, EVERYTHING))
    assert "name one with --org" in none.stderr


def test_a_tenants_published_soak_counts_whatever_its_environment_is_called(
    manager: Managed,
) -> None:
    """It is looked up by the organisation, or is that of the organisation alone."""
    for document in ({"production/o-payments": SOAKED, "production/o-maps": {}}, SOAKED):
        Path("soak.json").write_text(json.dumps(document), encoding="utf-8")
        asked = as_tenant(manager, PAYMENTS, "--soak", "soak.json", "-o", "json")
        found = run("get", "clusters", "pay-prod-1", *asked)
        assert json.loads(found.stdout)["items"][0]["soakLeftDays"] == 3.75
        assert "soak is not known" not in found.stderr
    twice = {"stage/o-payments": SOAKED, "prod/o-payments": SOAKED}
    Path("soak.json").write_text(json.dumps(twice), encoding="utf-8")
    refused = run("get", "clusters", *as_tenant(manager, PAYMENTS, "--soak", "soak.json"))
    assert "is published under stage, prod" in refused.stderr


def test_whom_a_tenant_inherits_from_is_taken_to_publish() -> None:
    """They cannot see the labels of others, and are shown what was taken for granted."""
    document = example(credentials=CREDENTIALS)
    document["orgs"][0]["labels"]["version-data.inherit"] = "o-elsewhere"
    with managed(document) as manager:
        Path("soak.json").write_text(
            json.dumps({"prod/o-payments": SOAKED, "prod/o-elsewhere": SOAKED}), encoding="utf-8"
        )
        asked = as_tenant(manager, PAYMENTS, "--soak", "soak.json", "-o", "json")
        found = run("get", "clusters", "pay-prod-1", *asked)
        assert "inherits from o-elsewhere, not visible to you" in found.stderr
        assert json.loads(found.stdout)["items"][0]["soakLeftDays"] == 2.5


def test_soak_is_fetched_from_where_it_is_published(manager: Managed) -> None:
    """An address that answers something else is reported, and so is a file that is no history."""
    asked = as_tenant(manager, PAYMENTS)
    Path("soak.json").write_text(json.dumps(SOAKED), encoding="utf-8")
    server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    with beside(server):
        url = f"http://127.0.0.1:{server.server_port}/soak.json"
        found = run("get", "clusters", "pay-prod-1", *asked, "--soak", url)
    assert "3.75d" in found.stdout
    found = run("get", "clusters", *asked, "--soak", f"{manager.url}/nowhere")
    assert found.exit_code == 1
    assert "/nowhere: HTTP 401" in str(found.exception)
    found = run("get", "clusters", *asked, "--soak", f"{manager.url}/simulation")
    assert found.exit_code == 2
    assert "names no organisation" in str(found.exception)
    Path("soak.json").write_text('{"prod/o": {"versions": 5}}', encoding="utf-8")
    found = run("get", "clusters", *asked, "--soak", "soak.json")
    assert "prod/o: no history" in str(found.exception)
    assert "no such file" in run("get", "clusters", *asked, "--soak", "none.json").stderr


def test_clusters_that_cannot_be_read_are_listed_with_the_reason() -> None:
    """They are reported, whatever waits for them waits, and the exit code is 1."""
    world = json.dumps(
        {
            "now": NOW,
            "orgs": [{"id": "o", "name": "O"}],
            "clusters": [
                {"name": name, "org": "o", "version": "4.16.3", "available_upgrades": ["4.16.4"],
                 "labels": {"soak-days": "0", "workloads": "w", "schedule": "* * * * *",
                            "mutexes": "m"}}
                for name in ("a", "b")
            ],
            "unread": {"a-uuid": "HTTP 500"},
        }
    )  # fmt: skip
    Path("world.json").write_text(world, encoding="utf-8")
    found = run("get", "clusters", "--world", "world.json")
    assert found.exit_code == 1
    assert "Error: cluster a could not be read: HTTP 500" in found.stderr
    assert "could not be read: HTTP 500" in found.stdout
    assert "mutex m: a could not be read" in found.stdout


def test_an_environment_that_does_not_answer_keeps_nothing_from_the_others(
    manager: Managed,
) -> None:
    """The other is shown, the one that failed is reported, and the exit code is 1."""
    path = served(manager)
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    broken = {**document["environments"][0], "name": "stage", "tokenUrl": f"{manager.url}/none"}
    document["environments"].append(broken)
    document["organizations"].append({"id": "o-x", "name": "X", "environment": "stage"})
    Path(path).write_text(json.dumps(document), encoding="utf-8")
    found = run("get", "clusters", "--upgrades", path, "--now", NOW, "-o", "name")
    assert found.exit_code == 1
    assert len(found.stdout.splitlines()) == 6
    assert "Error: environment stage: " in found.stderr


def test_names_that_mean_several_or_none_are_distinguished() -> None:
    """Equal names list the external ids; a misspelt one gets the nearest."""
    cluster = {"name": "a", "org": "o", "version": "4.16.3", "labels": {"soak-days": "0"}}
    world = {
        "now": NOW,
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{**cluster, "external_id": "one"}, {**cluster, "external_id": "two"}],
    }
    Path("world.json").write_text(json.dumps(world), encoding="utf-8")
    several = run("why", "world.json", "a")
    assert several.exit_code == 2
    assert '2 clusters are called "a"' in several.stderr
    assert "one (prod/o), two (prod/o)" in several.stderr
    assert run("why", "world.json", "two").stdout.startswith("a (two)  on 4.16.3  excluded")
    nearest = run("why", WORLD, "pay-prod-3")
    assert 'no cluster "pay-prod-3"; did you mean "pay-prod-' in nearest.stderr
    org = run("why", "upgrades/prod/o-payment", "--world", WORLD)
    assert 'did you mean "upgrades/prod/o-payments"?' in org.stderr
    narrowed = run("get", "clusters", "--world", WORLD, "--org", "o-mops")
    assert 'no organisation "o-mops"; did you mean "o-maps"?' in narrowed.stderr


def test_clusters_are_chosen_by_their_labels() -> None:
    """Without their prefix, beside the organisation and the environment."""
    asked = ["get", "clusters", "--world", WORLD, "-o", "name", "-l"]
    assert run(*asked, "sector=prod").stdout.splitlines() == [
        "cluster/pay-prod-1",
        "cluster/pay-prod-2",
    ]
    assert len(run(*asked, "org=o-maps,env=prod").stdout.splitlines()) == 3
    assert "--selector" in run(*asked, "= =").stderr


def test_a_plan_says_what_would_be_written_and_writes_nothing(manager: Managed) -> None:
    """Each organisation by the rules it is served by; the writes as they would be sent."""
    path = served(manager)
    found = run("plan", "upgrades", "--upgrades", path, "--now", NOW, "-o", "json")
    assert found.exit_code == 0
    maps, payments = json.loads(found.stdout)["items"]
    assert (maps["org"], maps["mode"]) == ("o-maps", "strict")
    assert [(each["do"], each["cluster"]) for each in maps["actions"]] == [
        ("upgrade", "maps-1"),
        ("tell", "maps-2"),
    ]
    method, address, body = maps["actions"][0]["write"]
    assert (method, address) == (
        "POST",
        "/api/clusters_mgmt/v1/clusters/maps-1-id/upgrade_policies",
    )
    assert body["next_run"] == "2026-03-02T09:00:00Z"
    assert {each["rules"] for each in payments["actions"]} == {"strict"}
    assert manager.writes == []


def test_a_plan_goes_by_the_rules_an_organisation_is_served_by(manager: Managed) -> None:
    """One that is served as AUS does gets that plan, which gives no reasons."""
    rules = {"id": "o-maps", "name": "Maps", "environment": "prod", "mode": "compat"}
    path = served(manager, organizations=[rules])
    (maps,) = json.loads(
        run("plan", "upgrades", "--upgrades", path, "--now", NOW, "-o", "json").stdout
    )["items"]
    assert maps["mode"] == "compat"
    # One cluster with a bad label stops its whole organisation there.
    assert [each["do"] for each in maps["actions"]] == ["tell"]
    ours = run("plan", "upgrades", "--upgrades", path, "--now", NOW, "--mode", "strict")
    assert "upgrade  maps-1" in ours.stdout


def test_why_is_reported_by_the_rules_an_organisation_is_served_by(manager: Managed) -> None:
    """Theirs say little, and it is said how to see what ours would."""
    rules = {"id": "o-maps", "name": "Maps", "environment": "prod", "mode": "compat"}
    path = served(manager, organizations=[rules])
    asked = ["--upgrades", path, "--now", NOW]
    served_by = run("why", "maps-1", *asked)
    assert served_by.stdout.startswith("maps-1  on 4.16.3  waits  (upgrades/prod/o-maps)")
    assert "… rules  the rules of AUS ask for nothing" in served_by.stdout
    assert "note: o-maps: served by the rules of AUS" in served_by.stderr
    ours = run("why", "maps-1", *asked, "--mode", "strict")
    assert ours.stdout.startswith("maps-1  on 4.16.3  next 4.16.4: starts")
    assert "served by" not in ours.stderr
    listed = run("get", "clusters", *asked, "-o", "json")
    assert {each["why"]["gate"] for each in json.loads(listed.stdout)["items"]} == {"rules"}
    theirs = run("get", "clusters", "--world", WORLD, "--mode", "compat", "-o", "json")
    by = {each["cluster"]: each for each in json.loads(theirs.stdout)["items"]}
    assert (by["pay-prod-1"]["next"], by["pay-prod-1"]["starts"]) == ("4.16.4", True)
    # What is wrong with one organisation is not said of another.
    assert "config errors" in by["maps-1"]["why"]["message"]
    assert "no version qualifies" in by["pay-stage-2"]["why"]["message"]


def test_a_plan_of_both_says_what_we_have_against_the_other() -> None:
    """A write of AUS's alone comes with the gate of ours that is shut."""
    found = run("plan", "upgrades", "--world", WORLD, "--mode", "both", "-o", "json")
    (_, payments) = json.loads(found.stdout)["items"]
    by = {(each["do"], each["cluster"]): each for each in payments["actions"]}
    assert by["upgrade", "pay-prod-1"]["rules"] == "compat"
    assert by["upgrade", "pay-prod-1"]["why"] == (
        "ours: mutex pay-prod: pay-prod-2 is being upgraded"
    )
    assert by["agree", "pay-stage-1"]["rules"] == "both"
    # No one is notified of an agreement that is given at once.
    assert ("tell", "pay-stage-1") not in by


def test_the_journal_alone_says_how_everything_stood_at_last(manager: Managed) -> None:
    """What was read, with the soak that was kept and the brakes of now; no one is asked."""
    path = served(manager)
    Path("soak.json").write_text(json.dumps({"prod/o-payments": SOAKED}), encoding="utf-8")
    soak = ("soak", "import", "soak.json", "--create", "--reason", "r", "--database", "j.db")
    assert run(*soak).exit_code == 0
    worked = run("run", "--kind", "upgrades", "--upgrades", path, "--once", "--database", "j.db")
    assert worked.exit_code == 0, worked.output
    held = run(
        "hold", "add", "ops", "--target", "pay-prod-1", "--reason", "r", "--database", "j.db"
    )
    assert held.exit_code == 0
    calls = manager.server.calls
    found = run("get", "clusters", "--database", "j.db", "-o", "json")
    assert found.exit_code == 0
    items = {each["cluster"]: each for each in json.loads(found.stdout)["items"]}
    assert len(items) == 6
    assert items["pay-prod-1"]["soakLeftDays"] == 3.75
    assert items["pay-prod-1"]["why"]["reason"] == "Held"
    said = (
        "note: no worker is running, nothing is acted on: upgrades/prod/o-payments as of the last"
    )
    assert f"{said} look, 20" in found.stderr
    ahead = run("when", "pay-prod-1", "--database", "j.db")
    assert f"{said} look, 20" in ahead.stderr, "whatever the way to it"
    why = run("why", "pay-prod-1", "--database", "j.db")
    assert "✗ hold" in why.stdout
    assert "o-maps" not in why.stderr
    assert run("why", "upgrades/prod/o-maps", "--database", "j.db").exit_code == 0
    plan = run("plan", "upgrades", "--database", "j.db", "--org", "Maps", "-o", "json")
    assert [each["org"] for each in json.loads(plan.stdout)["items"]] == ["o-maps"]
    other = run("get", "clusters", "--database", "j.db", "--org", "o-mops")
    assert 'no organisation "o-mops"; did you mean "o-maps"?' in other.stderr
    assert manager.server.calls == calls
    assert manager.writes == []


def test_a_live_look_has_the_soak_and_the_brakes_of_the_journal(manager: Managed) -> None:
    """Unless soak was published: then that goes before."""
    Path("soak.json").write_text(json.dumps({"prod/o-payments": SOAKED}), encoding="utf-8")
    run("soak", "import", "soak.json", "--create", "--reason", "r", "--database", "j.db")
    run("hold", "add", "ops", "--everything", "--reason", "r", "--database", "j.db", "--yes")
    asked = ["get", "clusters", "pay-prod-1", "--upgrades", served(manager), "--database", "j.db"]
    found = run(*asked, "--now", NOW, "-o", "json")
    (item,) = json.loads(found.stdout)["items"]
    assert (item["soakLeftDays"], item["why"]["reason"]) == (3.75, "Held")
    assert found.stderr == ""
    more = {**SOAKED, "versions": {"4.16.4": {"workloads": {"payments": {"soak_days": 4}}}}}
    Path("soak.json").write_text(json.dumps({"prod/o-payments": more}), encoding="utf-8")
    found = run(*asked, "--now", NOW, "-o", "json", "--soak", "soak.json")
    assert json.loads(found.stdout)["items"][0]["soakLeftDays"] == 1
    missing = run("get", "clusters", "--upgrades", "upgrades.yaml", "--database", "none.db")
    assert "no such journal" in str(missing.exception)


def test_health_that_could_not_be_read_is_not_taken_for_health(manager: Managed) -> None:
    """An enforced check of which there is no Prometheus holds, and says so."""
    path = served(manager)
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    document["environments"][0]["prometheus"] = "telemeter"
    checks = [{"provider": "telemeter", "enforced": True}]
    document["organizations"][1]["healthChecks"] = checks
    Path(path).write_text(json.dumps(document), encoding="utf-8")
    found = run("why", "maps-1", "--upgrades", path, "--now", NOW)
    assert "its health could not be read from telemeter" in found.stdout


def test_nothing_says_where_clusters_are() -> None:
    """The three ways to say it are named."""
    found = run("get", "clusters")
    assert found.exit_code == 2
    assert "--upgrades FILE" in found.stderr
    assert "--ocm-url URL" in found.stderr
    assert "--world FILE" in found.stderr
    assert "there is no journal here" in run("get", "clusters", "--recorded").stderr
    hold = ("hold", "add", "x", "--everything", "--reason", "r", "--create", "--yes")
    assert run(*hold, "--database", "j.db").exit_code == 0
    other = run("get", "clusters", "--database", "j.db")
    assert "j.db: this journal has no upgrades; no source of clusters" in other.stderr


def test_a_cluster_and_a_target_of_a_rollout_may_have_one_name(manager: Managed) -> None:
    """`cluster/NAME` is the cluster where upgrades are known; where not, rollouts are asked."""
    path = served(manager)
    found = run("why", "cluster/pay-prod-1", "--upgrades", path, "--now", NOW)
    assert found.stdout.startswith("pay-prod-1  on 4.16.3")
    bare = run("why", "pay-prod-1", "--upgrades", path, "--now", NOW)
    assert bare.stdout == found.stdout
    nobody = run("why", "cluster/pay-prod-9", "--upgrades", path)
    assert 'no cluster "pay-prod-9"' in nobody.stderr
    unknown = run("why", "cluster/pay-prod-1")
    assert "no such journal" in str(unknown.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("get", "clusters"),
        *(("upgrades", word) for word in ("status", "lint", "report")),
    ],
)
def test_an_organisation_that_is_not_there_is_an_error(
    words: tuple[str, ...], manager: Managed
) -> None:
    """Where nothing is found under a misspelt name, `lint` would pass."""
    found = run(*words, *as_tenant(manager, EVERYTHING, "--org", "o-paymnets"))
    assert found.exit_code == 2, found.output
    assert '--org: no organisation "o-paymnets"' in found.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("get", "clusters"),
        ("upgrades", "status"),
        ("why", "cluster/maps-1"),
        ("when", "cluster/maps-1"),
    ],
)
def test_a_source_that_a_flag_names_wins_over_a_variable(
    words: tuple[str, ...], manager: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator who tried the commands of owners still has their variables."""
    monkeypatch.setenv("TIDEGATE_OCM_URL", manager.url)
    monkeypatch.setenv("OCM_TOKEN", PAYMENTS)
    found = run(*words, "--upgrades", served(manager), "--now", NOW)
    assert found.exit_code == 0, found.output
    assert "maps-1" in found.stdout
    assert "belongs to no organisation" not in found.stderr
    for flags in (("--recorded", "--now", NOW), ()):
        recorded = run(*words, "--database", "none.db", *flags)
        assert recorded.exit_code == 2, recorded.output
        assert "none.db" in recorded.stderr
