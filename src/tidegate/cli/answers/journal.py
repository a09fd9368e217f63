"""Answers from a journal that this machine can open."""

from typing import TYPE_CHECKING, TypeVar

import msgspec

from tidegate.app import rollouts as app
from tidegate.app.asks import OperatorRequest, prepare, record
from tidegate.app.partitions.journals import Journals
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
from tidegate.cli.live import actor, journals, whoami
from tidegate.explain.pace import DatePace
from tidegate.model.document import Document
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.app.brakes.brake_list import BrakeList
    from tidegate.app.brakes.claims import ClaimList
    from tidegate.app.brakes.request import BrakeRequest, FreezeException
    from tidegate.app.brakes.what_if import DateAssumption, RolloutWhatIf
    from tidegate.app.comparison import ReplayReport, ShadowReport
    from tidegate.app.documents import RolloutDetails, RolloutList, StatusReport, TargetDetails
    from tidegate.app.journal.changes import ChangeList, ChangeQuery
    from tidegate.kinds.integrations.app.pins.pin_list import TargetPinList
    from tidegate.kinds.promotions.app.lanes import PromotionLaneList


class JournalAnswers:
    """Questions and acts on a journal; every question reads it anew."""

    def __init__(self, store: Archive, at: Instant | None = None, then: str = "") -> None:
        """`at`: decide for this moment; `then`: with the facts of that moment, too."""
        self._store = store
        self._at = at
        self._then = then

    @property
    def _journals(self) -> Journals:
        found = journals(self._store, self._at)
        if not self._then:
            return found
        from tidegate.app.past.journals import past_journals, past_moment
        from tidegate.engine.past.states import Checkpoints

        moment = past_moment(found, self._then)
        return past_journals(self._store, found.rules_of, moment, Checkpoints())

    @property
    def now(self) -> Instant:
        """The time."""
        return clock().now() if self._at is None else self._at

    def status(self) -> "StatusReport":
        """What moves, waits and failed."""
        return app.status(self._journals)

    def rollout_list(self, name: str, kind: str = "") -> "RolloutList":
        """What is going out."""
        return app.rollout_list(self._journals, name, kind)

    def rollout_details(self, name: str) -> "RolloutDetails":
        """One partition in full."""
        return app.rollout_details(self._journals, name)

    def why(self, name: str, target: str | None) -> "RolloutDetails | TargetDetails":
        """Why targets start or wait."""
        return app.why(self._journals, name, target)

    def when(self, name: str, pace: DatePace) -> Document:
        """The expected dates."""
        from tidegate.app.when import when

        return when(self._journals, name, pace)

    def what_if(self, name: str, assumed: "DateAssumption", pace: DatePace) -> "RolloutWhatIf":
        """The dates as things are, and as they would be."""
        from tidegate.app.brakes.what_if import rollout_what_if

        return rollout_what_if(self._journals, name, assumed, pace, actor())

    def changes(self, query: "ChangeQuery") -> "ChangeList":
        """What changed, by which actor, and why."""
        from tidegate.app.journal.changes import change_list

        return change_list(self._journals, self._store, query)

    def brake_list(self, brake: str, name: str | None) -> "BrakeList":
        """The brakes that are on."""
        from tidegate.app.brakes.brake_list import brake_list

        return brake_list(self._journals, brake, name)

    def claim_list(self, name: str | None) -> "ClaimList":
        """The places that are taken."""
        from tidegate.app.brakes.claims import claim_list

        return claim_list(self._journals, name)

    def pins(self) -> "TargetPinList":
        """Targets that are pinned."""
        from tidegate.kinds.integrations.app.pins.pin_list import journal_pins

        return journal_pins(self._journals)

    def promotion_lanes(self) -> "PromotionLaneList":
        """Which version is in which environment."""
        from tidegate.kinds.promotions.app.lanes import promotion_lanes

        return promotion_lanes(self._journals)

    def replay(self, partition: str | None) -> "ReplayReport":
        """Recorded decisions, taken again."""
        from tidegate.app.comparison import replay

        return replay(self._journals, partition)

    def shadow(self, partition: str | None) -> "ShadowReport":
        """Decisions beside those of another system."""
        from tidegate.app.comparison import shadow

        return shadow(self._journals, partition)

    def workers(self) -> tuple[PartitionWorker, ...]:
        """The worker of every partition there is."""
        return self._journals.workers()

    def prepare(self, name: str, asked: OperatorRequest) -> ReadyAsk:
        """What a request reaches, and how it is recorded."""
        known = self._journals
        prepared = prepare(known, name, asked, actor())
        return ReadyAsk(prepared.report, lambda: record(known, prepared, actor()))

    def prepare_withdrawal(self, name: str, request: str, reason: str) -> ReadyWithdrawal:
        """What follows if a request is withdrawn, and how that is recorded."""
        from tidegate.app.change_requests import prepare_withdrawal, record_withdrawal

        known = self._journals
        made = prepare_withdrawal(known, name, request, reason, actor())
        return ReadyWithdrawal(made.report, lambda: record_withdrawal(known, made, actor()))

    def prepare_brake(self, request: "BrakeRequest") -> ReadyBrake:
        """What a brake covers, and how it is recorded."""
        from tidegate.app.brakes.change import set_brake
        from tidegate.app.brakes.preparation import prepare_brake

        known, request = self._journals, _owned(request)
        made = prepare_brake(known, request, actor())
        covered = [each.partition for each in made.reach.rollouts]
        return ReadyBrake(made.reach, lambda: set_brake(known, made.checked, actor(), covered))

    def prepare_lift(self, brake: str, names: tuple[str, ...], reason: str) -> ReadyLift:
        """What follows if brakes are lifted, and how that is recorded."""
        from tidegate.app.brakes.change import lift_brakes
        from tidegate.app.brakes.release import lift_release

        known = self._journals
        freed = lift_release(known, brake, names, actor())
        return ReadyLift(freed, lambda: lift_brakes(known, brake, names, reason, actor()))

    def prepare_exemption(self, freeze: str, exception: "FreezeException") -> ReadyExemption:
        """What follows if targets are exempted, and how that is recorded."""
        from tidegate.app.brakes.change import exempt, exemption
        from tidegate.app.brakes.release import release

        known, exception = self._journals, _owned(exception)
        fact = exemption(known, freeze, exception)
        freed = release(known, "freeze", (freeze,), (fact,), actor())
        return ReadyExemption(freed, lambda: exempt(known, freeze, exception, actor()))

    def prepare_expedite(self, request: "BrakeRequest") -> ReadyExpedite:
        """What an expedite changes, and how it is recorded."""
        from tidegate.app.brakes.change import set_brake
        from tidegate.app.brakes.request import check_brake
        from tidegate.kinds.upgrades.app.expedite import expedite_effect

        known = self._journals
        checked = check_brake(known, _owned(request))
        effect = expedite_effect(known, checked)
        covered = [each.partition for each in effect.items]
        return ReadyExpedite(effect, lambda: set_brake(known, checked, actor(), covered))

    def prepare_free(
        self, name: str, target: str | None, reason: str, *, force: bool = False
    ) -> ReadyFree:
        """Which places are given back, and how that is recorded."""
        from tidegate.app.brakes.claims import check_free, claims_of, free_claims

        known = self._journals
        freed = claims_of(known, name, target)
        check_free(freed, force=force)
        return ReadyFree(freed, lambda: free_claims(known, freed, reason, actor(), force=force))


W = TypeVar("W", "BrakeRequest", "FreezeException")


def _owned(said: W) -> W:
    """What names no owner is owned by the person who runs the command."""
    return said if said.owner else msgspec.structs.replace(said, owner=whoami())
