"""What a promotion costs in a large bundle: places found, lines rewritten, read again, committed.

The bundle has so many files and every place of an app-interface among them. The peer does what the
script of such a bundle does: a working tree, the old commit replaced by the new one wherever it
stands (`git grep`, then by text), `git commit -a`, the working tree removed; it checks nothing. CPU
time is that of this process and of every git that it started.
"""

import tempfile
from collections.abc import Callable
from itertools import count as counting
from pathlib import Path

import msgspec

from bench.commit import SIZES, Spent, bare_repository, git, spent
from bench.table import Report, count, draw, figure, times
from bench.timing import Effort
from tidegate.git.client.repository import open_repository
from tidegate.kinds.promotions.files.declared import promotions
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.versions import find_versions, rewritten

OLD, NEW = "0" * 33 + "abcdef0", "1" * 33 + "abcdef1"
_SAAS = """$schema: /app-sre/saas-file-2.yml
labels: {{}}
name: {name}
resourceTemplates:
- name: it
  url: https://git.example.com/app-sre/qontract-reconcile
  path: /openshift/it.yaml
  targets:
  - {{name: in-production, namespace: {{$ref: /n.yml}}, ref: {old}}}
"""
PLACES = {
    ".env": f"export RECONCILE_IMAGE_TAG={OLD[:7]}\n",
    "resources/jenkins/global/defaults.yaml": f"- qontract_reconcile_image_tag: '{OLD[:7]}'\n",
    "shared-resources/pipelines.yml": f"x:\n  qontract_reconcile_image_tag: '{OLD[:7]}'\n",
    "cicd/manager.yml": _SAAS.format(name="saas-qontract-manager-int", old=OLD),
    "cicd/dashboards.yml": _SAAS.format(name="saas-qontract-dashboards", old=OLD),
}


class Row(msgspec.Struct, frozen=True):
    """One promotion in one repository; milliseconds."""

    files: int
    places: int
    plan_ms: float
    commit_ms: float
    peer_ms: float
    ratio: float
    wall_ms: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure at every size."""
    rows = []
    for size in (size for size in SIZES if size <= effort.sizes[-1]):
        with tempfile.TemporaryDirectory() as folder:
            say(f"promotion: {size:,} files")
            rows.append(_measured(bare_repository(Path(folder), size, PLACES), size, effort.passes))
    return Report(rows, [_table(rows)])


def _measured(bare: Path, size: int, passes: int) -> Row:
    numbers = counting()
    plan = commit = peer = Spent(float("inf"), float("inf"))
    for _ in range(passes):
        made: dict[str, bytes | None] = {}
        plan = _least(plan, spent(lambda made=made: made.update(_plan(bare))))  # type: ignore[misc]
        new = f"ours-{next(numbers)}"
        commit = _least(
            commit,
            spent(lambda made=made, new=new: _commit(bare, new, made)),  # type: ignore[misc]
        )
        changed = git(bare, "diff", "--name-only", "main", new).split()
        assert sorted(changed) == sorted(PLACES), changed
        theirs = f"peer-{next(numbers)}"
        peer = _least(peer, spent(lambda theirs=theirs: _peer(bare, theirs)))  # type: ignore[misc]
    ours = plan.cpu_ms + commit.cpu_ms
    return Row(
        files=size,
        places=len(PLACES),
        plan_ms=plan.cpu_ms,
        commit_ms=commit.cpu_ms,
        peer_ms=peer.cpu_ms,
        ratio=peer.cpu_ms / ours,
        wall_ms=plan.wall_ms + commit.wall_ms,
    )


def _least(one: Spent, other: Spent) -> Spent:
    return Spent(min(one.cpu_ms, other.cpu_ms), min(one.wall_ms, other.wall_ms))


def _plan(bare: Path) -> dict[str, bytes]:
    repository = open_repository(bare)
    files = Files(repository, repository.tip())
    (promotion,) = promotions(files)
    found = find_versions(files, promotion)
    versions = {each.name: NEW for each in promotion.environments}
    return {path: each.data for path, each in rewritten(files, found.spots, versions).items()}


def _commit(bare: Path, new: str, files: dict[str, bytes | None]) -> None:
    repository = open_repository(bare)
    repository.commit(new, repository.tip(), files, "promote\n")


def _peer(bare: Path, new: str) -> None:
    work = bare.parent / "tree"
    git(bare, "worktree", "add", "-q", "-b", new, str(work), "main")
    for path in git(work, "grep", "-lzF", "-e", OLD[:7]).split("\0")[:-1]:
        text = (work / path).read_text(encoding="utf-8")
        text = text.replace(OLD, NEW).replace(OLD[:7], NEW[:7])
        (work / path).write_text(text, encoding="utf-8")
    git(work, "commit", "-q", "-a", "-m", "change")
    git(bare, "worktree", "remove", "--force", str(work))


def _table(rows: list[Row]) -> str:
    heads = ("FILES", "PLACES", "PLAN", "COMMIT", "PEER", "RATIO", "WALL")
    lines = [
        (
            count(row.files),
            count(row.places),
            figure(row.plan_ms),
            figure(row.commit_ms),
            figure(row.peer_ms),
            times(row.ratio),
            figure(row.wall_ms),
        )
        for row in rows
    ]
    return draw("A promotion, ms, beside a script with a working tree", heads, lines)
