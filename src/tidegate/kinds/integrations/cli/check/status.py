"""What a check says of a commit, on the forge: pending while it runs, then how it ended."""

import asyncio
from types import TracebackType

import click

from tidegate.forge.port import CheckStatus, StatusState
from tidegate.kinds.integrations.cli.revisions import Revisions
from tidegate.model.errors import OutsideError

NAME = "tidegate/check"
# The shortest a forge takes.
TEXT_MAX = 140
_STATES = {0: StatusState.SUCCESS, 1: StatusState.FAILURE}


class CommitStatus:
    """The status of the commit a check looks at; an end without a result is an error."""

    def __init__(self, compared: Revisions) -> None:
        from tidegate.wiring import repositories

        commit = compared.comparison.head.commit
        if commit is None:
            raise click.UsageError("--status needs --head REF: a working tree is no commit")
        self._commit = commit
        self._settings = compared.settings
        self._url = repositories.repository(compared.folder).url
        # Whether the forge has heard how it ended.
        self._ended = False
        self.lost = False

    def __enter__(self) -> "CommitStatus":
        self._set(StatusState.PENDING, "trying what the change does")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report an error if the check did not end."""
        if not self._ended:
            self._set(StatusState.ERROR, f"could not be tried: {str(error) or 'interrupted'}")

    def end(self, code: int, words: str) -> None:
        """Tell how it ended."""
        self._set(_STATES.get(code, StatusState.ERROR), words)
        self._ended = True

    def _set(self, state: StatusState, words: str) -> None:
        text = words if len(words) <= TEXT_MAX else f"{words[: TEXT_MAX - 1]}…"
        try:
            asyncio.run(self._tell(CheckStatus(name=NAME, state=state, text=text)))
            self.lost = False
        except OutsideError as error:
            self.lost = True
            click.echo(f"warning: the commit's status is not set: {error}", err=True)

    async def _tell(self, status: CheckStatus) -> None:
        from tidegate.cli.merge_requests.proposal_options import forge_of

        forge = forge_of(self._settings, self._url)
        try:
            await forge.status(self._commit, status)
        finally:
            await forge.close()
