"""`get shards`, `show shard/…` and `logs`, from outside, on simulated clusters behind HTTP."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import tidegate
from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.xdist_group("shards")

ROOT = Path(__file__).parents[2]
BUNDLE = str(ROOT / "examples/app-interface")
PINNED = "integrations/terraform-users.yml:"
PRODUCTION = ("--environment", "app-interface-production")
USERS = ("--integration", "terraform-users", *PRODUCTION)


class Stage:
    """Clusters that run the example, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own = {name for name in os.environ if name.startswith("TIDEGATE_")} | {"COLUMNS"}
        kept = {name: value for name, value in os.environ.items() if name not in own}
        self.env = {**kept, "KUBECONFIG": str(folder / "k.yaml"), "NO_COLOR": "1"}

    def run(self, *args: str, code: int = 0, **env: str) -> str:
        """What a command prints."""
        done = tidegate(*args, cwd=self.folder, env={**self.env, **env})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    def items(self, *args: str) -> list[dict[str, object]]:
        """Shards for programs."""
        found: list[dict[str, object]] = json.loads(
            self.run("get", "shards", BUNDLE, *args, "-o", "json")
        )["items"]
        return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One integration applied, and some runs of it behind us."""
    found = Stage(tmp_path_factory.mktemp("shards"))
    command = ["clusters", "simulate", BUNDLE, "--kubeconfig", "k.yaml", "--speed", "1000"]
    behaviour = ["--behaviour", str(ROOT / "examples/behaviour.yaml")]
    with Forked(
        [*TIDEGATE, *command, *behaviour], cwd=found.folder, env=found.env, stdout=subprocess.PIPE
    ) as serving:
        try:
            assert serving.stdout is not None
            serving.stdout.readline()
            found.run("apply", BUNDLE, *USERS, "--yes")
            end = time.monotonic() + PATIENCE_S
            while any(each["lastRun"] is None for each in found.items(*USERS)):
                assert time.monotonic() < end, "nobody ever ran"
                time.sleep(0.2)
            yield found
        finally:
            serving.terminate()


def test_every_shard_says_what_it_wants_and_runs_and_who_pinned_it(stage: Stage) -> None:
    items = {str(each["shard"]): each for each in stage.items(*USERS)}
    assert len(items) == 25
    pinned = items.pop("terraform-users/ter-int-dev")
    # No journal has its image: it may be older than the others', or newer.
    assert (pinned["wants"], pinned["runs"], pinned["behind"]) == ("f929a38", "f929a38", None)
    assert str(pinned["pinnedBy"]).startswith(PINNED)
    for each in items.values():
        assert (each["wants"], each["runs"], each["behind"]) == ("ed21267", "ed21267", 0)
        assert (each["ready"], each["of"], each["note"]) == (1, 1, None)
        assert str(each["digest"]).startswith("sha256:")
        assert each["since"] is not None


def test_what_is_not_applied_says_so_and_filters_choose(stage: Stage) -> None:
    others = stage.items("--integration", "slack-usergroups")
    assert [each["note"] for each in others] == ["not applied yet"] * 2
    names = stage.run("get", "shards", BUNDLE, *USERS, "--behind", "-o", "name")
    assert names.splitlines() == ["shard/terraform-users/ter-int-dev"]


def test_tables_fit_a_narrow_terminal_and_tell_more_in_a_wide_one(stage: Stage) -> None:
    narrow = stage.run("get", "shards", BUNDLE, *USERS, COLUMNS="80").splitlines()
    assert all(len(line) <= 80 for line in narrow)
    assert narrow[0].startswith("SHARD")
    # What does not fit goes on beneath: what runs, and why, is never lost.
    heads = " ".join(narrow[:2]).split()
    assert {"WANTS", "RUNS", "READY", "BEHIND", "NOTE"} <= set(heads)
    assert any("pinned by" in line for line in narrow)
    wide = stage.run("get", "shards", BUNDLE, *USERS, "-o", "wide")
    assert PINNED in wide
    assert "sha256:" in wide


def test_one_shard_is_shown_in_full(stage: Stage) -> None:
    shown = stage.run("show", "shard/terraform-users/ter-int-dev", "--bundle", BUNDLE)
    assert "pinned by  integrations/terraform-users.yml:" in shown
    assert "last run   ok (run" in shown
    wrong = stage.run("show", "shard/terraform-users/ter-int-dv", "--bundle", BUNDLE, code=2)
    assert 'did you mean "terraform-users/ter-int-dev"?' in wrong


def test_logs_have_the_shard_and_the_image_in_every_line(stage: Stage) -> None:
    lines = stage.run(
        "logs", "shard/terraform-users/app-sre", "--bundle", BUNDLE, *PRODUCTION, "--tail", "3"
    ).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("terraform-users/app-sre ed21267 [") for line in lines)
    whose = stage.run("logs", "--bundle", BUNDLE, code=2)
    assert "name a shard" in whose
    nothing = stage.run("logs", "slack-usergroups", "--bundle", BUNDLE, code=1)
    assert "slack-usergroups: nothing runs in" in nothing


def test_following_a_log_goes_on_until_it_is_interrupted(stage: Stage) -> None:
    command = ["logs", "-f", "terraform-users/app-sre", "--bundle", BUNDLE, *PRODUCTION]
    with Forked(
        [*TIDEGATE, *command], cwd=stage.folder, env=stage.env, stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        lines = [following.stdout.readline() for _ in range(20)]
        following.terminate()
    assert all("terraform-users/app-sre ed21267" in line for line in lines)


def test_a_cluster_that_cannot_be_reached_is_reported_and_the_others_are_listed(
    stage: Stage,
) -> None:
    bundle_and = ("get", "shards", BUNDLE, "--integration", "terraform-users", "-o", "json")
    nowhere = ("--context-of", "app-sre-stage-01=nowhere")
    done = tidegate(*bundle_and, *nowhere, cwd=stage.folder, env=stage.env)
    assert done.returncode == 1
    items = json.loads(done.stdout)["items"]
    unread = [each for each in items if each["note"] == "unknown: its cluster cannot be read"]
    assert {each["cluster"] for each in unread} == {"app-sre-stage-01"}
    assert (len(items), len(unread)) == (50, 25)
    assert "app-sre-stage-01" in done.stderr
    unknown = {(each["runs"], each["ready"], each["behind"]) for each in unread}
    assert unknown == {(None, None, None)}, "nothing is known of them, and so not that it is 0"
    assert all(each["ready"] is not None for each in items if each not in unread)
    late = ("get", "shards", BUNDLE, "--integration", "terraform-users", "--behind")
    shown = tidegate(*late, *nowhere, cwd=stage.folder, env=stage.env).stdout
    assert shown.count("unknown: its cluster") == 25, "one that may be behind is listed"
    assert "?/" in shown
    one = ("show", "shard/terraform-users/app-sre", "--bundle", BUNDLE)
    shown = tidegate(*one, *nowhere, cwd=stage.folder, env=stage.env).stdout
    assert "  runs       ?\n" in shown


def test_a_worker_moves_an_image_of_the_bundle_when_it_is_asked_to_act(stage: Stage) -> None:
    """From the outside: `run --fleet bundle` observes, and with --act it moves the canary."""
    bundle = stage.folder / "edited"
    subprocess.run(["cp", "-r", BUNDLE, str(bundle)], check=True)
    file = bundle / "integrations/terraform-users.yml"
    file.write_text(file.read_text().replace("ed21267", "newer12"))
    settings = bundle / "app-interface/settings.yml"
    settings.write_text(settings.read_text().replace("30m", "1s"))
    partition = "integrations/terraform-users@appsrep05ue1.app-interface-production-int"
    flags = ("--fleet", "bundle", "--bundle", str(bundle), "--act", partition)
    worker = Forked[bytes](
        [*TIDEGATE, "run", *flags, "--resync", "1s"],
        cwd=stage.folder,
        env=stage.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while True:
            listed = stage.run("get", "shards", str(bundle), *USERS, "-o", "json")
            runs = {each["shard"]: each["runs"] for each in json.loads(listed)["items"]}
            if runs["terraform-users/app-sre-stage"] == "newer12":
                break
            assert time.monotonic() < end, runs
            time.sleep(0.5)
        assert runs["terraform-users/ter-int-dev"] == "f929a38"
        why = stage.run("why", "shard/terraform-users/app-sre")
        assert "rules: app-interface/settings.yml:" in why
        held = [e for e in json.loads(listed)["items"] if e["runs"] == "ed21267"]
        assert all("stays on ed21267 until rollout" in str(each["note"]) for each in held)
    finally:
        worker.terminate()
        worker.wait(PATIENCE_S)
