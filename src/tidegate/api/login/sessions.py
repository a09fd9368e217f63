"""Sessions by the API: an admin lists them, and ends one, or all of a person."""

from tidegate.access.roles import Right
from tidegate.api.questions import NoQuery
from tidegate.api.route import (
    ActRoute,
    PreparedAct,
    QuestionRoute,
    RouteAct,
    RouteBody,
    RouteQuestion,
)
from tidegate.api.tokens import access_act, check_unlimited
from tidegate.app.access.sessions import SessionList, ended_sessions, session_list


def sessions(ask: RouteQuestion[NoQuery]) -> SessionList:
    """Sessions of browsers that have not ended."""
    check_unlimited(ask.caller, "list sessions")
    return session_list(ask.archive, ask.every.now)


def end_session(act: RouteAct[RouteBody]) -> PreparedAct:
    """End a session by its id, or all sessions of a person: they have to log in again."""
    check_unlimited(act.caller, "end sessions")
    found, facts = ended_sessions(act.every.store, act.name, act.body.reason, act.every.now)
    rows = {each.id: f"{each.name}, until {each.expires_at}" for each in found.items}
    return access_act(facts, found, rows)


SESSION_QUESTIONS = (QuestionRoute("/sessions", sessions, (SessionList,), Right.ADMINISTER),)
# A session moves no target: no plan is named.
SESSION_ACTS = (
    ActRoute("/end-session/{name}", end_session, (SessionList,), Right.ADMINISTER, stops=True),
)
