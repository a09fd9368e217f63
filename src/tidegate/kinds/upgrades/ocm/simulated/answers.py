"""How OpenShift Cluster Manager answers: lists in pages, errors with code and reason."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.ocm.simulated.search import (
    SearchError,
    as_text,
    compile_search,
    field_of,
)
from tidegate.kinds.upgrades.ocm.simulated.state import ADDONS, CLUSTERS, LOGS, Json

SIZE_DEFAULT = 100
_encode = msgspec.json.Encoder().encode
# Accounts count their errors by what they are, the others by the status.
_ACCOUNT_CODES = {400: 21, 401: 15, 403: 4, 404: 7, 409: 6, 429: 429, 500: 9}
_CODES = ((CLUSTERS, "CLUSTERS-MGMT"), (LOGS, "SERVICE-LOGS"), (ADDONS, "ADDONS-MGMT"))


Shape = Callable[[Json], Json]


class OcmCall(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    # None: there is none.
    body: Any = None
    # The organisation whose data is visible; empty: all.
    org: str = ""


class OcmAnswer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    status: int
    body: bytes = b""


class CallRefusedError(Exception):
    """A request that is refused, with the status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


def json_answer(document: object, status: int = 200) -> OcmAnswer:
    """An answer with a document."""
    return OcmAnswer(status, _encode(document))


def refusal(path: str, status: int, reason: str) -> OcmAnswer:
    """An error, as the service behind a path says it."""
    service = path.partition("/v1")[0] + "/v1"
    for start, name in _CODES:
        if path.startswith(start):
            code, number = f"{name}-{status}", status
            break
    else:
        number = _ACCOUNT_CODES.get(status, status)
        code = f"ACCT-MGMT-{number}"
    error = {
        "kind": "Error",
        "id": str(number),
        "href": f"{service}/errors/{number}",
        "code": code,
        "reason": reason,
    }
    return json_answer(error, status)


def looked_up(documents: Iterable[Json], search: str, order: str) -> list[Json]:
    """The documents a search is about, in order; RefusedError if it cannot be understood."""
    try:
        fits = compile_search(search)
    except SearchError as error:
        raise CallRefusedError(400, str(error)) from None
    found = [each for each in documents if fits(each)]
    # The last key decides last: sorting by each, from the last to the first, keeps that.
    for part in reversed([part for part in order.split(",") if part.strip()]):
        words = part.split()
        if len(words) > 2 or words[1:] not in ([], ["asc"], ["desc"]):
            raise CallRefusedError(400, f"Failed to parse order: {order}")
        found.sort(key=_by(words[0]), reverse=words[1:] == ["desc"])
    return found


def page_of(kind: str, items: list[Json], query: Mapping[str, str], shape: Shape) -> Json:
    """One page of a list."""
    page, size = _number(query, "page", 1), _number(query, "size", SIZE_DEFAULT)
    shown = [shape(each) for each in items[(page - 1) * size : page * size]]
    total = {"page": page, "size": len(shown), "total": len(items)}
    return {"kind": f"{kind}List", **total, "items": shown}


def _by(name: str) -> Callable[[Json], tuple[bool, str]]:
    def key(document: Json) -> tuple[bool, str]:
        text = as_text(field_of(document, name))
        return text is None, text or ""

    return key


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise CallRefusedError(400, f"Invalid value '{text}' for parameter '{name}'")
    return int(text)
