"""What the journal knows of promotions, offered by hand or by a worker, as commands show it."""

from pathlib import Path

import pytest

from tests.git_repos import clone, commit, git
from tests.promoted import Play, Source, make_source

NAME = "promotions/qontract-reconcile"
OFFER = ("promote", "--no-registry-check", "--to", "jenkins", "--open-mr", "--yes")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def play(tmp_path: Path, source: Source) -> Play:
    """A bundle of one's own, of an artifact without an image."""
    play = Play(tmp_path, source)
    play.env["COLUMNS"] = "500"
    place = "{file: .env, line: 'export RECONCILE_IMAGE_TAG='}"
    play.edit(
        {
            "data/promotion.yml": "---\n$schema: /tidegate/promotion-1.yml\n"
            "name: qontract-reconcile\nartifact: {}\nenvironments:\n"
            f"- {{name: jenkins, places: [{place}]}}\n"
        }
    )
    return play


def test_an_offer_by_hand_is_known_to_every_command(play: Play, source: Source) -> None:
    """It is a fact of its promotion: `status`, `get`, `why` and `journal show` say the same."""
    assert play.run(*OFFER, "--reason", "inc-42").returncode == 0
    shown = play.run("journal", "show", "--partition", NAME).stdout
    assert f"offered {source.newest[:7]} to jenkins in file://" in shown
    assert "inc-42" in shown
    assert "promotions  1         1       0" in play.run("status").stdout
    for target in ("jenkins", "env/jenkins"):
        assert "which is open" in play.run("why", target).stdout, target
    again = play.run(*OFFER)
    assert "merge request updated" in again.stdout, "by hand it is found, with other words"


def test_a_worker_offers_what_is_decided_and_nothing_twice(play: Play) -> None:
    """`run` with `--kind promotions`: observed unless `--act` names it; replayed the same."""
    run = ("run", "--once", "--kind", "promotions")
    assert play.run(*run).returncode == 0
    assert "would offer" in play.run("journal", "show", "--partition", NAME).stdout
    for _ in range(2):
        done = play.run(*run, "--act", "promotions/*")
        assert done.returncode == 0, done.stderr
    shown = play.run("journal", "show", "--partition", NAME).stdout
    assert shown.count(" offered ") == 2, "the name of the fact, and its line"
    assert "all equal" in play.run("replay", NAME).stdout


def test_a_merge_is_seen_by_the_next_worker(play: Play) -> None:
    """A worker that starts anew reads the merge requests that its journal has open."""
    run = ("run", "--once", "--kind", "promotions", "--act", "promotions/*")
    assert play.run(*run).returncode == 0
    branch = "origin/tidegate/promote-qontract-reconcile-to-jenkins"
    git(play.clone, "fetch", "-q")
    git(play.clone, "merge", "-q", "--no-edit", branch)
    git(play.clone, "push", "-q", "origin", "HEAD:main")
    assert play.run(*run).returncode == 0
    assert "#1 is merged" in play.run("journal", "show", "--partition", NAME).stdout
    assert "Done" in play.run("why", "jenkins").stdout


def test_a_worker_reads_the_artifact_anew_in_every_round(play: Play, tmp_path: Path) -> None:
    """The mirror of an artifact is fetched by its readings: a newer version is offered."""
    bare = tmp_path / "newer.git"
    git(tmp_path, "clone", "-q", "--bare", str(play.source.bare), str(bare))
    play.env["TIDEGATE_SOURCE"] = str(bare)
    run = ("run", "--once", "--kind", "promotions", "--act", "promotions/*")
    assert play.run(*run).returncode == 0
    newer = commit(clone(bare, tmp_path / "work"), {"e": "5"}, "one more")
    git(tmp_path / "work", "push", "-q", "origin", "HEAD:main")
    assert play.run(*run).returncode == 0
    shown = play.run("journal", "show", "--partition", NAME).stdout
    assert f"newest version {newer[:7]}" in shown
    assert f"offered {newer[:7]} to jenkins" in shown


def test_a_paused_promotion_offers_nothing(play: Play) -> None:
    """`pause` and `resume` mean for promotions what they mean for other kinds."""
    run = ("run", "--once", "--kind", "promotions", "--act", "promotions/*")
    assert play.run("run", "--once", "--kind", "promotions").returncode == 0
    assert play.run("pause", NAME, "--reason", "look first", "--yes").returncode == 0
    assert play.run(*run).returncode == 0
    assert "offered " not in play.run("journal", "show", "--partition", NAME).stdout
    counts = play.told("status")["kinds"]["promotions"]
    assert (counts["waiting"], counts["held"], counts["stopped"]) == (1, 0, 1), "no brake covers it"
    assert play.run("hold", "add", "h", "--everything", "--reason", "r", "--yes").returncode == 0
    counts = play.told("status")["kinds"]["promotions"]
    assert (counts["held"], counts["stopped"]) == (1, 1)
    assert play.run("hold", "remove", "h", "--reason", "r").returncode == 0
    assert play.run("resume", NAME, "--yes").returncode == 0
    assert play.run(*run).returncode == 0
    assert play.run(*run).returncode == 0
    assert "offered " in play.run("journal", "show", "--partition", NAME).stdout
