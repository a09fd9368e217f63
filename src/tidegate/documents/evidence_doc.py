"""Approvals of a revision by people, and evidence of its health, as they are written.

approvals:
  - name: change-board
    scope: {selector: {matchLabels: {env: prod}}}
    quorum: 2
    notByAuthor: true
    responses: [{who: ada, at: 2026-01-05T09:00:00Z, revision: v2, reason: looks fine}]
health:
  - name: canaries
    scope: {everything: true}
    cleanRuns: 3
    maxAge: 15m
    evidence:
      seen: 2026-01-05T09:10:00Z
      revision: v2
      runs: [{at: 2026-01-05T09:05:00Z, clean: true}]
    prometheus: {…}                     # the source of newer evidence: probe.py
"""

from collections.abc import MutableMapping

from tidegate.documents.probe import PrometheusProbe, read_probe
from tidegate.documents.reader import DURATION_REMEDY, INSTANT_REMEDY, Reader
from tidegate.documents.scope_doc import read_scope
from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.health import Alert, Evidence, HealthGate, Run
from tidegate.model.time import Duration, Instant

# The probe of each health gate, by its name.
Probes = MutableMapping[str, PrometheusProbe]


def read_approval(reader: Reader) -> ApprovalGate:
    """An approval gate with the responses so far."""
    quorum = reader.whole("quorum")
    if quorum == 0:
        reader.problems.add(
            reader.at("quorum"), "0 requires no approval", "write 1 or more, or drop it"
        )
    people = frozenset(reader.texts("people"))
    if people and quorum is not None and quorum > len(people):
        wrong = f"{quorum} of {len(people)} people"
        reader.problems.add(reader.at("quorum"), wrong, "name more people, or ask for fewer")
    return ApprovalGate(
        name=reader.text("name") or "",
        scope=read_scope(reader),
        quorum=quorum or 1,
        people=people,
        by_author=not reader.flag("notByAuthor"),
        responses=tuple(_response(each) for each in reader.children("responses")),
    )


def _response(reader: Reader) -> Response:
    who, revision, at = reader.text("who"), reader.text("revision"), reader.instant("at")
    _wanted(reader, "who", "name the person")
    _wanted(reader, "revision", "say which revision it is about")
    _wanted(reader, "at", INSTANT_REMEDY)
    response = Response(
        who=who or "",
        at=at if at is not None else Instant(0),
        revision=revision or "",
        why=reader.text("reason") or "",
        rejects=reader.flag("rejects"),
        expires_at=reader.instant("expires"),
    )
    reader.close()
    return response


def read_health(reader: Reader, probes: Probes) -> HealthGate:
    """A health gate with the evidence there is; its probe, if it has one, joins the others."""
    max_age = reader.duration("maxAge")
    _wanted(reader, "maxAge", DURATION_REMEDY)
    clean_runs, no_alerts = reader.whole("cleanRuns"), reader.flag("noNewAlerts", True)
    if not clean_runs and not no_alerts:
        reader.problems.add(reader.path, "asks for nothing", "write cleanRuns or noNewAlerts")
    if reader.has("prometheus"):
        name = reader.text("name") or ""
        probes[name] = read_probe(reader.child("prometheus"), clean_runs or 0, no_alerts)
    return HealthGate(
        name=reader.text("name") or "",
        scope=read_scope(reader),
        max_age=max_age if max_age is not None else Duration(0),
        clean_runs=clean_runs or 0,
        no_new_alerts=no_alerts,
        evidence=_evidence(reader.child("evidence")) if reader.has("evidence") else None,
    )


def _evidence(reader: Reader) -> Evidence:
    evidence = Evidence(
        seen_at=reader.instant("seen"),
        revision=reader.text("revision"),
        since=reader.instant("since"),
        runs=tuple(_run(each) for each in reader.children("runs")),
        alerts=tuple(_alert(each) for each in reader.children("alerts")),
    )
    reader.close()
    return evidence


def _run(reader: Reader) -> Run:
    at = reader.instant("at")
    _wanted(reader, "at", INSTANT_REMEDY)
    _wanted(reader, "clean", "write true or false")
    run = Run(at if at is not None else Instant(0), reader.flag("clean"))
    reader.close()
    return run


def _alert(reader: Reader) -> Alert:
    name = reader.text("name")
    _wanted(reader, "name", "name the alert")
    alert = Alert(name or "", reader.instant("since"))
    reader.close()
    return alert


def _wanted(reader: Reader, field: str, remedy: str) -> None:
    if reader.raw(field) in (None, ""):
        reader.problems.add(reader.at(field), "missing", remedy)
