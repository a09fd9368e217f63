"""What a bundle declares of upgrades: read from its files, and the labels it results in."""

from typing import Any

import pytest

from tests.bundles import bundle_of
from tidegate.kinds.upgrades.bundle import UPGRADES_SECTION
from tidegate.kinds.upgrades.core.labels.bundled import (
    Bundled,
    BundledCluster,
    BundledEnvironment,
    BundledOrg,
    BundledPolicy,
    BundledSector,
)
from tidegate.kinds.upgrades.core.labels.declared_labels import org_labels, policy_labels
from tidegate.model.problem import Problem

FILES = {
    "ocm/env.yml": """
$schema: /openshift/openshift-cluster-manager-environment-1.yml
name: prod
labels: {}
description: where clusters are
url: https://api.example.com
accessTokenClientId: us
accessTokenUrl: https://sso.example.com/token
accessTokenClientSecret: {path: a/secret, field: client_secret}
telemeter: {$ref: /ocm/telemeter.yml}
""",
    "ocm/telemeter.yml": "$schema: /dependencies/prometheus-instance-1.yml\nname: telemeter\n",
    "ocm/payments.yml": r"""
$schema: /openshift/openshift-cluster-manager-1.yml
name: payments
labels: {}
description: an organisation
orgId: o-payments
environment: {$ref: /ocm/env.yml}
accessTokenClientId: theirs
addonManagedUpgrades: true
ausClusterHealthChecks: [{provider: telemeter, enforced: true}]
disable: {integrations: [version-gate-approver, something-else]}
blockedVersions: ['^4\.16\.5$']
sectors:
- name: prod
  dependencies: [{name: stage}, {name: canary}]
  maxParallelUpgrades: "1"
- {name: stage}
inheritVersionData: [{$ref: /ocm/maps.yml}]
publishVersionData: [{$ref: /ocm/maps.yml}]
upgradePolicyClusters:
- name: pay-stage-1
  spec: {id: pay-stage-1-id}
  upgradePolicy:
    workloads: [payments, audit]
    schedule: "* * * * *"
    conditions: {soakDays: 0, mutexes: [pay-stage], sector: stage}
- name: pay-prod-1
  upgradePolicy: {$ref: /ocm/policy.yml}
""",
    "ocm/policy.yml": """
$schema: /openshift/cluster-upgrade-policy-1.yml
workloads: [payments]
schedule: 0 8-16 * * 1-4
versionGateApprovals: [api.openshift.com/gate-ocp]
conditions: {soakDays: 5, sector: prod, blockedVersions: [^4.17]}
""",
    "ocm/maps.yml": """
$schema: /openshift/openshift-cluster-manager-1.yml
name: maps
orgId: o-maps
""",
    "clusters/maps-1.yml": """
$schema: /openshift/cluster-1.yml
name: maps-1
ocm: {$ref: /ocm/maps.yml}
spec: {id: maps-1-id, version: 4.16.3}
upgradePolicy: {workloads: [maps], schedule: "@hourly", conditions: {}}
""",
    "clusters/maps-2.yml": """
$schema: /openshift/cluster-1.yml
name: maps-2
ocm: {$ref: /ocm/maps.yml}
upgradePolicy: {$ref: /ocm/policy.yml}
disable: {integrations: [ocm-labels]}
""",
    "clusters/maps-3.yml": """
$schema: /openshift/cluster-1.yml
name: maps-3
ocm: {$ref: /ocm/maps.yml}
""",
}
PROD = BundledPolicy(
    workloads=("payments",),
    schedule="0 8-16 * * 1-4",
    soak_days=5,
    sector="prod",
    blocked=("^4.17",),
    approvals=("api.openshift.com/gate-ocp",),
)


def bundled(**changed: str) -> Bundled:
    """What the files declare, some of them changed; names of files with one underscore."""
    more = {name.replace("__", "/") + ".yml": text for name, text in changed.items()}
    return UPGRADES_SECTION.of(bundle_of({**FILES, **more}))


def test_environments_and_organisations_are_read_with_what_they_name() -> None:
    """Their Prometheus, policies in other files and in those of clusters, and who inherits."""
    found = bundled()
    assert found.gaps == ()
    assert found.environments == (
        BundledEnvironment(
            name="prod",
            url="https://api.example.com",
            token_url="https://sso.example.com/token",
            client_id="us",
            prometheus="telemeter",
            where="ocm/env.yml:1",
        ),
    )
    maps, payments = found.organizations
    assert (maps.id, maps.environment) == ("o-maps", "")
    assert payments.environment == "prod"
    assert payments.client_id == "theirs"
    assert payments.addons
    assert payments.health_checks == (("telemeter", True),)
    assert payments.disabled == ("version-gate-approver", "something-else")
    assert (payments.inherit, payments.publish) == (("o-maps",), ("o-maps",))
    stage, prod = payments.clusters
    assert (stage.name, stage.id, stage.where) == (
        "pay-stage-1",
        "pay-stage-1-id",
        "ocm/payments.yml:21",
    )
    assert prod.policy == PROD
    (only,) = maps.clusters
    assert (only.name, only.id, only.policy.soak_days) == ("maps-1", "maps-1-id", 0)


def test_labels_are_what_the_existing_integration_writes() -> None:
    """Lists sorted, no soak is 0, nothing empty; sectors with their limits."""
    maps, payments = bundled().organizations
    problems: list[Problem] = []
    assert [policy_labels(each, problems) for each in payments.clusters] == [
        {
            "soak-days": "0",
            "schedule": "* * * * *",
            "sector": "stage",
            "workloads": "audit,payments",
            "mutexes": "pay-stage",
        },
        {
            "soak-days": "5",
            "schedule": "0 8-16 * * 1-4",
            "sector": "prod",
            "workloads": "payments",
            "blocked-versions": "^4.17",
            "version-gate-approvals": "api.openshift.com/gate-ocp",
        },
    ]
    assert policy_labels(maps.clusters[0], problems) == {
        "soak-days": "0",
        "schedule": "@hourly",
        "workloads": "maps",
    }
    assert org_labels(payments, problems) == {
        "blocked-versions": r"^4\.16\.5$",
        "sector-deps.prod": "canary,stage",
        "sector-max-parallel-upgrades.prod": "1",
        "version-data.inherit": "o-maps",
        "version-data.publish": "o-maps",
    }
    assert org_labels(maps, problems) == {}
    assert problems == []


def test_a_sector_that_nothing_else_tells_of_is_said_to_be_there() -> None:
    """One without dependencies, of which none depends; one with a limit is described by that."""
    problems: list[Problem] = []
    lone = BundledOrg(id="o", name="o", sectors=(BundledSector(name="a"),))
    assert org_labels(lone, problems) == {"sector-deps.a": ""}
    capped = BundledOrg(id="o", name="o", sectors=(BundledSector(name="a", max_parallel="2"),))
    assert org_labels(capped, problems) == {"sector-max-parallel-upgrades.a": "2"}


def test_what_no_label_can_say_is_reported() -> None:
    """A comma inside an item, and a sector that waits for one of another organisation."""
    problems: list[Problem] = []
    policy = BundledPolicy(workloads=("a,b",), schedule="@daily")
    policy_labels(BundledCluster(name="c", policy=policy, where="f.yml:3"), problems)
    sector = BundledSector(name="prod", elsewhere=(("stage", "maps"),))
    org_labels(BundledOrg(id="o", name="pay", where="g.yml:1", sectors=(sector,)), problems)
    comma, elsewhere = (each.text() for each in problems)
    assert comma.startswith('f.yml:3: cluster/c: workloads: "a,b" contains a comma, which')
    assert elsewhere.startswith('g.yml:1: pay: sectors.prod: waits for the sector "stage" of maps')


def test_a_sector_of_the_same_organisation_may_be_named_with_it() -> None:
    """It is the same as without; another's is distinguished."""
    changed = FILES["ocm/payments.yml"].replace(
        "[{name: stage}, {name: canary}]",
        "[{name: stage, ocm: {$ref: /ocm/payments.yml}}, {name: x, ocm: {$ref: /ocm/maps.yml}}]",
    )
    _, payments = bundled(ocm__payments=changed).organizations
    assert payments.sectors[0].dependencies == ("stage",)
    assert payments.sectors[0].elsewhere == (("x", "maps"),)


@pytest.mark.parametrize(
    "changed, gap",
    [
        ({"ocm__policy": "$schema: /openshift/cluster-upgrade-policy-1.yml\n"}, "ocm/policy.yml"),
        ({"clusters__maps-1": "a: [\n"}, "clusters/maps-1.yml"),
        ({"notes": "$schema: /something/else-1.yml\na: 1\na: 2\n"}, "notes.yml"),
        (
            {"clusters__maps-1": FILES["clusters/maps-1.yml"].replace("/ocm/maps", "/ocm/mps")},
            "clusters/maps-1.yml:4: no file",
        ),
        (
            {"clusters__maps-1": FILES["clusters/maps-1.yml"].replace("conditions", "condition")},
            "clusters/maps-1.yml",
        ),
        (
            {"ocm__policy": FILES["ocm/policy.yml"].replace("soakDays", "soakDay")},
            "unknown field",
        ),
    ],
)
def test_what_may_be_missing_is_a_gap(changed: Any, gap: str) -> None:
    """So that no one takes for gone what could not be read."""
    assert any(gap in each for each in bundled(**changed).gaps), bundled(**changed).gaps


def test_what_is_wrong_with_integrations_is_no_gap() -> None:
    """They have nothing to do with upgrades."""
    broken = "$schema: /app-sre/integration-1.yml\nname: 3\n"
    whole = bundle_of({**FILES, "integrations/x.yml": broken})
    assert whole.errors
    assert UPGRADES_SECTION.of(whole).gaps == ()
