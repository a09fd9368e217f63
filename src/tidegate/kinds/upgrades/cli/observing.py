"""From what happens to upgrades to lines and numbers: rounds, surveys, whose fault an error is."""

from collections.abc import Callable

from tidegate.engine.kind import TroubleError
from tidegate.kinds.upgrades.app.rounds import UpgradeRound
from tidegate.kinds.upgrades.app.sight import Watched
from tidegate.kinds.upgrades.core.service import Registration, Service
from tidegate.kinds.upgrades.telemetry.decisions import upgrade_records
from tidegate.kinds.upgrades.telemetry.faults import fault_of_error
from tidegate.kinds.upgrades.telemetry.metrics import Calls, FailureSeen, SurveySeen
from tidegate.kinds.upgrades.telemetry.rows import ActSeen, RoundSeen
from tidegate.model.time import SECOND, Instant
from tidegate.telemetry.log import Log
from tidegate.telemetry.metrics import Metrics

# What troubles about service logs begin with.
_LOGS = "service log "


class UpgradeEars:
    """Hears what happens to organisations; deaf to whatever is none."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._numbers = metrics.upgrades
        self._log = log
        self._served: dict[str, Registration] = {}

    def serve(self, service: Service, calls: Callable[[], Calls]) -> None:
        """Who is served, and who counts the calls for it."""
        self._served = {each.partition: each for each in service.served()}
        self._numbers.serving(service, calls)

    def ended(self, partition: str, done: UpgradeRound) -> None:
        """A round is over; one that found nothing new says nothing."""
        whom, planned, plan = self._served.get(partition), done.planned, done.plan
        if whom is None or planned is None or plan is None or done.world is None:
            return
        seen = RoundSeen(
            env=whom.environment,
            org_id=whom.id,
            now=planned.now,
            read_at=Instant(planned.now - round(done.age_s * SECOND)),
            took_s=done.took_s,
            decided=(done.world, plan),
            theirs=None if done.theirs is None else done.theirs.numbers,
            acts=tuple(
                ActSeen(job.target, job.change.doing, job.change.revision or "", outcome.value)
                for job, outcome in done.outcomes
            ),
        )
        self._numbers.round_ended(seen)
        unsent = sum(each.startswith(_LOGS) for each in done.troubles)
        if unsent:
            self._numbers.told(whom.environment, whom.id, "failed", unsent)
        if planned.changed or planned.tasks:
            self._log.later(lambda: upgrade_records(partition, planned, plan))

    def told(self, partition: str, number: int) -> None:
        """Owners were told so many things."""
        if (whom := self._served.get(partition)) is not None:
            self._numbers.told(whom.environment, whom.id, "sent", number)

    def failed(self, partition: str, error: Exception) -> None:
        """A round failed; what went wrong beside one is no failure of it."""
        whom = self._served.get(partition)
        if whom is None or isinstance(error, TroubleError):
            return
        fault = fault_of_error(error, own_credentials=whom.credentials is not None)
        if fault is not None:
            failure = FailureSeen(env=whom.environment, org_id=whom.id, fault=fault)
            self._numbers.failed(failure)

    def left(self, partition: str) -> None:
        """Somebody else leads it now."""
        if (whom := self._served.get(partition)) is not None:
            self._numbers.forget(whom.environment, whom.id)

    def watched(self, watched: Watched) -> None:
        """An environment was read, or could not be."""
        if watched.error is not None:
            self._numbers.survey_failed(watched.environment)
            return
        seen = SurveySeen(
            env=watched.environment,
            at=watched.at,
            took_s=watched.took_s,
            set_aside=watched.set_aside,
        )
        self._numbers.surveyed(seen)
