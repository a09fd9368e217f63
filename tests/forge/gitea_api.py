"""Gitea's `/api/v1`, as much of it as is used here, held to Gitea's own description."""

from typing import Any

from tests.forge.described import Described
from tests.forge.rest import AbsentError, Call, Reply, Vendor, project_of
from tests.forge.world import USERS, Comment, CommitStatus, ConflictError, Project, Request, User

ABSENT = "The target couldn't be found."


def _project(call: Call) -> Project:
    return project_of(call, f"{call.parts['owner']}/{call.parts['repo']}", ABSENT)


def _request(call: Call) -> Request:
    found = _project(call).requests.get(call.number("index"))
    if found is None:
        raise AbsentError(ABSENT)
    return found


def user(each: User) -> dict[str, Any]:
    """A person."""
    return {
        "id": each.id,
        "login": each.login,
        "full_name": each.name,
        "email": each.email,
        "visibility": "public",
    }


def label(project: Project, name: str) -> dict[str, Any]:
    """A label."""
    return {"id": project.label(name), "name": name, "color": "8c8c8c"}


def request(call: Call, project: Project, each: Request) -> dict[str, Any]:
    """A pull request."""
    merged = each.state == "merged"
    # A branch that is gone is named by where its last commit is kept.
    ref = each.source if project.tip(each.source) else f"refs/pull/{each.number}/head"
    return {
        "id": 1000 + each.number,
        "number": each.number,
        "html_url": f"{call.site}/{project.path}/pulls/{each.number}",
        "state": "open" if each.state == "open" else "closed",
        "title": each.title,
        "body": each.body,
        "user": user(each.author),
        "labels": [label(project, name) for name in each.labels],
        "head": {
            "label": each.source,
            "ref": ref,
            "sha": project.head(each),
            "repo_id": 1 + each.fork,
        },
        "base": {
            "label": each.target,
            "ref": each.target,
            "sha": project.tip(each.target),
            "repo_id": 1,
        },
        "merged": merged,
        "mergeable": not project.conflicts(each),
        "merged_at": each.ended if merged else None,
        "closed_at": each.ended or None,
        "merge_commit_sha": each.merged_as or None,
        "merged_by": user(each.ended_by) if merged and each.ended_by is not None else None,
    }


def comment(each: Comment) -> dict[str, Any]:
    """A comment."""
    return {"id": each.id, "body": each.body, "user": user(each.author)}


def status(each: CommitStatus) -> dict[str, Any]:
    """What a check said; its state is called otherwise than where it is given."""
    return {
        "id": each.id,
        "status": each.state,
        "context": each.name,
        "description": each.text,
        "target_url": each.url,
        "creator": user(each.author),
    }


def list_requests(call: Call) -> Reply:
    project = _project(call)
    wanted = call.query.get("state", "open")
    found = [
        each
        for each in project.requests.values()
        if wanted in ("all", "open" if each.state == "open" else "closed")
    ]
    return GITEA.paged(call, found[::-1], lambda each: request(call, project, each))


def open_request(call: Call) -> Reply:
    project, body = _project(call), call.body
    if not (project.has_branch(body["head"]) and project.has_branch(body["base"])):
        raise AbsentError(ABSENT)
    try:
        made = project.open(
            call.user, body["title"], body.get("body", ""), body["head"], body["base"]
        )
    except ConflictError as error:
        told = f"pull request already exists for these targets [issue: {error}]"
        return Reply({"message": told}, 409)
    made.labels = _named(project, body.get("labels", []))
    return Reply(request(call, project, made), 201)


def _named(project: Project, ids: list[int]) -> list[str]:
    """Labels by their numbers; numbers of none are passed over."""
    return [name for name, number in project.labels.items() if number in ids]


def get_request(call: Call) -> Reply:
    return Reply(request(call, _project(call), _request(call)))


def change_request(call: Call) -> Reply:
    project, found, body = _project(call), _request(call), call.body
    found.title = body.get("title") or found.title
    found.body = body.get("body", found.body)
    found.target = body.get("base") or found.target
    if body.get("state") == "closed":
        project.decline(found.number, call.user)
    return Reply(request(call, project, found), 201)


def merge_request(call: Call) -> Reply:
    _project(call).merge(_request(call).number, call.user)
    return Reply()


def of_commit(call: Call) -> Reply:
    """Only what was merged as this very commit, as the vendor has it."""
    project = _project(call)
    for each in project.requests.values():
        if each.merged_as == call.parts["sha"]:
            return Reply(request(call, project, each))
    raise AbsentError("pull request does not exist")


def list_comments(call: Call) -> Reply:
    return Reply([comment(each) for each in _request(call).comments])


def make_comment(call: Call) -> Reply:
    made = _project(call).say(call.user, _request(call).number, call.body["body"])
    return Reply(comment(made), 201)


def change_comment(call: Call) -> Reply:
    found = _project(call).comment(call.number("id"))[1]
    found.body = call.body["body"]
    return Reply(comment(found))


def drop_comment(call: Call) -> Reply:
    where, found = _project(call).comment(call.number("id"))
    where.comments.remove(found)
    return Reply(None, 204)


def list_labels(call: Call) -> Reply:
    project = _project(call)
    return GITEA.paged(call, [label(project, name) for name in project.labels])


def make_label(call: Call) -> Reply:
    project = _project(call)
    project.label(call.body["name"])
    return Reply(label(project, call.body["name"]), 201)


def labels_of_all(call: Call) -> Reply:
    raise AbsentError("user redirect does not exist")


def labels_on(call: Call) -> Reply:
    project = _project(call)
    return Reply([label(project, name) for name in _request(call).labels])


def add_labels(call: Call) -> Reply:
    project, found = _project(call), _request(call)
    more = _named(project, call.body["labels"])
    found.labels = list(dict.fromkeys([*found.labels, *more]))
    return Reply([label(project, name) for name in found.labels])


def drop_label(call: Call) -> Reply:
    project, found = _project(call), _request(call)
    gone = _named(project, [call.number("id")])
    found.labels = [name for name in found.labels if name not in gone]
    return Reply(None, 204)


def make_status(call: Call) -> Reply:
    project, sha, body = _project(call), call.parts["sha"], call.body
    if not project.has_commit(sha):
        raise AbsentError(ABSENT)
    made = project.state_of(
        call.user, sha, body["context"], body["state"], body["description"], body["target_url"]
    )
    return Reply(status(made), 201)


def list_statuses(call: Call) -> Reply:
    """By whole seconds, the newest first; within one of them, as a real one, the oldest."""
    found = _project(call).statuses.get(call.parts["ref"], [])
    return GITEA.paged(call, [status(each) for each in found])


def search_users(call: Call) -> Reply:
    words = call.query.get("q", "").lower()
    found = [
        user(each)
        for each in USERS
        if words in each.login or words in each.name.lower() or words in each.email
    ]
    return Reply({"ok": True, "data": found})


def me(call: Call) -> Reply:
    return Reply(user(call.user))


_R = "/repos/{owner}/{repo}"
_I = f"{_R}/issues/{{index}}"
GITEA = Vendor(
    "/api/v1",
    {
        "GET /user": me,
        "GET /users/search": search_users,
        "GET /orgs/{org}/labels": labels_of_all,
        f"GET {_R}/pulls": list_requests,
        f"POST {_R}/pulls": open_request,
        f"GET {_R}/pulls/{{index}}": get_request,
        f"PATCH {_R}/pulls/{{index}}": change_request,
        f"POST {_R}/pulls/{{index}}/merge": merge_request,
        f"GET {_R}/commits/{{sha}}/pull": of_commit,
        f"GET {_R}/commits/{{ref}}/statuses": list_statuses,
        f"POST {_R}/statuses/{{sha}}": make_status,
        f"GET {_I}/comments": list_comments,
        f"POST {_I}/comments": make_comment,
        f"PATCH {_R}/issues/comments/{{id}}": change_comment,
        f"DELETE {_R}/issues/comments/{{id}}": drop_comment,
        f"GET {_R}/labels": list_labels,
        f"POST {_R}/labels": make_label,
        f"GET {_I}/labels": labels_on,
        f"POST {_I}/labels": add_labels,
        f"DELETE {_I}/labels/{{id}}": drop_label,
    },
    Described("gitea"),
    size="limit",
    most=50,
)
