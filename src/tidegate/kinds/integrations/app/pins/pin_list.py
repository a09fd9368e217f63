"""The pins of a bundle and of the journal: what stays where it is, until when and why."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tidegate.app.brakes.brake_list import BrakeItem, brake_items
from tidegate.app.brakes.scope import covers
from tidegate.app.partitions.journals import Journals
from tidegate.edit.edit import read_original
from tidegate.git.port import Commit, Repository
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estate import EstateView
from tidegate.kinds.integrations.app.pins.edits import image_lines
from tidegate.kinds.integrations.app.pins.planner import reader
from tidegate.kinds.integrations.app.shards import in_order
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.aims import At, PinTarget, aims_of
from tidegate.kinds.integrations.core.review.notes import PinNote, read_note
from tidegate.kinds.integrations.core.sharding.inventory import Past, behind
from tidegate.model.document import Document, Part, fields_of
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_age, format_second
from tidegate.registry.image import is_same


class BundlePin(Part, frozen=True, kw_only=True):
    """A shard with an image of its own."""

    name: str
    # The file and line of the image.
    source: str
    covers: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    image: str
    default: str
    # How many images newer than the pinned one there are; null: not known.
    behind: int | None
    behind_since: str | None
    owner: str | None
    reason: str | None
    expires: str | None
    in_force: bool
    # Of the commit that wrote it, where Git was read.
    since: str | None
    by: str | None
    commit: str | None
    note: str | None


class JournalPin(BrakeItem, frozen=True, kw_only=True):
    """A pin that was set by hand, with the fields that all brakes have."""

    source: str = "journal"
    covers: str


class PinList(Document, frozen=True, kw_only=True):
    """What `get pins` answers."""

    items: tuple[BundlePin | JournalPin, ...]


class TargetPinList(Document, frozen=True, kw_only=True):
    """Targets that were pinned by hand."""

    items: tuple[JournalPin, ...]


class PinFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which pins to list; nothing named means all."""

    name: str | None = None
    integrations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    # `bundle` or `journal`; None: both.
    source: str | None = None
    expired: bool = False


def journal_pins(journals: Journals) -> TargetPinList:
    """Pins that were set by hand."""
    return TargetPinList(
        items=tuple(
            JournalPin(**fields_of(each), covers=covers(each.scope))
            for each in brake_items(journals, "pin")
        )
    )


def list_pins(
    wanted: PinFilter, of_bundle: Iterable[BundlePin], of_journal: Iterable[JournalPin]
) -> PinList:
    """The pins that a filter takes; NotFoundError if one is named and there is none."""
    found: list[BundlePin | JournalPin] = [*of_bundle, *of_journal]
    if wanted.name is not None:
        name = bare(wanted.name)
        known = [each.name for each in found]
        found = [each for each in found if each.name == name]
        if not found:
            raise NotFoundError("pin", name, nearest_or_all(name, known))
    return PinList(items=tuple(each for each in found if _takes(wanted, each)))


def _takes(wanted: PinFilter, pin: BundlePin | JournalPin) -> bool:
    integration = pin.integration if isinstance(pin, BundlePin) else None
    environment = pin.environment if isinstance(pin, BundlePin) else None
    return (
        (not wanted.integrations or integration in wanted.integrations)
        and (not wanted.environments or environment in wanted.environments)
        and not (wanted.expired and pin.in_force)
    )


def pinned_aims(view: EstateView) -> list[PinTarget]:
    """Every shard with an image of its own, by environment and in natural order."""
    inventories = INTEGRATIONS.of(view.bundle).inventories
    aims = [aim for aim in aims_of(view.estate, inventories) if aim.image]
    aims.sort(key=lambda aim: (aim.place.managed.namespace.environment, in_order(aim.unit.name)))
    return aims


def bundle_pins(
    view: EstateView,
    now: Instant,
    pasts: Mapping[str, Past],
    writers: Mapping[At, Commit],
) -> tuple[BundlePin, ...]:
    """The pins of a bundle."""
    return tuple(
        _pin(view.tree, aim, now, pasts.get(aim.place.partition), writers.get(aim.at))
        for aim in pinned_aims(view)
    )


def _pin(
    tree: Tree, aim: PinTarget, now: Instant, past: Past | None, writer: Commit | None
) -> BundlePin:
    override, namespace = aim.override, aim.place.managed.namespace
    assert override is not None
    note = read_note(override.note)
    ends = note.expires_at if note is not None else None
    past = past or Past()
    # How far an image is behind that no journal has is not known.
    known = past.has(aim.image)
    count, since = behind(aim.place.revision, aim.image, past)
    return BundlePin(
        name=aim.unit.name,
        source=tree.prefix + override.where,
        covers=namespace.environment,
        integration=aim.place.integration.name,
        environment=namespace.environment,
        cluster=namespace.cluster,
        namespace=namespace.name,
        image=aim.image,
        default=aim.place.revision,
        behind=count if known or not count else None,
        behind_since=format_second(since) if since is not None else None,
        owner=note.by if note is not None else None,
        reason=note.reason if note is not None else None,
        expires=note.until or None if note is not None else None,
        in_force=ends is None or ends > now,
        since=format_second(writer.at) if writer is not None else None,
        by=writer.author if writer is not None else None,
        commit=writer.sha if writer is not None else None,
        note=_remark(aim, note, now),
    )


def _remark(aim: PinTarget, note: PinNote | None, now: Instant) -> str | None:
    """What to look at."""
    ends = note.expires_at if note is not None else None
    if ends is not None and ends <= now:
        return f"expired {format_age(now - ends)} ago"
    if is_same(aim.image, aim.place.revision):
        return "the default is the same: drop it, unless a promotion is near"
    if note is None:
        written = aim.override is not None and aim.override.note
        return "its note cannot be read" if written else "nothing says until when and why"
    return None


def writers_of(
    view: EstateView,
    aims: Sequence[PinTarget],
    repository: Repository,
    commit: str,
    there: Tree,
) -> dict[At, Commit]:
    """The commit that wrote each image; none for a file that was edited since."""
    files, known = view.tree.files(), there.files()
    line_of = _lines(view.tree)
    found: dict[At, Commit] = {}
    for aim in aims:
        file, line = line_of(aim)
        if known.get(file) == files[file]:
            found[aim.at] = repository.last_change(commit, there.prefix + file, line)
    return found


def _lines(tree: Tree) -> Callable[[PinTarget], tuple[str, int]]:
    """The file and line of each pinned image; every place is read once."""
    read = reader(tree)
    known: dict[str, dict[str, int]] = {}

    def line_of(aim: PinTarget) -> tuple[str, int]:
        place, file = aim.place, aim.place.managed.where.rpartition(":")[0]
        if place.name not in known:
            original = read_original(file, read(file))
            known[place.name] = image_lines(original, place.integration, place.managed)
        return file, known[place.name][aim.shard]

    return line_of
