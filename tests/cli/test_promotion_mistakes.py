"""What people get wrong around promotions: each is shown what, where and what to write instead."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.git_repos import git
from tests.promoted import JENKINS, Play, Source, make_source
from tidegate.kinds.promotions.app.proposal_text import ProposalFacts, key, title

DOCUMENT = """---
$schema: /tidegate/promotion-1.yml
name: {name}
artifact: {{image: quay.io/app-sre/qontract-reconcile}}
environments:
- {{name: {environment}, places: [{place}]}}
"""
LINE = '{file: .env, line: "export RECONCILE_IMAGE_TAG="}'


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, source: Source) -> Play:
    """A bundle that no one changes."""
    return Play(tmp_path_factory.mktemp("bundle"), source)


@pytest.fixture
def play(tmp_path: Path, source: Source) -> Play:
    """A bundle of one's own."""
    return Play(tmp_path, source)


def test_a_file_that_cannot_be_read_is_no_environment_that_is_not_there(play: Play) -> None:
    """It is not said that everything moves while a place is left behind unseen."""
    play.edit({JENKINS: "- defaults:\n    qontract_reconcile_image_tag: [\n"})
    plan = play.promote(code=1)
    jenkins = next(each for each in plan["environments"] if each["name"] == "jenkins")
    assert jenkins["state"] == "waits"
    assert f"{JENKINS}:3" in jenkins["verdicts"][0]["message"]
    done = play.run("get", "promotions", "--no-forge")
    assert done.returncode == 1
    assert f"{JENKINS}:3" in done.stderr


def test_an_environment_without_a_place_is_listed(play: Play) -> None:
    """A misspelt pattern in a document is seen where everything is listed."""
    place = "{file: nowhere.yml, key: tag}"
    text = DOCUMENT.format(name="mine", environment="first", place=place)
    also = f"- {{name: second, after: [], places: [{LINE}]}}\n"
    play.edit({"data/promotion.yml": text + also})
    done = play.run("get", "promotions", "--no-forge", "--no-headers")
    assert next(line.split()[:2] for line in done.stdout.splitlines()) == ["first", "-"]
    assert "first: not found: 'tag' in nowhere.yml" in done.stderr
    assert done.returncode == 1


def test_what_has_it_already_is_no_failure(play: Play, source: Source) -> None:
    """Neither in the table nor in the tree: it is there, and nothing is wrong."""
    play.edit({JENKINS: f"- {{qontract_reconcile_image_tag: {source.newest[:7]}}}\n"})
    done = play.run("promote", "--no-registry-check", "--to", "jenkins")
    assert "there  done: it has the change" in done.stdout
    tree = play.run("why", "env/jenkins").stdout
    assert tree.splitlines()[0] == f"env/jenkins  on {source.newest[:7]}: there already"


def test_an_environment_is_found_in_whichever_promotion_has_it(play: Play) -> None:
    """Where several are declared, its name is enough; and the error says what to write."""
    for name in ("one", "two"):
        text = DOCUMENT.format(name=name, environment=f"env-{name}", place=LINE)
        play.edit({f"data/{name}.yml": text})
    done = play.run("promote", "--no-registry-check", "--to", "env-two")
    assert done.stdout.startswith("promote two to"), done.stderr
    assert "--promotion" in play.run("promote").stderr


def test_what_a_repository_does_not_know_is_not_taken_for_nothing(
    untouched: Play, source: Source, tmp_path: Path
) -> None:
    """A shallow clone has no history: that nothing is pending cannot be said of it."""
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{source.bare}", str(shallow))
    done = untouched.run("pending", "--older-than", "1h", "--source", str(shallow))
    assert done.returncode == 1
    assert "nothing else is pending" in done.stderr
    assert "git fetch --unshallow" in done.stderr


@pytest.mark.parametrize(
    "command, remedy",
    [
        ("pending --source /nowhere", "--source names a clone or another address"),
        ("promote --no-registry-check --source https://127.0.0.1:9/x", "--source names a clone"),
        ("promote schemas --schemas-source /nowhere", "--schemas-source names a clone"),
    ],
)
def test_a_repository_that_does_not_answer_can_be_named_otherwise(
    untouched: Play, command: str, remedy: str
) -> None:
    """What git says, and the option that helps."""
    done = untouched.run(*command.split())
    assert done.returncode == 1
    assert remedy in done.stderr


def test_a_remote_that_is_gone_is_reported(play: Play) -> None:
    """What was fetched before is still there, and named."""
    play.bare.rename(play.bare.with_name("moved.git"))
    done = play.run("get", "promotions")
    assert done.returncode == 1
    assert "--no-fetch uses what was fetched before" in done.stderr
    offered = ("promote", "--no-registry-check", "--no-fetch", "--open-mr", "--yes")
    assert "git remote -v" in play.run(*offered).stderr


def test_without_a_remote_there_is_nowhere_to_offer_it(play: Play) -> None:
    """And what to run is said."""
    git(play.clone, "remote", "remove", "origin")
    done = play.run("promote", "--no-registry-check", "--open-mr", "--yes")
    assert done.returncode == 2
    assert "no remote; run `git remote add origin ADDRESS`" in done.stderr


@pytest.mark.parametrize("command", ["pending", "check --base main", "why env/x"])
def test_outside_a_repository_the_folder_is_to_be_named(
    untouched: Play, tmp_path: Path, command: str
) -> None:
    """Not a revision, which could not be found anywhere here."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = untouched.run(*command.split(), "--bundle", str(elsewhere))
    assert done.returncode == 2
    assert f"{elsewhere}: not in a Git repository; name the folder of a clone" in done.stderr


def test_a_revert_elsewhere_has_no_files_to_edit_here(untouched: Play, source: Source) -> None:
    """So it is not asked for."""
    done = untouched.run("revert", source.newest)
    assert "--open-mr offers it" in done.stderr
    assert "--write" not in done.stderr


def test_a_pin_says_why(untouched: Play) -> None:
    """Nothing but spaces is no reason, in a line that others wonder about."""
    done = untouched.run("pin", "terraform", "--shard", "a", "--wanted", "--reason", " ")
    assert done.returncode == 2
    assert "--reason" in done.stderr


def test_pinned_files_are_named_as_they_are_found(untouched: Play) -> None:
    """From where one stands, like every other file on the page."""
    done = untouched.run("promote", "--no-registry-check", "--to", "manager")
    assert "pinned by data/integrations/terraform.yml:" in done.stdout


def test_with_stdout_closed_nothing_is_a_bug(untouched: Play) -> None:
    """As cron and some supervisors start a command."""
    shell = f"{sys.executable} -m tidegate pending --source {untouched.source.bare} >&-"
    done = subprocess.run(
        shell,
        shell=True,
        cwd=untouched.clone,
        env=untouched.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "bug" not in done.stderr
    assert done.returncode == 0


def test_a_path_that_is_none_is_found_before_anyone_promotes(play: Play) -> None:
    """`validate` and `promote` read documents by the same rules, and name file and line."""
    place = '{file: .env, at: "a[b"}'
    text = DOCUMENT.format(name="mine", environment="first", place=place)
    play.edit({"data/promotion.yml": text})
    problem = 'environments[0].places[0].at: "a[b" is no path'
    for command in ("validate", "pending"):
        done = play.run(command)
        (line,) = [each for each in (done.stdout + done.stderr).splitlines() if problem in each]
        assert "data/promotion.yml:6:" in line


def test_schemas_are_promoted_without_saying_it_twice() -> None:
    """They go nowhere else: what moves is where it moves to."""
    facts = ProposalFacts(
        name="schemas", version="a" * 40, environments=("schemas",), edits=(), authors=()
    )
    assert (title(facts), key(facts)) == ("promote schemas", "promote-schemas")
    facts = msgspec.structs.replace(facts, name="reconcile", environments=("one", "two"))
    assert title(facts) == "promote reconcile to one, two"
