"""What changed lately, as a screen: at a target, in a group or organisation, by whom and why."""

import msgspec
from starlette.requests import Request

from tidegate.api.history import ChangesQuery
from tidegate.app.journal.changes import ChangeList, change_list
from tidegate.app.partitions.journals import Journals
from tidegate.model.errors import NotFoundError
from tidegate.store.archive_port import Archive

# How far back the form offers to look.
SPANS = ("2h", "24h", "3d", "7d", "30d")
# A page lists this many; the command and the API have all.
SHOWN = 300


class ChangesPage(msgspec.Struct, frozen=True):
    """What was asked for, and what was found."""

    name: str
    group: str
    org: str
    env: str
    since: str
    spans: tuple[str, ...]
    found: ChangeList
    more: int
    # Nothing is called so: said on the page, for a name may be mistyped in its form.
    unknown: str
    # The command that prints the same.
    command: tuple[str, ...]


def changes_page(request: Request, journals: Journals, archive: Archive) -> ChangesPage:
    """The changes that an address asks for."""
    given = {each: request.query_params.get(each, "").strip() for each in _FIELDS}
    given["since"] = given["since"] or "24h"
    query = ChangesQuery(
        name=given["name"],
        group=_some(given["group"]),
        org=_some(given["org"]),
        env=_some(given["env"]),
        since=given["since"],
    ).asked(journals.now)
    unknown = ""
    try:
        found = change_list(journals, archive, query)
    except NotFoundError as error:
        unknown = str(error)
        found = ChangeList(since="", until="", targets={}, items=())
    spans = SPANS if given["since"] in SPANS else (given["since"], *SPANS)
    words = [part for each in _FIELDS[1:] if given[each] for part in (f"--{each}", given[each])]
    return ChangesPage(
        **given,
        spans=spans,
        found=msgspec.structs.replace(found, items=found.items[:SHOWN]),
        more=max(0, len(found.items) - SHOWN) + found.left_out,
        unknown=unknown,
        command=("tidegate", "changes", *filter(None, (given["name"],)), *words),
    )


_FIELDS = ("name", "group", "org", "env", "since")


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
