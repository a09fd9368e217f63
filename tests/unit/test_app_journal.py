"""The journal, dates and comparisons as an API asks for them: documents, without a terminal."""

import asyncio
import gzip
from collections.abc import Iterator

import msgspec
import pytest

from tests.cli.test_verbs import JOURNALS
from tests.engine.stage import DEMO, PARTITION, Process, Stage, Tripwire, set_up
from tidegate.app.comparison import replay, shadow
from tidegate.app.documents import RolloutDates
from tidegate.app.journal.chains import chains_of, verify_chains
from tidegate.app.journal.compaction import CompactionRequest, compact, plan_compaction
from tidegate.app.journal.entries import EntryFeed, EntryQuery, entry_list
from tidegate.app.journal.transfer import export_lines, import_journal
from tidegate.app.partitions.journals import Journals
from tidegate.app.when import when
from tidegate.explain.pace import DatePace
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Mode, Verb
from tidegate.journal.lines import read_lines
from tidegate.journal.selection import EntryFilter
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.upgrades.app.forecast import ClusterForecast, ClusterForecastList
from tidegate.model.errors import NotFoundError
from tidegate.model.plan import Change, ChangeKind
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store

ORGANISATION = "upgrades/prod/o-payments"
_APPLY = Change(ChangeKind.APPLY, "v2")


@pytest.fixture
def archive() -> Iterator[Archive]:
    """An empty journal."""
    found = open_store("memory:")
    yield found
    found.close()


@pytest.fixture
def stage(archive: Archive) -> Stage:
    """The demo, decided once."""
    stage = set_up(archive, Tripwire())
    asyncio.run(Process(stage).round())
    return stage


def test_entries_are_listed_once_and_news_follow(archive: Archive, stage: Stage) -> None:
    """What is written after the feed began is news, and told once."""
    feed = EntryFeed(archive, EntryQuery())
    past = list(feed.past())
    assert [each.seq for each in past] == list(range(1, len(past) + 1))
    asked = Asked(verb=Verb.PAUSE, reason="wait")
    archive.append(PARTITION, [JournalNote(stage.clock.at, "user:ada", asked)])
    (new,) = feed.news()
    assert (new.actor, new.kind, new.what) == ("user:ada", "asked", asked.line())
    assert list(feed.news()) == []
    last = entry_list(archive, EntryQuery(wanted=EntryFilter(kinds=("asked",)), last=1))
    data = msgspec.json.decode(msgspec.json.encode(last))
    assert (data["kind"], data["items"][0]["fact"]["verb"]) == ("EntryList", "pause")


def test_a_name_that_is_not_there_gets_the_nearest(archive: Archive, stage: Stage) -> None:
    """Of a partition and of a gate."""
    with pytest.raises(NotFoundError, match='no partition "simulated/dem"; did you mean'):
        EntryFeed(archive, EntryQuery(partitions=("simulated/dem",)))
    with pytest.raises(NotFoundError, match='no gate "mutx"; did you mean "mutex"'):
        EntryFeed(archive, EntryQuery(wanted=EntryFilter(gate="mutx")))
    for ask in (replay, shadow):
        with pytest.raises(NotFoundError, match="no partition"):
            ask(Journals(archive, rules_of, stage.clock.at), "simulated/dem")


def test_a_journal_is_moved_verified_and_compacted(archive: Archive, stage: Stage) -> None:
    """What was exported can be imported elsewhere; compacted, it still verifies and folds."""
    lines = list(export_lines(archive))
    other = open_store("memory:")
    counts = import_journal(read_lines(iter(lines)), None)
    assert counts.dry_run
    assert import_journal(read_lines(iter(lines)), other).entries == counts.entries
    assert all(each.ok for each in verify_chains(other, chains_of(other)).items)
    before = Journals(other, rules_of, stage.clock.at).find(PARTITION).view
    request = CompactionRequest(before=Instant(stage.clock.at + 1))
    plan = plan_compaction(other, rules_of, request)
    (item,) = plan.report.items
    assert (item.partition, item.dropped) == (PARTITION, counts.entries)
    assert compact(other, rules_of, plan, "user:ada", stage.clock.at) == plan.report
    (chain,) = verify_chains(other, chains_of(other)).items
    assert (chain.ok, chain.entries, chain.dropped) == (True, 1, counts.entries)
    assert Journals(other, rules_of, stage.clock.at).find(PARTITION).view == before


def test_dates_are_a_document_of_the_kind(archive: Archive, stage: Stage) -> None:
    """The canary is done after its apply time, and production follows its soak."""
    pace = DatePace(apply_time=Duration(20 * 60 * SECOND))
    found = when(Journals(archive, rules_of, stage.clock.at), PARTITION, pace)
    assert isinstance(found, RolloutDates)
    assert (found.rollout, found.apply_time, found.apply_time_from) == (
        PARTITION,
        "20m",
        "as given",
    )
    dates = {each.target: each for each in found.items}
    assert dates["b"].starts_at is not None
    assert parse_instant(dates["b"].starts_at) >= stage.clock.at + 25 * 60 * SECOND
    one = when(Journals(archive, rules_of, stage.clock.at), "b", pace)
    assert isinstance(one, RolloutDates)
    assert one.items == (dates["b"],)


def test_recorded_decisions_replay_equal(archive: Archive, stage: Stage) -> None:
    """One decision over four targets."""
    found = replay(Journals(archive, rules_of, stage.clock.at))
    assert (found.decisions, found.targets_min, found.targets_max) == (1, 4, 4)
    assert found.difference is None


def test_shadowing_names_what_another_system_started_against_our_gates(archive: Archive) -> None:
    """Observing only: the other system starts production at once, which our order shuts."""
    stage = set_up(archive, Tripwire())
    process = Process(stage)
    asyncio.run(process.round(Mode.OBSERVE))
    theirs = RolloutTask("theirs", "b", _APPLY)
    stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    asyncio.run(stage.fleet.act(PARTITION, theirs))
    stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    asyncio.run(process.round(Mode.OBSERVE))
    (found,) = shadow(Journals(archive, rules_of, stage.clock.at)).items
    (one,) = found.differ
    assert (found.decisions, found.equal) == (1, 0)
    assert (one.target, one.ours_at) == ("b", None)
    assert "order" in one.why
    assert [each.target for each in found.ours_only] == ["a"]


def test_what_ran_before_the_first_look_is_no_decision_of_another_system(archive: Archive) -> None:
    """Nothing is known of when it was started, or of what our gates would have said."""
    stage = set_up(archive, Tripwire())
    asyncio.run(stage.fleet.act(PARTITION, RolloutTask("theirs", "b", _APPLY)))
    stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    asyncio.run(Process(stage).round(Mode.OBSERVE))
    (found,) = shadow(Journals(archive, rules_of, stage.clock.at)).items
    assert (found.decisions, found.differ) == (0, ())


def test_dates_of_an_organisation_come_from_its_last_survey(archive: Archive) -> None:
    """The same function as for a rollout: the document is that of upgrades."""
    lines = gzip.decompress((JOURNALS / "upgrades-strict.jsonl.gz").read_bytes()).splitlines()
    import_journal(read_lines(iter(lines)), archive)
    at = max(entry.at for entry in archive.read(ORGANISATION))
    journals = Journals(archive, rules_of, at)
    found = when(journals, ORGANISATION)
    assert isinstance(found, ClusterForecastList)
    assert "pay-prod-1" in {each.cluster for each in found.items}
    one = when(journals, "pay-prod-1", DatePace(apply_time=Duration(3 * 3600 * SECOND)))
    assert isinstance(one, ClusterForecast)
    assert (one.cluster, one.pace.cluster, one.pace.known_from) == ("pay-prod-1", "3h", "as given")


def test_an_assumption_does_not_abort_a_rollout(archive: Archive) -> None:
    """Nothing was measured yet, and the deadline is short: dates are within it."""
    strategy = {
        "type": "ProgressivePerGroup",
        "progressivePerGroup": {"progressDeadline": "20s"},
        "onFailure": "rollback",
    }
    stage = set_up(archive, Tripwire(), {**DEMO, "strategy": strategy})
    asyncio.run(Process(stage).round())
    found = when(Journals(archive, rules_of, stage.clock.at), PARTITION)
    assert isinstance(found, RolloutDates)
    assert found.apply_time_from == "assumed: half of its deadline"
    assert all(each.done_at is not None and each.held_by is None for each in found.items)


@pytest.mark.parametrize("hours", [1, 24, 24 * 365])
def test_time_alone_changes_nothing_where_no_worker_looks(archive: Archive, hours: int) -> None:
    """A view is the same an hour and a year after the last look; at a moment asked for, it is not.

    A target is in flight, and has an hour to answer.
    """
    stage = set_up(archive, Tripwire())
    asyncio.run(Process(stage).round())
    last = Journals(archive, rules_of, stage.clock.at).find(PARTITION).view
    later = Instant(stage.clock.at + hours * 3600 * SECOND)
    assert Journals(archive, rules_of, later).find(PARTITION).view == last
    asked_for = Journals(archive, rules_of, later, later).find(PARTITION).view
    assert asked_for.summary == "Failed"
    assert last.summary == "Progressing"
