"""A repository on Gitea or Forgejo, over their REST interface (`/api/v1`)."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote, urlsplit

import msgspec

from tidegate.forge.client.comment_mark import is_marked, marked
from tidegate.forge.client.people import called, told_by_address
from tidegate.forge.client.session import ForgeAccess, ForgeLimits, ForgeSession
from tidegate.forge.client.vendor import (
    Anything,
    OwnComment,
    between,
    declined,
    matching,
    say,
    together,
)
from tidegate.forge.port import CheckStatus, MergeRequest, Proposal, RequestState, StatusState
from tidegate.model.errors import OutsideError
from tidegate.model.problem import shown

REMEDY = (
    "check forgeToken (or GITEA_TOKEN): it needs write:repository, write:issue and read:user, "
    "and its user Write on the repository"
)
# At most so many closed requests are searched for the head of a branch.
LOOKED_MAX = 500
# The colour of a label that is created because a request needs it.
_COLOR = "#8c8c8c"
_SAID = frozenset(each.value for each in StatusState)


class _Label(msgspec.Struct):
    id: int
    name: str


class _Branch(msgspec.Struct):
    # The name of the branch, also once it is gone.
    label: str
    sha: str
    repo_id: int


class _User(msgspec.Struct):
    id: int
    login: str
    full_name: str = ""
    email: str = ""


class _Request(msgspec.Struct):
    number: int
    html_url: str
    title: str
    state: str
    merged: bool
    head: _Branch
    base: _Branch
    body: str = ""
    labels: tuple[_Label, ...] | None = None
    merge_commit_sha: str | None = None
    merged_by: _User | None = None
    mergeable: bool = True


class _Status(msgspec.Struct):
    context: str
    status: str
    # Higher for one that was said later; the order of the answer is by whole seconds.
    id: int


class _Comment(msgspec.Struct):
    id: int
    body: str
    user: _User | None = None


class _Found(msgspec.Struct):
    data: tuple[_User, ...] | None = None


class GiteaForge:
    """The pull requests of a repository."""

    def __init__(
        self, api: str, project: str, token: str, limits: ForgeLimits | None = None
    ) -> None:
        headers = {"Authorization": f"token {token}"} if token else {}
        access = ForgeAccess(api, headers, REMEDY, size="limit")
        self._http = ForgeSession(access, token, limits or ForgeLimits(page=50))
        owner, _, name = project.partition("/")
        self._owner = owner
        self._repo = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"
        self._host = urlsplit(api).hostname or ""

    async def find(
        self,
        *,
        source: str = "",
        title: str = "",
        label: str = "",
        state: RequestState | None = RequestState.OPEN,
    ) -> tuple[MergeRequest, ...]:
        """Read all of a state: the API has no narrower filter."""
        asked = {None: "all", RequestState.OPEN: "open"}.get(state, "closed")
        return await matching(self._all(asked), source, title, label, state)

    async def get(self, number: int) -> MergeRequest | None:
        """One by its number; who closed it without a merge is not said."""
        found = await self._http.get(f"{self._repo}/pulls/{number}", _Request)
        return None if found is None else _seen(found)

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The request merged as this commit, or a recent one whose branch ended with it."""
        path = f"{self._repo}/commits/{quote(sha, safe='')}/pull"
        found = await self._http.get(path, _Request)
        if found is not None:
            return _seen(found)
        looked = 0
        async for each in self._all("closed"):
            if each.head == sha and each.state is RequestState.MERGED:
                return each
            looked += 1
            if looked >= LOOKED_MAX:
                break
        return None

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open one; one that is open between the same branches is updated instead."""
        path = f"{self._repo}/pulls"
        ids = await self._ids(proposal.labels)
        body = {
            "title": proposal.title,
            "body": proposal.description,
            "head": proposal.source,
            "base": proposal.target,
            "labels": [ids[label] for label in proposal.labels],
        }

        async def make() -> MergeRequest:
            answer = await self._http.ask("POST", path, body=body, again=False)
            if answer.status == 409 and (known := await between(self, proposal)) is not None:
                return await self.update(known.number, proposal)
            asked = f"POST {path} for the branch {proposal.source}"
            return _seen(self._http.read(answer, _Request, asked))

        return await self._http.once(make, lambda: between(self, proposal))

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Change title, description and target of one; its labels stay."""
        body = {
            "title": proposal.title,
            "body": proposal.description,
            "base": proposal.target,
        }
        path = f"{self._repo}/pulls/{number}"
        changed = _seen(await self._http.send("PATCH", path, body, _Request))
        missing = tuple(label for label in proposal.labels if label not in changed.labels)
        if not missing:
            return changed
        await self.label(number, add=missing)
        return msgspec.structs.replace(changed, labels=(*changed.labels, *missing))

    async def comment(self, number: int, key: str, text: str) -> None:
        """Write one comment for a key."""
        path = f"{self._repo}/issues/{number}/comments"

        async def ours() -> list[OwnComment]:
            me = await self._http.me()
            found = await self._http.get(path, list[_Comment])
            return [
                OwnComment(each.id, each.body)
                for each in found or ()
                if each.user is not None and each.user.id == me and is_marked(each.body, key)
            ]

        change = ("PATCH", f"{self._repo}/issues/comments")
        await say(self._http, ours, marked(key, text), path, change)

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add labels, and remove others; a missing label is created."""
        path = f"{self._repo}/issues/{number}/labels"
        if add:
            ids = await self._ids(add)
            body = {"labels": [ids[name] for name in add]}
            await self._http.send("POST", path, body, list[_Label])
        if remove:
            on_it = await self._http.get(path, list[_Label])
            for label in on_it or ():
                if label.name in remove:
                    answer = await self._http.ask("DELETE", f"{path}/{label.id}")
                    if answer.status not in (204, 404, 422):
                        raise self._http.refused(answer, f"DELETE {path}/{label.id}")

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Set the result of a check of a commit; the last one of each check counts."""
        body = {
            "state": status.state.value,
            "context": status.name,
            "description": status.text,
            "target_url": status.url,
        }
        path = f"{self._repo}/statuses/{quote(sha, safe='')}"
        answer = await self._http.ask("POST", path, body=body)
        if answer.status == 404:
            raise OutsideError(f"{self._host}: no commit {shown(sha)} in {self._repo}; {REMEDY}")
        self._http.read(answer, Anything, f"POST {path}")

    async def checks(self, sha: str) -> StatusState | None:
        """What checks of a commit say, the newest of each name; a warning is no failure."""
        path = f"{self._repo}/commits/{quote(sha, safe='')}/statuses"
        last: dict[str, _Status] = {}
        async for each in self._http.pages(path, _Status, {}):
            last[each.context] = max(last.get(each.context, each), each, key=lambda one: one.id)
        states = (each.status for each in last.values())
        return together(StatusState(s) if s in _SAID else StatusState.SUCCESS for s in states)

    async def decline(self, number: int) -> MergeRequest:
        """Close one, if it is open."""
        path = f"{self._repo}/pulls/{number}"

        async def close() -> MergeRequest:
            return _seen(await self._http.send("PATCH", path, {"state": "closed"}, _Request))

        return await declined(self, number, close)

    async def mention(self, name: str, email: str) -> str:
        """The account with this address, or the only one with this name."""
        if account := told_by_address(email, self._host):
            return f"@{account}"
        for asked, field in ((email, "email"), (name, "full_name")):
            if not asked:
                continue
            found = await self._http.get("/users/search", _Found, {"q": asked, "limit": 50})
            known = [
                user.login
                for user in (found.data if found is not None else None) or ()
                if getattr(user, field).lower() == asked.lower()
            ]
            if len(known) == 1:
                return f"@{known[0]}"
        return called(name, email)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _all(self, state: str) -> AsyncIterator[MergeRequest]:
        """All of a state that come from a branch of the repository itself."""
        async for each in self._http.pages(f"{self._repo}/pulls", _Request, {"state": state}):
            if each.head.repo_id == each.base.repo_id:
                yield _seen(each)

    async def _ids(self, names: Sequence[str]) -> dict[str, int]:
        """The ids of labels of the repository or its organisation; missing ones are created."""
        if not names:
            return {}
        found = await self._known()
        path = f"{self._repo}/labels"
        for name in names:
            if name in found:
                continue

            async def make(name: str = name) -> int:
                body = {"name": name, "color": _COLOR}
                return (await self._http.send("POST", path, body, _Label, again=False)).id

            async def find(name: str = name) -> int | None:
                return (await self._known()).get(name)

            found[name] = await self._http.once(make, find)
        return found

    async def _known(self) -> dict[str, int]:
        found: dict[str, int] = {}
        # Only organisations have labels for all repositories, and not every token may read them.
        of_all = f"/orgs/{quote(self._owner, safe='')}/labels"
        answer = await self._http.ask("GET", of_all, {"limit": 50})
        if answer.status not in (403, 404):
            for label in self._http.read(answer, list[_Label], f"GET {of_all}"):
                found[label.name] = label.id
        async for label in self._http.pages(f"{self._repo}/labels", _Label, {}):
            found[label.name] = label.id
        return found


def _seen(found: _Request) -> MergeRequest:
    state = RequestState.OPEN if found.state == "open" else RequestState.CLOSED
    if found.merged:
        state = RequestState.MERGED
    return MergeRequest(
        number=found.number,
        url=found.html_url,
        title=found.title,
        description=found.body,
        source=found.head.label,
        target=found.base.label,
        state=state,
        labels=tuple(label.name for label in found.labels or ()),
        head=found.head.sha,
        merged_as=(found.merge_commit_sha or "") if found.merged else "",
        ended_by=found.merged_by.login if found.merged_by is not None else "",
        conflicts=not found.mergeable and state is RequestState.OPEN,
    )
