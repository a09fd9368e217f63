"""Adopted workloads are those the existing manager renders, but for its known mistakes.

Its mistakes: texts that look like numbers or booleans lose their quotes, and an image without a
digest ends in `@`. Everything else, down to the order of variables and volumes, is the same, so
that what already runs is taken over without a restart.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.integrations.core.sharding.model import Managed
from tidegate.kinds.integrations.core.sharding.shards import shards_of
from tidegate.kinds.integrations.core.workloads.overlay import lay_over
from tidegate.kinds.integrations.core.workloads.workloads import ground_of, render, service
from tidegate.kinds.integrations.wire.shard_line import decode
from tidegate.model.problem import Problems

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "sharding"
OVERLAY = read_yaml("o", (ROOT / "examples/overlays/fluentd.yaml").read_text("utf-8")).data

SAMPLES = [
    ("s2_aws.yaml", "s2_aws.render.yaml", {}),
    ("s10_image.yaml", "s10.render.yaml", {"IMAGE_TAG": "envtag", "IMAGE_DIGEST": "sha256:feed"}),
    ("s10b_noref.yaml", "s10b.render.yaml", {"IMAGE_TAG": "envtag", "IMAGE_DIGEST": "sha256:feed"}),
    ("s10b_noref.yaml", "s10b_noenv.render.yaml", {}),
    ("s3_cluster_sub.yaml", "s3.render.yaml", {}),
]


def mended(value: Any, field: str = "") -> Any:
    """A recorded manifest without the manager's mistakes."""
    if isinstance(value, dict):
        return {key: mended(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [mended(each, field) for each in value]
    if field == "value" and isinstance(value, bool):
        return str(value).lower()
    if field in ("value", "cpu", "memory") and isinstance(value, int):
        return str(value)
    return value.rstrip("@") if field == "image" else value


def tagged(managed: Managed) -> dict[str, str]:
    """What the manager had for want of a tag: given by hand here."""
    return {} if "IMAGE_TAG" in managed.namespace.parameters else {"IMAGE_TAG": "latest"}


def rendered(sample: str, given: dict[str, str]) -> dict[tuple[str, str], Any]:
    """What we render of a sample, laid over with the site's own."""
    line = read_yaml(sample, (FOLDER / sample).read_text("utf-8")).data
    for managed in (m for i in line["integrations"] for m in i.get("managed", ())):
        overrides = (managed.get("sharding") or {}).get("shardSpecOverrides") or []
        if sample.startswith("s2_"):  # strict refuses the double one, so the last is kept by hand
            overrides[:] = overrides[1:2] + overrides[3:]
        if sample.startswith("s3_"):  # and a split into none
            overrides[:] = overrides[:2]
    problems = Problems()
    question = decode(line, problems)
    found: dict[tuple[str, str], Any] = {("Service", "qontract-reconcile"): service()}
    for integration in question.integrations:
        for managed in integration.managed:
            ground = ground_of(managed, tagged(managed) | given, adopted=True)
            shards = shards_of(
                integration, managed, question.inventories, question.options, problems
            )
            for shard in shards:
                manifest = lay_over(render(shard, managed, ground), OVERLAY, shard)
                found[manifest["kind"], manifest["metadata"]["name"]] = manifest
    assert problems.errors == []
    return found


@pytest.mark.parametrize("sample, recorded, given", SAMPLES)
def test_what_runs_is_taken_over_without_a_restart(
    sample: str, recorded: str, given: dict[str, str]
) -> None:
    """Every object is the recorded one; lists are compared in order."""
    text = (FOLDER / recorded).read_text("utf-8")
    theirs = {(m["kind"], m["metadata"]["name"]): mended(m) for m in yaml.safe_load_all(text) if m}
    ours = rendered(sample, given)
    assert ours.keys() == theirs.keys()
    for name, manifest in theirs.items():
        assert ours[name] == manifest, name


def test_a_cron_job_honours_its_image_and_its_shards() -> None:
    """The manager knew neither; all else of the job is as it was."""
    line = read_yaml("s8", (FOLDER / "s8_cron_shards.yaml").read_text("utf-8")).data
    question = decode(line, problems := Problems())
    (integration,) = question.integrations
    (managed,) = integration.managed
    shards = shards_of(integration, managed, question.inventories, None, problems)
    jobs = [render(shard, managed, ground_of(managed, tagged(managed))) for shard in shards]
    recorded = next(yaml.safe_load_all((FOLDER / "s8.render.yaml").read_text("utf-8")))
    prefix = recorded["metadata"]["name"]
    assert [job["metadata"]["name"] for job in jobs] == [f"{prefix}-{i}" for i in range(4)]
    pods = [job["spec"]["jobTemplate"]["spec"]["template"]["spec"] for job in jobs]
    assert {pod["containers"][0]["image"] for pod in pods} == {
        "quay.io/app-sre/qontract-reconcile:abc1234"
    }
    theirs = mended(recorded)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    names = [each["name"] for each in theirs["containers"][0]["env"]]
    mine = [each["name"] for each in pods[2]["containers"][0]["env"]]
    assert [name for name in mine if name in names] == names
    assert {"name": "SHARD_ID", "value": "2"} in pods[2]["containers"][0]["env"]
    assert pods[2]["volumes"] == theirs["volumes"]
    adopted = render(shards[0], managed, ground_of(managed, tagged(managed), adopted=True))
    (kept,) = adopted["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert kept["env"] == theirs["containers"][0]["env"]


def test_the_pods_of_a_shard_can_be_distinguished() -> None:
    """Every shard of ours has its label; what is adopted keeps its labels until it is rolled."""
    line = read_yaml("s1", (FOLDER / "s1_static.yaml").read_text("utf-8")).data
    question = decode(line, problems := Problems())
    seen: list[str] = []
    for integration in question.integrations:
        for managed in integration.managed[:1]:
            for shard in shards_of(integration, managed, {}, None, problems):
                manifest = render(shard, managed, ground_of(managed, tagged(managed)))
                pod = manifest["spec"]["template"]["metadata"]["labels"]
                seen.append(pod["tidegate.dev/shard"])
                chosen = manifest["spec"]["selector"]["matchLabels"]
                assert chosen.items() <= pod.items()
    assert len(seen) == len(set(seen)) == 3
