"""What runs is compared with what is promoted, and the journal of the promotion knows it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked import TIDEGATE, Forked
from tests.git_repos import git
from tests.patience import PATIENCE_S
from tests.promoted import Play, Source, make_source

NAME = "promotions/qontract-reconcile"
MANAGER = "{saas: 'saas-qontract-manager*', environment: '*prod*'}"
JENKINS = "{file: .env, line: 'export RECONCILE_IMAGE_TAG='}"
# Shards depend on the manager's files, and none on those of Jenkins.
PROMOTION = f"""---
$schema: /tidegate/promotion-1.yml
name: qontract-reconcile
artifact: {{}}
environments:
- {{name: manager, places: [{MANAGER}]}}
- {{name: jenkins, places: [{JENKINS}]}}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def play(tmp_path: Path, source: Source) -> Iterator[Play]:
    """A bundle of one's own, and the cluster that its shards run on."""
    play = Play(tmp_path, source)
    play.env |= {"COLUMNS": "500", "NO_COLOR": "1"}
    play.edit({"data/promotion.yml": PROMOTION})
    play.env["TIDEGATE_IMAGE"] = "quay.io/app-sre/qontract-reconcile"
    command = [*TIDEGATE, "clusters", "simulate", "data"]
    command += ["--kubeconfig", str(tmp_path / "k.yaml"), "--speed", "100"]
    pipe = subprocess.PIPE
    with Forked[str](command, cwd=play.clone, env=play.env, stdout=pipe, text=True) as serving:
        assert serving.stdout is not None
        serving.stdout.readline()
        try:
            yield play
        finally:
            serving.terminate()
            serving.communicate(timeout=PATIENCE_S)


def done(play: Play, *arguments: str, code: int = 0) -> str:
    """What a command prints, on both ways."""
    ran = play.run(*arguments)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def merge(play: Play) -> None:
    """A person merges the offer with git."""
    git(play.clone, "fetch", "-q")
    (branch,) = git(play.clone, "branch", "-r", "--list", "origin/tidegate/*").split()
    git(play.clone, "merge", "-q", "--no-ff", "--no-edit", branch)
    git(play.clone, "push", "-q", "origin", "HEAD:main")


def test_what_runs_is_a_fact_of_its_promotion(play: Play, source: Source, tmp_path: Path) -> None:
    """Offered, merged by a person, not running yet, seen by `verify` to run: then it is done."""
    new = source.newest[:7]
    clusters = ("--kubeconfig", str(tmp_path / "k.yaml"))
    work = ("run", "--once", "--kind", "promotions", "--act", "promotions/*", *clusters)
    done(play, "apply", "data", "--yes", *clusters)
    done(play, *work)
    merge(play)
    done(play, *work)
    waits = done(play, "why", "env/manager")
    assert (
        "merged; what runs differs: terraform/a: `tidegate serve` or `tidegate apply` moves it"
        in waits
    )
    assert "Ada merged file://" in waits
    assert "promotions  1         1       0        1 " in done(play, "status")

    done(play, "apply", "data", "--yes", *clusters)
    one = done(play, "verify", "data", "--shard", "terraform/b", *clusters)
    assert "recorded" not in one, "of some of its shards nothing is concluded"
    seen = done(play, "verify", "data", "--wait", "--timeout", "30s", *clusters)
    assert f"recorded in {NAME}: manager runs {new}\n" in seen
    assert "recorded" not in done(play, "verify", "data", *clusters), "it is no news"
    assert f"runs {new}, as promised" in done(play, "why", "env/manager")

    # A worker without access to clusters takes nothing of that back.
    done(play, *work[:-2])
    shown = done(play, "journal", "show", "--partition", NAME)
    checks = [line for line in shown.splitlines() if "  verified  " in line]
    differs = (
        f"manager does not run {new}: terraform/a: `tidegate serve` or `tidegate apply` moves it"
    )
    assert [line.split("  -  ")[1].strip() for line in checks] == [
        f"{differs}, jenkins has {new} in its files",
        f"manager runs {new}",
    ]
    assert ["user:" in line for line in checks] == [False, True]
    assert "#1 is merged by Ada" in shown
    assert "#1 is merged by Ada" in done(play, "show", NAME)
    assert "all equal" in done(play, "replay", NAME)
