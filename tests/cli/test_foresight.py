"""`lint`, `when`, `what-if` and `report` of upgrades: on files, and over HTTP with one's own token.

What is printed is kept in `foresight/`; `--rewrite` writes it anew, and then it is read.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_upgrade_reads import _elsewhere, run, served  # noqa: F401
from tests.managed import NOW, Managed, example, managed

ROOT = Path(__file__).parents[2]
WORLD = str(ROOT / "examples/upgrade-world.yaml")
GOLDEN = Path(__file__).parent / "foresight"
WHAT_IF = ["what-if", "--world", WORLD, "--set", "pay-stage-2/soak-days=0"]
WHAT_IF += ["--set", r"org/o-payments/blocked-versions=^4\.17"]
TOKEN = "token-of-payments"


@pytest.fixture
def manager() -> Iterator[Managed]:
    """The example, with a person of one organisation."""
    known = [
        {"client_id": "tidegate", "client_secret": "simulated"},
        {"token": TOKEN, "org": "o-payments"},
    ]
    with managed(example(credentials=known)) as found:
        yield found


@pytest.mark.parametrize(
    "name, columns, code, args",
    [
        ("when-80", 80, 0, ["when", WORLD]),
        ("when-160", 160, 0, ["when", WORLD]),
        ("when-org", None, 0, ["when", "upgrades/prod/o-payments", "--world", WORLD]),
        ("when-one", None, 0, ["when", WORLD, "pay-prod-1"]),
        ("when-pools", None, 0, ["when", "cluster/pay-prod-2", "--world", WORLD, "-o", "json"]),
        ("when-aside", None, 0, ["when", "maps-2-uuid", "--world", WORLD]),
        ("when-yaml", None, 0, ["when", WORLD, "--org", "o-maps", "-o", "yaml"]),
        ("what-if-80", 80, 0, WHAT_IF),
        ("what-if-160", 160, 0, WHAT_IF),
        ("what-if-json", None, 0, [*WHAT_IF, "-o", "json"]),
        ("report-80", 80, 0, ["report", "--world", WORLD]),
        ("report-160", 160, 0, ["report", "--world", WORLD]),
        ("report-markdown", None, 0, ["report", "--world", WORLD, "-o", "markdown"]),
        ("report-json", None, 0, ["report", "--world", WORLD, "--org", "Payments", "-o", "json"]),
        ("history-80", 80, 0, ["report", "--history", "--world", WORLD]),
        ("history-markdown", None, 0, ["report", "--history", "--world", WORLD, "-o", "markdown"]),
        ("lint-80", 80, 1, ["lint", "--world", WORLD]),
        ("lint-160", 160, 1, ["lint", "--world", WORLD]),
        ("lint-github", None, 1, ["lint", "--world", WORLD, "-o", "github"]),
        ("lint-yaml", None, 1, ["lint", "--world", WORLD, "--org", "o-maps", "-o", "yaml"]),
    ],
)
def test_what_is_printed_is_what_was_read_and_found_good(
    name: str, columns: int | None, code: int, args: list[str], request: pytest.FixtureRequest
) -> None:
    """At both widths, and in every format."""
    found = run(*args, columns=columns)
    assert found.exit_code == code, found.output
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--rewrite", default=False):
        golden.write_text(found.stdout, encoding="utf-8")
    assert found.stdout == golden.read_text(encoding="utf-8"), f"{name}: run with --rewrite"
    if columns is not None:
        assert max(map(len, found.stdout.splitlines())) <= columns


@pytest.mark.parametrize("command", ["when", "why"])
def test_a_cluster_of_an_organisation_is_named_beside_it(command: str) -> None:
    """As a target beside its rollout; one that is not there is not looked for as a file."""
    source = ("--world", WORLD)
    found = run(command, "upgrades/prod/o-payments", "pay-prod-1", *source)
    assert found.exit_code == 0, found.output
    assert "pay-prod-1" in found.stdout
    assert "pay-stage-1 " not in found.stdout
    wrong = run(command, "upgrades/prod/o-payments", "pay-prod-9", *source)
    assert wrong.exit_code != 0
    said = f"{wrong.output}{wrong.exception}"
    assert '"pay-prod-9"' in said
    assert 'did you mean "pay-prod-2"?' in said
    assert "no such file" not in said


def written(**cluster: object) -> str:
    """A world of one cluster, in a file."""
    labels = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
    one = {"name": "a", "org": "o", "version": "4.16.3", "labels": labels, **cluster}
    world = {"now": NOW, "orgs": [{"id": "o", "name": "O"}], "clusters": [one]}
    Path("world.json").write_text(json.dumps(world), encoding="utf-8")
    return "world.json"


def test_lint_exits_1_for_warnings_and_not_for_notes() -> None:
    """A merge check fails on what a person should fix, and not on what is only good to know."""
    clean = run("lint", "--world", written())
    assert (clean.exit_code, clean.stdout, clean.stderr) == (0, "", "nothing found\n")
    noted = run("lint", "--world", written(available_upgrades=["4.17.0-rc.1"]))
    assert (noted.exit_code, noted.stderr) == (0, "1 note\n")
    warned = run("lint", "--world", written(labels={"soak-days": "1", "workloads": "w,"}))
    assert warned.exit_code == 1
    assert warned.stderr == "1 error, 1 warning\n"


def test_what_upgrades_take_can_be_said() -> None:
    """Of clusters and control planes, and of node pools; what is no duration is reported."""
    asked = ["when", WORLD, "pay-prod-2", "--pool-time", "45m", "-o", "json"]
    (step,) = json.loads(run(*asked).stdout)["steps"]
    assert (step["startsAt"], step["doneAt"]) == ("2026-03-10T11:00:00Z", "2026-03-10T11:45:00Z")
    asked = ["when", WORLD, "pay-stage-1", "--apply-time", "2h30m", "-o", "json"]
    assert json.loads(run(*asked).stdout)["doneAt"] == "2026-03-10T12:37:00Z"
    refused = run("when", WORLD, "--apply-time", "soon")
    assert refused.exit_code == 2
    assert '--apply-time "soon"' in refused.output


def test_how_far_to_look_can_be_said() -> None:
    """What lies behind it has no date, and that is said."""
    schedule = {"soak-days": "0", "workloads": "w", "schedule": "0 3 1 6 *"}
    world = written(labels=schedule, available_upgrades=["4.16.4"])
    assert "2026-06-01T03:00Z" in run("when", world, "--days", "100").stdout
    assert "later than the horizon: its schedule fires 2026-06-01" in run("when", world).stdout


@pytest.mark.parametrize(
    "asked, told",
    [
        (["when", WORLD, "pay-prod-9"], 'no cluster "pay-prod-9"; did you mean "pay-prod-'),
        (["when", "upgrades/prod/o-pay", "--world", WORLD], 'no organisation "prod/o-pay"'),
        (["when", "rollout.json"], "rollout.json: no world of upgrades"),
    ],
)
def test_a_name_that_is_not_there_gets_the_nearest(asked: list[str], told: str) -> None:
    """Of clusters, organisations and files."""
    Path("rollout.json").write_text("{}", encoding="utf-8")
    found = run(*asked)
    assert found.exit_code == 2, found.output
    assert told in found.output


def test_labels_that_are_so_already_have_no_effect() -> None:
    """Nothing is compared, and that is said; what is set twice counts as it was said last."""
    same = ["what-if", "--world", WORLD, "--set", "cluster/pay-stage-2/soak-days=1"]
    found = run(*same)
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == "all of these labels have these values already\n"
    twice = run(*same[:3], "--set", "pay-stage-2/soak-days=0", *same[3:])
    assert (twice.stdout, twice.stderr) == (found.stdout, found.stderr)


def test_an_empty_value_takes_a_label_away() -> None:
    """As a deletion by hand would."""
    found = run("what-if", "--world", WORLD, "--set", "pay-prod-1/mutexes=", "-o", "json")
    read = json.loads(found.stdout)
    (change,) = read["changes"]
    assert change == {
        "of": "cluster/pay-prod-1",
        "label": "mutexes",
        "before": "pay-prod",
        "after": None,
    }
    (shift,) = read["clusters"]
    assert shift["before"]["why"]["reason"] == "MutexUpgrading"
    assert shift["after"]["startsAt"] < shift["before"]["startsAt"]


def test_a_change_that_moves_nothing_says_so() -> None:
    """A blank in a list of patterns that blocks nothing new."""
    asked = ["what-if", "--world", WORLD, "--set", r"org/o-maps/blocked-versions=^3\."]
    found = run(*asked)
    assert found.stdout == 'organisation/o-maps: blocked-versions none → "^3\\."\n'
    assert found.stderr == "no cluster changes its version or its dates\n"


@pytest.mark.parametrize(
    "text, told",
    [
        ("maps-2/soak-dys=0", 'no label "soak-dys"; did you mean "soak-days"?'),
        ("maps-9/soak-days=0", 'no cluster "maps-9"; did you mean "maps-'),
        ("org/o-map/blocked-versions=x", 'no organisation "o-map"; did you mean "o-maps"?'),
        ("org/o-maps/sector-dep.x=y", 'did you mean "sector-deps.NAME"?'),
        ("org/o-maps/soak-days=1", 'no label "soak-days"; there are blocked-versions'),
        ("soak-days=1", "write CLUSTER/LABEL=VALUE or org/ID/LABEL=VALUE"),
        ("maps-1/soak-days", "write CLUSTER/LABEL=VALUE or org/ID/LABEL=VALUE"),
    ],
)
def test_what_cannot_be_set_gets_the_nearest(text: str, told: str) -> None:
    """Clusters, organisations, labels, and what is no label of anyone."""
    found = run("what-if", "--world", WORLD, "--set", text)
    assert found.exit_code == 2, found.output
    assert told in found.output


def test_an_owner_learns_when_with_a_token_of_their_own(manager: Managed) -> None:
    """Their clusters, by the labels they wrote, and what they were not asked for."""
    flags = ["--ocm-url", manager.url, "--token", TOKEN, "--now", NOW]
    found = run("when", "cluster/pay-stage-1", *flags)
    assert found.exit_code == 0, found.output
    assert "4.16.3 → 4.16.4" in found.stdout
    assert "soak is not known to you" in found.stderr


def test_an_owner_can_lint_with_a_token_of_their_own(manager: Managed) -> None:
    """Their organisation, and no other's."""
    found = run("lint", "--ocm-url", manager.url, "--token", TOKEN, "--now", NOW, "-o", "json")
    read = json.loads(found.stdout)["findings"]
    assert {each["org"] for each in read} <= {"o-payments"}
    assert found.exit_code == (1 if any(each["severity"] != "note" for each in read) else 0)


def test_a_cluster_that_is_served_by_other_rules_says_so(manager: Managed) -> None:
    """Dates, changes and marks are by our rules, under any service."""
    maps = {"id": "o-maps", "name": "Maps", "environment": "prod", "mode": "compat"}
    flags = ["--upgrades", served(manager, organizations=[maps]), "--now", NOW]
    for command in (["when", "cluster/maps-1"], ["report"], ["what-if", "--set", "maps-1/sector="]):
        found = run(*command, *flags)
        assert found.exit_code == 0, found.output
        told = "note: o-maps is served by the rules of AUS; this is by ours\n"
        assert told in found.stderr


def test_a_switch_of_channels_is_a_step_that_is_done_at_once(manager: Managed) -> None:
    """It is shown with its date, and no upgrade's date depends on it."""
    flags = ["--ocm-url", manager.url, "--token", TOKEN, "--now", NOW]
    found = json.loads(run("when", "pay-prod-1", *flags, "-o", "json").stdout)
    channel, upgrade = found["steps"]
    assert (channel["do"], channel["to"], channel["doneAt"]) == ("channel", "stable-4.17", None)
    assert found["doneAt"] == upgrade["doneAt"]
    asked = ["what-if", "--set", "pay-prod-1/soak-days=0", *flags, "-o", "json"]
    before = json.loads(run(*asked).stdout)["clusters"][0]["before"]
    assert before["startsAt"] == upgrade["startsAt"]


def test_what_comes_behind_a_new_channel_is_not_before_the_switch() -> None:
    """No other cluster is on it: the row says what that depends on, and so does the document."""
    more = {"version": "4.16.6", "available_upgrades": [], "available_channels": ["stable-4.17"]}
    anytime = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
    world = written(labels=anytime, channel="stable-4.16", **more)
    found = run("when", world)
    assert "→ ?                    not before 2026-03-02T08:00Z" in found.stdout
    assert found.stdout.rstrip().endswith("what channel stable-4.17 offers")
    (row,) = json.loads(run("when", world, "-o", "json").stdout)["items"]
    switch = row["steps"][0]
    assert (switch["do"], switch["to"]) == ("channel", "stable-4.17")
    assert row["unknown"] == {"channel": "stable-4.17", "notBefore": switch["startsAt"]}
