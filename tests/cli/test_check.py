"""`tidegate check`: a change tried for real, with a command in the place of an image."""

import asyncio
import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.folders import Folder, git
from tests.patience import is_gone, until
from tidegate.cli.main import cli
from tidegate.forge.client.local import LocalForge
from tidegate.kinds.integrations.app.check import report as check_app
from tidegate.model.errors import OutsideError, UserError

Check = Callable[..., Result]
TF = "terraform-resources"
ACCOUNTS = "strategy: per-aws-account"
PINNED = "strategy: per-aws-account, shardSpecOverrides: [{{shard: {shard}, imageRef: {image}}}]"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A bundle on main, and a branch for a change."""
    found = Folder(tmp_path / "bundle", {"prod-1": "production"})
    found.integration(TF, sharding=ACCOUNTS, more="")
    found.integration("dns")
    git(found.root, "init", "-q")
    _commit(found)
    git(found.root, "checkout", "-qb", "change")
    return found


def _commit(folder: Folder, *, to_main: bool = False) -> None:
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", "more")
    if to_main:
        git(folder.root, "branch", "-f", "main")


@pytest.fixture
def check(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs a check from a directory of its own; the program of its runner is a shell script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, script: str = "") -> Result:
        given = ["check", str(folder.root), "--base", "main", *arguments]
        if script:
            program = tmp_path / "it"
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            given += ["--command", f"{program} {{integration}} {{revision}} {{shard}}"]
        return CliRunner().invoke(cli, given)

    return run


@pytest.fixture
def no_podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program can be found but git, whatever this machine has."""
    program = shutil.which("git")
    assert program is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def _told(result: Result) -> str:
    return re.sub(r"^comparing \w{7}", "comparing BASE", result.stderr)


def test_a_change_that_affects_nothing_says_so(check: Check, folder: Folder) -> None:
    folder.write("README.md", "words\n")
    done = check()
    assert done.stdout == "no integration is affected\n"
    assert _told(done) == "comparing BASE (where HEAD branched from main) … the working tree\n"
    assert done.exit_code == 0


def test_a_plan_says_what_would_be_run_with_which_image_and_why(
    check: Check, folder: Folder
) -> None:
    folder.integration(TF, "bbbbbbb", sharding=PINNED.format(shard="two", image="f929a38"))
    folder.integration("dns", arguments="--more")
    done = check("--plan")
    assert done.exit_code == 0
    assert done.stdout == (
        "INTEGRATION          ENVIRONMENT  IMAGE    BEFORE   SHARDS  WHY\n"
        "dns                  production   aaaaaaa  aaaaaaa  -       "
        "changed: env[INTEGRATION_EXTRA_ARGS]\n"
        "terraform-resources  production   bbbbbbb  aaaaaaa  one     image aaaaaaa → bbbbbbb\n"
        "terraform-resources  production   f929a38  aaaaaaa  two     image aaaaaaa → f929a38\n"
    )


def test_only_new_lines_are_shown_and_each_image_has_a_log(
    check: Check, folder: Folder, tmp_path: Path
) -> None:
    """Seed 004, step 4: the log of the pinned image is called after it."""
    folder.integration(TF, sharding=PINNED.format(shard="two", image="f929a38"))
    script = 'echo "[$(date "+%F %T")] with $2"; [ $2 = f929a38 ] && echo "creates a bucket"; true'
    done = check(script=script)
    assert done.exit_code == 0
    assert done.stdout == (
        "INTEGRATION          ENVIRONMENT  IMAGE    BEFORE   SHARDS  RESULT  NEW LINES  WHY\n"
        "terraform-resources  production   f929a38  aaaaaaa  two     1 ok    1          "
        "image aaaaaaa → f929a38\n"
        "terraform-resources f929a38\n"
        "  + creates a bucket\n"
        "  log: check-logs/reconcile-terraform-resources_f929a38.txt\n"
    )
    assert _told(done).splitlines()[1:] == [
        "1 to try, 4 at once",
        "1/1 ✓ terraform-resources/two f929a38",
        "1 tried: 1 ok",
    ]
    logs = {path.name: path.read_text() for path in (tmp_path / "check-logs").iterdir()}
    assert sorted(logs) == [
        "reconcile-terraform-resources_aaaaaaa.txt",
        "reconcile-terraform-resources_f929a38.txt",
    ]
    lines = logs["reconcile-terraform-resources_f929a38.txt"].splitlines()
    assert lines[0].startswith("[two] + ")
    assert lines[2] == "[two] creates a bucket"


def test_what_fails_with_the_change_alone_is_its_fault(check: Check, folder: Folder) -> None:
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    script = 'echo $3 is well; [ "$2 $SHARD_KEY" = "bbbbbbb two" ] && { echo boom; exit 3; }; true'
    done = check(script=script)
    assert done.exit_code == 1
    row = "terraform-resources  production   bbbbbbb  aaaaaaa  one, two  1 ok, 1 failed  1"
    assert done.stdout.splitlines()[1:] == [
        f"{row}          image aaaaaaa → bbbbbbb",
        "terraform-resources bbbbbbb",
        "  ✗ two: failed: exit code 3; without the change it works",
        "  + boom  (two)",
        "  log: check-logs/reconcile-terraform-resources_bbbbbbb.txt",
    ]
    assert done.stderr.endswith("2 tried: 1 ok, 1 failed; it is the change\n")


def test_what_fails_the_same_without_the_change_is_a_warning(check: Check, folder: Folder) -> None:
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    done = check(script="echo the server is down; exit 1")
    assert done.exit_code == 0
    warned = "warning: 2 of 2 fail without the change, too: not its fault; nothing was learnt"
    assert warned in done.stderr
    assert "… one, two: fails without the change, too: exit code 1 on both sides" in done.stdout


def test_a_flake_is_to_be_tried_again(check: Check, folder: Folder, tmp_path: Path) -> None:
    folder.integration("dns", "bbbbbbb")
    once = tmp_path / "once"
    script = f"[ $2 = bbbbbbb ] && [ ! -f {once} ] && {{ touch {once}; exit 1; }}; true"
    done = check(script=script)
    assert done.exit_code == 75
    assert "… dns: flake: exit code 1 at first, then it worked" in done.stdout
    assert done.stderr.endswith("1 tried: 1 flake; it may not be the change: try again\n")
    once.unlink()
    strict = check("--retries", "0", script=script)
    assert strict.exit_code == 1


def test_a_run_that_never_ends_is_ended(check: Check, folder: Folder) -> None:
    folder.integration("dns", "bbbbbbb")
    script = "[ $2 = bbbbbbb ] && sleep 60; true"
    done = check("--time-limit", "3s", "--retries", "0", script=script)
    assert done.exit_code == 1
    assert "✗ dns: failed: not done after 3 s; without the change it works" in done.stdout
    both = check("--time-limit", "100ms", "--retries", "0", script="sleep 60")
    assert both.exit_code == 75


@pytest.mark.usefixtures("no_podman")
def test_no_runner_is_ours(
    check: Check, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.integration("dns", "bbbbbbb")
    done = check("--command", str(tmp_path / "nobody"))
    assert done.exit_code == 70
    assert "nobody: no such program" in done.stdout
    missing = check("--runner", "podman")
    assert missing.exit_code == 70
    assert "no podman here; write --command, or --plan to run nothing" in missing.stderr
    assert check("--plan").exit_code == 0

    def broken(*_: object, **__: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr(check_app, "affected_in", broken)
    bug = check("--plan")
    assert bug.exit_code == 70
    assert "a bug in tidegate: KeyError: 'oh'" in bug.stderr


def test_what_fails_outside_is_to_be_tried_again(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OutsideError("git did not answer")

    monkeypatch.setattr(check_app, "affected_in", broken)
    done = check("--plan")
    assert done.exit_code == 75
    assert done.stderr.endswith("Error: git did not answer; try again\n")


def test_new_problems_of_the_bundle_come_first_and_nothing_is_run(
    check: Check, folder: Folder
) -> None:
    folder.integration(TF, "bbbbbbb", sharding=PINNED.format(shard="nobody", image="x"))
    done = check(script="exit 0")
    assert done.exit_code == 1
    (first,) = done.stdout.splitlines()
    assert 'no AWS account "nobody"; drop the override' in first
    assert "integrations/terraform-resources.yml:9:" in first
    assert "2 workloads are not known to be there any more: the bundle has errors" in done.stderr
    assert "nothing is run until this is fixed" in done.stderr
    assert "tried" not in done.stderr
    _commit(folder, to_main=True)
    folder.integration("dns", "bbbbbbb")
    # What was wrong before is no one's fault now.
    assert check(script="exit 0").exit_code == 0


def test_changed_data_are_tried_with_one_image_before_and_after(
    check: Check, folder: Folder, tmp_path: Path
) -> None:
    """Only the shard of the account whose file changed; its old data are written out for it."""
    path = folder.root / f"integrations/{TF}.yml"
    path.write_text(path.read_text().replace("managed:", "schemas: [/aws/account-1.yml]\nmanaged:"))
    _commit(folder, to_main=True)
    folder.write("aws/two.yml", "$schema: /aws/account-1.yml\nname: two\nlabels: {a: b}\n")
    done = check(script="cat $TIDEGATE_DATA/aws/two.yml")
    assert done.exit_code == 0
    row = "terraform-resources  production   aaaaaaa  aaaaaaa  two     1 ok    1"
    assert done.stdout.splitlines()[1:4] == [
        f"{row}          changed: aws/two.yml",
        "terraform-resources aaaaaaa",
        "  + labels: {a: b}",
    ]
    assert (tmp_path / "check-logs/reconcile-terraform-resources_aaaaaaa.base.txt").is_file()
    _commit(folder)
    at_head = check("--head", "change", script="cat $TIDEGATE_DATA/aws/two.yml")
    assert at_head.stdout == done.stdout


def test_the_tag_of_the_repository_is_tried_where_no_image_is_named(
    check: Check, folder: Folder
) -> None:
    folder.write(
        "integrations/github.yml",
        "$schema: /app-sre/integration-1.yml\nname: github\npr_check: {cmd: github --internal}\n",
    )
    folder.write(".env", "export RECONCILE_IMAGE_TAG=aaaaaaa\n")
    _commit(folder, to_main=True)
    folder.write(".env", "export RECONCILE_IMAGE_TAG='1234567' # numbers\n")
    done = check("--plan")
    assert done.stdout.splitlines()[1:] == [
        "github       -            1234567  aaaaaaa  -       .env: aaaaaaa → 1234567"
    ]


def test_runs_that_fail_alike_are_two_lines_and_a_count(check: Check, folder: Folder) -> None:
    """While it runs; `--verbose` shows each."""
    for name in ("three", "four", "five"):
        folder.write(f"aws/{name}.yml", f"$schema: /aws/account-1.yml\nname: {name}\n")
    _commit(folder, to_main=True)
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    failing = "echo no access to $3; test $2 = aaaaaaa"
    lines = check(script=failing).stderr.splitlines()
    total = next(int(line.split()[0]) for line in lines if "to try" in line)
    assert total > 2
    assert sum(re.match(r" *[0-9]+/[0-9]+ ", line) is not None for line in lines) == 2
    assert any(line.startswith(f"and {total - 2} more: ") for line in lines), lines
    whole = check("--verbose", script=failing).stderr.splitlines()
    assert sum(re.match(r" *[0-9]+/[0-9]+ ", line) is not None for line in whole) == total


def test_programs_are_shown_everything(check: Check, folder: Folder) -> None:
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    done = check("-o", "json", script="echo $SHARD_KEY $2 more")
    data = json.loads(done.stdout)
    assert data["kind"] == "Check"
    assert data["base"] == git(folder.root, "rev-parse", "main")
    assert (data["head"], data["findings"], data["exitCode"]) == (None, [], 0)
    first, second = data["runs"]
    assert first == {
        "integration": TF,
        "shard": f"{TF}/one",
        "environment": "production",
        "image": "quay.io/app-sre/qontract-reconcile:bbbbbbb",
        "before": "quay.io/app-sre/qontract-reconcile:aaaaaaa",
        "revision": "bbbbbbb",
        "revisionBefore": "aaaaaaa",
        "arguments": "--account-name one",
        "why": ["image aaaaaaa → bbbbbbb"],
        "result": "ok",
        "words": "",
        "log": "check-logs/reconcile-terraform-resources_bbbbbbb.txt",
        "tries": 1,
        "exitCode": 0,
        "newLines": [],
        "goneLines": [],
    }
    assert second["shard"] == f"{TF}/two"
    planned = json.loads(check("-o", "json", "--plan").stdout)
    assert [run["shard"] for run in planned["runs"]] == [f"{TF}/one", f"{TF}/two"]
    assert "result" not in planned["runs"][0]


def test_a_part_can_be_chosen_and_what_is_misspelt_is_named(check: Check, folder: Folder) -> None:
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    folder.integration("dns", "bbbbbbb")
    assert "terraform" not in check("--plan", "--integration", "dns").stdout
    assert check("--plan", "--environment", "stage").stdout == "no integration is affected\n"
    wrong = check("--plan", "--integration", "dsn")
    assert isinstance(wrong.exception, UserError)
    assert str(wrong.exception) == 'no integration "dsn"; did you mean "dns"?'
    template = check("--command", "it {nothing}")
    assert isinstance(template.exception, UserError)


def test_what_several_shards_say_of_themselves_is_one_line(check: Check, folder: Folder) -> None:
    folder.integration(TF, "bbbbbbb", sharding=ACCOUNTS)
    done = check(script="[ $2 = bbbbbbb ] && echo creates $SHARD_KEY; true")
    assert "  + creates SHARD  (one, two)\n" in done.stdout


@pytest.mark.usefixtures("no_podman")
def test_the_forge_is_shown_the_result_for_a_commit(
    check: Check, folder: Folder, tmp_path: Path
) -> None:
    """Pending first; then by the exit code, and an error where nothing could be tried."""
    bare = tmp_path / "project.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(folder.root, "remote", "add", "origin", str(bare))
    folder.integration("dns", "bbbbbbb")
    _commit(folder)
    git(folder.root, "push", "-q", "origin", "main", "change")
    head = git(folder.root, "rev-parse", "change")
    heard: list[tuple[str, str, str]] = []

    def status() -> tuple[str, str, str]:
        (one,) = asyncio.run(LocalForge(bare).statuses(head))
        return one.name, one.state.value, one.text

    given = ("--head", "change", "--status")
    for script in (f"true {bare}", "[ $2 = aaaaaaa ]"):
        check(*given, script=script)
        heard.append(status())
    check(*given, "--runner", "podman")
    heard.append(status())
    assert heard == [
        ("tidegate/check", "success", "1 tried: 1 ok"),
        ("tidegate/check", "failure", "1 tried: 1 failed; it is the change"),
        (
            "tidegate/check",
            "error",
            "could not be tried: no podman here; write --command, or --plan to run nothing",
        ),
    ]


def test_a_status_needs_a_commit_and_a_forge_that_keeps_it(
    check: Check, folder: Folder, tmp_path: Path
) -> None:
    folder.integration("dns", "bbbbbbb")
    assert check("--status").exit_code == 2
    assert "--status needs --head REF" in check("--status").stderr
    assert check("--status", "--plan").exit_code == 2
    _commit(folder)
    git(folder.root, "remote", "add", "origin", str(tmp_path / "gone.git"))
    lost = check("--status", "--head", "change", script="true")
    assert lost.exit_code == 75
    assert "warning: the commit's status is not set: " in lost.stderr
    assert "1 tried: 1 ok" in lost.stderr


def test_asked_to_end_it_ends_what_it_began(folder: Folder, tmp_path: Path) -> None:
    """A pipeline that is cancelled leaves nothing running."""
    folder.integration("dns", "bbbbbbb")
    ids = tmp_path / "ids"
    program = tmp_path / "slow"
    program.write_text(f"#!/bin/sh\necho $$ >> {ids}\nsleep 600 &\necho $! >> {ids}\nwait\n")
    program.chmod(0o755)
    words = [sys.executable, "-m", "tidegate", "check", str(folder.root), "--base", "main"]
    words += ["--command", str(program), "--logs", str(tmp_path / "logs")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        until(lambda: ids.exists() and len(ids.read_text().split()) == 4, "both programs run")
        process.terminate()
        said = process.stderr.read()
    assert process.returncode == 130
    assert said.endswith("interrupted\n")
    for each in ids.read_text().split():
        until(partial(is_gone, int(each)), f"{each} is gone")
