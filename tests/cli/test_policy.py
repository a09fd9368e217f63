"""`policy`, `sectors`, `version-blocks`, `inheritance` as owners use them, over HTTP."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.managed import Managed, example, managed
from tests.patience import PATIENCE_S
from tidegate.cli.main import cli
from tidegate.kinds.upgrades.core.labels.label_sync import MARK
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.start import put_label
from tidegate.kinds.upgrades.ocm.simulated.state import ORGANIZATIONS, SUBSCRIPTIONS
from tidegate.model.errors import UserError

PREFIX = "sre-capabilities.aus."
WISHES = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
MANY = 120  # more than a page of the existing command line


def fleet(number: int = MANY) -> dict[str, Any]:
    """Many clusters alike, and one of another owner's."""
    clusters = [
        {"name": f"c-{i:03}", "org": "o", "version": "4.16.3", "labels": WISHES}
        for i in range(number)
    ]
    clusters.append({"name": "x", "org": "others", "version": "4.16.3", "labels": WISHES})
    return {
        "orgs": [{"id": "o"}, {"id": "others"}],
        "clusters": clusters,
        "credentials": [{"token": "mine", "org": "o"}],
    }


class Owner:
    """A person with a token, at an OpenShift Cluster Manager."""

    def __init__(self, at: Managed) -> None:
        self.at = at

    def run(self, *args: str, text: str | None = None) -> Result:
        """What a command does."""
        env = {"TIDEGATE_OCM_URL": self.at.url, "OCM_TOKEN": "mine", "COLUMNS": "200"}
        return CliRunner().invoke(cli, list(args), input=text, env=env)

    def does(self, *args: str, text: str | None = None) -> str:
        """The same, which works; what it prints as data."""
        result = self.run(*args, text=text)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    def refused(self, *args: str, text: str | None = None) -> str:
        """The same, which is refused, and writes nothing; in which words."""
        before = len(self.at.writes)
        result = self.run(*args, text=text)
        assert result.exit_code != 0
        assert len(self.at.writes) == before
        wrong = result.exception
        return str(wrong) if isinstance(wrong, UserError) else result.output

    def labels(self, cluster: str = "", org: str = "o-payments") -> dict[str, str]:
        """The labels of a cluster or an organisation, as they are there."""
        path = f"{SUBSCRIPTIONS}/{cluster}-sub" if cluster else f"{ORGANIZATIONS}/{org}"
        found = self.at.server.state.collections[f"{path}/labels"].values()
        return {each["key"].removeprefix(PREFIX): each["value"] for each in found}


@pytest.fixture
def owner() -> Iterator[Owner]:
    """The owner of the example's payments."""
    with managed(example(credentials=[{"token": "mine", "org": "o-payments"}])) as at:
        yield Owner(at)


def test_flags_change_what_they_name(owner: Owner) -> None:
    """The diff says so; a dry run writes nothing; asked again, nothing is to do."""
    before = owner.labels("pay-prod-1")
    args = (
        "policy",
        "set",
        "pay-prod-1",
        "--soak-days",
        "2",
        "--mutexes",
        "a, b",
        "--mutexes",
        "c",
    )
    diff = "cluster/pay-prod-1  mutexes    pay-prod → a,b,c\ncluster/pay-prod-1  soak-days  5 → 2\n"
    assert owner.does(*args, "--dry-run") == diff
    assert owner.labels("pay-prod-1") == before
    assert owner.does(*args) == diff
    assert owner.labels("pay-prod-1") == {**before, "soak-days": "2", "mutexes": "a,b,c"}
    assert owner.does(*args) == ""
    assert owner.does("policy", "set", "pay-prod-1", "--mutexes", "") != ""
    assert "mutexes" not in owner.labels("pay-prod-1")


def test_presets_zones_and_gates_are_labels(owner: Owner) -> None:
    """What a preset results in is shown."""
    result = owner.run(
        "policy", "set", "pay-prod-1", "--schedule", "weekdays",
        "--schedule-timezone", "Europe/Berlin", "--version-gate-approvals", "sts,gate-ocp",
    )  # fmt: skip
    assert 'weekdays: "* * * * 1-4", Monday to Thursday' in result.stderr
    labels = owner.labels("pay-prod-1")
    assert (labels["schedule"], labels["schedule-timezone"]) == ("* * * * 1-4", "Europe/Berlin")
    both = "api.openshift.com/gate-sts,api.openshift.com/gate-ocp"
    assert labels["version-gate-approvals"] == both
    assert "* * * * 1-4 (Europe/Berlin)" in owner.does("policy", "get", "pay-prod-1")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_got_and_set_changes_nothing_and_an_edit_only_itself(
    owner: Owner, form: str
) -> None:
    """Of everything that is declared, in either form."""
    for group in ("policy", "sectors", "version-blocks", "inheritance"):
        text = owner.does(group, "get", "-o", form)
        assert owner.does(group, "set", "-f", "-", text=text) == ""
    assert owner.at.writes == []
    policies = yaml.safe_load(owner.does("policy", "get", "-o", form))
    assert policies["kind"] == "UpgradePolicyList"
    policies["items"][0]["conditions"]["soak_days"] = 9
    policies["items"][0]["labels"] = {"owner": "me"}
    assert owner.does("policy", "set", "-f", "-", text=json.dumps(policies)) == (
        "cluster/pay-prod-1  owner      - → me\ncluster/pay-prod-1  soak-days  5 → 9\n"
    )
    assert '"owner": "me"' in owner.does("policy", "get", "-o", "json")


def test_a_file_of_the_existing_command_line_is_taken(owner: Owner) -> None:
    """What it does not name stays; with --replace it is all there is, but for strange labels."""
    owner.does("policy", "set", "-f", "-", text='{"name": "pay-prod-1", "labels": {"mine": "x"}}')
    policy = {
        "name": "pay-prod-1",
        "schedule": "anytime",
        "workloads": ["payments", "search"],
        "conditions": {"soak_days": 1, "sector": "stage"},
    }
    owner.does("policy", "set", "-f", "-", text=json.dumps([policy]))
    labels = owner.labels("pay-prod-1")
    assert labels["mutexes"] == "pay-prod"
    assert labels["workloads"] == "payments,search"
    owner.does("policy", "set", "-f", "-", "--replace", text=json.dumps([policy]))
    kept = {key: value for key, value in labels.items() if key != "mutexes"}
    assert owner.labels("pay-prod-1") == kept
    assert kept["mine"] == "x"


@pytest.mark.parametrize(
    "args, says",
    [
        (["pay-prod-1", "--soak-days", "two"], '"two" is not a whole number'),
        (["pay-prod-1", "--schedule", "0 48 * * *"], "is not a schedule"),
        (["pay-prod-1", "--sector", "prd"], 'did you mean "prod"?'),
        (["pay-prod-1", "--blocked-versions", "(?=4)"], "which RE2 cannot"),
        (["pay-prod-1", "--blocked-versions", r"^4\.1{1,2}"], r'"^4\.1{1,2}" contains a comma'),
        (["pay-prod-1", "--blocked-versions", "x,4[,.]1"], '"4[,.]1" contains a comma'),
        (["pay-prod-11", "--soak-days", "2"], 'not in o-payments; did you mean "pay-prod-1"?'),
        (["maps-1", "--soak-days", "2"], "not in o-payments"),
        (["nothing-*", "--soak-days", "2"], "there are pay-prod-1, pay-prod-2"),
        (["pay-prod-1"], "Specify what to set:"),
        (["--soak-days", "2"], "Specify upgrade policies:"),
        (["-f", "-", "--soak-days", "2"], "leave out the other flags"),
    ],
)
def test_what_cannot_be_is_refused_in_words(owner: Owner, args: list[str], says: str) -> None:
    """By the rules the service decides by, and nothing is written."""
    assert says in owner.refused("policy", "set", *args, text="[]")


@pytest.mark.parametrize(
    "document, says",
    [
        ('[{"name": "pay-prod-1", "conditons": {}}]', 'unknown field; did you mean "conditions"?'),
        ('[{"name": "pay-prod-1", "workloads": ["a,b"]}]', "contains a comma"),
        ('[{"schedule": "anytime"}]', "write the name of a cluster"),
        ('[{"name": "pay-prod-1"}, {"subscription_id": "pay-prod-1-sub"}]', "is listed twice"),
        ('[{"name": "pay-prod-1", "labels": {"sector": "x"}}]', "write the field of the policy"),
        ("- name: pay-prod-1\n  conditions: {soak_days: 2.5}\n", "stdin:2:27"),
        ('"pay-prod-1"', "write a list"),
        ("- name: nobody\n- name: pay-prod-1\n", "stdin:1:3: cluster/nobody: not in o-payments"),
    ],
)
def test_a_file_that_says_more_than_is_known_is_refused(
    owner: Owner, document: str, says: str
) -> None:
    """Nothing of it is dropped in silence."""
    assert says in owner.refused("policy", "set", "-f", "-", text=document)


def test_clusters_are_named_in_many_ways_and_never_guessed() -> None:
    """By name, id, external id, subscription or pattern; a name of two is refused with both."""
    world = fleet(3)
    world["clusters"] += [
        {"name": "twin", "org": "o", "version": "4.16.3", "labels": WISHES, "id": each,
         "external_id": f"u-{each}"}
        for each in ("t1", "t2")
    ]  # fmt: skip
    with managed(world) as at:
        owner = Owner(at)
        for name in ("c-000", "cluster/c-000", "c-000-id", "c-000-uuid", "c-000-sub"):
            assert owner.does("policy", "set", name, "--soak-days", "7", "--dry-run").startswith(
                "cluster/c-000  soak-days  0 → 7"
            )
        assert owner.does("policy", "set", "c-*", "--soak-days", "7", "--dry-run").count("\n") == 3
        said = owner.refused("policy", "set", "twin", "--soak-days", "7")
        assert "2 clusters have this name: u-t1 (4.16.3), u-t2 (4.16.3); write one" in said
        assert owner.does("policy", "set", "u-t2", "--soak-days", "7") == (
            "cluster/twin (u-t2)  soak-days  0 → 7\n"
        )
        text = owner.does("policy", "get", "-o", "json")
        assert owner.does("policy", "set", "-f", "-", text=text) == ""
        assert text.count('"subscription_id"') == 2


def test_more_than_a_page_is_read_and_written_once_in_spite_of_faults() -> None:
    """Answers lost, connections cut, asked to come later: all is as asked, others' as it was."""
    with managed(fleet()) as at:
        share = {OcmFault.LOST: 40, OcmFault.CUT: 20, OcmFault.ERROR: 20, OcmFault.TOO_MANY: 20}
        at.server.luck = FaultDraw(OcmFaults(share, retry_after_s=0), seed=2)
        owner = Owner(at)
        policies = json.loads(owner.does("policy", "get", "-o", "json"))["items"]
        assert len(policies) == MANY
        for each in policies:
            each["conditions"] |= {"soak_days": 3, "mutexes": ["m"]}
        result = owner.run(
            "policy", "set", "-f", "-", "-o", "json", "--yes", text=json.dumps(policies)
        )
        assert result.exit_code == 0, result.output
        assert f"written: {2 * MANY} labels of {MANY} clusters" in result.stderr
        assert sum(each["written"] for each in json.loads(result.stdout)["changes"]) == 2 * MANY
        assert at.server.luck.met["lost"] > 0
        for i in range(MANY):
            wanted = {**WISHES, "soak-days": "3", "mutexes": "m"}
            assert owner.labels(f"c-{i:03}") == wanted
        assert owner.labels("x") == WISHES


def test_what_was_not_written_is_reported_and_the_rest_stays(owner: Owner) -> None:
    """Label by label, with why; what comes after it on the same cluster is not tried."""
    odd = [
        {"name": "pay-prod-1", "labels": {"no key": "x"}, "conditions": {"soak_days": 8}},
        {"name": "pay-prod-2", "conditions": {"soak_days": 8}},
    ]
    result = owner.run("policy", "set", "-f", "-", text=json.dumps(odd))
    assert result.exit_code == 1
    assert "written: 1 label of 1 cluster" in result.stderr
    assert "Error: 2 labels not written" in result.stderr
    assert "cluster/pay-prod-1  no key     - → x  " in result.stderr
    assert "Label key 'sre-capabilities.aus.no key' is not valid" in result.stderr
    assert "cluster/pay-prod-1  soak-days  5 → 8  not tried" in result.stderr
    assert "run the same again to write the rest" in result.stderr
    del odd[0]["labels"]
    again = owner.does("policy", "set", "-f", "-", text=json.dumps(odd))
    assert again == "cluster/pay-prod-1  soak-days  5 → 8\n"


@contextmanager
def at_a_terminal(at: Managed, *args: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A command whose owner sits at a terminal, and where he types."""
    typed, terminal = pty.openpty()
    env = {**os.environ, "TIDEGATE_OCM_URL": at.url, "OCM_TOKEN": "mine"}
    command = [sys.executable, "-m", "tidegate", *args]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("[y/N]: "):
            char = process.stderr.read(1)
            assert char, asked
            asked += char
        yield process, typed
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        os.close(typed)
        os.close(terminal)


def test_many_are_asked_about_and_looked_at_again() -> None:
    """A no writes nothing; nor does a yes, if another person was faster."""
    with managed(fleet(6)) as at:
        args = ("policy", "set", "c-*", "--soak-days", "4")
        with at_a_terminal(at, *args) as (process, typed):
            os.write(typed, b"n\n")
            assert "nothing was changed" in process.communicate(timeout=PATIENCE_S)[1]
            assert process.returncode == 1
        with at_a_terminal(at, *args) as (process, typed):
            labels = at.server.state.collections[f"{SUBSCRIPTIONS}/c-003-sub/labels"]
            labels[f"{PREFIX}soak-days"]["value"] = "7"
            at.server.state.touch()
            os.write(typed, b"y\n")
            said = process.communicate(timeout=PATIENCE_S)[1]
            assert "cluster/c-003: soak-days was changed meanwhile" in said
        assert at.writes == []
        assert Owner(at).run(*args, "--yes").exit_code == 0
        assert len(at.writes) == 6


def test_a_policy_is_removed_and_strange_labels_only_when_asked_for(owner: Owner) -> None:
    """A label that stays would go on asking for a policy, so that is refused."""
    owner.does("policy", "set", "-f", "-", text='[{"name": "pay-stage-2", "labels": {"k": "v"}}]')
    assert "k would stay" in owner.refused("policy", "remove", "pay-stage-2")
    assert owner.does("policy", "remove", "pay-stage-2", "--all").count("→ -") == 6
    assert owner.labels("pay-stage-2") == {}
    assert "pay-stage-2" not in owner.does("policy", "get")
    assert "pay-stage-2" in owner.does("policy", "get", "--all")


def test_what_a_bundle_sets_back_is_warned_of(owner: Owner) -> None:
    """A label of ours says which labels are declared elsewhere; others may be written freely."""
    state = owner.at.server.state
    put_label(state, f"{SUBSCRIPTIONS}/pay-prod-1-sub", MARK, "soak-days,sector")
    result = owner.run("policy", "set", "pay-prod-*", "--soak-days", "9", "--mutexes", "m")
    says = "cluster/pay-prod-1: soak-days is written from a bundle and will be set back"
    assert result.stderr.count("set back") == 1
    assert says in result.stderr
    assert owner.labels("pay-prod-1")["soak-days"] == "9"
    assert "set back" not in owner.run("policy", "set", "pay-prod-1", "--mutexes", "n").stderr


def test_an_operator_writes_for_those_who_are_served(tmp_path: Path) -> None:
    """With the credentials of the service, by the file that says who is; no other is reached."""
    with managed() as at:
        file = tmp_path / "upgrades.yaml"
        served = [{"id": each, "name": each, "environment": "prod"} for each in ("o-maps", "o-x")]
        prod = {"name": "prod", "url": at.url, "tokenUrl": f"{at.url}/token"}
        prod |= {"clientId": "tidegate", "clientSecret": "env:OCM_SECRET"}
        file.write_text(json.dumps({"environments": [prod], "organizations": served}))
        env = {"OCM_SECRET": "simulated", "TIDEGATE_UPGRADES": str(file)}
        args = ["policy", "set", "maps-2", "--soak-days", "2", "--org"]
        result = CliRunner().invoke(cli, [*args, "o-maps"], env=env)
        assert result.stdout == "cluster/maps-2  soak-days  two → 2\n"
        refused = CliRunner().invoke(cli, [*args, "o-payments"], env=env)
        assert '"o-payments" is not served' in str(refused.exception)
        assert "--org: missing" in str(CliRunner().invoke(cli, args[:-1], env=env).exception)


def test_mistakes_that_are_there_are_shown(owner: Owner) -> None:
    """In the words their owner gets; a mistake can be fixed, and one of two alone."""
    world = example(credentials=[{"token": "mine", "org": "o-maps"}])
    with managed(world) as at:
        maps = Owner(at)
        result = maps.run("policy", "get")
        assert 'cluster/maps-2: label sre-capabilities.aus.soak-days: "two" is no' in result.stderr
        assert '"soak_days": "two"' in maps.does("policy", "get", "-o", "json")
        assert maps.does("policy", "set", "maps-2", "--soak-days", "2") == (
            "cluster/maps-2  soak-days  two → 2\n"
        )


def test_sectors_keep_their_limit_and_may_stand_alone(owner: Owner) -> None:
    """What the existing command line loses or cannot say."""
    owner.does("sectors", "set", "canary")
    assert owner.labels()["sector-deps.canary"] == ""
    owner.does("sectors", "set", "prod", "--add-dependency", "canary")
    labels = owner.labels()
    assert labels["sector-deps.prod"] == "stage,canary"
    assert labels["sector-max-parallel-upgrades.prod"] == "1"
    owner.does("sectors", "set", "prod", "--remove-dependency", "canary", "--max-parallel", "50%")
    assert owner.labels()["sector-max-parallel-upgrades.prod"] == "50%"
    owner.does("sectors", "set", "prod", "--max-parallel", "")
    assert "sector-max-parallel-upgrades.prod" not in owner.labels()
    table = owner.does("sectors", "get")
    assert "declared by prod alone" in table
    owner.does("sectors", "remove", "canary")
    assert "canary" not in owner.does("sectors", "get")
    whole = [{"name": "prod", "dependencies": ["stage"]}, {"name": "stage"}, {"name": "new"}]
    owner.does("sectors", "set", "-f", "-", "--replace", text=json.dumps(whole))
    named = json.loads(owner.does("sectors", "get", "-o", "json"))["items"]
    assert [each["name"] for each in named] == ["new", "prod", "stage"]
    assert owner.labels()["blocked-versions"] == r"^4\.16\.5$"


@pytest.mark.parametrize(
    "args, says",
    [
        (["remove", "prod"], "pay-prod-1, pay-prod-2 are in it"),
        (["remove", "prodd"], 'did you mean "prod"?'),
        (["set", "stage", "--depends-on", "prod"], "wait for each other in a circle"),
        (["set", "prod", "--max-parallel", "-1"], "not a number of clusters"),
        (["set", "prod", "--remove-dependency", "stag"], 'did you mean "stage"?'),
        (["set", "-f", "-", "--replace"], '"prod" is no sector of the organisation'),
        (["set"], "Specify a sector:"),
        (["set", "a,b"], "a name has no commas"),
        (["set", " a"], "no blanks around it"),
        (["set", ""], 'sector "": '),
        (["set", "x", "--replace"], "--replace removes all sectors"),
    ],
)
def test_sectors_with_clusters_are_not_removed(owner: Owner, args: list[str], says: str) -> None:
    """Those that clusters are in or wait for, circles, and limits that are none."""
    assert says in owner.refused("sectors", *args, text="[]")


@pytest.mark.parametrize(
    "args",
    [
        ("version-blocks", "add", ""),
        ("version-blocks", "add", r"^4\.16\.6$", " "),
        ("version-blocks", "remove", ""),
        ("inheritance", "add", "--inherit", ""),
        ("inheritance", "add", "--inherit", "o-maps", "--publish", " "),
        ("inheritance", "remove", "--publish", ""),
        ("gates", "approve", ""),
    ],
)
def test_an_item_that_is_empty_is_refused(owner: Owner, args: tuple[str, ...]) -> None:
    """A variable that is not set is not what is meant."""
    assert "is empty; write what is meant" in owner.refused("upgrades", *args)


def test_version_blocks_tell_what_they_hit(owner: Owner) -> None:
    """Before they are written; others stay."""
    result = owner.run("version-blocks", "add", r"^4\.16\.4$")
    assert "4.16.4, offered to 4 clusters" in result.stderr
    assert owner.labels()["blocked-versions"] == r"^4\.16\.5$,^4\.16\.4$"
    assert "4.16.4" in owner.does("version-blocks", "get")
    owner.does("version-blocks", "remove", r"^4\.16\.5$")
    got = json.loads(owner.does("version-blocks", "get", "-o", "json"))
    assert (got["kind"], got["items"]) == ("VersionBlockList", [r"^4\.16\.4$"])
    assert "did you mean" in owner.refused("version-blocks", "remove", r"^4\.16\.5$")
    assert "contains a comma" in owner.refused("version-blocks", "add", "^4.1{1,2}")
    assert "Specify what to block:" in owner.refused("version-blocks", "set")
    owner.does("version-blocks", "set", "--nothing")
    assert "blocked-versions" not in owner.labels()


def test_a_pattern_with_a_comma_that_another_tool_wrote_is_one_pattern(owner: Owner) -> None:
    """It is shown with what is wrong with it, and removed by its name; no part of it is listed."""
    found = owner.at.server.state.collections[f"{ORGANIZATIONS}/o-payments/labels"]
    found[f"{PREFIX}blocked-versions"]["value"] = r"^4\.1{1,2}6,^4\.18"
    got = json.loads(owner.does("version-blocks", "get", "-o", "json"))
    assert got["items"] == [r"^4\.1{1,2}6", r"^4\.18"]
    assert [each["error"] is None for each in got["blocks"]] == [False, True]
    for told in (owner.does("version-blocks", "get"), owner.does("upgrades", "status")):
        assert r"^4\.1{1,2}6  cannot be read" in told
        assert 'write it without one, as "11?" for "1{1,2}"' in " ".join(told.split())
    assert "contains a comma" in owner.refused("version-blocks", "add", "^4.19")
    owner.does("version-blocks", "remove", r"^4\.1{1,2}6")
    assert owner.labels()["blocked-versions"] == r"^4\.18"


def test_inheritance_needs_both_sides(owner: Owner) -> None:
    """Said before it is written, and shown as far as the token sees."""
    result = owner.run("inheritance", "add", "--inherit", "o-maps", "--publish", "o-a,o-b")
    assert "o-maps must publish to o-payments" in result.stderr
    assert "not visible to your token" in owner.does("inheritance", "get")
    owner.does("inheritance", "remove", "--publish", "o-a")
    assert owner.labels()["version-data.publish"] == "o-b"
    assert "did you mean" in owner.refused("inheritance", "remove", "--publish", "o-c")
    owner.does("inheritance", "set", "-f", "-", text='{"publish": ["o-z"]}')
    assert owner.labels()["version-data.inherit"] == "o-maps"
    both = example(
        orgs=[
            {"id": "o-payments", "labels": {"version-data.inherit": "o-maps,o-new"}},
            {"id": "o-maps", "labels": {"version-data.publish": "o-payments"}},
            {"id": "o-new", "labels": {"version-data.publish": "o-maps"}},
        ],
        credentials=[{"token": "mine"}],
    )
    with managed(both) as at:
        table = Owner(at).does("inheritance", "get", "--org", "o-payments")
        assert "o-maps        publishes to you" in table
        assert "o-new         does not publish to o-payments: ask them to" in table
        assert "your token belongs to no organisation" in Owner(at).refused("policy", "get")


def test_a_long_list_is_shown_by_what_comes_and_goes() -> None:
    """Forty organisations on two lines would hide the one that is new."""
    world = fleet(1)
    ids = ",".join(f"o-{i}" for i in range(40))
    world["orgs"][0]["labels"] = {"version-data.publish": ids}
    with managed(world) as at:
        shown = Owner(at).does("inheritance", "add", "--publish", "o-new", "--dry-run")
        assert shown == "organisation/o  version-data.publish  +o-new (of 40, then 41)\n"
