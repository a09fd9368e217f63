"""`pin`, `unpin` and `get pins` as people use them: on files, on a clone, on simulated clusters."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.folders import Folder
from tests.forked import TIDEGATE, Forked
from tests.git_repos import BOB, GIT_SETTINGS, clone, commit, git, remote
from tidegate.cli.main import cli
from tidegate.model.errors import TidegateError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/app-interface"
FILE = "integrations/terraform-resources.yml"
PRODUCTION = ("--environment", "app-interface-production")
WHY = ("--reason", "the fix is not out yet")
ALL_BUT = ("pin", "terraform-resources", "--all-except", "ter-int-dev", *PRODUCTION, *WHY)


def invoked(*args: str, code: int = 0) -> Result:
    """What a command prints; what is wrong, as people would read it, is in its error."""
    done = CliRunner().invoke(cli, args)
    if isinstance(done.exception, TidegateError):
        assert code, done.exception
        return done
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, and a person who works in it."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in [name for name in os.environ if name.startswith("TIDEGATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    place = shutil.copytree(EXAMPLE, tmp_path / "bundle")
    monkeypatch.chdir(place)
    return Path(place)


def pins(*args: str) -> list[dict[str, Any]]:
    """Pins for programs."""
    found: list[dict[str, Any]] = json.loads(invoked("get", "pins", *args, "-o", "json").stdout)[
        "items"
    ]
    return found


def test_the_many_are_pinned_and_the_one_is_left(folder: Path) -> None:
    """The way of the SOP: 24 lines to read, nothing restarts, and validate has nothing to say."""
    before = (folder / FILE).read_bytes()
    done = invoked(*ALL_BUT, "--wanted", "--expires", "2099-12-01", "--owner", "ann")
    assert "24 shards stay on ed21267, 0 restarts\n" in done.stdout
    assert "1 shard without a pin wants ed21267: terraform-resources/ter-int-dev" in done.stdout
    line = "imageRef: ed21267  # tidegate: pinned by ann until 2099-12-01: the fix is not out yet"
    assert done.stdout.count(line) == 24
    assert "nothing was changed: --write edits the files" in done.stderr
    assert (folder / FILE).read_bytes() == before
    invoked(*ALL_BUT, "--wanted", "--write")
    assert "no problem" in invoked("validate", "--strict").stderr
    listed = pins("--integration", "terraform-resources")
    assert len(listed) == 24
    assert all(each["image"] == each["default"] == "ed21267" for each in listed)
    # Once more, nothing is left to do; and back, the file is as it was.
    again = invoked(*ALL_BUT, "--wanted", "--owner", "bob", "--write")
    assert again.stdout.startswith("nothing changes: it is written so already\n24 shards stay")
    invoked("unpin", "terraform-resources", "--all", "--write")
    assert (folder / FILE).read_bytes() == before


def test_a_shard_is_named_by_the_id_of_its_account(folder: Path) -> None:
    """As in a file: `--shard` takes what an override takes."""
    uid = next(
        line.split('"')[1]
        for line in (folder / "aws/app-sre/account.yml").read_text().splitlines()
        if line.startswith("uid:")
    )
    chosen = (*PRODUCTION, *WHY, "--wanted")
    by_id = invoked("pin", "terraform-resources", "--shard", uid, *chosen).stdout
    assert by_id == invoked("pin", "terraform-resources", "--shard", "app-sre", *chosen).stdout


def test_others_are_counted_by_what_they_want(folder: Path) -> None:
    """In several environments a name stands for several shards: numbers and names add up."""
    done = invoked("pin", "terraform-users", "--shard", "app-sre", "--wanted", *WHY)
    (line,) = [each for each in done.stdout.splitlines() if "without a pin" in each]
    first, second = line.split("; ")
    assert first.startswith("24 shards without a pin want f929a38: terraform-users/app-sre-ci, ")
    assert first.endswith(" and 19 more")
    assert second.startswith("23 want ed21267: terraform-users/app-sre-ci, ")
    assert second.endswith(" and 18 more")


def test_one_tries_what_the_others_do_not_have(folder: Path) -> None:
    """The other way: a default that stays, and one shard with the new image, which restarts."""
    done = invoked(
        "pin", "terraform-resources", "--try", "1234567", "--shard", "ter-int-dev", *PRODUCTION,
        *WHY, "--write",
    )  # fmt: skip
    assert "1 shard moves from ed21267 to 1234567, 1 restart\n" in done.stdout
    assert "24 shards without a pin want ed21267" in done.stdout
    assert "warning" not in done.stderr
    assert "imageRef: '1234567'  # tidegate:" in (folder / FILE).read_text()
    data = json.loads(
        invoked("unpin", "terraform-resources", "--shard", "ter-int-dev", "-o", "json").stdout
    )
    assert (data["kind"], data["against"]) == ("PinPlan", "wanted")
    assert data["restarts"] == ["deployment/qontract-reconcile-terraform-resources-ter-int-dev"]
    assert data["shards"] == [
        {
            "shard": "terraform-resources/ter-int-dev",
            "environment": "app-interface-production",
            "now": "1234567",
            "image": None,
            "then": "ed21267",
        }
    ]


def test_a_person_who_tries_one_is_shown_if_the_others_do_not_stay(folder: Path) -> None:
    """Without a default in the file, the next promotion reaches all others."""
    path = folder / FILE
    path.write_text(path.read_text().replace("    imageRef: ed21267\n", ""))
    one = ("--try", "1a2b3c4", "--shard", "ter-int-dev", *PRODUCTION, *WHY)
    said = invoked("pin", "terraform-resources", *one).stderr
    assert "warning: the others run whatever is promoted to app-interface-production" in said


def test_a_pin_whose_time_is_over_is_reported_by_validate_and_get(folder: Path) -> None:
    """Nothing is unpinned by the clock: it is said, with what to write."""
    text = (folder / FILE).read_text()
    note = "      imageRef: f929a38  # tidegate: pinned by ann until 2020-01-01: old\n"
    (folder / FILE).write_text(text + note)
    said = invoked("validate").stdout
    assert f"{FILE}:46:1: warning: tenant-03 was to stay on f929a38 until 2020-01-01" in said
    assert "unpin terraform-resources --shard tenant-03 --environment app-interface-prod" in said
    table = invoked("get", "pins", "--expired").stdout.splitlines()
    assert len(table) == 2
    assert table[1].split()[:5] == [
        "terraform-resources/tenant-03", "app-interface-production",
        "f929a38", "ed21267", "expired",
    ]  # fmt: skip
    assert f"{FILE}:46" in table[1]
    names = invoked("get", "pins", "--expired", "-o", "name").stdout
    assert names == "pin/terraform-resources/tenant-03\n"


def test_pins_of_the_bundle_and_of_the_journal_are_one_list(folder: Path) -> None:
    """Each with its source; either alone; one by its name."""
    database = ("--database", str(folder.parent / "j.db"))
    invoked(
        "pin",
        "cluster/prod-1",
        "--reason",
        "demo",
        "--expires",
        "2099-12-01",
        "--create",
        *database,
    )
    both = pins(*database)
    assert [(each["name"], each["source"], each["covers"]) for each in both] == [
        ("terraform-users/ter-int-dev", "integrations/terraform-users.yml:44",
         "app-interface-production"),
        ("prod-1", "journal", "prod-1"),
    ]  # fmt: skip
    assert both[1]["expires"] == "2099-12-02T00:00:00Z"
    assert [each["name"] for each in pins("--source", "journal", *database)] == ["prod-1"]
    assert [each["name"] for each in pins("prod-1", *database)] == ["prod-1"]
    wide = invoked("get", "pins", "-o", "wide", *database).stdout
    assert wide.splitlines()[0].split()[-6:] == ["SOURCE", "BEHIND", "SINCE", "BY", "OWNER", "NOTE"]
    wrong = invoked("get", "pins", "prod-2", *database, code=2)
    assert str(wrong.exception) == 'no pin "prod-2"; did you mean "prod-1"?'
    assert invoked("unpin", "prod-1", *database).stdout.startswith("pin prod-1 is lifted")


WRONG = [
    (("pin", "terraform-resources"), "is an integration: which shards?"),
    (("pin", "terraform-resources"), "`tidegate pin terraform-resources --shard app-sre"),
    (("pin", "terraform-resources", "--image", "x"), "which shards?; write `tidegate pin"),
    (("pin", "terraform-resources/app-sre", "--wanted"), "terraform-resources --shard app-sre`"),
    (("pin", "a", "b", "--shard", "x"), "one integration at a time"),
    (("pin", "a", "--shard", "x", "--all-except", "y"), "Either --shard or --all-except"),
    (("pin", "a", "--shard", "x", "--image", "y", "--wanted"), "say different things"),
    (("pin", "a", "--all-except", "x", "--try", "y"), "--try is for the few"),
    (("pin", "a", "--shard", "x", "--name", "y"), "--name is for targets"),
    (("pin", "prod-1", "--write"), "are for shards of an integration"),
    (("pin", "terraform-resorces", "--shard", "x"), 'did you mean "terraform-resources"?'),
    (("pin", "terraform-resources", "--shard", "app-srv"), 'did you mean "app-sre"?'),
    (("pin", "terraform-resources", "--shard", "app-sre", "--image", "x"), "write --environment"),
    (("pin", "terraform-resources", "--shard", "app-sre"), "--image REF, or --wanted for what"),
    (("pin", "terraform-resources", "--shard", "app-sre", "--expires", "2020-01-01"), "is past"),
    (("pin", "terraform-resources", "--shard", "app-sre", "--expires", "2099-13-01"), "month"),
    (("pin", "terraform-resources", "--shard", "app-sre", *PRODUCTION, "--try",
      "quay.io/app-sre/qontract-reconcile:abc"), 'neither a tag nor a digest; write "abc"'),
    (("unpin", "terraform-resources", "--all"), "bundle; `tidegate unpin terraform-resources/"),
    (("unpin", "terraform-users", *PRODUCTION), "Either --shard NAME or --all"),
    (("unpin", "terraform-users"), "write `tidegate unpin terraform-users --all`"),
    (("unpin", "terraform-users/ter-int-dev"), "unpin terraform-users --shard ter-int-dev`"),
]  # fmt: skip


@pytest.mark.parametrize("args, words", WRONG)
def test_what_is_wrong_says_what_to_write(folder: Path, args: tuple[str, ...], words: str) -> None:
    """And nothing is written."""
    given = args if "--reason" in args or args[0] == "unpin" else (*args, "--reason", "r")
    done = invoked(*given, "--database", str(folder.parent / "j.db"), code=2)
    assert words in (str(done.exception) if done.exit_code == 1 else done.stderr)


@pytest.mark.parametrize("before", ["", "    shardSpecOverrides: []\n"])
def test_unpin_leaves_what_pin_found(folder: Path, before: str) -> None:
    """To the byte: a list that was there and empty comes back, and one that was not does not."""
    file = folder / "integrations/aws-iam-keys.yml"
    text = file.read_text().replace(
        "    strategy: per-aws-account\n", f"    strategy: per-aws-account\n{before}"
    )
    assert before in text
    file.write_text(text)
    pin = ("aws-iam-keys", "--shard", "app-sre", *PRODUCTION, *WHY)
    invoked("pin", *pin, "--wanted", "--write")
    assert file.read_text() != text
    invoked("unpin", *pin, "--write")
    assert file.read_text() == text


def test_each_unpin_names_the_other_pin(folder: Path, tmp_path: Path) -> None:
    """A shard may be pinned in the bundle and in the journal: what is written next works."""
    shard, there = "terraform-users/ter-int-dev", ("--database", str(tmp_path / "tidegate.db"))
    invoked("pin", shard, *WHY, "--yes", "--create", *there)
    lifted = invoked("unpin", shard, *WHY, *there)
    advice = "`tidegate unpin terraform-users --shard ter-int-dev`"
    assert f"{shard} still has an image of its own; in the bundle, write {advice}" in lifted.stderr
    words = advice.strip("`").split()[1:]
    invoked(*words, *WHY, "--write", *there)
    done = invoked(*words, *WHY, *there, code=2)
    assert f"`tidegate unpin {shard}` takes away one of the journal" in str(done.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("pin", "terraform-resources", "--shard", "app-sre", "--wanted", *PRODUCTION, *WHY),
        ("unpin", "terraform-users", "--all", *WHY),
    ],
)
def test_what_a_file_that_cannot_be_read_decides_is_not_pinned(
    folder: Path, words: tuple[str, ...]
) -> None:
    """Which image shards want depends on it; another image can be named."""
    (saas,) = folder.rglob("saas-qontract-manager-int.y*ml")
    saas.write_text(saas.read_text() + "name: again\n")
    done = invoked(*words, "--write", code=2)
    assert "to run is not known: " in str(done.exception)
    assert '"name" appears twice' in str(done.exception)
    named = ("pin", "terraform-resources", "--shard", "app-sre", "--image", "abcdef1")
    invoked(*named, *PRODUCTION, *WHY)


def test_a_pin_is_offered_on_whatever_was_merged_meanwhile(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One commit with one file on the newest of the branch; once more finds it; then Git has it."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.yml")}
    bare = remote(tmp_path, {f"data/{name}": each for name, each in files.items()})
    mine = clone(bare, tmp_path / "mine")
    other = clone(bare, tmp_path / "other")
    users = b"# merged meanwhile\n" + files["integrations/terraform-users.yml"]
    commit(other, {"data/integrations/terraform-users.yml": users}, "theirs", who=BOB)
    git(other, "push", "-q", "origin", "main")
    monkeypatch.chdir(mine)
    asked = ("pin", "terraform-users", "--shard", "app-sre", "--wanted", *PRODUCTION, *WHY)
    assert "nothing was changed" in invoked(*asked).stderr
    # Written here or not, it is offered from what is merged.
    invoked(*asked, "--owner", "ann", "--write")
    done = invoked(*asked, "--owner", "ann", "--open-mr", "--yes")
    assert "merge request opened: " in done.stdout
    assert (
        "merge request unchanged: "
        in invoked(*asked, "--owner", "ann", "--open-mr", "--yes").stdout
    )
    (branch,) = git(bare, "branch", "--list", "--format=%(refname:short)", "tidegate/*").split()
    assert git(bare, "show", "--format=%s", "--name-only", branch).split("\n") == [
        "pin terraform-users app-sre in app-interface-production", "",
        "data/integrations/terraform-users.yml",
    ]  # fmt: skip
    body = git(bare, "show", "-s", "--format=%b", branch)
    assert "1 shard stays on ed21267, 0 restarts" in body
    assert "the fix is not out yet" in body
    merged = git(bare, "show", f"{branch}:data/integrations/terraform-users.yml")
    assert merged.startswith("# merged meanwhile")
    assert "pinned by ann: the fix is not out yet" in merged
    git(bare, "update-ref", "refs/heads/main", branch)
    git(mine, "checkout", "-q", ".")
    git(mine, "pull", "-q")
    listed = {each["name"]: each for each in pins("--integration", "terraform-users")}
    assert listed["terraform-users/app-sre"]["commit"] == git(bare, "rev-parse", branch)
    assert listed["terraform-users/ter-int-dev"]["by"] == "Ada"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """A small bundle and its cluster, where every target runs aaaaaaa and one account bbbbbbb."""
    root = tmp_path_factory.mktemp("pins")
    bundle = Folder(root / "bundle", {"c1": "production"})
    sharding = "strategy: per-aws-account, shardSpecOverrides: [{shard: two, imageRef: bbbbbbb}]"
    bundle.integration("it", "aaaaaaa", sharding=sharding)
    bundle.write("aws/three.yml", "$schema: /aws/account-1.yml\nname: three\n")
    command = [*TIDEGATE, "clusters", "simulate", str(bundle.root)]
    command += ["--kubeconfig", str(root / "k.yaml"), "--speed", "1000"]
    with Forked[bytes](command, cwd=root, stdout=subprocess.PIPE) as serving:
        try:
            assert serving.stdout is not None
            serving.stdout.readline()
            given = ("--kubeconfig", str(root / "k.yaml"))
            done = CliRunner().invoke(cli, ["apply", str(bundle.root), "--yes", *given])
            assert done.exit_code == 0, done.output
            yield bundle
        finally:
            serving.terminate()


def test_each_shard_keeps_what_it_runs_while_another_moves(
    stage: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default moved on: pinning restarts nothing, applying moves the one that is left."""
    monkeypatch.chdir(tmp_path)
    stage.integration("it", "ccccccc", sharding="strategy: per-aws-account")
    given = ("--bundle", str(stage.root), "--kubeconfig", str(stage.root.parent / "k.yaml"))
    done = invoked("pin", "it", "--all-except", "three", *WHY, *given, "--write")
    assert "1 shard stays on aaaaaaa, 1 shard stays on bbbbbbb, 0 restarts" in done.stdout
    assert "1 shard without a pin wants ccccccc: it/three" in done.stdout
    plan = json.loads(invoked("plan", *given, "-o", "json").stdout)
    moving = [change["name"] for change in plan["changes"] if change["restarts"]]
    assert moving == ["qontract-reconcile-it-three"]
    invoked("apply", "--yes", *given)
    assert running(*given) == {"it/one": "aaaaaaa", "it/two": "bbbbbbb", "it/three": "ccccccc"}
    back = invoked("unpin", "it", "--all", *given, "--write")
    assert "1 shard moves from aaaaaaa to ccccccc, 1 shard moves from bbbbbbb" in back.stdout
    invoked("apply", "--yes", *given)
    assert set(running(*given).values()) == {"ccccccc"}


def running(*given: str) -> dict[str, str]:
    """What each shard runs, as its cluster has it."""
    told = json.loads(invoked("get", "shards", "--no-runs", *given, "-o", "json").stdout)
    return {each["shard"]: each["runs"] for each in told["items"]}
