"""One commit on a parent, written straight into the repository: no checkout, no index, no hook.

`git fast-import` reads the change from a pipe and moves one branch at the end, or does nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from tidegate.git.client.process import Git, decoded
from tidegate.git.client.tree_entries import TreeEntry, listing, with_changes
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, shown

_QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
# Where a commit waits for its signature.
_UNSIGNED = "refs/tidegate/unsigned"
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
# Author and committer lines end in seconds and a time zone.
_WHEN = re.compile(r" \d+ [+-]\d{4}$")


def commit_files(
    git: Git,
    branch: str,
    onto: tuple[str, Mapping[str, TreeEntry]],
    files: Mapping[str, bytes | None],
    message: str,
    now: str,
) -> str:
    """The commit of these files on a parent with its listing; what the branch is `now` at if so."""
    parent, entries = onto
    _check(entries, files, parent)
    who = _identity(git, "AUTHOR"), _identity(git, "COMMITTER")
    wanted = with_changes(entries, files, parent)
    if now and _is_it(git, now, parent, wanted, message, who):
        return now
    signs = git.line("config", "--type=bool", "commit.gpgSign") == "true"
    ref = f"{_UNSIGNED}/{branch}" if signs else f"refs/heads/{branch}"
    stream = b"".join(_stream(ref, parent, entries, files, message, who))
    making = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
    made = decoded(git.ask(*_NO_HOOKS, *making, given=stream)).strip()
    return _signed(git, branch, parent, made, message) if signs else made


def _signed(git: Git, branch: str, parent: str, made: str, message: str) -> str:
    """The same commit with the user's signature, which fast-import cannot give; the branch at it.

    Where it cannot be signed there is none: the branch stays as it was.
    """
    tree = f"{made}^{{tree}}"
    output = git.ask("commit-tree", "-S", tree, "-p", parent, given=message.encode())
    signed = decoded(output).strip()
    moves = f"update refs/heads/{branch} {signed}\ndelete {_UNSIGNED}/{branch}\n"
    git.ask(*_NO_HOOKS, "update-ref", "--stdin", given=moves.encode())
    return signed


def _check(
    entries: Mapping[str, TreeEntry], files: Mapping[str, bytes | None], parent: str
) -> None:
    """Only regular files are written, and only those that are named change."""
    problems = Problems()
    known = sorted(entries)
    for path in files:
        parts = path.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
            problems.add(shown(path), "no path of a file", "write one from the root: `a/b.yml`")
        elif any(part.lower() == ".git" for part in parts):
            problems.add(path, "is Git's own", "leave it alone")
        elif _is_folder(known, path):
            problems.add(path, "is a folder", "name a file")
        elif path in entries and not entries[path].regular:
            problems.add(path, "is a link or another repository", "change what it leads to")
        elif file := next((each for each in above if each in entries or each in files), ""):
            problems.add(path, f"would be below {file}, which is not a folder", "name another file")
    if problems.errors:
        raise UserError(tuple(problems.errors), where=parent[:10])


def _is_folder(known: list[str], path: str) -> bool:
    """Whether some path, of all in order, is below another."""
    at = bisect_left(known, f"{path}/")
    return at < len(known) and known[at].startswith(f"{path}/")


def _identity(git: Git, role: str) -> str:
    """Author and committer from the settings of git; none is guessed from the host name."""
    done = git.run("-c", "user.useConfigOnly=true", "var", f"GIT_{role}_IDENT")
    if done.returncode:
        remedy = "run `git config --global user.name NAME` and `… user.email ADDRESS`"
        raise UserError((Problem("git", "does not know who commits", remedy),))
    return decoded(done.stdout).strip()


def _is_it(
    git: Git,
    commit: str,
    parent: str,
    wanted: Mapping[str, TreeEntry],
    message: str,
    who: tuple[str, str],
) -> bool:
    """Whether a commit is what would be made, apart from when."""
    head, _, said = decoded(git.ask("cat-file", "commit", commit)).partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.split("\n")]
    known = {name: value for name, value in fields if name in ("author", "committer")}
    parents = [value for name, value in fields if name == "parent"]
    names = dict(zip(("author", "committer"), who, strict=True))
    return (
        parents == [parent]
        and said == message
        and all(_WHEN.sub("", known[each]) == _WHEN.sub("", names[each]) for each in names)
        and listing(git, commit) == wanted
    )


def _stream(
    ref: str,
    parent: str,
    entries: Mapping[str, TreeEntry],
    files: Mapping[str, bytes | None],
    message: str,
    who: tuple[str, str],
) -> Iterator[bytes]:
    """The change in the words of fast-import."""
    yield f"feature done\ncommit {ref}\nmark :1\n".encode()
    yield _bytes(f"author {who[0]}\ncommitter {who[1]}\n")
    yield _data(message.encode())
    yield f"from {parent}\n".encode()
    for path, content in sorted(files.items()):
        name = "".join(_QUOTED.get(letter, letter) for letter in path)
        if content is not None:
            mode = entries[path].mode if path in entries else "100644"
            yield _bytes(f'M {mode} inline "{name}"\n') + _data(content)
        elif path in entries:
            yield _bytes(f'D "{name}"\n')
    yield b"\nget-mark :1\ndone\n"


def _bytes(line: str) -> bytes:
    return line.encode(errors="surrogateescape")


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
