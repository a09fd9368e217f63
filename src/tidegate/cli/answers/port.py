"""What commands ask and do, wherever the journal is."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from tidegate.app.asks import AskReport, OperatorRequest
from tidegate.app.brakes.brake_list import BrakeList
from tidegate.app.brakes.change import BrakeReport, ExemptionReport, LiftReport
from tidegate.app.brakes.claims import ClaimList, ClaimRelease
from tidegate.app.brakes.reach import BrakeReach
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.brakes.request import BrakeRequest, FreezeException
from tidegate.app.brakes.what_if import DateAssumption, RolloutWhatIf
from tidegate.app.change_requests import WithdrawalReport
from tidegate.app.comparison import ReplayReport, ShadowReport
from tidegate.app.documents import RolloutDetails, RolloutList, StatusReport, TargetDetails
from tidegate.app.journal.changes import ChangeList, ChangeQuery
from tidegate.app.workers import PartitionWorker
from tidegate.explain.pace import DatePace
from tidegate.model.document import Document
from tidegate.model.time import Instant

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.pins.pin_list import TargetPinList
    from tidegate.kinds.promotions.app.lanes import PromotionLaneList
    from tidegate.kinds.upgrades.app.expedite import ExpediteEffect


class ReadyAsk(msgspec.Struct, frozen=True):
    """A request of a person: what it reaches, and how it is recorded."""

    report: AskReport
    record: Callable[[], AskReport]


class ReadyBrake(msgspec.Struct, frozen=True):
    """A brake to be set: what it covers, and how it is recorded."""

    reach: BrakeReach
    record: Callable[[], BrakeReport]


class ReadyLift(msgspec.Struct, frozen=True):
    """Brakes to be lifted: what follows, and how it is recorded."""

    release: BrakeRelease
    record: Callable[[], LiftReport]


class ReadyExemption(msgspec.Struct, frozen=True):
    """Targets to be exempted from a freeze: what follows, and how it is recorded."""

    release: BrakeRelease
    record: Callable[[], ExemptionReport]


class ReadyExpedite(msgspec.Struct, frozen=True):
    """An expedite to be set: what it changes, and how it is recorded."""

    effect: "ExpediteEffect"
    record: Callable[[], BrakeReport]


class ReadyWithdrawal(msgspec.Struct, frozen=True):
    """A requested change to be withdrawn, and how that is recorded."""

    report: WithdrawalReport
    record: Callable[[], WithdrawalReport]


class ReadyFree(msgspec.Struct, frozen=True):
    """Places to be given back, and how that is recorded."""

    release: ClaimRelease
    record: Callable[[], ClaimRelease]


class AnswerSource(Protocol):
    """Questions and acts of every kind."""

    @property
    def now(self) -> Instant:
        """The time, by the clock of this machine."""
        ...

    def status(self) -> StatusReport:
        """As `app.rollouts.status`."""
        ...

    def rollout_list(self, name: str, kind: str = "") -> RolloutList:
        """As `app.rollouts.rollout_list`."""
        ...

    def rollout_details(self, name: str) -> RolloutDetails:
        """As `app.rollouts.rollout_details`."""
        ...

    def why(self, name: str, target: str | None) -> RolloutDetails | TargetDetails:
        """As `app.rollouts.why`."""
        ...

    def when(self, name: str, pace: DatePace) -> Document:
        """As `app.when.when`."""
        ...

    def what_if(self, name: str, assumed: DateAssumption, pace: DatePace) -> RolloutWhatIf:
        """As `app.brakes.what_if.rollout_what_if`."""
        ...

    def changes(self, query: ChangeQuery) -> ChangeList:
        """As `app.journal.changes.change_list`."""
        ...

    def brake_list(self, brake: str, name: str | None) -> BrakeList:
        """As `app.brakes.brake_list`."""
        ...

    def claim_list(self, name: str | None) -> ClaimList:
        """As `app.brakes.claims.claim_list`."""
        ...

    def pins(self) -> "TargetPinList":
        """As `journal_pins` of integrations."""
        ...

    def promotion_lanes(self) -> "PromotionLaneList":
        """As `promotion_lanes` of promotions."""
        ...

    def replay(self, partition: str | None) -> ReplayReport:
        """As `app.comparison.replay`."""
        ...

    def shadow(self, partition: str | None) -> ShadowReport:
        """As `app.comparison.shadow`."""
        ...

    def workers(self) -> tuple[PartitionWorker, ...]:
        """The worker of every partition there is."""
        ...

    def prepare(self, name: str, asked: OperatorRequest) -> ReadyAsk:
        """As `app.asks.prepare`, then `record`."""
        ...

    def prepare_withdrawal(self, name: str, request: str, reason: str) -> ReadyWithdrawal:
        """As `app.change_requests.prepare_withdrawal`, and recorded."""
        ...

    def prepare_brake(self, request: BrakeRequest) -> ReadyBrake:
        """As `app.brakes.preparation.prepare_brake`, then `set_brake`."""
        ...

    def prepare_lift(self, brake: str, names: tuple[str, ...], reason: str) -> ReadyLift:
        """As `app.brakes.release.lift_release`, then `lift_brakes`."""
        ...

    def prepare_exemption(self, freeze: str, exception: FreezeException) -> ReadyExemption:
        """As `app.brakes.release.release`, then `exempt`."""
        ...

    def prepare_expedite(self, request: BrakeRequest) -> ReadyExpedite:
        """As `expedite_effect` of upgrades, then `set_brake`."""
        ...

    def prepare_free(
        self, name: str, target: str | None, reason: str, *, force: bool = False
    ) -> ReadyFree:
        """As `app.brakes.claims.claims_of`, then `free_claims`."""
        ...
