"""Answers from a service: the same documents, asked for over HTTP."""

from typing import Any, TypeVar

import msgspec

from tidegate.api.client.service import ServiceClient
from tidegate.app.asks import AskReport, OperatorRequest
from tidegate.app.brakes.brake_list import LISTS, BrakeList
from tidegate.app.brakes.change import BrakeReport, ExemptionReport, LiftReport
from tidegate.app.brakes.claims import ClaimList, ClaimRelease
from tidegate.app.brakes.reach import BrakeReach
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.brakes.request import BrakeRequest, FreezeException, plain
from tidegate.app.brakes.what_if import DateAssumption, RolloutWhatIf
from tidegate.app.change_requests import WithdrawalReport
from tidegate.app.comparison import ReplayReport, ShadowReport
from tidegate.app.documents import (
    RolloutDates,
    RolloutDetails,
    RolloutList,
    StatusReport,
    TargetDetails,
)
from tidegate.app.journal.changes import ChangeList, ChangeQuery
from tidegate.app.workers import PartitionWorker
from tidegate.cli.answers.port import (
    ReadyAsk,
    ReadyBrake,
    ReadyExemption,
    ReadyExpedite,
    ReadyFree,
    ReadyLift,
    ReadyWithdrawal,
)
from tidegate.explain.pace import DatePace
from tidegate.journal.facts import Verb
from tidegate.kinds.integrations.app.pins.pin_list import TargetPinList
from tidegate.kinds.promotions.app.lanes import PromotionLaneList
from tidegate.kinds.upgrades.app.expedite import ExpediteEffect
from tidegate.kinds.upgrades.app.forecast import ClusterForecast, ClusterForecastList
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_duration, format_instant
from tidegate.wiring import clock

# Requests after which nothing starts that would not have.
_STOPS = frozenset((Verb.PAUSE, Verb.REJECT, Verb.REVOKE))


class ServiceAnswers:
    """Questions and acts of a service."""

    def __init__(self, client: ServiceClient, then: str = "") -> None:
        """`then`: the moment of the past that questions are about; empty: now."""
        self._client = client
        self._then = {"at": then} if then else {}

    @property
    def now(self) -> Instant:
        """The time."""
        return clock().now()

    def status(self) -> StatusReport:
        """What moves, waits and failed."""
        return self._client.get("/status", {**self._then}, StatusReport)

    def rollout_list(self, name: str, kind: str = "") -> RolloutList:
        """What is going out."""
        return self._client.get(
            "/rollouts", {"name": name, "kind": kind, **self._then}, RolloutList
        )

    def rollout_details(self, name: str) -> RolloutDetails:
        """One partition in full."""
        return self._client.get(f"/rollouts/{name}", {**self._then}, RolloutDetails)

    def why(self, name: str, target: str | None) -> RolloutDetails | TargetDetails:
        """Why targets start or wait."""
        found: Any = self._client.get(
            f"/why/{name}", {"target": target, **self._then}, RolloutDetails, TargetDetails
        )
        one: RolloutDetails | TargetDetails = found
        return one

    def when(self, name: str, pace: DatePace) -> Document:
        """The expected dates."""
        kinds = (RolloutDates, ClusterForecast, ClusterForecastList)
        query: dict[str, object] = {"days": pace.days}
        for key, value in (("applyTime", pace.apply_time), ("poolTime", pace.pool_time)):
            query[key] = "" if value is None else format_duration(value)
        return self._client.get(f"/when/{name}", query, *kinds)

    def what_if(self, name: str, assumed: DateAssumption, pace: DatePace) -> RolloutWhatIf:
        """The dates as things are, and as they would be."""
        query: dict[str, object] = {
            "set": [f"{key}={value}" for key, value in assumed.settings.items()],
            "freeze": [f"{each.begin}/{each.end}" for each in assumed.freezes],
            "hold": "true" if assumed.hold else "",
            "applyTime": "" if pace.apply_time is None else format_duration(pace.apply_time),
        }
        return self._client.get(f"/what-if/{name}", query, RolloutWhatIf)

    def changes(self, query: ChangeQuery) -> ChangeList:
        """What changed, by which actor, and why."""
        scope = query.scope
        asked: dict[str, object] = {
            "name": query.name,
            "group": list(scope.groups),
            "org": list(scope.organisations),
            "env": list(scope.environments),
            "kind": list(scope.kinds),
            "since": format_instant(query.since),
            "until": format_instant(query.until),
        }
        return self._client.get("/changed", asked, ChangeList)

    def brake_list(self, brake: str, name: str | None) -> BrakeList:
        """The brakes that are on."""
        found = self._client.get(f"/{brake}s", {}, LISTS[brake])
        return _named(found, brake, name)

    def claim_list(self, name: str | None) -> ClaimList:
        """The places that are taken."""
        return _named(self._client.get("/claims", {}, ClaimList), "claim", name)

    def pins(self) -> TargetPinList:
        """Targets that are pinned."""
        return self._client.get("/pins", {}, TargetPinList)

    def promotion_lanes(self) -> PromotionLaneList:
        """Which version is in which environment."""
        return self._client.get("/promotions", {}, PromotionLaneList)

    def replay(self, partition: str | None) -> ReplayReport:
        """Recorded decisions, taken again."""
        path = f"/replay/{partition}" if partition else "/replay"
        return self._client.get(path, {}, ReplayReport)

    def shadow(self, partition: str | None) -> ShadowReport:
        """Decisions beside those of another system."""
        path = f"/shadow/{partition}" if partition else "/shadow"
        return self._client.get(path, {}, ShadowReport)

    def workers(self) -> tuple[PartitionWorker, ...]:
        """The worker of every partition there is."""
        return self.status().workers

    def prepare(self, name: str, asked: OperatorRequest) -> ReadyAsk:
        """What a request reaches, and how it is recorded."""
        body: dict[str, Any] = {"reason": asked.reason}
        if asked.groups:
            body["groups"] = asked.groups
        if asked.gates:
            body["gates"] = asked.gates
        if asked.version:
            body["version"] = asked.version
        if asked.verb is Verb.APPROVE:
            body["standing"] = asked.standing
            if asked.expires_at is not None:
                body["expires"] = format_instant(asked.expires_at)
        if asked.verb is Verb.RETRY_FAILED:
            body["failed"] = True
        verb = "retry" if asked.verb is Verb.RETRY_FAILED else asked.verb.value
        path = f"/{verb}/{name}"
        seen = self._client.dry_run(path, body, AskReport)
        # What stops is not kept from stopping by a plan that moves.
        tag = "*" if asked.verb in _STOPS else seen.tag
        return ReadyAsk(seen.document, lambda: self._client.act(path, body, tag, AskReport))

    def prepare_withdrawal(self, name: str, request: str, reason: str) -> ReadyWithdrawal:
        """What follows if a request is withdrawn, and how that is recorded."""
        path, body = f"/withdraw/{name}", {"request": request, "reason": reason}
        seen = self._client.dry_run(path, body, WithdrawalReport)
        return ReadyWithdrawal(
            seen.document, lambda: self._client.act(path, body, seen.tag, WithdrawalReport)
        )

    def prepare_brake(self, request: BrakeRequest) -> ReadyBrake:
        """What a brake covers, and how it is recorded."""
        body = _body(request)
        path = f"/{request.brake}/{request.name}"
        seen = self._client.dry_run(path, body, BrakeReach)
        tag = seen.tag if request.replace else "*"
        return ReadyBrake(seen.document, lambda: self._client.act(path, body, tag, BrakeReport))

    def prepare_lift(self, brake: str, names: tuple[str, ...], reason: str) -> ReadyLift:
        """What follows if brakes are lifted, and how that is recorded."""
        path, body = f"/lift-{brake}/{names[0]}", dict[str, Any](reason=reason)
        if len(names) > 1:
            body["also"] = names[1:]
        seen = self._client.dry_run(path, body, BrakeRelease)
        return ReadyLift(seen.document, lambda: self._client.act(path, body, seen.tag, LiftReport))

    def prepare_exemption(self, freeze: str, exception: FreezeException) -> ReadyExemption:
        """What follows if targets are exempted, and how that is recorded."""
        body: dict[str, Any] = {
            "scope": plain(exception.scope),
            "until": exception.expires,
            "owner": exception.owner,
            "reason": exception.reason,
        }
        if exception.revision is not None:
            body["revision"] = exception.revision
        path = f"/exempt/{freeze}"
        seen = self._client.dry_run(path, body, BrakeRelease)
        return ReadyExemption(
            seen.document, lambda: self._client.act(path, body, seen.tag, ExemptionReport)
        )

    def prepare_expedite(self, request: BrakeRequest) -> ReadyExpedite:
        """What an expedite changes, and how it is recorded."""
        path, body = f"/expedite/{request.name}", _body(request)
        seen = self._client.dry_run(path, body, ExpediteEffect)
        return ReadyExpedite(
            seen.document, lambda: self._client.act(path, body, seen.tag, BrakeReport)
        )

    def prepare_free(
        self, name: str, target: str | None, reason: str, *, force: bool = False
    ) -> ReadyFree:
        """Which places are given back, and how that is recorded."""
        path, body = f"/free/{name}", {"reason": reason, "target": target or "", "force": force}
        seen = self._client.dry_run(path, body, ClaimRelease)
        return ReadyFree(
            seen.document, lambda: self._client.act(path, body, seen.tag, ClaimRelease)
        )


def _body(request: BrakeRequest) -> dict[str, Any]:
    """A brake as a service is told of it."""
    body: dict[str, Any] = {
        "scope": plain(request.scope),
        "owner": request.owner,
        "reason": request.reason,
        "replace": request.replace,
    }
    if request.expires_at is not None:
        body["expires"] = format_instant(request.expires_at)
    if request.revision is not None:
        body["revision"] = request.revision
    if request.version is not None:
        body["version"] = request.version
    if request.times is not None:
        body["times"] = plain(request.times)
    return body


L = TypeVar("L", BrakeList, ClaimList)


def _named(found: L, noun: str, name: str | None) -> L:
    """The same list, or the one item of a name; NotFoundError names the nearest."""
    if name is None:
        return found
    items = tuple(each for each in found.items if each.name == name)
    if not items:
        hint = nearest_or_all(name, [each.name for each in found.items])
        raise NotFoundError(noun, name, hint)
    return msgspec.structs.replace(found, items=items)
