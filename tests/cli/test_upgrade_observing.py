"""What `serve` makes of rounds of upgrades: numbers that agree with what happened, and lines."""

import json
from functools import partial
from typing import Any

import pytest

from tests.engine.stage import VirtualClock
from tests.telemetry.test_upgrade_numbers import Labels, by, scraped
from tests.upgrades_live import Scene, example
from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led, TroubleError
from tidegate.journal.facts import Told
from tidegate.kinds.upgrades.core.service import Credentials, OcmEnvironment, UpgradeService
from tidegate.kinds.upgrades.ocm.port import OcmRefusedError
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.telemetry.metrics import UpgradeNumbers
from tidegate.kinds.upgrades.telemetry.observer import UpgradeTelemetry
from tidegate.model.time import Instant
from tidegate.telemetry.log import Log

PAYMENTS = "upgrades/prod/o-payments"


class Heard:
    """Telemetry of a scene: its metrics and lines."""

    def __init__(self, scene: Scene) -> None:
        self.lines: list[bytes] = []
        self.numbers = UpgradeNumbers()
        log = Log(VirtualClock(Instant(0)), self.lines.append, human=False)
        self.ears = UpgradeTelemetry(self.numbers)
        environment = OcmEnvironment(name="prod", url="https://ocm", severity="high")
        self.ears.serve(UpgradeService((environment,), scene.registrations), dict)
        for each in scene.watched:
            self.ears.on_survey(each)
        for partition, outcome in scene.told:
            if isinstance(outcome, RoundResult):
                if outcome.is_new:
                    self.ears.round_ended(outcome)
                    log.later(partial(self.ears.records, outcome))
            elif isinstance(outcome, Exception):
                self.ears.failed(partition, outcome)
        log.close()

    @property
    def found(self) -> dict[str, dict[Labels, float]]:
        """What is scraped."""
        return scraped(self.numbers)

    def decisions(self) -> list[dict[str, Any]]:
        """Every line, read."""
        return [json.loads(line) for line in self.lines]


class Refusing(Scene):
    """A scene in which we may not even look."""

    def manager(self) -> Any:
        """Our credentials are refused."""

        class Shut:
            def __getattr__(self, _name: str) -> Any:
                async def refuse(*_: Any, **__: Any) -> None:
                    raise OcmRefusedError("HTTP 403", 403)

                return refuse

        return Shut()


@pytest.fixture(scope="module")
def day() -> Scene:
    """A day of the small fleet that is shipped."""
    scene = Scene(example())
    scene.live(24)
    return scene


def test_numbers_agree_with_what_was_asked_for(day: Scene) -> None:
    """Every write but service logs is an act that is counted; every round, too."""
    found = Heard(day).found
    writes = [each for each in day.writes if "service_logs" not in each.path]
    assert sum(found["tidegate_upgrade_acts_total"].values()) == len(writes) > 3
    rounds = [
        each for _, each in day.told if isinstance(each, RoundResult) and each.plan and each.is_new
    ]
    assert sum(found["aus_organization_reconciled_total"].values()) == len(rounds)
    assert set(found["aus_organization_reconcile_errors_total"].values()) == {0}
    assert set(found["aus_ocm_environment_errors_total"].values()) == {0}
    assert "tidegate_upgrade_failing" not in found


def test_every_cluster_is_reported_as_it_is_at_the_end(day: Scene) -> None:
    """The versions are those of the last look, the age that of the last look."""
    found = Heard(day).found
    names = {dict(key)["cluster_name"]: dict(key)["version"] for key in found["aus_cluster_info"]}
    assert names.items() <= day.versions().items()
    ends = [
        at
        for _, at in sorted(
            by(found["tidegate_upgrade_survey_timestamp_seconds"], "ocm_env").items()
        )
    ]
    ages = by(found["tidegate_upgrade_last_round_timestamp_seconds"], "org_id")
    assert set(ages) == {"o-payments", "o-maps"}
    assert max(ages.values()) == pytest.approx(ends[0], abs=1)


def test_who_no_longer_leads_tells_nothing(day: Scene) -> None:
    """Counters stay: they are of this process."""
    heard = Heard(day)
    for each in day.registrations:
        heard.ears.on_lease_lost(each.partition)
    assert "aus_cluster_info" not in heard.found
    assert "tidegate_upgrade_survey_seconds" not in heard.found
    assert heard.found["tidegate_upgrade_acts_total"]
    assert Led(False) in [each for _, each in day.told]


def test_lines_say_what_is_done_and_what_each_waits_for(day: Scene) -> None:
    """And say it once for as long as it stays so."""
    lines = Heard(day).decisions()
    mistaken = [each for each in lines if each["target"] == "maps-2"]
    assert [each["reason"] for each in mistaken] == ["LabelsUnreadable"]
    assert "soak-days" in mistaken[0]["msg"]
    actions = [each for each in lines if "action" in each]
    assert {each["action"] for each in actions} >= {"upgrade", "channel"}
    assert all(not each["msg"].startswith("would") for each in actions)
    assert all(each["what"] == "decision" and each["rollout"] for each in lines)


@pytest.mark.parametrize(
    "own, fault", [(None, "ours"), (Credentials(client_id="o", client_secret="env:O"), "user")]
)
def test_refused_credentials_are_their_owners_to_fix(own: Credentials | None, fault: str) -> None:
    """Ours, unless the organisation brought its own."""
    scene = Refusing(example(), credentials=own)
    scene.live(1)
    found = Heard(scene).found
    assert by(found["tidegate_upgrade_failing"], "fault") == {fault: 1}
    severities = by(found["tidegate_upgrade_errors_total"], "severity")
    assert set(severities) == {"high"}
    assert sum(found["aus_ocm_environment_errors_total"].values()) > 3
    assert all(each > 3 for each in found["aus_organization_reconcile_errors_total"].values())


def test_an_outage_is_nobodys_here(day: Scene) -> None:
    """It is outside; what was reported before stays, and a round that goes well ends it."""
    scene = Scene(example(), luck=FaultDraw(OcmFaults({OcmFault.ERROR: 1000})))
    scene.live(1)
    heard = Heard(scene)
    assert by(heard.found["tidegate_upgrade_failing"], "fault") == {"outside": 1}
    done = next(
        each
        for name, each in day.told
        if name == PAYMENTS and isinstance(each, RoundResult) and each.plan and each.is_new
    )
    heard.ears.round_ended(done)
    assert by(heard.found["tidegate_upgrade_failing"], "org_id") == {"o-maps": 1}


def test_what_goes_wrong_beside_a_round_is_no_failure_of_it(day: Scene) -> None:
    """Neither is something that happens to what is no organisation."""
    heard = Heard(day)
    heard.ears.failed(PAYMENTS, TroubleError("service log x: no answer"))
    heard.ears.failed("simulated/x", ValueError())
    heard.ears.failed("", ValueError())
    assert "tidegate_upgrade_failing" not in heard.found


def test_service_logs_are_counted() -> None:
    """Sent ones as they are written down."""
    scene = Scene(example())
    scene.live(2)
    heard = Heard(scene)
    heard.ears.written("upgrades/prod/o-maps", Told(keys=("abc",)))
    assert by(heard.found["tidegate_upgrade_told_total"], "outcome") == {"sent": 1}
