"""The forms of brakes: fields of a browser, as the API takes them and as a command is written."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.documents.scope_doc import parse_selector
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

Fields = Mapping[str, Sequence[str]]

# Brakes that are set; each asks for a name and a scope.
BRAKES = ("hold", "freeze", "block", "pin")
EXEMPT = "exempt"
FORMS = (*BRAKES, EXEMPT)
"""Acts whose sheet has fields beside a reason."""

# Of a freeze: the fields of the form, those of the API, and the options of the command.
_TIMES = (
    ("from", "from", "--from"),
    ("to", "to", "--to"),
    ("rrule", "rrule", "--rrule"),
    ("zone", "timeZone", "--time-zone"),
)


def one(sent: Fields, name: str) -> str:
    """The last value of a field, without space around it; empty: it was not sent."""
    return (sent.get(name) or [""])[-1].strip()


def form_body(verb: str, sent: Fields, name: str) -> dict[str, Any]:
    """What the API takes beside the reason; UserError names the field that is wrong."""
    if not name.strip():
        raise UserError((Problem("name", "is empty", "write a name, like inc-42"),))
    made: dict[str, Any] = {"scope": _scope(sent)}
    if verb == EXEMPT:
        if not one(sent, "until"):
            raise UserError((Problem("until", "is empty", "write for how long, like 2h"),))
        return made | {"until": one(sent, "until"), "revision": one(sent, "revision") or None}
    made["expires"] = one(sent, "expires")
    if verb == "block":
        made["revision"] = one(sent, "revision") or name
    if verb == "freeze":
        times: dict[str, Any] = {
            key: text for field, key, _ in _TIMES if (text := one(sent, field))
        }
        made["times"] = times | {"finishBefore": bool(one(sent, "finish"))}
    return made


def form_words(verb: str, name: str, sent: Fields) -> list[str]:
    """The words of the command, up to its reason."""
    called = name or "NAME"
    if verb == "pin":
        words = ["pin", *(one(sent, "targets").split() or ["TARGET"]), "--name", called]
        return words + _option(sent, "expires", "--expires")
    if verb == "block":
        words = ["block", "add", one(sent, "revision") or name or "REVISION", "--name", called]
    else:
        words = ["freeze", "exempt"] if verb == EXEMPT else [verb, "add"]
        words.append(called)
    words += _scope_words(sent)
    if verb == EXEMPT:
        until = one(sent, "until") or "WHEN"
        return [*words, "--until", until, *_option(sent, "revision", "--revision")]
    if verb == "freeze":
        words += [word for field, _, option in _TIMES for word in _option(sent, field, option)]
        words += ["--finish-before"] if one(sent, "finish") else []
    return words + _option(sent, "expires", "--expires")


def _option(sent: Fields, field: str, option: str) -> list[str]:
    return [option, one(sent, field)] if one(sent, field) else []


def _scope(sent: Fields) -> dict[str, Any]:
    """The scope that the fields describe, as the API takes it."""
    chosen = one(sent, "scope") or "everything"
    if chosen == "kind":
        return {"kinds": [one(sent, "kind")]}
    if chosen == "labels":
        text = one(sent, "labels")
        try:
            selector = parse_selector(text) if text else None
        except ValueError as error:
            raise UserError((Problem("labels", str(error)),)) from None
        if selector is None:
            raise UserError((Problem("labels", "is empty", "write labels, like env=prod"),))
        return {"selector": selector}
    if chosen == "targets":
        names = one(sent, "targets").split()
        if not names:
            raise UserError((Problem("targets", "is empty", "write names, one a line"),))
        return {"targets": names}
    return {"everything": True}


def _scope_words(sent: Fields) -> list[str]:
    chosen = one(sent, "scope") or "everything"
    if chosen == "kind":
        return ["--kind", one(sent, "kind")]
    if chosen == "labels":
        return ["-l", one(sent, "labels")]
    if chosen == "targets":
        return [part for each in one(sent, "targets").split() for part in ("--target", each)]
    return ["--everything"]
