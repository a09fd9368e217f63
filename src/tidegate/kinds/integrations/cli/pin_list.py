"""`get pins`: what stays where it is, by the bundle and by the journal, and why."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.output import again, emit, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.settings.settings import Merged

if TYPE_CHECKING:
    from tidegate.git.port import Commit
    from tidegate.kinds.integrations.cli.estate import Asked
    from tidegate.kinds.integrations.core.review.notes import Note
    from tidegate.kinds.integrations.core.review.pinning import Aim
    from tidegate.kinds.integrations.core.sharding.inventory import Past
    from tidegate.model.time import Instant

FORMATS = ("table", "wide", "json", "yaml", "name")
SOURCES = ("bundle", "journal")
WATCH_S = 2.0
HEAD = ("NAME", "COVERS", "IMAGE", "DEFAULT", "EXPIRES", "REASON", "SOURCE", "NOTE")
WIDE = ("BEHIND", "SINCE", "BY", "OWNER")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    name: str | None
    integrations: tuple[str, ...]
    environments: tuple[str, ...]
    source: str | None
    expired: bool

    def takes(self, item: dict[str, Any]) -> bool:
        """Whether a pin is meant."""
        return (
            (not self.integrations or item.get("integration") in self.integrations)
            and (not self.environments or item.get("environment") in self.environments)
            and (not self.expired or not item["inForce"])
        )


@click.command(
    cls=Command,
    examples="""
    tidegate get pins
    tidegate get pins --bundle examples/app-interface --environment app-interface-production
    tidegate get pins --expired -o name
    tidegate get pins --source journal -o wide
    """,
)
@click.argument("name", required=False)
@click.option("--integration", "integrations", multiple=True, help="Only of this; repeatable.")
@click.option("--environment", "environments", multiple=True, help="Only in this; repeatable.")
@click.option("--source", type=click.Choice(SOURCES), help="Only those of the bundle, or not.")
@click.option("--expired", is_flag=True, help="Only those whose time is over.")
@settings_options("bundle", "revision", "parameters", "database")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-w", "--watch", is_flag=True, help="Keep showing it.")
@click.option("--no-headers", is_flag=True, help="Leave the head of the table out.")
def get_pins(merged: Merged, output: str, watch: bool, no_headers: bool, **asked: Any) -> None:
    """List pins: shards with an image of their own, and pinned targets.

    Of the bundle: the file and line, the image and what the others have, until when and why; and
    with -o wide its author and date, from Git. Of the journal: what a pin covers, who set it.
    """
    wanted = Listed(**asked)
    for _ in again(watch, WATCH_S):
        items = _items(wanted, merged, asks_git=output not in ("table", "name"))
        _print(items, output, no_headers)


def _items(wanted: Listed, merged: Merged, *, asks_git: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    bundle = bundle_if_any(merged) if wanted.source != "journal" else None
    if bundle is not None:
        found += _of_bundle(bundle, asks_git=asks_git)
    if wanted.source != "bundle":
        found += _of_journal(merged, needed=bundle is None)
    if wanted.name is not None:
        from tidegate.model.problem import nearest_or_all
        from tidegate.model.target import bare

        called = bare(wanted.name)
        known = [item["name"] for item in found]
        found = [item for item in found if item["name"] == called]
        if not found:
            raise click.UsageError(f'no pin "{called}"; {nearest_or_all(called, known)}')
    return [item for item in found if wanted.takes(item)]


def bundle_if_any(merged: Merged) -> "Asked | None":
    """The bundle that settings name; None if there is none there."""
    from tidegate.kinds.integrations.cli.estate import Asked
    from tidegate.model.errors import TidegateError

    try:
        found = Asked(None, merged, {})
    except (click.UsageError, TidegateError, OSError):
        return None
    return found if found.bundle.integrations else None


def _of_journal(merged: Merged, *, needed: bool) -> list[dict[str, Any]]:
    """Pins that somebody set; none where there is no journal and a bundle tells enough."""
    from tidegate.cli.brake_list import covers, listed
    from tidegate.cli.live import opened
    from tidegate.model.errors import TidegateError
    from tidegate.wiring import clock

    try:
        with opened(merged.settings().database) as store:
            items = listed(store, "pins", clock().now())
    except TidegateError:
        if needed:
            raise
        return []
    return [{**item, "source": "journal", "covers": covers(item.get("scope"))} for item in items]


def _of_bundle(asked: "Asked", *, asks_git: bool) -> list[dict[str, Any]]:
    from tidegate.kinds.integrations.cli.shards import in_order, pasts
    from tidegate.kinds.integrations.core.review.pinning import aims_of
    from tidegate.wiring import clock

    asked.tell_problems()
    now = clock().now()
    aims = [aim for aim in aims_of(asked.estate, asked.bundle.inventories) if aim.image]
    aims.sort(key=lambda aim: (aim.place.managed.namespace.environment, in_order(aim.unit.name)))
    known = pasts(asked.settings.database, {aim.place.partition for aim in aims})
    writers = _writers(asked, aims) if asks_git else {}
    return [
        _item(asked, aim, now, known.get(aim.place.partition), writers.get(aim.at)) for aim in aims
    ]


def _item(
    asked: "Asked", aim: "Aim", now: "Instant", past: "Past | None", writer: "Commit | None"
) -> dict[str, Any]:
    """One pin of the bundle; these names are API, those of the journal's the same."""
    from tidegate.kinds.integrations.core.review.notes import read_note
    from tidegate.kinds.integrations.core.sharding.inventory import Past, behind
    from tidegate.model.time import format_second

    override, namespace = aim.override, aim.place.managed.namespace
    assert override is not None
    note = read_note(override.note)
    ends = note.expires_at if note is not None else None
    past = past or Past()
    # Somebody who is pinned to what no journal ever had is behind by nobody knows how many.
    known = any(name == aim.image for name, _ in past.revisions)
    count, since = behind(aim.place.revision, aim.image, past)
    return {
        "name": aim.unit.name,
        "source": asked.tree.prefix + override.where,
        "covers": namespace.environment,
        "integration": aim.place.integration.name,
        "environment": namespace.environment,
        "cluster": namespace.cluster,
        "namespace": namespace.name,
        "image": aim.image,
        "default": aim.place.revision,
        "behind": count if known or not count else None,
        "behindSince": format_second(since) if since is not None else None,
        "owner": note.by if note is not None else None,
        "reason": note.reason if note is not None else None,
        "expires": note.until or None if note is not None else None,
        "inForce": ends is None or ends > now,
        "since": format_second(writer.at) if writer is not None else None,
        "by": writer.author if writer is not None else None,
        "commit": writer.sha if writer is not None else None,
        "note": _remark(aim, note, now),
    }


def _remark(aim: "Aim", note: "Note | None", now: "Instant") -> str | None:
    """What somebody should look at."""
    from tidegate.model.time import format_age
    from tidegate.registry.image import is_same

    ends = note.expires_at if note is not None else None
    if ends is not None and ends <= now:
        return f"expired {format_age(now - ends)} ago"
    if is_same(aim.image, aim.place.revision):
        return "the default is the same: drop it, unless a promotion is near"
    if note is None:
        written = aim.override is not None and aim.override.note
        return "its note cannot be read" if written else "nothing says until when and why"
    return None


def _writers(asked: "Asked", aims: Sequence["Aim"]) -> "dict[tuple[str, str], Commit]":
    """Who wrote each image into the branch; nobody outside of Git, or before it is committed."""
    from tidegate import wiring
    from tidegate.kinds.integrations.cli.site import bundle_folder
    from tidegate.model.errors import TidegateError

    files, folder = asked.tree.files(), bundle_folder(asked.settings)
    found: dict[tuple[str, str], Commit] = {}
    try:
        repository = wiring.repository(folder)
        commit = repository.resolve(asked.settings.revision or "HEAD")
        there = wiring.open_tree(folder, commit)
        known = there.files()
        stands = _lines(asked)
        for aim in aims:
            file, line = stands(aim)
            # Of a file that was edited since, no line is known to be the same.
            if known.get(file) == files[file]:
                found[aim.at] = repository.last_change(commit, there.prefix + file, line)
    except TidegateError:
        return found
    return found


def _lines(asked: "Asked") -> "Callable[[Aim], tuple[str, int]]":
    """The file and line of each pinned image; every place is read once."""
    from tidegate.edit.edit import read_original
    from tidegate.kinds.integrations.app.pins import image_lines
    from tidegate.kinds.integrations.cli.pin_planning import reader

    read = reader(asked.tree)
    known: dict[str, dict[str, int]] = {}

    def stands(aim: "Aim") -> tuple[str, int]:
        place, file = aim.place, aim.place.managed.where.rpartition(":")[0]
        if place.name not in known:
            original = read_original(file, read(file))
            known[place.name] = image_lines(original, place.integration, place.managed)
        return file, known[place.name][aim.shard]

    return stands


def _print(items: list[dict[str, Any]], output: str, no_headers: bool) -> None:
    from tidegate.explain.table import layout

    if output == "name":
        for item in items:
            click.echo(f"pin/{item['name']}")
    elif output in ("json", "yaml"):
        emit({"kind": "PinList", "items": items}, output)
    elif not items:
        click.echo("no pins", err=True)
    else:
        wide = output == "wide"
        rows = [tuple(_cells(item, wide=wide)) for item in items]
        head = (*HEAD[:-1], *WIDE, HEAD[-1]) if wide else HEAD
        for line in layout(head, rows, terminal_width(), headed=not no_headers):
            click.echo(line)


def _cells(item: dict[str, Any], *, wide: bool) -> Iterator[str]:
    expires = str(item["expires"] or "never")
    yield item["name"]
    yield item["covers"]
    yield item.get("image") or "-"
    yield item.get("default") or "-"
    yield expires if item["inForce"] else "expired"
    yield item["reason"] or "-"
    yield item["source"]
    if wide:
        yield str(item.get("behind") or "-")
        yield item["since"] or "-"
        yield (item["by"] or "-").removeprefix("user:")
        yield item["owner"] or "-"
    yield item.get("note") or ""
