"""Every field of an integration's spec, and of an override, has a file that shows what it does."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.golden.cases import CASES, Case, bare, baseline
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.idle import (
    ALL_THE_TIME,
    BY_THE_CLOCK,
    OF_A_CACHE,
    idle,
)

# Accepted, and without effect on what we render, with the reason.
_SHIPPING = "how logs are shipped is the site's overlay; the field is for it"
NO_EFFECT = {
    "logs.slack": _SHIPPING,
    "logs.slackErrorFilter": _SHIPPING,
    "logs.govSlack": _SHIPPING,
    "trigger": "which channel is told is the site's overlay; the field is for it",
}
# Other spellings of what stands beside `spec`, made one before anything is rendered
# (tests/unit/test_bundle_spelling.py).
SPELLINGS = {"sharding", "shardingStrategy", "shardSpecOverrides", "shardSpecOverride"}
SPEC_FOLDERS = ("server", "cache", "cron", "sidecar")
OVERRIDE_FOLDERS = ("override", "override-cron")
# How one shard is named, in each spelling; not what is different for it.
NAMING = {"shard", "awsAccount", "awsAccounts", "shardingStrategy"}


def properties(schema: str, definition: str) -> Iterator[str]:
    """What may be written there; fields of `logs` one by one."""
    document = msgspec.json.decode((INTEGRATIONS.schemas / f"{schema}.json").read_bytes())
    for name, written in document["$defs"][definition]["properties"].items():
        if name == "logs":
            yield from (f"logs.{each}" for each in written["properties"])
        else:
            yield name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_rendered_is_what_the_file_says(case: Case, request: pytest.FixtureRequest) -> None:
    """To the letter: the order of variables and volumes is part of what runs."""
    if request.config.getoption("--rewrite", default=False):
        case.rewrite()
    else:
        assert case.rendered() == case.sections["rendered"], (
            f"{case.name}: run the tests with --rewrite and read the change"
        )


def covering(folders: tuple[str, ...], field: str) -> list[Case]:
    """The golden files of a field."""
    return [case for case in CASES if case.path.parent.name in folders and case.field == field]


def spec_of(case: Case) -> dict[str, Any]:
    (managed,) = case.written("integration")["managed"]
    return flat({**managed["spec"], "shards": (managed.get("sharding") or {}).get("shards")})


def flat(spec: dict[str, Any]) -> dict[str, Any]:
    """With the fields of `logs` one by one, and without what is not there."""
    logs = {f"logs.{key}": value for key, value in spec.get("logs", {}).items()}
    return {
        key: value for key, value in {**spec, **logs}.items() if key != "logs" and value is not None
    }


@pytest.mark.parametrize("field", sorted(set(properties("integration", "spec")) - SPELLINGS))
def test_every_field_of_a_spec_has_an_effect_or_a_reason(field: str) -> None:
    """A field that is taken and does nothing looks as if it had been done."""
    found = covering(SPEC_FOLDERS, field)
    assert found, f"{field}: write a golden file for it, in one of {SPEC_FOLDERS}"
    for case in found:
        ours, base = spec_of(case), spec_of(baseline(case))
        changed = {key for key in ours.keys() | base.keys() if ours.get(key) != base.get(key)}
        assert changed == {field}, f"{case.name} is about one field"
        same = bare(case.manifests()) == bare(baseline(case).manifests())
        assert same == (field in NO_EFFECT), f"{case.name}: {NO_EFFECT.get(field, 'no effect')}"


@pytest.mark.parametrize("field", sorted(set(properties("sharding", "override")) - NAMING))
def test_every_override_has_an_effect(field: str) -> None:
    found = covering(OVERRIDE_FOLDERS, field)
    assert len(found) == len(OVERRIDE_FOLDERS), f"{field}: a golden file in {OVERRIDE_FOLDERS}"
    for case in found:
        (managed,) = case.written("integration")["managed"]
        (override,) = managed["sharding"]["shardSpecOverrides"]
        assert override.keys() == {"shard", field}, f"{case.name} is about one field"
        assert bare(case.manifests()) != bare(baseline(case).manifests())


def test_no_golden_file_is_about_a_field_there_is_not() -> None:
    """A file that no one asks for would go on being right about nothing."""
    known = {*properties("integration", "spec"), "baseline"}
    lost = [c.name for c in CASES if c.path.parent.name in SPEC_FOLDERS and c.field not in known]
    assert not lost
    known = {*properties("sharding", "override"), "baseline"}
    lost = [c.name for c in CASES if c.path.parent.name in OVERRIDE_FOLDERS]
    assert not [name for name in lost if name.partition("/")[2] not in known]
    assert NO_EFFECT.keys() <= set(properties("integration", "spec"))


SAID: dict[str, Any] = {
    "successfulJobHistoryLimit": 9,
    "failedJobHistoryLimit": 9,
    "storage": "9Gi",
    "storageClassName": "gp3",
    "sleepDurationSecs": "9",
    "concurrencyPolicy": "Forbid",
    "restartPolicy": "Never",
    "logs": {"googleChat": True},
}
# These never do anything without a site's overlay.
FOR_THE_SITE = {*NO_EFFECT, "fluentdResources"}
IDLE = sorted({*ALL_THE_TIME, *BY_THE_CLOCK, *OF_A_CACHE} - FOR_THE_SITE)


@pytest.mark.parametrize(
    "folder, field",
    [
        (folder, field)
        for folder in ("server", "cache", "cron")
        for field in IDLE
        if field != folder
    ],
)
def test_what_is_called_idle_does_nothing_and_what_is_not_does_something(
    folder: str, field: str
) -> None:
    """The table that people are warned by is held to what is rendered."""
    base = next(case for case in CASES if case.name == f"{folder}/baseline")
    written = f"{field}: {msgspec.json.encode(SAID.get(field, True)).decode()}"
    sections = base.sections | {"integration": f"{base.sections['integration']}    {written}\n"}
    case = Case(base.path, sections)
    (managed,) = case.written("integration")["managed"]
    same = bare(case.manifests()) == bare(base.manifests())
    assert same == (field in dict(idle(managed["spec"])))


REPOSITORY = "quay.io/app-sre/qontract-reconcile"
IMAGES = {
    "baseline": ":latest",
    "environment-tag": ":aaaaaaa",
    "environment-digest": f":aaaaaaa@sha256:{'d' * 64}",
    "environment-repository": ":aaaaaaa",
    "spec": ":ed21267",
    "spec-digest": f"@sha256:{'e' * 64}",
    "override": ":f929a38",
    "override-digest": f"@sha256:{'f' * 64}",
    "registry": f":ed21267@sha256:{'1' * 64}",
    "registry-override": f":f929a38@sha256:{'2' * 64}",
    "registry-environment": f":aaaaaaa@sha256:{'d' * 64}",
}


def test_the_image_is_the_overrides_then_the_specs_then_the_environments() -> None:
    """Said here once more, because `--rewrite` would believe anything."""
    found = {}
    for case in (case for case in CASES if case.path.parent.name == "image"):
        workload = next(each for each in case.manifests() if each["kind"] == "Deployment")
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        found[case.path.stem] = container["image"].removeprefix(REPOSITORY)
    assert found == IMAGES
