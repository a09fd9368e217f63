"""From a request to a typed function and back: login, limits, decoding, headers, errors."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_origin
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tidegate.access.roles import Caller, Right, refusal
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.live.refresh import Refresh
from tidegate.api.login.browser import BrowserLogin
from tidegate.api.login.login import Login
from tidegate.api.openapi import openapi
from tidegate.api.problem import (
    MEDIA_TYPE,
    ProblemDocument,
    RequestError,
    bad_request,
    forbidden,
    malformed,
    problem_of,
)
from tidegate.api.recorder import RecordedAnswer, Recorder, SeenPlans, encoded, seen_by
from tidegate.api.route import (
    BASE,
    ActRoute,
    Addressed,
    MomentQuery,
    QuestionRoute,
    RouteAnswer,
    RouteQuery,
    RouteQuestion,
)
from tidegate.api.stream import EventStream, Streams
from tidegate.app.partitions.journals import Journals
from tidegate.app.partitions.plan_tag import tag_of
from tidegate.app.past.journals import past_moment
from tidegate.journal.chain import JournalEntry
from tidegate.model.errors import TidegateError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import nearest

BODY_MAX = 1 << 20
KEY_MAX = 200
_JSON = "application/json"
# Called with what was refused: for logs and numbers.
Refused = Callable[[str, str, int, str], None]


class Api:
    """The routes of a service, over one journal."""

    def __init__(
        self,
        live: LiveJournals,
        login: Login,
        questions: Sequence[QuestionRoute],
        acts: Sequence[ActRoute],
        version: str,
        refused: Refused | None = None,
    ) -> None:
        self._live = live
        self._login = login
        self._seen = SeenPlans()
        self._recorder = Recorder(live, self._seen)
        self._questions = questions
        self._acts = acts
        self._refused = refused
        self._version = version
        self._streams = Streams(live)
        self._refresh = Refresh(live)
        self.browser = BrowserLogin(live.archive, login, self._problem)

    def close(self) -> None:
        """End every stream."""
        self._refresh.close()
        self._streams.feed.close()

    async def closed(self) -> None:
        """Close what is held open, once nothing is answered any more."""
        await self._refresh.closed()
        await self._streams.feed.ended()
        await asyncio.to_thread(self._live.close)
        await self._login.close()

    def routes(self) -> list[BaseRoute]:
        """All of them, for Starlette."""
        found: list[BaseRoute] = [
            Route("/openapi.json", self._described),
            *self.browser.routes(),
            *(Route(_path(each.path), self._asking(each)) for each in self._questions),
            *(Route(_path(each.path), self._acting(each), methods=["POST"]) for each in self._acts),
            Route(f"{BASE}/watch/{{name:path}}", self._watching),
            Route(f"{BASE}/changes", self._changing),
            Route(f"{BASE}/{{rest:path}}", self._unknown, methods=_EVERY),
        ]
        return found

    @cached_property
    def _description(self) -> bytes:
        """Made when it is first asked for: hardly any client asks."""
        return msgspec.json.encode(openapi(self._questions, self._acts, BASE, self._version))

    async def _described(self, _: Request) -> Response:
        text = await asyncio.to_thread(lambda: self._description)
        return Response(text, media_type=_JSON)

    async def _unknown(self, request: Request) -> Response:
        every: list[Addressed] = [*self._questions, *self._acts, *_STREAMS]
        path = request.url.path.removeprefix(BASE)
        asked = Addressed(path)
        has_name = "/" in path.removeprefix("/")
        same = [each for each in every if each.stem == asked.stem and each.named == has_name]
        if same:
            allowed = sorted({"POST" if isinstance(each, ActRoute) else "GET" for each in same})
            detail = f"{request.method} {request.url.path}: write {' or '.join(allowed)}"
            headers = {"Allow": ", ".join(allowed)}
            error = RequestError(405, "method", "No such method", detail, headers)
            return self._problem(request, error)
        near = sorted({each.path for each in every if each.stem == asked.stem})
        there = " and ".join(near).replace("{name}", "NAME")
        hint = f"there is {there}" if near else nearest(asked.stem, [each.stem for each in every])
        hint = hint or "/openapi.json lists all"
        detail = f"no route {request.url.path}; {hint}"
        return self._problem(request, RequestError(404, "no-route", "No such route", detail))

    def _asking(self, question: QuestionRoute) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response | EventStream:
            try:
                if question.verb in _WATCHED and _wants_stream(request):
                    named = "name" in request.path_params
                    return await (self._watching if named else self._changing)(request)
                caller = await self._allowed(request, question.right, "read")
                query = _query(request, question.query, question.verb in _WATCHED)
                name = request.path_params.get("name", "")
                turn = asyncio.to_thread if _is_long(question, query) else self._live.turn_seen
                found = await turn(self._answered, request, question, caller, name, query)
                self._refresh.begin()
                return found
            except TidegateError as error:
                return self._problem(request, error)

        return answer

    def _answered(
        self, request: Request, question: QuestionRoute, caller: Caller, name: str, query: Any
    ) -> Response:
        def ask(journals: Journals) -> tuple[bytes, RouteAnswer, str]:
            seen = seen_by(caller, journals)
            asked = RouteQuestion(seen, journals, self._live.seen, caller, name, query)
            found = question.call(asked)
            made = found if isinstance(found, RouteAnswer) else RouteAnswer(found)
            # A plan of the past is no plan to act on.
            keep = self._seen.keep if journals.is_now else tag_of
            tag = "" if made.rows is None else keep(made.rows)
            return encoded(made.document), made, tag

        if isinstance(query, MomentQuery) and query.at:
            moment = self._live.ask(lambda now: past_moment(seen_by(caller, now), query.at))
            body, made, tag = self._live.ask_then(moment, ask)
        else:
            body, made, tag = ask(self._live.fresh()) if question.long else self._live.ask(ask)
        headers = {"Cache-Control": "no-store"}
        if tag:
            headers["ETag"] = f'"{tag}"'
            if tag in named_tags(request, "if-none-match"):
                return Response(status_code=304, headers=headers)
        if made.after:
            rest = [each for each in request.query_params.multi_items() if each[0] != "continue"]
            rest.append(("continue", made.after))
            headers["Link"] = f'<{quote(request.url.path)}?{urlencode(rest)}>; rel="next"'
        return Response(body, headers=headers, media_type=_JSON)

    async def _watching(self, request: Request) -> Response | EventStream:
        try:
            caller = await self._allowed(request, Right.VIEW, "read")
            _check_stream(request)
            name = request.path_params["name"]
            found = await self._live.turn_seen(
                self._live.ask, lambda journals: seen_by(caller, journals).find(name).partition
            )

            def shows(entry: JournalEntry) -> bool:
                return caller.sees_all_of(found) or self._live.ask(
                    lambda journals: seen_by(caller, journals).find(found).shows(entry)
                )

            return await self._streams.entries(request, found, shows, self._known(request))
        except TidegateError as error:
            return self._problem(request, error)

    async def _changing(self, request: Request) -> Response | EventStream:
        try:
            caller = await self._allowed(request, Right.VIEW, "read")
            _check_stream(request)

            def exists(name: str) -> bool:
                return self._live.ask(lambda journals: name in seen_by(caller, journals).names())

            return await self._streams.changes(caller, exists, self._known(request))
        except TidegateError as error:
            return self._problem(request, error)

    async def _allowed(self, request: Request, right: Right, what: str) -> Caller:
        """The caller; RequestError 401 or 403 if it is unknown, or has the right nowhere."""
        return _with_right(await self._login.caller(request), right, what)

    def _known(self, request: Request) -> Callable[[], Awaitable[Caller]]:
        """Finds the reader of a stream again; RequestError if its login is over."""

        async def find() -> Caller:
            return _with_right(await self._login.again(request), Right.VIEW, "read")

        return find

    def _acting(self, route: ActRoute) -> Callable[[Request], Any]:
        async def carry_out(request: Request) -> Response:
            try:
                caller = await self._allowed(request, route.right, route.verb)
                body = await _body(request, route.body)
                dry = _dry_run(request)
                key = request.headers.get("idempotency-key", "")
                if len(key) > KEY_MAX:
                    raise bad_request(f"is longer than {KEY_MAX} characters", "Idempotency-Key")
                name = request.path_params.get("name", "")
                if dry:
                    done = await self._live.turn_seen(
                        self._recorder.dry_run, route, caller, name, body
                    )
                else:
                    match = named_tags(request, "if-match")
                    done = await self._recorder.record(
                        route, caller, name, body, match=match, key=key
                    )
                return _written(done)
            except TidegateError as error:
                return self._problem(request, error)

        return carry_out

    def _problem(self, request: Request, error: TidegateError) -> Response:
        document = problem_of(error)
        if self._refused is not None:
            # What a stranger is not told is in the log.
            cause = error.__cause__ if isinstance(error, RequestError) else None
            why = document.detail if cause is None else str(cause)
            self._refused(request.method, request.url.path, document.status, why)
        headers = error.headers if isinstance(error, RequestError) else {}
        return problem_answer(document, headers)


def problem_answer(document: ProblemDocument, headers: dict[str, str]) -> Response:
    """A problem as an answer."""
    every = {"Cache-Control": "no-store", **headers}
    body = msgspec.json.encode(document) + b"\n"
    return Response(body, document.status, headers=every, media_type=MEDIA_TYPE)


def _with_right(caller: Caller, right: Right, what: str) -> Caller:
    if why := refusal(caller, right, (), what):
        raise forbidden(why)
    return caller


def _is_long(question: QuestionRoute, query: RouteQuery) -> bool:
    """Whether it reads journals of its own, and keeps no other question waiting."""
    return question.long or (isinstance(query, MomentQuery) and bool(query.at))


# Questions that are watched with ?watch: one rollout as /watch/NAME has it, all as /changes has.
_WATCHED = frozenset(("status", "rollouts", "why", "targets", "cells", "journal"))
_STREAMS = (Addressed("/watch/{name}"), Addressed("/changes"))
_EVERY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def _path(path: str) -> str:
    """Names of partitions have slashes."""
    return BASE + path.replace("{name}", "{name:path}")


def named_tags(request: Request, header: str) -> tuple[str, ...]:
    """The plans that a request names; proxies that compress make our tags weak ones: W/"…"."""
    every = ",".join(request.headers.getlist(header)).split(",")
    named = (each.strip().removeprefix("W/").strip('"') for each in every)
    return tuple(each for each in named if each)


def _written(done: RecordedAnswer) -> Response:
    headers = {"Cache-Control": "no-store"}
    if done.tag:
        headers["ETag"] = f'"{done.tag}"'
    if done.repeated:
        headers["Idempotency-Replayed"] = "true"
    return Response(done.body, headers=headers, media_type=_JSON)


def _wants_stream(request: Request) -> bool:
    """Whether a question is to be watched: `watch` alone, watch=true or watch=1."""
    return _is_true(request, "watch", _STREAM_WORDS)


_WORDS = {"true": True, "false": False}
_STREAM_WORDS = {**_WORDS, "": True, "1": True, "0": False}


def _is_true(request: Request, name: str, words: Mapping[str, bool]) -> bool:
    """A parameter that is true or false; of two that differ either could be meant."""
    given = request.query_params.getlist(name) or ["false"]
    if len(given) > 1:
        raise bad_request("is given twice", name)
    if given[0] not in words:
        raise bad_request(f'"{given[0]}" is neither true nor false', name)
    return words[given[0]]


def _check_stream(request: Request) -> None:
    """RequestError 400 for a parameter that a stream would not keep to: it has every change."""
    for name in request.query_params:
        if name != "watch":
            raise bad_request("a stream takes no parameters: it has every change", name)


def _dry_run(request: Request) -> bool:
    unknown = sorted(set(request.query_params) - {"dryRun"})
    if unknown:
        raise bad_request("no such parameter; there is dryRun", unknown[0])
    return _is_true(request, "dryRun", _WORDS)


def _query(request: Request, query: type[Any], watched: bool) -> Any:
    several = {each.encode_name for each in msgspec.structs.fields(query) if _is_list(each.type)}
    given: dict[str, Any] = {}
    for name in request.query_params:
        if watched and name == "watch":
            continue
        values = request.query_params.getlist(name)
        if name in several:
            given[name] = values
        elif len(values) > 1:
            raise bad_request("is given twice", name)
        else:
            given[name] = values[0]
    try:
        return msgspec.convert(given, query, strict=False)
    except msgspec.ValidationError as error:
        raise malformed(error, query, given) from None


def _is_list(kind: object) -> bool:
    return get_origin(kind) is tuple


async def _body(request: Request, kind: type[Any]) -> Any:
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != _JSON:
        detail = f'Content-Type is "{sent}"; send {_JSON}'
        raise RequestError(415, "media-type", "Not JSON", detail)
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity":
        detail = f'Content-Encoding is "{packed}"; send the body as it is'
        raise RequestError(415, "media-type", "Not as it is", detail)
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > BODY_MAX:
                detail = f"the body has more than {BODY_MAX} bytes"
                raise RequestError(413, "too-large", "Too large", detail)
    except ClientDisconnect:
        raise bad_request("the caller left before its body was whole") from None
    try:
        return decode_json(bytes(raw), kind)
    except msgspec.ValidationError as error:
        raise malformed(error, kind) from None
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is no JSON: {error}") from None
