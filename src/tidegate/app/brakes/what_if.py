"""What other settings or another brake would do to the dates of a rollout; nothing is written."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.app.brakes.request import BrakeRequest, FreezeTimes, check_brake
from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.when import dates_of
from tidegate.explain.pace import DatePace
from tidegate.journal.fact import Fact
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

# What an assumed brake is called; it is never written.
NAME = "what-if"


class DateAssumption(msgspec.Struct, frozen=True, kw_only=True):
    """What is supposed to be otherwise."""

    # By name, as the documents of a strategy have them: minSuccessTime, maxConcurrency.
    settings: Mapping[str, str] = {}
    # Times at which nothing starts: from when to when.
    freezes: tuple[FreezeTimes, ...] = ()
    hold: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether all is as it is."""
        return not (self.settings or self.freezes or self.hold)


def read_assumption(
    sets: Iterable[str], freezes: Iterable[str] = (), hold: bool = False
) -> DateAssumption:
    """What is written as NAME=VALUE and FROM/TO; UserError if it sets nothing."""
    pairs = [each.partition("=") for each in sets]
    for name, equals, _ in pairs:
        if not equals:
            raise UserError((Problem("set", f'"{name}" sets nothing', "write NAME=VALUE"),))
    times = [each.partition("/") for each in freezes]
    return DateAssumption(
        settings={name: value.strip() for name, _, value in pairs},
        freezes=tuple(FreezeTimes(begin=begin, end=end) for begin, _, end in times),
        hold=hold,
    )


class AssumedSetting(Part, frozen=True, kw_only=True):
    """A setting, as it is and as it is supposed to be; empty: there is no limit."""

    name: str
    before: str
    after: str


class ShiftedTarget(Part, frozen=True, kw_only=True):
    """The dates of a target, as things are and as they would be."""

    target: str
    group: str
    before: TargetDates | None
    after: TargetDates | None


class RolloutWhatIf(Document, frozen=True, kw_only=True):
    """The dates of a rollout, as things are and as they would be."""

    rollout: str
    settings: tuple[AssumedSetting, ...]
    # When its last target is done; null: some target has no date.
    ends_before: str | None
    ends_after: str | None
    apply_time: str
    apply_time_from: str
    # Every target that is not done yet, whether its dates differ or not.
    items: tuple[ShiftedTarget, ...]
    # How many have other dates.
    shifted: int


def rollout_what_if(
    journals: Journals, name: str, assumed: DateAssumption, pace: DatePace, actor: str
) -> RolloutWhatIf:
    """Dates before and after; UserError if this kind has none, or an assumption cannot be read."""
    one = journals.find(name)
    known = one.rules.settings(one.state)
    if not known:
        remedy = (
            "`tidegate upgrades what-if` tries labels of clusters; `when` has the dates there are"
        )
        what = "has no strategy whose settings could be tried"
        raise UserError((Problem(one.partition, what, remedy),))
    before, after = _dates(journals, one, pace), _after(journals, one, assumed, pace, actor)
    items = tuple(_shifts(before, after))
    return RolloutWhatIf(
        rollout=one.partition,
        settings=tuple(
            AssumedSetting(name=each, before=known.get(each, ""), after=value)
            for each, value in assumed.settings.items()
        ),
        ends_before=_end(before),
        ends_after=_end(after),
        apply_time=before.apply_time,
        apply_time_from=before.apply_time_from,
        items=items,
        shifted=sum(_moves(each) for each in items),
    )


def _dates(journals: Journals, one: Decision, pace: DatePace) -> RolloutDates:
    found = dates_of(journals, one, pace)
    if not isinstance(found, RolloutDates):
        raise UserError((Problem(one.partition, one.rules.no_dates()),))
    return found


def _after(
    journals: Journals, one: Decision, assumed: DateAssumption, pace: DatePace, actor: str
) -> RolloutDates:
    facts = list(_brakes(journals, assumed, actor))
    then = journals.supposing_brakes(facts, actor) if facts else journals
    found = then.find(one.partition)
    if assumed.settings:
        fact = found.rules.assumed(found.state, assumed.settings)
        supposed = then.supposing(found, fact, actor)
        assert supposed is not None, "what is declared with other settings is declared"
        found = supposed
    return _dates(then, found, pace)


def _brakes(journals: Journals, assumed: DateAssumption, actor: str) -> Iterator[Fact]:
    hold = BrakeRequest(
        brake="hold",
        name=NAME,
        scope=BrakeScope(everything=True),
        owner=actor,
        reason=NAME,
        replace=True,
    )
    for number, times in enumerate(assumed.freezes):
        name = f"{NAME}-{number}"
        freeze = msgspec.structs.replace(hold, brake="freeze", name=name, times=times)
        yield check_brake(journals, freeze).fact()
    if assumed.hold:
        yield check_brake(journals, hold).fact()


def _shifts(before: RolloutDates, after: RolloutDates) -> Iterator[ShiftedTarget]:
    then = {each.target: each for each in after.items}
    for each in before.items:
        other = then.pop(each.target, None)
        yield ShiftedTarget(target=each.target, group=each.group, before=each, after=other)
    for each in then.values():
        yield ShiftedTarget(target=each.target, group=each.group, before=None, after=each)


def _moves(each: ShiftedTarget) -> bool:
    def dates(of: TargetDates | None) -> tuple[str | None, ...]:
        return () if of is None else (of.starts_at, of.done_at)

    return dates(each.before) != dates(each.after)


def _end(found: RolloutDates) -> str | None:
    ends = [each.done_at for each in found.items]
    return None if not ends or None in ends else max(each for each in ends if each is not None)
