"""The act sheet: what an act reaches, a reason, the same command, and the plan it is meant for.

Every write of the page goes through here, and from here through the recorder of the API: the same
roles, the same plan, the same entries of the journal.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tidegate.access.roles import Caller
from tidegate.api.problem import RequestError
from tidegate.api.recorder import Recorder
from tidegate.api.route import ActRoute, RouteBody
from tidegate.app.asks import AskReport
from tidegate.app.brakes.change import BrakeReport, LiftReport
from tidegate.app.brakes.reach import BrakeReach
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.plan_tag import PlanDifference
from tidegate.app.text.ask_text import answered_words, ask_line
from tidegate.app.text.reach_text import lift_lines, reach_lines, release_lines, set_line
from tidegate.documents.scope_doc import parse_selector
from tidegate.explain.names import ranged
from tidegate.model.errors import TidegateError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.model.time import Instant, format_second
from tidegate.page.words import WORDS

# A dry run needs a reason, too; this one is never recorded.
_ANY_REASON = "not written yet"
_BRAKES = ("hold", "block")
_ANSWERS = {"approve": "approved", "reject": "rejected", "revoke": "revoked"}
_DONE = {"pause": "paused", "resume": "resumed", "abort": "aborted", "retry": "to be retried:"}


class SheetWords(msgspec.Struct, frozen=True):
    """What an act is called, and which act takes it back; empty: none does."""

    title: str
    undo: str = ""


ACT_WORDS = {
    "pause": SheetWords("Pause", "resume"),
    "resume": SheetWords("Resume", "pause"),
    "abort": SheetWords("Abort"),
    "retry": SheetWords("Retry"),
    "approve": SheetWords("Approve", "revoke"),
    "reject": SheetWords("Reject", "revoke"),
    "revoke": SheetWords("Revoke", "approve"),
    "hold": SheetWords("Hold", "lift-hold"),
    "block": SheetWords("Block a revision", "lift-block"),
    "lift-hold": SheetWords("Lift the hold"),
    "lift-freeze": SheetWords("Lift the freeze"),
    "lift-block": SheetWords("Lift the block"),
}
"""The acts that the page offers; all others are on the command line and in the API."""

# A time as a part of a name: 20261116-0312.
_PLAIN = str.maketrans({"-": None, ":": None, "T": "-", " ": "-"})

Fields = Mapping[str, Sequence[str]]


class ActSheet(msgspec.Struct, frozen=True, kw_only=True):
    """One act before it is confirmed."""

    verb: str
    name: str
    title: str
    lines: tuple[str, ...]
    tag: str
    command: str
    fields: dict[str, str]
    groups: tuple[str, ...]
    gates: tuple[str, ...]
    error: str = ""
    difference: PlanDifference | None = None
    moved: bool = False

    @property
    def is_brake(self) -> bool:
        """Whether it asks for a scope."""
        return self.verb in _BRAKES


class ActDone(msgspec.Struct, frozen=True):
    """One act that was recorded, and the one that takes it back."""

    lines: tuple[str, ...]
    undo: str
    undo_name: str
    undo_groups: tuple[str, ...]
    undo_gates: tuple[str, ...]
    back: str


class Sheets:
    """Sheets of all acts, over one recorder."""

    def __init__(self, recorder: Recorder, acts: Sequence[ActRoute]) -> None:
        self._recorder = recorder
        self._acts = {each.verb: each for each in acts if each.verb in ACT_WORDS}

    def knows(self, verb: str) -> bool:
        """Whether the page offers an act."""
        return verb in self._acts

    def open(
        self,
        verb: str,
        name: str,
        sent: Fields,
        caller: Caller,
        now: Instant,
        error: str = "",
        difference: PlanDifference | None = None,
        moved: bool = False,
    ) -> ActSheet:
        """What an act would do, decided now; what is wrong with it is said on the sheet."""
        name = name or _one(sent, "name")
        if verb in _BRAKES and "name" not in sent:
            name = name or f"{verb}-{format_second(now)[:16].translate(_PLAIN)}"
        lines, tag = tuple[str, ...](), ""
        try:
            body = self._body(verb, sent, name, dry=True)
            dry = self._recorder.dry_run(self._acts[verb], caller, name, body)
            lines, tag = tuple(_reach(verb, dry.body, body, name, now)), dry.tag
        except TidegateError as problem:
            error = error or str(problem)
        return ActSheet(
            verb=verb,
            name=name,
            title=ACT_WORDS[verb].title,
            lines=lines,
            tag=tag,
            command=command_line(verb, name, sent),
            fields={key: values[-1] for key, values in sent.items()},
            groups=tuple(sent.get("group", ())),
            gates=tuple(sent.get("gate", ())),
            error=error,
            difference=difference,
            moved=moved,
        )

    def confirm(
        self, verb: str, name: str, sent: Fields, caller: Caller, now: Instant
    ) -> ActDone | ActSheet:
        """Record an act on the plan that its sheet showed; else the sheet, with what is wrong."""
        name = name or _one(sent, "name")
        if not _one(sent, "reason").strip():
            return self.open(verb, name, sent, caller, now, WORDS["reason_missing"])
        try:
            body = self._body(verb, sent, name, dry=False)
            done = self._recorder.record(
                self._acts[verb],
                caller,
                name,
                body,
                # A stop is not to fail because the fleet moves.
                match="" if self._acts[verb].stops else _one(sent, "tag") or "none",
                key=_one(sent, "key"),
            )
        except RequestError as problem:
            if problem.document.status == 412:
                difference = problem.document.difference
                return self.open(verb, name, sent, caller, now, "", difference, moved=True)
            return self.open(verb, name, sent, caller, now, str(problem))
        except TidegateError as problem:
            return self.open(verb, name, sent, caller, now, str(problem))
        undo = ACT_WORDS[verb].undo
        return ActDone(
            lines=tuple(_done(verb, done.body, now)),
            undo=undo,
            undo_name=name if undo else "",
            undo_groups=tuple(sent.get("group", ())),
            undo_gates=tuple(sent.get("gate", ())),
            back="/brakes" if verb in _BRAKES or verb.startswith("lift-") else f"/rollout/{name}",
        )

    def _body(self, verb: str, sent: Fields, name: str, *, dry: bool) -> RouteBody:
        made: dict[str, Any] = {"reason": _one(sent, "reason").strip()}
        if dry:
            made["reason"] = made["reason"] or _ANY_REASON
        if verb in ("approve", "reject", "revoke"):
            made |= {"groups": list(sent.get("group", ())), "gates": list(sent.get("gate", ()))}
        if verb == "retry":
            made |= {"groups": list(sent.get("group", ())), "failed": bool(_one(sent, "failed"))}
        if verb in _BRAKES:
            made |= {"scope": _scope(sent), "expires": _one(sent, "expires").strip()}
            if not name.strip():
                raise UserError((Problem("name", "is empty; write a name, like inc-42"),))
        if verb == "block":
            made["revision"] = _one(sent, "revision").strip() or name
        return msgspec.convert(made, self._acts[verb].body)


def _one(sent: Fields, name: str) -> str:
    return (sent.get(name) or [""])[-1]


def _scope(sent: Fields) -> dict[str, Any]:
    """The scope that the fields describe, as the API takes it."""
    chosen = _one(sent, "scope") or "everything"
    if chosen == "kind":
        return {"kinds": [_one(sent, "kind")]}
    if chosen == "labels":
        text = _one(sent, "labels").strip()
        try:
            selector = parse_selector(text) if text else None
        except ValueError as error:
            raise UserError((Problem("labels", str(error)),)) from None
        if selector is None:
            raise UserError((Problem("labels", "is empty; write labels, like env=prod"),))
        return {"selector": selector}
    if chosen == "targets":
        names = _one(sent, "targets").split()
        if not names:
            raise UserError((Problem("targets", "is empty; write names, one a line"),))
        return {"targets": names}
    return {"everything": True}


def command_line(verb: str, name: str, sent: Fields) -> str:
    """The command that does the same."""
    reason = _one(sent, "reason").strip() or "WHY"
    words = {"block": ["block", "add"], "hold": ["hold", "add"]}.get(verb, [verb])
    if verb.startswith("lift-"):
        words = [verb.removeprefix("lift-"), "remove"]
    if verb == "block":
        words += [_one(sent, "revision").strip() or name or "REVISION", "--name", name or "NAME"]
    else:
        words.append(name or "NAME")
    for each in sent.get("group", ()):
        words += ["--group", each]
    for each in sent.get("gate", ()):
        words += ["--gate", each]
    if verb == "retry" and _one(sent, "failed"):
        words.append("--failed")
    if verb in _BRAKES:
        words += _scope_words(sent)
        if expires := _one(sent, "expires").strip():
            words += ["--expires", expires]
    return shlex.join(["tidegate", *words, "--reason", reason])


def _scope_words(sent: Fields) -> list[str]:
    chosen = _one(sent, "scope") or "everything"
    if chosen == "kind":
        return ["--kind", _one(sent, "kind")]
    if chosen == "labels":
        return ["-l", _one(sent, "labels").strip()]
    if chosen == "targets":
        return [part for each in _one(sent, "targets").split() for part in ("--target", each)]
    return ["--everything"]


def _reach(verb: str, raw: bytes, body: RouteBody, name: str, now: Instant) -> list[str]:
    """What a dry run answered, as the command line says it."""
    if verb in _BRAKES:
        reach = decode_json(raw, BrakeReach)
        return list(reach_lines(reach, getattr(body, "revision", "") or name, now))
    if verb.startswith("lift-"):
        release = decode_json(raw, BrakeRelease)
        return list(release_lines(release)) or ["nothing starts by it at once"]
    report = decode_json(raw, AskReport)
    lines = [ask_line(report)]
    if report.reaches:
        lines.insert(0, f"lets in: {ranged(report.reaches, None)}")
    return lines


def _done(verb: str, raw: bytes, now: Instant) -> list[str]:
    """What was recorded, as the command line says it."""
    if verb in _BRAKES:
        return [set_line(decode_json(raw, BrakeReport), now)]
    if verb.startswith("lift-"):
        return list(lift_lines(decode_json(raw, LiftReport)))
    report = decode_json(raw, AskReport)
    if verb in _ANSWERS:
        names = ", ".join((*report.groups, *report.gates))
        return [f"{_ANSWERS[verb]} {names} for {answered_words(report)}"]
    return [f"{_DONE[verb]} {report.rollout}"]
