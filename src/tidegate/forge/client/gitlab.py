"""A project on GitLab, over its REST interface (`/api/v4`)."""

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

import msgspec

from tidegate.forge.client.comment_mark import is_marked, marked
from tidegate.forge.client.people import called, told_by_address
from tidegate.forge.client.session import ForgeAccess, ForgeLimits, ForgeSession, shortened
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

REMEDY = "check forgeToken (or GITLAB_TOKEN): it needs the scope api, and Developer on the project"
_STATES = {
    RequestState.OPEN: "opened",
    RequestState.MERGED: "merged",
    RequestState.CLOSED: "closed",
    None: "all",
}
# One that is being merged is called locked for a moment.
_READ = {"merged": RequestState.MERGED, "closed": RequestState.CLOSED}
_STATUSES = {
    StatusState.PENDING: "pending",
    StatusState.SUCCESS: "success",
    StatusState.FAILURE: "failed",
    StatusState.ERROR: "failed",
}
# A job that waits for a person, or that was skipped, says nothing of the commit.
_SAID = {
    "success": StatusState.SUCCESS,
    "failed": StatusState.FAILURE,
    "canceled": StatusState.ERROR,
    "manual": None,
    "skipped": None,
}
_STATUS_TEXT_MAX = 255


class _User(msgspec.Struct):
    id: int
    username: str
    name: str = ""


class _Request(msgspec.Struct):
    iid: int
    web_url: str
    title: str
    source_branch: str
    target_branch: str
    state: str
    description: str | None = None
    labels: tuple[str, ...] = ()
    sha: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    merged_at: str | None = None
    source_project_id: int | None = None
    target_project_id: int | None = None
    merge_user: _User | None = None
    # What `merge_user` was called before GitLab 14.7.
    merged_by: _User | None = None
    closed_by: _User | None = None
    has_conflicts: bool = False


class _Status(msgspec.Struct):
    status: str
    allow_failure: bool = False


class _Note(msgspec.Struct):
    id: int
    body: str
    author: _User
    system: bool = False


class GitlabForge:
    """The merge requests of a project."""

    def __init__(
        self, api: str, project: str, token: str, limits: ForgeLimits | None = None
    ) -> None:
        headers = {"PRIVATE-TOKEN": token} if token else {}
        self._http = ForgeSession(ForgeAccess(api, headers, REMEDY), token, limits or ForgeLimits())
        self._project = f"/projects/{quote(project, safe='')}"
        self._host = urlsplit(api).hostname or ""

    async def find(
        self,
        *,
        source: str = "",
        title: str = "",
        label: str = "",
        state: RequestState | None = RequestState.OPEN,
    ) -> tuple[MergeRequest, ...]:
        """Search by branch or by words of the title, and keep exact matches."""
        query = {"state": _STATES[state], "order_by": "created_at", "sort": "desc", "scope": "all"}
        if source:
            query["source_branch"] = source
        elif title:
            query |= {"search": title, "in": "title"}
        if label:
            query["labels"] = label
        pages = self._http.pages(self._requests(), _Request, query)
        own = (
            _seen(each) async for each in pages if each.source_project_id == each.target_project_id
        )
        return await matching(own, source, title, label, state)

    async def get(self, number: int) -> MergeRequest | None:
        """One by its number."""
        found = await self._http.get(self._requests(number), _Request)
        return None if found is None else _seen(found)

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The first merged request that has a commit."""
        path = f"{self._project}/repository/commits/{quote(sha, safe='')}/merge_requests"
        found = await self._http.get(path, list[_Request], {"per_page": 100})
        merged = [each for each in found or () if each.state == "merged"]
        merged.sort(key=lambda each: (each.merged_at or "~", each.iid))
        return _seen(merged[0]) if merged else None

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open one; one that is open between the same branches is updated instead."""
        # GitLab would accept a branch that was never pushed.
        branch = f"{self._project}/repository/branches/{quote(proposal.source, safe='')}"
        if await self._http.get(branch, Anything) is None:
            raise OutsideError(
                f"{self._host}: no branch {shown(proposal.source)}; push it first, or {REMEDY}"
            )
        body = {
            "source_branch": proposal.source,
            "target_branch": proposal.target,
            "title": proposal.title,
            "description": proposal.description,
            "labels": ",".join(proposal.labels),
        }

        async def make() -> MergeRequest:
            answer = await self._http.ask("POST", self._requests(), body=body, again=False)
            if answer.status == 409 and (known := await between(self, proposal)) is not None:
                return await self.update(known.number, proposal)
            return _seen(self._http.read(answer, _Request, f"POST {self._requests()}"))

        return await self._http.once(make, lambda: between(self, proposal))

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Change title, description and target of one; its labels stay."""
        body = {
            "title": proposal.title,
            "description": proposal.description,
            "target_branch": proposal.target,
            "add_labels": ",".join(proposal.labels),
        }
        return _seen(await self._http.send("PUT", self._requests(number), body, _Request))

    async def comment(self, number: int, key: str, text: str) -> None:
        """Write one note for a key."""
        path = f"{self._requests(number)}/notes"

        async def ours() -> list[OwnComment]:
            me = await self._http.me()
            query = {"sort": "asc", "order_by": "created_at"}
            return [
                OwnComment(note.id, note.body)
                async for note in self._http.pages(path, _Note, query)
                if not note.system and note.author.id == me and is_marked(note.body, key)
            ]

        await say(self._http, ours, marked(key, text), path, ("PUT", path))

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add labels, and remove others."""
        if not add and not remove:
            return
        body = {"add_labels": ",".join(add), "remove_labels": ",".join(remove)}
        await self._http.send("PUT", self._requests(number), body, _Request)

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Set the result of a check of a commit."""
        path = f"{self._project}/statuses/{quote(sha, safe='')}"
        body = {
            "state": _STATUSES[status.state],
            "name": status.name,
            "description": shortened(status.text, _STATUS_TEXT_MAX),
        }
        if status.url:
            body["target_url"] = status.url
        answer = await self._http.ask("POST", path, body=body)
        waits = status.state is StatusState.PENDING and b"Cannot transition status" in answer.body
        if answer.status == 400 and waits:
            return  # it is pending already
        self._http.read(answer, Anything, f"POST {path}")

    async def checks(self, sha: str) -> StatusState | None:
        """What the jobs and outside checks of a commit say, the newest of each name."""
        path = f"{self._project}/repository/commits/{quote(sha, safe='')}/statuses"
        said = [
            _SAID.get(each.status, StatusState.PENDING)
            async for each in self._http.pages(path, _Status, {})
            if not (each.allow_failure and each.status in ("failed", "canceled"))
        ]
        return together(each for each in said if each is not None)

    async def decline(self, number: int) -> MergeRequest:
        """Close one, if it is open."""
        body = {"state_event": "close"}

        async def close() -> MergeRequest:
            return _seen(await self._http.send("PUT", self._requests(number), body, _Request))

        return await declined(self, number, close)

    async def mention(self, name: str, email: str) -> str:
        """The account with this address, or the only member of the project with this name."""
        if account := told_by_address(email, self._host):
            return f"@{account}"
        if email:
            found = await self._http.get("/users", list[_User], {"search": email})
            if found is not None and len(found) == 1:
                return f"@{found[0].username}"
        if name:
            path = f"{self._project}/members/all"
            members = self._http.pages(path, _User, {"query": name})
            of_name = {each.username async for each in members if each.name == name}
            if len(of_name) == 1:
                return f"@{of_name.pop()}"
        return called(name, email)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _requests(self, number: int | None = None) -> str:
        return f"{self._project}/merge_requests" + (f"/{number}" if number is not None else "")


def _seen(found: _Request) -> MergeRequest:
    state = _READ.get(found.state, RequestState.OPEN)
    # Where branches are merged by fast-forward there is no commit of the merge.
    merged_as = found.merge_commit_sha or found.squash_commit_sha or found.sha or ""
    return MergeRequest(
        number=found.iid,
        url=found.web_url,
        title=found.title,
        description=found.description or "",
        source=found.source_branch,
        target=found.target_branch,
        state=state,
        labels=found.labels,
        head=found.sha or "",
        merged_as=merged_as if state is RequestState.MERGED else "",
        ended_by=_ended_by(found, state),
        conflicts=found.has_conflicts and state is RequestState.OPEN,
    )


def _ended_by(found: _Request, state: RequestState) -> str:
    """The account that merged or closed a request."""
    if state is RequestState.OPEN:
        return ""
    merged = state is RequestState.MERGED
    user = (found.merge_user or found.merged_by) if merged else found.closed_by
    return user.username if user is not None else ""
