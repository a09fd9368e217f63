"""The routes of the page: a login, screens that read, and the sheet that writes."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tidegate.access.roles import Caller, Right, refusal
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.login.browser import form_values
from tidegate.api.login.login import Login
from tidegate.api.problem import forbidden, problem_of
from tidegate.api.questions import NoQuery
from tidegate.api.recorder import Recorder, SeenPlans, seen_by
from tidegate.api.route import ActRoute, RouteQuestion
from tidegate.app.documents import TargetDetails
from tidegate.app.partitions.journals import Journals
from tidegate.app.past.journals import PastJournals, past_moment
from tidegate.app.rollouts import why
from tidegate.app.text.view_text import target_tree
from tidegate.explain.verdict_part import VerdictPart
from tidegate.journal.selection import EntryFilter
from tidegate.model.errors import NotFoundError, TidegateError
from tidegate.model.time import parse_instant
from tidegate.net.picture_links import PATH, PictureLinks
from tidegate.page.dates.when_page import when_page
from tidegate.page.fleet import fleet_query, fleet_view
from tidegate.page.frame import Frame, brake_lines, frame, lift_offer, offer
from tidegate.page.history import ENTRIES_SHOWN, entry_page, newest_entries
from tidegate.page.kind_screens import KINDS, kind_tables
from tidegate.page.map_picture import map_picture
from tidegate.page.public_picture import PICTURE_HEADERS, PublicPictures
from tidegate.page.rollout_view import DATED_MAX, NEXT_SHOWN, rollout_page
from tidegate.page.sheet import ActDone, Sheets
from tidegate.page.template_set import HEADERS, html, path_part, static_answer
from tidegate.page.token_screen import token_lines
from tidegate.page.travel.bar import asked_moment, past_bar
from tidegate.page.travel.changes import changes_page
from tidegate.store.archive_port import Archive

# Called with what was refused: for logs and numbers.
Refused = Callable[[str, str, int, str], None]
# What a screen is made from: the journals that its caller sees.
Screen = Callable[[Request, Caller, Journals], Response]


class ServicePages:
    """The screens of a service, over the journals and the login of its API."""

    def __init__(
        self,
        live: LiveJournals,
        login: Login,
        acts: Sequence[ActRoute],
        refused: Refused | None = None,
        note: str = "",
        pictures: PictureLinks | None = None,
    ) -> None:
        self._live = live
        self._pictures = PublicPictures(live, pictures or PictureLinks())
        # What every page says of its time; empty: it is the time of the machine.
        self._note = note
        self._login = login
        self._sheets = Sheets(Recorder(live, SeenPlans()), acts)
        self._refused = refused

    def routes(self) -> list[BaseRoute]:
        """All of them, for Starlette."""
        return [
            Route("/", self._screen(self._fleet, past=True)),
            Route("/login", self._caught(self._log_in)),
            Route("/static/{file}", self._static),
            Route("/map.svg", self._screen(self._map, past=True)),
            Route(f"{PATH}/{{signature}}/{{seq:int}}/{{name:path}}", self._picture),
            Route("/why/{name:path}", self._screen(self._why, past=True)),
            Route("/rollout/{name:path}", self._screen(self._rollout, past=True)),
            Route("/when/{name:path}", self._screen(self._when, long=True, past=True)),
            *(Route(f"/{each}", self._screen(self._kind, long=True, past=True)) for each in KINDS),
            Route("/brakes", self._screen(self._brakes, past=True)),
            Route("/journal", self._screen(self._journal, past=True)),
            Route("/tokens", self._screen(self._tokens)),
            Route("/changes", self._screen(self._changes, long=True, past=True)),
            Route("/entry/{seq:int}/{name:path}", self._screen(self._entry, long=True, past=True)),
            Route("/act/{verb}", self._caught(self._sheet)),
            Route("/act/{verb}", self._caught(self._confirm), methods=["POST"]),
            Route("/act/{verb}/{name:path}", self._caught(self._sheet)),
            Route("/act/{verb}/{name:path}", self._caught(self._confirm), methods=["POST"]),
        ]

    async def _static(self, request: Request) -> Response:
        return static_answer(request, request.path_params["file"])

    async def _picture(self, request: Request) -> Response:
        """A picture for readers without a login; who has its link may see it."""
        params = request.path_params
        try:
            text = await asyncio.to_thread(
                self._pictures.picture, params["signature"], params["seq"], params["name"]
            )
        except TidegateError:
            return Response("there is no such picture\n", 404, HEADERS, "text/plain")
        return Response(text, headers=PICTURE_HEADERS, media_type="image/svg+xml")

    def _caught(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[..., Any]:
        """A screen for every error: a login where one is needed."""

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except TidegateError as error:
                return self._wrong(request, error)

        return handle

    def _screen(
        self, screen: Screen, *, long: bool = False, past: bool = False
    ) -> Callable[..., Any]:
        """A page for a caller; a long one reads journals of its own, and keeps no other waiting.

        `past`: its address may name a moment of the past.
        """

        async def answer(request: Request) -> Response:
            caller = await self._reader(request)

            def ask(journals: Journals) -> Response:
                return screen(request, caller, seen_by(caller, journals))

            if past and (text := asked_moment(request)):
                return await asyncio.to_thread(self._asked_then, caller, text, ask)
            if long:
                return await asyncio.to_thread(lambda: ask(self._live.fresh()))
            return await self._live.turn_seen(self._live.ask, ask)

        return self._caught(answer)

    def _asked_then(
        self, caller: Caller, text: str, ask: Callable[[Journals], Response]
    ) -> Response:
        moment = self._live.ask(lambda now: past_moment(seen_by(caller, now), text))
        return self._live.ask_then(moment, ask)

    def _frame(
        self, request: Request, caller: Caller, journals: Journals, here: str, rollout: str = ""
    ) -> Frame:
        """The header of a screen that may show the past; of one rollout, steps are its own."""
        if not isinstance(journals, PastJournals):
            return frame(journals, caller, here, note=self._note)
        then = self._live.ask(
            lambda now: past_bar(request, journals, seen_by(caller, now), rollout)
        )
        return frame(journals, caller, here, then, self._note)

    def _archive(self, journals: Journals) -> Archive:
        """The journal that a screen reads from: up to its moment, if that is of the past."""
        return journals.then if isinstance(journals, PastJournals) else self._live.seen

    async def _reader(self, request: Request) -> Caller:
        caller = await self._login.caller(request)
        if why_not := refusal(caller, Right.VIEW, (), "read"):
            raise forbidden(why_not)
        return caller

    def _wrong(self, request: Request, error: TidegateError) -> Response:
        document = problem_of(error)
        part = _is_part(request)
        if document.status == 401 and not part:
            where = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            back = where if request.method == "GET" else "/"
            return RedirectResponse(f"/login?{urlencode({'next': back})}", 303, headers=HEADERS)
        if self._refused is not None:
            self._refused(request.method, request.url.path, document.status, document.detail)
        return html("error_part.html" if part else "error.html", document.status, problem=document)

    async def _log_in(self, request: Request) -> Response:
        query, oidc = request.query_params, self._login.policy.oidc
        return html(
            "login.html",
            next=query.get("next", "/"),
            wrong="wrong" in query,
            issuer="" if oidc is None or not oidc.url else oidc.settings.issuer,
        )

    def _fleet(self, request: Request, caller: Caller, journals: Journals) -> Response:
        params = request.query_params
        query = fleet_query(params.multi_items())
        rollout, target = params.get("rollout", ""), params.get("target", "")
        return html(
            "fleet.html",
            frame=self._frame(request, caller, journals, "fleet"),
            fleet=fleet_view(journals, query),
            query=query,
            text=params.get("q", ""),
            wall="wall" in params,
            picture=f"/map.svg?{request.url.query}",
            panel=_found_panel(journals, rollout, target) if target else None,
            then=asked_moment(request),
            hold=offer(caller, "hold", "", "", Right.OPERATE, None),
        )

    def _map(self, request: Request, _: Caller, journals: Journals) -> Response:
        query = fleet_query(request.query_params.multi_items())
        text = map_picture(fleet_view(journals, query).blocks, query)
        return Response(text, headers=HEADERS, media_type="image/svg+xml")

    def _why(self, request: Request, caller: Caller, journals: Journals) -> Response:
        name, target = request.path_params["name"], request.query_params.get("target", "")
        later = request.query_params.get("dates") == "later"
        found = why(journals, name, target or None, 0 if later else DATED_MAX)
        if not isinstance(found, TargetDetails):
            return RedirectResponse(f"/rollout/{path_part(found.id)}", 303, headers=HEADERS)
        panel = _panel(journals, found)
        panel["later"] = later and len(journals.find(found.rollout).names) <= DATED_MAX
        if _is_part(request):
            return html("why_part.html", panel=panel, then=asked_moment(request))
        header = self._frame(request, caller, journals, "", found.rollout)
        return html("why.html", frame=header, panel=panel, then=asked_moment(request))

    def _rollout(self, request: Request, caller: Caller, journals: Journals) -> Response:
        name = request.path_params["name"]
        found = rollout_page(journals, self._archive(journals), caller, name)
        header = self._frame(request, caller, journals, "", found.id)
        return html("rollout.html", frame=header, page=found)

    def _kind(self, request: Request, caller: Caller, journals: Journals) -> Response:
        kind = request.url.path.strip("/")
        ask = RouteQuestion(journals, journals, self._archive(journals), caller, "", NoQuery())
        tables, notes = kind_tables(ask, kind)
        header = self._frame(request, caller, journals, kind)
        return html("kind.html", frame=header, kind=kind, tables=tables, notes=notes)

    def _when(self, request: Request, caller: Caller, journals: Journals) -> Response:
        name, params = request.path_params["name"], request.query_params
        found = when_page(journals, self._archive(journals), caller, name, params)
        header = self._frame(request, caller, journals, "", found.rollout)
        return html("when.html", 422 if found.error else 200, frame=header, page=found)

    def _brakes(self, request: Request, caller: Caller, journals: Journals) -> Response:
        lines = brake_lines(journals, "hold", "freeze", "block", "pin", "expedite")
        sections = [
            ("in_force", [each for each in lines if each.in_force]),
            ("coming", [each for each in lines if not each.in_force and each.next]),
            ("ended", [each for each in lines if not each.in_force and not each.next]),
        ]
        offers = {f"{each.brake} {each.name}": lift_offer(caller, each) for each in lines}
        return html(
            "brakes.html",
            frame=self._frame(request, caller, journals, "brakes"),
            sections=sections,
            offers=offers,
            hold=offer(caller, "hold", "", "", Right.OPERATE, None),
        )

    def _tokens(self, request: Request, caller: Caller, journals: Journals) -> Response:
        create, refused, rows = token_lines(self._live.seen, caller, self._login.now)
        header = self._frame(request, caller, journals, "tokens")
        return html("tokens.html", frame=header, create=create, refused=refused, rows=rows)

    def _journal(self, request: Request, caller: Caller, journals: Journals) -> Response:
        params = request.query_params
        wanted = EntryFilter(
            actor=params.get("actor", ""),
            target=params.get("target", ""),
            gate=params.get("gate", ""),
        )
        rows = newest_entries(self._archive(journals), journals, wanted, params.get("rollout", ""))
        return html(
            "journal.html",
            frame=self._frame(request, caller, journals, "journal"),
            rows=rows,
            names=journals.names(),
            asked={each: params.get(each, "") for each in ("rollout", "actor", "target", "gate")},
            full=len(rows) == ENTRIES_SHOWN,
        )

    def _changes(self, request: Request, caller: Caller, journals: Journals) -> Response:
        found = changes_page(request, journals, self._archive(journals))
        header = self._frame(request, caller, journals, "changes")
        return html("changes.html", frame=header, page=found, names=journals.names())

    def _entry(self, request: Request, caller: Caller, journals: Journals) -> Response:
        params = request.path_params
        found = entry_page(self._archive(journals), journals, params["name"], params["seq"])
        return html(
            "entry.html", frame=self._frame(request, caller, journals, "journal"), page=found
        )

    async def _sheet(self, request: Request) -> Response:
        caller, verb = await self._reader(request), self._verb(request)
        sent = parse_qs(request.url.query, keep_blank_values=True)
        name = request.path_params.get("name", "")
        return await self._live.turn_seen(self._shown_sheet, request, caller, verb, name, sent)

    async def _confirm(self, request: Request) -> Response:
        caller, verb = await self._reader(request), self._verb(request)
        sent = await form_values(request)
        name = request.path_params.get("name", "")
        if "look" in sent:
            return await self._live.turn_seen(self._shown_sheet, request, caller, verb, name, sent)
        done = await self._sheets.confirm(verb, name, sent, caller, self._live.now)
        return await self._live.turn_seen(self._told, request, caller, done)

    def _verb(self, request: Request) -> str:
        verb: str = request.path_params["verb"]
        if not self._sheets.knows(verb):
            raise NotFoundError("act", verb, "the command line has all of them")
        return verb

    def _shown_sheet(
        self, request: Request, caller: Caller, verb: str, name: str, sent: dict[str, list[str]]
    ) -> Response:
        return self._told(
            request, caller, self._sheets.open(verb, name, sent, caller, self._live.now)
        )

    def _told(self, request: Request, caller: Caller, found: Any) -> Response:
        """A sheet, or what was done by one: a part of the page, or a page of its own."""

        def ask(journals: Journals) -> Response:
            seen = seen_by(caller, journals)
            context: dict[str, Any] = {"frame": self._frame(request, caller, seen, "")}
            if isinstance(found, ActDone):
                context["done"] = found
                return html("done_part.html" if _is_part(request) else "done.html", **context)
            status = 412 if found.moved else 422 if found.error and not found.is_new else 200
            context |= {
                "sheet": found,
                "key": secrets.token_hex(16),
                "kinds": sorted({each.kind for each in seen.all()}),
            }
            return html("sheet_part.html" if _is_part(request) else "sheet.html", status, **context)

        return self._live.ask(ask)


def _is_part(request: Request) -> bool:
    """Whether a script asks for a part of a page."""
    return request.headers.get("hx-request") == "true"


def _found_panel(journals: Journals, rollout: str, target: str) -> dict[str, Any] | None:
    """The panel that an address names; None: there is no such target any more."""
    try:
        found = why(journals, rollout, target, DATED_MAX)
    except NotFoundError:
        return None
    return _panel(journals, found) if isinstance(found, TargetDetails) else None


def _panel(journals: Journals, found: TargetDetails) -> dict[str, Any]:
    """Why one target starts or waits: the document, and the lines that the command prints.

    Beside each verdict: the other targets that its facts name, as who has a mutex.
    """
    known = journals.find(found.rollout).names
    lines = target_tree(found.target, parse_instant(found.at), found.worker)
    if found.stopped_by:
        lines.append(f"stopped by: {found.stopped_by}")
    if found.origin:
        lines.append(f"rules: {found.origin}")
    options = [
        (
            each.change,
            [
                (part, _named(part, known, found.target.name))
                for part in sorted(each.verdicts, key=lambda part: _ORDER.index(part.outcome))
            ],
        )
        for each in found.target.options
    ]
    return {
        "found": found,
        "lines": lines,
        "options": options,
        "head": lines[0].replace("  ", " · "),
        # Whether dates are asked for next: they take longer than the rest.
        "later": False,
    }


def _named(part: VerdictPart, known: frozenset[str], but: str) -> list[str]:
    """The other targets that the facts of a shut gate name; a few of them."""
    if part.outcome == "pass":
        return []
    values = (each if isinstance(each, tuple) else (each,) for each in part.facts.values())
    named = dict.fromkeys(str(one) for each in values for one in each)
    return [each for each in named if each in known and each != but][:NEXT_SHOWN]


_ORDER = ("stop", "wait", "pass")
