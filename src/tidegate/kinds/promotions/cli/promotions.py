"""`get promotions`: which version is where, since when, by which merge request, how far behind."""

import asyncio
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.forge.port import Forge, MergeRequest
from tidegate.git.history import Ancestry, Commit
from tidegate.kinds.promotions.app.looking import HEAD, History
from tidegate.kinds.promotions.cli.ground import SETTINGS, Ground, every_ground
from tidegate.kinds.promotions.core.model import SHORT, Held
from tidegate.model.errors import TidegateError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import format_age, format_second
from tidegate.settings.settings import Merged, Settings
from tidegate.wiring import clock

FORMATS = ("table", "wide", "json", "yaml", "name")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One version in one environment, and every place it stands at."""

    promotion: str
    environment: str
    version: str  # as it is written
    places: tuple[Held, ...] = ()
    # Who wrote it there; None: it is a branch that is followed, and nobody has to.
    since: Commit | None = None
    request: MergeRequest | None = None
    # How many commits the newest is ahead; None: nobody can tell.
    behind: int | None = 0


@click.command(
    cls=Command,
    name="promotions",
    examples="""
    tidegate get promotions
    tidegate get promotions --no-forge -o wide
    tidegate get promotions -o json
    """,
)
@click.option("--promotion", "name", metavar="NAME", help="Which, where several are declared.")
@click.option("--base", default="", metavar="REF", help="Read this revision of the bundle.")
@click.option("--no-fetch", is_flag=True, help="Use what was fetched before.")
@click.option("--no-forge", is_flag=True, help="Do not ask which merge request it was.")
@click.option("--no-headers", is_flag=True, help="Leave the head of the table out.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS)
def get_promotions(
    merged: Merged,
    name: str | None,
    base: str,
    no_fetch: bool,
    no_forge: bool,
    no_headers: bool,
    output: str,
) -> None:
    """List every environment: its version, since when, by which merge request, how far behind.

    Exits 1 if a version is not known: not in the artifact's repository, or not where it should be.
    """
    grounds = every_ground(merged.settings(), name, base, fetch=not no_fetch)
    rows = [row for ground in grounds for row in _rows(ground)]
    if not no_forge:
        rows = asyncio.run(_with_requests(grounds[0], rows))
    if output == "name":
        for environment in dict.fromkeys(row.environment for row in rows):
            click.echo(f"env/{environment}")
    elif output in ("json", "yaml"):
        items = [_item(grounds[0].root, row) for row in rows]
        emit({"kind": "PromotionList", "items": items}, output)
    else:
        _table(rows, wide=output == "wide", headed=not no_headers)
    unseen = [warned_of_unseen(ground) for ground in grounds]
    if any(unseen) or any(row.behind is None for row in rows):
        raise click.exceptions.Exit(FAILURE)


def _rows(ground: Ground) -> list[Row]:
    history = History(ground.source(), ground.promotion.artifact.branch)
    newest = history.version("")
    of = ground.promotion.name
    rows: list[Row] = []
    for environment in ground.promotion.environments:
        if environment.follows:
            branch = history.branch if environment.follows == HEAD else environment.follows
            rows.append(Row(promotion=of, environment=environment.name, version=branch))
        held = [h for h in ground.standing.held if h.environment == environment.name]
        if not held and environment.name in ground.unseen:
            rows.append(Row(promotion=of, environment=environment.name, version="-", behind=None))
        for version in dict.fromkeys(each.value for each in held):
            places = tuple(each for each in held if each.value == version)
            rows.append(_row(ground, history, newest, places))
    return rows


def _row(ground: Ground, history: History, newest: str, places: tuple[Held, ...]) -> Row:
    first = places[0]
    behind: int | None = 0
    if first.is_commit:
        way = history.way(first.value, newest)
        behind = None if way.stand.ancestry is Ancestry.UNKNOWN else len(way.brings)
    if behind is None:
        _warn_of_unknown(ground, first)
    changes = [
        ground.repository.last_change(ground.base, f"{ground.root}{each.file}", each.line)
        for each in places
    ]
    return Row(
        promotion=ground.promotion.name,
        environment=first.environment,
        version=first.value,
        places=places,
        since=max(changes, key=lambda each: each.at),
        behind=behind,
    )


async def _with_requests(ground: Ground, rows: list[Row]) -> list[Row]:
    """With the merge request that brought each in, where a forge can be asked."""
    try:
        forge = ground.forge()
    except TidegateError:
        # There is no forge: the commit is all there is to say.
        return rows
    try:
        return [await _with_request(forge, row) for row in rows]
    except TidegateError as error:
        click.echo(f"warning: {error}; merge requests are left out (--no-forge)", err=True)
        return rows
    finally:
        await forge.close()


async def _with_request(forge: Forge, row: Row) -> Row:
    if row.since is None:
        return row
    return msgspec.structs.replace(row, request=await forge.of_commit(row.since.sha))


HEADS = ("ENVIRONMENT", "VERSION", "SINCE", "BY", "BEHIND", "PLACES")


def _table(rows: list[Row], *, wide: bool, headed: bool) -> None:
    now = clock().now()
    cells: list[tuple[str, ...]] = []
    for row in rows:
        since = format_age(now - row.since.at) if row.since is not None else "-"
        places = [f"{each.file}:{each.line}" for each in row.places]
        shown = ", ".join(places) if wide or len(places) == 1 else str(len(places) or "-")
        version = row.version if wide or not row.places else row.version[:SHORT]
        cells.append((row.environment, version, since, _by(row), _behind(row), shown))
    heads: tuple[str, ...] = HEADS
    if len({row.promotion for row in rows}) > 1:
        heads = ("PROMOTION", *HEADS)
        cells = [(row.promotion, *cell) for row, cell in zip(rows, cells, strict=True)]
    for line in layout(heads, cells, terminal_width(), headed=headed):
        click.echo(line)


def _by(row: Row) -> str:
    if row.since is None:
        return "-" if row.behind is None else "follows"
    return f"!{row.request.number}" if row.request is not None else row.since.sha[:SHORT]


def _behind(row: Row) -> str:
    if row.behind is None:
        return "unknown"
    return str(row.behind) if row.behind else "-"


def _item(root: str, row: Row) -> dict[str, Any]:
    since, request = row.since, row.request
    return {
        "promotion": row.promotion,
        "environment": row.environment,
        "version": row.version,
        "since": None if since is None else format_second(since.at),
        "commit": None if since is None else since.sha,
        "author": None if since is None else since.author,
        "mergeRequest": None if request is None else {"number": request.number, "url": request.url},
        "behind": row.behind,
        "places": [f"{root}{each.file}:{each.line}" for each in row.places],
    }


def lacking(
    settings: Settings, *, to: tuple[str, ...], name: str | None, base: str, no_fetch: bool
) -> tuple[dict[str, tuple[Commit, ...]], bool]:
    """What each environment lacks of what is merged, and whether that is all.

    Those that cannot be told are said to be.
    """
    grounds = every_ground(settings, name, base, to=to, fetch=not no_fetch)
    lacks: dict[str, tuple[Commit, ...]] = {}
    whole = True
    for ground in grounds:
        found, all_of_it = _lacking(ground, to)
        # Environments of several promotions may be called alike.
        before = f"{ground.promotion.name}/" if len(grounds) > 1 else ""
        lacks |= {f"{before}{environment}": some for environment, some in found.items()}
        whole = whole and all_of_it
    return lacks, whole


def _lacking(ground: Ground, to: tuple[str, ...]) -> tuple[dict[str, tuple[Commit, ...]], bool]:
    known = [each.name for each in ground.promotion.environments]
    for each in to:
        if each not in known:
            raise click.UsageError(f'no environment "{each}"; {nearest_or_all(each, known)}')
    history = History(ground.source(), ground.promotion.artifact.branch)
    newest = history.version("")
    lacks: dict[str, tuple[Commit, ...]] = {}
    whole = not warned_of_unseen(ground, to)
    for held in _moved_by_promotions(ground, to):
        way = history.way(held.value, newest)
        if way.stand.ancestry is Ancestry.UNKNOWN:
            _warn_of_unknown(ground, held)
            whole = False
        lacks[held.environment] = (*lacks.get(held.environment, ()), *way.brings)
    return lacks, whole


def warned_of_unseen(ground: Ground, to: tuple[str, ...] = ()) -> bool:
    """Say which environments have no version where they should, and whether there are any."""
    unseen = {name: some for name, some in ground.unseen.items() if not to or name in to}
    for name, places in unseen.items():
        click.echo(f"warning: {name}: stands nowhere: {', '.join(places)}", err=True)
    return bool(unseen)


def _warn_of_unknown(ground: Ground, held: Held) -> None:
    what = f"{ground.root}{held.file}:{held.line}: {held.value} is not in {ground.source_address}"
    remedy = "name another with --source, or run `git fetch --unshallow` if it is a shallow clone"
    click.echo(f"warning: {what}; {remedy}", err=True)


def _moved_by_promotions(ground: Ground, to: tuple[str, ...]) -> Iterator[Held]:
    for held in ground.standing.held:
        if held.is_commit and (not to or held.environment in to):
            yield held
