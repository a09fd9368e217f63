"""A simulation of upgrades printed as it goes, and the state of every cluster in the end."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tidegate.cli.output import emit_item, say, terminal_width
from tidegate.explain.names import ranged
from tidegate.kinds.upgrades.app.clusters import ClusterList, ClusterRow
from tidegate.kinds.upgrades.app.rehearsal import SimulatedUpgrades, event_part
from tidegate.kinds.upgrades.cli.text.clusters import cluster_table, organisation_words
from tidegate.kinds.upgrades.ocm.simulated.events import OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld
from tidegate.kinds.upgrades.simulated.events import SILENT, UpgradeEvent
from tidegate.kinds.upgrades.simulated.story import UpgradeStory
from tidegate.model.counted import counted
from tidegate.model.time import SECOND, Instant, format_age, format_instant
from tidegate.simulation.line_wrap import folded

STORY, TABLE, JSON = "story", "table", "json"
# A story is read more easily in lines that are not too long.
WIDTH, WIDTH_MAX = 80, 100
# With less room than this beside the names, why goes on beneath them.
LEAST = 30
_UP_TO_DATE = "up to date"
_MARKS = {
    _UP_TO_DATE: "✓",
    "start now": "▶",
    "under way": "▶",
    "waiting": "…",
    "failed": "✗",
    "excluded": "✗",
}
_ORDER = "✓▶…✗"


class StoryPrinter:
    """Tells what is new in a rehearsal, as it goes."""

    def __init__(self, world: OcmWorld, output: str, colour: bool, pace: float | None) -> None:
        self._world = world
        self._output = output
        self._colour = colour
        # Only on a terminal.
        self._pace = pace if sys.stdout.isatty() else None
        self._width = min(terminal_width() or WIDTH, WIDTH_MAX)
        self._story = UpgradeStory(
            {each.id: each.name or each.id for each in world.orgs}, self._width
        )
        self._began_s = time.monotonic()

    def open(self, served: int, days: int) -> None:
        """What it is about, on a line."""
        if self._output == STORY:
            clusters = counted(len(self._world.clusters), "cluster")
            orgs = counted(served, "organisation")
            begin = format_instant(self._world.now)[:10]
            pace = f" · 1 s = {format_age(round(self._pace) * SECOND)}" if self._pace else ""
            lasts = f"{counted(days, 'day')} from {begin}"
            say(f"{clusters} of {orgs}, simulated · {lasts}{pace}", self._colour)

    def hear(self, events: Sequence[UpgradeEvent], now: Instant | None) -> None:
        """A round is over, or nothing more comes: tell what happened up to now."""
        if self._output == JSON:
            for each in sorted(events, key=lambda one: one.at):
                emit_item(event_part(each), JSON)
        elif self._output == STORY:
            for at, line in self._story.add(events, now):
                self._wait(at)
                say(line, self._colour)

    def _wait(self, at: Instant) -> None:
        """Wait, so that the time is seen to pass on a terminal."""
        if self._pace:
            due_s = self._began_s + (at - self._world.now) / SECOND / self._pace
            time.sleep(max(0.0, due_s - time.monotonic()))

    def close(self, found: SimulatedUpgrades) -> None:
        """Print the state of every cluster in the end."""
        if self._output == JSON:
            for row in found.clusters:
                emit_item(row, JSON)
            return
        lines: list[str] = ["", _tally(found), *_states(found.clusters, self._width)]
        if self._output == TABLE:
            listed = ClusterList(now=found.end, items=found.clusters)
            lines = cluster_table(listed, terminal_width(), wide=False, headed=True, one_org=False)
        for line in lines:
            say(line, self._colour)


def _tally(found: SimulatedUpgrades) -> str:
    counts = Counter(found.counts)
    asked, done = counts[OcmEventKind.ASKED.value], counts[OcmEventKind.DONE.value]
    failed, logs = counts[OcmEventKind.FAILED.value], counts[OcmEventKind.TOLD.value]
    parts = [f"{counted(asked, 'upgrade')} asked for", f"{done} done", f"{failed} failed"]
    parts += [counted(logs, "service log")] if logs else []
    parts += [f"{counted(counts[SILENT], 'look')} failed"] if counts[SILENT] else []
    return f"After {counted(found.days, 'day')}: {' · '.join(parts)}"


def _states(rows: Iterable[ClusterRow], width: int) -> Iterator[str]:
    """Organisation by organisation, clusters in the same state together, and why they wait."""
    fleets = groupby(rows, key=lambda each: (each.environment, each.org, each.org_name))
    shown = [(key[2], mine := list(some), _alike(mine)) for key, some in fleets]
    waiting = [row for _, _, groups in shown for row in groups if row[3]]
    names = max((len(row[1]) for row in waiting), default=0)
    ways = max((len(row[2]) for row in waiting), default=0)
    for name, mine, groups in shown:
        yield organisation_words(name, (each.phase for each in mine))
        for mark, who, way, why in groups:
            head = f"  {mark} {who.ljust(names)}  {way.ljust(ways)}  "
            if not why:
                yield f"  {mark} {who}  {way}"
                continue
            beneath = " " * min(len(head), width - LEAST)
            yield from folded(why, width, head, beneath)


def _alike(mine: Iterable[ClusterRow]) -> list[tuple[str, str, str, str]]:
    """Mark, names, versions and why; a row for all clusters that have the same."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in mine:
        oldest = row.oldest_version
        way = f"{oldest} → {row.next}" if row.next else oldest
        why = "" if row.phase == _UP_TO_DATE else row.summary
        groups.setdefault((_MARKS[row.phase], way, why), []).append(row.cluster)
    ordered = sorted(groups.items(), key=lambda one: _ORDER.index(one[0][0]))
    return [(mark, ranged(names), way, why) for (mark, way, why), names in ordered]
