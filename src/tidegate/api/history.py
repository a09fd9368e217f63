"""Questions about what happened: entries of the journal, changes, chains, decisions taken again."""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from tidegate.access.roles import GrantScope
from tidegate.api.problem import bad_request, forbidden
from tidegate.api.questions import Limit, NoQuery
from tidegate.api.route import QuestionRoute, RouteAnswer, RouteQuery, RouteQuestion
from tidegate.app.comparison import ReplayReport, ShadowReport, replay, shadow
from tidegate.app.journal.chains import ChainList, chains_of, verify_chains
from tidegate.app.journal.changes import ChangeList, ChangeQuery, change_list
from tidegate.app.journal.entries import (
    EntryList,
    EntryQuery,
    Shows,
    behind,
    entry_list,
    parse_place,
    place_of,
)
from tidegate.app.partitions.journals import Journals
from tidegate.journal.selection import EntryFilter
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, parse_instant, parse_moment


class RolloutsQuery(RouteQuery, frozen=True):
    """Which rollouts."""

    # Only these; none: all.
    rollout: tuple[str, ...] = ()


class EntryFields(RouteQuery, frozen=True):
    """What entries must be."""

    # Only those of these kinds of facts, of this actor, about this target or gate.
    fact: tuple[str, ...] = ()
    actor: str = ""
    target: str = ""
    gate: str = ""
    # From this moment on, and before that one.
    since: str = ""
    until: str = ""
    limit: Limit = 500

    def wanted(self) -> EntryFilter:
        """The same, as the journal is searched."""
        return EntryFilter(
            kinds=self.fact,
            actor=self.actor,
            target=self.target,
            gate=self.gate,
            since=_moment("since", self.since),
            until=_moment("until", self.until),
        )


class ChangesQuery(RouteQuery, frozen=True):
    """What changed: where, and when."""

    # A rollout, or a target in any; empty: all that the rest says.
    name: str = ""
    # Of this kind, and of groups, organisations and environments like these.
    kind: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    org: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    # From this moment on (RFC 3339, or how long before the other one), and before that one.
    since: str = "24h"
    until: str = ""

    def asked(self, now: Instant) -> ChangeQuery:
        """The same, as the application has it."""
        until = _past("until", self.until, now) if self.until else now
        return ChangeQuery(
            name=self.name,
            scope=GrantScope(
                kinds=frozenset(self.kind),
                groups=self.group,
                organisations=self.org,
                environments=self.env,
            ),
            since=_past("since", self.since, until),
            until=until,
        )


class EntryListQuery(EntryFields, frozen=True):
    """Which entries of a rollout."""

    after: Annotated[int, Meta(ge=0)] = field(name="continue", default=0)


class JournalQuery(EntryFields, frozen=True):
    """Which entries of all rollouts, by time."""

    # Only of these rollouts; none: of all.
    rollout: tuple[str, ...] = ()
    # Only the last so many; 0: all.
    last: Annotated[int, Meta(ge=0)] = 0
    after: str = field(name="continue", default="")


def entries(ask: RouteQuestion[EntryListQuery]) -> RouteAnswer:
    """The journal of a rollout: what happened, when, by which actor."""
    query, one = ask.query, ask.journals.find(ask.name)
    asked = EntryQuery(partitions=(one.partition,), wanted=query.wanted())
    found = entry_list(ask.archive, asked, lambda _, entry: one.shows(entry))
    later = [each for each in found.items if each.seq > query.after]
    items, rest = tuple(later[: query.limit]), later[query.limit :]
    after = str(items[-1].seq) if rest else ""
    return RouteAnswer(msgspec.structs.replace(found, items=items), after)


def journal(ask: RouteQuestion[JournalQuery]) -> RouteAnswer:
    """The journals of all rollouts, and of brakes and logins to those who see all, by time."""
    query, wanted = ask.query, ask.query.wanted()
    if query.after:
        try:
            moment, *_ = parse_place(query.after)
        except ValueError:
            raise bad_request("is no place of an entry", "continue") from None
        wanted = msgspec.structs.replace(wanted, since=max(moment, wanted.since or moment))
    names, shows = _shown(ask.journals, query.rollout)
    asked = EntryQuery(partitions=names, wanted=wanted)
    rows = entry_list(ask.archive, asked, shows).items if names or shows is None else ()
    rows = tuple(behind(rows, query.after)) if query.after else rows
    rows = rows[-query.last :] if query.last else rows
    items = rows[: query.limit]
    after = place_of(items[-1]) if len(rows) > len(items) else ""
    return RouteAnswer(EntryList(items=items), after)


def _shown(journals: Journals, names: tuple[str, ...]) -> tuple[tuple[str, ...], Shows | None]:
    """The partitions to read, and what of them is shown; NotFoundError for one that is not seen."""
    if journals.is_unlimited:
        return names, None
    seen = journals.names()
    for name in names:
        if name not in seen:
            raise NotFoundError("partition", name, nearest_or_all(name, seen, "none yet"))
    found = {each: one for each in names or seen if (one := journals.read(each)) is not None}
    return tuple(found), lambda partition, entry: found[partition].shows(entry)


def changes(ask: RouteQuestion[ChangesQuery]) -> ChangeList:
    """What changed at a target, in a group or an organisation, of all kinds, by whom and why."""
    return change_list(ask.journals, ask.archive, ask.query.asked(ask.journals.now))


def verified(ask: RouteQuestion[RolloutsQuery]) -> ChainList:
    """Whether an entry of the journal was changed, moved or removed."""
    names, _ = _shown(ask.journals, ask.query.rollout)
    if not names and not ask.journals.is_unlimited:
        return ChainList(items=())
    return verify_chains(ask.archive, chains_of(ask.archive, names))


def replayed(ask: RouteQuestion[NoQuery]) -> ReplayReport:
    """Recorded decisions of a rollout, taken again by today's rules, up to the first difference."""
    return replay(ask.journals, _whole(ask, "a replay"))


def replayed_all(ask: RouteQuestion[NoQuery]) -> ReplayReport:
    """Recorded decisions of all rollouts, taken again, up to the first difference."""
    return replay(ask.journals.only_whole())


def shadowed(ask: RouteQuestion[NoQuery]) -> ShadowReport:
    """Decisions of a rollout, beside what another system did or would have done."""
    return shadow(ask.journals, _whole(ask, "a comparison"))


def shadowed_all(ask: RouteQuestion[NoQuery]) -> ShadowReport:
    """Decisions of all rollouts, beside what another system did or would have done."""
    return shadow(ask.journals.only_whole())


def _whole(ask: RouteQuestion[NoQuery], what: str) -> str:
    """A rollout that the caller sees all of; RequestError 403 if it is a part."""
    one = ask.journals.find(ask.name)
    if not one.is_whole:
        raise forbidden(f"{what} shows all of {one.partition}, and you see a part of it")
    return one.partition


def _past(name: str, text: str, now: Instant) -> Instant:
    """A time, or how long ago it was; RequestError 400 if it is neither."""
    try:
        return parse_moment(text, now, -1)
    except ValueError as error:
        raise bad_request(str(error), name) from None


def _moment(name: str, text: str) -> Instant | None:
    try:
        return parse_instant(text) if text else None
    except ValueError as error:
        raise bad_request(str(error), name) from None


HISTORY_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/journal", journal, (EntryList,), long=True),
    QuestionRoute("/journal/{name}", entries, (EntryList,), long=True),
    QuestionRoute("/changed", changes, (ChangeList,), long=True),
    QuestionRoute("/verify", verified, (ChainList,), long=True),
    QuestionRoute("/replay", replayed_all, (ReplayReport,), long=True),
    QuestionRoute("/replay/{name}", replayed, (ReplayReport,), long=True),
    QuestionRoute("/shadow", shadowed_all, (ShadowReport,), long=True),
    QuestionRoute("/shadow/{name}", shadowed, (ShadowReport,), long=True),
)
