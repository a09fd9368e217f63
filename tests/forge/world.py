"""What a forge for tests remembers, whatever its vendor; branches and merges are real ones."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.forge.bare import git, tip


@dataclass(frozen=True)
class User:
    """A person with an account."""

    id: int
    login: str
    name: str
    email: str
    token: str


TOKEN = "s3cret-tide-token"
US = User(7, "tide-bot", "Tide Bot", "bot@example.com", TOKEN)
JANE = User(8, "jdoe", "Jane Doe", "jdoe@example.com", "janes-token")
JIM = User(9, "jroe", "Jim Roe", "jroe@example.com", "jims-token")
USERS = (US, JANE, JIM)


@dataclass
class Comment:
    """Something that was said."""

    id: int
    author: User
    body: str


@dataclass
class Request:
    """A merge request."""

    number: int
    title: str
    body: str
    source: str
    target: str
    author: User
    labels: list[str]
    opened: str
    state: str = "open"  # open, merged, closed
    # Whether its branch is in a person's copy of the repository; such a branch may have any name.
    fork: bool = False
    comments: list[Comment] = field(default_factory=list)
    # Once it is not open: what its branch was at, what it was merged into, as what, when.
    head: str = ""
    onto: str = ""
    merged_as: str = ""
    ended: str = ""
    ended_by: User | None = None


@dataclass
class CommitStatus:
    """What a check said of a commit."""

    id: int
    name: str
    state: str
    text: str
    url: str
    author: User


class ConflictError(Exception):
    """What was asked for cannot be done; the text says why."""


@dataclass
class Project:
    """A repository and what is talked about it."""

    path: str
    folder: Path
    requests: dict[int, Request] = field(default_factory=dict)
    statuses: dict[str, list[CommitStatus]] = field(default_factory=dict)
    # Check runs of commits, which only one vendor has: how each ended, by its name; empty: not yet.
    runs: dict[str, dict[str, str]] = field(default_factory=dict)
    # Labels that there are, by name, and their numbers.
    labels: dict[str, int] = field(default_factory=dict)
    # Whether two commits conflict, which never changes.
    tried: dict[tuple[str, str], bool] = field(default_factory=dict)
    counter: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def has_branch(self, name: str) -> bool:
        """Whether a person pushed a branch."""
        return tip(self.folder, name) != ""

    def has_commit(self, sha: str) -> bool:
        """Whether a commit is there."""
        return git(self.folder, "cat-file", "--batch-check", given=f"{sha}\n").endswith(
            tuple("0123456789")
        )

    def tip(self, branch: str) -> str:
        """The commit a branch is at; empty: it is gone."""
        return tip(self.folder, branch)

    def head(self, request: Request) -> str:
        """What the branch of a request is at, or was when it ended."""
        return request.head or self.tip(request.source)

    def between(self, source: str, target: str) -> Request | None:
        """The one that is open between two branches."""
        for each in self.requests.values():
            here = (each.source, each.target, each.state) == (source, target, "open")
            if here and not each.fork:
                return each
        return None

    def open(self, author: User, title: str, body: str, source: str, target: str) -> Request:
        """Open one; ConflictError if there is one already."""
        if (known := self.between(source, target)) is not None:
            raise ConflictError(f"!{known.number}")
        number = max(self.requests, default=0) + 1
        request = Request(number, title, body, source, target, author, [], self.moment())
        self.requests[number] = request
        return request

    def merge(self, number: int, by: User = JANE) -> Request:
        """Merge one, as git does it; ConflictError if git cannot."""
        request = self.requests[number]
        if request.state != "open":
            raise ConflictError("it is not open")
        head, onto = self.tip(request.source), self.tip(request.target)
        tree = git(self.folder, "merge-tree", "--write-tree", onto, head).split()[0]
        message = f"Merge branch '{request.source}'"
        made = git(self.folder, "commit-tree", tree, "-p", onto, "-p", head, "-m", message)
        git(self.folder, "update-ref", f"refs/heads/{request.target}", made, onto)
        request.state, request.head, request.onto = "merged", head, onto
        request.merged_as, request.ended, request.ended_by = made, self.moment(), by
        return request

    def decline(self, number: int, by: User = JANE) -> Request:
        """Close one."""
        request = self.requests[number]
        request.head, request.state = self.tip(request.source), "closed"
        request.ended, request.ended_by = self.moment(), by
        return request

    def conflicts(self, request: Request) -> bool:
        """Whether git cannot merge it as it is now."""
        head, onto = self.tip(request.source), self.tip(request.target)
        if request.state != "open" or not head or not onto:
            return False
        if (onto, head) not in self.tried:
            try:
                git(self.folder, "merge-tree", "--write-tree", onto, head)
            except AssertionError:  # git says what conflicts, and fails
                self.tried[onto, head] = True
            else:
                self.tried[onto, head] = False
        return self.tried[onto, head]

    def of_commit(self, sha: str) -> list[Request]:
        """The requests whose branch has a commit that their target had not, or that made it."""
        found = []
        for request in self.requests.values():
            onto = request.onto or self.tip(request.target)
            brought = git(self.folder, "rev-list", f"{onto}..{self.head(request)}").split()
            if sha in (*brought, request.merged_as):
                found.append(request)
        return found

    def say(self, author: User, number: int, body: str) -> Comment:
        """Say something on one."""
        comment = Comment(next(self.counter), author, body)
        self.requests[number].comments.append(comment)
        return comment

    def comment(self, id: int) -> tuple[Request, Comment]:  # noqa: A002 (the forges' own word)
        """A comment by its number, and where it was made."""
        for request in self.requests.values():
            for each in request.comments:
                if each.id == id:
                    return request, each
        raise KeyError(id)

    def label(self, name: str) -> int:
        """The number of a label, which is made if there is none."""
        if name not in self.labels:
            self.labels[name] = next(self.counter)
        return self.labels[name]

    def state_of(
        self, author: User, sha: str, name: str, state: str, text: str, url: str
    ) -> CommitStatus:
        """Note what a check said."""
        status = CommitStatus(next(self.counter), name, state, text, url, author)
        self.statuses.setdefault(sha, []).append(status)
        return status

    def moment(self) -> str:
        """A time that is later than the one before."""
        minutes, seconds = divmod(next(self.counter), 60)
        return f"2026-01-01T{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}Z"


@dataclass
class World:
    """All projects below a folder, and who may use them."""

    folder: Path
    projects: dict[str, Project] = field(default_factory=dict)

    def project(self, path: str) -> Project | None:
        """A project by its path; None: there is none."""
        return self.projects.get(path)

    def user(self, token: str) -> User | None:
        """Whose token it is."""
        return next((user for user in USERS if token and user.token == token), None)
