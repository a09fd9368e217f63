"""What a change of a bundle in Git costs: the files found that hold a text, read, and committed.

*one* changes one file, *tenth* the files that hold a ref, a tenth of all. Both sides start from a
bare repository and end with a branch in it. The peer does what a script does: a working tree, `git
grep`, the files written, `git commit -a`, the working tree removed. Ours has no working tree. CPU
time is that of this process and of every git that it started; WALL is what a user waits.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import count as counting
from pathlib import Path

import msgspec

from bench.bundle_files import SHA, write_bundle
from bench.table import Report, count, draw, figure, times
from bench.timing import Effort, children_s
from tidegate.git.client.repository import open_repository

SIZES = (100, 1_000, 10_000)
ROUNDS = 3
# What is looked for and replaced: in one file, or in all saas files.
TEXTS = {"one": b"saas-00007\n", "tenth": SHA.encode()}
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")


class Row(msgspec.Struct, frozen=True):
    """One change in one repository."""

    files: int
    change: str
    changed: int
    peer_ms: float
    ours_ms: float
    ratio: float
    peer_wall_ms: float
    ours_wall_ms: float


class Spent(msgspec.Struct, frozen=True):
    """Milliseconds, of CPU and of waiting."""

    cpu_ms: float
    wall_ms: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure both changes at every size, the largest less often: its working tree takes long."""
    rows = []
    for size in (size for size in SIZES if size <= effort.sizes[-1]):
        with tempfile.TemporaryDirectory() as folder:
            say(f"commit: {size:,} files, written")
            bare = bare_repository(Path(folder), size)
            for change in TEXTS:
                say(f"commit: {size:,} files, {change}")
                rounds = 1 if effort.smoke or size == SIZES[-1] else ROUNDS
                rows.append(_measured(bare, size, change, effort.passes * rounds))
    return Report(rows, [_table(rows)])


def bare_repository(folder: Path, size: int, more: Mapping[str, str] | None = None) -> Path:
    """A bare repository with so many files on `main`."""
    work, bare = folder / "work", folder / "bare.git"
    write_bundle(work, size)
    for path, text in (more or {}).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
    git(folder, "-c", "init.defaultBranch=main", "init", "-q", str(work))
    git(work, "add", "-A")
    git(work, *_WHO, "commit", "-q", "-m", "first")
    git(folder, "clone", "-q", "--bare", str(work), str(bare))
    # No measurement includes the clean-up of another.
    for name, value in (("gc.auto", "0"), ("user.name", "b"), ("user.email", "b@example.com")):
        git(bare, "config", name, value)
    git(bare, "remote", "remove", "origin")
    shutil.rmtree(work)
    return bare


def _measured(bare: Path, size: int, change: str, rounds: int) -> Row:
    best: dict[str, Spent] = {}
    text, numbers = TEXTS[change], counting()
    for _ in range(rounds):
        for name, work in (("peer", _peer), ("ours", _ours)):
            # No two rounds make the same change, so none finds it done.
            new = f"{change}-{name}-{next(numbers)}"
            took = spent(lambda work=work, new=new: work(bare, text, new))  # type: ignore[misc]
            known = best.get(name, took)
            cpu, wall = min(took.cpu_ms, known.cpu_ms), min(took.wall_ms, known.wall_ms)
            best[name] = Spent(cpu, wall)
            changed = git(bare, "diff", "--name-only", "main", new).count("\n")
            assert changed == (1 if change == "one" else size // 10), f"{name} changed {changed}"
    return Row(
        files=size,
        change=change,
        changed=changed,
        peer_ms=best["peer"].cpu_ms,
        ours_ms=best["ours"].cpu_ms,
        ratio=best["peer"].cpu_ms / best["ours"].cpu_ms,
        peer_wall_ms=best["peer"].wall_ms,
        ours_wall_ms=best["ours"].wall_ms,
    )


def spent(work: Callable[[], None]) -> Spent:
    """What a piece of work takes, with every process it starts."""
    cpu, started_at = time.process_time() + children_s(), time.perf_counter()
    work()
    wall = time.perf_counter() - started_at
    return Spent(1000 * (time.process_time() + children_s() - cpu), 1000 * wall)


def _ours(bare: Path, text: bytes, new: str) -> None:
    repository = open_repository(bare)
    base = repository.tip()
    paths = repository.holding(base, text.decode().strip())
    files: dict[str, bytes | None] = {
        path: content.replace(text, _instead(text, new))
        for path, content in repository.read(base, paths)
    }
    repository.commit(new, base, files, "change\n")


def _peer(bare: Path, text: bytes, new: str) -> None:
    work = bare.parent / "tree"
    git(bare, "worktree", "add", "-q", "-b", new, str(work), "main")
    for path in git(work, "grep", "-lzF", "-e", text.decode().strip()).split("\0")[:-1]:
        place = work / path
        place.write_bytes(place.read_bytes().replace(text, _instead(text, new)))
    git(work, "commit", "-q", "-a", "-m", "change")
    git(bare, "worktree", "remove", "--force", str(work))


def _instead(text: bytes, new: str) -> bytes:
    return new.encode() + b"\n" * text.endswith(b"\n")


def git(folder: Path, *arguments: str) -> str:
    """What git says."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _table(rows: list[Row]) -> str:
    heads = ("FILES", "CHANGE", "CHANGED", "PEER", "OURS", "RATIO", "PEER WALL", "OURS WALL")
    lines = [
        (
            count(row.files),
            row.change,
            count(row.changed),
            figure(row.peer_ms),
            figure(row.ours_ms),
            times(row.ratio),
            figure(row.peer_wall_ms),
            figure(row.ours_wall_ms),
        )
        for row in rows
    ]
    title = "A change of a bundle in a bare repository, ms, beside git with a working tree"
    return draw(title, heads, lines)
