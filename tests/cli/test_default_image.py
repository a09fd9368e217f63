"""The default image is never guessed: where it is not known, there is nothing new to run."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.estates import Land
from tests.folders import Folder
from tests.git_repos import commit, git
from tidegate.cli.main import cli
from tidegate.kubernetes.port import Cluster
from tidegate.wiring import outside, repositories

OLD, NEW = "a" * 40, "b" * 40
SAAS = """
$schema: /app-sre/saas-file-2.yml
name: saas-manager
resourceTemplates:
- name: manager
  url: {url}
  path: /openshift/qontract-manager.yaml
  targets:
"""
TARGET = "  - namespace: {{$ref: /prod-1/namespace.yml}}\n    ref: {ref}\n"
FOLLOWS = (
    "$schema: /app-sre/integration-1.yml\nname: {name}\nmanaged:\n"
    "- namespace: {{$ref: /prod-1/namespace.yml}}\n"
)
SPEC = "  spec: {{{image}resources: {{requests: {{cpu: 1m}}}}}}\n"


@pytest.fixture
def land(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Land:
    """A simulated cluster."""
    found = Land("prod-1", namespaces=("integrations",))

    def cluster(context: str | None = None, *_: object, **__: object) -> Cluster:
        return found.clusters()[context or ""]

    monkeypatch.setattr(outside, "cluster", cluster)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TIDEGATE_")]:
        monkeypatch.delenv(name)
    for name in ("CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    repositories._remote_heads.cache_clear()
    return found


class Bundle(Folder):
    """A bundle whose manager hands its image on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / "bundle", {"prod-1": "production"})
        self.write("production.yml", "$schema: /app-sre/environment-1.yml\nname: production\n")
        self.place("follower", "")
        self.place("own", "imageRef: fedc123, ")
        self.saas(OLD)

    def place(self, name: str, image: str) -> None:
        """An integration, with an image of its own or without."""
        head = FOLLOWS.format(name=name)
        self.write(f"integrations/{name}.yml", head + SPEC.format(image=image))

    def saas(self, *refs: str, url: str = "https://git.example.com/qr", more: str = "") -> None:
        """The targets of the manager."""
        targets = "".join(TARGET.format(ref=ref) for ref in refs)
        self.write("saas.yml", SAAS.format(url=url) + targets + more)

    def run(self, *arguments: str) -> Result:
        """A command on it."""
        command, *rest = arguments
        return CliRunner().invoke(cli, [command, str(self.root), *rest])


@pytest.fixture
def bundle(land: Land, tmp_path: Path) -> Bundle:
    """The bundle, applied once."""
    found = Bundle(tmp_path)
    done = found.run("apply", "--yes")
    assert done.exit_code == 0, done.output
    assert images(land) == {"follower": "aaaaaaa", "own": "fedc123"}
    return found


def images(land: Land) -> dict[str, str]:
    """What runs, by integration."""
    found: dict[str, str] = {}
    for (_, _, kind, name), record in land.records().items():
        if kind == "Deployment":
            pod = land.apis["prod-1"].document(record)["spec"]["template"]["spec"]
            image = pod["containers"][0]["image"]
            found[name.removeprefix("qontract-reconcile-")] = image.rpartition(":")[2]
    return found


BROKEN = {
    "a key twice": lambda one: one.saas(NEW, more="name: twice\n"),
    "not YAML": lambda one: one.saas(NEW, more="  - [\n"),
    "not UTF-8": lambda one: (one.root / "saas.yml").write_bytes(
        (one.root / "saas.yml").read_bytes() + b"# \xff\n"
    ),
    "gone": lambda one: (one.root / "saas.yml").unlink(),
    "two answers": lambda one: one.saas(OLD, NEW),
    "two branches that begin alike": lambda one: one.saas("release-1", "release-2"),
    "a target that is not there": lambda one: one.saas(OLD, more="  - {$ref: /target.yml}\n"),
    "a branch that cannot be read": lambda one: one.saas("main", url="/no/such/repository"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_no_known_default_is_nothing_to_run(how: str, bundle: Bundle, land: Land) -> None:
    before = images(land)
    BROKEN[how](bundle)
    said = "no default image in production"
    if how != "a branch that cannot be read":
        checked = bundle.run("validate")
        assert checked.exit_code == 1
        assert "integrations/follower.yml:4" in checked.output
        assert said in checked.output
        assert "integrations/own.yml" not in checked.output
    for command in (("plan",), ("apply", "--yes"), ("verify",)):
        done = bundle.run(*command)
        assert done.exit_code != 0, (command, done.output)
        assert said in done.output, (command, done.output)
        assert "latest" not in done.output
    shown = CliRunner().invoke(cli, ["show", "shard/follower", "--bundle", str(bundle.root)])
    assert shown.exit_code == 1, shown.output
    unknown = "Error: follower in prod-1/integrations: what it wants is unknown: "
    assert f"{unknown}{said}" in " ".join(shown.output.split()), shown.output
    own = CliRunner().invoke(cli, ["show", "shard/own", "--bundle", str(bundle.root)])
    assert own.exit_code == 0, own.output
    assert images(land) == before


def test_what_many_integrations_lack_for_one_cause_is_one_error(bundle: Bundle) -> None:
    """The cause is not lost behind a line for each of them."""
    for at in range(12):
        bundle.place(f"more-{at:02}", "")
    bundle.saas(OLD, NEW)
    for command in (("plan",), ("apply", "--yes"), ("verify",)):
        told = [x for x in bundle.run(*command).stderr.splitlines() if x.startswith("Error: ")]
        (line,) = (each for each in told if "no default image in production" in each)
        assert "integrations/follower.yml:4, " in line
        assert " and 11 more: no default image" in line


@pytest.mark.parametrize("how", BROKEN)
def test_a_shard_whose_image_is_not_known_is_counted_and_listed(how: str, bundle: Bundle) -> None:
    """It runs: to leave it out would say that all is as promised."""
    BROKEN[how](bundle)
    verified = bundle.run("verify")
    assert verified.exit_code != 0, verified.output
    assert "0 of 2 shards run what is promised, 1 not known" in verified.output
    named = bundle.run("verify", "--integration", "follower", "-o", "json")
    assert named.exit_code == 1, named.output
    (item,) = json.loads(named.stdout)["items"]
    assert (item["promised"], item["read"], item["agrees"]) == ("", False, False)
    assert "no default image in production" in item["note"]
    asked = ["get", "shards", str(bundle.root), "--no-runs"]
    listed = CliRunner().invoke(cli, [*asked, "-o", "json"])
    assert listed.exit_code == 1, listed.output
    rows = {each["shard"]: each for each in json.loads(listed.stdout)["items"]}
    row = rows["follower"]
    assert (row["wants"], row["runs"], row["behind"]) == ("", "aaaaaaa", None)
    assert "no default image in production" in row["note"]
    shown = CliRunner().invoke(cli, asked).stdout.splitlines()
    (line,) = (each for each in shown if each.startswith("follower "))
    assert line.split()[:4] == ["follower", "production", "?", "aaaaaaa"]


def test_nothing_that_can_be_planned_is_not_nothing_declared(bundle: Bundle) -> None:
    bundle.write("production.yml", "$schema: /app-sre/environment-1.yml\nname: [production]\n")
    done = bundle.run("plan")
    assert done.exit_code == 1, done.output
    assert "nothing that is declared can be planned" in done.output
    compared = bundle.run("verify")
    assert compared.exit_code == 1, compared.output
    assert compared.output.endswith("no shard can be compared\n")


def test_the_tag_of_certificates_is_not_guessed_either(bundle: Bundle, land: Land) -> None:
    """The image of a site's own authorities runs beside the integration, and before it."""
    bundle.place("trusting", "imageRef: fedc123, internalCertificates: true, ")
    said = "no tag is written for the image of its authorities"
    checked = bundle.run("validate")
    assert checked.exit_code == 1
    assert "integrations/trusting.yml:4" in checked.output
    assert said in checked.output
    for command in (("plan",), ("apply", "--yes"), ("verify",)):
        done = bundle.run(*command)
        assert done.exit_code != 0, (command, done.output)
        assert said in done.output, (command, done.output)
    assert "trusting" not in images(land)
    bundle.write(
        "production.yml",
        "$schema: /app-sre/environment-1.yml\nname: production\n"
        "parameters: {INTERNAL_CERTIFICATES_IMAGE_TAG: 7c1d}\n",
    )
    done = bundle.run("apply", "--yes")
    assert done.exit_code == 0, done.output
    assert images(land)["trusting"] == "fedc123"


def test_a_tag_written_by_hand_is_a_default(bundle: Bundle, land: Land) -> None:
    BROKEN["two answers"](bundle)
    done = bundle.run("apply", "--yes", "--parameter", "IMAGE_TAG=fedcba9")
    assert done.exit_code == 0, done.output
    assert images(land) == {"follower": "fedcba9", "own": "fedc123"}


def test_an_environment_may_write_it_where_no_manager_is_deployed(
    bundle: Bundle, land: Land
) -> None:
    (bundle.root / "saas.yml").unlink()
    schema = "$schema: /app-sre/environment-1.yml\nname: production\n"
    bundle.write("production.yml", f"{schema}parameters: {{IMAGE_TAG: fedcba9}}\n")
    done = bundle.run("apply", "--yes")
    assert done.exit_code == 0, done.output
    assert images(land)["follower"] == "fedcba9"
    # But not instead of an answer that cannot be read.
    BROKEN["two answers"](bundle)
    assert bundle.run("apply", "--yes").exit_code != 0
    assert images(land)["follower"] == "fedcba9"


def test_what_follows_a_branch_runs_its_newest_commit(
    bundle: Bundle, land: Land, tmp_path: Path
) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q")
    first = commit(upstream, {"a": "1"})
    bundle.saas("main", url=str(upstream))
    assert bundle.run("validate").exit_code == 0
    done = bundle.run("apply", "--yes")
    assert done.exit_code == 0, done.output
    assert images(land)["follower"] == first[:7]
    second = commit(upstream, {"a": "2"})
    repositories._remote_heads.cache_clear()
    assert bundle.run("apply", "--yes").exit_code == 0
    assert images(land)["follower"] == second[:7]
