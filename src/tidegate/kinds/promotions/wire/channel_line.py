"""Promotion lines: one operation of the existing auto-promotions manager in, its answer out.

A line names its operation in `op`. Fields that an operation does not know are ignored, as the
recorded lines of the existing manager may have more of them.
"""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from tidegate.documents.line import fields_of
from tidegate.documents.reader import Reader
from tidegate.kinds.promotions.core.compat import object_sum
from tidegate.kinds.promotions.core.compat.batches import (
    OpenRequest,
    WantedPromotion,
    batch,
)
from tidegate.kinds.promotions.core.compat.description import (
    LABEL,
    FoundRequest,
    parse_requests,
    render_description,
)
from tidegate.kinds.promotions.core.compat.names import (
    ConfigHash,
    PromotedTarget,
    config_hash,
    content_hash,
    request_title,
    target_uid,
)
from tidegate.kinds.promotions.core.compat.subscriber import (
    ALWAYS,
    AutoSubscriber,
    PublisherDeployment,
    desired_target,
)
from tidegate.kinds.promotions.wire.path_edit import replace_at
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, nearest_or_all, shown
from tidegate.model.time import SECOND, Duration, Instant

_HOUR = 3600 * SECOND
# What a deployment has where the line does not say.
_SAAS, _HASH = "ps", "h"


def answer_compat(raw: bytes | Mapping[str, Any], now: Instant) -> dict[str, Any]:
    """The existing manager's answer; `now` is used where the line has none."""
    reader = Reader(fields_of(raw), "", problems := Problems())
    name = _text(reader, "op")
    operation = OPERATIONS.get(name)
    if operation is None:
        if not problems.errors:
            problems.add("op", f"{shown(name)} is not known here", nearest_or_all(name, OPERATIONS))
        raise UserError(tuple(problems.errors))
    out = operation(reader, reader.instant("now") or now)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    ident = reader.raw("id")
    return {**({} if ident is None else {"id": ident}), "out": out}


def refusal(ident: object, error: UserError, where: str = "") -> dict[str, Any]:
    """The answer to a line that cannot be used: nothing is decided, and all that is wrong."""
    return {
        **({} if ident is None else {"id": ident}),
        "error": where + error.text(),
        "problems": error.problems,
        "out": None,
    }


def _uid(reader: Reader, _: Instant) -> str:
    return target_uid(
        _text(reader, "saas"),
        _text(reader, "rt"),
        reader.text("target"),
        _text(reader, "cluster"),
        _text(reader, "namespace"),
        fips=reader.flag("used_for_security"),
    )


def _title(reader: Reader, _: Instant) -> str:
    _needs(reader, "batch_size", "write how many hashes the request holds")
    return request_title(_text(reader, "channels"), reader.whole("batch_size") or 0)


class _TargetIn(msgspec.Struct, frozen=True):
    """A subscriber as the content hash sees it."""

    file: str
    rt: str
    ns: str
    ref: str
    hashes: list[tuple[str, str, str]] | None = None


def _hash(reader: Reader, _: Instant) -> str:
    _needs(reader, "subscribers", "write a list of {file, rt, ns, ref, hashes}")
    return content_hash(
        PromotedTarget(
            one.file, one.rt, one.ns, one.ref, tuple(ConfigHash(*each) for each in one.hashes or ())
        )
        for one in reader.typed_list("subscribers", _TargetIn)
    )


def _desired(reader: Reader, now: Instant) -> dict[str, Any]:
    for name in ("subscriber", "channels"):
        _needs(reader, name, "write its fields")
    subscriber = _subscriber(reader.child("subscriber"))
    channels = reader.child("channels")
    found: dict[str, tuple[PublisherDeployment, ...]] = {}
    for name in channels.names():
        publishers = channels.child(name)
        found[name] = tuple(_deployment(publishers.child(each)) for each in publishers.names())
        if subscriber.follows_config and not found[name]:
            channels.problems.add(channels.at(name), "no publisher", "write at least one")
    if reader.problems.errors:
        return {}
    target = desired_target(subscriber, found, now)
    return {
        "desired_ref": target.ref,
        "desired_hashes": [msgspec.structs.astuple(each) for each in target.hashes],
        "has_diff": target.has_diff,
    }


def _subscriber(reader: Reader) -> AutoSubscriber:
    schedule = reader.text("schedule")
    return AutoSubscriber(
        ref=_text(reader, "ref"),
        soak_days=_days(reader),
        schedule=ALWAYS if schedule is None else schedule,
        blocked=frozenset(reader.texts("blocked")),
        hotfix=frozenset(reader.texts("hotfix")),
        slo_breached=reader.flag("slo_breached"),
        follows_config=reader.flag("use_hash"),
        hashes=_current(reader.child("cur")),
    )


def _days(reader: Reader) -> int:
    days = reader.raw("soak")
    if days is None or (isinstance(days, int) and not isinstance(days, bool)):
        return days or 0
    reader.problems.add(reader.at("soak"), f"{shown(days)} is no number of days", "write one")
    return 0


def _current(reader: Reader) -> dict[str, tuple[ConfigHash, ...]]:
    return {
        name: tuple(
            ConfigHash(name, saas, found)
            for saas, found in reader.typed_list(name, tuple[str, str])
        )
        for name in reader.names()
    }


def _deployment(reader: Reader) -> PublisherDeployment:
    saas, config = reader.text("saas"), reader.text("hash")
    return PublisherDeployment(
        version=_text(reader, "sha"),
        recorded=not reader.flag("missing"),
        success=reader.flag("success", default=True),
        age=_age(reader),
        saas=_SAAS if saas is None else saas,
        config_hash=_HASH if config is None else config,
    )


def _age(reader: Reader) -> Duration | None:
    hours = reader.raw("check_in_hours_ago")
    if hours is None:
        return None
    if isinstance(hours, int | float) and not isinstance(hours, bool) and math.isfinite(hours):
        return Duration(round(Fraction(hours) * _HOUR))
    path = reader.at("check_in_hours_ago")
    reader.problems.add(path, f"{shown(hours)} is no number of hours", "write one like 24 or 0.5")
    return None


def _batch(reader: Reader, _: Instant) -> dict[str, Any]:
    for name, fields in (("desired", "{hashes, channels}"), ("open", "{hashes, channels, failed}")):
        _needs(reader, name, f"write a list of {fields}")
    changes = batch(
        reader.typed_list("desired", WantedPromotion), reader.typed_list("open", OpenRequest)
    )
    return {
        "deletions": [
            {"hashes": sorted(each.hashes), "reason": reason.value}
            for each, reason in changes.closed
        ],
        "additions": [
            {
                "hashes": sorted(each.hashes),
                "channels": sorted(each.channels),
                "batchable": each.batchable,
            }
            for each in changes.opened
        ],
    }


def _parse(reader: Reader, _: Instant) -> dict[str, Any]:
    """One description on the line itself, or several requests in `mrs`."""
    several = reader.has("mrs")
    if not several:
        _needs(reader, "description", "write it, or `mrs`: a list of requests with one each")
    readers = reader.children("mrs") if several else [reader]
    found = parse_requests([_request(each) for each in readers])
    return {
        "open": [
            {
                "mr": at,
                "hashes": sorted(each.hashes),
                "channels": sorted(each.channels),
                "failed": each.failed,
                "batchable": each.batchable,
            }
            for at, each in found.usable
        ],
        "closed": [{"mr": at, "comment": comment} for at, comment in found.closed],
    }


def _request(reader: Reader) -> FoundRequest:
    return FoundRequest(
        description=reader.text("description") or "",
        labels=tuple(reader.texts("labels")) if reader.has("labels") else (LABEL,),
        has_conflicts=reader.flag("has_conflicts"),
        failed=reader.flag("failed"),
    )


def _description(reader: Reader, _: Instant) -> str:
    for name in ("channels", "hashes"):
        _needs(reader, name, "write a list of texts")
    return render_description(
        reader.text("message") or "",
        reader.texts("channels"),
        reader.texts("hashes"),
        batchable=reader.flag("batchable", default=True),
    )


def _object_sum(reader: Reader, _: Instant) -> str:
    body = reader.child("body")
    kind = _text(body, "kind")
    if kind not in object_sum.KINDS:
        known = ", ".join(object_sum.KINDS)
        body.problems.add(body.at("kind"), f"{shown(kind)} is not known here", f"known: {known}")
    metadata = body.child("metadata")
    metadata.child("annotations")
    if body.problems.errors:
        return ""
    return object_sum.digest(_python_json(object_sum.canonical(reader.raw("body"))))


def _config_hash(reader: Reader, _: Instant) -> str:
    config = reader.child("config")
    _needs(reader, "config", "write its fields")
    return "" if config.problems.errors else config_hash(_python_json(reader.raw("config")))


def _lines(reader: Reader, _: Instant) -> str:
    return object_sum.replace_lines(
        _text(reader, "content"),
        _text(reader, "search"),
        _text(reader, "replace"),
    )


def _path(reader: Reader, _: Instant) -> str:
    content, path = _text(reader, "content"), _text(reader, "search")
    value = _text(reader, "replace")
    return "" if reader.problems.errors else replace_at(content, path, value)


def _python_json(value: object) -> str:
    """As Python writes it by default, which is what was hashed: `, `, `: `, ASCII only."""
    return json.dumps(value, sort_keys=True)


def _text(reader: Reader, name: str) -> str:
    """A text that must be there; it may be empty."""
    _needs(reader, name, "write a text")
    return reader.text(name) or ""


def _needs(reader: Reader, name: str, remedy: str) -> None:
    if not reader.has(name):
        reader.problems.add(reader.at(name), "missing", remedy)


OPERATIONS: dict[str, Callable[[Reader, Instant], Any]] = {
    "uid": _uid,
    "title": _title,
    "hash": _hash,
    "desired": _desired,
    "batch": _batch,
    "parse": _parse,
    "description": _description,
    "config_hash": _config_hash,
    "sha256": _object_sum,
    "line": _lines,
    "json": _path,
}
