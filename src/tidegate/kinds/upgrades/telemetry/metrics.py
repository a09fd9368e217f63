"""Numbers about upgrades: those of an organisation's round replace those of its last one at once.

An organisation whose round failed keeps its numbers, and their age shows. Only the leader of an
organisation counts it. Lines are made at a scrape, in its thread,
and kept until the next round.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock

import msgspec

from tidegate.kinds.upgrades.core.faults import FaultParty
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE
from tidegate.kinds.upgrades.core.service import UpgradeService
from tidegate.kinds.upgrades.telemetry.rows import RoundSeen, Rows, Since, rows, tally
from tidegate.kinds.upgrades.telemetry.table import GAUGES, ROUND_GAUGES, TOTALS
from tidegate.model.time import SECOND, Instant
from tidegate.telemetry.exposition import family, lines
from tidegate.telemetry.metric_table import Known

# Of an environment that is not described: it is paged unless its document says otherwise.
_SEVERITY = "critical"
# Calls so far, by verb and by the account that made them.
Calls = Mapping[tuple[str, str], int]
Org = tuple[str, str]


class FailureSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A round over an organisation that failed."""

    env: str
    org_id: str
    fault: FaultParty


class SurveySeen(msgspec.Struct, frozen=True, kw_only=True):
    """An environment was read whole."""

    env: str
    at: Instant
    took_s: float
    # Documents that could not be read, by kind.
    set_aside: Mapping[str, int] = {}


class _Last(msgspec.Struct):
    """The last round of an organisation that went well; its lines are made when asked for."""

    at: Instant
    took_s: float
    # None: its lines were made.
    seen: RoundSeen | None
    rows: Rows
    before: Since

    @property
    def since(self) -> Since:
        """Since when clusters wait, as far as it was worked out."""
        return self.rows.since if self.seen is None else self.before


class UpgradeNumbers:
    """Everything about upgrades that can be scraped."""

    def __init__(self) -> None:
        self._calls: Callable[[], Calls] = dict
        self._service = UpgradeService()
        # By environment and organisation.
        self._last: dict[Org, _Last] = {}
        self._failing: dict[Org, FaultParty] = {}
        self._surveys: dict[str, SurveySeen] = {}
        self._totals: dict[str, Counter[tuple[str, ...]]] = {
            each.name: Counter() for each in TOTALS
        }
        self._lock = Lock()
        # One makes lines at a time; rounds never wait for it.
        self._making = Lock()

    def serving(self, service: UpgradeService, calls: Callable[[], Calls] | None = None) -> None:
        """What is served from now on, and what counts the calls made for it."""
        with self._lock:
            self._service = service
            self._calls = calls or self._calls

    def round_ended(self, seen: RoundSeen) -> None:
        """A round went well: its numbers are the ones to tell."""
        org = (seen.env, seen.org_id)
        with self._lock:
            last = self._last.get(org)
            before: Since = {} if last is None else last.since
            at = seen.now if seen.read_at is None else seen.read_at
            self._last[org] = _Last(at, seen.took_s, seen, Rows({}, {}), before)
            self._failing.pop(org, None)
            self._count_round(*org, 0)
            acts = self._totals["tidegate_upgrade_acts_total"]
            for act, number in tally(seen.acts).items():
                acts[*org, *act] += number

    def told(self, env: str, org_id: str, outcome: str, number: int) -> None:
        """Owners were told something in service logs, or could not be: sent, failed."""
        with self._lock:
            self._totals["tidegate_upgrade_told_total"][env, org_id, outcome] += number

    def surveyed(self, seen: SurveySeen) -> None:
        """An environment was read."""
        with self._lock:
            self._surveys[seen.env] = seen
            self._totals["aus_ocm_environment_errors_total"][SERVICE, seen.env] += 0

    def survey_failed(self, env: str) -> None:
        """An environment could not be read; the rounds over its organisations fail of it."""
        with self._lock:
            self._totals["aus_ocm_environment_errors_total"][SERVICE, env] += 1

    def failed(self, seen: FailureSeen) -> None:
        """A round failed: what was told of its organisation stays, and grows old."""
        with self._lock:
            self._failing[seen.env, seen.org_id] = seen.fault
            key = (seen.env, seen.org_id, seen.fault.value, self._severity(seen.env))
            self._totals["tidegate_upgrade_errors_total"][key] += 1
            self._count_round(seen.env, seen.org_id, 1)

    def forget(self, env: str, org_id: str) -> None:
        """Another worker leads an organisation now, and counts it."""
        with self._lock:
            self._last.pop((env, org_id), None)
            self._failing.pop((env, org_id), None)
            if not any(each == env for each, _ in (*self._last, *self._failing)):
                self._surveys.pop(env, None)

    def text(self) -> bytes:
        """What a scrape gets."""
        with self._making:
            with self._lock:
                last = dict(sorted(self._last.items()))
            made = [_made(each) for each in last.values()]
        with self._lock:
            bodies = {**self._gauges(last), **self._counters()}
        for known in ROUND_GAUGES:
            bodies[known.name] = "".join([each.texts.get(known.name, "") for each in made])
        every = (*ROUND_GAUGES, *GAUGES, *TOTALS)
        text = "".join([family(known, bodies.get(known.name, "")) for known in every])
        return text.encode(errors="replace")

    def _count_round(self, env: str, org: str, errors: int) -> None:
        key = (SERVICE, env, org)
        self._totals["aus_organization_reconciled_total"][key] += 1
        # The series is there from the first round on, so that a rate has a beginning.
        self._totals["aus_organization_reconcile_errors_total"][key] += errors

    def _severity(self, env: str) -> str:
        found = self._service.environment(env)
        return _SEVERITY if found is None else found.severity

    def _gauges(self, last: Mapping[Org, _Last]) -> dict[str, str]:
        service = self._service
        tables: dict[str, dict[tuple[str, ...], float]] = {
            "tidegate_upgrade_environment_info": {
                (each.name, each.severity): 1 for each in service.environments
            },
            "tidegate_upgrade_organization_info": {
                (each.environment, each.id, each.name, each.rules.value): 1
                for each in service.served()
            },
            "tidegate_upgrade_last_round_timestamp_seconds": {
                org: each.at / SECOND for org, each in last.items()
            },
            "tidegate_upgrade_round_seconds": {org: each.took_s for org, each in last.items()},
            "tidegate_upgrade_failing": {
                (*org, fault.value): 1 for org, fault in sorted(self._failing.items())
            },
            "tidegate_upgrade_survey_timestamp_seconds": {
                (env,): each.at / SECOND for env, each in sorted(self._surveys.items())
            },
            "tidegate_upgrade_survey_seconds": {
                (env,): each.took_s for env, each in sorted(self._surveys.items())
            },
            "tidegate_upgrade_survey_set_aside": {
                (env, kind): number
                for env, each in sorted(self._surveys.items())
                for kind, number in sorted(each.set_aside.items())
            },
        }
        return _bodies(GAUGES, tables)

    def _counters(self) -> dict[str, str]:
        calls = self._totals["qontract_reconcile_ocm_request_total"]
        for key, number in self._calls().items():
            calls[key] = number
        return _bodies(TOTALS, self._totals)


def _made(last: _Last) -> Rows:
    """The lines of a round, made once; the round itself is let go."""
    if last.seen is not None:
        last.rows = rows(last.seen, last.before)
        last.seen = None
    return last.rows


def _bodies(
    table: tuple[Known, ...], values: Mapping[str, Mapping[tuple[str, ...], float]]
) -> dict[str, str]:
    """The lines of metrics whose labels stand in the order of their table."""
    return {
        known.name: lines(
            known.name,
            (
                (dict(zip(known.labels, key, strict=True)), value)
                for key, value in values[known.name].items()
            ),
        )
        for known in table
    }
