"""Every example that the design documents of sharding show can be read; one value is refused.

What an example leaves out (`...`) is written in, and a fragment is put where it says it belongs.
"""

import pytest

from tests.bundles import integration, with_integration
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.model import Override

SUB_SHARDS = """\
- namespace:
    $ref: /services/app-interface/namespaces/app-interface-production-int.yml
  spec:
    resources:
      requests:
        memory: 500Mi
        cpu: 500m
      limits:
        memory: 1000Mi
        cpu: 1200m
    sharding:
      strategy: per-openshift-cluster
      shardSpecOverrides:
      - shard: appsrep05ue1
        subSharding:
          strategy: static
          shards: 20
      - shard: app-sre-stage-01
        imageRef: my-dangerous-change
        resources:
          requests:
            memory: 2Gi
            cpu: 2
          limits:
            memory: 2Gazillions
            cpu: 100
        subSharding:
          strategy: static
          shards: 5
"""
STATIC = """\
# Another case with just a static sharding. But setting the sharding attributes
# under the sharding section
- namespace:
    $ref: /services/app-interface/namespaces/app-interface-production-int.yml
  spec:
    resources:
      requests:
        memory: 500Mi
        cpu: 500m
      limits:
        memory: 1000Mi
        cpu: 1200m
    sharding:
      strategy: static
      shards: 20
"""
BY_ACCOUNT = """\
- namespace:
    $ref: /clusters/appint-ex-01/namespaces/testing.yml
  shardSpecOverride:
    - imageRef: {image}
      shard:
        $ref: /aws/app-int-example-01/account.yml
  spec:
    resources: {{requests: {{cpu: 100m, memory: 100Mi}}, limits: {{memory: 200Mi}}}}
    imageRef: {default}
    shardingStrategy: per-aws-account
"""
PINNED = """\
- namespace:
    $ref: /services/app-interface/namespaces/app-interface-production-int.yml
  spec:
    resources: {requests: {cpu: 100m, memory: 100Mi}, limits: {memory: 200Mi}}
  sharding:
    strategy: per-aws-account
    shardSpecOverrides:
    - shard:
        $ref: /aws/ter-int-dev/account.yml
      imageRef: f929a38
"""


def test_the_one_value_that_is_refused_is_two_gazillions() -> None:
    """Of all that the examples say, one amount is none, and it is shown where it stands."""
    bundle = with_integration(integration(SUB_SHARDS))
    (one,) = bundle.findings
    assert one.path == "managed[0].spec.sharding.shardSpecOverrides[1].resources.limits.memory"
    assert (one.file, one.line, one.value) == ("integrations/it.yml", 28, '"2Gazillions"')
    assert one.message == '"2Gazillions" is not an amount'
    assert one.remedy == "write an amount like 100m, 2, 500Mi or 2Gi"


@pytest.mark.parametrize(
    "managed",
    [
        SUB_SHARDS.replace("2Gazillions", "2Gi"),
        STATIC,
        BY_ACCOUNT.format(image="foo", default="latest"),
        BY_ACCOUNT.format(image="superdangerous", default="stable"),
        PINNED,
    ],
    ids=("sub-shards", "static", "foo", "superdangerous", "pinned"),
)
def test_everything_else_is_taken(managed: str) -> None:
    """No error; and what is said means what the text around the example says it does."""
    bundle = with_integration(integration(managed))
    assert not bundle.errors
    assert len(INTEGRATIONS.of(bundle).integrations[0].managed) == 1


def test_both_documents_of_an_example_may_stand_in_one_file() -> None:
    """The first example is two documents parted by `---`."""
    two = integration(SUB_SHARDS.replace("2Gazillions", "2Gi"), "openshift-resources")
    bundle = with_integration(f"{two}---\n{integration(STATIC)}")
    assert [each.name for each in INTEGRATIONS.of(bundle).integrations] == [
        "openshift-resources",
        "terraform-resources",
    ]
    assert not bundle.errors


def test_overrides_mean_what_the_documents_say() -> None:
    """20 and 5 sub-shards, amounts as Kubernetes takes them, and the shard by its name."""
    bundle = with_integration(integration(SUB_SHARDS.replace("2Gazillions", "2Gi")))
    first, second = INTEGRATIONS.of(bundle).integrations[0].managed[0].sharding.overrides
    assert (first.shard, first.sub_shards) == ("appsrep05ue1", 20)
    assert second == Override(
        shard="app-sre-stage-01",
        image_ref="my-dangerous-change",
        resources={
            "requests": {"memory": "2Gi", "cpu": "2"},
            "limits": {"memory": "2Gi", "cpu": "100"},
        },
        sub_shards=5,
        where="integrations/it.yml:21",
    )


def test_an_account_may_be_named_by_its_file() -> None:
    """`$ref` to an account is the account's shard, wherever the override stands."""
    bundle = with_integration(integration(BY_ACCOUNT.format(image="foo", default="stable")))
    sharding = INTEGRATIONS.of(bundle).integrations[0].managed[0].sharding
    assert sharding.strategy == "per-aws-account"
    assert [(each.shard, each.image_ref) for each in sharding.overrides] == [
        ("app-int-example-01", "foo")
    ]
