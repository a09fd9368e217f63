"""The grammar of schedules: five to seven columns, as the predecessor has always taken them.

    minute hour day-of-month month day-of-week [second [year]]

Lists, ranges and steps; names of months and weekdays; ranges around the end (`22-4`, `fri-mon`);
`5/15` from 5 on; `L` the last day, `15W` the weekday nearest to the 15th; `5#2` the second Friday,
`L5` the last; `?` for `*` in either day column; `@hourly` and its like; `R` for a number drawn by
lot. Two habits are surprising and kept: `12-12` is the *whole* column, and so is `59/5` with its
step. An error has the text that owners of labels know from the predecessor, and words of our own.
"""

import re
from collections.abc import Sequence

import msgspec

from tidegate.model.counted import counted
from tidegate.model.cron.cron import LAST, Cron

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS = {
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_SHORT, _WITH_SECONDS, _WITH_YEARS = 5, 6, 7
_DAY, _WEEKDAY = 2, 4
_ALL_WEEKDAYS = 7
_NTH_MAX = 5
_DAY_MAX = 31
# A longer number is a mistake, and reading one takes time that grows with its square.
_DIGITS_MAX = 18

_NAME = "|".join(
    rf"(?:{names})(?:-(?:{names}))?" for names in ("|".join(_WEEKDAYS), "|".join(_MONTHS))
)
_COUNTED = re.compile(rf"(?:(?P<who>{_NAME}|\w+)#|l)(?P<nth>\d+)")
_NEAREST = re.compile(r"(\d+)w|w(\d+)")
_RANGE = re.compile(r"(?P<low>[^-]+)-(?P<high>[^-/]+)(?:/(?P<step>\d+))?")
_DRAWN = re.compile(r"(?P<how>[hr])(?:\((?P<low>\d+)-(?P<high>\d+)\))?(?:/(?P<step>\d+))?")


class CronError(ValueError):
    """A text is no schedule; the text says why as the predecessor does, `words` as we do."""

    def __init__(self, text: str, words: str) -> None:
        self.words = words
        super().__init__(text)


class _Column(msgspec.Struct, frozen=True):
    """What may stand in a column."""

    called: str
    low: int
    high: int
    names: dict[str, int] = {}


_COLUMNS = (
    _Column("minute", 0, 59),
    _Column("hour", 0, 23),
    _Column("day of the month", 1, 31),
    _Column("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    _Column("day of the week", 0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
    _Column("second", 0, 59),
    _Column("year", 1970, 2099),
)
# Numbers that stand for another one, by how many columns there are, then by column.
_OTHER_NAMES: dict[int, dict[int, dict[int, int]]] = {
    _SHORT: {_WEEKDAY: {7: 0}},
    _WITH_SECONDS: {_DAY: {0: 1}},
}


def parse_cron(text: str) -> Cron:
    """A schedule; CronError says what is wrong with it."""
    lowered = text.lower()
    columns = _MACROS.get(lowered, lowered).split()
    if not _SHORT <= len(columns) <= _WITH_YEARS:
        raise CronError(
            "Exactly 5, 6 or 7 columns has to be specified for iterator expression.",
            f"it has {counted(len(columns), 'column')}, and five are needed: minute, hour, day of"
            " the month, month, day of the week",
        )
    read = [_Reading(text, columns, index) for index in range(len(columns))]
    for each in read:
        each.read()
    minutes, hours, days, months, weekdays = (each.values for each in read[:_SHORT])
    read[_WEEKDAY].check_counted()
    return Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(weekdays),
        counted=frozenset(
            (day, nth) for day, numbers in read[_WEEKDAY].counted.items() for nth in numbers
        ),
        nearest=read[_DAY].nearest,
        seconds=tuple(sorted(read[5].values)) if len(read) >= _WITH_SECONDS else None,
        years=frozenset(read[6].values) if len(read) == _WITH_YEARS else None,
        drawn=any(each.drawn for each in read),
        whole=any(each.whole for each in read),
    )


class _Reading:
    """One column while it is read."""

    def __init__(self, text: str, columns: Sequence[str], index: int) -> None:
        self.text = text
        self.columns = columns
        self.index = index
        self.rule = _COLUMNS[index]
        self.numbers: set[int] = set()
        self.is_star = False
        self.counted: dict[int, list[int]] = {}
        self.nearest: int | None = None
        self.drawn = False
        self.whole = False

    def read(self) -> None:
        """Take every item, the last one first, as the predecessor does: it names the last error."""
        column = self._drawn(self.columns[self.index])
        if "?" in column:
            column = self._question(column)
        items = column.split(",")
        for item in reversed(items):
            self._item(item, alone=len(items) == 1)

    def check_counted(self) -> None:
        """Weekdays by number cannot stand beside others, unless those are all there are."""
        others = self.numbers - self.counted.keys()
        if self.counted and others and len(self.numbers) + self.is_star != _ALL_WEEKDAYS:
            numbered = ", ".join(f"{day}: {{{_nths(nths)}}}" for day, nths in self.counted.items())
            raise CronError(
                "day-of-week field does not support mixing literal values and nth day of week"
                f" syntax.  Cron: '{self.text}'    dow={others} vs nth={{{numbered}}}",
                "every such day of the week and only some of a month cannot stand side by side",
            )

    def _drawn(self, column: str) -> str:
        """A column drawn by lot, as if the lowest number had been drawn."""
        match = _DRAWN.fullmatch(column)
        if match is None:
            return column
        if match["how"] == "h":
            raise CronError(
                "Hashed definitions must include hash_id", "`H` is known to other schedulers only"
            )
        self.drawn = True
        low, high, step = match["low"], match["high"], match["step"]
        if low and _number(low) >= _number(high):
            words = self._words(f"{low}-{high} does not go up")
            raise CronError("Range end must be greater than range begin", words)
        if step and not _number(step):
            raise CronError(f"Bad expression: {column}", self._words("a step of 0 goes nowhere"))
        low, high = (low, high) if low else (str(self.rule.low), str(self.rule.high))
        return f"{low}-{high}/{step}" if step else low

    def _question(self, column: str) -> str:
        if column != "?":
            tail = " Question mark can not used with other characters"
            raise self._refused(tail, "`?` stands alone", ".")
        if self.index not in (_DAY, _WEEKDAY):
            tail = " Question mark can only used in day_of_month or day_of_week"
            raise self._refused(tail, "`?` is for days only", ".")
        return "*"

    def _item(self, item: str, *, alone: bool) -> None:
        nth: int | None = None
        if self.index == _WEEKDAY and (match := _COUNTED.fullmatch(item)):
            item, nth = self._counted(match)
        if self.index == _DAY and (match := _NEAREST.fullmatch(item)):
            self._nearest(_number(match[1] or match[2]), alone)
            return
        spelt = item
        if item.startswith("*/"):
            spelt = f"{self.rule.low}-{self.rule.high}{item[1:]}"
        match = _RANGE.fullmatch(spelt)
        if match is None and "/" in item[1:]:
            start, _, step = item.rpartition("/")
            spelt = f"{start}-{self.rule.high}/{step}" if step else item
            match = _RANGE.fullmatch(spelt)
        found = self._range(match) if match else self._single(spelt)
        for value in reversed(found):
            if value < self.rule.low or value > self.rule.high:
                raise self._refused(" out of range", self._bounds(value))
            self._take(value, nth)

    def _take(self, value: int, nth: int | None) -> None:
        self.numbers.add(value)
        if nth is not None and nth not in (numbers := self.counted.setdefault(value, [])):
            numbers.append(nth)

    def _counted(self, match: re.Match[str]) -> tuple[str, int]:
        """`5#2` and `L5`: the weekday, and its number in the month."""
        if match["who"] is None:
            return match["nth"], LAST
        nth = _number(match["nth"])
        if not 1 <= nth <= _NTH_MAX:
            words = f"#{nth}: a month has such a day at most five times"
            raise self._refused(f" Invalid day_of_week value: '{nth}'", words, ".")
        return match["who"], nth

    def _nearest(self, day: int, alone: bool) -> None:
        if not 1 <= day <= _DAY_MAX:
            tail = f" nearest weekday day value '{day}' out of range"
            raise self._refused(tail, self._bounds(day))
        if not alone:
            tail = " 'W' can only be used with a single day value, not in a list or range"
            raise self._refused(tail, "`W` is for a single day, not for a list or a range", ".")
        self.nearest = day

    def _single(self, item: str) -> list[int]:
        if item == "*":
            self.is_star = True
            return []
        if item.startswith("-"):
            raise self._refused(" negative numbers not allowed", f"{item} is less than nothing")
        if item == "l" and self.index == _DAY:
            self.numbers.add(LAST)
            return []
        return [self._other(self._named(item))]

    def _range(self, match: re.Match[str]) -> list[int]:
        low, high = match["low"], match["high"]
        step = _number(match["step"]) if match["step"] is not None else 1
        is_day = self.index == _DAY
        if is_day and high == "l":
            high = str(_DAY_MAX)
        first = 0 if is_day and low == "l" else self._named(low)
        last = self._named(high)
        if not step:
            raise CronError(
                f"[{self.text}] step '0' in field {self.index} is not acceptable",
                self._words("a step of 0 goes nowhere"),
            )
        if is_day and low == "l":
            bands = f"bands '{low}-{high}' in field {self.index} are not acceptable"
            words = self._words("a range cannot begin with the last day")
            raise CronError(f"[{self.text}] {bands}", words)
        first, last = self._other(first), self._other(last)
        if max(first, last) > self.rule.high:
            words = self._words(self._bounds(max(first, last)))
            raise CronError(f"{self.text} is out of bands", words)
        if first == last:
            self.whole = True
            return list(range(self.rule.low, self.rule.high + 1, step))
        if first > last:
            return self._around(first, last, step)
        return list(range(first, last + 1, step))

    def _around(self, first: int, last: int, step: int) -> list[int]:
        """A range around the end: `22-4/3` is 22, then 1 and 4, as if the column went on."""
        upper = list(range(first, self.rule.high + 1, step))
        unused = self.rule.high - upper[-1]
        over = upper[-1] - self.rule.low + step > self.rule.high - self.rule.low + 1
        skip = step - unused if over and unused < step else 0
        return upper + list(range(self.rule.low + skip, last + 1, step))

    def _named(self, item: str) -> int:
        if item.isdecimal():
            return _number(item)
        if item not in self.rule.names:
            words = self._words(
                f'"{item}" is not a number' + (" or a name" * bool(self.rule.names))
            )
            raise CronError(f"[{' '.join(self.columns)}] is not acceptable", words)
        return self.rule.names[item]

    def _other(self, number: int) -> int:
        return _OTHER_NAMES.get(len(self.columns), {}).get(self.index, {}).get(number, number)

    def _refused(self, tail: str, words: str, mark: str = ",") -> CronError:
        return CronError(f"[{self.text}] is not acceptable{mark}{tail}", self._words(words))

    def _words(self, what: str) -> str:
        return f"{self.rule.called}: {what}"

    def _bounds(self, value: int) -> str:
        return f"{value} is not between {self.rule.low} and {self.rule.high}"

    @property
    def values(self) -> set[int]:
        """All the column allows."""
        return set(range(self.rule.low, self.rule.high + 1)) if self.is_star else self.numbers


def _number(text: str) -> int:
    """A number, or one that is out of every range."""
    return int(text) if len(text) <= _DIGITS_MAX else 10**_DIGITS_MAX


def _nths(numbers: list[int]) -> str:
    """Numbers of a weekday in its month, the last one last."""
    ranked = sorted(numbers, key=lambda nth: nth or _NTH_MAX + 1)
    return ", ".join(repr(nth or "l") for nth in ranked)
