"""GitLab's `/api/v4`, as much of it as is used here."""

from typing import Any

from tests.forge.rest import AbsentError, Call, Reply, Vendor, project_of
from tests.forge.world import USERS, Comment, CommitStatus, ConflictError, Project, Request, User

STATES = {"open": "opened", "merged": "merged", "closed": "closed"}


def _project(call: Call) -> Project:
    """By its path or by its number; there is one."""
    named = call.parts["id"]
    path = next(iter(call.world.projects)) if named == "1" else named
    return project_of(call, path, "404 Project Not Found")


def _request(call: Call) -> Request:
    found = _project(call).requests.get(call.number("iid"))
    if found is None:
        raise AbsentError("404 Not found")
    return found


def user(each: User) -> dict[str, Any]:
    """A person, as others see them."""
    return {"id": each.id, "username": each.login, "name": each.name, "state": "active"}


def request(call: Call, project: Project, each: Request) -> dict[str, Any]:
    """A merge request."""
    merged = each.state == "merged"
    by = user(each.ended_by) if each.ended_by is not None else None
    return {
        "id": 1000 + each.number,
        "iid": each.number,
        "project_id": 1,
        "title": each.title,
        "description": each.body,
        "state": STATES[each.state],
        "source_project_id": 2 if each.fork else 1,
        "target_project_id": 1,
        "source_branch": each.source,
        "target_branch": each.target,
        "labels": list(each.labels),
        "sha": project.head(each) or None,
        "merge_commit_sha": each.merged_as or None,
        "squash_commit_sha": None,
        "author": user(each.author),
        "web_url": f"{call.site}/{project.path}/-/merge_requests/{each.number}",
        "created_at": each.opened,
        "merged_at": each.ended if merged else None,
        "merge_user": by if merged else None,
        "closed_by": by if each.state == "closed" else None,
        "has_conflicts": project.conflicts(each),
    }


def note(each: Comment) -> dict[str, Any]:
    """A note."""
    return {"id": each.id, "body": each.body, "author": user(each.author), "system": False}


def status(each: CommitStatus, sha: str) -> dict[str, Any]:
    """What a check said."""
    return {
        "id": each.id,
        "sha": sha,
        "name": each.name,
        "status": each.state,
        "description": each.text or None,
        "target_url": each.url or None,
        "allow_failure": False,
        "author": user(each.author),
    }


def get_project(call: Call) -> Reply:
    project = _project(call)
    found = {"id": 1, "path_with_namespace": project.path, "default_branch": "main"}
    return Reply({**found, "name": project.path.rpartition("/")[2]})


def list_requests(call: Call) -> Reply:
    project, query = _project(call), call.query
    found = [
        each
        for each in project.requests.values()
        if query.get("state", "all") in ("all", STATES[each.state])
        and query.get("source_branch", each.source) == each.source
        and query.get("target_branch", each.target) == each.target
        and _mentions(each.title, query.get("search", ""))
        and set(_names(query.get("labels", ""))) <= set(each.labels)
    ]
    found = found if query.get("sort") == "asc" else found[::-1]
    return GITLAB.paged(call, found, lambda each: request(call, project, each))


def _mentions(title: str, words: str) -> bool:
    """As GitLab searches: every word of some length is somewhere in it."""
    return all(word.lower() in title.lower() for word in words.split() if len(word) >= 3)


def open_request(call: Call) -> Reply:
    project, body = _project(call), call.body
    try:
        made = project.open(
            call.user,
            body["title"],
            body.get("description") or "",
            body["source_branch"],
            body["target_branch"],
        )
    except ConflictError as error:
        told = f"Another open merge request already exists for this source branch: {error}"
        return Reply({"message": [told]}, 409)
    made.labels = _names(body.get("labels", ""))
    return Reply(request(call, project, made), 201)


def _names(labels: Any) -> list[str]:
    """Labels as they are given: parted by commas, or as a list."""
    listed = labels.split(",") if isinstance(labels, str) else labels
    return [name.strip() for name in listed if name.strip()]


def get_request(call: Call) -> Reply:
    return Reply(request(call, _project(call), _request(call)))


def change_request(call: Call) -> Reply:
    project, found, body = _project(call), _request(call), call.body
    found.title = body.get("title", found.title)
    found.body = body.get("description", found.body)
    found.target = body.get("target_branch", found.target)
    if "labels" in body:
        found.labels = _names(body["labels"])
    gone = _names(body.get("remove_labels", ""))
    added = _names(body.get("add_labels", ""))
    found.labels = [each for each in dict.fromkeys([*found.labels, *added]) if each not in gone]
    if body.get("state_event") == "close":
        project.decline(found.number, call.user)
    return Reply(request(call, project, found))


def merge_request(call: Call) -> Reply:
    project, found = _project(call), _request(call)
    try:
        project.merge(found.number, call.user)
    except ConflictError:
        return Reply({"message": "405 Method Not Allowed"}, 405)
    return Reply(request(call, project, found))


def of_commit(call: Call) -> Reply:
    project = _project(call)
    if not project.has_commit(call.parts["sha"]):
        raise AbsentError("404 Commit Not Found")
    found = project.of_commit(call.parts["sha"])
    return GITLAB.paged(call, [request(call, project, each) for each in found])


def get_branch(call: Call) -> Reply:
    project, name = _project(call), call.parts["branch"]
    if not (sha := project.tip(name)):
        raise AbsentError("404 Branch Not Found")
    return Reply({"name": name, "commit": {"id": sha}})


def list_notes(call: Call) -> Reply:
    found = [note(each) for each in _request(call).comments]
    return GITLAB.paged(call, found if call.query.get("sort") == "asc" else found[::-1])


def make_note(call: Call) -> Reply:
    made = _project(call).say(call.user, _request(call).number, call.body["body"])
    return Reply(note(made), 201)


def _note(call: Call) -> Comment:
    found = next((one for one in _request(call).comments if one.id == call.number("note")), None)
    if found is None:
        raise AbsentError("404 Note Not Found")
    return found


def change_note(call: Call) -> Reply:
    found = _note(call)
    found.body = call.body["body"]
    return Reply(note(found))


def drop_note(call: Call) -> Reply:
    _request(call).comments.remove(_note(call))
    return Reply(None, 204)


def make_status(call: Call) -> Reply:
    project, sha, body = _project(call), call.parts["sha"], call.body
    if not project.has_commit(sha):
        raise AbsentError("404 Commit Not Found")
    known = [each for each in project.statuses.get(sha, ()) if each.name == body["name"]]
    if known and known[-1].state == body["state"] == "pending":
        told = "Cannot transition status via :enqueue from :pending (Reason(s): …)"
        return Reply({"message": told}, 400)
    text, url = body.get("description", ""), body.get("target_url", "")
    made = project.state_of(call.user, sha, body["name"], body["state"], text, url)
    return Reply(status(made, sha), 201)


def list_statuses(call: Call) -> Reply:
    sha = call.parts["sha"]
    last = {each.name: each for each in _project(call).statuses.get(sha, ())}
    return GITLAB.paged(call, [status(each, sha) for each in last.values()])


def list_users(call: Call) -> Reply:
    words = call.query.get("search", "").lower()
    found = [each for each in USERS if words in (each.email, each.login, each.name.lower())]
    return GITLAB.paged(call, [user(each) for each in found])


def list_members(call: Call) -> Reply:
    _project(call)
    words = call.query.get("query", "").lower()
    return GITLAB.paged(call, [user(each) for each in USERS if words in each.name.lower()])


def me(call: Call) -> Reply:
    return Reply({**user(call.user), "email": call.user.email})


_P = "/projects/{id}"
_R = f"{_P}/merge_requests/{{iid}}"
GITLAB = Vendor(
    "/api/v4",
    {
        "GET /user": me,
        "GET /users": list_users,
        f"GET {_P}": get_project,
        f"GET {_P}/members/all": list_members,
        f"GET {_P}/merge_requests": list_requests,
        f"POST {_P}/merge_requests": open_request,
        f"GET {_R}": get_request,
        f"PUT {_R}": change_request,
        f"PUT {_R}/merge": merge_request,
        f"GET {_R}/notes": list_notes,
        f"POST {_R}/notes": make_note,
        f"PUT {_R}/notes/{{note}}": change_note,
        f"DELETE {_R}/notes/{{note}}": drop_note,
        f"GET {_P}/repository/branches/{{branch}}": get_branch,
        f"GET {_P}/repository/commits/{{sha}}/merge_requests": of_commit,
        f"GET {_P}/repository/commits/{{sha}}/statuses": list_statuses,
        f"POST {_P}/statuses/{{sha}}": make_status,
    },
    None,
    usual=20,
)
