"""A change is offered once: an interrupted, late or second run completes the same one."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.git_repos import BOB, GIT_SETTINGS, clone, commit, git, push_change, remote, tip
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import MergeRequest, Proposal, RequestState
from tidegate.git.client.repository import open_repository
from tidegate.git.port import Repository
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.propose.change import FilesOnCommit, ProposedChange, StepResult, Upto, propose

KEY = "promote-reconcile-to-production"
BRANCH = f"tidegate/{KEY}"
PROPOSAL = Proposal(
    title="promote reconcile to production",
    description="a → b\n\nby @jdoe",
    source=BRANCH,
    target="",
    labels=("promotion",),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the forge has, made once."""
    return remote(tmp_path_factory.mktemp("template"), {"saas.yml": "ref: old\n", "b.yml": "b\n"})


class Site:
    """A bare repository with a forge in it, and people with clones of it."""

    def __init__(self, template: Path, folder: Path) -> None:
        self.folder = folder
        self.bare = Path(shutil.copytree(template, folder / "remote.git"))
        self.forge = LocalForge(self.bare)
        self.people = 0

    def clone(self, who: tuple[str, str] = ("Ada", "ada@example.com")) -> Path:
        """A new clone of a person."""
        self.people += 1
        return clone(self.bare, self.folder / f"clone-{self.people}", who=who)

    def tip(self, branch: str) -> str:
        """What the forge has a branch at."""
        return tip(self.bare, branch)

    def commits(self) -> list[str]:
        """The subjects of what our branch has beyond its target."""
        return git(self.bare, "log", "--format=%s", f"main..{BRANCH}").splitlines()

    def branches(self) -> list[str]:
        """All there are."""
        return git(self.bare, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()

    def requests(self) -> tuple[MergeRequest, ...]:
        """Every merge request there ever was."""
        return asyncio.run(self.forge.find(state=None))

    def is_offered_once(self, content: str = "ref: new") -> None:
        """One branch, one commit, one merge request, as if nothing had happened."""
        assert self.branches() == ["main", BRANCH]
        assert self.commits() == [PROPOSAL.title]
        assert git(self.bare, "show", f"{BRANCH}:saas.yml") == content
        assert git(self.bare, "rev-parse", f"{BRANCH}^") == self.tip("main")
        (request,) = self.requests()
        assert (request.title, request.source, request.target) == (PROPOSAL.title, BRANCH, "main")
        assert (request.head, request.state) == (self.tip(BRANCH), RequestState.OPEN)


@pytest.fixture
def site(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Where settings of the user who runs the tests do not count."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)
    return Site(template, tmp_path)


def new(_: str) -> Mapping[str, bytes | None]:
    """The change of most tests."""
    return {"saas.yml": b"ref: new\n", "b.yml": b"b\n"}


def offer(
    site: Site,
    repository: Any,
    files: FilesOnCommit = new,
    *,
    upto: Upto = Upto.OPEN,
    proposal: Proposal = PROPOSAL,
    forge: Any = None,
    named: bool = False,
) -> ProposedChange:
    """Propose, and wait for it."""
    asked = (repository, forge or site.forge, proposal, files)
    return asyncio.run(propose(*asked, key=KEY, upto=upto, named=named))


class KilledError(BaseException):
    """The process is gone; no one catches it."""


class Watched:
    """Hands every call on; does something before the one of a number."""

    def __init__(self, inner: Any, calls: list[str], at: int, act: Callable[[], None]) -> None:
        self._inner, self._calls, self._at, self._act = inner, calls, at, act

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def called(*arguments: Any, **named: Any) -> Any:
            self._calls.append(name)
            if len(self._calls) == self._at:
                self._act()
            return found(*arguments, **named)

        return called


def killed() -> None:
    raise KilledError


def test_it_goes_as_far_as_it_is_asked_to(site: Site) -> None:
    """A commit here, a branch there, a merge request; each step finds those before."""
    mine = site.clone()
    repository = open_repository(mine)
    first = offer(site, repository, upto=Upto.COMMIT)
    assert (first.committed, first.pushed, first.request) == (
        StepResult.MADE,
        StepResult.NONE,
        None,
    )
    assert (first.paths, first.base) == (("saas.yml",), site.tip("main"))
    assert site.branches() == ["main"]
    second = offer(site, repository, upto=Upto.PUSH)
    assert (second.committed, second.pushed) == (StepResult.FOUND, StepResult.MADE)
    assert second.commit == first.commit == site.tip(BRANCH)
    assert site.requests() == ()
    third = offer(site, repository)
    assert (third.pushed, third.requested) == (StepResult.FOUND, StepResult.MADE)
    again = offer(site, open_repository(site.clone(BOB)))
    assert (again.committed, again.pushed, again.requested) == (StepResult.FOUND,) * 3
    assert again.request == third.request
    assert third.request is not None
    assert third.request.labels == ("promotion",)
    site.is_offered_once()


def test_its_message_says_whose_it_is(site: Site) -> None:
    """The title, and two lines that we know it by."""
    offer(site, open_repository(site.clone()), upto=Upto.PUSH)
    title, empty, proposal, content = git(site.bare, "log", "-1", "--format=%B", BRANCH).split("\n")
    assert (title, empty) == (PROPOSAL.title, "")
    assert proposal == f"Tidegate-Proposal: {KEY}"
    assert content.startswith("Tidegate-Content: ")
    told = git(
        site.bare, "log", "-1", "--format=%(trailers:key=Tidegate-Proposal,valueonly)", BRANCH
    )
    assert told == KEY


def test_a_longer_message_is_found_again(site: Site) -> None:
    """Whatever blank lines it has."""
    repository = open_repository(site.clone())
    message = "promote x\n\n\nVersion 1a2b3c4\n  indented\n\nbecause\n\n\n"
    for outcome in (StepResult.MADE, StepResult.FOUND):
        asked = (repository, None, PROPOSAL, new)
        done = asyncio.run(propose(*asked, key=KEY, upto=Upto.PUSH, message=message))
        assert (done.committed, done.pushed) == (outcome, outcome)
    told = git(site.bare, "log", "-1", "--format=%B", BRANCH)
    assert told.startswith("promote x\n\nVersion 1a2b3c4\n  indented\n\nbecause\n\nTidegate-")


def test_a_change_that_changes_nothing_is_not_proposed(site: Site) -> None:
    """Neither branch nor merge request is made for it."""
    same = offer(
        site, open_repository(site.clone()), lambda _: {"saas.yml": b"ref: old\n", "x": None}
    )
    assert (same.commit, same.paths, same.requested) == ("", (), StepResult.NONE)
    assert site.branches() == ["main"]
    assert site.requests() == ()


def test_an_open_request_is_brought_up_to_date(site: Site) -> None:
    """Its branch is replaced, its words are changed, and there is no second."""
    repository = open_repository(site.clone())
    first = offer(site, repository)
    words = Proposal(
        title=PROPOSAL.title, description="a → c", source=BRANCH, target="main", labels=("urgent",)
    )
    newer = offer(site, repository, lambda _: {"saas.yml": b"ref: newer\n"}, proposal=words)
    assert (newer.pushed, newer.requested) == (StepResult.CHANGED, StepResult.CHANGED)
    assert first.request is not None
    assert newer.request is not None
    assert newer.request.number == first.request.number
    assert newer.request.description == "a → c"
    assert newer.request.labels == ("promotion", "urgent")
    site.is_offered_once("ref: newer")


def test_a_request_of_the_same_title_is_taken_up(site: Site) -> None:
    """From its branch, whatever the branch is called now."""
    offer(site, open_repository(site.clone()))
    renamed = Proposal(
        title=PROPOSAL.title, description="other words", source="tidegate/renamed", target="main"
    )
    done = offer(site, open_repository(site.clone()), proposal=renamed)
    assert (done.branch, done.requested) == (BRANCH, StepResult.CHANGED)
    site.is_offered_once()


def test_a_branch_that_is_named_leads_past_the_work_of_others(site: Site) -> None:
    """Where ours was taken over; as long as it is ours, there is no second request."""
    mine = site.clone()
    repository = open_repository(mine)
    offer(site, repository)
    other = Proposal(title=PROPOSAL.title, description="", source="mine/own", target="main")
    assert offer(site, repository, proposal=other, named=True).branch == BRANCH
    push_change(site.bare, site.folder / "bob", {"b.yml": "fixed\n"}, BRANCH)
    git(mine, "branch", "-D", BRANCH)
    theirs = site.tip(BRANCH)
    with pytest.raises(StaleError, match="name another with --branch"):
        offer(site, repository, proposal=other)
    done = offer(site, repository, proposal=other, named=True)
    assert (done.branch, done.requested) == ("mine/own", StepResult.MADE)
    again = offer(site, repository, proposal=other, named=True)
    assert (again.branch, again.requested) == ("mine/own", StepResult.FOUND)
    assert site.tip(BRANCH) == theirs
    assert {each.source for each in site.requests()} == {BRANCH, "mine/own"}


def test_a_request_into_another_branch_is_another(site: Site) -> None:
    """What goes into `stable` does not stand in the way of what goes into `main`."""
    git(site.bare, "branch", "stable", "main")
    repository = open_repository(site.clone())
    stable = Proposal(title=PROPOSAL.title, description="", source="elsewhere", target="stable")
    asyncio.run(propose(repository, site.forge, stable, new, key="other", upto=Upto.OPEN))
    assert offer(site, repository).requested is StepResult.MADE
    assert {each.target for each in site.requests()} == {"main", "stable"}


class Copies:
    """Folders as they were, to begin anew from."""

    def __init__(self, folder: Path, *originals: Path) -> None:
        self._pairs = [(each, folder / f"copy-of-{each.name}") for each in originals]
        for original, copy in self._pairs:
            shutil.copytree(original, copy)

    def back(self) -> None:
        """Everything is again as it was."""
        for original, copy in self._pairs:
            shutil.rmtree(original)
            shutil.copytree(copy, original)


# The calls that may leave something behind; after any other all is as before it.
WRITING = {"fetch", "commit", "push", "open", "update"}
# The calls that see what others do; whatever they do before any other is seen by the next of these.
SHARED = {"fetch", "pushed", "push", "find", "open", "update"}


@pytest.mark.parametrize("early", [False, True])
def test_an_interrupted_run_is_repeated(site: Site, early: bool) -> None:
    """Before and after every call that changes anything, first time and when replacing."""
    mine = site.clone()
    if early:
        words = Proposal(title=PROPOSAL.title, description="", source=BRANCH, target="main")
        files = {"saas.yml": b"ref: earlier\n"}
        offer(site, open_repository(mine), lambda _: files, proposal=words)
        push_change(site.bare, site.folder / "bob", {"other.yml": "o: 1\n"})
    copies = Copies(site.folder / "copies", site.bare, mine)
    calls: list[str] = []

    def run(at: int) -> None:
        calls.clear()
        forge = Watched(site.forge, calls, at, killed)
        offer(site, Watched(open_repository(mine), calls, at, killed), forge=forge)

    run(0)
    site.is_offered_once()
    every = [*calls, ""]
    assert {"commit", "push", "update" if early else "open"} < set(every)
    for at in range(1, len(every)):
        if WRITING.isdisjoint(every[max(0, at - 2) : at]):
            continue
        copies.back()
        with pytest.raises(KilledError):
            run(at)
        offer(site, open_repository(mine))
        site.is_offered_once()


def test_a_lost_answer_makes_no_second_request(site: Site) -> None:
    """It was opened, and only we do not know."""

    class Lossy(LocalForge):
        async def open(self, proposal: Proposal) -> MergeRequest:
            await super().open(proposal)
            raise OutsideError("the line went dead")

    done = offer(site, open_repository(site.clone()), forge=Lossy(site.bare))
    assert done.requested is StepResult.FOUND
    site.is_offered_once()


def test_a_forge_that_refuses_is_reported(site: Site) -> None:
    """Nothing was opened, and its own words are passed on; the branch is there for the next try."""

    class Shut(LocalForge):
        async def open(self, proposal: Proposal) -> MergeRequest:
            raise OutsideError("not allowed here")

    with pytest.raises(OutsideError, match="not allowed here"):
        offer(site, open_repository(site.clone()), forge=Shut(site.bare))
    assert offer(site, open_repository(site.clone())).pushed is StepResult.FOUND
    site.is_offered_once()


def test_the_change_is_made_again_when_the_target_moves(site: Site) -> None:
    """On the new tip, out of what is there now; our branch is replaced."""
    repository = open_repository(site.clone())
    before = offer(site, repository)
    after = push_change(site.bare, site.folder / "bob", {"b.yml": "theirs\n"})
    asked: list[str] = []

    def files(base: str) -> Mapping[str, bytes | None]:
        asked.append(base)
        return {"saas.yml": b"ref: new\n"}

    done = offer(site, repository, files)
    assert asked == [done.base] == [after]
    assert done.commit != before.commit
    assert (done.pushed, done.requested) == (StepResult.CHANGED, StepResult.FOUND)
    assert git(site.bare, "show", f"{BRANCH}:b.yml") == "theirs"
    site.is_offered_once()


def test_the_target_may_move_while_the_change_is_made(site: Site) -> None:
    """What is pushed in the end stands on what the target is then."""
    asked: list[str] = []

    def files(base: str) -> Mapping[str, bytes | None]:
        asked.append(base)
        if len(asked) < 3:
            push_change(site.bare, site.folder / f"bob-{len(asked)}", {"n.yml": f"{asked}\n"})
        return {"saas.yml": b"ref: new\n"}

    done = offer(site, open_repository(site.clone()), files)
    assert len(asked) == 3
    assert done.base == site.tip("main")
    site.is_offered_once()


def test_it_gives_up_when_the_target_never_stands_still(site: Site) -> None:
    """After some tries, with nothing pushed."""
    asked: list[str] = []

    def files(base: str) -> Mapping[str, bytes | None]:
        asked.append(base)
        push_change(site.bare, site.folder / f"bob-{len(asked)}", {"n.yml": f"{asked}\n"})
        return {"saas.yml": b"ref: new\n"}

    with pytest.raises(StaleError, match="moved 5 times meanwhile"):
        offer(site, open_repository(site.clone()), files)
    assert site.branches() == ["main"]


@pytest.mark.parametrize("error", [StaleError("saas.yml changed"), UserError(())])
def test_what_cannot_be_changed_any_more_is_refused(site: Site, error: Exception) -> None:
    """By the one that makes the change; nothing is pushed then."""

    def files(_: str) -> Mapping[str, bytes | None]:
        raise error

    with pytest.raises(type(error)):
        offer(site, open_repository(site.clone()), files)
    assert site.branches() == ["main"]


def on_top(site: Site, work: Path) -> None:
    """A person adds a commit."""
    commit(work, {"b.yml": "fixed\n"}, "fix a typo", BOB)


def amended(site: Site, work: Path) -> None:
    """A person changes ours, and leaves its message."""
    (work / "saas.yml").write_text("ref: changed by hand\n")
    git(work, "commit", "-q", "-a", "--amend", "--no-edit", who=BOB)


def merged(site: Site, work: Path) -> None:
    """A person merges the target into it."""
    push_change(site.bare, site.folder / "third", {"other.yml": "o: 1\n"})
    git(work, "fetch", "-q")
    git(work, "merge", "-q", "--no-edit", "origin/main", who=BOB)


def unrelated(site: Site, work: Path) -> None:
    """A person has a branch of this name for something else."""
    git(work, "reset", "-q", "--hard", "origin/main")
    commit(work, {"b.yml": "mine\n"}, "my own", BOB)


@pytest.mark.parametrize("theirs", [on_top, amended, merged, unrelated])
@pytest.mark.parametrize("pushed", [True, False])
def test_work_of_others_is_never_overwritten(
    site: Site, theirs: Callable[[Site, Path], None], pushed: bool
) -> None:
    """Neither at the remote nor in a clone; it says whose it is and what to do."""
    mine = site.clone()
    offer(site, open_repository(mine))
    work = site.clone(BOB) if pushed else mine
    git(work, "switch", "-q", BRANCH)
    theirs(site, work)
    if pushed:
        git(work, "push", "-q", "--force", "origin", BRANCH)
    else:
        git(work, "switch", "-q", "main")
    before = site.tip(BRANCH), git(work, "rev-parse", BRANCH)
    told = (
        rf"branch {BRANCH} .* has work that is not ours: .* by .*; nothing was changed: .*--branch"
    )
    with pytest.raises(StaleError, match=told):
        offer(site, open_repository(mine), lambda _: {"saas.yml": b"ref: newer\n"})
    assert (site.tip(BRANCH), git(work, "rev-parse", BRANCH)) == before
    assert len(site.requests()) == 1


def test_a_person_who_pushes_in_between_is_not_overwritten(site: Site) -> None:
    """At whatever point another process takes the branch, theirs stays."""
    work, mine = site.clone(BOB), site.clone()
    theirs = commit(work, {"b.yml": "mine\n"}, "my own", BOB)
    copies = Copies(site.folder / "copies", site.bare, mine)
    calls: list[str] = []

    def push() -> None:
        git(work, "push", "-q", str(site.bare), f"+{theirs}:refs/heads/{BRANCH}")

    def run(at: int) -> None:
        copies.back()
        calls.clear()
        offer(site, Watched(open_repository(mine), calls, at, push), upto=Upto.PUSH)

    run(0)
    points = [at for at, name in enumerate(calls, 1) if name in SHARED]
    assert len(points) > 3
    for at in points:
        with pytest.raises(StaleError, match="my own"):
            run(at)
        assert site.tip(BRANCH) == theirs


def test_two_at_once_end_with_one(site: Site) -> None:
    """The second finds what the first did, at whatever point the first comes in between."""
    mine, theirs = site.clone(), site.clone(BOB)
    copies = Copies(site.folder / "copies", site.bare, mine, theirs)
    calls: list[str] = []

    def other() -> None:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(offer, site, open_repository(theirs)).result()

    def run(at: int) -> None:
        copies.back()
        calls.clear()
        forge = Watched(site.forge, calls, at, other)
        offer(site, Watched(open_repository(mine), calls, at, other), forge=forge)
        site.is_offered_once()

    run(0)
    points = [at for at, name in enumerate(calls, 1) if name in SHARED]
    assert len(points) > 5
    for at in points:
        run(at)


def test_a_branch_left_over_from_a_merged_request_is_used_again(site: Site) -> None:
    """What is in the target already is no one's loss; a new request is opened."""
    repository = open_repository(site.clone())
    first = offer(site, repository)
    assert first.request is not None
    asyncio.run(site.forge.merge(first.request.number))
    second = offer(site, repository, lambda _: {"saas.yml": b"ref: newer\n"})
    assert (second.pushed, second.requested) == (StepResult.CHANGED, StepResult.MADE)
    assert site.commits() == [PROPOSAL.title]
    assert [each.state for each in site.requests()] == [RequestState.OPEN, RequestState.MERGED]
    # The same once more: it is in, and there is nothing to do.
    third = offer(site, repository, lambda _: {"saas.yml": b"ref: new\n"})
    assert third.commit == ""


def test_the_target_is_no_branch_to_offer_from(site: Site) -> None:
    """Nor can it be written to by accident."""
    wrong = Proposal(title="x", description="", source="main", target="main")
    with pytest.raises(UserError, match="is the target itself"):
        offer(site, open_repository(site.clone()), proposal=wrong)


def test_without_a_remote_a_commit_can_be_made(site: Site, tmp_path: Path) -> None:
    """And a push says what is missing."""
    mine = site.clone()
    git(mine, "remote", "remove", "origin")
    repository: Repository = open_repository(mine)
    assert offer(site, repository, upto=Upto.COMMIT).committed is StepResult.MADE
    with pytest.raises(UserError, match="has no remote"):
        offer(site, repository, upto=Upto.PUSH)
