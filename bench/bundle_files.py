"""Bundles of any size: clusters, namespaces, saas files and integrations, as people write them.

Of a hundred files about fifty are namespaces, thirty-three clusters, ten saas files and the others
integrations, environments and accounts; comments, quotes, flow style and block texts are in them. A
file has 1.7 kB on average, as those have that bundles of this kind consist of.
"""

from collections.abc import Iterator
from pathlib import Path

SHA = "f929a38c0b1d2e3f405162738495a6b7c8d9e0f1"


def write_bundle(folder: Path, size: int) -> None:
    """Write so many files into a folder."""
    for path, text in files(size):
        place = folder / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def files(size: int) -> Iterator[tuple[str, str]]:
    """So many files, by path."""
    clusters, saas, integrations = size * 33 // 100, size // 10, max(size * 4 // 100, 1)
    accounts = max(size // 50, 1)
    yield "/products/app/environments/production.yml", _environment("production", "prod")
    yield "/products/app/environments/stage.yml", _environment("stage", "stage")
    for i in range(clusters):
        yield f"/clusters/cluster-{i:05d}/cluster.yml", _cluster(i)
    for i in range(accounts):
        yield f"/aws/account-{i:05d}/account.yml", _account(i)
    namespaces = size - 2 - clusters - saas - integrations - accounts
    for i in range(namespaces):
        yield _namespace_path(i), _namespace(i, clusters)
    for i in range(saas):
        yield f"/services/app-{i % 97}/cicd/saas-{i:05d}.yaml", _saas(i, namespaces)
    for i in range(integrations):
        yield f"/integrations/integration-{i:05d}.yml", _integration(i, namespaces)


def _namespace_path(i: int) -> str:
    return f"/services/app-{i % 97}/namespaces/ns-{i:05d}.yml"


def _environment(name: str, phase: str) -> str:
    return f"""---
$schema: /app-sre/environment-1.yml

labels: {{}}
name: {name}
description: everything that is {name}
servicePhase: {phase}
parameters:
  LOG_LEVEL: INFO
  SLEEP_DURATION_SECS: "300"
"""


def _cluster(i: int) -> str:
    return f"""---
$schema: /openshift/cluster-1.yml

labels:
  service: app-{i % 97}
  sector: {("canary", "stage", "prod")[i % 3]}

name: cluster-{i:05d}
description: cluster {i} of the fleet, managed
# asked about by monitoring as well
consoleUrl: "https://console-openshift-console.apps.cluster-{i:05d}.example.com"
kibanaUrl: ""
prometheusUrl: "https://prometheus.cluster-{i:05d}.example.com"
alertmanagerUrl: "https://alertmanager.cluster-{i:05d}.example.com"
serverUrl: "https://api.cluster-{i:05d}.example.com:6443"
managedGroups:
- dedicated-admins
- app-sre-admins
spec:
  id: 1ab{i:05d}cd
  external_id: 00000000-0000-4000-8000-{i:012d}
  provider: aws
  product: rosa
  channel: stable
  version: 4.16.{i % 40}
  initial_version: 4.12.3
  region: us-east-1
  multi_az: true
  private: false
  nodes: {3 + i % 9}
  instance_type: m5.xlarge
  storage: 1100
  load_balancers: 0
  provision_shard_id: ps-{i % 7}
machinePools:
- id: worker
  instance_type: m5.2xlarge
  replicas: {3 + i % 5}
  labels: {{node-role: worker, tier: "{i % 4}"}}
upgradePolicy:
  workloads: [service-{i % 13}, service-{i % 17}]
  schedule: 0 {i % 24} * * 1-5
  conditions:
    soakDays: {i % 14}
    mutexes:
    - mutex-{i % 31}
network:
  type: OVNKubernetes
  vpc: 10.{i % 250}.0.0/16
  service: 172.30.0.0/16
  pod: 10.128.0.0/14
disable:
  integrations:
  - integration-{i % 400:05d}
internal: false
auth:
- service: oidc
- service: github-org-team
  org: team-{i % 41}
  team: cluster-{i:05d}-admins
awsInfrastructureAccess:
- awsGroup:
    account: account-{i % 50:05d}
    name: app-sre-admins
  accessLevel: read-only
- awsGroup:
    account: account-{i % 50:05d}
    name: app-sre-backup
  accessLevel: network-mgmt
additionalRouters:
- private: true
  route_selectors:
    route: internal
externalConfiguration:
  labels:
    sre-capabilities.aus.soak-days: "{i % 14}"
    sre-capabilities.aus.sector: {("canary", "stage", "prod")[i % 3]}
addons:
- name: managed-velero
  parameters:
  - id: schedule
    value: daily
elbFQDN: elb.apps.cluster-{i:05d}.example.com
insecureSkipTLSVerify: false
observabilityNamespace: openshift-observability
"""


def _account(i: int) -> str:
    return f"""---
$schema: /aws/account-1.yml

labels: {{tier: "{i % 3}"}}
name: account-{i:05d}
description: an account for the tests of team {i % 41}
consoleUrl: https://{i:012d}.signin.aws.example.com/console
uid: "{i:012d}"
resourcesDefaultRegion: us-east-1
supportedDeploymentRegions:
- us-east-1
- eu-west-1
accountOwners:
- name: Team {i % 41}
  email: team-{i % 41}@example.com
"""


def _namespace(i: int, clusters: int) -> str:
    return f"""---
$schema: /openshift/namespace-1.yml

labels:
  service: app-{i % 97}
name: ns-{i:05d}
description: |
  Where app {i % 97} runs.
  Ask its team before touching anything.
cluster:
  $ref: /clusters/cluster-{i % clusters:05d}/cluster.yml
app:
  name: app-{i % 97}
environment:
  $ref: /products/app/environments/{"production" if i % 4 else "stage"}.yml
networkPoliciesAllow:
- name: openshift-ingress
- name: openshift-monitoring  # metrics
managedRoles: true
managedResourceTypes:
- Secret
- Route
- ConfigMap
openshiftResources:
- provider: resource
  path: /services/app-{i % 97}/config.yaml
- provider: vault-secret
  path: app-{i % 97}/prod/database
  version: {1 + i % 9}
- provider: route
  path: /services/app-{i % 97}/route.yaml
  vault_tls_secret_path: app-{i % 97}/tls
quota: {{cpu: "{2 + i % 8}", memory: {4 + i % 12}Gi}}
externalResources:
- provider: aws
  provisioner: account-{i % 50:05d}
  resources:
  - provider: rds
    identifier: app-{i % 97}-db-{i}
    defaults: /terraform/rds-1.yml
    output_resource_name: app-rds
    overrides:
      engine_version: '14.{i % 9}'
      instance_class: db.t3.medium
  - provider: s3
    identifier: app-{i % 97}-bucket-{i}
    defaults: /terraform/s3-1.yml
    output_resource_name: app-bucket
    storage_class: glacier
  - provider: aws-iam-service-account
    identifier: app-{i % 97}-sa-{i}
    output_resource_name: app-sa
    policies:
    - AmazonS3ReadOnlyAccess
sharedResources:
- path: /services/shared/pull-secret.yml
- path: /services/shared/dockerconfig.yml
limitRanges:
  default:
    cpu: 500m
    memory: 512Mi
  defaultRequest:
    cpu: 100m
    memory: 128Mi
skupperSite: false
clusterAdmin: false
kafkaCluster: kafka-{i % 11}
"""


def _saas(i: int, namespaces: int) -> str:
    targets = "".join(
        f"""
  - name: target-{n}
    namespace:
      $ref: {_namespace_path((7 * i + n) % namespaces)}
    ref: {SHA if n else "master"}
    parameters:
      REPLICAS: {1 + n}
      MEMORY_LIMIT: {n + 1}Gi
      LOG_LEVEL: debug"""
        for n in range(6)
    )
    return f"""---
$schema: /app-sre/saas-file-2.yml

labels: {{service: app-{i % 97}}}
name: saas-{i:05d}
description: how app {i % 97} is deployed
slack:
  channel: team-{i % 41}
managedResourceTypes:
- Deployment
- Service
- ConfigMap
imagePatterns:
- registry.example.com/app-{i % 97}
resourceTemplates:
- name: app-{i % 97}
  url: https://git.example.com/org/app-{i % 97}
  path: /deploy/template.yml
  hash_length: 7
  parameters:
    IMAGE: registry.example.com/app-{i % 97}
  targets:{targets}
"""


def _integration(i: int, namespaces: int) -> str:
    n = (11 * i) % namespaces
    return f"""---
$schema: /app-sre/integration-1.yml

labels: {{service: app-interface}}
name: integration-{i:05d}
description: reconciles what {i} is about
upstream: https://git.example.com/org/reconcile
schemas:
- /app-interface/app-interface-settings-1.yml
- /app-sre/integration-1.yml
- /aws/account-1.yml
pr_check:
  cmd: integration-{i:05d}
  state: true
  run_order: {i % 5}
managed:
- namespace:
    $ref: {_namespace_path(n)}
  spec:
    extraArgs: --internal --io-dir /tmp/throughput/
    imageRef: f929a38
    resources:
      requests:
        memory: 300Mi
        cpu: 100m
      limits:
        memory: 600Mi
        cpu: 400m
    logs:
      slack: true
    state: true
    sleepDurationSecs: "60"
  sharding:
    strategy: static
    shards: {1 + i % 5}
    shardSpecOverrides:
    - shard: 0
      imageRef: ed21267
      resources:
        requests: {{cpu: 200m, memory: 1Gi}}
        limits: {{cpu: 400m, memory: 2Gi}}
"""
