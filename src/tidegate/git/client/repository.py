"""A repository through `git`: a user's clone, or our bare mirror.

A clone is read as it is and never deepened: where its history is cut off, ancestry is unknown and
lists of commits are refused. Content that a partial clone left at its remote is fetched at once
for all that is asked, not file by file.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path

from tidegate.git.client import history
from tidegate.git.client.commit_names import CommitNames, are_full
from tidegate.git.client.commit_writer import commit_files
from tidegate.git.client.kept import KeptContents, KeptFacts
from tidegate.git.client.process import NETWORK_S, OUTSIDE, Git, decoded
from tidegate.git.client.ref_files import home_of, led_to
from tidegate.git.client.repository_settings import RepositorySettings
from tidegate.git.client.revert import undoing
from tidegate.git.client.tree_entries import TreeEntry, listing
from tidegate.git.port import Ancestry, Commit
from tidegate.git.remote_url import is_path, without_login
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.problem import Problem, nearest_or_all

# Listings kept: a change is worked out of one commit and held against another.
LISTINGS_KEPT = 4
Pair = tuple[str, str]


class GitRepository:
    """One repository on this machine, and the remote it belongs to."""

    def __init__(
        self,
        git: Git,
        remote: str,
        *,
        ours: bool = False,
        prefix: str = "",
        settings: RepositorySettings | None = None,
    ) -> None:
        self._git = git
        self._settings = settings or RepositorySettings(git)
        self._prefix = prefix
        # Empty: there is none.
        self._remote = remote
        # In a mirror, names are those of the remote; in a clone, the user's own come first.
        self._ours = ours
        # What is known of commits and contents by their full names: none of it ever changes.
        self._listings: dict[str, dict[str, TreeEntry]] = {}
        self._contents = KeptContents()
        self._names = CommitNames(git)
        self._ancestry: KeptFacts[Pair, Ancestry] = KeptFacts()
        self._between: KeptFacts[Pair, tuple[Commit, ...]] = KeptFacts()
        self._address = self._settings.address(remote) if remote else ""
        # A remote with another push address is read at that address.
        elsewhere = self._settings.value(f"remote.{remote}.pushurl") if remote else ""
        self._asked = elsewhere or remote
        git.hidden |= {self._address, elsewhere} - {""}

    @property
    def url(self) -> str:
        """Where it is fetched from, without credentials; a path is one from anywhere."""
        if self._address and is_path(self._address):
            return str((self._git.folder / self._address).resolve())
        return without_login(self._address)

    @property
    def user(self) -> str:
        """What git's settings say."""
        return self._git.line("config", "user.email")

    @property
    def prefix(self) -> str:
        """The folder it was opened at, seen from its root."""
        return self._prefix

    def fetch(self) -> None:
        """Fetch what the settings of the remote name; local branches do not change."""
        if self._remote:
            more = ("--prune",) if self._ours else ()
            self._fetch(*more, self._remote)

    def branch(self) -> str:
        """The branch of the remote's HEAD, known or read; the local one without a remote."""
        return self._merged_into()[0]

    def _merged_into(self) -> Pair:
        """The branch that changes are merged into, and its commit where that is known with it."""
        if self._remote:
            tracked = f"refs/remotes/{self._remote}/"
            if led := led_to(home_of(self._git.folder), f"{tracked}HEAD"):
                return led[0].removeprefix(tracked), self._names.note(led[1])
            form = "--format=%(objectname) %(symref)"
            commit, _, known = self._git.line("for-each-ref", form, f"{tracked}HEAD").partition(" ")
            if known:
                return known.removeprefix(tracked), self._names.note(commit)
        if not (
            name := default_branch(self._git, self._remote)[0] if self._remote else self._head()
        ):
            where = self.url or str(self._git.folder)
            raise _wrong(where, "has no branch that changes are merged into", "name one: --target")
        return name, ""

    def tip(self, branch: str = "") -> str:
        """Where a branch of the remote was when it was last fetched; where it is if none ever was.

        Clones of one branch only, as CI systems make them, fetch no other.
        """
        name, found = (branch, "") if branch else self._merged_into()
        folder = f"refs/remotes/{self._remote}" if self._remote else "refs/heads"
        if found := found or self._names.full(f"{folder}/{name}"):
            return found
        if self._remote and (found := self.pushed(name)):
            return found
        asked = self._git.ask("for-each-ref", "--format=%(refname:lstrip=2)", folder)
        known = decoded(asked).split()
        names = {each.removeprefix(f"{self._remote}/") for each in known} - {"HEAD"}
        raise _wrong(name, f"no branch of {self.url or 'this repository'}", _offered(name, names))

    def resolve(self, revision: str) -> str:
        """A clone's own names come before its remote's, as for git; in a mirror the remote's."""
        there = f"refs/remotes/{self._remote}/{revision}" if self._remote else ""
        tried = (there, revision) if self._ours else (revision, there)
        if found := self._names.first([each for each in tried if each]):
            return found
        where = f"no commit of {self.url or self._git.folder}"
        raise _wrong(revision, where, "name a branch, a tag or a commit of it")

    def files(self, commit: str) -> Mapping[str, str]:
        """Every regular file; links and other repositories are none."""
        return {path: each.blob for path, each in self._listed(commit).items() if each.regular}

    def read(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Contents by one process, if any; missing objects are fetched before it starts."""
        files = self.files(commit)
        wanted = list(paths)
        if missing := next((path for path in wanted if path not in files), None):
            raise _wrong(missing, f"no file in {commit[:10]}", _offered(missing, files))
        known = self._contents.of(files[path] for path in wanted)
        asked = [(path, files[path]) for path in wanted if files[path] not in known]
        if asked:
            self._complete(commit, {blob for _, blob in asked})
        with closing(self._git.contents(asked)) as read:
            for path in wanted:
                blob = files[path]
                if blob in known:
                    yield path, known[blob]
                else:
                    _, content = next(read)
                    self._contents.keep(blob, content)
                    yield path, content
            next(read, None)

    def holding(self, commit: str, *texts: str, under: str = "") -> tuple[str, ...]:
        """What `git grep` finds, without a checkout."""
        regular = self.files(commit)
        self._complete(commit, None)
        below = ("--", f":(literal){under}") if under else ()
        plainly = ("--no-color", "--full-name", "-l", "-z", "-I", "-F")
        wanted = (part for text in texts for part in ("-e", text))
        done = self._git.run("grep", *plainly, *wanted, commit, *below)
        if done.returncode > 1:
            raise OutsideError(f"git grep: {self._git.said(done)}")
        found = decoded(done.stdout).split("\0")[:-1]
        names = (each.removeprefix(f"{commit}:") for each in found)
        return tuple(sorted(each for each in names if each in regular))

    def ancestry(self, old: str, new: str) -> Ancestry:
        """The relation in the commit graph; in a shallow clone only what it contains."""
        if not (self._names.full(old) and self._names.full(new)):
            return Ancestry.UNKNOWN
        if old == new:
            return Ancestry.SAME
        if known := self._ancestry.get((old, new)):
            return known
        found = self._related(old, new)
        if found is not Ancestry.UNKNOWN and are_full(old, new):
            self._ancestry.keep((old, new), found)
        return found

    def _related(self, old: str, new: str) -> Ancestry:
        for first, second, how in ((old, new, Ancestry.AHEAD), (new, old, Ancestry.BEHIND)):
            if self._git.run("merge-base", "--is-ancestor", first, second).returncode == 0:
                return how
        return Ancestry.UNKNOWN if self._shallow else Ancestry.APART

    def show(self, commit: str) -> Commit:
        """The commit as `git log` prints it."""
        return history.one(self._git, commit, commit)

    def between(self, old: str, new: str) -> tuple[Commit, ...]:
        """`old..new`; an error in a shallow clone, where the result would be incomplete."""
        if self._shallow and self.ancestry(old, new) is not Ancestry.SAME:
            remedy = "run `git fetch --unshallow` in it"
            raise _wrong(str(self._git.folder), "a shallow clone, whose history is cut off", remedy)
        found = self._between.get((old, new))
        if found is None:
            found = history.between(self._git, old, new)
            if are_full(old, new):
                self._between.keep((old, new), found)
        return found

    def last_change(self, commit: str, path: str, line: int) -> Commit:
        """The commit of one line by `git blame`; a shallow clone stops at its oldest commit."""
        place = f"{line},{line}"
        there = path in self._listed(commit)
        done = self._git.run("blame", "--porcelain", "-L", place, commit, "--", path)
        if done.returncode or not there:
            raise _wrong(f"{path}:{line}", f"not in {commit[:10]}", "name a file and a line of it")
        sha = decoded(done.stdout).split(" ", 1)[0]
        return history.one(self._git, sha, commit)

    def commit(
        self, branch: str, parent: str, files: Mapping[str, bytes | None], message: str
    ) -> str:
        """Commit through fast-import, to a branch that is not checked out."""
        now, onto = self._check_branch(branch), (parent, self._listed(parent))
        return self._names.note(commit_files(self._git, branch, onto, files, message, now))

    def reverted(self, commit: str, onto: str) -> Mapping[str, bytes | None]:
        """What undoes a commit, merged in memory."""
        return undoing(self._git, commit, onto)

    def here(self, branch: str) -> str:
        """A branch of this repository itself."""
        return self._names.full(f"refs/heads/{branch}")

    def push(self, branch: str, commit: str, expected: str) -> None:
        """As the user's git pushes, hooks and all, with a lease on what is expected there."""
        self._check_remote()
        there = f"refs/heads/{branch}"
        done = self._git.run(
            *("push", "--quiet", "--no-follow-tags", f"--force-with-lease={there}:{expected}"),
            *(self._remote, f"{commit}:{there}"),
            timeout_s=NETWORK_S,
        )
        if not done.returncode:
            return
        # The reasons for a refused push vary; the commit that the remote has is one fact.
        if (now := self.pushed(branch)) == commit:
            return
        if now != expected:
            at = f"is at {now[:10]}" if now else "is gone"
            what = f"{branch} at {self.url} {at}: another push was faster; run this again"
            raise StaleError(what)
        raise OutsideError(f"git push: {self._git.said(done)}")

    def pushed(self, branch: str) -> str:
        """Read the branch at the remote, and fetch its commit if it is not here."""
        ref = f"refs/heads/{branch}"
        self._check_remote()
        output = decoded(self._git.ask("ls-remote", self._asked, ref, timeout_s=NETWORK_S))
        names = (line.split("\t")[0] for line in output.splitlines() if line.endswith(ref))
        found = next(names, "")
        if found and not self._names.full(found):
            self._fetch(self._asked, ref)
        return found

    def _check_remote(self) -> None:
        if not self._remote:
            where = str(self._git.folder)
            raise _wrong(where, "has no remote", "run `git remote add origin ADDRESS` in it")

    def _check_branch(self, branch: str) -> str:
        """The commit of a branch that may be written; empty: there is no such branch yet."""
        if self._git.run("check-ref-format", f"refs/heads/{branch}").returncode:
            raise _wrong(branch, "no name of a branch", "write letters, digits, `-` and `/`")
        if branch == self.branch():
            remedy = "name another branch with --branch"
            raise _wrong(branch, "is what changes are merged into", remedy)
        ref, form = f"refs/heads/{branch}", "--format=%(objectname) %(refname) =%(worktreepath)"
        # Of a branch that is not there, git lists those below it.
        now, found, using = self._git.line("for-each-ref", form, ref).partition(f" {ref} =")
        if using or (not self._ours and branch == self._head()):
            remedy = "switch to another branch, or name one with --branch"
            raise _wrong(branch, "is checked out", remedy)
        return now if found else ""

    def _head(self) -> str:
        return self._git.line("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")

    @cached_property
    def _shallow(self) -> bool:
        return self._git.line("rev-parse", "--is-shallow-repository") == "true"

    @cached_property
    def _partial(self) -> bool:
        return self._settings.value(f"remote.{self._remote}.promisor") == "true"

    def _listed(self, commit: str) -> dict[str, TreeEntry]:
        """The files of a commit, cached: a commit never changes."""
        if commit in self._listings:
            return self._listings[commit]
        found = None if commit.startswith("-") else listing(self._git, commit)
        if found is None:
            raise _wrong(commit, f"no commit of {self.url or self._git.folder}", "fetch it first")
        if are_full(commit):
            for oldest in list(self._listings)[: 1 - LISTINGS_KEPT]:
                del self._listings[oldest]
            self._listings[commit] = found
        return found

    def _fetch(self, *what: str, given: str = "") -> None:
        self._git.ask(
            *("fetch", "--quiet", "--no-write-fetch-head", "--no-recurse-submodules", *what),
            given=given.encode(),
            timeout_s=NETWORK_S,
        )

    def _complete(self, commit: str, blobs: set[str] | None) -> None:
        """Have the contents of a commit here, some or all, if a partial clone left them there."""
        if not self._partial:
            return
        walk = ("rev-list", "--objects", "--no-walk", "--missing=print", commit)
        output = decoded(self._git.ask(*walk)).splitlines()
        missing = [line[1:] for line in output if line.startswith("?")]
        wanted = [each for each in missing if blobs is None or each in blobs]
        if wanted:
            given = "".join(f"{each}\n" for each in wanted)
            self._fetch("--no-tags", "--filter=blob:none", "--stdin", self._remote, given=given)


def open_repository(folder: Path) -> GitRepository:
    """The repository that a folder is in, with the remote of its branch, or `origin`."""
    if not folder.is_dir():
        raise _wrong(str(folder), "no such directory", "name the folder of a clone")
    inside = Git(folder)
    # The root comes last: a bare repository has none, and git ends there.
    done = inside.run("rev-parse", "--absolute-git-dir", "--show-prefix", "--show-toplevel")
    found = decoded(done.stdout).split("\n")[:-1]
    if not found:
        what = OUTSIDE if inside.outside(done) else inside.said(done)
        raise _wrong(str(folder), what, "name the folder of a clone")
    if len(found) > 3:
        raise _wrong(str(folder), "a path with a line break in it", "move the clone elsewhere")
    place, prefix, *top = found
    git = Git(Path(top[0] if top else place))
    settings = RepositorySettings(git)
    return GitRepository(git, _remote_of(git, settings), prefix=prefix, settings=settings)


def _remote_of(git: Git, settings: RepositorySettings) -> str:
    # A remote without remote-tracking branches, as in a bare clone, cannot be used.
    remotes = settings.fetched_remotes()
    if len(remotes) <= 1:
        return remotes[0] if remotes else ""
    head = git.line("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
    upstream = settings.value(f"branch.{head}.remote") if head else ""
    return next((each for each in (upstream, "origin") if each in remotes), "")


def default_branch(git: Git, address: str) -> tuple[str, str]:
    """The branch that a remote's HEAD leads to, and its commit; empty if the remote has none."""
    output = decoded(git.ask("ls-remote", "--symref", address, "HEAD", timeout_s=NETWORK_S))
    lines = [line.split("\t")[0] for line in output.splitlines() if line.endswith("\tHEAD")]
    ref = next((line[5:] for line in lines if line.startswith("ref: ")), "")
    commit = next((line for line in lines if not line.startswith("ref: ")), "")
    return ref.removeprefix("refs/heads/"), commit


def _offered(name: str, known: Iterable[str]) -> str:
    """Similar names; of many, only the first are listed."""
    every = list(known)
    return nearest_or_all(name, every) if len(every) < 50 else "name one that is there"


def _wrong(where: str, what: str, remedy: str) -> UserError:
    return UserError((Problem(where, what, remedy),))
