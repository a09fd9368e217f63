"""What is wrong with a bundle is said where it stands, with what to write; a row each."""

import pytest

from tests.bundles import INVENTORY, PRODUCTION, bundle_of, integration, said, with_integration
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.wiring.bundles import bundle_rules

SPEC = "spec: {resources: {requests: {cpu: 100m, memory: 100Mi}}}"
PLACE = f"- namespace: {{$ref: {PRODUCTION}}}\n"


def entry(text: str, spec: str = SPEC) -> str:
    return integration(f"{PLACE}  {spec}\n" + "".join(f"  {line}\n" for line in text.splitlines()))


def spec(field: str) -> str:
    return entry("", f"spec: {{resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}, {field}}}")


def by_account(override: str) -> str:
    return entry(f"sharding:\n  strategy: per-aws-account\n  shardSpecOverrides:\n{override}")


ERRORS = [
    # YAML that means two things.
    ("yaml", spec("imageRef: 12e4567"), 5, "12e4567 reads as the number inf", "quote it"),
    ("yaml", spec("imageRef: 4.10"), 5, "4.10 reads as the number 4.1", "quote it"),
    ("yaml", spec("imageRef: 0302051"), 5, "0302051 is a number to some", "quote it"),
    ("yaml", spec("state: yes"), 5, "yes is true or false to some readers", "write true or false"),
    ("yaml", integration("") + "name: b\n", 4, '"name" appears twice', "keep one"),
    ("yaml", integration("\t- a: b\n"), 4, "found character", "spaces, not tabs"),
    ("yaml", entry("<<: {a: b}"), 6, "a merge key", "write the fields out"),
    ("yaml", entry("x: !!str y"), 6, "tag ", "drop it"),
    ("yaml", "$schema: [\n", 2, "did not find", ""),
    # Fields.
    ("schema", spec("imageRef: 1234567"), 5, "1234567 is not a text", 'quote it: "1234567"'),
    ("schema", spec("imagRef: foo"), 5, 'unknown field "imagRef"', 'did you mean "imageRef"?'),
    ("schema", spec("imageRef: true"), 5, "true is not a text", 'quote it: "true"'),
    ("schema", spec("sleepDurationSecs: 300"), 5, "300 is not a text", 'quote it: "300"'),
    ("schema", spec('sleepDurationSecs: "5m"'), 5, '"5m" cannot be used', 'like "300"'),
    ("schema", spec("concurrencyPolicy: Alow"), 5, '"Alow" is not known', '"Allow"'),
    ("schema", spec("extraEnv: [{name: A}]"), 5, "wrong number of fields", "write 2 of them"),
    ("schema", spec("failedJobHistoryLimit: -1"), 5, "-1 is below 0", "write 0 or more"),
    ("schema", integration("- {}\n"), 4, "namespace is missing", "write namespace"),
    ("schema", "$schema: /app-sre/integration-1.yml\n", 1, "name is missing", "write name"),
    ("schema", by_account("  - shard: {ref: a}\n"), 9, "$ref is missing", "write $ref"),
    ("schema", by_account("  - shard: 1.5\n"), 9, "1.5 is not", ""),
    ("schema", by_account("  - shard: a\n    subSharding: {}\n"), 10, "shards is missing", ""),
    # Values.
    ("value", entry("", "spec: {resources: {limits: {memory: 2Gazillions}}}"), 5,
     '"2Gazillions" is not an amount', "write an amount like"),
    ("value", entry("", "spec: {resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}"), 5,
     "asks for 2 cpu and may have 1500m at most", "raise the limit"),
    ("value", spec("cron: every day"), 5, '"every day" is no schedule', "write minute"),
    ("value", entry("sharding: {shards: 3.0}"), 6, "3.0 is not a whole number", "write 3"),
    ("value", spec("storage: big"), 5, '"big" is not an amount', "write an amount"),
    # Names of files.
    ("reference", entry("").replace(PRODUCTION, PRODUCTION.replace("production", "prodution")), 4,
     "no file", f'did you mean "{PRODUCTION}"?'),
    ("reference", entry("").replace(PRODUCTION, "/clusters/tiny/cluster.yml"), 4,
     "is a cluster, not a namespace", ""),
    ("reference", by_account("  - shard: {$ref: /aws/ter-int-dv/account.yml}\n"), 9,
     "no file", 'did you mean "/aws/ter-int-dev/account.yml"?'),
    # Shards and overrides.
    ("override", by_account("  - {shard: ter-int-dv, imageRef: a}\n"), 9,
     'no AWS account "ter-int-dv"', 'did you mean "ter-int-dev"?'),
    ("override", by_account("  - {shard: app-sre, imageRef: a}\n  - {shard: app-sre}\n"), 10,
     'a second override for "app-sre"; see integrations/it.yml:9', "keep one of them"),
    ("sharding", entry("sharding: {strategy: static, shards: 0}"), 6,
     "0 shards would remove every workload", "write 1 or more"),
    ("sharding", entry("sharding: {strategy: per-moon-phase}"), 6,
     'no strategy "per-moon-phase"', "write one of static"),
]  # fmt: skip


@pytest.mark.parametrize(
    "rule, text, line, message, remedy", ERRORS, ids=[f"{row[0]}-{row[3]}" for row in ERRORS]
)
def test_an_error_says_where_what_and_what_to_write(
    rule: str, text: str, line: int, message: str, remedy: str
) -> None:
    """Every row: its rule, its line, its message and its remedy."""
    found = [each for each in with_integration(text).findings if each.severity == "error"]
    assert any(message in each.message for each in found), found
    one = next(each for each in found if message in each.message)
    assert (one.rule, one.file, one.line) == (rule, "integrations/it.yml", line)
    assert remedy in one.remedy


WARNINGS = [
    ("override", by_account("  - {shard: legacy, imageRef: a}\n"), 9,
     'AWS account "legacy" disables this integration'),
    ("override", by_account("  - {shard: app-sre, imageRef: a}\n").replace(
        SPEC, "spec: {imageRef: a, resources: {requests: {cpu: 1}}}"), 9,
     '"a" is what every shard runs'),
    ("mutable-tag", spec("imageRef: latest"), 5, '"latest" can become another image'),
    ("mutable-tag", by_account("  - {shard: app-sre, imageRef: latest}\n"), 9,
     '"latest" can become another image'),
    ("no-effect", spec('sleepDurationSecs: "60", cron: "0 * * * *"'), 5,
     "sleepDurationSecs does nothing beside cron"),
    ("no-effect", spec("failedJobHistoryLimit: 0"), 5,
     "failedJobHistoryLimit does nothing without cron"),
    ("no-effect", spec("storage: 5Gi"), 5, "storage does nothing without cache"),
    ("value", spec('restartPolicy: Always, cron: "0 * * * *"'), 5,
     'Kubernetes refuses a job with "Always"'),
    ("long-name", entry("sharding: {strategy: per-cloudflare-zone}").replace(
        "terraform-resources", "terraform-cloudflare-resources-and-more"), 4,
     "qontract-reconcile-terraform-cloudflare-resources-and-more-main-example-com"),
    ("unread", "$schema: /app-sre/integrations-1.yml\nname: a\n", 1,
     'no schema "/app-sre/integrations-1.yml" is known'),
    ("unread", "name: a\n", 1, "neither $schema nor apiVersion"),
]  # fmt: skip


@pytest.mark.parametrize(
    "rule, text, line, message", WARNINGS, ids=[f"{row[0]}-{row[3]}" for row in WARNINGS]
)
def test_a_warning_says_what_is_probably_not_meant(
    rule: str, text: str, line: int, message: str
) -> None:
    """Every row warns, and refuses nothing."""
    bundle = with_integration(text)
    assert not bundle.errors
    found = [each for each in bundle.findings if message in each.message]
    assert [(each.rule, each.line) for each in found] == [(rule, line)]


def test_names_that_collide_are_an_error() -> None:
    """A cluster called as the sub-shard of another is, and an integration listed twice."""
    text = entry(
        "sharding:\n  strategy: per-openshift-cluster\n  shardSpecOverrides:\n"
        "  - {shard: tiny, subSharding: {shards: 2}}\n"
    )
    other = {"clusters/tiny-1/cluster.yml": "$schema: /openshift/cluster-1.yml\nname: tiny-1\n"}
    bundle = bundle_of({**INVENTORY, **other, "integrations/it.yml": text})
    assert [(each.rule, each.severity) for each in bundle.findings] == [("duplicate", "error")]
    assert "is both terraform-resources tiny-1 and terraform-resources tiny" in (
        bundle.findings[0].message
    )


def test_two_things_of_one_name_are_an_error() -> None:
    """Of two clusters, or two integrations, of one name, the second is reported."""
    cluster = {"clusters/other/cluster.yml": "$schema: /openshift/cluster-1.yml\nname: tiny\n"}
    again = {"integrations/a.yml": entry(""), "integrations/b.yml": entry("")}
    bundle = bundle_of({**INVENTORY, **cluster, **again})
    assert [(each.rule, each.file) for each in bundle.findings] == [
        ("duplicate", "clusters/tiny/cluster.yml"),
        ("duplicate", "integrations/b.yml"),
    ]


def test_what_other_programs_read_is_left_to_them() -> None:
    """Merge keys, old booleans and templates' numbers in a Kubernetes document are its business."""
    text = "apiVersion: v1\nkind: ConfigMap\ndata: {a: yes, b: 012, <<: {c: d}}\n"
    bundle = bundle_of({"a.yml": text, "b.yml": f"{text}---\n{text}"})
    assert not bundle.findings
    assert bundle.kinds == {"": 3}


def test_what_is_no_yaml_is_reported_for_any_file() -> None:
    """A reader will stumble."""
    bundle = bundle_of({"a.yml": "apiVersion: v1\nkind: {\n", "b.yml": b"a: \xff\n"})
    assert [(each.file, each.rule) for each in bundle.findings] == [
        ("a.yml", "yaml"),
        ("b.yml", "yaml"),
    ]


def test_shared_lists_of_integrations_are_followed() -> None:
    """A cluster may name a file with the integrations that leave it alone."""
    files = {
        "shared.yml": "$schema: /openshift/cluster-integrations-1.yml\nintegrations: [a]\n",
        "c.yml": "$schema: /openshift/cluster-1.yml\nname: c\n"
        "disable: {integrations: {$ref: /shared.yml}}\n",
    }
    assert INTEGRATIONS.of(bundle_of(files)).inventories["clusters"][0].disabled_for == {"a"}


def test_every_rule_is_described() -> None:
    """A person who gets a finding can look up its rule."""
    assert {row[0] for row in (*ERRORS, *WARNINGS)} <= bundle_rules().keys()


@pytest.mark.parametrize(
    "wrong",
    [
        "spec: {resources: 3}",
        "spec: {resources: {requests: {cpu: 100m, memory: 1Gi}}, unheard: of}",
        "spec: {}",
        "spec: {resources: {requests: {cpu: 100m, memory: 1Gi}}}\n  rollout: {groups: 3}",
    ],
)
def test_a_mistake_elsewhere_hides_none_of_the_shards(wrong: str) -> None:
    """Whatever else is wrong with a place, what is wrong with its shards is told with it."""
    sharding = "sharding: {strategy: per-aws-account, shardSpecOverrides: [{shard: nobody}]}"
    text = integration(f"- namespace: {{$ref: {PRODUCTION}}}\n  {wrong}\n  {sharding}\n")
    found = said(with_integration(text).findings)
    assert any('no AWS account "nobody"' in each for each in found), found
    assert len(found) > 1


def test_an_account_is_known_by_its_uid() -> None:
    """As by its name and its file; of one that is another's name, the one meant has to be said."""
    account = "$schema: /aws/account-1.yml\nname: '{name}'\nuid: '{uid}'\n"
    files = {
        **INVENTORY,
        "aws/one.yml": account.format(name="one", uid="123456789012"),
        "integrations/it.yml": integration(
            f"- namespace: {{$ref: {PRODUCTION}}}\n"
            "  spec: {resources: {requests: {cpu: 100m, memory: 1Gi}}}\n"
            "  sharding:\n    strategy: per-aws-account\n"
            "    shardSpecOverrides: [{shard: '123456789012', imageRef: aaaaaaa}]\n"
        ),
    }
    bundle = bundle_of(files)
    assert not any("123456789012" in each for each in said(bundle.findings))
    (it,) = INTEGRATIONS.of(bundle).integrations
    assert [each.shard for each in it.managed[0].sharding.overrides] == ["one"]
    twice = {**files, "aws/two.yml": account.format(name="123456789012", uid="210987654321")}
    assert any(
        "is the name of one and the id of another" in e for e in said(bundle_of(twice).findings)
    )
