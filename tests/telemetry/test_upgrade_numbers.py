"""Numbers about upgrades say what was decided: whose they are, how old, and nothing of others."""

import re
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.real.promtool import promtool
from tests.telemetry.test_numbers import NOTHING
from tests.upgraded import decided, hosted, kept, recorded, world
from tidegate.kinds.upgrades.core.explain.phase import phase_of
from tidegate.kinds.upgrades.core.explain.summary import cluster_summaries
from tidegate.kinds.upgrades.core.faults import FaultParty
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.ocm.port import OcmRefusedError
from tidegate.kinds.upgrades.telemetry.faults import fault_of_error
from tidegate.kinds.upgrades.telemetry.metrics import FailureSeen, SurveySeen, UpgradeNumbers
from tidegate.kinds.upgrades.telemetry.rows import ActSeen, RoundSeen
from tidegate.kinds.upgrades.telemetry.table import EVERY
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.telemetry.metrics import Metrics

Labels = frozenset[tuple[str, str]]
ORG = {"ocm_env": "prod", "org_id": "o"}
THEIRS = {"integration": "advanced-upgrade-scheduler", **ORG}
HOUR = 3600 * SECOND
LOGGING = {"id": "logging", "version": "1.2.0", "latest": "1.3.0"}
SERVICE = UpgradeService(
    environments=(
        OcmEnvironment(name="prod", url="https://ocm"),
        OcmEnvironment(name="stage", url="https://stage", severity="warning"),
    ),
    organizations=(
        Registration(id="o", name="O", environment="prod"),
        Registration(id="s", name="S", environment="stage"),
    ),
)


def seen(asked: dict[str, Any], org: str = "o", **more: Any) -> RoundSeen:
    """A round over a world."""
    read, plan = decided(asked)
    base = RoundSeen(env="prod", org_id=org, now=read.now, decided=(read, plan), took_s=1.5)
    return msgspec.structs.replace(base, **more)


def scraped(numbers: UpgradeNumbers) -> dict[str, dict[Labels, float]]:
    """Everything that is reported, by metric and labels; nothing stands there twice."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(numbers.text().decode()):
        for sample in family.samples:
            rows = found.setdefault(sample.name, {})
            key = frozenset(sample.labels.items())
            assert key not in rows, f"{sample.name}{sample.labels} twice"
            rows[key] = sample.value
    return found


def told(asked: dict[str, Any], **more: Any) -> dict[str, dict[Labels, float]]:
    """What is scraped after one round."""
    numbers = UpgradeNumbers()
    numbers.round_ended(seen(asked, **more))
    return scraped(numbers)


def of(**labels: str) -> Labels:
    return frozenset(labels.items())


def by(rows: dict[Labels, float], label: str) -> dict[str, float]:
    """Rows by the value of one label."""
    return {dict(key)[label]: value for key, value in rows.items()}


@pytest.mark.parametrize("number", recorded())
def test_every_recorded_world_can_be_scraped(number: str) -> None:
    """By the labels of the table, nothing twice, each cluster once by where it stands."""
    round_ = seen(recorded()[number])
    numbers = UpgradeNumbers()
    numbers.round_ended(round_)
    found = scraped(numbers)
    known = {each.name: set(each.labels) for each in EVERY}
    for name, rows in found.items():
        assert {name for key in rows for name, _ in key} <= known[name]
        assert all(len(key) == len(known[name]) for key in rows), name
    plan = round_.decided[1]
    held = sum(phase_of(each)[1] is not None for each in cluster_summaries(plan))
    assert sum(found.get("tidegate_upgrade_clusters", {}).values()) == len(plan.members)
    assert sum(found.get("tidegate_upgrade_waits", {}).values()) == held
    assert len(found.get("tidegate_upgrade_cluster_wait", {})) == held


def test_the_first_designs_two_metrics_come_out_to_the_letter() -> None:
    """Names, labels, and remaining days that are not rounded."""
    asked = world(
        {
            "name": "a",
            "available_upgrades": ["4.12.18", "4.12.19"],
            "labels": {"soak-days": "5", "sector": "main", "mutexes": "m-1,m-2"},
        },
        labels={"sector-deps.main": ""},
        state=kept(1.005, "2023-05-10T10:00:00Z"),
    )
    found = told(asked)
    info = of(
        cluster_id="a-uuid",
        cluster_name="a",
        org_id="o",
        version="4.12.17",
        channel="stable-4.12",
        schedule="* * * * *",
        sector="main",
        mutexes="m-1,m-2",
        soak_days="5",
        workloads="w",
    )
    assert found["aus_cluster_info"] == {info: 1}
    left = found["aus_remaining_soak_days"]
    assert left[of(cluster_id="a-uuid", version="4.12.18")] == pytest.approx(3.995, abs=1e-9)
    assert left[of(cluster_id="a-uuid", version="4.12.19")] == 5


def test_an_excluded_cluster_is_shown_with_every_label_at_fault() -> None:
    """Its labels as written, in its organisation by name; and why one without mistakes is."""
    wrong = {"soak-days": "two", "schedule": "hourly", "schedule-timezone": "Asia/Tokyo"}
    asked = world({"name": "a", "labels": wrong}, {"name": "b", "omit": ["channel"]}, {"name": "c"})
    found = told(asked)
    info = {
        dict(each)["cluster_name"]: dict(each) for each in found["tidegate_upgrade_cluster_info"]
    }
    assert {name: each["timezone"] for name, each in info.items()} == {
        "a": "Asia/Tokyo",
        "b": "UTC",
        "c": "UTC",
    }
    assert (info["a"]["org_name"], info["a"]["soak_days"], info["a"]["schedule"]) == (
        "O",
        "two",
        "hourly",
    )
    problems = [dict(each) for each in found["tidegate_upgrade_problem"]]
    shown = {(each["cluster_name"], each["label"]): each["message"] for each in problems}
    assert set(shown) == {("a", "soak-days"), ("a", "schedule"), ("b", "")}
    assert shown["a", "soak-days"].startswith('"two" is not a whole number; write a whole number')
    assert shown["b", ""].endswith("cannot be used: channel missing")


def test_a_mistake_of_an_organisation_is_shown_without_a_cluster() -> None:
    """Once, not at each of its clusters."""
    asked = world({"name": "a"}, {"name": "b"}, labels={"version-data.inherit": "other"})
    ((labels, value),) = told(asked)["tidegate_upgrade_problem"].items()
    shown = dict(labels)
    assert (shown["cluster_name"], shown["label"], value) == ("", "version-data.inherit", 1)


def test_what_soaks_has_the_moment_at_which_it_has_soaked() -> None:
    """As its gate says it; what no cluster runs has none."""
    canary = {"name": "b", "version": "4.12.18", "available_upgrades": []}
    waits = {
        "name": "a",
        "labels": {"soak-days": "2"},
        "available_upgrades": ["4.12.18", "4.12.19"],
    }
    found = told(world(waits, canary, state=kept(1.25, "2023-05-10T10:00:00Z")))
    at = parse_instant("2023-05-11T04:00:00Z") / SECOND
    assert found["tidegate_upgrade_soaked_timestamp_seconds"] == {
        of(cluster_id="a-uuid", version="4.12.18"): at
    }


def test_marks_below_zero_are_the_existing_services() -> None:
    """Scheduled, started, started for long, blocked."""
    policy = {"id": "1", "version": "4.12.18"}
    begun = {**policy, "state": "started"}
    asked = world(
        {"name": "s", "upgrade_policies": [{**policy, "state": "scheduled"}]},
        {"name": "t", "upgrade_policies": [{**begun, "next_run": "2023-05-10T09:00:00Z"}]},
        {"name": "l", "upgrade_policies": [{**begun, "next_run": "2023-05-10T04:00:00Z"}]},
        {"name": "b", "labels": {"blocked-versions": "18"}},
        {"name": "r"},
    )
    found = told(asked)
    left = by(found["aus_cluster_version_remaining_soak_days"], "cluster_uuid")
    assert left == {"s-uuid": -1, "t-uuid": -2, "l-uuid": -3, "b-uuid": -4, "r-uuid": 0}
    starts = by(found["tidegate_upgrade_start_timestamp_seconds"], "cluster_id")
    assert starts == {"s-uuid": 0, "t-uuid": 1683709200, "l-uuid": 1683691200}


def test_missing_agreements_are_reported_by_the_external_id() -> None:
    """Not by the id that only OpenShift Cluster Manager knows."""
    gate = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
    asked = world({"name": "a", "available_upgrades": ["4.13.0"]}, gates=[gate])
    rows = told(asked)["aus_cluster_missing_version_gate_agreements"]
    assert rows == {of(**THEIRS, cluster_uuid="a-uuid", version_prefix="4.13"): 1}


def test_waits_are_reported_by_gate_reason_and_fault() -> None:
    """A mistake of its owner, windows that are no fault, and a source that is mute."""
    asked = world(
        {"name": "a", "labels": {"soak-days": "two"}},
        {"name": "b", "labels": {"schedule": "0 3 1 1 *"}},
        {"name": "c", "labels": {"schedule": "0 3 1 1 *"}},
        {"name": "d"},
    )
    rows = told(asked)["tidegate_upgrade_waits"]
    assert rows == {
        of(**ORG, gate="labels", reason="LabelsUnreadable", fault="user"): 1,
        of(**ORG, gate="window", reason="OutsideWindow", fault="nobody"): 2,
    }
    checks = [{"provider": "telemeter", "enforced": True}]
    mute = world({"name": "a"}, telemeter_fail=True)
    mute["orgs"][0]["health_checks"] = checks
    rows = told(mute)["tidegate_upgrade_waits"]
    assert rows == {of(**ORG, gate="health", reason="HealthUnasked", fault="outside"): 1}


def test_the_oldest_wait_is_as_old_as_the_first_round_that_saw_it() -> None:
    """It goes on from round to round, also from rounds no one scraped, and ends with its reason."""
    waits = {"name": "a", "labels": {"soak-days": "3"}}
    numbers = UpgradeNumbers()
    began = seen(world(waits))

    def oldest() -> list[float]:
        rows = scraped(numbers)["tidegate_upgrade_oldest_wait_timestamp_seconds"]
        return [value - began.now / SECOND for value in rows.values()]

    for hours in range(3):
        now = Instant(began.now + hours * HOUR)
        numbers.round_ended(msgspec.structs.replace(began, now=now))
        if hours != 1:
            assert oldest() == [0]
    other = seen(world({"name": "a", "labels": {"schedule": "0 3 1 1 *"}}))
    numbers.round_ended(msgspec.structs.replace(other, now=Instant(began.now + 3 * HOUR)))
    assert oldest() == [3 * 3600]


def test_a_round_replaces_all_numbers_of_its_organisation_and_no_others() -> None:
    """A cluster that is gone is no longer reported; those of others stay."""
    numbers = UpgradeNumbers()
    numbers.round_ended(seen(world({"name": "a"}, {"name": "b"})))
    other = world({"name": "c"})
    other["orgs"][0]["id"] = other["clusters"][0]["org"] = "p"
    numbers.round_ended(seen(other, org="p"))
    assert set(by(scraped(numbers)["aus_cluster_info"], "cluster_name")) == {"a", "b", "c"}
    numbers.round_ended(seen(world({"name": "b"})))
    assert set(by(scraped(numbers)["aus_cluster_info"], "cluster_name")) == {"b", "c"}
    numbers.forget("prod", "p")
    assert set(by(scraped(numbers)["aus_cluster_info"], "cluster_name")) == {"b"}


def test_a_failed_round_keeps_what_was_reported_and_its_age_shows() -> None:
    """Until one goes well; errors are counted by whose fault and how much it matters there."""
    numbers = UpgradeNumbers()
    numbers.serving(SERVICE)
    first = seen(world({"name": "a"}))
    numbers.round_ended(first)
    for fault in (FaultParty.OUTSIDE, FaultParty.OURS):
        numbers.failed(FailureSeen(env="prod", org_id="o", fault=fault))
    found = scraped(numbers)
    assert len(found["aus_cluster_info"]) == 1
    assert found["tidegate_upgrade_last_round_timestamp_seconds"] == {of(**ORG): first.now / SECOND}
    assert found["tidegate_upgrade_failing"] == {of(**ORG, fault="ours"): 1}
    assert found["tidegate_upgrade_errors_total"] == {
        of(**ORG, fault="outside", severity="critical"): 1,
        of(**ORG, fault="ours", severity="critical"): 1,
    }
    assert found["aus_organization_reconciled_total"] == {of(**THEIRS): 3}
    assert found["aus_organization_reconcile_errors_total"] == {of(**THEIRS): 2}
    later = Instant(first.now + HOUR)
    numbers.round_ended(
        msgspec.structs.replace(first, now=later, read_at=Instant(later - 30 * SECOND))
    )
    found = scraped(numbers)
    assert "tidegate_upgrade_failing" not in found
    assert found["tidegate_upgrade_last_round_timestamp_seconds"] == {
        of(**ORG): first.now / SECOND + 3570
    }


def test_a_survey_shows_its_age_and_failed_ones_are_counted() -> None:
    """Of an environment; what was last read stays until none of it is led here."""
    numbers = UpgradeNumbers()
    numbers.serving(SERVICE)
    at = Instant(1000 * SECOND)
    aside = {"Cluster": 2}
    numbers.surveyed(SurveySeen(env="stage", at=at, took_s=2.5, set_aside=aside))
    env = {"integration": "advanced-upgrade-scheduler", "ocm_env": "stage"}
    assert scraped(numbers)["aus_ocm_environment_errors_total"] == {of(**env): 0}
    numbers.survey_failed("stage")
    numbers.failed(FailureSeen(env="stage", org_id="s", fault=FaultParty.OUTSIDE))
    found = scraped(numbers)
    assert found["aus_ocm_environment_errors_total"] == {of(**env): 1}
    assert list(found["tidegate_upgrade_errors_total"]) == [
        of(ocm_env="stage", org_id="s", fault="outside", severity="warning")
    ]
    assert found["tidegate_upgrade_survey_timestamp_seconds"] == {of(ocm_env="stage"): 1000}
    assert found["tidegate_upgrade_survey_seconds"] == {of(ocm_env="stage"): 2.5}
    assert found["tidegate_upgrade_survey_set_aside"] == {of(ocm_env="stage", kind="Cluster"): 2}
    numbers.forget("stage", "s")
    found = scraped(numbers)
    assert "tidegate_upgrade_failing" not in found
    assert "tidegate_upgrade_survey_seconds" not in found


def test_who_is_served_is_reported_under_any_leader() -> None:
    """With the severity of alerts: those about stage need not wake anyone."""
    numbers = UpgradeNumbers()
    numbers.serving(SERVICE)
    found = scraped(numbers)
    assert found["tidegate_upgrade_environment_info"] == {
        of(ocm_env="prod", severity="critical"): 1,
        of(ocm_env="stage", severity="warning"): 1,
    }
    orgs = by(found["tidegate_upgrade_organization_info"], "org_id")
    assert set(orgs) == {"o", "s"}


def test_acts_are_counted_and_a_switched_channel_is_reported_once() -> None:
    """Counters go on; the switch is only reported by the round that made it."""
    asked = world({"name": "a"}, {"name": "b"})
    numbers = UpgradeNumbers()
    numbers.serving(SERVICE, lambda: {("GET", "us"): 7, ("POST", "us"): 2})
    acts = (
        ActSeen("a-uuid", StepKind.CHANNEL, "stable-4.13", "done"),
        ActSeen("b-uuid", StepKind.CHANNEL, "stable-4.13", "failed"),
        ActSeen("b-uuid", StepKind.UPGRADE, "4.12.18", "done"),
    )
    numbers.round_ended(seen(asked, acts=acts))
    numbers.told("prod", "o", "sent", 2)
    numbers.told("prod", "o", "sent", 1)
    found = scraped(numbers)
    switch = {"cluster_uuid": "a-uuid", "from_channel": "stable-4.12", "to_channel": "stable-4.13"}
    assert found["aus_cluster_channel_switch"] == {of(**THEIRS, **switch): 1}
    numbers.round_ended(seen(asked, acts=acts[2:]))
    found = scraped(numbers)
    assert "aus_cluster_channel_switch" not in found
    assert found["tidegate_upgrade_acts_total"] == {
        of(**ORG, doing="channel", outcome="done"): 1,
        of(**ORG, doing="channel", outcome="failed"): 1,
        of(**ORG, doing="upgrade", outcome="done"): 2,
    }
    assert by(found["tidegate_upgrade_told_total"], "outcome") == {"sent": 3}
    assert found["qontract_reconcile_ocm_request_total"] == {
        of(verb="GET", client_id="us"): 7,
        of(verb="POST", client_id="us"): 2,
    }


def test_no_text_of_others_breaks_a_line() -> None:
    """Quotes, backslashes and new lines in names and labels come back as they were."""
    name = 'a"\\\n} 1\n# EOF'
    asked = world({"name": name, "labels": {"mutexes": 'm"1,\\n'}})
    rows = told(asked)["aus_cluster_info"]
    labels = dict(next(iter(rows)))
    assert (labels["cluster_name"], labels["mutexes"]) == (name, 'm"1,\\n')


def test_a_version_that_is_offered_twice_is_reported_once() -> None:
    """A series twice in one scrape would be refused."""
    found = told(world({"name": "a", "available_upgrades": ["4.12.18", "4.12.18"]}))
    assert len(found["aus_remaining_soak_days"]) == 1


def test_a_half_upgraded_cluster_is_on_the_older_version() -> None:
    """Its control plane has gone ahead; the version that is left to reach is reported."""
    found = told(world(hosted("a", {"np": "4.12.16"}, available_upgrades=[])))
    assert set(by(found["aus_cluster_info"], "version")) == {"4.12.16"}
    left = by(found["aus_cluster_version_remaining_soak_days"], "soaking_version")
    assert left == {"4.12.17": 0}


def test_add_ons_are_reported_as_the_existing_service_tells_them() -> None:
    """With the cluster's labels, the add-on's version, its soak and its marks."""
    plan = {"id": "p", "version": "1.3.0", "state": "scheduled", "next_run": "2023-05-10T10:06:00Z"}
    asked = world(
        {"name": "a", "labels": {"soak-days": "2"}, "addons": [LOGGING]},
        {"name": "b", "labels": {"blocked-versions": "logging/1.3"}, "addons": [LOGGING]},
        {"name": "c", "labels": {"blocked-versions": "^1.3"}, "addons": [LOGGING]},
        {"name": "d", "addons": [{**LOGGING, "upgrade_plans": [plan]}]},
    )
    assert "aus_addon_upgrade_policy_info" not in told(asked)
    asked["orgs"][0]["addons"] = True
    found = told(asked)
    left = by(found["aus_addon_version_remaining_soak_days"], "cluster_uuid")
    assert left == {"a-uuid": 2, "b-uuid": -4, "c-uuid": 0, "d-uuid": -1}
    (info,) = [
        dict(key) for key in found["aus_addon_upgrade_policy_info"] if ("cluster_name", "a") in key
    ]
    assert (info["addon"], info["current_version"]) == ("logging", "1.2.0")
    assert (info["channel"], info["soak_days"], info["org_id"]) == ("stable-4.12", "2", "o")
    assert info["integration"] == "ocm-addons-upgrade-scheduler-org"
    (start,) = found["tidegate_upgrade_start_timestamp_seconds"]
    assert ("addon", "logging") in start
    clusters = by(found["aus_cluster_version_remaining_soak_days"], "cluster_uuid")
    assert clusters == {"a-uuid": 2, "b-uuid": 0, "c-uuid": 0, "d-uuid": 0}


def test_numbers_by_the_existing_services_rules_are_its_own() -> None:
    """An organisation that is served by its rules has its numbers, and the first design's two."""
    theirs = {"aus_organization_validation_errors": [(THEIRS, 2)]}
    found = told(world({"name": "a"}), theirs=theirs)
    assert found["aus_organization_validation_errors"] == {of(**THEIRS): 2}
    assert "aus_cluster_upgrade_policy_info" not in found
    assert len(found["aus_cluster_info"]) == len(found["aus_remaining_soak_days"]) == 1


def test_they_are_part_of_what_serve_answers() -> None:
    """After everything else, in the same scrape."""
    numbers = UpgradeNumbers()
    ours = Metrics("1", lambda: NOTHING, numbers.text)
    numbers.round_ended(seen(world({"name": "a"})))
    text = ours.text().decode()
    assert "\ntidegate_build_info" in text
    assert "\naus_cluster_info{" in text


def busy() -> bytes:
    """What is scraped where something of everything happened."""
    gate = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
    policy = {"id": "1", "version": "4.12.18", "state": "started"}
    asked = world(
        {"name": "a", "available_upgrades": ["4.13.0"]},
        {"name": "b", "upgrade_policies": [policy], "addons": [LOGGING]},
        {"name": "c", "labels": {"soak-days": "2"}},
        {"name": "d", "version": "4.12.18", "available_upgrades": [], "labels": {"soak-days": "x"}},
        {"name": "e", "version": "4.12.18", "available_upgrades": []},
        gates=[gate],
    )
    asked["orgs"][0] |= {"health_checks": [{"provider": "telemeter"}], "addons": True}
    numbers = UpgradeNumbers()
    numbers.serving(SERVICE, lambda: {("GET", "us"): 1})
    acts = (ActSeen("a-uuid", StepKind.CHANNEL, "stable-4.13", "done"),)
    numbers.round_ended(seen(asked, acts=acts))
    numbers.told("prod", "o", "sent", 1)
    aside = {"Cluster": 1}
    numbers.surveyed(SurveySeen(env="prod", at=Instant(SECOND), took_s=1, set_aside=aside))
    numbers.failed(FailureSeen(env="stage", org_id="s", fault=FaultParty.OURS))
    return numbers.text()


def test_every_metric_of_the_table_is_there_and_no_other() -> None:
    """What is documented is what is scraped."""
    found = re.findall(r"^# TYPE (\S+)", busy().decode(), re.MULTILINE)
    assert found == [each.name for each in EVERY]


@pytest.mark.parametrize(
    "error, own, fault",
    [
        (OutsideError("no answer"), False, FaultParty.OUTSIDE),
        (TimeoutError(), False, FaultParty.OUTSIDE),
        (ConnectionResetError(), False, FaultParty.OUTSIDE),
        (OcmRefusedError("not so", 400), False, FaultParty.OUTSIDE),
        (OcmRefusedError("not you", 403), False, FaultParty.OURS),
        (OcmRefusedError("not you", 401), True, FaultParty.USER),
        (ValueError("a bug"), False, FaultParty.OURS),
        (StaleError("look again"), False, None),
    ],
)
def test_an_error_has_a_party_that_must_act(
    error: Exception, own: bool, fault: FaultParty | None
) -> None:
    """Refused credentials are their owner's; whatever was not foreseen is ours."""
    assert fault_of_error(error, own_credentials=own) is fault


def test_promtool_has_nothing_to_say_of_ours() -> None:
    """Names and units are as Prometheus wants them; those of others are as they are."""
    said = promtool("check", "metrics", given=busy())
    assert "exit 1" not in said
    assert not [line for line in said.splitlines() if line.startswith("tidegate_")]
