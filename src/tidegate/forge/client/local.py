"""A forge inside a bare repository, without a server: for demos, tests and small sites.

Merge requests, comments and check results are kept in the repository itself (`local_state.py`); the
offered commit is `refs/merge-requests/N/head`, as on GitLab. Any number of processes may use it at
once. There are no accounts: every user who may write to the repository may do anything.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from tidegate.forge.client.comment_mark import is_marked, mark, marked
from tidegate.forge.client.local_state import (
    LocalForgeState,
    LocalForgeStore,
    StoredRequest,
    StoredStatus,
    request_file,
    status_file,
)
from tidegate.forge.client.people import called
from tidegate.forge.client.vendor import together
from tidegate.forge.port import CheckStatus, MergeRequest, Proposal, RequestState, StatusState
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, shown

# After so many conflicts with other writers in a row, we give up.
TRIES_MAX = 50


class LocalForge:
    """The merge requests of one repository on this machine."""

    def __init__(self, folder: Path) -> None:
        self._store = LocalForgeStore(folder)
        self._folder = folder

    async def find(
        self,
        *,
        source: str = "",
        title: str = "",
        label: str = "",
        state: RequestState | None = RequestState.OPEN,
    ) -> tuple[MergeRequest, ...]:
        """Search all of them."""
        return await asyncio.to_thread(self._find, source, title, label, state)

    async def get(self, number: int) -> MergeRequest | None:
        """One by its number."""
        return await asyncio.to_thread(self._get, number)

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The merged request that added a commit to its target, or was merged as it."""
        return await asyncio.to_thread(self._of_commit, sha)

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open one; one that is open between the same branches is updated instead."""
        return await asyncio.to_thread(self._open, proposal)

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Change title, description and target of one; its labels stay."""
        return await asyncio.to_thread(
            self._change, number, f"update {number}", lambda kept, _: _worded(kept, proposal)
        )

    async def comment(self, number: int, key: str, text: str) -> None:
        """Comment, in place of the earlier comment with the same key."""
        mark(key)  # raises UserError if it is not a key
        what = f"comment on {number}"
        await asyncio.to_thread(
            self._change, number, what, lambda kept, _: _commented(kept, key, text)
        )

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add labels, and remove others."""

        def labelled(kept: StoredRequest, _: LocalForgeState) -> StoredRequest:
            left = tuple(label for label in kept.labels if label not in remove)
            return replace(kept, labels=_joined(left, add))

        await asyncio.to_thread(self._change, number, f"label {number}", labelled)

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Set the result of a check of a commit; the last one of each check counts."""
        await asyncio.to_thread(self._status, sha, status)

    async def checks(self, sha: str) -> StatusState | None:
        """What the checks of a commit say together."""
        return together(each.state for each in await self.statuses(sha))

    async def mention(self, name: str, email: str) -> str:
        """The name: there are no accounts."""
        return called(name, email)

    async def close(self) -> None:
        """Nothing is held open."""

    async def merge(self, number: int) -> MergeRequest:
        """Merge one as a forge would, with a merge commit; OutsideError if it conflicts."""
        return await asyncio.to_thread(self._merge, number)

    async def decline(self, number: int) -> MergeRequest:
        """Close one without merging it; one that is not open stays as it is."""

        def declined(kept: StoredRequest, state: LocalForgeState) -> StoredRequest:
            if kept.state is not RequestState.OPEN:
                return kept
            return replace(kept, state=RequestState.CLOSED, head=_head(kept, state))

        return await asyncio.to_thread(self._change, number, f"close {number}", declined)

    async def statuses(self, sha: str) -> tuple[CheckStatus, ...]:
        """The results of checks of a commit."""
        state = await asyncio.to_thread(self._store.read)
        kept = await asyncio.to_thread(self._store.statuses, state, sha)
        return tuple(
            CheckStatus(name=name, state=each.state, text=each.text, url=each.url)
            for name, each in kept.items()
        )

    async def comments(self, number: int) -> tuple[str, ...]:
        """The comments of a merge request, in order."""
        state = await asyncio.to_thread(self._store.read)
        return tuple(text for _, text in self._kept(state, number).comments)

    def _get(self, number: int) -> MergeRequest | None:
        state = self._store.read()
        found = state.requests.get(number)
        if found is None:
            return None
        return replace(self._seen(found, state), conflicts=self._conflicts(found, state))

    def _conflicts(self, kept: StoredRequest, state: LocalForgeState) -> bool:
        head, onto = _head(kept, state), state.branch(kept.target)
        if kept.state is not RequestState.OPEN or not head or not onto:
            return False
        return self._store.conflict(onto, head)

    def _find(
        self, source: str, title: str, label: str, state: RequestState | None
    ) -> tuple[MergeRequest, ...]:
        now = self._store.read()
        found = [
            kept
            for kept in now.requests.values()
            if (not source or kept.source == source)
            and (not title or kept.title == title)
            and (not label or label in kept.labels)
            and (state is None or kept.state is state)
        ]
        found.sort(key=lambda kept: -kept.number)
        return tuple(self._seen(each, now) for each in found)

    def _of_commit(self, sha: str) -> MergeRequest | None:
        keeping = self._store
        state = keeping.read()
        for kept in state.requests.values():
            if kept.state is not RequestState.MERGED:
                continue
            came = keeping.holds(sha, kept.head) and not keeping.holds(sha, kept.onto)
            if came or sha == kept.merged_as:
                return self._seen(kept, state)
        return None

    def _open(self, proposal: Proposal) -> MergeRequest:
        def opened(state: LocalForgeState) -> StoredRequest:
            for branch in (proposal.source, proposal.target):
                if not state.branch(branch):
                    raise OutsideError(f"{self._folder}: no branch {shown(branch)}; push it first")
            for kept in state.requests.values():
                between = (kept.source, kept.target) == (proposal.source, proposal.target)
                if between and kept.state is RequestState.OPEN:
                    return _worded(kept, proposal)
            return StoredRequest(
                number=max(state.requests, default=0) + 1,
                title=proposal.title,
                description=proposal.description,
                source=proposal.source,
                target=proposal.target,
                labels=_joined((), proposal.labels),
                onto=state.branch(proposal.target),
            )

        return self._settle(f"open {proposal.source}", opened)

    def _merge(self, number: int) -> MergeRequest:
        keeping = self._store
        if keeping.git.line("rev-parse", "--is-bare-repository") != "true":
            raise OutsideError(f"{self._folder} is not bare: merge in its working tree")
        for _ in range(TRIES_MAX):
            state = keeping.read()
            kept = self._kept(state, number)
            if kept.state is not RequestState.OPEN:
                raise _not_open(kept)
            head, onto = _head(kept, state), state.branch(kept.target)
            made = self._merged(kept, head, onto)
            merged = replace(kept, state=RequestState.MERGED, head=head, onto=onto, merged_as=made)
            moves = [f"update refs/heads/{kept.target} {made} {onto}"]
            if keeping.write(state, request_file(number), merged, f"merge {number}", moves):
                return self._seen(merged, state)
        raise self._too_busy()

    def _merged(self, kept: StoredRequest, head: str, onto: str) -> str:
        """The merge commit of two branches; the target itself if it has the commits already."""
        keeping = self._store
        if not head or not onto:
            raise OutsideError(f"{self._folder}: a branch of {kept.number} is gone")
        if keeping.holds(head, onto):
            return onto
        done = keeping.git.run("merge-tree", "--write-tree", onto, head)
        if done.returncode == 1:
            said = f"{kept.source} does not merge into {kept.target}: they conflict"
            raise OutsideError(f"{self._folder}: {said}")
        if done.returncode:
            said = keeping.git.said(done)
            raise OutsideError(f"{self._folder}: git merge-tree (2.38 or newer): {said}")
        message = f"Merge branch '{kept.source}' into '{kept.target}'\n\n{kept.title}\n"
        tree = done.stdout.decode().split()[0]
        parents = ("-p", onto, "-p", head)
        return keeping.made("commit-tree", tree, *parents, given=message.encode())

    def _status(self, sha: str, status: CheckStatus) -> None:
        commit = self._store.tip(sha)
        if not commit:
            raise OutsideError(f"{self._folder}: no commit {shown(sha)}; push it first")
        stored = StoredStatus(status.state, status.text, status.url)
        for _ in range(TRIES_MAX):
            state = self._store.read()
            known = self._store.statuses(state, commit)
            if known.get(status.name) == stored:
                return
            all_of = {**known, status.name: stored}
            why = f"{status.name} of {commit[:12]} is {status.state.value}"
            if self._store.write(state, status_file(commit), all_of, why):
                return
        raise self._too_busy()

    def _change(
        self,
        number: int,
        why: str,
        change: Callable[[StoredRequest, LocalForgeState], StoredRequest],
    ) -> MergeRequest:
        return self._settle(why, lambda state: change(self._kept(state, number), state))

    def _settle(
        self, why: str, work_out: Callable[[LocalForgeState], StoredRequest]
    ) -> MergeRequest:
        """Write a merge request computed from the state; again if the state changed meanwhile."""
        for _ in range(TRIES_MAX):
            state = self._store.read()
            kept = work_out(state)
            head = _head(kept, state)
            moves = [f"update refs/merge-requests/{kept.number}/head {head}"] if head else []
            is_so = state.requests.get(kept.number) == kept
            if is_so or self._store.write(state, request_file(kept.number), kept, why, moves):
                return self._seen(kept, state)
        raise self._too_busy()

    def _kept(self, state: LocalForgeState, number: int) -> StoredRequest:
        if number not in state.requests:
            problem = Problem(str(self._folder), f"no merge request {number}", "find it first")
            raise UserError((problem,))
        return state.requests[number]

    def _seen(self, kept: StoredRequest, state: LocalForgeState) -> MergeRequest:
        return MergeRequest(
            number=kept.number,
            url=f"{self._folder.absolute().as_uri()}#{kept.number}",
            title=kept.title,
            description=kept.description,
            source=kept.source,
            target=kept.target,
            state=kept.state,
            labels=kept.labels,
            head=_head(kept, state),
            merged_as=kept.merged_as,
            ended_by=kept.ended_by,
        )

    def _too_busy(self) -> OutsideError:
        return OutsideError(f"{self._folder}: others wrote {TRIES_MAX} times meanwhile; try again")


def _head(kept: StoredRequest, state: LocalForgeState) -> str:
    """The newest commit of its branch; of one that is not open, the last one."""
    return state.branch(kept.source) if kept.state is RequestState.OPEN else kept.head


def _worded(kept: StoredRequest, proposal: Proposal) -> StoredRequest:
    if kept.state is not RequestState.OPEN:
        raise _not_open(kept)
    return replace(
        kept,
        title=proposal.title,
        description=proposal.description,
        target=proposal.target,
        labels=_joined(kept.labels, proposal.labels),
    )


def _commented(kept: StoredRequest, key: str, text: str) -> StoredRequest:
    said = (key, marked(key, text))
    comments = list(kept.comments)
    for i, (_, body) in enumerate(comments):
        if is_marked(body, key):
            comments[i] = said
            return replace(kept, comments=tuple(comments))
    return replace(kept, comments=(*comments, said))


def _joined(labels: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*labels, *more)))


def _not_open(kept: StoredRequest) -> OutsideError:
    return OutsideError(f"merge request {kept.number} is {kept.state.value}, not open")
