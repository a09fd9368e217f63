"""The act sheet: what an act reaches, a reason, the same command, and the plan it is meant for.

Every write of the page goes through here, and from here through the recorder of the API: the same
roles, the same plan, the same entries of the journal.
"""

import asyncio
import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from tidegate.access.roles import Caller
from tidegate.access.tokens import random_token
from tidegate.api.problem import RequestError
from tidegate.api.recorder import Recorder
from tidegate.api.route import ActRoute, RouteBody
from tidegate.app.access.tokens import TokenList
from tidegate.app.asks import AskReport
from tidegate.app.brakes.change import BrakeReport, ExemptionReport, LiftReport
from tidegate.app.brakes.reach import BrakeReach
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.change_requests import WithdrawalReport
from tidegate.app.partitions.plan_tag import PlanDifference
from tidegate.app.text.ask_text import answered_words, ask_line
from tidegate.app.text.reach_text import (
    exempt_line,
    lift_lines,
    reach_lines,
    release_lines,
    set_line,
)
from tidegate.app.text.request_text import withdrawal_lines, withdrawn_line
from tidegate.app.text.token_text import token_line
from tidegate.explain.names import ranged
from tidegate.model.errors import TidegateError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.model.time import Instant, format_second
from tidegate.page.brake_form import BRAKES, EXEMPT, FORMS, Fields, form_body, form_words, one
from tidegate.page.token_form import CREATE, REVOKE, token_body, token_words
from tidegate.page.words import WORDS

# A dry run needs a reason, too; this one is never recorded.
_ANY_REASON = "not written yet"
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
    "withdraw": SheetWords("Withdraw the request of"),
    "freeze": SheetWords("Freeze", "lift-freeze"),
    "exempt": SheetWords("Exempt from the freeze"),
    "pin": SheetWords("Pin targets", "lift-pin"),
    "lift-pin": SheetWords("Lift the pin"),
    CREATE: SheetWords("Create a token", REVOKE),
    REVOKE: SheetWords("Revoke the token"),
}
"""The acts that the page offers; all others are on the command line and in the API."""

# What a template may show of what was sent; a field that was not is empty.
_FIELDS = (
    *("reason", "failed", "request", "scope", "kind", "labels", "targets", "revision", "expires"),
    *("from", "to", "rrule", "zone", "finish", "until"),
    *("role", "selector", "kinds", "rollouts", "groups", "organisations", "environments"),
)

# A pin has a verb of its own to lift it.
_LIFTS = {
    "lift-hold": ("hold", "remove"),
    "lift-freeze": ("freeze", "remove"),
    "lift-block": ("block", "remove"),
    "lift-pin": ("unpin",),
    REVOKE: ("token", "revoke"),
}

# A time as a part of a name: 20261116-0312.
_PLAIN = str.maketrans({"-": None, ":": None, "T": "-", " ": "-"})


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
    # Whether it was just opened: then what is missing is a hint, and not a mistake.
    is_new: bool = False

    @property
    def is_named(self) -> bool:
        """Whether it asks for a name."""
        return self.verb in (*BRAKES, CREATE)

    @property
    def is_form(self) -> bool:
        """Whether it asks for a scope."""
        return self.verb in FORMS


class ActDone(msgspec.Struct, frozen=True, kw_only=True):
    """One act that was recorded, and the one that takes it back."""

    lines: tuple[str, ...]
    undo: str
    undo_name: str
    undo_groups: tuple[str, ...]
    undo_gates: tuple[str, ...]
    back: str
    # A token that was created: this is the one time that it is shown.
    secret: str = ""


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
        name = name or one(sent, "name")
        if verb in BRAKES and "name" not in sent:
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
            fields=dict.fromkeys(_FIELDS, "") | {key: each[-1] for key, each in sent.items()},
            groups=tuple(sent.get("group", ())),
            gates=tuple(sent.get("gate", ())),
            error=error,
            difference=difference,
            moved=moved,
            is_new="tag" not in sent and "key" not in sent,
        )

    async def confirm(
        self, verb: str, name: str, sent: Fields, caller: Caller, now: Instant
    ) -> ActDone | ActSheet:
        """Record an act on the plan that its sheet showed; else the sheet, with what is wrong."""
        name = name or one(sent, "name")
        shown = partial(self.open, verb, name, sent, caller, now)
        if not one(sent, "reason"):
            return await asyncio.to_thread(shown, WORDS["reason_missing"])
        secret = random_token() if verb == CREATE else ""
        try:
            body = self._body(verb, sent, name, secret, dry=False)
            done = await self._recorder.record(
                self._acts[verb],
                caller,
                name,
                body,
                # A stop is not to fail because the fleet moves.
                match=() if self._acts[verb].stops else (one(sent, "tag") or "none",),
                key=one(sent, "key"),
            )
        except RequestError as problem:
            if problem.document.status == 412:
                return await asyncio.to_thread(shown, "", problem.document.difference, moved=True)
            return await asyncio.to_thread(shown, str(problem))
        except TidegateError as problem:
            return await asyncio.to_thread(shown, str(problem))
        undo = ACT_WORDS[verb].undo
        return ActDone(
            lines=tuple(_done(verb, done.body, now)),
            undo=undo,
            undo_name=name if undo else "",
            undo_groups=tuple(sent.get("group", ())),
            undo_gates=tuple(sent.get("gate", ())),
            back=_back(verb, name),
            secret=secret,
        )

    def _body(
        self, verb: str, sent: Fields, name: str, secret: str = "", *, dry: bool
    ) -> RouteBody:
        made: dict[str, Any] = {"reason": one(sent, "reason")}
        if dry:
            made["reason"] = made["reason"] or _ANY_REASON
        if verb in ("approve", "reject", "revoke"):
            made |= {"groups": list(sent.get("group", ())), "gates": list(sent.get("gate", ()))}
        if verb == "retry":
            made |= {"groups": list(sent.get("group", ())), "failed": bool(one(sent, "failed"))}
        if verb == "withdraw":
            made["request"] = one(sent, "request")
        if verb in FORMS:
            made |= form_body(verb, sent, name)
        if verb == CREATE:
            made |= token_body(sent, name, secret)
        try:
            return msgspec.convert(made, self._acts[verb].body)
        except msgspec.ValidationError as error:
            raise UserError((Problem("", str(error)),)) from None


def _back(verb: str, name: str) -> str:
    """Where an act was begun."""
    if verb in (CREATE, REVOKE):
        return "/tokens"
    return "/brakes" if verb in FORMS or verb.startswith("lift-") else f"/rollout/{name}"


def command_line(verb: str, name: str, sent: Fields) -> str:
    """The command that does the same."""
    reason = one(sent, "reason") or "WHY"
    if verb in FORMS:
        return shlex.join(["tidegate", *form_words(verb, name, sent), "--reason", reason])
    if verb == CREATE:
        return shlex.join(["tidegate", *token_words(name, sent), "--reason", reason])
    words = [*_LIFTS.get(verb, (verb,)), name or "NAME"]
    if verb == "withdraw":
        words.append(one(sent, "request"))
    for each in sent.get("group", ()):
        words += ["--group", each]
    for each in sent.get("gate", ()):
        words += ["--gate", each]
    if verb == "retry" and one(sent, "failed"):
        words.append("--failed")
    return shlex.join(["tidegate", *words, "--reason", reason])


def _reach(verb: str, raw: bytes, body: RouteBody, name: str, now: Instant) -> list[str]:
    """What a dry run answered, as the command line says it."""
    if verb in (CREATE, REVOKE):
        return [token_line(each) for each in decode_json(raw, TokenList).items]
    if verb in BRAKES:
        reach = decode_json(raw, BrakeReach)
        return list(reach_lines(reach, getattr(body, "revision", "") or name, now))
    if verb.startswith("lift-") or verb == EXEMPT:
        release = decode_json(raw, BrakeRelease)
        return list(release_lines(release)) or ["nothing starts by it at once"]
    if verb == "withdraw":
        return list(withdrawal_lines(decode_json(raw, WithdrawalReport)))
    report = decode_json(raw, AskReport)
    lines = [ask_line(report)]
    if report.reaches:
        lines.insert(0, f"lets in: {ranged(report.reaches, None)}")
    return lines


def _done(verb: str, raw: bytes, now: Instant) -> list[str]:
    """What was recorded, as the command line says it."""
    if verb in (CREATE, REVOKE):
        word = "created" if verb == CREATE else "revoked"
        return [f"token {each.name} is {word}" for each in decode_json(raw, TokenList).items]
    if verb in BRAKES:
        return [set_line(decode_json(raw, BrakeReport), now)]
    if verb == EXEMPT:
        return [exempt_line(decode_json(raw, ExemptionReport))]
    if verb.startswith("lift-"):
        return list(lift_lines(decode_json(raw, LiftReport)))
    if verb == "withdraw":
        return [withdrawn_line(decode_json(raw, WithdrawalReport))]
    report = decode_json(raw, AskReport)
    if verb in _ANSWERS:
        names = ", ".join((*report.groups, *report.gates))
        return [f"{_ANSWERS[verb]} {names} for {answered_words(report)}"]
    return [f"{_DONE[verb]} {report.rollout}"]
