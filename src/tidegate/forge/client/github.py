"""A repository on GitHub, over its REST interface."""

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

REMEDY = (
    "check forgeToken (or GITHUB_TOKEN, GH_TOKEN): it needs to write pull requests, issues and "
    "commit statuses of the repository"
)
VERSION = "2022-11-28"
# Of a request that names what is not there: an unknown commit, two branches with one request.
_UNFIT = 422
_STATUS_TEXT_MAX = 140
# How a finished check run ended; one that is neutral, skipped or stale says nothing.
_CONCLUDED = {
    "success": StatusState.SUCCESS,
    "failure": StatusState.FAILURE,
    "timed_out": StatusState.FAILURE,
    "cancelled": StatusState.ERROR,
    "action_required": StatusState.PENDING,
}


class _Label(msgspec.Struct):
    name: str


class _Branch(msgspec.Struct):
    ref: str
    sha: str
    # `owner:branch`; the owner is that of a fork where the branch is in one.
    label: str | None = None


class _User(msgspec.Struct):
    login: str
    id: int
    type: str = ""


class _Request(msgspec.Struct):
    number: int
    html_url: str
    title: str
    state: str
    head: _Branch
    base: _Branch
    body: str | None = None
    labels: tuple[_Label, ...] = ()
    merged_at: str | None = None
    merge_commit_sha: str | None = None
    # Only where one request is asked for: lists do not have it.
    merged_by: _User | None = None
    # None: not worked out yet, or a list.
    mergeable: bool | None = None


class _Status(msgspec.Struct):
    context: str
    state: str


class _CheckRun(msgspec.Struct):
    status: str
    conclusion: str | None = None


class _CheckRuns(msgspec.Struct):
    check_runs: tuple[_CheckRun, ...] = ()


class _Comment(msgspec.Struct):
    id: int
    body: str | None = None
    user: _User | None = None


class _Commit(msgspec.Struct):
    author: _User | msgspec.UnsetType | None = msgspec.UNSET


class _Found(msgspec.Struct):
    items: tuple[_User, ...] = ()


class GithubForge:
    """The pull requests of a repository."""

    def __init__(
        self, api: str, project: str, token: str, limits: ForgeLimits | None = None
    ) -> None:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = ForgeSession(ForgeAccess(api, headers, REMEDY), token, limits or ForgeLimits())
        self._owner, _, name = project.partition("/")
        self._repo = f"/repos/{quote(self._owner, safe='')}/{quote(name, safe='')}"
        self._host = (urlsplit(api).hostname or "").removeprefix("api.")

    async def find(
        self,
        *,
        source: str = "",
        title: str = "",
        label: str = "",
        state: RequestState | None = RequestState.OPEN,
    ) -> tuple[MergeRequest, ...]:
        """Search by branch, or read all of a state, and keep exact matches."""
        asked = {None: "all", RequestState.OPEN: "open"}.get(state, "closed")
        query = {"state": asked, "sort": "created", "direction": "desc"}
        if source:
            query["head"] = f"{self._owner}:{source}"
        pages = self._http.pages(f"{self._repo}/pulls", _Request, query)
        own = (_seen(each) async for each in pages if _owner(each.head) == _owner(each.base))
        return await matching(own, source, title, label, state)

    async def get(self, number: int) -> MergeRequest | None:
        """One by its number; who closed it without a merge is not said."""
        found = await self._http.get(f"{self._repo}/pulls/{number}", _Request)
        return None if found is None else _seen(found)

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The first merged request that has a commit."""
        path = f"{self._repo}/commits/{quote(sha, safe='')}/pulls"
        answer = await self._http.ask("GET", path, {"per_page": 100})
        if answer.status in (404, 409, _UNFIT):
            return None
        found = self._http.read(answer, list[_Request], f"GET {path}")
        merged = [each for each in found if each.merged_at]
        merged.sort(key=lambda each: (each.merged_at or "", each.number))
        return _seen(merged[0]) if merged else None

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open one; one that is open between the same branches is updated instead."""
        path = f"{self._repo}/pulls"
        body = {
            "title": proposal.title,
            "body": proposal.description,
            "head": proposal.source,
            "base": proposal.target,
        }

        async def make() -> MergeRequest:
            answer = await self._http.ask("POST", path, body=body, again=False)
            if answer.status == _UNFIT and (known := await between(self, proposal)) is not None:
                return await self.update(known.number, proposal)
            asked = f"POST {path} for the branch {proposal.source}"
            return _seen(self._http.read(answer, _Request, asked))

        made = await self._http.once(make, lambda: between(self, proposal))
        return await self._labelled(made, proposal.labels)

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Change title, description and target of one; its labels stay."""
        body = {
            "title": proposal.title,
            "body": proposal.description,
            "base": proposal.target,
        }
        path = f"{self._repo}/pulls/{number}"
        changed = _seen(await self._http.send("PATCH", path, body, _Request))
        return await self._labelled(changed, proposal.labels)

    async def comment(self, number: int, key: str, text: str) -> None:
        """Write one comment for a key."""
        path = f"{self._repo}/issues/{number}/comments"

        async def ours() -> list[OwnComment]:
            # An installed app may not read its own account.
            me = await self._http.me(unknown=(403, 404))
            return [
                OwnComment(each.id, each.body or "")
                async for each in self._http.pages(path, _Comment, {})
                if _by(each.user, me) and is_marked(each.body or "", key)
            ]

        change = ("PATCH", f"{self._repo}/issues/comments")
        await say(self._http, ours, marked(key, text), path, change)

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add labels, and remove others."""
        path = f"{self._repo}/issues/{number}/labels"
        if add:
            await self._http.send("POST", path, {"labels": list(add)}, list[_Label])
        for name in remove:
            one = f"{path}/{quote(name, safe='')}"
            answer = await self._http.ask("DELETE", one)
            if answer.status != 404:
                self._http.read(answer, list[_Label], f"DELETE {one}")

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Set the result of a check of a commit; the last one of each check counts."""
        body = {
            "state": status.state.value,
            "context": status.name,
            "description": shortened(status.text, _STATUS_TEXT_MAX),
        }
        if status.url:
            body["target_url"] = status.url
        path = f"{self._repo}/statuses/{quote(sha, safe='')}"
        await self._http.send("POST", path, body, Anything)

    async def checks(self, sha: str) -> StatusState | None:
        """What statuses and check runs of a commit say, the newest of each name."""
        path = f"{self._repo}/commits/{quote(sha, safe='')}"
        last: dict[str, StatusState] = {}
        async for each in self._http.pages(f"{path}/statuses", _Status, {}):
            last.setdefault(each.context, StatusState(each.state))
        # A commit with more than a page of check runs is not read to the end.
        runs = await self._http.get(f"{path}/check-runs", _CheckRuns, {"per_page": 100})
        said = [_run_state(each) for each in (runs.check_runs if runs is not None else ())]
        return together((*last.values(), *(each for each in said if each is not None)))

    async def decline(self, number: int) -> MergeRequest:
        """Close one, if it is open."""
        path = f"{self._repo}/pulls/{number}"

        async def close() -> MergeRequest:
            return _seen(await self._http.send("PATCH", path, {"state": "closed"}, _Request))

        return await declined(self, number, close)

    async def mention(self, name: str, email: str) -> str:
        """The account with this address: by the address itself, by commits here, by its profile.

        Names are not searched for: there are too many accounts with the same name.
        """
        if account := told_by_address(email, self._host):
            return f"@{account}"
        if not email or any(character in email for character in ' "'):
            return called(name, email)
        path = f"{self._repo}/commits"
        answer = await self._http.ask("GET", path, {"author": email, "per_page": 1})
        if answer.status == 200:
            for commit in self._http.read(answer, list[_Commit], f"GET {path}"):
                if isinstance(commit.author, _User):
                    return f"@{commit.author.login}"
        found = await self._http.get("/search/users", _Found, {"q": f"{email} in:email"})
        if found is not None and len(found.items) == 1:
            return f"@{found.items[0].login}"
        return called(name, email)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _labelled(self, request: MergeRequest, labels: Sequence[str]) -> MergeRequest:
        missing = [label for label in labels if label not in request.labels]
        if not missing:
            return request
        await self.label(request.number, add=missing)
        return msgspec.structs.replace(request, labels=(*request.labels, *missing))


def _by(user: _User | None, me: int) -> bool:
    """Whether an account is ours; an app that does not know its own id matches any bot."""
    if user is None:
        return False
    return user.id == me if me else user.type == "Bot"


def _run_state(run: _CheckRun) -> StatusState | None:
    """What a check run says; None: nothing."""
    if run.status != "completed":
        return StatusState.PENDING
    return _CONCLUDED.get(run.conclusion or "")


def _owner(branch: _Branch) -> str:
    return (branch.label or "").partition(":")[0]


def _seen(found: _Request) -> MergeRequest:
    state = RequestState.OPEN if found.state == "open" else RequestState.CLOSED
    if found.merged_at:
        state = RequestState.MERGED
    return MergeRequest(
        number=found.number,
        url=found.html_url,
        title=found.title,
        description=found.body or "",
        source=found.head.ref,
        target=found.base.ref,
        state=state,
        labels=tuple(label.name for label in found.labels),
        head=found.head.sha,
        # Of one that is open, it is what a merge would be.
        merged_as=(found.merge_commit_sha or "") if state is RequestState.MERGED else "",
        ended_by=found.merged_by.login if found.merged_by is not None else "",
        conflicts=found.mergeable is False and state is RequestState.OPEN,
    )
