"""A partition as a caller sees it who may see only some of its targets.

The others do not exist for that caller: not as rows, not in counts of groups, and not in what a
gate says of a target that is seen. A verdict that names one of them says that there is another.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from tidegate.explain.view import (
    GroupRow,
    Needs,
    OptionRow,
    PartitionView,
    RequestRow,
    TargetRow,
)
from tidegate.model.verdict import FactValue, Verdict

ANOTHER = "another target"
_WORD = re.compile(r"[^\s,;:()\"'`]+")
_COUNTED = {
    "Waiting": "waiting",
    "Updating": "updating",
    "Soaking": "soaking",
    "Failed": "failed",
    "No answer": "failed",
    "Ignored": "ignored",
    "Joined later": "ignored",
}


def mentions(text: str, hidden: Collection[str]) -> bool:
    """Whether a text names one of these."""
    return any(each in hidden or each.rstrip(".") in hidden for each in _WORD.findall(text))


def limited_view(
    view: PartitionView, seen: Collection[str], hidden: Collection[str], *, whole: bool
) -> PartitionView:
    """The same partition with some targets only; nothing in it names a hidden one.

    `whole`: all of it is seen; what is hidden is of others.
    """
    veil = _Veil(hidden)
    rows = tuple(veil.row(each) for each in view.targets if each.name in seen)
    groups = tuple(_groups(view.groups, rows))
    known = {name for each in groups for name in (each.name, each.key)} | set(view.gates)
    # A request for all of the partition, or for what is no row, is not seen in a part of it.
    all_seen = len(rows) == len(view.targets)
    requests = {
        each.ident: each
        for each in view.requests
        if whole or (each.targets and set(each.targets) <= set(seen))
    }
    return replace(
        view,
        headline=veil.text(view.headline) if all_seen else _line(view, rows),
        targets=rows,
        unplaced=tuple(veil.row(each) for each in view.unplaced if each.name in seen),
        groups=groups,
        needs=Needs(
            approvals=tuple(each for each in view.needs.approvals if each in known),
            failures=tuple(
                each for each in view.needs.failures if each in seen or each == view.partition
            ),
            mistakes=tuple(each for each in view.needs.mistakes if each in seen),
            requests=tuple(each for each in view.needs.requests if each in requests),
        ),
        requests=tuple(veil.request(each) for each in requests.values()),
        gate_versions=_versions(view, rows),
        claims=tuple(each for each in view.claims if each.target in seen),
        more={name: veil.text(each) for name, each in view.more.items()},
    )


def _versions(
    view: PartitionView, rows: tuple[TargetRow, ...]
) -> Mapping[str, tuple[str, ...]] | None:
    """The versions that wait at each gate for targets that are seen."""
    if view.gate_versions is None:
        return None
    mine = {each.version for each in rows}
    return {
        gate: tuple(each for each in versions if each in mine)
        for gate, versions in view.gate_versions.items()
    }


def _line(view: PartitionView, rows: tuple[TargetRow, ...]) -> str:
    """One line of what is seen; that of the whole counts the rest, too."""
    states = Counter(each.state for each in rows)
    counts = [f"{count} {word.lower()}" for word, count in sorted(states.items())]
    return " · ".join(
        (view.summary, *([f"revision {view.revision}"] * bool(view.revision)), *counts)
    )


def _groups(groups: Iterable[GroupRow], rows: tuple[TargetRow, ...]) -> Iterable[GroupRow]:
    """The groups of which something is seen, as far as it is."""
    mine: dict[str, Counter[str]] = {}
    for row in rows:
        counts = mine.setdefault(row.group, Counter())
        counts[_COUNTED.get(row.state, "done")] += 1
    for each in groups:
        counts = mine.get(each.name, Counter())
        if counts.total() == each.size and each.size:
            yield each
        elif counts:
            words = ("waiting", "updating", "soaking", "done", "failed", "ignored")
            some = {word: counts[word] for word in words}
            yield replace(each, size=counts.total(), **some)


class _Veil:
    """Verdicts and options are values that targets share: each is looked at once."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden = hidden
        self._verdicts: dict[int, tuple[Verdict, Verdict]] = {}
        self._options: dict[int, tuple[OptionRow, OptionRow]] = {}

    def text(self, text: str) -> str:
        """A text, if it names nothing that is hidden."""
        return "" if mentions(text, self._hidden) else text

    def row(self, row: TargetRow) -> TargetRow:
        """A target, with what its gates say."""
        return replace(
            row,
            shut=None if row.shut is None else self._verdict(row.shut),
            options=tuple(map(self._option, row.options)),
        )

    def request(self, row: RequestRow) -> RequestRow:
        """A request, with what its gates say."""
        return replace(
            row,
            shut=None if row.shut is None else self._verdict(row.shut),
            verdicts=tuple(map(self._verdict, row.verdicts)),
        )

    def _option(self, option: OptionRow) -> OptionRow:
        known = self._options.get(id(option))
        if known is None:
            verdicts = tuple(map(self._verdict, option.verdicts))
            known = self._options[id(option)] = (option, replace(option, verdicts=verdicts))
        return known[1]

    def _verdict(self, verdict: Verdict) -> Verdict:
        known = self._verdicts.get(id(verdict))
        if known is None:
            facts = tuple(map(self._fact, verdict.facts))
            made = verdict if facts == verdict.facts else replace(verdict, facts=facts)
            known = self._verdicts[id(verdict)] = (verdict, made)
        return known[1]

    def _fact(self, fact: FactValue) -> FactValue:
        if isinstance(fact, tuple):
            kept = tuple(each for each in fact if not mentions(each, self._hidden))
            return kept if len(kept) == len(fact) else (*kept, ANOTHER)
        if isinstance(fact, str) and mentions(fact, self._hidden):
            return ANOTHER
        return fact
