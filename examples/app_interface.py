"""Writes examples/app-interface: a bundle as a team of SREs keeps it, of invented names throughout.

    python examples/app_interface.py            write the files (again)

40 clusters, 25 AWS accounts, 12 integrations in two environments. The tests use it, and one of them
runs this script and finds nothing to change.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "app-interface"
NAMESPACES = "/services/app-interface/namespaces"
PRODUCTION = f"{NAMESPACES}/app-interface-production-int.yml"
STAGE = f"{NAMESPACES}/app-interface-stage-int.yml"
# Which image is the default where, and which one is tried.
STABLE, STAGED = "ed21267", "f929a38"

ACCOUNTS = (
    ("ter-int-dev", "canary"),
    *((name, "stage") for name in ("app-sre-stage", "app-sre-stage-02", "osd-stage", "data-stage")),
    *(
        (name, "prod")
        for name in ("app-sre", "app-sre-ci", "app-sre-logs", "osd-prod", "osd-backup")
    ),
    *((f"tenant-{i:02d}", "prod") for i in range(1, 16)),
)
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2", "eu-central-1")


def main() -> None:
    """Write every file below a folder, examples/app-interface unless another is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for path, text in files():
        place = folder / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"---\n{text.strip()}\n", encoding="utf-8")


def files() -> Iterator[tuple[str, str]]:
    """Every file by its path."""
    yield "/app-interface/settings.yml", SETTINGS
    for name, phase, after in (("stage", "stage", None), ("production", "prod", "stage")):
        yield f"/products/app-interface/environments/{name}.yml", environment(name, phase, after)
    for name, cluster, env in (
        ("app-interface-stage-int", "app-sre-stage-01", "stage"),
        ("app-interface-production-int", "appsrep05ue1", "production"),
    ):
        yield f"{NAMESPACES}/{name}.yml", namespace(name, cluster, env)
    for name, tier in ACCOUNTS:
        yield f"/aws/{name}/account.yml", account(name, tier)
    for at, (name, tier) in enumerate(clusters()):
        yield f"/clusters/{name}/cluster.yml", cluster_file(name, tier, REGIONS[at % 4], at)
    yield "/clusters/unmanaged-integrations.yml", UNMANAGED
    for name, organisation in (("ocm-stage", "1StAgE0rG"), ("ocm-production", "1PrOd0rG7")):
        yield f"/ocm/{name}.yml", OCM.format(name=name, organisation=organisation)
    yield "/cloudflare/account.yml", CLOUDFLARE
    for zone in ("example-dev", "example-com", "example-org"):
        yield f"/cloudflare/zones/{zone}.yml", ZONE.format(name=zone, zone=zone.replace("-", "."))
    for name, text in integrations():
        yield f"/integrations/{name}.yml", text
    yield "/services/app-interface/cicd/saas-qontract-manager-int.yaml", SAAS
    yield "/services/app-interface/resources/alerts.yml", ALERTS


def clusters() -> list[tuple[str, str]]:
    """40 of them."""
    return [
        ("app-sre-stage-01", "stage"),
        ("appsres03ue1", "stage"),
        ("appsrep05ue1", "prod"),
        *((f"osd-canary-{i:02d}", "canary") for i in range(1, 3)),
        *((f"osd-stage-{i:02d}", "stage") for i in range(1, 11)),
        *((f"osd-prod-{i:02d}", "prod") for i in range(1, 26)),
    ]


def environment(name: str, phase: str, after: str | None) -> str:
    """An environment, and the one that goes first."""
    depends = f"dependsOn:\n  $ref: /products/app-interface/environments/{after}.yml\n"
    return f"""
$schema: /app-sre/environment-1.yml

labels: {{}}
name: app-interface-{name}
description: the {name} environment of the integrations
servicePhase: {phase}
{depends if after else ""}parameters:
  LOG_LEVEL: INFO
  INTERNAL_CERTIFICATES_IMAGE_TAG: 2d1e6ab
  DRY_RUN: {"--no-dry-run" if phase == "prod" else "--dry-run"}
"""


def namespace(name: str, cluster: str, env: str) -> str:
    """Where integrations run."""
    return f"""
$schema: /openshift/namespace-1.yml

labels: {{}}
name: {name}
description: integrations that run in {env}
cluster:
  $ref: /clusters/{cluster}/cluster.yml
environment:
  $ref: /products/app-interface/environments/{env}.yml
networkPoliciesAllow:
- $ref: {PRODUCTION if name.endswith("stage-int") else STAGE}
managedResourceTypes:
- Deployment
- Secret
"""


def account(name: str, tier: str) -> str:
    """One of 25 accounts."""
    disabled = "disable:\n  integrations:\n  - aws-iam-keys"
    number = 100000000000 + sum(ord(letter) * 31**at for at, letter in enumerate(name)) % 10**9
    return f"""
$schema: /aws/account-1.yml

labels:
  tier: {tier}
name: {name}
description: AWS account {name}
uid: "{number}"
consoleUrl: https://{number}.signin.aws.example.com/console
resourcesDefaultRegion: us-east-1
{disabled if name == "app-sre-logs" else ""}"""


def cluster_file(name: str, tier: str, region: str, at: int) -> str:
    """One of 40 clusters."""
    shared = "disable:\n  integrations:\n    $ref: /clusters/unmanaged-integrations.yml\n"
    return f"""
$schema: /openshift/cluster-1.yml

labels:
  tier: {tier}
  region: {region}
name: {name}
description: OpenShift cluster {name}
serverUrl: https://api.{name}.example.com:6443
ocm:
  $ref: /ocm/{"ocm-production" if tier == "prod" else "ocm-stage"}.yml
spec:
  product: rosa
  provider: aws
  region: {region}
  channel: stable
  version: 4.{14 + at % 3}.{at % 30}
{shared if name in ("osd-prod-24", "osd-prod-25") else ""}"""


def integrations() -> Iterator[tuple[str, str]]:
    """12 of them, in the spellings that are about."""
    accounts = "sharding:\n  strategy: per-aws-account"
    fleet = "sharding:\n  strategy: per-openshift-cluster"
    pinned = """
sharding:
  strategy: per-aws-account
  shardSpecOverrides:
  - shard:
      $ref: /aws/ter-int-dev/account.yml
    imageRef: f929a38"""
    larger = """
sharding:
  strategy: per-aws-account
  shardSpecOverrides:
  - shard: tenant-03
    resources:
      requests:
        memory: 2Gi
        cpu: 500m
      limits:
        memory: 4Gi
        cpu: 1"""
    split = """
sharding:
  strategy: per-openshift-cluster
  shardSpecOverrides:
  - shard: appsrep05ue1
    subSharding:
      strategy: static
      shards: 20
  - shard: osd-prod-11
    disabled: true"""
    yield _integration("terraform-resources", "state: true", larger, accounts)
    yield _integration("terraform-users", "", pinned, accounts)
    yield _integration("terraform-vpc-peerings", "", accounts)
    yield _integration("aws-iam-keys", "", accounts)
    yield _integration("openshift-resources", "internalCertificates: true", split, fleet)
    yield _integration("openshift-namespaces", "", fleet)
    yield _integration("openshift-routes", "", fleet)
    yield _integration(
        "ocm-upgrade-scheduler-org", "", "sharding:\n  strategy: per-ocm-organization"
    )
    yield _integration("terraform-cloudflare-dns", "", "sharding:\n  strategy: per-cloudflare-zone")
    # As it was written before there was a section for it.
    yield _integration("gitlab-housekeeping", "shardingStrategy: static\nshards: 3", "")
    yield _integration("slack-usergroups", "trigger: true", "")
    yield _integration("dashdotdb-slo", 'cron: "0 6 * * *"\nconcurrencyPolicy: Forbid', "")


def _integration(name: str, fields: str, prod: str, stage: str | None = None) -> tuple[str, str]:
    spec = f"""
    imageRef: {{image}}
    extraArgs: --internal
    resources:
      requests:
        memory: 300Mi
        cpu: 100m
      limits:
        memory: 600Mi
        cpu: 400m
{_indented(fields, 4)}"""
    return (
        name,
        f"""
$schema: /app-sre/integration-1.yml

labels:
  service: app-interface
name: {name}
description: keeps {name.replace("-", " ")} as they are declared
upstream: https://git.example.com/app-sre/qontract-reconcile
schemas:
- /app-interface/app-interface-settings-1.yml
- /app-sre/integration-1.yml
pr_check:
  cmd: {name}
managed:
- namespace:
    $ref: {STAGE}
  spec:{spec.format(image=STAGED).rstrip()}
{_indented(prod if stage is None else stage, 2)}
- namespace:
    $ref: {PRODUCTION}
  spec:{spec.format(image=STABLE).rstrip()}
{_indented(prod, 2)}
""".replace("\n\n-", "\n-"),
    )


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.strip().splitlines())


SETTINGS = """
$schema: /app-interface/app-interface-settings-1.yml

name: app-interface settings
description: settings of the whole bundle
hashLength: 7
rollout:
  type: ProgressivePerGroup
  progressivePerGroup:
    minSuccessTime: 30m
    progressDeadline: 2h
    maxConcurrency: 5
    maxFailures: 0
  onFailure: rollback
  runs: 3
  failingRuns: 3
  groups:
  - name: canary
    matchLabels:
      tier: canary
  - name: stage
    matchLabels:
      tier: stage
"""
UNMANAGED = """
$schema: /openshift/cluster-integrations-1.yml

name: unmanaged
integrations:
- openshift-resources
- openshift-routes
"""
OCM = """
$schema: /openshift/openshift-cluster-manager-1.yml

labels: {{}}
name: {name}
description: an organisation of OpenShift Cluster Manager
orgId: {organisation}
"""
CLOUDFLARE = """
$schema: /cloudflare/account-1.yml

name: main
description: where our zones are
"""
ZONE = """
$schema: /cloudflare/dns-zone-1.yml

labels: {{}}
identifier: {name}
zone: {zone}
account:
  $ref: /cloudflare/account.yml
"""
SAAS = f"""
$schema: /app-sre/saas-file-2.yml

labels: {{}}
name: saas-qontract-manager-int
description: deploys the integrations manager
resourceTemplates:
- name: qontract-manager
  url: https://git.example.com/app-sre/qontract-reconcile
  path: /openshift/qontract-manager.yaml
  targets:
  - namespace:
      $ref: {STAGE}
    ref: master
  - namespace:
      $ref: {PRODUCTION}
    ref: ed2126700112233445566778899aabbccddeeff0
"""
ALERTS = """
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: qontract-reconcile
spec:
  groups:
  - name: qontract-reconcile
    rules:
    - alert: IntegrationFailing
      expr: qontract_reconcile_last_run_status > 0
      for: 30m
"""


if __name__ == "__main__":
    main()
