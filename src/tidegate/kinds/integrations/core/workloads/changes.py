"""From what is declared and what was read to what is to be done, object by object, with a reason.

Nothing that is not ours is changed without consent, and never removed. An existing workload keeps
its image where a rollout moves images. Removal asks for everything at once: ours, a complete
reading of its cluster, a sound bundle, and not too much of it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import msgspec

from tidegate.kinds.integrations.core.sharding.selection import Left, Selection
from tidegate.kinds.integrations.core.workloads.change import Change, Found, Key, Seen, Verb, rank
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
    Piece,
    Place,
    kind_of,
    label_text,
    manifest_of,
)
from tidegate.kinds.integrations.core.workloads.live import workload_of
from tidegate.kinds.integrations.core.workloads.owners import moving
from tidegate.kinds.integrations.core.workloads.workloads import Manifest, image_of
from tidegate.model.removal import why_kept
from tidegate.registry.image import is_same, revision_of

# Kinds that are looked for, created and removed.
KINDS = ("Service", "Deployment", "StatefulSet", "CronJob")
_NOTHING_DECLARED = "the bundle declares no integration"


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever asks for changes allows."""

    selection: Selection = Selection()
    # What is somebody else's may become ours.
    adopt: bool = False
    allow_mass_delete: bool = False
    # Nothing is wrong with the bundle; else nothing is concluded from what is not in it.
    sound: bool = True


class _Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A piece, what is there of it, and what it is to be."""

    piece: Piece
    found: Found | None
    manifest: Manifest
    held: str


def changes_of(
    estate: Estate, seen: Mapping[str, Seen], wishes: Wishes | None = None
) -> tuple[Change, ...]:
    """What becomes of every object that is declared, and of ours that no longer are."""
    planner = _Planner(estate, seen, wishes or Wishes())
    made = planner.changes()
    return tuple(sorted(made, key=lambda each: (each.cluster, each.namespace, rank(each))))


class _Planner:
    """Puts everything that is known together."""

    def __init__(self, estate: Estate, seen: Mapping[str, Seen], wishes: Wishes) -> None:
        self._estate = estate
        self._seen = seen
        self._wishes = wishes
        self._found = {each.key: each for one in seen.values() for each in one.found}
        self._pulled = {key: digest for one in seen.values() for key, digest in one.pulled.items()}
        self._pieces = list(estate.pieces())
        # Objects that are not to be touched, and why.
        self._moving: dict[Key, str] = {}
        self._environments = {
            (namespace.cluster, namespace.name): namespace.environment
            for place in estate.places
            for namespace in (place.managed.namespace,)
        }
        self._joining = {
            place.name: self._run_by_others(place)
            for place in estate.places
            if place.managed.rollout is not None
        }

    def changes(self) -> list[Change]:
        """All of them."""
        drafts = [self._draft(piece) for piece in self._pieces]
        wanted = {each.piece.key: each.manifest for each in drafts}
        self._note_moving(drafts, wanted)
        chosen = (each for each in drafts if self._is_chosen(each.piece))
        made = [self._change(each) for each in chosen]
        return made + list(self._left(wanted.keys()))

    def _note_moving(self, drafts: Iterable[_Draft], wanted: Mapping[Key, Manifest]) -> None:
        """Whoever cannot be applied because two would own a key, and who sees to it."""
        places = {
            (place.managed.namespace.cluster, place.managed.namespace.name, place.integration.name):
            place for each in drafts for place in (each.piece.place,) if place is not None
        }  # fmt: skip
        resplit, doubled = moving(wanted, self._found)
        for told, by_engine in ((resplit, True), (doubled, False)):
            for key, why in told.items():
                manifest = wanted.get(key) or self._found[key].document
                integration = workload_of(manifest).env.get("INTEGRATION_NAME", "")
                place = places.get((key[0], key[1], integration))
                if place is not None and not place.managed.sharding.overlap:
                    self._moving[key] = f"{why}: {_who_ends(place, by_engine)}"

    def _is_chosen(self, piece: Piece) -> bool:
        environment = self._environments.get((piece.cluster, piece.namespace), "")
        return self._wishes.selection.takes(piece, environment)

    def _draft(self, piece: Piece) -> _Draft:
        """What a piece is to be, given what is there of it."""
        found = self._found.get(piece.key)
        revision, held = self._image(piece, found)
        adopted = found is not None and _stays_adopted(found, piece, revision)
        manifest = manifest_of(piece, self._estate.site, revision=revision, adopted=adopted)
        return _Draft(piece=piece, found=found, manifest=manifest, held=held)

    def _image(self, piece: Piece, found: Found | None) -> tuple[str | None, str]:
        """Which image a piece gets if not the one it wants, and why it does not."""
        place, shard = piece.place, piece.shard
        if place is None or shard is None:
            return None, ""
        image = image_of(shard, place.managed, place.ground)
        wanted = revision_of(image, place.repository)
        # An image of its own is nobody's to move but whoever wrote it.
        pinned = shard.override is not None and bool(shard.override.image_ref)
        staged = place.managed.rollout is not None and not pinned
        if found is None:
            others = self._joining.get(place.name, "") if staged else ""
            held = f"wants {wanted}; starts with {others} as the others run, until its rollout"
            return (others, held) if others else (None, "")
        runs = workload_of(found.document).image
        if not runs or runs == image:
            return None, ""
        keeps = revision_of(runs, place.repository)
        if is_same(image, runs, self._pulled.get(piece.key, "")):
            return keeps, ""
        # Of two repositories, neither goes without saying.
        wanted = image if keeps == runs else wanted
        held = f"wants {wanted}; keeps {keeps} until its rollout moves it"
        return (keeps, held) if staged else (None, "")

    def _run_by_others(self, place: Place) -> str:
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

    def _change(self, draft: _Draft) -> Change:
        """What becomes of a piece."""
        piece, found = draft.piece, draft.found
        change = Change(
            verb=Verb.CREATE,
            cluster=piece.cluster,
            namespace=piece.namespace,
            kind=piece.kind,
            name=piece.name,
            integration=piece.shard.integration if piece.shard is not None else "",
            shard=piece.unit,
            manifest=draft.manifest,
            held=draft.held,
            reason=draft.held or "not there yet",
        )
        unread = self._unread(piece)
        if unread and (found is None or self._seen[piece.cluster].error):
            return _now(change, Verb.UNREAD, unread)
        why = self._moving.get(piece.key, "")
        if why:
            return _now(change, Verb.RESHARD, why)
        return change if found is None else self._existing(change, found, draft)

    def _existing(self, change: Change, found: Found, draft: _Draft) -> Change:
        """What becomes of something that is there."""
        if found.ours and is_unchanged(found.document, draft.manifest):
            verb = Verb.HELD if draft.held else Verb.UNCHANGED
            return _now(change, verb, draft.held)
        differs = differences(found.document, laid_over(found.document, draft.manifest))
        change = msgspec.structs.replace(
            change, differences=differs, restarts=restarts(found.document, differs)
        )
        owner = ((found.document.get("metadata") or {}).get("ownerReferences") or [None])[0]
        if not found.ours and owner is not None:
            whose = f"{owner.get('kind', '')}/{owner.get('name', '')}".lower()
            return _now(change, Verb.CONFLICT, f"it is part of {whose}, so left alone")
        if not found.ours:
            how = "" if self._wishes.adopt else "; --adopt takes it over"
            return _now(change, Verb.ADOPT, f"it is there, and not Tidegate's{how}")
        if made_from(found.document) != made_from(draft.manifest):
            return _now(change, Verb.CONFIGURE, draft.held or "declared otherwise")
        change = msgspec.structs.replace(change, drifted=True)
        return _now(change, Verb.CONFIGURE, "changed since by somebody")

    def _unread(self, piece: Piece) -> str:
        """Why nobody knows what is there of a piece; empty: it is known."""
        one = self._seen.get(piece.cluster)
        if one is None:
            return "nobody read this cluster"
        return one.error or one.gaps.get(piece.namespace, "")

    def _left(self, wanted: Iterable[Key]) -> Iterator[Change]:
        """What becomes of ours that nobody asks for any more."""
        gone = set(wanted)
        left = [
            found
            for found in self._found.values()
            if found.ours and found.key not in gone and found.kind in KINDS
            and not (found.document.get("metadata") or {}).get("deletionTimestamp")
            and self._wishes.selection.takes_left(self._left_of(found))
        ]  # fmt: skip
        reasons = {found.key: self._why_kept(found) for found in left}
        free = [found for found in left if not reasons[found.key][1]]
        managed = sum(found.ours for found in self._found.values())
        braked = why_kept(
            len(free),
            managed,
            complete=True,
            emptied="" if self._estate.places else _NOTHING_DECLARED,
            allowed=self._wishes.allow_mass_delete,
        )
        for found in left:
            verb, why = reasons[found.key]
            if not why:
                verb, why = (Verb.KEPT, braked) if braked else (Verb.REMOVE, "declared no more")
            yield Change(
                verb=verb,
                cluster=found.cluster,
                namespace=found.namespace,
                kind=found.kind,
                name=found.name,
                integration=_label(found),
                reason=why,
            )

    def _why_kept(self, found: Found) -> tuple[Verb, str]:
        """Why one object is not removed, whatever becomes of the others; empty: it may go."""
        one = self._seen[found.cluster]
        why = self._moving.get(found.key, "")
        if why:
            return Verb.RESHARD, why
        if not self._wishes.sound or not self._estate.complete:
            return Verb.KEPT, "the bundle has errors, so nothing is removed"
        if one.error or one.gaps:
            gap = next(iter(chain((one.error,) if one.error else (), one.gaps.values())))
            return Verb.KEPT, f"not everything could be read: {gap}"
        return Verb.KEPT, self._why_emptied(found)

    def _why_emptied(self, found: Found) -> str:
        end = f"@{found.cluster}.{found.namespace}"
        for name in self._estate.emptied:
            integration = name.removesuffix(end)
            if name.endswith(end) and _label(found) == label_text(integration):
                return f"{integration} has no shard left: fill its inventory, or drop it there"
        return ""

    def _left_of(self, found: Found) -> Left:
        environment = self._environments.get((found.cluster, found.namespace), "")
        return Left(found.cluster, environment, _label(found), found.name)


def _now(change: Change, verb: Verb, reason: str) -> Change:
    return msgspec.structs.replace(change, verb=verb, reason=reason)


def _who_ends(place: Place, by_engine: bool) -> str:
    """How those that own a key already come to end, so that nobody owns it twice."""
    if by_engine and kind_of(place.managed) != "CronJob":
        return "`tidegate serve --fleet bundle` lets the old ones end first"
    if by_engine:
        return "scale the old ones to 0 first, or write `overlap: true` if two may own a key"
    return "scale that to 0 first, so that no key has two owners"


def _label(found: Found) -> str:
    """The label of the integration an object is for."""
    labels = (found.document.get("metadata") or {}).get("labels") or {}
    return str(labels.get(INTEGRATION_LABEL, ""))


def _stays_adopted(found: Found, piece: Piece, revision: str | None) -> bool:
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
