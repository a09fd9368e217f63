"""Errors as RFC 9457 has them, with the same text as on the command line."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.app.partitions.plan_tag import PlanDifference
from tidegate.model.document import Part
from tidegate.model.errors import (
    NotFoundError,
    OutsideError,
    StaleError,
    TidegateError,
    UserError,
)
from tidegate.model.problem import nearest_or_all, shown

MEDIA_TYPE = "application/problem+json"
_URN = "urn:tidegate:problem:"
FORBIDDEN = f"{_URN}forbidden"
"""The caller has not the role for it, there."""


class ProblemItem(Part, frozen=True, omit_defaults=True):
    """One thing that is wrong with what was sent, and its remedy."""

    path: str
    message: str
    remedy: str = ""


class ProblemDocument(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was not answered."""

    type: str
    title: str
    status: int
    # What the command line prints.
    detail: str
    # Of what was sent: each mistake by itself.
    problems: tuple[ProblemItem, ...] = ()
    # Of a plan that moved: the tag it has now, and what is not as it was.
    tag: str = ""
    difference: PlanDifference | None = None


class RequestError(TidegateError):
    """A request that is refused for what it is, not for what it asks about."""

    def __init__(
        self,
        status: int,
        name: str,
        title: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> None:
        self.document = msgspec.convert(
            {"type": _URN + name, "title": title, "status": status, "detail": detail},
            ProblemDocument,
        )
        self.document = msgspec.structs.replace(self.document, **more)
        self.headers = dict(headers or {})
        super().__init__(detail)


def problem_of(error: TidegateError) -> ProblemDocument:
    """An error of ours as a document."""
    if isinstance(error, RequestError):
        return error.document
    status, name, title = next(
        (status, name, title) for kind, status, name, title in _KINDS if isinstance(error, kind)
    )
    items = error.problems if isinstance(error, UserError) else ()
    return ProblemDocument(
        type=_URN + name,
        title=title,
        status=status,
        detail=str(error),
        problems=tuple(
            ProblemItem(path=each.path, message=each.message, remedy=each.remedy) for each in items
        ),
    )


_KINDS: tuple[tuple[type[TidegateError], int, str, str], ...] = (
    (NotFoundError, 404, "not-found", "Nothing is called so"),
    (UserError, 422, "cannot-be-done", "The request cannot be carried out as it is written"),
    (StaleError, 409, "moved", "The journal moved on meanwhile; ask again"),
    (OutsideError, 503, "outside", "Another system failed or did not answer"),
    (TidegateError, 500, "error", "The request failed"),
)


def bad_request(detail: str, path: str = "") -> RequestError:
    """A request that cannot be read."""
    items = (ProblemItem(path=path, message=detail),) if path else ()
    text = f"{path}: {detail}" if path else detail
    return RequestError(400, "malformed", "The request cannot be read", text, problems=items)


def malformed(
    error: msgspec.ValidationError, kind: type[Any], given: Mapping[str, object] | None = None
) -> RequestError:
    """A field that is missing, unknown or of another type: msgspec says which.

    `given`: the parameters of a question, each as it was written.
    """
    text, _, where = str(error).partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    if place == "reason" and "regex" in text:
        return bad_request("is empty; write why: the journal keeps it", place)
    if missing := _MISSING.fullmatch(text):
        return bad_request("is missing", _within(place, missing[1]))
    if unknown := _UNKNOWN.fullmatch(text):
        names = [] if place else [each.encode_name for each in msgspec.structs.fields(kind)]
        hint = "" if place else nearest_or_all(unknown[1], names, "none")
        return bad_request(f"no such field{'; ' if hint else ''}{hint}", _within(place, unknown[1]))
    said = (given or {}).get(place)
    value = "" if said is None else f"{shown(said)}: "
    return bad_request(value + text, place)


def _within(place: str, field: str) -> str:
    return f"{place}.{field}" if place else field


_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


def unknown_caller(detail: str) -> RequestError:
    """A request without a login that works."""
    headers = {"WWW-Authenticate": 'Bearer realm="tidegate"'}
    return RequestError(401, "login", "A login is needed", detail, headers)


def unread_journal() -> RequestError:
    """A request of a caller that cannot be known: the cause is for the log alone."""
    detail = "the journal does not answer, so no login is known; the log of the service says why"
    return RequestError(503, "outside", "Another system failed or did not answer", detail)


def forbidden(detail: str) -> RequestError:
    """A request of a caller without the right."""
    return RequestError(403, "forbidden", "The caller may not do this", detail)


def under_four_eyes(detail: str) -> RequestError:
    """An approval by a person who proposed what it is for; no role changes that."""
    return RequestError(403, "four-eyes", "The caller may not do this", detail)


def plan_needed(tag: str) -> RequestError:
    """A write that names no plan."""
    detail = (
        "name the plan it was decided on: If-Match with the ETag of the answer or of a dry run,"
        " or If-Match: * for whatever is so now"
    )
    return RequestError(428, "plan-needed", "The write names no plan", detail, tag=tag)


def plan_moved(tag: str, moved: PlanDifference | None) -> RequestError:
    """A write that names a plan which is no more."""
    detail = "the plan moved since it was read"
    if moved is None:
        detail += "; what it was is not known here any more: read it again"
    else:
        detail += f": {moved.changes} changes"
        detail += "".join(
            f"; {each.what}: {each.before or 'not there'}, now {each.after or 'gone'}"
            for each in moved.items[:3]
        )
    return RequestError(
        412, "plan-moved", "The plan moved", detail, {"ETag": f'"{tag}"'}, tag=tag, difference=moved
    )
