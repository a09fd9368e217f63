"""Plans a pin in the bundle, or taking one away: lines of files, shards, restarts.

The files as they would be are read again before anything is written; a change to any other shard is
a reason to refuse.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from tidegate.bundle.reader import ReadBundle
from tidegate.bundle.section import Bundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.edit.edits import Edited
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.check.comparison import new_errors
from tidegate.kinds.integrations.app.estate import EstateView, FindCluster, settled
from tidegate.kinds.integrations.app.estates import estate_in, site_in
from tidegate.kinds.integrations.app.pins.edits import ImagePin, pinned, unpinned
from tidegate.kinds.integrations.app.pins.plan import (
    PinEdits,
    PinLine,
    PinnedImage,
    PinPlan,
    ShardPin,
    changed_lines,
    listed,
    shards,
)
from tidegate.kinds.integrations.app.shards import UNREAD, shard_rows
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.aims import (
    At,
    PinTarget,
    aims_of,
    chosen,
    image_to_keep,
    restarted,
    touched,
)
from tidegate.kinds.integrations.core.review.notes import PinNote
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.registry.port import Registry

_WITHOUT = "write --image REF, or --wanted for what the bundle wants"
# What follows the repository in the name of an image.
_REF = re.compile(r"\w[\w.-]{0,127}(@sha256:[0-9a-f]{64})?|sha256:[0-9a-f]{64}", re.ASCII)


class PinRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which shards to pin, and to what."""

    shards: tuple[str, ...] = ()
    # None: only those named above; else all but these.
    but: tuple[str, ...] | None = None
    image: str = ""
    wanted: bool = False
    note: PinNote


class PinGround(msgspec.Struct, frozen=True, kw_only=True):
    """The bundle that pins are written to, and what is needed to read it again."""

    view: EstateView
    read: ReadBundle
    site: Site
    registry: Registry | None
    find: FindCluster


async def plan_pin(ground: PinGround, integration: str, request: PinRequest) -> PinPlan:
    """What a pin changes."""
    aims = _aims(ground.view, integration, request.shards, request.but)
    running: dict[At, str] | None = None
    warnings: list[str] = []
    if request.image:
        _one_environment(aims)
        _fits(request.image, aims[0].place.repository)
        images = dict.fromkeys((aim.at for aim in aims), request.image)
    elif request.wanted:
        _check_sound(ground.view, "pin what runs, or name an image with --image")
        images = _kept(aims)
    else:
        images, idle = await _running(ground, aims, strict=request.but is None)
        running = images
        if idle:
            warnings.append(f"not pinned, because nothing runs: {listed(idle)}")
    pins = tuple(
        ShardPin(
            aim=aim,
            now=images[aim.at] if running is not None else aim.place.wanted(aim.unit),
            image=images[aim.at],
            then=images[aim.at],
        )
        for aim in aims
        if aim.at in images
    )
    # Shards that are named get the new note in any case.
    by_name = request.but is None
    edits = {
        each.aim.at: PinnedImage(image=each.image, note=request.note.text, as_it_is=not by_name)
        for each in pins
    }
    return await _planned(ground, integration, pins, edits, running, warnings)


async def plan_unpin(ground: PinGround, integration: str, shards: tuple[str, ...]) -> PinPlan:
    """What taking pins away changes; no names: every one there is."""
    every = _aims(ground.view, integration, shards, None if shards else ())
    aims = [aim for aim in every if aim.image]
    names = {aim.unit.name for aim in aims}
    loose = sorted({aim.unit.name for aim in every} - names)
    warnings = [f"not pinned in the bundle: {listed(loose)}"] if shards and loose else []
    if not aims:
        what = f"no selected shard of {integration} is pinned in the bundle"
        remedy = f"`tidegate unpin {every[0].unit.name}` takes away one of the journal"
        raise UserError((Problem("", what, f"{remedy}; `tidegate get pins` lists both"),))
    _check_sound(ground.view, "fix it first")
    pins = tuple(
        ShardPin(aim=aim, now=aim.place.wanted(aim.unit), image="", then=aim.place.revision)
        for aim in aims
    )
    return await _planned(ground, integration, pins, {a.at: None for a in aims}, None, warnings)


def _aims(
    view: EstateView, integration: str, names: Sequence[str], but: Sequence[str] | None
) -> list[PinTarget]:
    problems = Problems()
    every = aims_of(
        view.estate,
        INTEGRATIONS.of(view.bundle).inventories,
        integration,
        view.selection.environments,
    )
    if but is None:
        aims = chosen(every, names, problems, "--shard")
    else:
        left_out = {aim.at for aim in chosen(every, but, problems, "--all-except")}
        aims = [aim for aim in every if aim.at not in left_out]
    if problems.errors:
        raise UserError(tuple(problems.errors))
    if not aims:
        raise UserError((Problem("", f"no shard of {integration} is left to pin", ""),))
    return aims


def _check_sound(view: EstateView, remedy: str) -> None:
    """UserError for a bundle with errors: what shards without a pin are to run depends on it."""
    if not view.sound:
        what = f"what shards without a pin are to run is not known: {view.problems[0]}"
        more = len(view.problems) - 1
        raise UserError((Problem("", f"{what} (and {more} more)" if more else what, remedy),))


def _one_environment(aims: Iterable[PinTarget]) -> None:
    """UserError for one image in several environments at once, which is rarely intended."""
    names = sorted({aim.place.managed.namespace.environment for aim in aims})
    if len(names) > 1:
        remedy = f"write --environment {' or '.join(names)}"
        raise UserError((Problem("", "several environments are selected", remedy),))


def _fits(image: str, repository: str) -> None:
    """UserError for an image that an override cannot name."""
    if _REF.fullmatch(image) is None:
        short = image.removeprefix(f"{repository}:").removeprefix(f"{repository}@")
        hint = f'write "{short}"' if _REF.fullmatch(short) else f"of {repository}, and no other"
        raise UserError((Problem("", f'"{image}" is neither a tag nor a digest', hint),))


def _kept(aims: Iterable[PinTarget]) -> dict[At, str]:
    """What each is to run as the bundle has it."""
    problems = Problems()
    found = {aim.at: image_to_keep(aim, aim.place.wanted(aim.unit), problems) for aim in aims}
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return found


async def _running(
    ground: PinGround, aims: Sequence[PinTarget], *, strict: bool
) -> tuple[dict[At, str], list[str]]:
    """What each runs, and the shards that run nothing yet: an error if they are named."""
    units = [(aim.place, aim.unit) for aim in aims]
    rows, troubles = await shard_rows(units, ground.find)
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
    if problems.errors:
        raise UserError(tuple(problems.errors))
    if not found:
        raise UserError((Problem("", "no selected shard runs anything", _WITHOUT),))
    return found, idle


def files_on(tree: Tree, read: ReadBundle, site: Site, edits: PinEdits) -> dict[str, bytes]:
    """What files of another revision become: whatever was merged meanwhile stays."""
    bundle = read(tree)
    estate = estate_in(bundle, site)
    edited = edits_on(tree, bundle, estate, edits)
    files: dict[str, bytes] = {tree.prefix + each.name: each.data for each in edited}
    only(estate, estate_in(read(EditedTree(tree, files)), site), edits)
    return files


def edits_on(tree: Tree, bundle: Bundle, estate: Estate, edits: PinEdits) -> list[Edited]:
    """The files of a bundle as they should be written; UserError if a shard is not in it."""
    aims = {aim.at: aim for aim in aims_of(estate, INTEGRATIONS.of(bundle).inventories)}
    problems = Problems()
    for place, unit in edits:
        if (place, unit) not in aims:
            problems.add(place, f"has no shard {unit} in this revision", "try again on the newest")
    if problems.errors:
        raise UserError(tuple(problems.errors))
    read = reader(tree)
    pins = [(aims[at].place, _pin(aims[at], said)) for at, said in edits.items() if said]
    gone = [(aims[at].place, aims[at].shard) for at, said in edits.items() if said is None]
    return pinned(read, pins) if pins else unpinned(read, gone)


def _pin(aim: PinTarget, said: PinnedImage) -> ImagePin:
    note = None if said.as_it_is and aim.image == said.image else said.note
    return ImagePin(shard=aim.shard, image=said.image, ref=aim.ref, note=note)


def reader(tree: Tree) -> Callable[[str], bytes]:
    """The bytes of one file of a tree."""
    return lambda path: next(iter(tree.read((path,))))[1]


async def _planned(
    ground: PinGround,
    integration: str,
    pins: tuple[ShardPin, ...],
    edits: PinEdits,
    running: dict[At, str] | None,
    warnings: Sequence[str],
) -> PinPlan:
    view = ground.view
    edited = edits_on(view.tree, view.bundle, view.estate, edits)
    after = await _after(ground, edited)
    selected = [pin.aim.at for pin in pins]
    only(view.estate, after, edits)
    anew = restarted(view.estate, after, running or {}, selected)
    return PinPlan(
        integration=integration,
        pins=pins,
        edits=edits,
        edited=tuple(edited),
        lines=tuple(line for each in edited for line in _lines(view.tree, each)),
        restarting=tuple(f"{piece.kind.lower()}/{piece.name}" for piece in anew),
        looked=running is not None,
        others=tuple(_others(after, selected)),
        warnings=tuple(warnings),
    )


def only(before: Estate, after: Estate, edits: PinEdits) -> None:
    """UserError if a shard changes that is not selected."""
    strangers = touched(before, after, edits)
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


async def _after(ground: PinGround, edited: Iterable[Edited]) -> Estate:
    """The estate once these are written; UserError if it has new errors then."""
    tree = ground.view.tree
    files = {tree.prefix + each.name: each.data for each in edited}
    bundle = ground.read(EditedTree(tree, files))
    if new := new_errors(ground.view.bundle, bundle):
        raise UserError(new)
    problems = Problems()
    declared, site = INTEGRATIONS.of(bundle), site_in(bundle, ground.site)
    plain = estate_of(declared.integrations, declared.inventories, problems, site=site)
    return await settled(plain, ground.registry, problems)


def _lines(tree: Tree, edited: Edited) -> Iterator[PinLine]:
    before = reader(tree)(edited.name)
    return changed_lines(tree.prefix + edited.name, before, edited.data)
