"""Pipelines from the command line: real repositories, a forge of files, a state store."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tests.git_repos import ADA, BOB, clone, commit, git, remote
from tests.pipelined import (
    PIPELINE,
    PROD,
    PROD_EU,
    SAAS,
    STAGE,
    STAGE_EU,
    TARGET,
    bundle_files,
    pipeline_text,
    saas_text,
)
from tidegate.kinds.promotions.core.channels.sources import TargetPlace
from tidegate.wiring import repositories

PARTITION = "channels/payments"


class Play:
    """A bundle with a pipeline, the repository that it deploys, and the existing state store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        code = folder / "code"
        code.mkdir()
        self.code = remote(code, {"a": "0"}, at="2026-11-01T08:00:00Z")
        self.work = clone(self.code, code / "work")
        self.old = git(self.work, "rev-parse", "HEAD")
        self.new = self.release("ship it")
        files = {
            path: text.replace("a" * 40, self.old) if isinstance(text, str) else text
            for path, text in bundle_files().items()
        }
        self.clone = clone(remote(folder, files), folder / "clone")
        (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
        self.env = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
            "TIDEGATE_SOURCE": str(self.code),
            "TIDEGATE_DATABASE": str(folder / "tidegate.db"),
            "TIDEGATE_FORGE": "local",
        }

    def release(self, subject: str, who: tuple[str, str] = BOB) -> str:
        """A commit on the branch that stage follows."""
        made = commit(self.work, {"a": subject}, subject, who, at="2026-11-05T08:00:00Z")
        git(self.work, "push", "-q", "origin", "main")
        return made

    def deployed(self, version: str, *, success: bool = True) -> None:
        """The existing deployer records a run on both publishers."""
        for target, namespace in (("", "payments-stage"), ("stage-eu", "payments-stage-eu")):
            place = TargetPlace(
                saas="saas-payments",
                template="api",
                target=target,
                cluster="stage-1",
                namespace=namespace,
                file=SAAS,
            )
            path = self.folder / "state/promotions_v2/payments-stage" / place.uid() / version
            path.parent.mkdir(parents=True, exist_ok=True)
            entry = {"success": success, "target_config_hash": "h", "saas_file": "saas-payments"}
            path.write_text(json.dumps({**entry, "check_in": "2026-11-06 08:00:00+00:00"}))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What the command says."""
        return tidegate(*arguments, cwd=self.clone, env=self.env)

    def work_once(self, *arguments: str) -> None:
        """One worker, until nothing more happens by itself; it reads branches anew."""
        repositories._remote_heads.cache_clear()
        state = ("--promotion-state", str(self.folder / "state"))
        done = self.run("run", "--once", "--kind", "promotions", *state, *arguments)
        assert done.returncode == 0, done.stderr

    def merge_offered(self) -> None:
        """A person merges the one branch that is offered, and deletes it."""
        (line,) = git(self.clone, "ls-remote", "origin", "refs/heads/tidegate/*").splitlines()
        sha, name = line.split()
        git(self.clone, "fetch", "-q", "origin", sha)
        git(self.clone, "push", "-q", "origin", f"{sha}:refs/heads/main", f":{name}")
        git(self.clone, "fetch", "-q", "origin")

    def told(self, *arguments: str) -> Any:
        """What a command says as data."""
        done = self.run(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Deployed on stage by the existing deployer, with no soak asked for by one subscriber."""
    return Play(tmp_path)


def test_a_pipeline_is_observed_explained_offered_and_merged(play: Play) -> None:
    """By default it only says what it would do; with --act it opens one merge request."""
    play.work_once()
    why = play.run("why", PROD).stdout
    assert "was not seen to deploy" in why
    play.deployed(play.new)
    play.work_once()
    assert "offered with 1 promotion" in play.run("why", PROD).stdout
    (lane,) = play.told("get", "promotions", "--recorded")["items"]
    rows = {each["name"]: each for each in lane["environments"]}
    assert [rows[name]["state"] for name in (STAGE, STAGE_EU)] == ["Done", "Done"]
    assert (rows[PROD]["behind"], rows[PROD]["environment"]) == (1, "payments-prod")
    shown = play.run("get", "promotions", "--recorded").stdout
    assert "offered with 1 promotion" not in shown
    assert PROD in shown
    (soaking,) = play.told("when", f"env/{PROD_EU}")["items"]
    assert soaking["startsAt"] is not None
    assert git(play.clone, "ls-remote", "origin", "refs/heads/tidegate/*") == ""
    play.work_once("--act", "channels/*")
    (line,) = git(play.clone, "ls-remote", "origin", "refs/heads/tidegate/*").splitlines()
    sha = line.split()[0]
    git(play.clone, "fetch", "-q", "origin", sha)
    changed = git(play.clone, "diff", "--name-only", "origin/main", sha).splitlines()
    assert changed == [TARGET, SAAS]
    shown = git(play.clone, "show", f"{sha}:{SAAS}")
    assert f"ref: {play.new}  # moved by promotions" in shown
    git(play.clone, "push", "-q", "origin", f"{sha}:refs/heads/main")
    play.work_once("--act", "channels/*")
    assert "done: it has the change" in play.run("why", PROD).stdout
    assert play.run("when", PARTITION).returncode == 0
    assert play.run("replay", PARTITION).returncode == 0
    assert play.run("journal", "verify").returncode == 0


def test_what_is_written_by_hand_counts_as_promoted(play: Play) -> None:
    """A person may always be faster."""
    text = saas_text(ref=play.new)
    commit(play.clone, {SAAS: text})
    git(play.clone, "push", "-q", "origin", "HEAD:main")
    play.deployed(play.new)
    play.work_once()
    assert "done: it has the change" in play.run("why", PROD).stdout
    assert "offered with 1 promotion" in play.run("why", PROD_EU).stdout


def test_a_failure_names_suspects_and_a_person_lifts_it(play: Play) -> None:
    """Commits by author since the last good version; the middle of them halves the range."""
    play.deployed(play.new)
    play.work_once()
    play.release("faster", ADA)
    play.release("log less", ADA)
    bad = play.release("retry", BOB)
    play.deployed(bad, success=False)
    play.work_once()
    assert "is quarantined" in play.run("why", f"env/{PROD}").stdout
    listed = play.told("promotions", "suspects", bad[:7])
    assert (listed["good"], listed["number"]) == (play.new, 3)
    assert [each["name"] for each in listed["authors"]] == ["Ada", "Bob"]
    text = play.run("promotions", "suspects", bad[:7], "--bisect").stdout
    assert "3 suspects since" in text
    assert "good leaves 1, a failure 2" in text
    lift = ("promotions", "lift", bad[:7], "--pipeline", "payments", "--reason", "node full")
    assert play.run(*lift).returncode == 2
    assert play.run(*lift, "--yes").returncode == 0
    assert "is quarantined" not in play.run("why", PROD).stdout


def test_a_search_on_stage_ends_with_the_culprit(play: Play) -> None:
    """A person confirms each try; no subscriber gets one; at the end stage is as it was."""
    rule = saas_text(ref=play.old, published="payments-other")
    commit(play.clone, {SAAS: rule})
    git(play.clone, "push", "-q", "origin", "HEAD:main")
    play.deployed(play.new)
    play.work_once()
    commits = [play.release(f"step {number}") for number in range(6)]
    bad, culprit = commits[-1], commits[2]
    play.deployed(bad, success=False)
    play.work_once("--act", "channels/*")
    step = ("promotions", "suspects", bad[:7], "--bisect")
    assert play.run(*step, "--open-mr").returncode == 2  # nothing without a confirmation
    assert play.run("promotions", "suspects", bad[:7], "--open-mr").returncode == 2
    for turn in range(3):
        shown = play.run(*step, "--open-mr", "--yes")
        assert shown.returncode == 0, shown.stderr
        listed = play.told("promotions", "suspects", bad[:7])
        tried = listed["bisect"]["version"]
        assert listed["tries"][-1] == {**listed["tries"][-1], "version": tried, "good": None}
        again = play.run(*step, "--open-mr", "--yes")
        assert f"waiting for a deployment of {tried[:7]}" in again.stdout
        assert len(listed["tries"]) == turn + 1
        play.merge_offered()
        play.deployed(tried, success=commits.index(tried) < 2)
        play.work_once("--act", "channels/*")
        why = play.run("why", f"env/{PROD}").stdout
        assert "only to find what broke" in why or "is quarantined" in why
        if (found := play.told("promotions", "suspects", bad[:7]))["culprit"]:
            break
    assert (found["culprit"], found["left"]) == (culprit, 1)
    assert f"{culprit[:7]} is the only suspect left" in play.run(*step).stdout
    assert play.run(*step, "--open-mr", "--yes").returncode == 0
    play.merge_offered()
    assert git(play.clone, "show", f"origin/main:{SAAS}") + "\n" == rule
    play.work_once("--act", "channels/*")
    over = play.run(*step, "--open-mr", "--yes")
    assert (over.returncode, "nothing is left to try" in over.stderr) == (2, True)
    assert play.run("replay", PARTITION).returncode == 0


def test_versions_are_tried_on_stage_only(play: Play) -> None:
    """One that failed in production has suspects and no step."""
    play.deployed(play.new)
    play.work_once()
    pipeline = ("--pipeline", "payments")
    failed = play.run("promotions", "deployed", PROD, play.new, "--bad", *pipeline)
    assert failed.returncode == 0, failed.stderr
    step = ("promotions", "suspects", play.new[:7], "--bisect")
    assert "tried on stage only" in play.run(*step).stdout
    refused = play.run(*step, "--open-mr", "--yes")
    assert (refused.returncode, "tried on stage only" in refused.stderr) == (2, True)


def test_deployments_and_evidence_are_reported_by_hand(play: Play) -> None:
    """What the store does not have, a person or a script reports."""
    rule = pipeline_text("evidence: {named: [load-test]}\n")
    commit(play.clone, {PIPELINE: rule})
    git(play.clone, "push", "-q", "origin", "HEAD:main")
    (play.folder / "state/promotions_v2").mkdir(parents=True)
    play.work_once()
    pipeline = ("--pipeline", "payments")
    for name in (STAGE, STAGE_EU):
        done = play.run("promotions", "deployed", name, play.new, "--good", *pipeline)
        assert done.returncode == 0, done.stderr
    unknown = play.run("promotions", "evidence", play.new[:7], "smoke", "--good", *pipeline)
    assert unknown.returncode != 0
    assert "not reported of" in play.run("why", PROD).stdout
    told = play.told("promotions", "evidence", play.new[:7], "load-test", "--good", *pipeline)
    assert told["missing"] == []
    assert "reported good of" in play.run("why", PROD).stdout
