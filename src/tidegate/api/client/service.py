"""Asks a service, as a command does: an answer is a document, a refusal is an error of ours.

A write carries a key, so it is sent again when its answer is lost, and carried out once.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, Union
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec

from tidegate.api.login.offer import PATH
from tidegate.api.problem import FORBIDDEN, ProblemDocument
from tidegate.api.route import BASE
from tidegate.model.document import Document
from tidegate.model.errors import OutsideError, RefusedError, TidegateError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.net.http_request import (
    PASSING,
    PassingError,
    plain_session,
    proxy_for,
    tries,
    trusted_by,
)
from tidegate.net.json_request import JsonAnswer, delivered, sent, settled

D = TypeVar("D", bound=Document)
_UNKNOWN, _FORBIDDEN = 401, 403
# What to do about a caller that is not known, and about one that may not.
_REMEDIES = {
    _UNKNOWN: "`tidegate login` has one",
    _FORBIDDEN: "an admin of the service grants roles, in the file of `serve --access-policy`",
}
_BROKEN = 500


class ClientBounds(msgspec.Struct, frozen=True):
    """How long one try may take, how many there are, and how much of an answer is read."""

    timeout_s: float = 60.0
    bytes_max: int = 256 << 20
    tries_max: int = 3
    total_s: float = 90.0
    pause_s: float = 0.5


class Tagged(msgspec.Struct, frozen=True):
    """A document, the plan it shows, and where the next part of it is."""

    document: Any
    tag: str = ""
    link: str = ""


class ServiceClient:
    """A service at an address."""

    def __init__(
        self,
        server: str,
        token: str,
        bounds: ClientBounds | None = None,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
        ca_file: str = "",
    ) -> None:
        """`waiting` is entered for every request. `ca_file`: authorities that are trusted."""
        self._ca_file = ca_file
        self.server = server.rstrip("/")
        self._token = token
        self._bounds = bounds or ClientBounds()
        self._waiting = waiting

    def get(self, path: str, query: Mapping[str, object], *kinds: type[D]) -> D:
        """The answer to a question; of a list, all its parts."""
        wanted = {key: value for key, value in query.items() if value not in ("", None, ())}
        asked = urlencode(wanted, doseq=True)
        where = f"{BASE}{quote(path)}" + (f"?{asked}" if asked else "")
        first = self._ask("GET", where, None, {}, kinds)
        found, link = first.document, first.link
        while link:
            part = self._ask("GET", link, None, {}, kinds)
            items = (*found.items, *part.document.items)
            found, link = msgspec.structs.replace(found, items=items), part.link
        document: D = found
        return document

    def offer(self, kind: type[D]) -> D:
        """How to log in there."""
        found: D = self._ask("GET", PATH, None, {}, (kind,)).document
        return found

    def dry_run(self, path: str, body: Mapping[str, object], *kinds: type[Document]) -> Tagged:
        """What an act would reach, and the plan it would be carried out on."""
        return self._ask("POST", f"{BASE}{quote(path)}?dryRun=true", body, {}, kinds)

    def act(self, path: str, body: Mapping[str, object], tag: str, *kinds: type[D]) -> D:
        """Carry an act out, on the plan that a dry run showed."""
        headers = {"If-Match": tag, "Idempotency-Key": str(uuid4())}
        found: D = self._ask("POST", f"{BASE}{quote(path)}", body, headers, kinds).document
        return found

    def _ask(
        self,
        method: str,
        where: str,
        body: object,
        headers: Mapping[str, str],
        kinds: tuple[type[Document], ...],
    ) -> Tagged:
        try:
            with self._waiting():
                answer = asyncio.run(self._sent(method, where, body, headers))
        except PassingError as error:
            raise OutsideError(f"{self.server}: {error}") from None
        if answer.status >= 300:
            raise self._refusal(answer)
        wanted: Any = Union[kinds]  # noqa: UP007  of types that are known when it runs
        try:
            document = decode_json(answer.body, wanted)
        except msgspec.MsgspecError as error:
            what = f"its answer is not one we know: {error}; is it of another version?"
            raise OutsideError(f"{self.server}: {what}") from None
        link = answer.headers.get("Link", "").partition("<")[2].partition(">")[0]
        return Tagged(document, answer.headers.get("ETag", ""), link)

    async def _sent(
        self, method: str, where: str, body: object, headers: Mapping[str, str]
    ) -> JsonAnswer:
        url = self.server + where
        login = dict(headers)
        if self._token:
            login["Authorization"] = f"Bearer {self._token}"
        last: JsonAnswer | None = None
        try:
            async with plain_session(trusted_by(self._ca_file)) as session:
                async for attempt in tries(self._bounds):
                    with attempt:
                        last = None
                        proxy = proxy_for(url)
                        sending = sent(session, method, url, body, login, self._bounds, proxy)
                        last = await delivered(sending, where, self._bounds, again=True)
                        return settled(last, where, again=True)
        except PassingError:
            # What it says in the end tells more than the number of its answer.
            if last is not None:
                return last
            raise
        raise AssertionError("it is tried at least once")

    def _refusal(self, answer: JsonAnswer) -> TidegateError:
        """Why it was refused, in the words of the service."""
        try:
            said = decode_json(answer.body, ProblemDocument)
        except msgspec.MsgspecError:
            what = (
                "" if answer.status in PASSING else ": is this the address of a Tidegate service?"
            )
            return OutsideError(f"{self.server}: HTTP {answer.status}{what}")
        if answer.status in _REMEDIES:
            missing = answer.status == _UNKNOWN or said.type == FORBIDDEN
            remedy = _REMEDIES[answer.status] if missing else ""
            return RefusedError((Problem(self.server, said.detail, remedy),))
        if answer.status >= _BROKEN or answer.status in PASSING:
            return OutsideError(f"{self.server}: {said.detail}")
        if said.problems:
            some = (Problem(each.path, each.message, each.remedy) for each in said.problems)
            return UserError(tuple(some))
        return UserError((Problem("", said.detail),))
