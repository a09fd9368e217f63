"""A repository through git: read without a checkout, changed by one commit, never overwritten."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.git_repos import ADA, BOB, GIT_SETTINGS, clone, commit, git, push_change, remote
from tests.patience import is_gone, until
from tidegate.git.client.address import cleaned
from tidegate.git.client.kept import (
    BLOB_BYTES_MAX,
    BYTES_MAX,
    FACTS_MAX,
    KeptContents,
    KeptFacts,
)
from tidegate.git.client.mirror import open_mirror
from tidegate.git.client.process import Git
from tidegate.git.client.repository import GitRepository, open_repository
from tidegate.git.port import Ancestry, Repository
from tidegate.git.remote_url import without_login
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.time import parse_instant

FILES: dict[str, str | bytes] = {
    "a.yml": "image: aaa\n",
    "deep/b.yml": "image: bbb\n",
    "deep/er/c.txt": b"\xff\x00\xfe image",
    "été with\nnewline \"and' quotes.yml": "x: image\n",
    "run.sh": "#!/bin/sh\n",
}
BRANCH = "tidegate/promote-x"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings of the user who runs the tests do not count."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    for role in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{what}", raising=False)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the forge has, made once."""
    folder = tmp_path_factory.mktemp("template")
    made = remote(folder, FILES)
    seed = folder / "seed"
    (seed / "run.sh").chmod(0o755)
    (seed / "link.yml").symlink_to("a.yml")
    commit(seed, {}, "modes")
    git(seed, "push", "-q", str(made), "main")
    return made


@pytest.fixture
def bare(template: Path, tmp_path: Path) -> Path:
    """What the forge has."""
    return Path(shutil.copytree(template, tmp_path / "remote.git"))


@pytest.fixture(params=["clone", "partial", "mirror"])
def repository(request: pytest.FixtureRequest, bare: Path, tmp_path: Path) -> GitRepository:
    """Every way to a repository."""
    if request.param == "mirror":
        made = open_mirror(bare.as_uri(), tmp_path / "mirrors")
        place = next((tmp_path / "mirrors").glob("*.git"))
        git(place, "config", "user.name", ADA[0])
        git(place, "config", "user.email", ADA[1])
        return made
    partial = ("--no-checkout", "--filter=blob:none") if request.param == "partial" else ()
    mine = clone(bare, tmp_path / "mine", *partial)
    return open_repository(mine)


def test_a_folder_and_a_second_working_tree_are_the_same_repository(
    bare: Path, tmp_path: Path
) -> None:
    """Paths are from the root, wherever one stands."""
    mine = clone(bare, tmp_path / "mine")
    git(mine, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    for folder, prefix in ((mine / "deep", "deep/"), (tmp_path / "tree", "")):
        repository = open_repository(folder)
        assert repository.prefix == prefix
        assert list(repository.files(repository.tip())) == sorted(FILES)
        assert repository.holding(repository.tip(), "image: aaa") == ("a.yml",)
        assert repository.url == bare.as_uri()


def test_it_reads_what_the_remote_has(repository: GitRepository, bare: Path) -> None:
    """Files by path from the root, in order, links left out; contents in the order asked for."""
    assert repository.branch() == "main"
    tip = repository.tip()
    assert tip == git(bare, "rev-parse", "main") == repository.resolve("main")
    assert repository.resolve(tip[:9]) == tip
    files = repository.files(tip)
    assert list(files) == sorted(FILES)
    assert files["a.yml"] == git(bare, "rev-parse", "main:a.yml")
    asked = [*reversed(list(files)), "a.yml"]
    wanted = [(path, FILES[path]) for path in asked]
    assert [
        (path, content if isinstance(FILES[path], bytes) else content.decode())
        for path, content in repository.read(tip, asked)
    ] == wanted


def test_what_was_read_before_is_read_again_in_the_order_asked_for(
    repository: GitRepository,
) -> None:
    """Some contents are known and some are not; one may be asked for twice, or none at all."""
    tip = repository.tip()
    every = list(repository.files(tip))
    alone = {path: dict(repository.read(tip, [path]))[path] for path in every[1::2]}
    asked = [*reversed(every), every[0], *every[1:3]]
    read = list(repository.read(tip, asked))
    assert [path for path, _ in read] == asked
    wanted = {
        path: text if isinstance(text, bytes) else text.encode() for path, text in FILES.items()
    }
    assert all(content == wanted[path] for path, content in read)
    assert alone.items() <= wanted.items()
    assert list(repository.read(tip, [])) == []


def test_contents_are_kept_up_to_a_size() -> None:
    """Small ones are, large ones are not, and those that are too many make room for the next."""
    kept = KeptContents()
    kept.keep("small", b"x")
    kept.keep("large", bytes(BLOB_BYTES_MAX + 1))
    assert kept.of(["small", "large", "other"]) == {"small": b"x"}
    each = bytes(BLOB_BYTES_MAX)
    for number in range(BYTES_MAX // BLOB_BYTES_MAX):
        kept.keep(str(number), each)
    assert set(kept.of(["small", "0", "last"])) < {"small", "0"}
    facts: KeptFacts[int, str] = KeptFacts()
    for number in range(FACTS_MAX + 1):
        facts.keep(number, "")
    assert list(facts) == [FACTS_MAX]


@pytest.mark.parametrize(
    "settings, address",
    [
        ((), "https://example.com/a.git"),
        (("remote.origin.url", "https://example.com/b.git"), "https://example.com/a.git"),
        (("url.https://mirror.example.com/.insteadOf", "https://example.com/"),
            "https://mirror.example.com/a.git"),
        (("url.https://push.example.com/.pushInsteadOf", "https://example.com/"),
            "https://example.com/a.git"),
    ],
)  # fmt: skip
def test_the_address_of_a_remote_is_what_git_says(
    settings: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    """However many addresses it has, and whatever rewrites them."""
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "remote", "add", "origin", "https://example.com/a.git")
    if settings:
        git(tmp_path, "config", "--add", *settings)
    repository = open_repository(tmp_path)
    assert repository.url == address == git(tmp_path, "remote", "get-url", "origin")


def test_it_finds_a_text_in_text_files(repository: GitRepository) -> None:
    """By the text itself and not by a pattern, below a folder where one is named."""
    tip = repository.tip()
    odd = "été with\nnewline \"and' quotes.yml"
    assert repository.holding(tip, "image") == tuple(sorted(["a.yml", "deep/b.yml", odd]))
    assert repository.holding(tip, "image", under="deep") == ("deep/b.yml",)
    assert repository.holding(tip, "image", under="dee") == ()
    assert repository.holding(tip, "im.ge") == repository.holding(tip, "-image") == ()


def test_a_fetch_learns_what_others_pushed(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    """The tip is that of the last fetch; `pushed` is asked anew and can be read at once."""
    before = repository.tip()
    after = push_change(bare, tmp_path / "bob", {"new.yml": "n: 1\n"})
    assert repository.tip() == before
    assert repository.pushed("main") == after
    assert "new.yml" in repository.files(after)
    repository.fetch()
    assert repository.tip() == after
    assert repository.pushed("nothing-there") == ""


def test_commits_between_are_reported_by_author(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    """Newest first, without merges, under the names of the .mailmap, with their trailers."""
    old = repository.tip()
    work = tmp_path / "bob"
    body = "why\n\nCo-authored-by: Cyd <cyd@example.com>"
    names = "Robert Real <robert@example.com> <bob@example.com>\n"
    push_change(bare, work, {".mailmap": names})
    git(work, "switch", "-q", "-c", "side", "HEAD~1")
    commit(work, {"side.yml": "s: 1\n"}, f"side\n\n{body}", at="2090-01-01T00:00:00Z")
    git(work, "switch", "-q", "main")
    git(work, "merge", "-q", "--no-ff", "-m", "merged", "side")
    git(work, "push", "-q", "origin", "main")
    repository.fetch()
    told = repository.between(old, repository.tip())
    assert [(each.subject, each.author, each.email) for each in told] == [
        ("side", *ADA),
        ("meanwhile", "Robert Real", "robert@example.com"),
    ]
    assert told[0].body == body
    assert told[0].at == parse_instant("2090-01-01T00:00:00Z")
    assert repository.between(repository.tip(), old) == ()


def test_ancestry_is_one_of_five(repository: GitRepository, bare: Path, tmp_path: Path) -> None:
    """Same, ahead, behind, apart, and unknown for what is not there."""
    old = repository.tip()
    work = tmp_path / "bob"
    new = push_change(bare, work, {"new.yml": "n: 1\n"})
    git(work, "switch", "-q", "-c", "side", "HEAD~1")
    side = commit(work, {"side.yml": "s: 1\n"})
    git(work, "push", "-q", "origin", "side")
    repository.fetch()
    assert repository.ancestry(old, old) is Ancestry.SAME
    assert repository.ancestry(old, new) is Ancestry.AHEAD
    assert repository.ancestry(new, old) is Ancestry.BEHIND
    assert repository.ancestry(side, new) is Ancestry.APART
    assert repository.ancestry("0" * 39 + "1", new) is Ancestry.UNKNOWN


def test_who_wrote_a_line_is_known(repository: GitRepository, bare: Path, tmp_path: Path) -> None:
    """The line as it is written, whatever is around it."""
    new = push_change(bare, tmp_path / "bob", {"a.yml": "image: aaa\nmore: 1\n"})
    repository.fetch()
    assert repository.last_change(new, "a.yml", 1).subject == "first"
    assert repository.last_change(new, "a.yml", 2).author == BOB[0]
    with pytest.raises(UserError, match=r"a.yml:3: not in"):
        repository.last_change(new, "a.yml", 3)


def test_a_commit_is_a_branch_and_nothing_else(repository: GitRepository, bare: Path) -> None:
    """Only its files differ, an executable stays one, and the remote has it once it is pushed."""
    base = repository.tip()
    change = {"a.yml": b"image: new\n", "run.sh": b"#!/bin/bash\n", "deep/b.yml": None, "n/w": b""}
    made = repository.commit(BRANCH, base, change, "promote x\n\nbecause\n")
    assert repository.here(BRANCH) == made
    assert repository.pushed(BRANCH) == ""
    repository.push(BRANCH, made, "")
    assert repository.pushed(BRANCH) == made == git(bare, "rev-parse", BRANCH)
    assert git(bare, "log", "-1", "--format=%P %an %ce %B", BRANCH) == (
        f"{base} Ada ada@example.com promote x\n\nbecause"
    )
    told = git(bare, "diff", "--raw", "--no-abbrev", base, made)
    modes = {line.split("\t")[1]: line.split()[:2] for line in told.splitlines()}
    assert modes == {
        "a.yml": [":100644", "100644"],
        "run.sh": [":100755", "100755"],
        "deep/b.yml": [":100644", "000000"],
        "n/w": [":000000", "100644"],
    }


def test_the_same_commit_is_found_and_another_made(repository: GitRepository) -> None:
    """Content, parent, message and user: if one of them differs it is another."""
    base = repository.tip()
    made = repository.commit(BRANCH, base, {"a.yml": b"1"}, "one\n")
    assert repository.commit(BRANCH, base, {"a.yml": b"1"}, "one\n") == made
    # Neither what stands there anyway nor what is not there makes a difference.
    same = {"a.yml": b"1", "run.sh": b"#!/bin/sh\n", "nowhere": None}
    assert repository.commit(BRANCH, base, same, "one\n") == made
    others = [
        repository.commit(BRANCH, base, {"a.yml": b"1"}, "two\n"),
        repository.commit(BRANCH, base, {"a.yml": b"2"}, "two\n"),
        repository.commit(BRANCH, made, {"a.yml": b"2"}, "two\n"),
    ]
    assert len({made, *others}) == 4


def test_what_a_person_pushed_is_never_overwritten(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    """A push expects what it saw, also that there was nothing."""
    base = repository.tip()
    made = repository.commit(BRANCH, base, {"a.yml": b"1"}, "one\n")
    git(bare, "branch", BRANCH, "main")
    with pytest.raises(StaleError, match=f"{BRANCH} at .* another push was faster"):
        repository.push(BRANCH, made, "")
    repository.push(BRANCH, made, base)
    theirs = push_change(bare, tmp_path / "bob", {"b": "b"}, BRANCH)
    again = repository.commit(BRANCH, base, {"a.yml": b"2"}, "one\n")
    with pytest.raises(StaleError):
        repository.push(BRANCH, again, made)
    assert git(bare, "rev-parse", BRANCH) == theirs
    # A run that finds it there already has nothing to do.
    repository.push(BRANCH, theirs, made)


@pytest.mark.parametrize(
    "path, why",
    [
        ("deep", "is a folder"),
        ("a.yml/b", "would be below a.yml"),
        ("link.yml", "is a link"),
        ("../a", "no path"),
        ("/a", "no path"),
        ("", "no path"),
        ("x/.GIT/config", "Git's own"),
    ],
)
def test_what_would_change_more_than_a_file_is_refused(bare: Path, path: str, why: str) -> None:
    """A folder is not replaced by a file, nor a link by what it leads to."""
    repository = open_repository(bare)
    with pytest.raises(UserError, match=why):
        repository.commit(BRANCH, repository.tip(), {path: b""}, "x\n")
    assert repository.here(BRANCH) == ""


def test_branches_that_people_use_are_left_alone(bare: Path, tmp_path: Path) -> None:
    """What is checked out, in whichever tree, and what changes are merged into."""
    mine = clone(bare, tmp_path / "mine")
    git(mine, "switch", "-q", "-c", "work")
    git(mine, "worktree", "add", "-q", "-b", "second", str(tmp_path / "tree"))
    git(mine, "switch", "-q", "--orphan", "unborn")
    repository = open_repository(mine)
    for branch, why in (
        ("main", "merged into"),
        ("second", "checked out"),
        ("unborn", "checked out"),
        ("a..b", "no name of a branch"),
        ("-x y", "no name of a branch"),
    ):
        with pytest.raises(UserError, match=why):
            repository.commit(branch, repository.tip(), {"a": b""}, "x\n")


def test_neither_the_working_tree_nor_the_index_nor_a_hook_notices(
    bare: Path, tmp_path: Path
) -> None:
    """A person's half-done work stays as it is; no hook runs for a commit, but one for a push."""
    mine = clone(bare, tmp_path / "mine")
    (mine / "a.yml").write_text("half: done\n")
    (mine / "staged.yml").write_text("s: 1\n")
    git(mine, "add", "staged.yml")
    (mine / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("reference-transaction", "pre-commit", "post-commit", "pre-push"):
        place = mine / ".git/hooks" / hook
        place.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/{hook}\n")
        place.chmod(place.stat().st_mode | stat.S_IXUSR)
    before = git(mine, "status", "--porcelain"), (mine / ".git/index").read_bytes()
    ran = {each.name for each in tmp_path.glob("*-*") if each.is_file()}
    assert not ran - {"reference-transaction"}
    (tmp_path / "reference-transaction").unlink(missing_ok=True)
    repository = open_repository(mine)
    made = repository.commit(BRANCH, repository.tip(), {"a.yml": b"1"}, "x\n")
    assert not list(tmp_path.glob("*-transaction"))
    repository.push(BRANCH, made, "")
    assert (tmp_path / "pre-push").exists()
    assert not (tmp_path / "pre-commit").exists()
    assert (git(mine, "status", "--porcelain"), (mine / ".git/index").read_bytes()) == before


def test_who_commits_must_be_known(bare: Path, tmp_path: Path) -> None:
    """No account is made up from the name of a host."""
    git(tmp_path, "clone", "-q", str(bare), str(tmp_path / "mine"))
    repository = open_repository(tmp_path / "mine")
    with pytest.raises(UserError, match=r"does not know who commits; run `git config"):
        repository.commit(BRANCH, repository.tip(), {"a": b""}, "x\n")


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="nothing to make a key with")
def test_commits_are_signed_where_git_is_asked_to(bare: Path, tmp_path: Path) -> None:
    """With the user's key, found again like any other; without it there is no commit at all."""
    key = tmp_path / "key"
    making = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(making, check=True)
    mine = clone(bare, tmp_path / "mine")
    for name, value in (("commit.gpgSign", "yes"), ("gpg.format", "ssh")):
        git(mine, "config", name, value)
    git(mine, "config", "user.signingKey", str(tmp_path / "nowhere"))
    repository = open_repository(mine)
    change = {"a.yml": b"1", "new.yml": b""}
    with pytest.raises(OutsideError, match=r"git commit-tree: .*nowhere"):
        repository.commit(BRANCH, repository.tip(), change, "x\n\nbody\n")
    assert repository.here(BRANCH) == ""
    git(mine, "config", "user.signingKey", f"{key}.pub")
    made = repository.commit(BRANCH, repository.tip(), change, "x\n\nbody\n")
    assert repository.commit(BRANCH, repository.tip(), change, "x\n\nbody\n") == made
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.com {Path(f'{key}.pub').read_text()}")
    git(mine, "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-commit", made)
    assert git(mine, "for-each-ref", "refs/tidegate") == ""
    assert dict(repository.read(made, change)) == change
    assert [each.sha for each in repository.between(repository.tip(), made)] == [made]


def test_a_clone_of_one_branch_knows_the_others(bare: Path, tmp_path: Path) -> None:
    """As CI systems make them: what is merged into need not have been fetched."""
    git(bare, "branch", "work", "main~1")
    mine = clone(bare, tmp_path / "mine", "--single-branch", "--branch=work")
    repository = open_repository(mine)
    repository.fetch()
    assert repository.branch() == "main"
    assert repository.tip() == git(bare, "rev-parse", "main")
    assert repository.ancestry(repository.tip("work"), repository.tip()) is Ancestry.AHEAD


def test_a_refusal_of_the_remote_is_reported(bare: Path, tmp_path: Path) -> None:
    """In its own words, as something outside."""
    repository = open_repository(clone(bare, tmp_path / "mine"))
    hook = bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'sign the agreement first' >&2\nexit 1\n")
    hook.chmod(0o755)
    made = repository.commit(BRANCH, repository.tip(), {"a": b""}, "x\n")
    with pytest.raises(OutsideError, match="sign the agreement first"):
        repository.push(BRANCH, made, "")


def test_without_a_remote_it_is_what_is_here(tmp_path: Path) -> None:
    """Read and changed as any; only pushing says what is missing."""
    git(tmp_path, "init", "-q", "alone")
    alone = tmp_path / "alone"
    git(alone, "config", "user.name", "Ada")
    git(alone, "config", "user.email", "ada@example.com")
    tip = commit(alone, {"a": "1"})
    repository = open_repository(alone)
    repository.fetch()
    assert (repository.url, repository.branch(), repository.tip()) == ("", "main", tip)
    made = repository.commit(BRANCH, tip, {"a": b"2"}, "x\n")
    assert repository.tip(BRANCH) == made
    for asked in (lambda: repository.push(BRANCH, made, ""), lambda: repository.pushed(BRANCH)):
        with pytest.raises(UserError, match=r"has no remote; run `git remote add"):
            asked()


def test_a_shallow_clone_says_what_it_cannot_know(bare: Path, tmp_path: Path) -> None:
    """Ancestry across the cut is unknown, and a list of commits is refused; nothing is deepened."""
    first = git(bare, "rev-parse", "main~1")
    push_change(bare, tmp_path / "bob", {"new.yml": "n: 1\n"})
    mine = clone(bare, tmp_path / "mine", "--depth=2")
    repository = open_repository(mine)
    tip = repository.tip()
    assert repository.ancestry(repository.resolve("HEAD~1"), tip) is Ancestry.AHEAD
    assert repository.ancestry(first, tip) is Ancestry.UNKNOWN
    with pytest.raises(UserError, match=r"shallow clone.*git fetch --unshallow"):
        repository.between(first, tip)
    assert git(mine, "rev-parse", "--is-shallow-repository") == "true"


def test_newer_repositories_have_longer_names(tmp_path: Path) -> None:
    """SHA-256, in a clone and in a mirror."""
    bare = remote(tmp_path, {"a": "1"}, "sha256")
    mirror = open_mirror(bare.as_uri(), tmp_path / "mirrors")
    assert dict(mirror.read(mirror.tip(), ["a"])) == {"a": b"1"}
    repository = open_repository(clone(bare, tmp_path / "mine"))
    made = repository.commit(BRANCH, repository.tip(), {"a": b"2"}, "x\n")
    assert len(made) == 64
    assert repository.commit(BRANCH, repository.tip(), {"a": b"2"}, "x\n") == made
    repository.push(BRANCH, made, "")
    assert git(bare, "show", f"{BRANCH}:a") == "2"


def test_a_mirror_fetches_contents_when_they_are_asked_for(bare: Path, tmp_path: Path) -> None:
    """All that is asked in one go; it is found again, follows its remote, and may be deleted."""
    mirrors = tmp_path / "mirrors"
    mirror = open_mirror(bare.as_uri(), mirrors)
    place = next(mirrors.glob("*.git"))

    def missing() -> int:
        told = git(place, "rev-list", "--objects", "--all", "--missing=print")
        return sum(line.startswith("?") for line in told.splitlines())

    everything = missing()
    assert everything >= len(FILES)
    dict(mirror.read(mirror.tip(), ["a.yml", "deep/b.yml"]))
    assert missing() == everything - 2
    git(bare, "branch", "gone", "main")
    mirror.fetch()
    assert mirror.tip("gone")
    git(bare, "branch", "-D", "gone")
    again = open_mirror(bare.as_uri(), mirrors)
    again.fetch()
    with pytest.raises(UserError, match=r"gone: no branch of file://.*; there are main"):
        again.tip("gone")
    shutil.rmtree(place)
    assert open_mirror(bare.as_uri(), mirrors).tip() == mirror.resolve("main")


def test_a_mirror_that_could_not_be_made_is_not_there(bare: Path, tmp_path: Path) -> None:
    """The next who asks for it makes it."""
    mirrors = tmp_path / "mirrors"
    moved = tmp_path / "moved.git"
    bare.rename(moved)
    with pytest.raises(OutsideError, match="git ls-remote"):
        open_mirror(bare.as_uri(), mirrors)
    assert not list(mirrors.glob("*.git*/HEAD"))
    moved.rename(bare)
    assert open_mirror(bare.as_uri(), mirrors).branch() == "main"


@pytest.mark.parametrize(
    "address",
    ["--upload-pack=touch x", "--upload-pack=x:y", "ext::sh -c 'touch x'", "relative/path", ""],
)
def test_what_is_no_address_is_refused(address: str, tmp_path: Path) -> None:
    """Least of all one that would run a command."""
    with pytest.raises(UserError, match=r"is not an address.*write https://"):
        open_mirror(address, tmp_path)


SECRET = "hunter2-token"


@pytest.mark.parametrize(
    "address, shown",
    [
        (f"https://user:{SECRET}@127.0.0.1:1/a/b.git", "https://127.0.0.1:1/a/b.git"),
        (f"https://{SECRET}@127.0.0.1:1/a", "https://127.0.0.1:1/a"),
        (f"https://user:{SECRET}%2Fx@127.0.0.1:1/a@b", "https://127.0.0.1:1/a@b"),
        (f"https://user:/{SECRET}@127.0.0.1:1/a", "https://127.0.0.1:1/a"),
        (f"ssh://git:{SECRET}@127.0.0.1:1/a", "ssh://git@127.0.0.1:1/a"),
    ],
)
def test_no_credentials_are_shown_or_kept(address: str, shown: str, tmp_path: Path) -> None:
    """Neither in the address, nor in what went wrong, nor in a file of a mirror."""
    git(tmp_path, "init", "-q", "mine")
    git(tmp_path / "mine", "remote", "add", "origin", address)
    repository = open_repository(tmp_path / "mine")
    assert repository.url == shown
    for asked in (repository.fetch, repository.branch, lambda: repository.pushed("x")):
        with pytest.raises(OutsideError) as raised:
            asked()
        assert SECRET not in str(raised.value)
    with pytest.raises(OutsideError) as raised:
        open_mirror(address, tmp_path / "mirrors")
    assert SECRET not in str(raised.value)
    assert SECRET not in cleaned(f"cannot log in at {address}", address)


def test_a_password_that_is_known_is_not_shown_alone() -> None:
    """Git may take an address apart in what it says; a name is not taken for a password."""
    told = cleaned(f"no {SECRET}/x for user", f"https://user:{SECRET}%2Fx@host/a")
    assert told == "no … for user"
    assert cleaned(f"no {SECRET}", f"https://{SECRET}@host/a") == "no …"


def test_addresses_without_credentials_stay_as_they_are() -> None:
    """Ports, an `@` in a path, and who logs in by a key are none."""
    for address in (
        "https://host:8080/a@b",
        "https://[::1]:80/a@b",
        "git@host:a/b.git",
        "ssh://git@host/a",
        "/srv/a@b.git",
        "file:///srv/a",
    ):
        assert without_login(address) == address


def test_the_environment_does_not_say_which_repository_is_meant(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of one repository may ask about another."""
    (tmp_path / "other").mkdir()
    other = remote(tmp_path / "other", {"o": ""})
    monkeypatch.setenv("GIT_DIR", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert "a.yml" in open_repository(bare).files("main")


def test_no_question_is_asked_and_a_time_is_kept(bare: Path, tmp_path: Path) -> None:
    """A remote that never answers is given up, with everything that was started for it."""
    mine = clone(bare, tmp_path / "mine")
    script = tmp_path / "never.sh"
    script.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/new\nmv {tmp_path}/new {tmp_path}/pid\nexec sleep 600\n"
    )
    script.chmod(0o755)
    asked = Git(mine)
    # On a busy machine the remote has not even begun after half a second.
    for limit in (0.5, 5.0, 50.0):
        with pytest.raises(OutsideError, match=rf"git fetch did not answer within {limit:g} s"):
            asked.run("-c", f"core.sshCommand={script}", "fetch", "ssh://x/y", timeout_s=limit)
        if (tmp_path / "pid").exists():
            break
    pid = int((tmp_path / "pid").read_text())
    until(lambda: is_gone(pid), "what was started for it is gone")


def test_what_is_in_no_repository_is_refused(tmp_path: Path) -> None:
    """Or is no folder at all."""
    with pytest.raises(UserError, match="not in a Git repository"):
        open_repository(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        open_repository(tmp_path / "nowhere")


def test_names_that_are_not_there_are_refused(repository: GitRepository) -> None:
    """With what may have been meant."""
    tip = repository.tip()
    with pytest.raises(UserError, match=r"mian: no branch of .*; did you mean \"main\""):
        repository.tip("mian")
    for revision in ("nothing", "--all", "", "main:a.yml"):
        with pytest.raises(UserError, match="no commit of"):
            repository.resolve(revision)
    with pytest.raises(UserError, match=r"a.yaml: no file in .*a.yml"):
        list(repository.read(tip, ["a.yaml"]))
    with pytest.raises(UserError, match="no commit of"):
        repository.files("0" * 40)


def test_it_is_a_repository(bare: Path) -> None:
    """As the port has it."""
    asked: Repository = open_repository(bare)
    assert asked.url == ""


def test_a_path_of_a_remote_is_one_from_anywhere(tmp_path: Path) -> None:
    """Git sees it from the top of the clone; the caller is elsewhere."""
    git(tmp_path, "init", "-q", "clones/mine")
    git(tmp_path / "clones/mine", "remote", "add", "origin", "../../a.git")
    assert open_repository(tmp_path / "clones/mine").url == str(tmp_path / "a.git")
