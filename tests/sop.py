"""The instructions for promoting one shard first, acted out word for word, on whatever clusters.

Pin all but one; look at the logs of the merge request; promote as usual; look again; merge,
and see on the cluster that the pinned ones run what they ran; unpin all.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.command import tidegate
from tests.git_repos import git

ROOT = Path(__file__).parents[1]
INTEGRATION, ALONE = "terraform-resources", "ter-int-dev"
ENVIRONMENT, CLUSTER = "app-interface-production", "appsrep05ue1"
NAMESPACE = "app-interface-production-int"
PATIENCE_S = 120.0
# What stands in for an integration: it says which image it is, and what it would do.
RUNNER = "printf 'image %s\\nwould apply\\n' {image}"

# From the name of a pod's workload to the tag it runs, and what tells one pod from another.
Pods = Callable[[], Mapping[str, tuple[str, str]]]


class Team:
    """A person who promotes, their clone, and the command."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        play = folder / "play"
        script = [sys.executable, str(ROOT / "examples/promotion.py"), str(play)]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
        self.clone = play / "app-interface"
        self.logs = folder / "logs"
        own = {name: value for name, value in os.environ.items() if "TIDEGATE" not in name}
        self._env = {**own, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder), **env}
        # The instructions know no groups: whatever is merged is applied.
        settings = self.clone / "data/app-interface/settings.yml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text[: text.index("rollout:")], encoding="utf-8")
        git(self.clone, "commit", "-qam", "no groups")
        git(self.clone, "push", "-q", "origin", "HEAD:main")

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints."""
        done = tidegate(*arguments, cwd=self.clone, env=self._env)
        said = f"tidegate {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == code, said
        return done.stdout

    def data(self, *arguments: str, code: int = 0) -> Any:
        """The same for programs."""
        return json.loads(self.run(*arguments, "-o", "json", code=code))

    def offered(self, *arguments: str) -> str:
        """The branch of the merge request that a command opens."""
        told = self.run(*arguments, "--open-mr", "--yes")
        return next(each.split()[1].rstrip(":") for each in told.splitlines() if "pushed" in each)

    def checked(self, branch: str) -> set[str]:
        """The logs that the check of a merge request leaves."""
        git(self.clone, "fetch", "-q", "origin")
        folder = self.logs / branch.rpartition("/")[2]
        self.run(
            *("check", "--base", "origin/main", "--head", f"origin/{branch}"),
            *("--command", RUNNER, "--logs", str(folder)),
        )
        return {each.name for each in folder.iterdir()}

    def merge(self, branch: str) -> None:
        """A person approves and merges."""
        git(self.clone, "fetch", "-q", "origin")
        git(self.clone, "merge", "-q", "--no-edit", f"origin/{branch}")
        git(self.clone, "push", "-q", "origin", "HEAD:main")

    def apply(self) -> None:
        """What is merged is put on the cluster."""
        self.run("apply", *THERE, "--yes")


THERE = ("--integration", INTEGRATION, "--cluster", CLUSTER)


def act_out(team: Team, pods: Pods) -> None:
    """All steps; `pods` waits until every pod that is there is ready."""
    old = git(team.clone, "show", "origin/main:.env").partition("IMAGE_TAG=")[2][:7]
    team.apply()
    before = pods()
    assert {tag for tag, _ in before.values()} == {old}
    assert len(before) == 25

    pin = team.offered(
        *("pin", INTEGRATION, "--all-except", ALONE, "--environment", ENVIRONMENT),
        *("--reason", "one first"),
    )
    assert f"reconcile-{INTEGRATION}_{old}.txt" in team.checked(pin)
    team.merge(pin)
    team.apply()
    assert pods() == before, "pinning what runs restarts nobody"

    promotion = team.offered("promote", "--to", "manager", "--no-registry-check")
    new = git(team.clone, "log", "-1", "--format=%b", f"origin/{promotion}").split()[1][:7]
    assert f"reconcile-{INTEGRATION}_{new}.txt" in team.checked(promotion)
    team.merge(promotion)
    team.run("verify", *THERE, code=3)
    team.apply()
    team.run("verify", *THERE, "--wait", "--timeout", "60s")
    after = pods()
    moved = {name for name in after if after[name] != before[name]}
    assert {name.rpartition(f"{INTEGRATION}-")[2] for name in moved} == {ALONE}
    assert {after[name][0] for name in moved} == {new}

    unpin = team.offered(
        "unpin", INTEGRATION, "--all", "--environment", ENVIRONMENT, "--reason", "it works"
    )
    team.merge(unpin)
    team.run("verify", *THERE, code=3)
    team.apply()
    team.run("verify", *THERE, "--wait", "--timeout", "60s")
    assert {tag for tag, _ in pods().values()} == {new}
