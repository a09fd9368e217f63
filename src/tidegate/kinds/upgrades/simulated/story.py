"""Upgrades line by line: new versions, which clusters go to which version when, what fails.

What happens in one minute is one line. A start is shown when it is requested, with its moment; that
it started is shown only where the moment was another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from tidegate.explain.names import ranged
from tidegate.kinds.upgrades.core import advance_notice
from tidegate.kinds.upgrades.ocm.simulated.events import OcmEventKind
from tidegate.kinds.upgrades.simulated.events import ASIDE, FREED, HELD, SILENT, UpgradeEvent
from tidegate.model.counted import counted
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.line_wrap import folded

_MINUTE = 60 * SECOND
# As long as "Mon 02 08:00".
_CLOCK = 12
# What a line goes on with, beneath.
_BENEATH = " " * (_CLOCK + 3)
# More clusters than these are counted instead of named.
NAMES_MAX = 2
# With less room than this a line is not broken.
_LEAST = 40

Group = list[UpgradeEvent]


def clock_text(moment: Instant) -> str:
    """A moment of a story that lasts for days: Mon 02 08:00."""
    return f"{_date(moment):%a %d %H:%M}"


def _date(moment: Instant) -> datetime:
    return datetime.fromtimestamp(moment // SECOND, UTC)


class UpgradeStory:
    """Makes lines of events, as they come."""

    def __init__(self, orgs: Mapping[str, str], width: int = 80) -> None:
        # What people call an organisation, by its id.
        self._orgs = orgs
        self._width = max(width, _LEAST)
        self._waiting: Group = []
        self._told: set[str] = set()
        # When each upgrade was said to start.
        self._promised: dict[tuple[str, ...], Instant | None] = {}
        self._shown = ""

    def add(
        self, events: Iterable[UpgradeEvent], now: Instant | None = None
    ) -> Iterator[tuple[Instant, str]]:
        """The lines of all that happened before the minute of now, each with its moment.

        None: of everything.
        """
        self._waiting += events
        over = [each for each in self._waiting if now is None or _minute(each.at) < _minute(now)]
        self._waiting = [each for each in self._waiting if each not in over]
        minutes: dict[int, Group] = {}
        for each in sorted(over, key=lambda one: (_minute(one.at), _RANKS[one.event])):
            minutes.setdefault(_minute(each.at), []).append(each)
        for some in minutes.values():
            at = some[0].at
            for line in self._lines(some):
                yield from ((at, each) for each in self._laid_out(line, at))

    def _laid_out(self, line: str, at: Instant) -> list[str]:
        clock = clock_text(at)
        head = " " * _CLOCK if clock == self._shown else clock
        self._shown = clock
        return folded(line, self._width, f"{head} ", _BENEATH)

    def _lines(self, some: Group) -> Iterator[str]:
        groups: dict[tuple[object, ...], Group] = {}
        for each in some:
            if self._is_told(each):
                groups.setdefault((each.event, *_ALIKE[each.event](each)), []).append(each)
        for group in groups.values():
            yield f"{_MARKS[group[0].event]} {_SAYS[group[0].event](self, group)}"

    def _is_told(self, one: UpgradeEvent) -> bool:
        """Whether it is worth a line: not what was said before."""
        upgrade = (*one.clusters, one.pool, one.addon, one.to)
        if one.event == OcmEventKind.ASKED.value:
            self._promised[upgrade] = one.starts_at
        if one.event == OcmEventKind.STARTED.value:
            asked = self._promised.get(upgrade)
            return asked is None or _minute(asked) != _minute(one.at)
        if one.event == OcmEventKind.TOLD.value:
            # What is to start was shown already.
            return one.summary != advance_notice.SUMMARY and self._is_new(
                f"{one.clusters} {one.text}"
            )
        if one.event == SILENT:
            return self._is_new(f"{clock_text(one.at)[:6]} {_gist(one.text)}")
        return True

    def _is_new(self, said: str) -> bool:
        news = said not in self._told
        self._told.add(said)
        return news

    def _out(self, group: Group) -> str:
        return f"{ranged(each.to for each in group)} {'is' if len(group) == 1 else 'are'} out"

    def _asked(self, group: Group) -> str:
        first = group[0]
        when = ""
        if first.starts_at is not None and _minute(first.starts_at) != _minute(first.at):
            clock, at = clock_text(first.starts_at), clock_text(first.at)
            when = f" at {clock[7:] if clock[:6] == at[:6] else clock}"
        return f"{self._who(group)}  {_ways(group)}{when}"

    def _done(self, group: Group) -> str:
        return f"{self._who(group)}  on {group[0].to}"

    def _failed(self, group: Group) -> str:
        return f"{self._who(group)}  the upgrade to {group[0].to} failed"

    def _delayed(self, group: Group) -> str:
        return f"{self._who(group)}  the upgrade to {group[0].to} is delayed"

    def _called_off(self, group: Group) -> str:
        return f"{self._who(group)}  the upgrade to {group[0].to} is called off"

    def _agreed(self, group: Group) -> str:
        return f"{self._org(group[0])}  {group[0].to} agreed to for {_names(group)}"

    def _channel(self, group: Group) -> str:
        return f"{self._org(group[0])}  {_names(group)} put on channel {group[0].to}"

    def _started(self, group: Group) -> str:
        return f"{self._who(group)}  the upgrade to {group[0].to} starts"

    def _said(self, group: Group) -> str:
        text = " ".join(group[0].text.split()).removeprefix("- ")
        several = len(group) > 1
        owner = f"{'owners' if several else 'the owner'} of {_names(group)}"
        return f"{owner} {'are' if several else 'is'} told: {text}"

    def _aside(self, group: Group) -> str:
        return f"{self._org(group[0])}  {_names(group)} {group[0].text}"

    def _held(self, group: Group) -> str:
        names = [name for each in group for name in each.clusters]
        orgs = len({each.org for each in group})
        who = f"{self._org(group[0])}  {_few(names)}"
        if orgs > 1:
            who = f"{counted(len(names), 'cluster')} of {orgs} organisations"
        until = group[0].until
        return f"{who}: {group[0].text}{f', until {clock_text(until)}' if until else ''}"

    def _freed(self, group: Group) -> str:
        return group[0].text

    def _silent(self, group: Group) -> str:
        return _gist(group[0].text)

    def _org(self, one: UpgradeEvent) -> str:
        return self._orgs.get(one.org, one.org)

    def _who(self, group: Group) -> str:
        first = group[0]
        part = " control plane" if first.hosted else ""
        if first.pool or first.addon:
            names = list(dict.fromkeys(each.pool or each.addon for each in group))
            what = "node pool" if first.pool else "add-on"
            part = f" {what}{'s' if len(names) > 1 else ''} {ranged(names)}"
        return f"{self._org(first)} {first.sector}".rstrip() + f"  {_names(group)}{part}"


def _minute(at: Instant) -> int:
    return at // _MINUTE


def _gist(text: str) -> str:
    """What went wrong, without the call it went wrong with; shown once a day."""
    return text.partition(": simulated: ")[0]


def _names(group: Group) -> str:
    return ranged(name for each in group for name in each.clusters)


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= NAMES_MAX else f"{len(names)} clusters"


def _ways(group: Group) -> str:
    was = list(dict.fromkeys(each.was for each in group))
    return f"{was[0]} → {group[0].to}" if len(was) == 1 else f"→ {group[0].to}"


def _by_group(one: UpgradeEvent) -> tuple[object, ...]:
    """Upgrades that are shown together: of one sector, to one version, of the same parts."""
    several = one.clusters if one.pool or one.addon else ()
    part = "pool" if one.pool else "addon" if one.addon else one.hosted
    return one.org, one.sector, one.to, part, several


def _by_start(one: UpgradeEvent) -> tuple[object, ...]:
    return *_by_group(one), one.starts_at


def _by_what(one: UpgradeEvent) -> tuple[object, ...]:
    return one.org, one.to


def _by_text(one: UpgradeEvent) -> tuple[object, ...]:
    return (one.text,)


def _by_itself(one: UpgradeEvent) -> tuple[object, ...]:
    return one.org, one.clusters, one.text


def _all(_: UpgradeEvent) -> tuple[object, ...]:
    return ()


# How each is shown: in which order within a minute, with what mark, with what else, in which words.
_TABLE: dict[
    str,
    tuple[str, Callable[[UpgradeEvent], tuple[object, ...]], Callable[[UpgradeStory, Group], str]],
] = {
    SILENT: ("✗", _by_text, UpgradeStory._silent),
    OcmEventKind.OUT.value: ("●", _all, UpgradeStory._out),
    OcmEventKind.DONE.value: ("✓", _by_group, UpgradeStory._done),
    OcmEventKind.FAILED.value: ("✗", _by_group, UpgradeStory._failed),
    FREED: ("●", _by_text, UpgradeStory._freed),
    ASIDE: ("✗", _by_itself, UpgradeStory._aside),
    OcmEventKind.TOLD.value: (" ", _by_text, UpgradeStory._said),
    HELD: ("■", _by_text, UpgradeStory._held),
    OcmEventKind.AGREED.value: ("✓", _by_what, UpgradeStory._agreed),
    OcmEventKind.CHANNEL.value: ("●", _by_what, UpgradeStory._channel),
    OcmEventKind.CALLED_OFF.value: ("↩", _by_group, UpgradeStory._called_off),
    OcmEventKind.ASKED.value: ("▶", _by_start, UpgradeStory._asked),
    OcmEventKind.DELAYED.value: ("…", _by_group, UpgradeStory._delayed),
    OcmEventKind.STARTED.value: ("▶", _by_group, UpgradeStory._started),
}
_RANKS = {name: rank for rank, name in enumerate(_TABLE)}
_MARKS = {name: mark for name, (mark, _, _) in _TABLE.items()}
_ALIKE = {name: alike for name, (_, alike, _) in _TABLE.items()}
_SAYS = {name: says for name, (_, _, says) in _TABLE.items()}
