"""What the existing auto-promotions manager does beyond its recorded lines, a row each."""

import pytest

from tidegate.kinds.promotions.core.compat.batches import OpenRequest
from tidegate.kinds.promotions.core.compat.description import (
    SEPARATOR,
    VERSION,
    FoundRequest,
    parse_requests,
)
from tidegate.kinds.promotions.core.compat.names import content_hash, request_title, target_uid
from tidegate.kinds.promotions.core.compat.object_sum import canonical, replace_lines
from tidegate.kinds.promotions.core.compat.subscriber import (
    AutoSubscriber,
    PublisherDeployment,
    desired_target,
    is_open,
)
from tidegate.kinds.promotions.wire.path_edit import replace_at
from tidegate.model.time import Duration, parse_instant

NOON = parse_instant("2026-05-08T12:00:30Z")  # a Friday, the 8th
HOUR = 3600 * 10**9
GOOD = f"sapm_version: {VERSION}\nkind: batcher\nchannels: a\ncontent_hashes: h\nis_batchable: True"


def described(data: str, message: str = "") -> FoundRequest:
    return FoundRequest(description=f"{message}{SEPARATOR}\n{data}")


@pytest.mark.parametrize(
    "request_, comment",
    [
        (FoundRequest(description=""), "of bad data separator format."),
        (described(GOOD, SEPARATOR), "of bad data separator format."),
        (described(""), "of bad sapm_version format."),
        (described(GOOD.replace("sapm_version: ", "version: ")), "of bad sapm_version format."),
        (FoundRequest(description=GOOD + SEPARATOR), "of bad sapm_version format."),
        (described(GOOD.replace(VERSION, "2.2.9")), "it has an outdated SAPM version 2.2.9."),
        (
            described(GOOD.replace(VERSION, VERSION + " ")),
            "it has an outdated SAPM version 2.3.0 .",
        ),
        (described(GOOD.replace("batcher", "other")), "of bad kind format."),
        (described(GOOD.replace("kind: batcher\n", "")), "of bad kind format."),
        (described(GOOD.replace("channels: a", "channels:a")), "of bad channels format."),
        (described(GOOD.replace("channels: a", "channels: ")), "of bad channels format."),
        (described(GOOD.replace("hashes: h", "hashes: ")), "of bad content_hashes format."),
        (described(GOOD.replace("True", "true")), "of bad is_batchable format."),
        (
            described(GOOD.replace("\n", "\r\n") + "\r\n"),
            "it has an outdated SAPM version 2.3.0\r.",
        ),
        (
            FoundRequest(description=f"{SEPARATOR}\n{GOOD}", has_conflicts=True),
            "of a merge-conflict.",
        ),
    ],
)
def test_what_cannot_be_read_is_closed_with_its_comment(
    request_: FoundRequest, comment: str
) -> None:
    """The comment names the first thing that is wrong, in the manager's own order."""
    found = parse_requests([request_])
    assert (found.usable, found.closed) == ((), ((0, f"Closing this MR because {comment}"),))


def test_keys_are_found_anywhere_behind_the_separator() -> None:
    """Indented, in any order, behind other words; the first one counts."""
    lines = [f"   {line}" for line in reversed(GOOD.splitlines())]
    text = "\n".join(["text channels: before", *lines, "is_batchable: False"])
    ((at, found),) = parse_requests([described(text)]).usable
    assert (at, found) == (0, OpenRequest(frozenset("h"), frozenset(["before"]), False, True))


def test_the_second_of_two_alike_is_closed_even_if_the_first_was() -> None:
    """What stands in `is_batchable` does not tell them apart, and is read last."""
    bad = described(GOOD.replace("True", "perhaps"))
    found = parse_requests([bad, described(GOOD), FoundRequest(description="", labels=())])
    twin = "there is already another MR open with identical content."
    assert [comment for _, comment in found.closed] == [
        "Closing this MR because of bad is_batchable format.",
        f"Closing this MR because {twin}",
    ]
    assert found.usable == ()


def test_requests_of_a_scheduler_are_left_alone() -> None:
    """They are neither used nor closed, whatever else they say."""
    found = parse_requests([described(f"sapm_version: {VERSION}\nkind: scheduler")])
    assert (found.usable, found.closed) == ((), ())


def test_unreadable_ones_are_closed_before_conflicts_are_looked_at() -> None:
    """The manager reads all descriptions first, then goes through its batches."""
    clash = FoundRequest(description=f"{SEPARATOR}\n{GOOD}", has_conflicts=True)
    found = parse_requests([clash, described("")])
    assert [at for at, _ in found.closed] == [1, 0]


@pytest.mark.parametrize(
    "schedule, expected",
    [
        ("* * * * *", True),
        ("0 12 * * *", True),
        ("1 12 * * *", False),
        ("59 11 * * *", False),
        ("0 12 8-14 * 5", True),  # both day columns must agree
        ("0 12 8 * 4", False),
        ("* * * * 1-4", False),
        ("* * * * fri", True),
        ("* * * * * 30", True),  # with seconds: this second
        ("* * * * * 29", False),
        ("0 0 31 2 *", False),
        ("", False),
        ("bad", False),
        ("60 * * * *", False),
    ],
)
def test_a_schedule_is_open_in_the_minute_it_names(schedule: str, expected: bool) -> None:
    """In UTC, at 12:00:30 on Friday the 8th; one that cannot be read is never open."""
    assert is_open(schedule, NOON) is expected


def deployed(version: str = "new", hours: int | None = 24, **more: bool) -> PublisherDeployment:
    age = None if hours is None else Duration(hours * HOUR)
    return PublisherDeployment(version, age=age, saas="s", config_hash="c", **more)


@pytest.mark.parametrize(
    "subscriber, publishers, ref",
    [
        ({}, [], "cur"),
        ({}, [deployed()], "new"),
        ({}, [deployed(recorded=False)], "cur"),
        ({}, [deployed(hours=None)], "new"),
        ({"soak_days": 1}, [deployed(hours=23)], "cur"),
        ({"soak_days": 3}, [deployed(), deployed(), deployed()], "new"),
        ({"soak_days": 3}, [deployed(), deployed(), deployed(hours=None)], "cur"),
        ({}, [deployed(hours=-1)], "cur"),  # checked in tomorrow: less than no soak
        ({"soak_days": -1}, [deployed(hours=-1)], "new"),
        ({"slo_breached": True}, [deployed()], "cur"),
        ({"slo_breached": True, "hotfix": frozenset(["new"])}, [deployed()], "new"),
        ({"soak_days": 2, "hotfix": frozenset(["new"])}, [deployed()], "cur"),
        ({"blocked": frozenset(["new"]), "hotfix": frozenset(["new"])}, [deployed()], "cur"),
        ({"schedule": "0 13 * * *"}, [deployed()], "cur"),
        ({}, [deployed(version="")], ""),
    ],
)
def test_any_shut_gate_keeps_the_current_version(
    subscriber: dict[str, object], publishers: list[PublisherDeployment], ref: str
) -> None:
    """All publishers are in one channel here; the sum of soak is over all of them."""
    asked = AutoSubscriber(ref="cur", **subscriber)  # type: ignore[arg-type]
    found = desired_target(asked, {"c": tuple(publishers)}, NOON)
    assert (found.ref, found.has_diff) == (ref, ref != "cur")


def test_no_publisher_to_follow_stops_the_manager() -> None:
    """A subscriber that follows configurations reads the first publisher of every channel."""
    with pytest.raises(LookupError, match="c"):
        desired_target(AutoSubscriber(ref="r", follows_config=True), {"c": ()}, NOON)


def test_texts_are_hashed_as_utf_8_and_written_as_python_writes_them() -> None:
    """Names beyond ASCII; nothing at all; a target with an empty name is the default one."""
    assert content_hash([]) == "e3b0c44298fc1c149afbf4c8996fb924"
    assert request_title("", 0).startswith("[SAPM] auto-promotion ID ")
    assert target_uid("s", "r", "", "c", "n", fips=False) == target_uid(
        "s", "r", None, "c", "n", fips=False
    )
    assert target_uid("s", "r", "é", "c", "n", fips=True) != target_uid(
        "s", "r", "é", "c", "n", fips=False
    )


def test_a_checksum_ignores_what_servers_add() -> None:
    """And the manager's own annotations; of a Deployment also its revision."""
    noisy = {
        "kind": "Deployment",
        "metadata": {
            "name": "x",
            "generation": 3,
            "annotations": {
                "deployment.kubernetes.io/revision": "7",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "qontract.update": "now",
                "mine": "kept",
            },
        },
        "status": {"replicas": 1},
    }
    assert canonical(noisy) == {
        "kind": "Deployment",
        "metadata": {"name": "x", "annotations": {"mine": "kept"}},
    }


def test_lines_and_paths_are_replaced_and_all_else_is_kept() -> None:
    """A file gets the break and the start that the bot writes; without a match it is left alone."""
    assert replace_lines("A=1\nB=2\n A=3", "A=", "A=9") == "A=9\nB=2\n A=3\n"
    text = "a:\n- name: prod\n  ref: old # why\n- name: stage\n  ref: old\n"
    path = "$.a[?(@.name == 'prod')].ref"
    assert replace_at(text, path, "new") == "---\n" + text.replace("old # why", "new # why")
    assert replace_at(text, path.replace("prod", "dev"), "new") == text
