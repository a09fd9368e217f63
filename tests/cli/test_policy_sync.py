"""`policy sync`: what a bundle declares, written over HTTP into the simulated fleet's labels."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.managed import Managed, example, managed
from tidegate.cli.main import cli
from tidegate.kinds.upgrades.core.labels.label_sync import MARK
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.state import ORGANIZATIONS, SUBSCRIPTIONS
from tidegate.model.errors import UserError

PREFIX = "sre-capabilities.aus."
ENVIRONMENT = """
$schema: /openshift/openshift-cluster-manager-environment-1.yml
name: prod
url: {url}
accessTokenUrl: {url}/token
accessTokenClientId: tidegate
"""
PAYMENTS = r"""
$schema: /openshift/openshift-cluster-manager-1.yml
name: payments
orgId: o-payments
environment: {$ref: /ocm/env.yml}
blockedVersions: ['^4\.16\.5$']
sectors:
- {name: prod, dependencies: [{name: stage}], maxParallelUpgrades: "1"}
- {name: stage}
upgradePolicyClusters:
- name: pay-stage-1
  upgradePolicy:
    workloads: [payments]
    schedule: "* * * * *"
    conditions: {sector: stage, mutexes: [pay-stage]}
- name: pay-stage-2
  upgradePolicy:
    workloads: [payments]
    schedule: "* * * * *"
    conditions: {soakDays: 1, sector: stage, mutexes: [pay-stage]}
- name: pay-prod-1
  upgradePolicy: {$ref: /ocm/policy.yml}
- name: pay-prod-2
  spec: {id: pay-prod-2-id}
  upgradePolicy: {$ref: /ocm/policy.yml}
"""
POLICY = """
$schema: /openshift/cluster-upgrade-policy-1.yml
workloads: [payments]
schedule: 0 8-16 * * 1-4
conditions: {soakDays: 5, sector: prod, mutexes: [pay-prod]}
"""
FILE = """
bundle: bundle
environments: [{name: prod, clientSecret: env:SYNC_SECRET}]
"""


class Team:
    """A team with a bundle, at an OpenShift Cluster Manager."""

    def __init__(self, at: Managed, folder: Path) -> None:
        self.at = at
        self.folder = folder
        (folder / "upgrades.yaml").write_text(FILE)
        self.write("ocm/env.yml", ENVIRONMENT.format(url=at.url))
        self.write("ocm/payments.yml", PAYMENTS)
        self.write("ocm/policy.yml", POLICY)

    def write(self, path: str, text: str) -> None:
        """A file of the bundle."""
        place = self.folder / "bundle" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def change(self, old: str, new: str, path: str = "ocm/payments.yml") -> None:
        """Another text in a file of the bundle."""
        text = (self.folder / "bundle" / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new))

    def run(self, *args: str, upgrades: bool = True) -> Result:
        """What the command does."""
        flags = ["--upgrades", str(self.folder / "upgrades.yaml")]
        if not upgrades:
            flags = ["--bundle", str(self.folder / "bundle")]
        env = {"SYNC_SECRET": "simulated", "COLUMNS": "200", "XDG_CACHE_HOME": str(self.folder)}
        return CliRunner().invoke(cli, ["policy", "sync", *flags, *args], env=env)

    def does(self, *args: str) -> str:
        """The same, which works; what it prints as data."""
        result = self.run(*args)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    def labels(self, cluster: str = "", org: str = "o-payments") -> dict[str, str]:
        """The labels of a cluster or an organisation, as they are there."""
        path = f"{SUBSCRIPTIONS}/{cluster}-sub" if cluster else f"{ORGANIZATIONS}/{org}"
        found = self.at.server.state.collections[f"{path}/labels"].values()
        return {each["key"].removeprefix(PREFIX): each["value"] for each in found}


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """The team of the example's payments, whose labels are what its bundle declares."""
    clusters = [{"client_id": "tidegate", "client_secret": "simulated"}]
    people = [{"token": "mine", "org": "o-payments"}]
    with managed(example(credentials=clusters + people)) as at:
        yield Team(at, tmp_path)


def test_what_is_there_already_is_taken_over_and_then_changed(team: Team) -> None:
    """First only noted as ours; then one field of the bundle is one label, once."""
    before = {name: team.labels(name) for name in ("pay-stage-1", "pay-prod-2", "")}
    assert team.does() == ""
    assert all(team.labels(name) == {**labels, MARK: team.labels(name)[MARK]}
               for name, labels in before.items())  # fmt: skip
    assert team.labels("pay-stage-1")[MARK] == "mutexes,schedule,sector,soak-days,workloads"
    assert MARK not in team.labels("maps-1")
    team.change("soakDays: 1", "soakDays: 3")
    line = "cluster/pay-stage-2  soak-days  1 → 3\n"
    assert team.does("--dry-run") == line
    assert team.labels("pay-stage-2")["soak-days"] == "1"
    assert team.does() == line
    assert team.labels("pay-stage-2")["soak-days"] == "3"
    writes = len(team.at.writes)
    again = team.run()
    assert "nothing to change" in again.stderr
    assert len(team.at.writes) == writes


def test_what_is_declared_no_more_goes_and_what_is_anothers_stays(team: Team) -> None:
    """A label written by hand beside ours; a cluster whose policy left the bundle; an org's too."""
    team.does()
    hand = {"key": f"{PREFIX}version-gate-approvals", "value": "none", "kind": "Label"}
    path = f"{SUBSCRIPTIONS}/pay-stage-1-sub/labels"
    like = next(iter(team.at.server.state.collections[path].values()))
    team.at.server.state.collections[path]["by-hand"] = {**like, **hand, "id": "by-hand"}
    team.change("{sector: stage, mutexes: [pay-stage]}", "{sector: stage}")
    team.change("blockedVersions: ['^4\\.16\\.5$']\n", "")
    shown = team.does("--allow-mass-delete")
    assert shown.splitlines() == [
        r"organisation/o-payments  blocked-versions  ^4\.16\.5$ → -",
        "cluster/pay-stage-1      mutexes           pay-stage → -",
    ]
    assert team.labels("pay-stage-1")["version-gate-approvals"] == "none"
    assert "mutexes" not in team.labels("pay-stage-1")
    assert team.labels("pay-stage-1")[MARK] == "schedule,sector,soak-days,workloads"
    first = team.folder / "bundle/ocm/payments.yml"
    text = first.read_text()
    start, end = text.index("- name: pay-stage-1"), text.index("- name: pay-stage-2")
    first.write_text(text[:start] + text[end:])
    team.does()
    assert team.labels("pay-stage-1") == {"version-gate-approvals": "none"}
    assert team.labels("pay-stage-2") != {}


def test_much_at_once_is_refused_and_the_rest_is_written(team: Team) -> None:
    """Two of five that have labels of ours; with the flag they go."""
    team.does()
    text = (team.folder / "bundle/ocm/payments.yml").read_text()
    team.write("ocm/payments.yml", text[: text.index("- name: pay-prod-1")])
    team.change("soakDays: 1", "soakDays: 2")
    refused = team.run()
    assert refused.exit_code == 1
    assert "2 of 5 at once; at most 1 without --allow-mass-delete" in refused.stderr
    assert "cluster/pay-prod-1 (mutexes, schedule" in refused.stderr
    assert refused.stdout == "cluster/pay-stage-2  soak-days  1 → 2\n"
    assert team.labels("pay-stage-2")["soak-days"] == "2"
    assert "schedule" in team.labels("pay-prod-1")
    told = json.loads(team.run("-o", "json").stdout)
    assert [each["target"] for each in told["kept"]] == ["cluster/pay-prod-1", "cluster/pay-prod-2"]
    team.does("--allow-mass-delete")
    assert team.labels("pay-prod-1") == {}


def test_from_part_of_a_bundle_nothing_is_written(team: Team) -> None:
    """A policy with a misspelt field; what could not be read may be what is declared."""
    team.change("soakDays", "soakDay", "ocm/policy.yml")
    result = team.run()
    assert isinstance(result.exception, UserError)
    assert "ocm/policy.yml:5: unknown field" in str(result.exception)
    assert team.at.writes == []


def test_a_cluster_that_is_not_there_keeps_others_from_losing_theirs(team: Team) -> None:
    """It may be the one whose policy seems to be gone; what is declared is set all the same."""
    team.does()
    team.change("name: pay-stage-1", "name: pay-stag-1")
    team.change("soakDays: 1", "soakDays: 2")
    result = team.run()
    assert result.exit_code == 1
    assert 'cluster/pay-stag-1: not in payments; did you mean "pay-stage-1"?' in result.stderr
    assert "not removed: the reading is incomplete" in result.stderr
    assert "schedule" in team.labels("pay-stage-1")
    assert team.labels("pay-stage-2")["soak-days"] == "2"


def test_what_the_service_would_complain_about_is_not_written(team: Team) -> None:
    """By the rules upgrades are decided by; the organisation is left as it is."""
    team.change("0 8-16 * * 1-4", "0 8-16 31 2 *", "ocm/policy.yml")
    result = team.run()
    assert result.exit_code == 1
    assert "cluster/pay-prod-1: " in result.stderr
    assert "never fires: no such day exists" in result.stderr
    assert "o-payments: nothing was written" in result.stderr
    assert team.at.writes == []


def test_a_sector_is_there_before_the_clusters_in_it(team: Team) -> None:
    """So that no owner is notified of a sector that is not known."""
    team.does()
    team.change("- {name: stage}", "- {name: stage}\n- {name: late, dependencies: [{name: prod}]}")
    team.change("sector: prod", "sector: late", "ocm/policy.yml")
    before = len(team.at.writes)
    team.does()
    done = [each.path for each in team.at.writes[before:] if each.status < 300]
    sector = next(i for i, path in enumerate(done) if path.endswith("/o-payments/labels"))
    clusters = [i for i, path in enumerate(done) if "/subscriptions/" in path]
    assert sector < min(clusters)


def test_lost_answers_and_errors_change_nothing_about_the_end(team: Team) -> None:
    """All is written once, and then nothing is left to do."""
    share = {OcmFault.LOST: 150, OcmFault.CUT: 40, OcmFault.ERROR: 40}
    team.at.server.luck = FaultDraw(OcmFaults(share), seed=5)
    team.change("soakDays: 1", "soakDays: 4")
    assert "soak-days  1 → 4" in team.does()
    assert team.at.server.luck.met["lost"] > 0
    assert team.labels("pay-stage-2")["soak-days"] == "4"
    assert "nothing to change" in team.run().stderr


def test_what_could_not_be_written_is_reported_and_written_by_running_it_again(team: Team) -> None:
    """A name that no label can have, refused there: clusters wait, and nothing is noted as ours."""
    team.change("- {name: stage}", "- {name: stage}\n- {name: a b, dependencies: [{name: prod}]}")
    team.change("soakDays: 1", "soakDays: 4")
    result = team.run()
    assert result.exit_code == 1
    assert "Error: 1 label not written:" in result.stderr
    assert "sector-deps.a b" in result.stderr
    assert team.labels("pay-stage-2")["soak-days"] == "1"
    assert MARK not in team.labels()
    team.change("name: a b", "name: ab")
    team.does()
    assert team.labels("pay-stage-2")["soak-days"] == "4"
    assert "sector-deps.ab" in team.labels()[MARK]


def test_a_person_with_a_token_writes_his_own_organisation(team: Team) -> None:
    """No file of who is served is needed; another's is not in reach."""
    args = ("--ocm-url", team.at.url, "--token", "mine")
    result = team.run(*args, "-o", "json", upgrades=False)
    assert result.exit_code == 0, (result.output, result.exception)
    changes = json.loads(result.stdout)["changes"]
    assert {each["organization"] for each in changes} == {"o-payments"}
    assert {each["label"] for each in changes} == {MARK}
    assert all(each["written"] for each in changes)
    other = team.run(*args, "--org", "o-maps", upgrades=False)
    assert other.exit_code != 0


def test_who_is_not_served_or_says_no_is_left_alone(team: Team) -> None:
    """And a name that is not there gets the nearest one."""
    team.write(
        "ocm/maps.yml",
        PAYMENTS.replace("payments", "maps").replace("pay-", "maps-")
        + "disable: {integrations: [ocm-labels]}\n",
    )
    result = team.run("--dry-run")
    assert "o-maps: ocm-labels is disabled there: unchanged" in result.stderr
    wrong: Any = team.run("--org", "o-payment").exception
    assert 'did you mean "o-payments"?' in str(wrong)
