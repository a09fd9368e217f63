"""`tidegate preview` on real repositories: what a change does, when, and what is wrong with it.

What is printed is kept in `previews/`; `--rewrite` writes it anew, and then it is read.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.git_repos import git
from tidegate.cli.main import cli
from tidegate.kinds.integrations.cli.revisions import Revisions
from tidegate.kinds.integrations.core.review.effect import Fate
from tidegate.settings.settings import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "app-interface"
GOLDEN = Path(__file__).parent / "previews"
TERRAFORM = "integrations/terraform-resources.yml"
# A Friday afternoon.
AT = "2026-11-20T15:00:00Z"
WEEKEND = """
freezes:
- name: weekend
  scope: {selector: {matchLabels: {environment: app-interface-production}}}
  owner: ops
  reason: office closed
  from: 2026-01-02T18:00
  to: 2026-01-05T08:00
  rrule: FREQ=WEEKLY
  timeZone: Europe/Berlin
"""

Edit = Callable[["Bundle"], None]


class Bundle:
    """The example bundle in a repository of its own, with a change that is not committed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = git(root, "rev-parse", "main")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change a file."""
        place = self.root / path
        text = place.read_text()
        assert old in text, f"{path} has no {old!r}"
        place.write_text(text.replace(old, new))

    def preview(self, *arguments: str, width: int = 400) -> Result:
        """What the command prints, and how it ends."""
        command = ["preview", str(self.root), "--base", "main", "--at", AT, *arguments]
        command += ["--database", str(self.root / ".git" / "journal.db")]
        return CliRunner().invoke(cli, command, env={"COLUMNS": str(width)})

    def text(self, *arguments: str, width: int = 400) -> str:
        """What it prints, without the name of the commit."""
        return self.preview(*arguments, width=width).stdout.replace(self.base[:7], "ba5e000")

    def data(self, *arguments: str) -> Any:
        """The same for programs."""
        return json.loads(self.preview("-o", "json", *arguments).stdout)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example bundle in a repository, committed once for all tests."""
    root = tmp_path_factory.mktemp("preview") / "bundle"
    shutil.copytree(EXAMPLE, root)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def bundle(
    repository: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Bundle:
    """A copy to change; what was read of the files once is known to all tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "preview-cache"))
    root = tmp_path / "bundle"
    shutil.copytree(repository, root)
    (tmp_path / "brakes.yaml").write_text(WEEKEND)
    return Bundle(root)


def move_image(bundle: Bundle) -> None:
    bundle.replace(TERRAFORM, "imageRef: ed21267", "imageRef: f929a38")


def pin_and_delete(bundle: Bundle) -> None:
    """Everything at once: two pins, one of them new; an account less; a little more memory."""
    move_image(bundle)
    pins = "    - shard: tenant-06\n      imageRef: abc1234\n"
    pins += "    - shard: app-sre\n      imageRef: ed21267\n"
    bundle.replace(TERRAFORM, "    - shard: tenant-03\n", f"{pins}    - shard: tenant-03\n")
    bundle.replace("integrations/aws-iam-keys.yml", "memory: 300Mi", "memory: 310Mi")
    shutil.rmtree(bundle.root / "aws" / "tenant-05")


def break_a_file(bundle: Bundle) -> None:
    move_image(bundle)
    bundle.replace("integrations/terraform-users.yml", "imageRef: ed21267", "imageref: ed21267")


def reshard(bundle: Bundle) -> None:
    path = "integrations/openshift-resources.yml"
    bundle.replace(path, "shards: 20", "shards: 25")


def delete_accounts(bundle: Bundle) -> None:
    for i in (1, 2, 4, 5, 6):  # the third has something written for it alone
        shutil.rmtree(bundle.root / "aws" / f"tenant-0{i}")


def new_everywhere(bundle: Bundle) -> None:
    """A new image for every integration in production."""
    for path in sorted((bundle.root / "integrations").glob("*.yml")):
        path.write_text(path.read_text().replace("imageRef: ed21267", "imageRef: f929a38"))


def change_nothing(bundle: Bundle) -> None:
    path = bundle.root / TERRAFORM
    path.write_text("# nothing but a remark\n" + path.read_text())


EDITS = (
    move_image,
    pin_and_delete,
    break_a_file,
    reshard,
    delete_accounts,
    new_everywhere,
    change_nothing,
)


@pytest.mark.parametrize(
    "edit, arguments, width, name",
    [
        (move_image, ("--brakes", "{brakes}"), 80, "image-narrow.txt"),
        (move_image, ("--brakes", "{brakes}"), 160, "image.txt"),
        (move_image, ("--brakes", "{brakes}", "-o", "markdown"), 160, "image.markdown"),
        (pin_and_delete, ("-o", "wide"), 160, "pins-wide.txt"),
        (pin_and_delete, ("-o", "markdown"), 160, "pins.markdown"),
        (break_a_file, ("-o", "markdown"), 160, "broken.markdown"),
        (new_everywhere, ("-o", "markdown"), 160, "everywhere.markdown"),
        (change_nothing, ("-o", "markdown"), 160, "nothing.markdown"),
    ],
)
def test_what_is_shown_is_what_was_read_and_found_right(
    bundle: Bundle,
    edit: Edit,
    arguments: tuple[str, ...],
    width: int,
    name: str,
    request: pytest.FixtureRequest,
) -> None:
    edit(bundle)
    brakes = str(bundle.root.parent / "brakes.yaml")
    given = [each.format(brakes=brakes) for each in arguments]
    found = bundle.text(*given, width=width)
    golden = GOLDEN / name
    if request.config.getoption("--rewrite", default=False):
        golden.write_text(found)
    assert found == golden.read_text(), f"{name}: run with --rewrite and read the change"


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: str(edit.__name__))
def test_counts_are_those_of_the_effects(bundle: Bundle, edit: Edit) -> None:
    """A preview adds nothing to what the two revisions result in, and leaves nothing out."""
    edit(bundle)
    data = bundle.data()
    effects = Revisions(load({}, {}).settings(), bundle.root, "main", None).comparison.effects
    for fate in Fate:
        assert data["summary"][fate.value] == len(effects.of(fate))
        assert sum(each[fate.value] for each in data["environments"]) == len(effects.of(fate))
    assert len(data["workloads"]) == len(effects.effects)
    moved = {(each.place, each.unit) for each in effects.effects if each.moves_image}
    rolled = {(e["name"], s) for e in data["rollouts"] for g in e["groups"] for s in g["shards"]}
    applied = {(each["name"], shard) for each in data["applied"] for shard in each["shards"]}
    assert rolled | applied == moved
    assert not rolled & applied


@pytest.mark.parametrize("output", ["table", "wide", "markdown"])
def test_a_change_of_nothing_says_so(bundle: Bundle, output: str) -> None:
    """A remark in a file moves lines, and nothing else."""
    change_nothing(bundle)
    found = bundle.preview("-o", output)
    assert found.exit_code == 0
    assert "othing changes" in found.stdout
    assert "terraform-resources" not in found.stdout


def test_new_errors_end_in_1_and_delete_nothing(bundle: Bundle) -> None:
    """What cannot be read is not gone: it is not known."""
    break_a_file(bundle)
    found = bundle.preview("-o", "json")
    data = json.loads(found.stdout)
    assert found.exit_code == 1
    assert data["summary"]["deleted"] == 0
    assert data["summary"]["unknown"] > 0
    assert any("imageref" in each["message"] for each in data["findings"])


def test_old_errors_end_in_0(bundle: Bundle) -> None:
    """A change of something else is not to blame."""
    bundle.replace("integrations/terraform-users.yml", "imageRef: ed21267", "imageref: ed21267")
    git(bundle.root, "commit", "-qam", "an old fault")
    move_image(bundle)
    found = bundle.preview("-o", "json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["findings"] == []


def test_groups_go_one_after_the_other_and_wait_for_the_freeze(bundle: Bundle) -> None:
    """By the rules of the engine: soak, slots, order, and a calendar that has the last word."""
    move_image(bundle)
    brakes = str(bundle.root.parent / "brakes.yaml")
    (rollout,) = bundle.data("--brakes", brakes)["rollouts"]
    canary, stage, rest = rollout["groups"]
    assert (canary["startsAt"], canary["doneAt"]) == (AT, "2026-11-20T15:40:00Z")
    assert (stage["startsAt"], stage["doneAt"]) == (canary["doneAt"], "2026-11-20T16:20:00Z")
    assert (rest["startsAt"], rest["doneAt"]) == (stage["doneAt"], "2026-11-23T09:00:00Z")
    (collision,) = rest["collisions"]
    # Five are in before 17:00; fifteen are not.
    assert len(collision["shards"]) == 15
    assert (collision["gate"], collision["wouldStartAt"], collision["until"]) == (
        "freeze",
        "2026-11-20T17:00:00Z",
        "2026-11-23T07:00:00Z",
    )


def test_a_hold_leaves_no_date_and_is_named(bundle: Bundle) -> None:
    """As `hold add` wrote it into the journal."""
    database = str(bundle.root / ".git" / "journal.db")
    hold = ["hold", "add", "inc-42", "--everything", "--reason", "incident", "--yes", "--create"]
    assert CliRunner().invoke(cli, [*hold, "--database", database]).exit_code == 0
    move_image(bundle)
    data = bundle.data()
    (rollout,) = data["rollouts"]
    assert [each["startsAt"] for each in rollout["groups"]] == [None, None, None]
    assert "hold inc-42" in rollout["groups"][0]["heldBy"]
    assert "canary has no date: hold inc-42: incident" in data["verdict"]


def test_an_approval_has_no_date_and_health_is_taken_to_be_good(bundle: Bundle) -> None:
    """If all goes well is said of what no one can know; what people have to do is named."""
    move_image(bundle)
    brakes = bundle.root.parent / "brakes.yaml"
    scope = "scope: {selector: {matchLabels: {tier: stage}}}"
    brakes.write_text(f"health:\n- {{name: runs, cleanRuns: 3, maxAge: 30m, {scope}}}\n")
    healthy = bundle.data("--brakes", str(brakes))["rollouts"][0]
    assert healthy["healthGates"] == ["runs"]
    assert healthy["doneAt"] == "2026-11-20T19:00:00Z"
    brakes.write_text(f"approvals:\n- {{name: board, quorum: 2, {scope}}}\n")
    canary, stage, rest = bundle.data("--brakes", str(brakes))["rollouts"][0]["groups"]
    assert canary["doneAt"] == "2026-11-20T15:40:00Z"
    assert (stage["startsAt"], stage["doneAt"], rest["startsAt"]) == (None, None, None)
    (collision,) = stage["collisions"]
    assert (collision["gate"], collision["wouldStartAt"]) == ("approval", canary["doneAt"])
    assert stage["heldBy"] == collision["text"]
    shown = bundle.text("--brakes", str(brakes))
    assert f"stage: would start Fri 15:40, {collision['text']}\n" in shown


def test_without_rules_every_target_moves_at_once_when_a_person_applies(bundle: Bundle) -> None:
    settings = bundle.root / "app-interface" / "settings.yml"
    settings.write_text(settings.read_text().partition("rollout:")[0])
    git(bundle.root, "commit", "-qam", "no rules")
    move_image(bundle)
    data = bundle.data()
    assert data["rollouts"] == []
    assert [len(each["shards"]) for each in data["applied"]] == [25]
    assert data["verdict"].endswith("; all at once")
    # Of these, no rollout removes any; and `apply` may remove so few of so many.
    delete_accounts(bundle)
    assert bundle.data()["warnings"] == []


def test_pinned_shards_stay_and_say_by_which_line(bundle: Bundle) -> None:
    pin_and_delete(bundle)
    data = bundle.data()
    (kept,) = data["pinned"]
    line = (bundle.root / TERRAFORM).read_text().splitlines()[int(kept["where"].split(":")[1]) - 1]
    assert (kept["shard"], kept["image"]) == ("terraform-resources/app-sre", "ed21267")
    assert "shard: app-sre" in line
    # Its own image is another one now: that is no rollout's.
    assert [each["shards"] for each in data["applied"]] == [["terraform-resources/tenant-06"]]


def test_another_number_of_shards_and_many_removals_are_warned_of(bundle: Bundle) -> None:
    reshard(bundle)
    (warning,) = bundle.data()["warnings"]
    assert warning["kind"] == "resharding"
    assert "resharding 20 to 25: 20 old workloads of appsrep05ue1 end" in warning["text"]
    delete_accounts(bundle)
    kinds = [each["kind"] for each in bundle.data()["warnings"]]
    assert kinds == ["removal", "removal", "resharding"]


def test_an_inventory_that_became_empty_is_warned_of(bundle: Bundle) -> None:
    shutil.rmtree(bundle.root / "cloudflare" / "zones")
    texts = [e["text"] for e in bundle.data()["warnings"] if e["kind"] == "emptied"]
    assert len(texts) == 2
    assert all(each.startswith("terraform-cloudflare-dns@") for each in texts)


def test_the_moment_it_is_merged_and_the_pace_can_be_said(bundle: Bundle) -> None:
    move_image(bundle)
    slow = bundle.data("--at", "2026-11-24T10:00:00Z", "--apply-time", "1h")["rollouts"][0]
    assert slow["groups"][1]["startsAt"] == "2026-11-24T11:30:00Z"
    assert (slow["applyTime"], slow["applyTimeFrom"]) == ("1h", "as given")
    assert bundle.preview("--at", "soon").exit_code == 2
