"""Makes real Git repositories to try promotions with: what is deployed, and where it is declared.

    python examples/promotion.py play     writes play/qontract-reconcile.git, play/app-interface.git
                                          and play/app-interface, a clone to work in

The bundle is examples/app-interface laid out as an app-interface is, with every place a version is
written in. All people in it are invented, and every run makes the same commits.
"""

import os
import subprocess
import sys
from pathlib import Path

import app_interface

REPOSITORY = "https://git.example.com/app-sre/qontract-reconcile"
ANN, BEN, KIM = (
    f"{name} <{name.split()[0].lower()}@example.com>"
    for name in ("Ann Archer", "Ben Blake", "Kim Klein")
)
# Who did what when to the integrations; production runs the first of them.
HISTORY = (
    (ANN, "2026-11-02T09:10:00+00:00", "terraform-resources: plan before apply"),
    (BEN, "2026-11-09T15:42:00+00:00", "openshift-resources: retry on 429"),
    (KIM, "2026-11-12T08:05:00+00:00", "aws-iam-keys: rotate in order"),
    (ANN, "2026-11-12T11:30:00+00:00", "terraform-resources: drop a needless refresh"),
    (BEN, "2026-11-13T13:20:00+00:00", "ocm: read labels in pages"),
)
ENV = """# What the check of a merge request runs.
export RECONCILE_IMAGE=quay.io/app-sre/qontract-reconcile
export RECONCILE_IMAGE_TAG={short}
export SCHEMAS_IMAGE_TAG=5c4e3a1
"""
JENKINS = """- defaults:
    name: global
    qontract_reconcile_image_tag: '{short}'
"""
TEKTON = """---
$schema: /app-sre/shared-resources-1.yml

labels: {{}}
name: {name}
openshiftResources:
- provider: resource-template
  path: /pipelines/openshift-saas-deploy.yml
  variables:
    qontract_reconcile_image_tag: {short}
"""
DASHBOARDS = """---
$schema: /app-sre/saas-file-2.yml

labels: {{}}
name: saas-qontract-dashboards
description: deploys the dashboards
resourceTemplates:
- name: qontract-dashboards
  url: {url}
  path: /dashboards
  targets:
  - namespace:
      $ref: {namespace}
    ref: {version}
"""


def main() -> None:
    """Write everything below a folder that is not there yet."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).absolute()
    if folder.exists():
        sys.exit(f"{folder} is there already; name another, or remove it")
    folder.mkdir(parents=True)
    versions = make_source(folder / "qontract-reconcile")
    bare = make_bundle(folder / "app-interface", versions[0], versions[-1])
    (folder / "app-interface" / "tidegate.yaml").write_text(
        f"source: {(folder / 'qontract-reconcile.git').resolve()}\n", encoding="utf-8"
    )
    print(f"{folder}/app-interface is a clone of {bare}; try: cd {folder}/app-interface")


def make_source(folder: Path) -> list[str]:
    """The repository of what is deployed, beside a bare one like a forge's; its commits."""
    git(folder.parent, "init", "-q", "-b", "master", str(folder))
    versions = []
    for number, (author, at, subject) in enumerate(HISTORY):
        (folder / f"change-{number}.md").write_text(f"{subject}\n", encoding="utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", subject, author=author, at=at)
        versions.append(git(folder, "rev-parse", "HEAD"))
    bare = folder.with_suffix(".git")
    git(folder.parent, "clone", "-q", "--bare", str(folder), str(bare))
    follow(folder, bare, "master", ANN)
    return versions


def make_bundle(folder: Path, production: str, stage: str) -> Path:
    """The bundle in a bare repository, and a clone of it."""
    for path, text in bundle_files(production, stage):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "everything", author=KIM, at="2026-11-10T10:00:00+00:00")
    bare = folder.with_suffix(".git")
    git(folder.parent, "clone", "-q", "--bare", str(folder), str(bare))
    follow(folder, bare, "main", ANN)
    (folder / ".git" / "info" / "exclude").write_text("tidegate.yaml\ntidegate.db*\n")
    return bare


def follow(folder: Path, bare: Path, branch: str, author: str) -> None:
    """Make a folder a clone of a bare repository, in which one person works."""
    git(folder, "remote", "add", "origin", str(bare.resolve()))
    git(folder, "fetch", "-q", "origin")
    git(folder, "remote", "set-head", "origin", branch)
    git(folder, "branch", "-q", f"--set-upstream-to=origin/{branch}", branch)
    name, _, email = author.rstrip(">").partition(" <")
    git(folder, "config", "user.name", name)
    git(folder, "config", "user.email", email)


def bundle_files(production: str, stage: str) -> list[tuple[str, str]]:
    """Every file: what the example has, below `data`, and the places beside it."""
    found = []
    for path, text in app_interface.files():
        # In production whatever names no image runs what the manager is deployed at.
        text = text.replace("ed2126700112233445566778899aabbccddeeff0", production)
        text = text.replace(f"    imageRef: {app_interface.STABLE}\n", "")
        text = text.replace(app_interface.STAGED, stage[:7])
        found.append((f"data{path}", f"---\n{text.strip()}\n"))
    short, shared = production[:7], "data/services/{}/shared-resources/pipelines.yml"
    where = {"url": REPOSITORY, "namespace": app_interface.PRODUCTION, "version": production}
    found += [
        (".env", ENV.format(short=short)),
        ("resources/jenkins/global/defaults.yaml", JENKINS.format(short=short)),
        ("data/services/app-interface/cicd/saas-qontract-dashboards.yaml",
         DASHBOARDS.format(**where)),
    ]  # fmt: skip
    for team in ("app-interface", "data-hub"):
        found.append((shared.format(team), TEKTON.format(name=team, short=short)))
    return found


def git(folder: Path, *arguments: str, author: str = KIM, at: str = "") -> str:
    """What git prints; the same commits for every user."""
    name, _, email = author.rstrip(">").partition(" <")
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", name), ("EMAIL", email), ("DATE", at))
        if value
    }
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **who, **plain},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
