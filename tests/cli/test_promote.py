"""`promote`, `pending` and `get promotions` on real repositories."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.git_repos import clone, commit, git
from tests.promoted import SAAS, Play, Source, make_source
from tests.serving import beside


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory, source: Source) -> Play:
    """A bundle that no one changes."""
    return Play(tmp_path_factory.mktemp("bundle"), source)


def states(plan: Any) -> dict[str, str]:
    """What becomes of each environment."""
    return {each["name"]: each["state"] for each in plan["environments"]}


def reasons(plan: Any, environment: str) -> set[str]:
    """Why an environment does not move."""
    found = next(each for each in plan["environments"] if each["name"] == environment)
    return {each["reason"] for each in found["verdicts"] if each["outcome"] != "pass"}


def test_jenkins_is_promoted_without_any_configuration(play: Play) -> None:
    """The newest of the branch, in its short form, and nothing else changes."""
    plan = play.promote("--to", "jenkins")
    assert states(plan) == {"jenkins": "moves"}
    (edit,) = plan["edits"]
    assert (edit["file"], edit["line"]) == ("resources/jenkins/global/defaults.yaml", 3)
    assert (edit["old"], edit["new"]) == (play.source.first[:7], play.source.newest[:7])


def test_everything_moves_if_nothing_is_named(play: Play) -> None:
    """Every place, whose work goes out, where to look, and which shards get it."""
    plan = play.promote()
    assert set(states(plan).values()) == {"moves"}
    assert len(plan["edits"]) == 7
    assert {each["name"] for each in plan["authors"]} == {"Ada", "Bob", "Cleo"}
    first, newest = play.source.first, play.source.newest
    assert f"/compare/{first}...{newest}" in plan["compare"][0]
    (reached,) = plan["shards"]
    assert (reached["shards"], reached["clusters"]) == (["terraform/a"], ["one"])
    assert [each["shard"] for each in reached["pinned"]] == ["terraform/b"]
    assert any("do not agree" in warning for warning in plan["warnings"])


def test_the_table_fits_a_narrow_terminal_and_says_the_same(play: Play) -> None:
    """No line of the tables is cut where no one watches; people read names, ages and subjects."""
    done = play.run("promote", "--no-registry-check", "--to", "manager")
    assert done.returncode == 0
    assert "4 commits by 3 people go out" in done.stdout
    assert "Ada <ada@example.com> (you)" in done.stdout
    assert "stays: terraform/b, pinned by data/integrations/terraform.yml" in done.stdout


def test_an_older_version_is_refused_unless_asked_to(play: Play, source: Source) -> None:
    """Tekton has a newer one at one of its places."""
    plan = play.promote("--to", "tekton", "--ref", source.first, code=1)
    assert reasons(plan, "tekton") == {"Backward"}
    # What it would change is shown all the same.
    assert plan["edits"]
    assert not any(each["moves"] for each in plan["edits"])
    again = play.promote("--to", "tekton", "--ref", source.first, "--allow-backward")
    assert states(again) == {"tekton": "moves"}
    assert any("would be lost" in warning for warning in again["warnings"])


def test_a_version_aside_is_refused_because_stage_does_not_have_it(
    play: Play, source: Source
) -> None:
    """Order first: what is on no branch that stage follows has been tried nowhere."""
    plan = play.promote("--to", "jenkins", "--ref", source.aside, code=1)
    assert "EarlierEnvironmentBehind" in reasons(plan, "jenkins")


class _Registry(BaseHTTPRequestHandler):
    """Has one image."""

    def do_HEAD(self) -> None:
        there = self.path.endswith(f"/manifests/{self.server.tag}")  # type: ignore[attr-defined]
        self.send_response(200 if there else 404)
        self.send_header("Docker-Content-Digest", f"sha256:{'a' * 64}")
        self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815  what the server calls

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_missing_image_is_waited_for(tmp_path: Path, source: Source) -> None:
    """The registry has one version and not the other; one that does not answer has none."""
    play = Play(tmp_path, source)
    server = HTTPServer(("127.0.0.1", 0), _Registry)
    server.tag = source.newest[:7]  # type: ignore[attr-defined]
    host = f"127.0.0.1:{server.server_port}"
    play.edit({"data/promotion.yml": DECLARED.format(image=f"{host}/a/b")})
    asked = ("promote", "--registry", f"http://{host}", "--to", "check")
    with beside(server):
        assert states(play.told(*asked)) == {"check": "moves"}
        waiting = play.told(*asked, "--ref", source.second, code=1)
        assert reasons(waiting, "check") == {"ImageMissing"}
        assert [each["file"] for each in waiting["edits"]] == [".env"]
        assert waiting["authors"]
    assert reasons(play.told(*asked, code=1), "check") == {"ImageUnknown"}


DECLARED = """---
$schema: /tidegate/promotion-1.yml
name: mine
artifact:
  repository: https://git.example.com/app-sre/qontract-reconcile
  image: "{image}"
environments:
- name: check
  places:
  - {{file: .env, line: "export RECONCILE_IMAGE_TAG="}}
"""


def test_a_held_environment_waits(play: Play) -> None:
    """Brakes bind promotions as they bind everything."""
    done = play.run("hold", "add", "inc-1", "--target", "jenkins", "--kind", "promotions",
        "--reason", "incident", "--yes", "--create")  # fmt: skip
    assert done.returncode == 0, done.stderr
    try:
        plan = play.promote("--to", "jenkins", "--to", "pr-check", code=1)
        assert states(plan) == {"pr-check": "moves", "jenkins": "waits"}
        assert reasons(plan, "jenkins") == {"Held"}
    finally:
        play.run("hold", "remove", "inc-1", "--reason", "over")


def test_why_shows_every_gate_of_an_environment(play: Play) -> None:
    """The same verdicts, as for any other target; nothing answers for the image here."""
    told = play.run("why", "env/jenkins", "--registry", "http://127.0.0.1:1").stdout.splitlines()
    assert told[0].startswith(f"env/jenkins  on {play.source.first[:7]}, wants")
    assert {line.split()[2] for line in told[1:] if line[0] in "├└"} == {
        "artifact", "places", "direction", "order", "schemas"
    }  # fmt: skip


def test_a_misspelt_environment_is_a_usage_error(play: Play) -> None:
    """With the nearest name."""
    done = play.run("promote", "--to", "jenkin")
    assert done.returncode == 2
    assert 'no environment "jenkin"; did you mean "jenkins"?' in done.stderr


def test_pending_tells_whose_work_waits_and_for_how_long(play: Play, source: Source) -> None:
    """By author; older than so much exits 1, and nothing older exits 0."""
    items = play.told("pending")["items"]
    assert [each["author"]["name"] for each in items] == ["Ada", "Bob", "Bob", "Cleo"]
    second = next(each for each in items if each["sha"] == source.second)
    assert "jenkins" in second["missing"]
    assert play.run("pending", "--older-than", "1s").returncode == 1
    assert play.run("pending", "--older-than", "90000h").returncode == 0
    bobs = play.told("pending", "--author", "bob@")["items"]
    assert len(bobs) == 2


def test_what_is_reverted_is_not_pending(tmp_path: Path) -> None:
    """Neither the commit nor its revert, merged or not; a revert of what is promoted waits."""
    source = make_source(tmp_path / "source")
    play = Play(tmp_path / "bundle", source)
    work = clone(source.bare, tmp_path / "work")
    wrong = commit(work, {"wrong": "1"}, "do it wrong")
    git(work, "revert", "--no-edit", wrong)
    again = commit(work, {"again": "1"}, "do it again")
    git(work, "revert", "--no-edit", again)
    git(work, "revert", "--no-edit", "HEAD")
    git(work, "revert", "--no-edit", source.first)
    git(work, "checkout", "-q", "-b", "side")
    merged = commit(work, {"side": "1"}, "on the side")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-ff", "--no-edit", "side")
    git(work, "revert", "--no-edit", "-m", "1", "HEAD")
    git(work, "push", "-q", "origin", "main")
    items = play.told("pending", "--to", "jenkins")["items"]
    found = {each["subject"].partition(" ")[0] for each in items}
    assert found == {"mend", "number", "faster", "log", "do", "Revert"}
    # Commits of one second are in no order of their own.
    ours = {e["subject"] for e in items if e["subject"].startswith(("do", "Revert"))}
    assert ours == {"do it again", 'Revert "begin"'}
    assert not {wrong, merged} & {each["sha"] for each in items}


def test_get_promotions_tells_what_is_where(play: Play, source: Source) -> None:
    """Since when, by which commit, and how many commits behind; places that differ are two rows."""
    items = play.told("get", "promotions", "--no-forge")["items"]
    found = {(each["environment"], each["version"]): each for each in items}
    assert found["stage", "main"]["behind"] == 0
    assert found["jenkins", source.first[:7]]["behind"] == 4
    assert found["tekton", source.second[:7]]["behind"] == 3
    assert found["manager", source.first]["commit"] == git(play.clone, "rev-parse", "HEAD")
    assert play.run("get", "promotions", "-o", "name").stdout.splitlines()[0] == "env/stage"


def test_a_place_that_is_not_known_is_reported(tmp_path: Path, source: Source) -> None:
    """A commit that is not in the artifact's repository is neither old nor new."""
    play = Play(tmp_path, source)
    text = (play.clone / SAAS).read_text().replace(source.first, "d" * 40)
    play.edit({SAAS: text})
    plan = play.promote("--to", "manager", code=1)
    assert reasons(plan, "manager") == {"AncestryUnknown"}
    done = play.run("pending", "--to", "manager")
    assert f"{SAAS}:17: {'d' * 40} is not in" in done.stderr


def test_schemas_go_first_and_alone(tmp_path: Path, source: Source) -> None:
    """What needs newer schemas is refused with the command to run; pinned images are named."""
    play = Play(tmp_path, source)
    env = (play.clone / ".env").read_text().replace("aaaaaaa", source.first[:7])
    play.edit({".env": env})
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(source.bare), str(work))
    needing = commit(work, {"n": "1"}, f"new\n\nRequires-Schemas: {source.second[:10]}")
    schemas = ("--schemas-source", str(source.bare))
    plan = play.told(
        "promote", "--no-registry-check", "--to", "jenkins", "--source", str(work),
        "--ref", needing, *schemas, code=1,
    )  # fmt: skip
    assert "SchemasNeeded" in reasons(plan, "jenkins")
    moved = play.told("promote", "schemas", "--ref", source.second, *schemas)
    assert [each["file"] for each in moved["edits"]] == [".env"]
    assert any("terraform/b has an image of its own" in each for each in moved["warnings"])


def merge_requests(play: Play) -> list[str]:
    """The numbers of the merge requests at the remote."""
    told = git(play.bare, "for-each-ref", "--format=%(refname)", "refs/merge-requests")
    return told.split()


def test_a_promotion_is_offered_once_and_a_newer_one_takes_its_place(
    tmp_path: Path, source: Source
) -> None:
    """One branch, one commit, one merge request; asked again nothing happens; it is never merged.

    A newer version goes into the same merge request.
    """
    play = Play(tmp_path, source)
    before = git(play.bare, "rev-parse", "main")
    asked = ("promote", "--no-registry-check", "--to", "jenkins", "--open-mr", "--yes")
    first = play.run(*asked, "--ref", source.second)
    assert first.returncode == 0, first.stderr
    assert "merge request opened" in first.stdout
    assert "merge request unchanged" in play.run(*asked, "--ref", source.second).stdout
    newer = play.run(*asked)
    assert newer.returncode == 0, newer.stderr
    assert len(merge_requests(play)) == 1
    branch = "tidegate/promote-qontract-reconcile-to-jenkins"
    assert git(play.bare, "rev-list", "--count", f"main..{branch}") == "1"
    diff = git(play.bare, "diff", "--numstat", "main", branch)
    assert diff.split() == ["1", "1", "resources/jenkins/global/defaults.yaml"]
    assert git(play.bare, "rev-parse", "main") == before
    journal = play.run("journal", "show", "--partition", "by-hand/promotions", "-o", "json")
    assert "promotions/jenkins" in journal.stdout, journal.stderr


def test_merged_and_verified_it_is_there(tmp_path: Path, source: Source) -> None:
    """After the merge `promote` finds nothing to do, and `get promotions` knows the request."""
    play = Play(tmp_path, source)
    asked = ("promote", "--no-registry-check", "--to", "pr-check")
    assert play.run(*asked, "--open-mr", "--yes").returncode == 0
    branch = "tidegate/promote-qontract-reconcile-to-pr-check"
    git(play.clone, "fetch", "-q")
    git(play.clone, "merge", "-q", "--no-edit", f"origin/{branch}")
    git(play.clone, "push", "-q", "origin", "HEAD:main")
    assert states(play.told(*asked)) == {"pr-check": "there"}
    rows = play.told("get", "promotions")["items"]
    (row,) = [each for each in rows if each["environment"] == "pr-check"]
    assert (row["version"], row["behind"]) == (source.newest[:7], 0)
    # The forge was not asked: what is in its target is merged.
    assert row["mergeRequest"]["number"] == 1
    older = play.run(*asked, "--ref", source.second, "--allow-backward", "--open-mr", "--yes")
    assert "merge request opened" in older.stdout, older.stderr
    assert len(merge_requests(play)) == 2


def test_written_files_are_those_that_would_be_committed(tmp_path: Path, source: Source) -> None:
    """--write edits the clone, and refuses where a person has edited the same file."""
    play = Play(tmp_path, source)
    asked = ("promote", "--no-registry-check", "--to", "jenkins", "--write")
    assert play.run(*asked).returncode == 0
    assert git(play.clone, "diff", "--numstat").split()[:2] == ["1", "1"]
    (play.clone / "resources/jenkins/global/defaults.yaml").write_text("mine: true\n")
    stale = play.run(*asked)
    assert stale.returncode != 0
    assert (play.clone / "resources/jenkins/global/defaults.yaml").read_text() == "mine: true\n"


def test_a_commit_that_waits_is_reverted_by_merge_request(tmp_path: Path) -> None:
    """In the artifact's repository, on its newest; what is not in the branch is refused."""
    source = make_source(tmp_path / "source")
    play = Play(tmp_path / "bundle", source)
    done = play.run("revert", source.second, "--open-mr", "--yes", "--reason", "not today")
    assert done.returncode == 0, done.stderr
    assert "b deleted" in done.stdout
    branch = f"tidegate/revert-{source.second[:7]}"
    assert git(source.bare, "diff", "--name-status", "main", branch) == "D\tb"
    assert "nothing to revert" in play.run("revert", source.aside).stderr


def test_a_revert_is_committed_where_its_branch_can_be_seen(tmp_path: Path) -> None:
    """In a clone, with the command to look at it; without a clone it can only be pushed."""
    source = make_source(tmp_path / "source")
    play = Play(tmp_path / "bundle", source)
    refused = play.run("revert", source.second, "--commit", "--yes")
    assert refused.returncode == 2
    assert "no clone of it here to commit to; use --push or --open-mr" in refused.stderr
    work = clone(source.bare, tmp_path / "a clone")
    done = play.run("revert", source.second, "--commit", "--yes", "--source", str(work))
    assert done.returncode == 0, done.stderr
    branch = f"tidegate/revert-{source.second[:7]}"
    assert f"look at it with `git -C '{work}' show {branch}`" in done.stderr
    assert git(work, "diff", "--name-status", "main", branch) == "D\tb"


def test_a_revert_is_offered_to_the_branch_it_was_planned_on(tmp_path: Path) -> None:
    """The artifact's branch, which need not be the one that its repository names."""
    source = make_source(tmp_path / "source")
    play = Play(tmp_path / "bundle", source)
    git(source.bare, "branch", "release", source.newest)
    git(source.bare, "branch", "-f", "main", source.first)
    document = DECLARED.format(image="").replace("  image:", "  branch: release\n  image:")
    play.edit({"data/promotion.yml": document})
    done = play.run("revert", source.second, "--push", "--yes")
    assert done.returncode == 0, done.stderr
    branch = f"tidegate/revert-{source.second[:7]}"
    assert git(source.bare, "diff", "--name-status", "release", branch) == "D\tb"


def test_what_would_break_the_bundle_is_refused(tmp_path: Path, source: Source) -> None:
    """A short form where the schema wants a whole commit: nothing is written, and it says where."""
    play = Play(tmp_path, source)
    document = DECLARED.format(image="") + "- name: target\n  after: []\n  places:\n"
    document += "  - {saas: saas-qontract-manager-int, environment: '*prod*', form: short}\n"
    play.edit({"data/promotion.yml": document})
    done = play.run("promote", "--no-registry-check", "--to", "target", "--open-mr", "--yes")
    assert done.returncode == 2
    assert "the bundle would have new errors" in done.stderr
    assert "saas-qontract-manager-int.yaml:17" in done.stderr
    assert merge_requests(play) == []


def test_several_promotions_are_listed_together(tmp_path: Path, source: Source) -> None:
    """Each with its name; a person who promotes has to say which, unless the environment does."""
    play = Play(tmp_path, source)
    other = DECLARED.format(image="").replace("name: mine", "name: other")
    play.edit(
        {
            "data/promotion.yml": DECLARED.format(image=""),
            "data/other.yml": other.replace("RECONCILE_IMAGE_TAG", "SCHEMAS_IMAGE_TAG"),
            ".env": (play.clone / ".env").read_text().replace("aaaaaaa", source.second[:7]),
        }
    )
    items = play.told("get", "promotions", "--no-forge")["items"]
    assert {(each["promotion"], each["version"]) for each in items} == {
        ("mine", source.first[:7]),
        ("other", source.second[:7]),
    }
    assert "PROMOTION" in play.run("get", "promotions", "--no-forge").stdout
    missing = {each["sha"]: each["missing"] for each in play.told("pending")["items"]}
    assert missing[source.second] == ["mine/check"]
    assert missing[source.newest] == ["mine/check", "other/check"]
    assert "several promotions are declared" in play.run("promote").stderr


def test_shards_whose_waves_go_through_git_are_held_back(tmp_path: Path, source: Source) -> None:
    """The default moves, and no shard with it; one that a person pinned keeps its override."""
    play = Play(tmp_path, source)
    file = "data/integrations/terraform.yml"
    before = (play.clone / file).read_text()
    rules = "rollout: {type: Progressive, via: git}\nmanaged:\n"
    play.edit({file: before.replace("managed:\n", rules)})
    plan = play.promote("--to", "manager")
    assert states(plan) == {"manager": "moves"}
    assert plan["shards"] == []
    done = play.run("promote", "--no-registry-check", "--to", "manager", "--write", "--yes")
    assert done.returncode == 0, done.stderr
    after = (play.clone / file).read_text().splitlines()
    held = f"      imageRef: {source.first[:7]}  # tidegate: pinned by tidegate-waves: "
    assert after[-2:] == ["        $ref: /aws/a.yml", f"{held}waits for its wave"]
    assert source.newest in (play.clone / SAAS).read_text()
