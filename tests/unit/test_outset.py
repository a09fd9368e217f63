"""How the rollouts of a change set out: who moves, who stays, and what goes first."""

from msgspec.structs import replace

from tests.engine.stage import rollout_part
from tests.estates import estate, integration, managed, staged
from tidegate.engine.brakes.book import BrakeBook
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked, Mode
from tidegate.kinds.integrations.app.preview.schedule import Scheduler
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.waves.outset import (
    Move,
    moves_of,
    outset_of,
    reshapes_between,
)
from tidegate.kinds.integrations.core.waves.rules import DryRunRule, ImageRules
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.rollouts.app.pace import ASSUMED
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetsObserved
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.simulated.forecast import forecast
from tidegate.model.limit import Limit
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store
from tidegate.wiring import open_store

MINUTE = 60 * SECOND
NOW = Instant(1_800_000_000 * SECOND)
ONE_BY_ONE = ImageRules(
    strategy=Strategy(
        StrategyType.PROGRESSIVE, soak=Duration(5 * MINUTE), max_concurrency=Limit(1)
    ),
)


def _estate(image: str, *overrides: Override, rules: ImageRules | None = ONE_BY_ONE) -> Estate:
    return estate(
        integration("tf", managed(image, accounts=True, overrides=overrides, rollout=rules))
    )


def _names(move: Move) -> tuple[list[str], list[str], list[str]]:
    units = move.units, move.alone, move.kept
    first, second, third = ([unit.name for unit in some] for some in units)
    return first, second, third


def test_a_new_default_moves_what_has_no_image_of_its_own() -> None:
    mine = Override(shard="two", image_ref="aaaaaaa", where="tf.yml:7")
    other = Override(shard="three", image_ref="ccccccc", where="tf.yml:8")
    (move,) = moves_of(_estate("aaaaaaa"), _estate("bbbbbbb", mine, other))
    assert _names(move) == (["tf/one"], ["tf/three"], ["tf/two"])
    assert (move.before, move.after, move.staged) == ("aaaaaaa", "bbbbbbb", True)


def test_nothing_moves_where_nothing_gets_another_image() -> None:
    """Pinning a shard to what it runs is no move, and keeps nothing from one."""
    pin = Override(shard="two", image_ref="aaaaaaa")
    assert moves_of(_estate("aaaaaaa"), _estate("aaaaaaa", pin)) == ()


def test_what_loses_its_pin_moves_with_the_rollout() -> None:
    pin = Override(shard="two", image_ref="ccccccc")
    (move,) = moves_of(_estate("aaaaaaa", pin), _estate("aaaaaaa"))
    assert _names(move) == (["tf/two"], [], [])


def test_a_new_place_is_a_move_from_nothing() -> None:
    (move,) = moves_of(Estate(()), _estate("aaaaaaa"))
    assert (move.before, len(move.units), move.old) == ("", 3, None)


def test_without_rules_there_is_no_rollout() -> None:
    (move,) = moves_of(_estate("aaaaaaa", rules=None), _estate("bbbbbbb", rules=None))
    assert not move.staged
    assert outset_of(move) is None


def _journal(move: Move, rollout: Rollout, *reports: Target) -> Store:
    """A journal in which a rollout got so far; without reports, as far as the bundle says."""
    state = outset_of(move)
    assert state is not None
    assert state.declared is not None
    observed = TargetsObserved(reports=reports or tuple(state.reports.values()))
    decided = Decided(now=NOW, mode=Mode.ACT, summary=Summary.PROGRESSING, rollout=rollout)
    store = open_store("memory:")
    facts = state.declared, observed, decided
    store.append(move.place.partition, [JournalNote(NOW, "test", each) for each in facts])
    return store


def _schedule(store: Store, move: Move) -> list[tuple[str, tuple[str, ...], int | None]]:
    found = Scheduler(store, BrakeBook(store), NOW).of(move, complete=True)
    return [
        (each.name, each.shards, None if each.done_at is None else (each.done_at - NOW) // MINUTE)
        for each in found.stages
    ]


def test_dates_follow_from_slots_and_soak() -> None:
    """Three, one after the other, 10 m to change (assumed) and 5 m of soak each."""
    (move,) = moves_of(_estate("aaaaaaa"), _estate("bbbbbbb"))
    shards = ("tf/one", "tf/three", "tf/two")
    assert _schedule(open_store("memory:"), move) == [("the rest", shards, 45)]


def test_a_dry_run_comes_first() -> None:
    rules = ImageRules(strategy=ONE_BY_ONE.strategy, dry_run=DryRunRule(shard="two"))
    (move,) = moves_of(_estate("aaaaaaa", rules=rules), _estate("bbbbbbb", rules=rules))
    (dry, rest) = _schedule(open_store("memory:"), move)
    assert dry == ("dry run", ("tf/dry-run",), 15)
    assert rest[2] == 60


UNDER_WAY = (
    Target("tf/one", Status.Succeeded, Instant(NOW - 60 * MINUTE), "bbbbbbb"),
    Target("tf/three", Status.Progressing, Instant(NOW - 5 * MINUTE), "bbbbbbb"),
    Target("tf/two", Status.Succeeded, Instant(0), "aaaaaaa"),
)


def test_a_rollout_under_way_is_finished_first() -> None:
    """As the journal has it: one of three has what goes out at the moment."""
    (under_way,) = moves_of(_estate("aaaaaaa"), _estate("bbbbbbb"))
    store = _journal(under_way, Rollout(revision="bbbbbbb", last_good="aaaaaaa"), *UNDER_WAY)
    (move,) = moves_of(_estate("aaaaaaa"), _estate("ccccccc"))
    found = Scheduler(store, BrakeBook(store), NOW).of(move, complete=True)
    assert found.under_way == "bbbbbbb"
    # 5 m and a soak for the one in flight, 15 m for the last: then the next sets out.
    assert found.starts_at == NOW + 25 * MINUTE
    assert found.done_at == NOW + (25 + 45) * MINUTE
    state = outset_of(move, rollout_part(store, move.place.partition).state)
    assert state is not None
    for each in forecast(state, NOW, {}, ASSUMED):
        assert each.revision == "ccccccc"
        assert each.starts_at is not None
        assert each.done_at == each.starts_at + 15 * MINUTE


def test_what_starts_of_the_one_that_goes_first_is_no_date_of_ours() -> None:
    """The last gets the old one; no target ever gets the new one, which is blocked."""
    (under_way,) = moves_of(_estate("aaaaaaa"), _estate("bbbbbbb"))
    store = _journal(under_way, Rollout(revision="bbbbbbb", last_good="aaaaaaa"), *UNDER_WAY)
    block = {"revision": "ccccccc", "owner": "ops", "reason": "loses volumes"}
    store.append(
        BRAKES, [JournalNote(NOW, "test", Braked(brake="block", name="c", document=block))]
    )
    (move,) = moves_of(_estate("aaaaaaa"), _estate("ccccccc"))
    (stage,) = Scheduler(store, BrakeBook(store), NOW).of(move, complete=True).stages
    assert (stage.starts_at, stage.done_at) == (None, None)
    assert "loses volumes" in stage.held_by


def test_a_pause_leaves_no_date() -> None:
    (move,) = moves_of(_estate("aaaaaaa"), _estate("bbbbbbb"))
    store = _journal(move, Rollout(revision="aaaaaaa", completed=True, paused=True))
    found = Scheduler(store, BrakeBook(store), NOW).of(move, complete=True)
    (stage,) = found.stages
    assert (stage.starts_at, stage.held_by) == (None, "the rollout is paused")
    assert found.under_way == ""  # that one is completed


def test_a_pin_that_is_taken_away_holds_nothing_although_the_journal_has_it() -> None:
    pin = Override(shard="two", image_ref="ccccccc", where="tf.yml:7")
    before, after = _estate("aaaaaaa", pin), _estate("bbbbbbb")
    (pinned,) = moves_of(before, _estate("ddddddd", pin))
    store = _journal(pinned, Rollout(revision="aaaaaaa", completed=True))
    (move,) = moves_of(before, after)
    assert _schedule(store, move) == [("the rest", ("tf/one", "tf/three", "tf/two"), 45)]


def test_one_that_is_held_leaves_its_group_without_an_end() -> None:
    """And a brake is reported once, however often it is met."""
    strategy = replace(ONE_BY_ONE.strategy, max_concurrency=Limit(3))
    rules = replace(ONE_BY_ONE, strategy=strategy)
    (move,) = moves_of(_estate("aaaaaaa", rules=rules), _estate("bbbbbbb", rules=rules))
    hold = {"name": "inc", "owner": "ops", "reason": "r", "scope": {"targets": ["tf/two"]}}
    store = open_store("memory:")
    braked = Braked(brake="hold", name="inc", document=hold)
    store.append(BRAKES, [JournalNote(NOW, "test", braked)])
    (stage,) = Scheduler(store, BrakeBook(store), NOW).of(move, complete=True).stages
    assert (stage.starts_at, stage.done_at) == (NOW, None)
    assert stage.held_by == "hold inc: r (ops)"
    (clash,) = stage.clashes
    assert clash.shards == ("tf/two",)


def test_another_number_of_shards_is_reported_unless_two_may_own_a_key() -> None:
    def split(count: int, overlap: bool = False) -> Estate:
        place = managed(shards=count, rollout=staged(), overlap=overlap)
        return estate(integration("tf", place))

    (reshape,) = reshapes_between(split(2), split(3))
    assert (reshape.was, reshape.now, len(reshape.old)) == ("2", "3", 2)
    assert reshapes_between(split(2), split(3, overlap=True)) == ()
    assert reshapes_between(split(2), split(2)) == ()
