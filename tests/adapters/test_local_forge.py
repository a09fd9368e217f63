"""A forge inside a repository: by which paths, who wins, and what it refuses."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.test_forge import proposal
from tests.forge.bare import bare_repository, commit, git, tip
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import CheckStatus, RequestState, StatusState
from tidegate.model.errors import OutsideError, UserError
from tidegate.wiring import forges

# Another process, which opens merge requests of branches of its own and says something on each.
WRITER = """
import asyncio, sys
from pathlib import Path
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import Proposal

async def main(folder, who):
    forge = LocalForge(Path(folder))
    for i in range(4):
        words = {"title": f"{who} {i}", "description": "", "target": "main"}
        made = await forge.open(Proposal(source=f"{who}-{i}", **words))
        await forge.comment(made.number, "said", who)
        await forge.comment(1, who, f"here too {i}")

asyncio.run(main(*sys.argv[1:]))
"""


def test_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """Three write at once, to the same merge request too; all of it is there afterwards."""
    bare = bare_repository(tmp_path / "a.git")
    names = ("one", "two", "three")
    for branch in ("shared", *(f"{name}-{i}" for name in names for i in range(4))):
        commit(bare, branch, {"a.yml": f"a: {branch}\n"}, onto="main")
    forge = LocalForge(bare)
    shared = asyncio.run(forge.open(proposal("shared")))
    assert shared.number == 1
    command = [sys.executable, "-c", WRITER, str(bare)]
    writers = [subprocess.Popen([*command, name]) for name in names]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    found = asyncio.run(forge.find())
    assert sorted(each.number for each in found) == list(range(1, 14))
    assert {each.title for each in found[:-1]} == {f"{n} {i}" for n in names for i in range(4)}
    said = asyncio.run(forge.comments(1))
    assert sorted(said) == sorted(f"<!-- tidegate:{name} -->\nhere too 3" for name in names)
    for each in found:
        ref = f"refs/merge-requests/{each.number}/head"
        assert git(bare, "rev-parse", ref) == each.head == tip(bare, each.source)


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_path_is_a_forge(form: str, tmp_path: Path) -> None:
    """By the path, or as an address; it is known by its number from then on."""
    bare = bare_repository(tmp_path / "a b.git")
    commit(bare, "promote-1", {"a.yml": "a: 2\n"}, onto="main")
    forge = forges.forge(form.format(bare))
    made = asyncio.run(forge.open(proposal()))
    assert made.url == f"{bare.as_uri()}#1"


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    """Also a folder in a repository, which git would take for the whole."""
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "below").mkdir()
    for folder in (tmp_path / "below", tmp_path / "nowhere"):
        with pytest.raises(OutsideError, match=f"{folder.name} is not a repository"):
            asyncio.run(LocalForge(folder).find())
    assert asyncio.run(LocalForge(tmp_path).find()) == ()


def test_a_merge_that_conflicts_changes_nothing(tmp_path: Path) -> None:
    """Both sides stay, and the request is open."""
    bare = bare_repository(tmp_path / "a.git")
    commit(bare, "promote-1", {"a.yml": "a: 2\n"}, onto="main")
    base = commit(bare, "main", {"a.yml": "a: 3\n"}, onto="main")
    forge = LocalForge(bare)
    asyncio.run(forge.open(proposal()))
    with pytest.raises(OutsideError, match="promote-1 does not merge into main: they conflict"):
        asyncio.run(forge.merge(1))
    assert tip(bare, "main") == base
    assert [each.state for each in asyncio.run(forge.find())] == [RequestState.OPEN]


def test_what_is_over_is_over(tmp_path: Path) -> None:
    """A merged or closed request is not merged, not closed again, not given other words."""
    bare = bare_repository(tmp_path / "a.git")
    forge = LocalForge(bare)
    for i in (1, 2):
        commit(bare, f"promote-{i}", {f"{i}.yml": "a: 2\n"}, onto="main")
        asyncio.run(forge.open(proposal(f"promote-{i}")))
    asyncio.run(forge.merge(1))
    asyncio.run(forge.decline(2))
    for number, state in ((1, "merged"), (2, "closed")):
        with pytest.raises(OutsideError, match=f"merge request {number} is {state}, not open"):
            asyncio.run(forge.merge(number))
        with pytest.raises(OutsideError, match=f"merge request {number} is {state}, not open"):
            asyncio.run(forge.update(number, proposal()))
        assert asyncio.run(forge.decline(number)).state.value == state
    with pytest.raises(UserError, match="no merge request 3"):
        asyncio.run(forge.merge(3))


def test_a_repository_a_person_works_in_is_not_merged_into(tmp_path: Path) -> None:
    """Its files would not follow."""
    bare = bare_repository(tmp_path / "a.git")
    commit(bare, "promote-1", {"a.yml": "a: 2\n"}, onto="main")
    git(tmp_path, "clone", "-q", str(bare), "work")
    git(tmp_path / "work", "branch", "promote-1", "origin/promote-1")
    forge = LocalForge(tmp_path / "work")
    made = asyncio.run(forge.open(proposal()))
    with pytest.raises(OutsideError, match="is not bare"):
        asyncio.run(forge.merge(made.number))


def test_what_was_done_can_be_read_with_git(tmp_path: Path) -> None:
    """One line a change, the newest first; telling the same again is none."""
    bare = bare_repository(tmp_path / "a.git")
    sha = commit(bare, "promote-1", {"a.yml": "a: 2\n"}, onto="main")
    forge = LocalForge(bare)
    for _ in range(2):
        asyncio.run(forge.open(proposal()))
        asyncio.run(forge.comment(1, "preview", "x"))
        asyncio.run(
            forge.status(sha, CheckStatus(name="check", state=StatusState.SUCCESS, text=""))
        )
    asyncio.run(forge.merge(1))
    told = git(bare, "log", "--format=%s", "refs/tidegate/forge").splitlines()
    assert told == ["merge 1", f"check of {sha[:12]} is success", "comment on 1", "open promote-1"]


def test_a_forge_that_was_read_before_says_what_a_new_one_says(tmp_path: Path) -> None:
    """What it keeps is never in the way of what others do, by a forge or by git alone."""
    bare = bare_repository(tmp_path / "a.git")
    for i in (1, 2, 3):
        commit(bare, f"promote-{i}", {f"{i}.yml": "a: 2\n"}, onto="main")
    old, other = LocalForge(bare), LocalForge(bare)
    green = CheckStatus(name="check", state=StatusState.SUCCESS, text="")
    red = CheckStatus(name="check", state=StatusState.FAILURE, text="")
    steps: list[Callable[[], object]] = [
        *(lambda i=i: asyncio.run(other.open(proposal(f"promote-{i}"))) for i in (1, 2, 3)),
        lambda: asyncio.run(other.comment(1, "preview", "x")),
        lambda: commit(bare, "promote-1", {"b.yml": "b: 2\n"}, onto="promote-1"),
        lambda: asyncio.run(old.comment(1, "preview", "y")),
        lambda: asyncio.run(other.status(tip(bare, "promote-1"), green)),
        lambda: asyncio.run(other.status(tip(bare, "promote-1"), red)),
        lambda: asyncio.run(other.merge(2)),
        lambda: commit(bare, "main", {"b.yml": "b: 3\n"}, onto="main"),
        lambda: git(bare, "update-ref", "-d", "refs/heads/promote-1"),
        lambda: git(bare, "update-ref", "-d", "refs/merge-requests/1/head"),
        lambda: git(bare, "update-ref", "refs/heads/main", "refs/heads/promote-3"),
        lambda: asyncio.run(other.decline(1)),
    ]
    for step in steps:
        step()
        assert _seen(old, bare) == _seen(LocalForge(bare), bare)
    states = {each.number: each.state.value for each in asyncio.run(old.find(state=None))}
    assert states == {1: "closed", 2: "merged", 3: "merged"}


def _seen(forge: LocalForge, bare: Path) -> object:
    requests = [asyncio.run(forge.get(number)) for number in (1, 2, 3)]
    said = [asyncio.run(forge.comments(each.number)) for each in requests if each is not None]
    return requests, said, asyncio.run(forge.statuses(tip(bare, "promote-1")))


def test_where_nothing_moved_no_process_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service asks all day: what follows from names of commits is not asked for again.

    Refs that cannot be read as files (one leads to another here) take one process.
    """
    bare = bare_repository(tmp_path / "a.git")
    for i in (1, 2):
        commit(bare, f"promote-{i}", {f"{i}.yml": "a: 2\n"}, onto="main")
    forge = LocalForge(bare)
    for i in (1, 2):
        asyncio.run(forge.open(proposal(f"promote-{i}")))
    known = asyncio.run(forge.find()), asyncio.run(forge.get(1))
    started = tmp_path / "started"
    with monkeypatch.context() as traced:
        traced.setenv("GIT_TRACE2_EVENT", str(started))
        assert (asyncio.run(forge.find()), asyncio.run(forge.get(1))) == known
        assert not started.exists()
        git(bare, "symbolic-ref", "refs/heads/master", "refs/heads/main")
        assert (asyncio.run(forge.find()), asyncio.run(forge.get(1))) == known
    assert started.read_text().count('"event":"start"') == 2


def test_a_forge_that_is_gone_has_no_requests_to_tell_of(tmp_path: Path) -> None:
    """A folder that is removed while a service runs is an error, and not a forge without any."""
    bare = bare_repository(tmp_path / "a.git")
    forge = LocalForge(bare)
    assert asyncio.run(forge.find()) == ()
    bare.rename(tmp_path / "b.git")
    with pytest.raises(OutsideError, match="for-each-ref"):
        asyncio.run(forge.find())
