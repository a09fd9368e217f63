"""Labels read strictly: every mistake in words its owner understands, a row each."""

from functools import partial

import pytest

from tidegate.kinds.upgrades.core.declared.cluster_policy import read_cluster_policy
from tidegate.kinds.upgrades.core.declared.label_error import formerly, joined
from tidegate.kinds.upgrades.core.declared.organisation_policy import read_organisation_policy
from tidegate.kinds.upgrades.core.declared.patterns import PatternError, is_found, read_pattern
from tidegate.kinds.upgrades.core.schedule.schedule import read_schedule
from tidegate.model.cron.zone import fires_after
from tidegate.model.time import format_instant, parse_instant

GOOD = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}


@pytest.mark.parametrize(
    "labels, label, words",
    [
        ({"soak-days": "two"}, "soak-days", '"two" is not a whole number'),
        ({"soak-days": "-1"}, "soak-days", '"-1" is not a whole number'),
        ({"soak-days": "2.5"}, "soak-days", '"2.5" is not a whole number'),
        ({"soak-days": "9" * 5000}, "soak-days", "more than 1000000 days"),
        ({"workloads": " , "}, "workloads", '" , " names no workload'),
        ({"schedule": "nope"}, "schedule", '"nope" is not a schedule: it has 1 column, and five'),
        ({"schedule": "0 48 * * 1"}, "schedule", ": hour: 48 is not between 0 and 23;"),
        ({"schedule": "0 9 0 * 1"}, "schedule", ": day of the month: 0 is not between 1 and 31;"),
        ({"schedule": "0 9-30 * * 1"}, "schedule", ": hour: 30 is not between 0 and 23;"),
        ({"schedule": "*/0 9 * * 1"}, "schedule", ": minute: a step of 0 goes nowhere;"),
        ({"schedule": "0 9 * foo 1"}, "schedule", ': month: "foo" is not a number or a name;'),
        ({"schedule": "0 9 * * 5#7"}, "schedule", ": #7: a month has such a day at most five"),
        ({"schedule": "0 9 * * 5#2,1"}, "schedule", "cannot stand side by side;"),
        ({"schedule": "? 9 * * 5"}, "schedule", ": minute: `?` is for days only;"),
        ({"schedule": "0 9 40W * *"}, "schedule", ": 40 is not between 1 and 31;"),
        ({"schedule": "H 9 * * *"}, "schedule", ": `H` is known to other schedulers only;"),
        ({"schedule": "0 0 31 2 *"}, "schedule", "no such day exists"),
        ({"schedule": "0 0 1 1 * 0 2099"}, "schedule", "it names no day from 2020 to 2070"),
        ({"schedule": "0 0 1 1 * 0 2019"}, "schedule", "it names no day from 2020 to 2070"),
        ({"schedule": "R * * * *"}, "schedule", "draws its times at random"),
        ({"schedule": "0 12-12 * * *"}, "schedule", "range of one"),
        ({"schedule-timezone": "Mars/North"}, "schedule-timezone", "is not a time zone"),
        ({"schedule-timezone": "../etc/passwd"}, "schedule-timezone", "is not a time zone"),
        ({"blocked-versions": "["}, "blocked-versions", "missing ]"),
        ({"blocked-versions": "(?!4)"}, "blocked-versions", "looks ahead or behind"),
    ],
)
def test_a_mistake_names_label_value_and_remedy(
    labels: dict[str, str], label: str, words: str
) -> None:
    """One complaint, about that label, with an example of what to write."""
    (found,) = read_cluster_policy(GOOD | labels).label_errors
    assert (found.label, words in found.words) == (label, True)
    assert "; write " in found.text()


def test_labels_that_are_missing_are_reported_together() -> None:
    """All at once, each with what to write; and as the predecessor has it, to be known again."""
    found = read_cluster_policy({"whatever": "x"}).label_errors
    said = joined(found).replace("label sre-capabilities.aus.", "").splitlines()
    assert said == [
        '- soak-days: missing; write a whole number of days, as "3"; "0" is a canary',
        '- workloads: missing; write what runs on it, as "payments,search"',
        '- schedule: missing; write when upgrades may start, as "0 9 * * 1-4" (UTC)',
    ]
    assert formerly(found, "- ").replace("label sre-capabilities.aus.", "").splitlines() == [
        "- soak-days: Input should be a valid integer",
        "- workloads: Value should have at least 1 item after validation, not 0",
        "- schedule: Input should be a valid string",
    ]


def test_a_mistake_that_the_predecessor_does_not_know_is_new_to_its_owner() -> None:
    """Its text about the others does not say it."""
    found = read_cluster_policy(GOOD | {"soak-days": "x", "blocked-versions": "["}).label_errors
    assert [each.label for each in found] == ["soak-days", "blocked-versions"]
    assert formerly(found[:1])
    assert formerly(found) == ""


def test_values_are_trimmed_and_repetitions_count_once() -> None:
    """Blanks make no phantom workloads; a stray comma is a warning."""
    read = read_cluster_policy(
        {
            "soak-days": " 007 ",
            "workloads": "a, b ,a",
            "schedule": "  @daily ",
            "mutexes": "m,,n",
            "sector": " s ",
            "blocked-versions": "^4\\.13\\.,",
        }
    )
    assert (read.soak_days, read.workloads, read.schedule) == (7, ("a", "b"), "@daily")
    assert (read.mutexes, read.sector, read.blocked) == (("m", "n"), "s", ("^4\\.13\\.",))
    assert not read.label_errors
    assert [text.split(":")[0].rpartition(".")[2] for text in read.warnings] == [
        "workloads",
        "mutexes",
        "blocked-versions",
    ]


def test_a_label_that_is_not_known_is_a_warning_with_the_nearest_one() -> None:
    """Most of them are typing errors."""
    (warning,) = read_cluster_policy(GOOD | {"mutex": "m"}).warnings
    assert warning.endswith('.mutex: unknown, and ignored; did you mean "mutexes"?')


def test_a_pattern_that_would_take_for_ever_takes_no_time() -> None:
    """RE2 reads it in one go; what RE2 cannot do is refused with its reason."""
    assert not is_found(r"^(\d+)+$", "1" * 200 + ".")
    for wrong in (r"\1", "(?<=4)", "x" * 2000, "(a{1000}){1000}"):
        with pytest.raises(PatternError):
            read_pattern(wrong)


@pytest.mark.parametrize(
    "schedule, zone, after, fires",
    [
        ("30 2 * * *", "", "2026-03-28T20:00:00Z", "2026-03-29T02:30:00Z"),
        # The clock jumps from 02:00 to 03:00: not skipped.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T20:00:00Z", "2026-03-29T01:30:00Z"),
        # It goes back from 03:00 to 02:00: the first 02:30, and then not before the next day.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        ("0 3 * * *", "Europe/Berlin", "2026-03-29T00:50:00Z", "2026-03-29T01:00:00Z"),
        ("0 9 * * *", "America/New_York", "2026-07-01T00:00:00Z", "2026-07-01T13:00:00Z"),
        ("0 9 * * 1", "Asia/Tokyo", "2026-07-05T12:00:00Z", "2026-07-06T00:00:00Z"),
    ],
)
def test_a_schedule_in_a_zone_fires_once_and_is_never_skipped(
    schedule: str, zone: str, after: str, fires: str
) -> None:
    """In UTC unless a zone is named; summer time loses nothing and doubles nothing."""
    found = fires_after(read_schedule(schedule), zone, parse_instant(after))
    assert found is not None
    assert format_instant(found) == fires


@pytest.mark.parametrize(
    "text, size, most",
    [
        ("2", 5, 2),
        ("0", 5, 0),
        ("0%", 5, 0),
        ("50%", 5, 2),
        ("50%", 3, 2),
        ("33%", 5, 2),
        ("2%", 5, 1),
        ("100%", 7, 7),
    ],
)
def test_limits_of_sectors_are_rounded_as_ever_and_zero_is_none(
    text: str, size: int, most: int
) -> None:
    """Halves go to the even neighbour; anything above 0 % is at least one."""
    read = read_organisation_policy({"sector-max-parallel-upgrades.s": f" {text} "}, "o")
    assert (read.limits["s"].of(size), read.closed, read.label_errors) == (most, frozenset(), ())


@pytest.mark.parametrize("text", ["abc", "-1", "101%", "1.5", "1e3", "5 %"])
def test_a_limit_that_is_none_closes_its_sector(text: str) -> None:
    """And only its sector; the owner is shown which label."""
    read = read_organisation_policy(
        {"sector-max-parallel-upgrades.s": text, "sector-deps.t": "s"}, "o"
    )
    assert read.closed == {"s"}
    assert [each.label for each in read.label_errors] == ["sector-max-parallel-upgrades.s"]


def test_a_limit_alone_declares_its_sector() -> None:
    """So do a key, and being depended on."""
    labels = {"sector-max-parallel-upgrades.a": "1", "sector-deps.b": "c, ", "sector-deps.d": ""}
    assert list(read_organisation_policy(labels, "o").sectors) == ["a", "b", "c", "d"]


def test_sectors_in_a_circle_and_behind_it_are_known() -> None:
    """Those before it are free; sixty layers of two are gone through once."""
    circle = {"a": "b", "b": "c", "c": "a", "behind": "a", "before": "", "mid": "before"}
    labels = {f"sector-deps.{name}": deps for name, deps in circle.items()}
    read = read_organisation_policy(labels, "o")
    assert read.circling == {"a", "b", "c", "behind"}
    (error,) = read.label_errors
    assert error.words.startswith("a, b, c wait for each other in a circle;")
    assert read.circles == (("a", "b", "c"),)
    assert (read.circle_of("behind"), read.circle_of("mid")) == (("a", "b", "c"), ())
    layers = {
        f"sector-deps.{side}{at}": f"a{at + 1},b{at + 1}" for at in range(60) for side in "ab"
    }
    assert not read_organisation_policy(layers, "o").circling


def test_inheriting_from_oneself_is_a_warning() -> None:
    """It is not looked at."""
    read = read_organisation_policy({"version-data.inherit": "o, p"}, "o")
    assert (read.inherit, read.label_errors, len(read.warnings)) == (("p",), (), 1)


@pytest.mark.parametrize(
    "value, patterns, errors",
    [
        (r"^4\.13\.,^4\.14\.0$", (r"^4\.13\.", r"^4\.14\.0$"), 0),
        (r"^4\.1{1,2}", (), 1),
        (r"^4\.1{1,2},^4\.14", (r"^4\.14",), 1),
        (r"x,4\.1[,.],y", ("x", "y"), 1),
        (r"(4,5)", (), 1),
        (r"4\,5", (), 1),
        (r"4\.1{2},5", ("4\\.1{2}", "5"), 0),
        (r"[]]", ("[]]",), 0),
        ("a,,b", ("a", "b"), 0),
    ],
)
def test_a_pattern_with_a_comma_is_not_cut_in_two(
    value: str, patterns: tuple[str, ...], errors: int
) -> None:
    """Each half would be a pattern that blocks nothing; its owner is notified, and waits."""
    for read_labels in (read_cluster_policy, partial(read_organisation_policy, own="o")):
        read = read_labels({"blocked-versions": value})
        about = [each for each in read.label_errors if each.label == "blocked-versions"]
        assert len(about) == errors, about
        assert read.blocked == tuple(sorted(patterns))


def test_a_sector_that_waits_for_itself_is_a_circle_of_one() -> None:
    """Two circles are two mistakes, and what lies between them is none."""
    deps = {"a": "a", "b": "c,between", "c": "b", "between": "a"}
    read = read_organisation_policy({f"sector-deps.{k}": v for k, v in deps.items()}, "o")
    assert read.circles == (("a",), ("b", "c"))
    assert read.circling == {"a", "b", "c", "between"}
    words = [each.words.partition(";")[0] for each in read.label_errors]
    assert words == ["a waits for itself", "b, c wait for each other in a circle"]
