"""A remote that is a folder on this machine: what it has is read from its files, by no process.

To ask it through git takes two processes, to fetch nothing from it three. Where anything is unusual
(refs that are hidden, another program that answers, other refs than branches and tags to fetch, or
what only git can read), git is asked.
"""

from functools import cached_property
from pathlib import Path

from tidegate.git.client.ref_files import home_of, ref_files
from tidegate.git.client.repository_settings import RepositorySettings
from tidegate.git.remote_url import is_path, remote_of

_HEADS, _TAGS = "refs/heads", "refs/tags"
_ALL_TAGS = "+refs/tags/*:refs/tags/*"
# A setting of a repository that keeps refs from those who ask.
_HIDES = "hiderefs"


class NearRemote:
    """The remote of a repository; at another place than this machine it answers nothing."""

    def __init__(
        self, folder: Path, remote: str, address: str, settings: RepositorySettings
    ) -> None:
        self._folder = folder
        self._remote = remote
        self._address = address
        self._settings = settings

    def refs(self, *places: str) -> dict[str, str] | None:
        """The commits of its refs at and below some places, by their names; None: ask git."""
        if self._home is None or self._hides(self._home):
            return None
        return ref_files(self._home, *places)

    def is_fetched(self) -> bool:
        """Whether all its branches and tags are here, and no branch that it has not."""
        if not self._is_plainly_fetched or (there := self.refs(_HEADS, _TAGS)) is None:
            return False
        tracked = f"refs/remotes/{self._remote}"
        home = home_of(self._folder)
        here = ref_files(home, tracked, _TAGS, but=f"{tracked}/HEAD") or {}
        tags = {name: commit for name, commit in there.items() if name.startswith(f"{_TAGS}/")}
        return _below(_HEADS, there) == _below(tracked, here) and tags.items() <= here.items()

    @cached_property
    def _home(self) -> Path | None:
        """Where the files of the remote are; None: elsewhere, or another program answers."""
        if not self._address or self._settings.value(f"remote.{self._remote}.uploadpack"):
            return None
        if is_path(self._address):
            return home_of(self._folder / self._address)
        if self._address.startswith("file://"):
            return home_of(Path(remote_of(self._address).path))
        return None

    @cached_property
    def _is_plainly_fetched(self) -> bool:
        """Whether a fetch is about all branches, and tags as ever."""
        branches = f"+{_HEADS}/*:refs/remotes/{self._remote}/*"
        fetched = self._settings.values(f"remote.{self._remote}.fetch")
        odd = self._settings.value(f"remote.{self._remote}.tagopt")
        return not odd and fetched in ([branches], [branches, _ALL_TAGS])

    def _hides(self, home: Path) -> bool:
        try:
            theirs = (home / "config").read_bytes().lower()
        except OSError:
            return True
        return _HIDES.encode() in theirs or self._settings.has_any(f".{_HIDES}")


def _below(place: str, refs: dict[str, str]) -> dict[str, str]:
    start = f"{place}/"
    return {name[len(start) :]: refs[name] for name in refs if name.startswith(start)}
