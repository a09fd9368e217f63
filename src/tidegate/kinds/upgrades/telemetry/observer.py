"""Log lines and metrics of upgrades: rounds, surveys, and the fault class of an error."""

from collections.abc import Callable, Iterator

from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import TroubleError
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import TaskOutcome, Told
from tidegate.kinds.upgrades.app.requests import words
from tidegate.kinds.upgrades.app.surveys import SurveyReport
from tidegate.kinds.upgrades.core.journal.facts import Planned
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan
from tidegate.kinds.upgrades.core.service import Registration, UpgradeService
from tidegate.kinds.upgrades.telemetry.decisions import upgrade_records
from tidegate.kinds.upgrades.telemetry.faults import fault_of_error
from tidegate.kinds.upgrades.telemetry.metrics import Calls, FailureSeen, SurveySeen, UpgradeNumbers
from tidegate.kinds.upgrades.telemetry.rows import ActSeen, RoundSeen
from tidegate.model.time import Instant, format_age
from tidegate.model.verdict import all_pass
from tidegate.telemetry.kind import KindTelemetry
from tidegate.telemetry.log import Record

# What troubles about service logs begin with.
_LOGS = "service log "


class UpgradeTelemetry(KindTelemetry):
    """Lines and metrics of the organisations that are served."""

    def __init__(self, numbers: UpgradeNumbers | None = None) -> None:
        self._numbers = numbers or UpgradeNumbers()
        self._served: dict[str, Registration] = {}

    def serve(self, service: UpgradeService, calls: Callable[[], Calls]) -> None:
        """The organisations that are served, and the counts of requests made for them."""
        self._served = {each.partition: each for each in service.served()}
        self._numbers.serving(service, calls)

    def text(self) -> bytes:
        """Metrics by the names that dashboards of the predecessor know."""
        return self._numbers.text()

    def line(self, result: RoundResult) -> str:
        """What is asked for, and how many clusters wait."""
        planned, made = result.fact, result.plan
        if not isinstance(planned, Planned) or not isinstance(made, OrganisationPlan):
            return ""
        if not result.is_new or not (planned.changed or planned.tasks):
            return ""
        verb = "" if planned.mode is Mode.ACT else "would "
        failed = {task.key for task, outcome in result.outcomes if outcome is not TaskOutcome.DONE}
        done = [
            f"{task.name} {words(task)}{' (not done)' if task.key in failed else ''}"
            for task in planned.tasks
        ]
        starts = {each.target for each in made.plan.options if all_pass(each.verdicts)}
        waits = len({each.target for each in made.plan.options} - starts)
        left = ""
        if planned.recheck_at is not None:
            left = f", look again in {format_age(planned.recheck_at - planned.now)}"
        asked = "; ".join(done) or "start nothing"
        return f"{result.partition}: {verb}{asked}; {waits} wait{left}"

    def records(self, result: RoundResult) -> Iterator[Record]:
        """One line for every cluster whose decision changed."""
        planned, made = result.fact, result.plan
        if isinstance(planned, Planned) and isinstance(made, OrganisationPlan):
            if planned.changed or planned.tasks:
                yield from upgrade_records(result.partition, planned, made.plan)

    def round_ended(self, result: RoundResult) -> None:
        """A round is over; one in which nothing is new says nothing."""
        served, planned, made = self._served.get(result.partition), result.fact, result.plan
        if served is None or not isinstance(planned, Planned):
            return
        if not isinstance(made, OrganisationPlan):
            return
        read_at = made.world.read_at if made.world.read_at is not None else planned.now
        seen = RoundSeen(
            env=served.environment,
            org_id=served.id,
            now=planned.now,
            read_at=Instant(read_at),
            took_s=result.took_s,
            decided=(made.world, made.plan),
            theirs=None if made.theirs is None else made.theirs.numbers,
            acts=tuple(
                ActSeen(task.target, task.change.doing, task.change.revision or "", outcome.value)
                for task, outcome in result.outcomes
            ),
        )
        self._numbers.round_ended(seen)
        unsent = sum(each.startswith(_LOGS) for each in result.troubles)
        if unsent:
            self._numbers.told(served.environment, served.id, "failed", unsent)

    def written(self, partition: str, fact: Fact) -> None:
        """Entries were written to service logs."""
        if isinstance(fact, Told) and (served := self._served.get(partition)) is not None:
            number = sum("/" not in key for key in fact.keys)
            self._numbers.told(served.environment, served.id, "sent", number)

    def failed(self, partition: str, error: Exception) -> None:
        """A round failed; what fails beside a round is no failure of it."""
        served = self._served.get(partition)
        if served is None or isinstance(error, TroubleError):
            return
        fault = fault_of_error(error, own_credentials=served.credentials is not None)
        if fault is not None:
            failure = FailureSeen(env=served.environment, org_id=served.id, fault=fault)
            self._numbers.failed(failure)

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads it now."""
        if (served := self._served.get(partition)) is not None:
            self._numbers.forget(served.environment, served.id)

    def on_survey(self, watched: SurveyReport) -> None:
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
