"""What a pin in the bundle, or taking one away, comes to: lines of files, shards, restarts.

Worked out whole before anything is written: the files as they would be are read again, and whatever
changes for anybody who is not meant is a reason to refuse.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import click
import msgspec

from tidegate import wiring
from tidegate.bundle.section import Bundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.edit.edits import Edited
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.comparison import new_errors
from tidegate.kinds.integrations.app.pin_edits import Pin, pinned, unpinned
from tidegate.kinds.integrations.app.shards import UNREAD, shard_rows
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.cli.estate import Asked
from tidegate.kinds.integrations.cli.pin_plan import (
    Doing,
    Line,
    PinPlan,
    Said,
    Wish,
    changed_lines,
    listed,
    shards,
)
from tidegate.kinds.integrations.cli.site import settled, site_of
from tidegate.kinds.integrations.core.review.aims import (
    Aim,
    At,
    aims_of,
    chosen,
    image_to_keep,
    restarted,
    touched,
)
from tidegate.kinds.integrations.core.review.notes import Note
from tidegate.kinds.integrations.core.sharding.inventory import Row
from tidegate.kinds.integrations.core.workloads.estate import Estate, estate_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems

_WITHOUT = "write --image REF, or --wanted for what the bundle wants"
# What follows the repository in the name of an image.
_REF = re.compile(r"\w[\w.-]{0,127}(@sha256:[0-9a-f]{64})?|sha256:[0-9a-f]{64}", re.ASCII)


class PinWish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks for who pins."""

    shards: tuple[str, ...] = ()
    # None: only those named above; else everybody but these.
    but: tuple[str, ...] | None = None
    image: str = ""
    wanted: bool = False
    note: Note


def plan_pin(asked: Asked, integration: str, wish: PinWish) -> PinPlan:
    """What a pin comes to."""
    aims = _aims(asked, integration, wish.shards, wish.but)
    running: dict[At, str] | None = None
    if wish.image:
        _one_environment(aims)
        _fits(wish.image, aims[0].place.repository)
        images = dict.fromkeys((aim.at for aim in aims), wish.image)
    elif wish.wanted:
        images = _kept(aims)
    else:
        images = running = _running(asked, aims, strict=wish.but is None)
    wishes = tuple(
        Wish(
            aim=aim,
            now=images[aim.at] if running is not None else aim.place.wanted(aim.unit),
            image=images[aim.at],
            then=images[aim.at],
        )
        for aim in aims
        if aim.at in images
    )
    # Those who are meant by name get the new note in any case.
    by_name = wish.but is None
    doing = {
        each.aim.at: Said(image=each.image, note=wish.note.text, as_it_is=not by_name)
        for each in wishes
    }
    return _planned(asked, integration, wishes, doing, running)


def plan_unpin(asked: Asked, integration: str, shards: tuple[str, ...]) -> PinPlan:
    """What taking pins away comes to; no names: every one there is."""
    every = _aims(asked, integration, shards, None if shards else ())
    aims = [aim for aim in every if aim.image]
    names = {aim.unit.name for aim in aims}
    loose = sorted({aim.unit.name for aim in every} - names)
    if shards and loose:
        click.echo(f"warning: not pinned in the bundle: {listed(loose)}", err=True)
    if not aims:
        remedy = "`tidegate get pins` lists what is"
        raise click.UsageError(f"no shard of {integration} that is meant is pinned; {remedy}")
    wishes = tuple(
        Wish(aim=aim, now=aim.place.wanted(aim.unit), image="", then=aim.place.revision)
        for aim in aims
    )
    return _planned(asked, integration, wishes, {aim.at: None for aim in aims}, None)


def _aims(
    asked: Asked, integration: str, names: Sequence[str], but: Sequence[str] | None
) -> list[Aim]:
    problems = Problems()
    every = aims_of(
        asked.estate,
        INTEGRATIONS.of(asked.bundle).inventories,
        integration,
        asked.selection.environments,
    )
    if but is None:
        aims = chosen(every, names, problems, "--shard")
    else:
        left_out = {aim.at for aim in chosen(every, but, problems, "--all-except")}
        aims = [aim for aim in every if aim.at not in left_out]
    if problems.errors:
        raise UserError(tuple(problems.errors))
    if not aims:
        raise click.UsageError(f"no shard of {integration} is left to pin")
    return aims


def _one_environment(aims: Iterable[Aim]) -> None:
    """One image in several environments at once is nearly never meant."""
    names = sorted({aim.place.managed.namespace.environment for aim in aims})
    if len(names) > 1:
        raise click.UsageError(f"which environment? --environment {' or '.join(names)}")


def _fits(image: str, repository: str) -> None:
    """UsageError for what an override cannot name."""
    if _REF.fullmatch(image) is None:
        short = image.removeprefix(f"{repository}:").removeprefix(f"{repository}@")
        hint = f'write "{short}"' if _REF.fullmatch(short) else f"of {repository}, and no other"
        raise click.UsageError(f'"{image}" is neither a tag nor a digest; {hint}')


def _kept(aims: Iterable[Aim]) -> dict[At, str]:
    """What each is to run as the bundle has it."""
    problems = Problems()
    found = {aim.at: image_to_keep(aim, aim.place.wanted(aim.unit), problems) for aim in aims}
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return found


def _running(asked: Asked, aims: Sequence[Aim], *, strict: bool) -> dict[At, str]:
    """What each runs. Who runs nothing yet has nothing to keep: an error if meant by name."""
    meant = [(aim.place, aim.unit) for aim in aims]

    async def read() -> tuple[list[Row], tuple[str, ...]]:
        async with asked.clusters() as find:
            return await shard_rows(meant, find)

    rows, troubles = asyncio.run(read())
    unread = sum(row.note == UNREAD for row in rows)
    if unread:
        what = f"what {shards(unread)} run cannot be read: {'; '.join(troubles)}"
        raise UserError((Problem("", what, _WITHOUT),))
    problems = Problems()
    found: dict[At, str] = {}
    idle: list[str] = []
    for aim, row in zip(aims, rows, strict=True):
        if not row.runs and not strict:
            idle.append(aim.unit.name)
        elif image := image_to_keep(aim, row.runs, problems):
            found[aim.at] = image
    if idle:
        click.echo(f"warning: not pinned, because nothing runs: {listed(idle)}", err=True)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    if not found:
        raise UserError((Problem("", "nothing that is meant runs", _WITHOUT),))
    return found


def edits_on(tree: Tree, bundle: Bundle, estate: Estate, doing: Doing) -> list[Edited]:
    """The files of a bundle as they should be written; UserError if a shard is not in it."""
    aims = {aim.at: aim for aim in aims_of(estate, INTEGRATIONS.of(bundle).inventories)}
    problems = Problems()
    for place, unit in doing:
        if (place, unit) not in aims:
            problems.add(place, f"has no shard {unit} in this revision", "try again on the newest")
    if problems.errors:
        raise UserError(tuple(problems.errors))
    read = reader(tree)
    pins = [(aims[at].place, _pin(aims[at], said)) for at, said in doing.items() if said]
    gone = [(aims[at].place, aims[at].shard) for at, said in doing.items() if said is None]
    return pinned(read, pins) if pins else unpinned(read, gone)


def _pin(aim: Aim, said: Said) -> Pin:
    note = None if said.as_it_is and aim.image == said.image else said.note
    return Pin(shard=aim.shard, image=said.image, ref=aim.ref, note=note)


def reader(tree: Tree) -> Callable[[str], bytes]:
    """The bytes of one file of a tree."""
    return lambda path: next(iter(tree.read((path,))))[1]


def _planned(
    asked: Asked,
    integration: str,
    wishes: tuple[Wish, ...],
    doing: Doing,
    running: dict[At, str] | None,
) -> PinPlan:
    edited = edits_on(asked.tree, asked.bundle, asked.estate, doing)
    after = _after(asked, edited)
    meant = [wish.aim.at for wish in wishes]
    only(asked.estate, after, doing)
    anew = restarted(asked.estate, after, running or {}, meant)
    return PinPlan(
        integration=integration,
        wishes=wishes,
        doing=doing,
        edited=tuple(edited),
        lines=tuple(line for each in edited for line in _lines(asked, each)),
        restarting=tuple(f"{piece.kind.lower()}/{piece.name}" for piece in anew),
        looked=running is not None,
        others=tuple(_others(after, meant)),
    )


def only(before: Estate, after: Estate, doing: Doing) -> None:
    """UserError if anybody changes who is not meant."""
    strangers = touched(before, after, doing)
    if strangers:
        what = f"others would change too: {listed(strangers)}"
        remedy = "write each override on lines of its own first, or edit the file by hand"
        raise UserError((Problem("", what, remedy),))


def _others(after: Estate, meant: Iterable[At]) -> Iterator[tuple[str, str]]:
    wanted = set(meant)
    names = {place for place, _ in wanted}
    for place in after.places:
        for unit in place.units if place.name in names else ():
            if not unit.pinned_by:
                yield unit.name, place.wanted(unit)


def _after(asked: Asked, edited: Iterable[Edited]) -> Estate:
    """What the bundle comes to once these are written; UserError if something is wrong then."""
    files = {asked.tree.prefix + each.name: each.data for each in edited}
    bundle = wiring.read_bundle(EditedTree(asked.tree, files), wiring.bundle_cache())
    if new := new_errors(asked.bundle, bundle):
        raise UserError(new)
    site = site_of(asked.settings)
    problems = Problems()
    declared = INTEGRATIONS.of(bundle)
    plain = estate_of(declared.integrations, declared.inventories, problems, site=site)
    return settled(asked.settings, plain, problems)


def _lines(asked: Asked, edited: Edited) -> Iterator[Line]:
    before = reader(asked.tree)(edited.name)
    return changed_lines(asked.tree.prefix + edited.name, before, edited.data)
