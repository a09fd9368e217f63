"""Laws of dry runs: times make no difference, everything else does, and jobs change nothing."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.bundles import read_uncached
from tidegate.kinds.integrations.app.estates import BundleEstates
from tidegate.kinds.integrations.core.sharding.names import LENGTH_MAX
from tidegate.kinds.integrations.core.waves.rehearsal import compare, job_of
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.wiring import repositories

EXAMPLE = Path(__file__).parents[2] / "examples/app-interface"
_words = st.text("abcxyz ,'[]", min_size=1, max_size=20).map(str.strip).filter(bool)
_lines = st.lists(_words, max_size=8)


def stamped(lines: list[str], second: int) -> list[str]:
    """Lines as a loop writes them, at some moment."""
    return [f"[2026-11-15 10:40:{second:02d}] [INFO] - {line} in {second}.5s" for line in lines]


@given(_lines, st.integers(0, 59), st.integers(0, 59))
def test_the_same_said_at_another_time_is_the_same(lines: list[str], one: int, two: int) -> None:
    found = compare(stamped(lines, one), stamped(list(reversed(lines)), two))
    assert found.count == 0


@given(_lines, _lines)
def test_every_other_line_is_a_difference_and_both_ways_round(
    old: list[str], new: list[str]
) -> None:
    found, back = compare(old, new), compare(new, old)
    assert (found.added, found.gone) == (back.gone, back.added)
    assert found.count == 0 if sorted(old) == sorted(new) else found.count > 0


@given(_lines, _lines, _words)
def test_a_difference_that_was_accepted_is_not_another_one(
    old: list[str], new: list[str], more: str
) -> None:
    """The digest is of the whole: one more line was not accepted."""
    assert compare(old, new).digest == compare(old, list(reversed(new))).digest
    assert compare(old, new).digest != compare(old, [*new, more, more]).digest


def estate() -> Estate:
    """The example's."""
    source = BundleEstates(lambda: repositories.open_tree(EXAMPLE), read_uncached)
    return asyncio.run(source.read())


def test_jobs_of_dry_runs_change_nothing_and_fit_for_every_shard() -> None:
    for place in estate().places:
        for unit in place.units:
            job = job_of(place, unit, "abc", "k1")
            assert job == job_of(place, unit, "abc", "k1")
            again = job_of(place, unit, "abc", "k2")
            assert job["metadata"]["name"] != again["metadata"]["name"]
            assert len(job["metadata"]["name"]) <= LENGTH_MAX
            pod = job["spec"]["template"]["spec"]
            assert pod["restartPolicy"] == "Never"
            (container,) = pod["containers"]
            env = [each for each in container["env"] if each["name"] in ("DRY_RUN", "RUN_ONCE")]
            assert [each["value"] for each in env] == ["--dry-run", "true"]
            assert container["image"].endswith(":abc")
            mounts = {each["name"] for each in container["volumeMounts"]}
            assert mounts <= {each["name"] for each in pod["volumes"]}
            # It is no one's pod but the job's: no workload may take it for its own.
            assert "app" not in job["spec"]["template"]["metadata"]["labels"]


def test_what_is_drawn_anew_for_every_run_is_no_difference_and_other_ids_are() -> None:
    def said(request: str, address: str, cluster: str) -> list[str]:
        return [
            f"asked, RequestId: {request}, retrying",
            f"request_id={request}",
            f"<Session object at {address}>",
            f"delete cluster {cluster}",
        ]

    one, two = "6f1c2b34-0000-4abc-8def-0123456789ab", "ffffffff-1111-4abc-8def-0123456789ab"
    assert compare(said(one, "0x7f3a10", one), said(two, "0x7fffff10", one)).count == 0
    found = compare(said(one, "0x7f3a10", one), said(one, "0x7f3a10", two))
    assert found.added == (f"delete cluster {two}",)
