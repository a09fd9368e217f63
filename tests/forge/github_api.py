"""GitHub's `/api/v3`, as much of it as is used here, held to GitHub's own description."""

from typing import Any

from tests.forge.bare import git
from tests.forge.described import Described
from tests.forge.rest import AbsentError, Call, Reply, Vendor, project_of
from tests.forge.world import USERS, Comment, CommitStatus, ConflictError, Project, Request, User


def _project(call: Call) -> Project:
    return project_of(call, f"{call.parts['owner']}/{call.parts['repo']}", "Not Found")


def _request(call: Call, name: str = "pull_number") -> Request:
    found = _project(call).requests.get(call.number(name))
    if found is None:
        raise AbsentError("Not Found")
    return found


def _unfit(message: str, *errors: dict[str, str]) -> Reply:
    return Reply({"message": message, "errors": list(errors)}, 422)


def user(each: User) -> dict[str, Any]:
    """A person."""
    return {"login": each.login, "id": each.id, "type": "User", "name": each.name}


def label(project: Project, name: str) -> dict[str, Any]:
    """A label; the newest descriptions have who archived it, those in `schemas/` not yet."""
    found = {"id": project.label(name), "name": name, "color": "ededed", "default": False}
    return {**found, "archived_at": None, "archived_by": None}


def request(call: Call, project: Project, each: Request) -> dict[str, Any]:
    """A pull request."""
    owner = project.path.partition("/")[0]
    merged = each.state == "merged"
    # One that is open has the commit of a merge that was tried.
    tried = each.merged_as if merged else project.tip("main")
    return {
        "id": 1000 + each.number,
        "number": each.number,
        "html_url": f"{call.site}/{project.path}/pull/{each.number}",
        "state": "open" if each.state == "open" else "closed",
        "title": each.title,
        "body": each.body or None,
        "user": user(each.author),
        "labels": [label(project, name) for name in each.labels],
        "head": {
            "label": f"{'somebody' if each.fork else owner}:{each.source}",
            "ref": each.source,
            "sha": project.head(each),
            "user": user(each.author),
        },
        "base": {
            "label": f"{owner}:{each.target}",
            "ref": each.target,
            "sha": project.tip(each.target),
            "user": user(each.author),
        },
        "created_at": each.opened,
        "updated_at": each.ended or each.opened,
        "closed_at": each.ended or None,
        "merged_at": each.ended if merged else None,
        "merged": merged,
        "merge_commit_sha": tried,
    }


def comment(each: Comment) -> dict[str, Any]:
    """A comment."""
    return {"id": each.id, "body": each.body, "user": user(each.author)}


def status(each: CommitStatus) -> dict[str, Any]:
    """What a check said."""
    return {
        "id": each.id,
        "state": each.state,
        "context": each.name,
        "description": each.text or None,
        "target_url": each.url or None,
        "creator": user(each.author),
    }


def list_requests(call: Call) -> Reply:
    project, query = _project(call), call.query
    owner, _, branch = query.get("head", "").partition(":")
    found = [
        each
        for each in project.requests.values()
        if query.get("state", "open") in ("all", "open" if each.state == "open" else "closed")
        # Without an owner the filter is ignored, as the vendor has it.
        and (
            not branch or ((owner, branch) == (call.parts["owner"], each.source) and not each.fork)
        )
        and query.get("base", each.target) == each.target
    ]
    found = found if query.get("direction") == "asc" else found[::-1]
    return GITHUB.paged(call, found, lambda each: request(call, project, each))


def open_request(call: Call) -> Reply:
    project, body = _project(call), call.body
    for field in ("head", "base"):
        if not project.has_branch(body[field]):
            told = {"resource": "PullRequest", "field": field, "code": "invalid"}
            return _unfit("Validation Failed", told)
    try:
        made = project.open(
            call.user, body["title"], body.get("body") or "", body["head"], body["base"]
        )
    except ConflictError:
        exists = f"A pull request already exists for {call.parts['owner']}:{body['head']}."
        return _unfit(
            "Validation Failed", {"resource": "PullRequest", "code": "custom", "message": exists}
        )
    return Reply(request(call, project, made), 201)


def get_request(call: Call) -> Reply:
    found = _request(call)
    merged_by = found.ended_by if found.state == "merged" else None
    # Lists do not have it.
    project = _project(call)
    by = {"merged_by": user(merged_by) if merged_by is not None else None}
    able = {"mergeable": not project.conflicts(found) if found.state == "open" else None}
    return Reply({**request(call, project, found), **by, **able})


def change_request(call: Call) -> Reply:
    project, found, body = _project(call), _request(call), call.body
    found.title = body.get("title", found.title)
    found.body = body.get("body", found.body)
    found.target = body.get("base", found.target)
    if body.get("state") == "closed":
        project.decline(found.number, call.user)
    return Reply(request(call, project, found))


def merge_request(call: Call) -> Reply:
    found = _project(call).merge(_request(call).number, call.user)
    return Reply({"sha": found.merged_as, "merged": True, "message": "merged"})


def of_commit(call: Call) -> Reply:
    project, sha = _project(call), call.parts["commit_sha"]
    if not project.has_commit(sha):
        return _unfit(f"No commit found for SHA: {sha}")
    found = project.of_commit(sha)
    return GITHUB.paged(call, [request(call, project, each) for each in found])


def list_commits(call: Call) -> Reply:
    project, author = _project(call), call.query.get("author", "")
    listed = git(project.folder, "log", "--format=%H%x09%an%x09%ae", "main").splitlines()
    found = []
    for line in listed:
        sha, name, email = line.split("\t")
        known = next((each for each in USERS if each.email == email), None)
        if author in ("", email, known.login if known is not None else ""):
            who = {"name": name, "email": email, "date": "2026-01-01T00:00:00Z"}
            by = user(known) if known is not None else None
            found.append({"sha": sha, "commit": {"author": who}, "author": by})
    return GITHUB.paged(call, found)


def list_comments(call: Call) -> Reply:
    return GITHUB.paged(call, [comment(each) for each in _request(call, "issue_number").comments])


def make_comment(call: Call) -> Reply:
    number = _request(call, "issue_number").number
    return Reply(comment(_project(call).say(call.user, number, call.body["body"])), 201)


def change_comment(call: Call) -> Reply:
    found = _project(call).comment(call.number("comment_id"))[1]
    found.body = call.body["body"]
    return Reply(comment(found))


def drop_comment(call: Call) -> Reply:
    where, found = _project(call).comment(call.number("comment_id"))
    where.comments.remove(found)
    return Reply(None, 204)


def list_labels(call: Call) -> Reply:
    project, found = _project(call), _request(call, "issue_number")
    return GITHUB.paged(call, [label(project, name) for name in found.labels])


def add_labels(call: Call) -> Reply:
    project, found = _project(call), _request(call, "issue_number")
    found.labels = list(dict.fromkeys([*found.labels, *call.body["labels"]]))
    return Reply([label(project, name) for name in found.labels])


def drop_label(call: Call) -> Reply:
    project, found = _project(call), _request(call, "issue_number")
    if call.parts["name"] not in found.labels:
        raise AbsentError("Label does not exist")
    found.labels.remove(call.parts["name"])
    return Reply([label(project, name) for name in found.labels])


def make_status(call: Call) -> Reply:
    project, sha, body = _project(call), call.parts["sha"], call.body
    if not project.has_commit(sha):
        return _unfit(f"No commit found for SHA: {sha}")
    text, url = body.get("description") or "", body.get("target_url") or ""
    name = body.get("context", "default")
    made = project.state_of(call.user, sha, name, body["state"], text, url)
    return Reply(status(made), 201)


def list_statuses(call: Call) -> Reply:
    found = _project(call).statuses.get(call.parts["ref"], [])
    return GITHUB.paged(call, [status(each) for each in reversed(found)])


def list_check_runs(call: Call) -> Reply:
    """Those that a test notes under the name of a check and the word of the vendor."""
    found = _project(call).runs.get(call.parts["ref"], {})
    runs = [
        {
            "id": at,
            "name": name,
            "head_sha": call.parts["ref"],
            "status": "completed" if ended else "in_progress",
            "conclusion": ended or None,
            "app": None,
            "output": {"title": None, "summary": None, "text": None, "annotations_count": 0},
        }
        for at, (name, ended) in enumerate(found.items(), 1)
    ]
    return Reply({"total_count": len(runs), "check_runs": runs})


def search_users(call: Call) -> Reply:
    words, _, field = call.query["q"].partition(" in:")
    found = [each for each in USERS if field == "email" and words == each.email]
    items = [{**user(each), "score": 1.0} for each in found]
    return Reply({"total_count": len(items), "incomplete_results": False, "items": items})


def me(call: Call) -> Reply:
    return Reply(user(call.user))


_R = "/repos/{owner}/{repo}"
_I = f"{_R}/issues/{{issue_number}}"
GITHUB = Vendor(
    "/api/v3",
    {
        "GET /user": me,
        "GET /search/users": search_users,
        f"GET {_R}/pulls": list_requests,
        f"POST {_R}/pulls": open_request,
        f"GET {_R}/pulls/{{pull_number}}": get_request,
        f"PATCH {_R}/pulls/{{pull_number}}": change_request,
        f"PUT {_R}/pulls/{{pull_number}}/merge": merge_request,
        f"GET {_R}/commits": list_commits,
        f"GET {_R}/commits/{{commit_sha}}/pulls": of_commit,
        f"GET {_R}/commits/{{ref}}/statuses": list_statuses,
        f"GET {_R}/commits/{{ref}}/check-runs": list_check_runs,
        f"POST {_R}/statuses/{{sha}}": make_status,
        f"GET {_I}/comments": list_comments,
        f"POST {_I}/comments": make_comment,
        f"PATCH {_R}/issues/comments/{{comment_id}}": change_comment,
        f"DELETE {_R}/issues/comments/{{comment_id}}": drop_comment,
        f"GET {_I}/labels": list_labels,
        f"POST {_I}/labels": add_labels,
        f"DELETE {_I}/labels/{{name}}": drop_label,
    },
    Described("github"),
)
