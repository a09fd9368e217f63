"""An app-interface with every place and every trap, and the repository of what it deploys.

The artifact's history is `first … newest` by several people, with one commit whose short name reads
as a number and one on a branch of its own. The bundle is laid out as an app-interface is: `data`,
`resources` and `.env` at the root.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.command import tidegate
from tests.git_repos import ADA, BOB, clone, commit, copied, git, remote

CLEO = ("Cleo", "cleo@example.com")
REPOSITORY = "https://git.example.com/app-sre/qontract-reconcile"
SAAS = "data/services/app-interface/cicd/ci-int/saas-qontract-manager-int.yaml"
DASHBOARDS = "data/services/app-interface/cicd/ci-ext/saas-qontract-dashboards.yaml"
TARGET = "data/services/app-interface/cicd/ci-ext/dashboards-production.yml"
JENKINS = "resources/jenkins/global/defaults.yaml"
TEKTON = "data/services/app-interface/shared-resources/pipelines.yml"
MORE_TEKTON = "data/services/other-team/shared-resources/tekton.yaml"


class Source(msgspec.Struct, frozen=True):
    """The artifact's repository: a bare one, and the commits that matter."""

    bare: Path
    first: str
    second: str
    # Its short name has digits alone.
    numeric: str
    newest: str
    # Not on the branch.
    aside: str


def make_source(folder: Path) -> Source:
    """Commits by three people over some days; the same each time."""
    copied(folder, _make_source)
    names = (folder / "names").read_text().split()
    return Source(folder / "remote.git", *names)


def _make_source(folder: Path) -> None:
    # The same commits each time: by chance one may read as a number.
    bare = remote(folder, {"README": "reconcile\n"}, at="2026-11-01T08:00:00Z")
    seed = clone(bare, folder / "work")
    first = commit(seed, {"a": "1"}, "begin", at="2026-11-01T09:00:00Z")
    second = commit(seed, {"b": "2"}, "mend the thing", BOB, at="2026-11-02T09:00:00Z")
    git(seed, "checkout", "-q", "-b", "aside")
    aside = commit(seed, {"x": "1"}, "try another thing", CLEO, at="2026-11-02T10:00:00Z")
    git(seed, "checkout", "-q", "main")
    numeric = _numeric(seed)
    commit(seed, {"c": "3"}, "faster\n\nCo-authored-by: Bob <bob@example.com>", CLEO,
        at="2026-11-04T09:00:00Z")  # fmt: skip
    newest = commit(seed, {"d": "4"}, "log less", ADA, at="2026-11-05T09:00:00Z")
    git(seed, "push", "-q", "origin", "main", "aside")
    (folder / "names").write_text(" ".join((first, second, numeric, newest, aside)))


def _numeric(seed: Path) -> str:
    """One more commit on the branch, whose name begins with seven digits."""
    tree, parent = git(seed, "rev-parse", "HEAD^{tree}"), git(seed, "rev-parse", "HEAD")
    who = "Bob <bob@example.com> 1793696400 +0000"
    for number in range(10_000):
        body = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nnumber {number}\n"
        named = hashlib.sha1(b"commit %d\0" % len(body) + body.encode(), usedforsecurity=False)
        if named.hexdigest()[:7].isdigit():
            (seed / ".git" / "made").write_text(body)
            made = git(seed, "hash-object", "-t", "commit", "-w", str(seed / ".git" / "made"))
            git(seed, "reset", "-q", "--hard", made)
            return made
    raise AssertionError("no number found")


def bundle_files(source: Source) -> dict[str, str | bytes]:
    """Every place, each with a trap in it; all at the first commit but one."""
    old, short = source.first, source.first[:7]
    return {
        ".env": (
            "# versions\nexport RECONCILE_IMAGE=quay.io/app-sre/qontract-reconcile\n"
            f"export RECONCILE_IMAGE_TAG={short} # moved by promotions\n"
            "export SCHEMAS_IMAGE_TAG=aaaaaaa\n"
        ),
        JENKINS: (
            f"- defaults:\r\n    name: global\r\n    qontract_reconcile_image_tag: '{short}'\r\n"
        ),
        TEKTON: (
            "$schema: /app-sre/shared-resources-1.yml\nlabels: {}\nopenshiftResources:\n"
            f"- {{provider: template, variables: {{qontract_reconcile_image_tag: {short}}}}}\n"
            "- provider: template\n"
            "  variables:\n"
            f'      qontract_reconcile_image_tag:   "{source.second[:7]}"   # ahead of the rest\n'
        ),
        MORE_TEKTON: (
            "$schema: /app-sre/shared-resources-1.yml\nvariables:\n"
            f"  qontract_reconcile_image_tag: &tag {short}\n"
            "  also:\n    qontract_reconcile_image_tag: *tag\n"
        ),
        SAAS: f"""---
$schema: /app-sre/saas-file-2.yml

labels: {{}}
name: saas-qontract-manager-int
description: deploys the manager
resourceTemplates:
- name: qontract-manager
  url: {REPOSITORY}
  path: /openshift/qontract-manager.yaml
  targets:
  - namespace:
      $ref: /services/stage.yml
    ref: master
  - namespace:
      $ref: /services/production.yml
    ref: {old}
- name: something-else
  url: https://git.example.com/app-sre/other
  path: /openshift/other.yaml
  targets:
  - namespace: {{$ref: /services/production.yml}}
    ref: {"f" * 40}
""",
        DASHBOARDS: f"""---
$schema: /app-sre/saas-file-2.yml
labels: {{}}
name: saas-qontract-dashboards
description: dashboards
resourceTemplates:
- name: dashboards
  url: {REPOSITORY}
  path: /dashboards
  targets:
  - $ref: /services/app-interface/cicd/ci-ext/dashboards-production.yml
""",
        TARGET: (
            "$schema: /app-sre/saas-file-target-1.yml\nlabels: {}\nname: dashboards-production\n"
            f"namespace: {{$ref: /services/production.yml}}\nref: {old}\n"
        ),
        **{
            f"data/services/{name}.yml": f"""---
$schema: /openshift/namespace-1.yml
labels: {{}}
name: app-interface-{name}
description: here
cluster: {{$ref: /clusters/one.yml}}
environment: {{$ref: /environments/{name}.yml}}
"""
            for name in ("stage", "production")
        },
        **{
            f"data/environments/{name}.yml": f"""---
$schema: /app-sre/environment-1.yml
labels: {{}}
name: app-interface-{name}
description: it
servicePhase: {name[:5] if name == "stage" else name[:4]}
"""
            for name in ("stage", "production")
        },
        "data/clusters/one.yml": "$schema: /openshift/cluster-1.yml\nlabels: {}\nname: one\n"
        "description: one\nserverUrl: https://one.example.com\n",
        "data/aws/a.yml": "$schema: /aws/account-1.yml\nlabels: {}\nname: a\ndescription: a\n",
        "data/aws/b.yml": "$schema: /aws/account-1.yml\nlabels: {}\nname: b\ndescription: b\n",
        "data/integrations/terraform.yml": f"""---
$schema: /app-sre/integration-1.yml
labels: {{}}
name: terraform
description: it
upstream: {REPOSITORY}
schemas: []
managed:
- namespace: {{$ref: /services/production.yml}}
  spec:
    resources: {{requests: {{cpu: 100m, memory: 1Gi}}, limits: {{memory: 1Gi}}}}
  sharding:
    strategy: per-aws-account
    shardSpecOverrides:
    - shard: {{$ref: /aws/b.yml}}
      imageRef: {source.second[:7]}
""",
        "docs/notes.md": "qontract_reconcile_image_tag: is what everybody searches for\n",
    }


def make_bundle(folder: Path, source: Source) -> tuple[Path, Path]:
    """The bundle's bare repository, and a person's clone of it."""
    copied(folder, _bundle_of(msgspec.structs.replace(source, bare=Path())))
    return folder / "remote.git", folder / "clone"


@cache
def _bundle_of(source: Source) -> Callable[[Path], None]:
    """What makes a bundle with the commits of a source, wherever that is."""

    def make(folder: Path) -> None:
        clone(remote(folder, bundle_files(source)), folder / "clone")

    return make


class Play:
    """A person's clone of a bundle, the repository of what it deploys, and the command."""

    def __init__(self, folder: Path, source: Source) -> None:
        self.source = source
        self.bare, self.clone = make_bundle(folder, source)
        (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
        self.env = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
            "TIDEGATE_SOURCE": str(source.bare),
            "TIDEGATE_DATABASE": str(folder / "tidegate.db"),
            "PYTHONWARNINGS": "error",
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What the command says."""
        return tidegate(*arguments, cwd=self.clone, env=self.env)

    def told(self, *arguments: str, code: int = 0) -> Any:
        """The same as data."""
        done = self.run(*arguments, "-o", "json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def promote(self, *arguments: str, code: int = 0) -> Any:
        """A promotion as data, without a registry."""
        return self.told("promote", "--no-registry-check", *arguments, code=code)

    def edit(self, files: dict[str, str], message: str = "edit") -> str:
        """A person's change of the bundle, merged."""
        made = commit(self.clone, files, message)
        git(self.clone, "push", "-q", "origin", "HEAD:main")
        return made
