"""`get pins`: what stays where it is, by the bundle and by the journal, and why."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.output import again, emit, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.settings.settings import Merged

if TYPE_CHECKING:
    from tidegate.git.port import Commit
    from tidegate.kinds.integrations.app.pins.pin_list import (
        BundlePin,
        JournalPin,
        PinFilter,
        PinList,
    )
    from tidegate.kinds.integrations.cli.estate import EstateQuery
    from tidegate.kinds.integrations.core.review.aims import At

FORMATS = ("table", "wide", "json", "yaml", "name")
SOURCES = ("bundle", "journal")
WATCH_S = 2.0
HEAD = ("NAME", "COVERS", "IMAGE", "DEFAULT", "EXPIRES", "REASON", "SOURCE", "NOTE")
WIDE = ("BEHIND", "SINCE", "BY", "OWNER")


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
@click.option(
    "--integration",
    "integrations",
    multiple=True,
    help="Only pins of this integration; repeatable.",
)
@click.option(
    "--environment", "environments", multiple=True, help="Only in this environment; repeatable."
)
@click.option(
    "--source", type=click.Choice(SOURCES), help="Only pins of the bundle, or of the journal."
)
@click.option("--expired", is_flag=True, help="Only pins that have expired.")
@settings_options("bundle", "revision", "parameters", "database", "server", "serverToken")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-w", "--watch", is_flag=True, help="Update it as it changes.")
@click.option("--no-headers", is_flag=True, help="Print the table without its head.")
def get_pins(merged: Merged, output: str, watch: bool, no_headers: bool, **asked: Any) -> None:
    """List pins: shards with an image of their own, and pinned targets.

    Of the bundle: the file and line, the image and what the others have, until when and why; and
    with -o wide its author and date, from Git. Of the journal: what a pin covers, who set it.
    """
    from tidegate.kinds.integrations.app.pins.pin_list import PinFilter

    wanted = PinFilter(**asked)
    for _ in again(watch, WATCH_S):
        found = _found(wanted, merged, asks_git=output not in ("table", "name"))
        _print(found, output, no_headers)


def _found(wanted: "PinFilter", merged: Merged, *, asks_git: bool) -> "PinList":
    from tidegate.kinds.integrations.app.pins.pin_list import list_pins

    bundle = bundle_if_any(merged) if wanted.source != "journal" else None
    written = _of_bundle(bundle, asks_git=asks_git) if bundle is not None else ()
    journal = () if wanted.source == "bundle" else _of_journal(merged, needed=bundle is None)
    return list_pins(wanted, written, journal)


def bundle_if_any(merged: Merged) -> "EstateQuery | None":
    """The bundle that settings name; None if there is none there."""
    from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
    from tidegate.kinds.integrations.cli.estate import EstateQuery
    from tidegate.model.errors import TidegateError

    try:
        found = EstateQuery(None, merged, {})
    except (click.UsageError, TidegateError, OSError):
        return None
    return found if INTEGRATIONS.of(found.bundle).integrations else None


def _of_journal(merged: Merged, *, needed: bool) -> "tuple[JournalPin, ...]":
    """Pins that were set by hand; none where there is no journal and a bundle was read."""
    from tidegate.cli.answers.place import AnswerPlace, answering
    from tidegate.model.errors import TidegateError

    try:
        with answering(AnswerPlace.of(merged.settings())) as answers:
            return answers.pins().items
    except TidegateError:
        if needed:
            raise
        return ()


def _of_bundle(asked: "EstateQuery", *, asks_git: bool) -> "tuple[BundlePin, ...]":
    from tidegate.kinds.integrations.app.pins.pin_list import bundle_pins, pinned_aims
    from tidegate.kinds.integrations.cli.shards import pasts
    from tidegate.wiring import clock

    asked.tell_problems()
    partitions = {aim.place.partition for aim in pinned_aims(asked.view)}
    known = pasts(asked.settings.database, partitions)
    writers = _writers(asked) if asks_git else {}
    return bundle_pins(asked.view, clock().now(), known, writers)


def _writers(asked: "EstateQuery") -> "dict[At, Commit]":
    """The commit that wrote each image; none outside of Git, or before it is committed."""
    from tidegate.kinds.integrations.app.pins.pin_list import pinned_aims, writers_of
    from tidegate.kinds.integrations.cli.site import bundle_folder
    from tidegate.model.errors import TidegateError
    from tidegate.wiring import repositories

    folder = bundle_folder(asked.settings)
    try:
        repository = repositories.repository(folder)
        commit = repository.resolve(asked.settings.revision or "HEAD")
        there = repositories.open_tree(folder, commit)
        return writers_of(asked.view, pinned_aims(asked.view), repository, commit, there)
    except TidegateError:
        return {}


def _print(found: "PinList", output: str, no_headers: bool) -> None:
    from tidegate.explain.table import layout

    if output in ("json", "yaml"):
        emit(found, output)
        return
    if output == "name":
        for item in found.items:
            click.echo(f"pin/{item.name}")
    elif not found.items:
        click.echo("no pins", err=True)
    else:
        wide = output == "wide"
        rows = [tuple(_cells(item, wide=wide)) for item in found.items]
        head = (*HEAD[:-1], *WIDE, HEAD[-1]) if wide else HEAD
        for line in layout(head, rows, terminal_width(), headed=not no_headers):
            click.echo(line)


def _cells(item: "BundlePin | JournalPin", *, wide: bool) -> Iterator[str]:
    from tidegate.kinds.integrations.app.pins.pin_list import BundlePin

    written = item if isinstance(item, BundlePin) else None
    yield item.name
    yield item.covers
    yield (written.image if written is not None else "") or "-"
    yield (written.default if written is not None else "") or "-"
    yield (item.expires or "never") if item.in_force else "expired"
    yield item.reason or "-"
    yield item.source
    if wide:
        yield str((written.behind if written is not None else 0) or "-")
        yield item.since or "-"
        yield (item.by or "-").removeprefix("user:")
        yield item.owner or "-"
    yield (written.note if written is not None else "") or ""
