"""What would become of every object, from what is declared and what was read, with verdicts.

Nothing that is not ours is changed without consent, and never removed. An existing workload keeps
its image where a rollout moves images. Removal needs all of this: the object is ours, its cluster
was read completely, and the bundle is sound. Whether it is done now is decided on top of this, with
brakes, rules and the limit on removals (`core/objects/decide.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.sharding.selection import LeftoverObject, Selection
from tidegate.kinds.integrations.core.workloads.change import (
    ClusterReading,
    FoundObject,
    Key,
    ObjectAction,
    PlannedChange,
    rank,
)
from tidegate.kinds.integrations.core.workloads.difference import (
    differences,
    is_unchanged,
    laid_over,
    made_from,
    note,
    restarts,
)
from tidegate.kinds.integrations.core.workloads.estate import (
    ADOPTED,
    INTEGRATION_LABEL,
    Estate,
    ManagedPlace,
    Piece,
    kind_of,
    label_text,
    manifest_of,
    pieces_of,
)
from tidegate.kinds.integrations.core.workloads.live import workload_of
from tidegate.kinds.integrations.core.workloads.owners import moving
from tidegate.kinds.integrations.core.workloads.workloads import Manifest, image_of
from tidegate.model.limit import Limit
from tidegate.model.removal import REMOVALS
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict
from tidegate.registry.image import is_same, revision_of

# Kinds that are looked for, created and removed.
KINDS = ("Service", "Deployment", "StatefulSet", "CronJob")


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which changes are asked for, and what is allowed."""

    selection: Selection = Selection()
    # Objects of other managers may become ours.
    adopt: bool = False
    # More may be removed at once than the limit says.
    allow_mass_delete: bool = False
    removals: Limit = REMOVALS
    # The brakes at a moment; None: they do not count.
    brakes: Brakes | None = None
    now: Instant = Instant(0)
    # Nothing is wrong with the bundle; else nothing is concluded from what is not in it.
    sound: bool = True


class _Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A piece, what is there of it, and what it is to be."""

    piece: Piece
    found: FoundObject | None
    manifest: Manifest
    # Which image it gets instead of the wanted one; None: the wanted one.
    image: Verdict | None


def candidates_of(
    estate: Estate, seen: Mapping[str, ClusterReading], request: ChangeRequest | None = None
) -> tuple[PlannedChange, ...]:
    """What would become of every object that is declared, and of ours that no longer are."""
    planner = _Planner(estate, seen, request or ChangeRequest())
    made = planner.changes()
    return tuple(sorted(made, key=lambda each: (each.cluster, each.namespace, rank(each))))


class _Planner:
    """Puts everything that is known together."""

    def __init__(
        self, estate: Estate, seen: Mapping[str, ClusterReading], request: ChangeRequest
    ) -> None:
        self._estate = estate
        self._seen = seen
        self._request = request
        self._found = {each.key: each for one in seen.values() for each in one.found}
        self._pulled = {key: digest for one in seen.values() for key, digest in one.pulled.items()}
        self._pieces = list(estate.pieces())
        # Objects that must stay as they are for now, and why.
        self._moving: dict[Key, Verdict] = {}
        self._environments = {
            (namespace.cluster, namespace.name): namespace.environment
            for place in estate.every_place
            for namespace in (place.managed.namespace,)
        }
        self._joining = {
            place.name: self._run_by_others(place)
            for place in estate.places
            if place.managed.staged
        }

    def changes(self) -> list[PlannedChange]:
        """All of them."""
        drafts = [self._draft(piece) for piece in self._pieces]
        wanted = {each.piece.key: each.manifest for each in drafts}
        self._note_moving(drafts, wanted)
        chosen = (each for each in drafts if self._is_chosen(each.piece))
        made = [self._change(each) for each in chosen]
        made += self._unknown()
        unknown = (piece.key for place, _ in self._estate.imageless for piece in pieces_of(place))
        return made + list(self._left((*wanted, *unknown)))

    def _unknown(self) -> Iterator[PlannedChange]:
        """Objects of places whose default image is not known: there is nothing to run."""
        for place, why in self._estate.imageless:
            for piece in pieces_of(place):
                if self._is_chosen(piece):
                    no_image = verdict(ObjectReason.NoDefaultImage, why)
                    yield _now(_plain(piece), ObjectAction.UNKNOWN, no_image)

    def _note_moving(self, drafts: Iterable[_Draft], wanted: Mapping[Key, Manifest]) -> None:
        """Objects that cannot be applied because two would own a key, and what to do about it."""
        places = {
            (place.managed.namespace.cluster, place.managed.namespace.name, place.integration.name):
            place for each in drafts for place in (each.piece.place,) if place is not None
        }  # fmt: skip
        resplit, doubled = moving(wanted, self._found)
        for found, by_engine in ((resplit, True), (doubled, False)):
            for key, why in found.items():
                manifest = wanted.get(key) or self._found[key].document
                integration = workload_of(manifest).env.get("INTEGRATION_NAME", "")
                place = places.get((key[0], key[1], integration))
                if place is not None and not place.managed.sharding.overlap:
                    remedy = _who_ends(place, by_engine)
                    self._moving[key] = verdict(ObjectReason.KeyOwnedTwice, why, remedy)

    def _is_chosen(self, piece: Piece) -> bool:
        environment = self._environments.get((piece.cluster, piece.namespace), "")
        return self._request.selection.takes(piece, environment)

    def _draft(self, piece: Piece) -> _Draft:
        """What a piece is to be, given what is there of it."""
        found = self._found.get(piece.key)
        revision, image = self._image(piece, found)
        adopted = found is not None and _stays_adopted(found, piece, revision)
        manifest = manifest_of(piece, self._estate.site, revision=revision, adopted=adopted)
        return _Draft(piece=piece, found=found, manifest=manifest, image=image)

    def _image(self, piece: Piece, found: FoundObject | None) -> tuple[str | None, Verdict | None]:
        """Which image a piece gets if not the one it wants, and why it does not."""
        place, shard = piece.place, piece.shard
        if place is None or shard is None:
            return None, None
        image = image_of(shard, place.managed, place.ground)
        wanted = revision_of(image, place.repository)
        # No rollout moves an image that is written for one shard.
        pinned = shard.override is not None and bool(shard.override.image_ref)
        staged = place.managed.staged and not pinned
        if found is None:
            others = self._joining.get(place.name, "") if staged else ""
            starts = verdict(ObjectReason.StartsAsOthers, wanted, others)
            return (others, starts) if others else (None, None)
        runs = workload_of(found.document).image
        if not runs or runs == image:
            return None, None
        keeps = revision_of(runs, place.repository)
        if is_same(image, runs, self._pulled.get(piece.key, "")):
            return keeps, None
        # Of two repositories, both are shown.
        wanted = image if keeps == runs else wanted
        stays = verdict(ObjectReason.ImageStays, wanted, keeps)
        return (keeps, stays) if staged else (None, None)

    def _run_by_others(self, place: ManagedPlace) -> str:
        """What most of a place run that is not what they should: where a rollout comes from."""
        counts: Counter[str] = Counter()
        kinds = ("Deployment", "StatefulSet", "CronJob")
        namespace = place.managed.namespace
        for unit in place.units:
            for shard in unit.shards if not unit.pinned_by else ():
                keys = ((namespace.cluster, namespace.name, kind, shard.workload) for kind in kinds)
                for found in filter(None, map(self._found.get, keys)):
                    runs = workload_of(found.document).image
                    wanted = image_of(shard, place.managed, place.ground)
                    if runs and not is_same(wanted, runs, self._pulled.get(found.key, "")):
                        counts[revision_of(runs, place.repository)] += 1
        return min(counts, key=lambda each: (-counts[each], each), default="")

    def _change(self, draft: _Draft) -> PlannedChange:
        """What becomes of a piece."""
        piece, found = draft.piece, draft.found
        change = msgspec.structs.replace(
            _plain(piece),
            manifest=draft.manifest,
            image=_revision_in(draft),
            verdicts=_and(verdict(ObjectReason.ObjectMissing), draft.image),
        )
        unread = self._unread(piece)
        if unread and (found is None or self._seen[piece.cluster].error):
            return _now(change, ObjectAction.UNREAD, verdict(ObjectReason.ObjectsUnread, unread))
        moving = self._moving.get(piece.key)
        busy = self._seen[piece.cluster].resharding.get(piece.unit)
        if moving is None and busy is not None and piece.place is not None:
            moving = verdict(ObjectReason.KeyOwnedTwice, busy, _who_ends(piece.place, True))
        if moving is not None:
            return _now(change, ObjectAction.RESHARD, moving)
        return change if found is None else self._existing(change, found, draft)

    def _existing(self, change: PlannedChange, found: FoundObject, draft: _Draft) -> PlannedChange:
        """What becomes of something that is there."""
        if found.ours and is_unchanged(found.document, draft.manifest):
            return settled(change, draft.image)
        differs = differences(found.document, laid_over(found.document, draft.manifest))
        change = msgspec.structs.replace(
            change, differences=differs, restarts=restarts(found.document, differs)
        )
        owner = ((found.document.get("metadata") or {}).get("ownerReferences") or [None])[0]
        if not found.ours and owner is not None:
            whose = f"{owner.get('kind', '')}/{owner.get('name', '')}".lower()
            return _now(change, ObjectAction.CONFLICT, verdict(ObjectReason.PartOfAnother, whose))
        image = (draft.image,) if draft.image is not None else ()
        if not found.ours:
            reason = ObjectReason.ObjectAdopted if self._request.adopt else ObjectReason.NotOurs
            return _now(change, ObjectAction.ADOPT, *image, verdict(reason))
        if made_from(found.document) != made_from(draft.manifest):
            return _now(change, ObjectAction.CONFIGURE, verdict(ObjectReason.ObjectDiffers), *image)
        change = msgspec.structs.replace(change, drifted=True)
        return _now(change, ObjectAction.CONFIGURE, *image, verdict(ObjectReason.ObjectDrifted))

    def _unread(self, piece: Piece) -> str:
        """Why it is not known what is there of a piece; empty: it is known."""
        one = self._seen.get(piece.cluster)
        if one is None:
            return "this cluster was not read"
        return one.error or one.gaps.get(piece.namespace, "")

    def _left(self, wanted: Iterable[Key]) -> Iterator[PlannedChange]:
        """What becomes of ours that is declared no more."""
        gone = set(wanted)
        left = [
            found
            for found in self._found.values()
            if found.ours and found.key not in gone and found.kind in KINDS
            and not (found.document.get("metadata") or {}).get("deletionTimestamp")
            and self._request.selection.takes_left(self._left_of(found))
        ]  # fmt: skip
        for found in left:
            why = self._why_kept(found)
            if why is None:
                verb, why = ObjectAction.REMOVE, verdict(ObjectReason.DeclaredNoMore)
            else:
                owned = why.reason is ObjectReason.KeyOwnedTwice
                verb = ObjectAction.RESHARD if owned else ObjectAction.KEPT
            yield PlannedChange(
                verb=verb,
                cluster=found.cluster,
                namespace=found.namespace,
                kind=found.kind,
                name=found.name,
                integration=_label(found),
                shard=workload_of(found.document).unit,
                verdicts=(why,),
            )

    def _why_kept(self, found: FoundObject) -> Verdict | None:
        """Why one object is not removed, whatever becomes of the others; None: it may be."""
        one = self._seen[found.cluster]
        moving = self._moving.get(found.key)
        if moving is not None:
            return moving
        if not self._request.sound or not self._estate.complete:
            return verdict(ObjectReason.BundleUnsound)
        if one.error or one.gaps:
            gap = next(iter(chain((one.error,) if one.error else (), one.gaps.values())))
            return verdict(ObjectReason.ClusterPartlyRead, gap)
        return self._why_emptied(found)

    def _why_emptied(self, found: FoundObject) -> Verdict | None:
        end = f"@{found.cluster}.{found.namespace}"
        for name in self._estate.emptied:
            integration = name.removesuffix(end)
            if name.endswith(end) and _label(found) == label_text(integration):
                return verdict(ObjectReason.InventoryEmptied, integration)
        return None

    def _left_of(self, found: FoundObject) -> LeftoverObject:
        environment = self._environments.get((found.cluster, found.namespace), "")
        return LeftoverObject(found.cluster, environment, _label(found), found.name)


def _plain(piece: Piece) -> PlannedChange:
    """A piece that is not there, before anything is said of it."""
    return PlannedChange(
        verb=ObjectAction.CREATE,
        cluster=piece.cluster,
        namespace=piece.namespace,
        kind=piece.kind,
        name=piece.name,
        integration=piece.shard.integration if piece.shard is not None else "",
        shard=piece.unit,
    )


def _revision_in(draft: _Draft) -> str:
    """The image that a piece has once it is what it is to be; empty: it runs none."""
    place = draft.piece.place
    return "" if place is None else revision_of(workload_of(draft.manifest).image, place.repository)


def settled(change: PlannedChange, image: Verdict | None) -> PlannedChange:
    """Nothing is to be done; an image that is not the wanted one is left to its rollout."""
    if image is None:
        return _now(change, ObjectAction.UNCHANGED, verdict(ObjectReason.ObjectAsDeclared))
    return _now(change, ObjectAction.STAGED, verdict(ObjectReason.ImageLeftToRollout, *image.facts))


def _now(change: PlannedChange, verb: ObjectAction, *verdicts: Verdict) -> PlannedChange:
    return msgspec.structs.replace(change, verb=verb, verdicts=verdicts)


def _and(one: Verdict, other: Verdict | None) -> tuple[Verdict, ...]:
    return (one,) if other is None else (one, other)


def _who_ends(place: ManagedPlace, by_engine: bool) -> str:
    """How to end the workloads that own a key already, so that no key has two owners."""
    if by_engine and kind_of(place.managed) != "CronJob":
        return "`tidegate serve --fleet bundle` lets the old ones end first"
    if by_engine:
        return "scale the old ones to 0 first, or write `overlap: true` if two may own a key"
    return "scale that to 0 first, so that no key has two owners"


def _label(found: FoundObject) -> str:
    """The label of the integration an object is for."""
    labels = (found.document.get("metadata") or {}).get("labels") or {}
    return str(labels.get(INTEGRATION_LABEL, ""))


def _stays_adopted(found: FoundObject, piece: Piece, revision: str | None) -> bool:
    """Whether something is left as the predecessor made it, so that its pods stay.

    What is ours and gets another image now restarts anyway, and is ours in full from then on.
    """
    said = note(found.document, ADOPTED) == "true"
    if not found.ours:
        return said or not made_from(found.document)
    place, shard = piece.place, piece.shard
    if place is None or shard is None:
        return said
    wanted = image_of(shard, place.managed, place.ground)
    return said and (revision is not None or workload_of(found.document).image == wanted)
