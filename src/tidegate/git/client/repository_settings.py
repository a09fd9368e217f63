"""The settings of one repository, as git reads them from all files: by one process, once."""

from functools import cached_property

from tidegate.git.client.process import Git, decoded


class RepositorySettings:
    """Settings by their names, as `git config --list` writes them."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def value(self, name: str) -> str:
        """The value that counts; empty: it is not set."""
        values = self._every.get(name)
        return values[-1].strip() if values else ""

    def fetched_remotes(self) -> list[str]:
        """Remotes whose branches are fetched into remote-tracking ones."""
        first, last = "remote.", ".fetch"
        named = (each for each in self._every if each.startswith(first) and each.endswith(last))
        return [each[len(first) : -len(last)] for each in named if self.value(each)]

    def address(self, remote: str) -> str:
        """Where a remote is fetched from."""
        urls = self._every.get(f"remote.{remote}.url", [])
        rewritten = any(each.endswith(".insteadof") for each in self._every)
        if len(urls) == 1 and urls[0] and not rewritten:
            return urls[0].strip()
        return self._git.line("remote", "get-url", remote)

    @cached_property
    def _every(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        listed = self._git.run("config", "--list", "-z")
        output = "" if listed.returncode else decoded(listed.stdout)
        for entry in output.split("\0")[:-1]:
            name, _, value = entry.partition("\n")
            found.setdefault(name, []).append(value)
        return found
