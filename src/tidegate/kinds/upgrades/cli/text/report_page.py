"""The fleet report as a page: a heading an organisation, and tables that forges sort and filter.

Tables are fenced blocks of `json:table`, which GitLab draws. Nothing that owners wrote into labels
can end such a block, or be taken for Markdown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tidegate.explain.markup import cut, entities, seen
from tidegate.kinds.upgrades.app.report import (
    FleetReport,
    ReportedOrganisation,
    VersionHistory,
)
from tidegate.kinds.upgrades.cli.text.report import (
    FIELDS,
    HISTORY_FIELDS,
    history_cells,
    report_cells,
)

_NO_ANCHOR = re.compile(r"[^\w\- ]")

EXPLANATION = (
    "Clusters that are upgraded by their labels. `soaking_upgrades` are the versions each is"
    " offered and may have, with the days they ran so far under the workload that is furthest"
    " behind; a day counts once for every cluster, and `soaked` is the date at which it will have"
    " soaked if those clusters keep it. ⏰ the upgrade is to start, 💫 it is under way, 🎉 this"
    " version is expected next, at the moment beside it; a `~` marks a date that depends on more"
    " than the calendar. Blocked versions are left out. Of an excluded cluster it says why."
)
HISTORY_EXPLANATION = (
    "How long each version has run under each workload, in days of clusters, and on which"
    " clusters it was seen."
)


def report_page(document: FleetReport) -> str:
    """The report as Markdown."""
    lines = [EXPLANATION]
    names = [each.name for each in document.organizations]
    for each in document.organizations:
        lines += ["", f"# {_plain(each.name)}", ""]
        if each.inherits:
            others = ", ".join(_linked(one, names) for one in each.inherits)
            lines += [f"inheriting version data from {others}", ""]
        if each.unverified:
            others = ", ".join(map(_plain, each.unverified))
            lines += [f"not inheriting from {others}: they do not publish to it", ""]
        lines += _table(FIELDS, _items(each))
    return "\n".join([*lines, ""])


def history_page(document: VersionHistory) -> str:
    """The version history as Markdown."""
    items = [
        {**dict(zip(HISTORY_FIELDS, history_cells(each), strict=True)), "soak_days": each.soak_days}
        for each in document.items
    ]
    return "\n".join([HISTORY_EXPLANATION, "", *_table(HISTORY_FIELDS, items), ""])


def _items(organisation: ReportedOrganisation) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(FIELDS, report_cells(each, organisation.name), strict=True)),
            "soak_days": each.soak_days,  # a number, to be sorted by
            "id": each.id,
            "uuid": each.uuid,
        }
        for each in organisation.clusters
    ]


def _table(fields: Sequence[str], items: Sequence[Mapping[str, Any]]) -> list[str]:
    """A block that is drawn as a table; an item a line, so that a change of it is a line, too."""
    keys = [{"key": name, "sortable": True} for name in fields]
    rows = ",\n".join(map(_json, items))
    text = f'{{"fields": {_json(keys)}, "items": [\n{rows}\n], "filter": true, "caption": ""}}'
    return ["```json:table", text, "```"]


def _json(value: object) -> str:
    """Three backticks in a label would end the block."""
    return msgspec.json.encode(value).decode().replace("`", "\\u0060")


def _plain(text: str) -> str:
    """A name of others, shown as it is: letters and figures as they are, all else escaped."""
    flat = cut(seen(text))
    return flat if flat.replace("-", "").replace(" ", "").isalnum() else entities(flat)


def _linked(name: str, headings: Iterable[str]) -> str:
    if name not in headings:
        return _plain(name)
    anchor = _NO_ANCHOR.sub("", name.strip().lower()).replace(" ", "-")
    return f"[{_plain(name)}](#{anchor})"
