"""The estate: every place integrations run in, every shard there, and their objects.

A *place* is one integration in one namespace: what it wants by default is one image, so that is
what one rollout moves. A *unit* is a shard with all its sub-shards, which move together. A *piece*
is one object of a cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import groupby
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.model import (
    BranchHead,
    Integration,
    Managed,
    Namespace,
    WorkloadShard,
)
from tidegate.kinds.integrations.core.sharding.shards import (
    Inventories,
    Options,
    collisions,
    shards_of,
)
from tidegate.kinds.integrations.core.workloads.default_image import (
    NO_IMAGE_REMEDY,
    MissingImage,
    default_tag,
    no_certificates,
)
from tidegate.kinds.integrations.core.workloads.overlay import lay_over
from tidegate.kinds.integrations.core.workloads.workloads import (
    SHIPPER,
    Manifest,
    NamespaceDefaults,
    ground_of,
    has_image,
    image_of,
    render,
    service,
    shipper_resources_of,
)
from tidegate.model.problem import Problem, Problems
from tidegate.registry.image import digest_of, image_named, revision_of, tag_of

KIND = "integrations"
# What every object of ours carries; none of it reaches a pod, so none of it restarts one.
MANAGED_BY, US = "app.kubernetes.io/managed-by", "tidegate"
INTEGRATION_LABEL = "tidegate.dev/integration"
RENDERED, DECLARED_AT, ADOPTED, UNIT = (
    f"tidegate.dev/{x}" for x in ("rendered", "declared-at", "adopted", "unit")
)


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What a site adds to everything: parameters given by hand, and its overlay."""

    parameters: dict[str, str] = {}
    overlay: dict[str, Any] | None = None
    # The newest commits of branches that default images follow, by `ImageBranch.key`.
    heads: dict[str, BranchHead] = {}


class Unit(msgspec.Struct, frozen=True):
    """A shard with its sub-shards: what an override is for, and what moves together."""

    name: str  # as a target: `terraform-resources/ter-int-dev`
    shards: tuple[WorkloadShard, ...]

    @property
    def labels(self) -> dict[str, str]:
        """What selectors choose it by."""
        return self.shards[0].labels

    @property
    def pinned_by(self) -> str:
        """Where an image of its own is written; empty: it has none."""
        override = self.shards[0].override
        return override.where if override is not None and override.image_ref else ""

    @property
    def stopped(self) -> bool:
        """Whether it is to run nothing."""
        override = self.shards[0].override
        return override is not None and override.disabled

    @property
    def stopped_by(self) -> str:
        """Where it is written that it runs nothing; empty: it is to run."""
        override = self.shards[0].override
        return override.where if override is not None and override.disabled else ""


class ManagedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One integration in one namespace."""

    integration: Integration
    managed: Managed
    units: tuple[Unit, ...]
    ground: NamespaceDefaults
    # Why there is nothing to run: its default image is not known. Empty: it is.
    no_image: str = ""

    @property
    def name(self) -> str:
        """What its rollout is called."""
        return place_name(self.integration.name, self.managed.namespace)

    @property
    def partition(self) -> str:
        """The same with its kind."""
        return f"{KIND}/{self.name}"

    def unit(self, name: str) -> Unit | None:
        """A unit by its name; None: there is none."""
        return next((unit for unit in self.units if unit.name == name), None)

    @property
    def shards(self) -> Iterator[WorkloadShard]:
        """Every workload there is to be."""
        return (shard for unit in self.units for shard in unit.shards)

    @property
    def repository(self) -> str:
        """Where its images come from."""
        return self.ground.parameters["IMAGE"]

    @property
    def revision(self) -> str:
        """What all shards here are to run that have no image of their own."""
        plain = msgspec.structs.replace(next(self.shards), override=None)
        return revision_of(image_of(plain, self.managed, self.ground), self.repository)

    def wanted(self, unit: Unit) -> str:
        """What one unit is to run in the end."""
        image = image_of(unit.shards[0], self.managed, self.ground)
        return revision_of(image, self.repository)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One object that is to be: where, and what it is for."""

    cluster: str
    namespace: str
    kind: str
    name: str
    # Of the shard it runs; None: it is for the whole namespace.
    place: ManagedPlace | None = None
    shard: WorkloadShard | None = None
    # The unit that shard is of.
    unit: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from all others."""
        return self.cluster, self.namespace, self.kind, self.name


class Estate(msgspec.Struct, frozen=True):
    """All places of integrations."""

    places: tuple[ManagedPlace, ...]
    site: Site = Site()
    # Something is wrong somewhere: nothing is concluded from what is not here.
    complete: bool = True
    # Places that are declared and have no shard, as where an inventory is empty.
    emptied: tuple[str, ...] = ()
    # What is wrong, so that what it concerns is not here.
    problems: tuple[Problem, ...] = ()
    # Places whose default image is not known, and why: there is nothing to run.
    imageless: tuple[tuple[ManagedPlace, str], ...] = ()

    @property
    def every_place(self) -> tuple[ManagedPlace, ...]:
        """All places, those without a known image included."""
        return (*self.places, *(place for place, _ in self.imageless))

    def place(self, name: str) -> ManagedPlace | None:
        """A place by the name of its rollout, with its kind or without."""
        wanted = name.removeprefix(f"{KIND}/")
        return next((place for place in self.places if place.name == wanted), None)

    def no_image(self, name: str) -> str:
        """Why the default image of a place is not known; empty: it is, or there is no such place.

        By the name of its rollout, with its kind or without.
        """
        wanted = name.removeprefix(f"{KIND}/")
        return next((why for place, why in self.imageless if place.name == wanted), "")

    def pieces(self) -> Iterator[Piece]:
        """Every object there is to be, by cluster and namespace."""
        with_service: set[tuple[str, str]] = set()
        for place in self.places:
            namespace = place.managed.namespace
            here = namespace.cluster, namespace.name
            yield from pieces_of(place)
            if kind_of(place.managed) != "CronJob" and here not in with_service:
                with_service.add(here)
                name = service()["metadata"]["name"]
                yield Piece(cluster=here[0], namespace=here[1], kind="Service", name=name)


def pieces_of(place: ManagedPlace, unit: Unit | None = None) -> Iterator[Piece]:
    """The workloads of a place, or of one unit of it."""
    namespace, kind = place.managed.namespace, kind_of(place.managed)
    for each in place.units if unit is None else (unit,):
        for shard in each.shards:
            yield Piece(
                cluster=namespace.cluster,
                namespace=namespace.name,
                kind=kind,
                name=shard.workload,
                place=place,
                shard=shard,
                unit=each.name,
            )


def place_name(integration: str, namespace: Namespace) -> str:
    """What an integration in a namespace is called."""
    return f"{integration}@{namespace.cluster}.{namespace.name}"


def kind_of(managed: Managed) -> str:
    """What a shard runs as."""
    if managed.spec.get("cron"):
        return "CronJob"
    return "StatefulSet" if managed.spec.get("cache") else "Deployment"


def estate_of(
    integrations: Iterable[Integration],
    inventories: Inventories,
    problems: Problems,
    *,
    site: Site | None = None,
    options: Options = None,
    digests: Mapping[str, str] | None = None,
) -> Estate:
    """All places of some integrations; one with a problem has none, the others do.

    `digests`: of images as they are written, as far as a registry knows them (`digests.py`).
    """
    site, before = site or Site(), len(problems.errors)
    places: list[ManagedPlace] = []
    imageless: list[tuple[ManagedPlace, str]] = []
    emptied: list[str] = []
    for integration in integrations:
        for managed in integration.managed:
            already = len(problems.errors)
            shards = shards_of(integration, managed, inventories, options, problems)
            if not shards and len(problems.errors) == already:
                emptied.append(place_name(integration.name, managed.namespace))
            if shards:
                units = tuple(_units(integration.name, shards))
                ground = ground_of(managed, site.parameters, heads=site.heads)
                ground = msgspec.structs.replace(ground, digests=digests or {})
                place = ManagedPlace(
                    integration=integration, managed=managed, units=units, ground=ground
                )
                missing = _missing(managed, ground, site)
                if missing is None:
                    places.append(place)
                    continue
                problems.add(managed.where, missing.why, missing.remedy)
                place = msgspec.structs.replace(place, no_image=missing.why)
                imageless.append((place, missing.why))
    collisions((shard for place in places for shard in place.shards), problems)
    sound = len(problems.errors) == before
    wrong = tuple(problems.errors[before:])
    return Estate(
        tuple(places),
        site,
        complete=sound,
        emptied=tuple(emptied),
        problems=wrong,
        imageless=tuple(imageless),
    )


def _missing(managed: Managed, ground: NamespaceDefaults, site: Site) -> MissingImage | None:
    """Why the shards of a place have nothing to run; None: they have."""
    written = {**managed.namespace.parameters, **site.parameters}
    missing = no_certificates(managed.spec, managed.namespace, written)
    if missing is not None or has_image(managed, ground):
        return missing
    _, why = default_tag(managed.namespace, site.heads)
    return MissingImage(why, NO_IMAGE_REMEDY)


def _units(integration: str, shards: Iterable[WorkloadShard]) -> Iterator[Unit]:
    static = all(not shard.key for shard in shards)
    for name, group in groupby(shards, key=lambda shard: shard.name):
        mine = tuple(group)
        whole = static and (mine[0].count or 1) == 1
        yield Unit(integration if whole else f"{integration}/{name}", mine)


def manifest_of(
    piece: Piece, site: Site, *, revision: str | None = None, adopted: bool = False
) -> Manifest:
    """The object a piece is, with an image of its own or another; as it is handed to a cluster."""
    place, shard = piece.place, piece.shard
    if place is None or shard is None:
        return _stamped(service(), piece, "", adopted=adopted)
    wanted = image_of(shard, place.managed, place.ground)
    image = wanted if revision is None else image_named(revision, place.repository)
    ground = msgspec.structs.replace(
        place.ground, adopted=adopted, parameters=_parameters(place, shard, image, adopted=adopted)
    )
    manifest = render(shard, place.managed, ground, image)
    if site.overlay is not None and piece.kind != "CronJob":
        shipper = {SHIPPER: shipper_resources_of(shard, place.managed, ground)}
        manifest = lay_over(manifest, site.overlay, shard, shipper)
    return _stamped(manifest, piece, shard.integration, adopted=adopted)


def _parameters(
    place: ManagedPlace, shard: WorkloadShard, image: str, *, adopted: bool
) -> Mapping[str, str]:
    """A variable that names the image names the one that runs, whatever moves it there.

    The existing manager tells those with an image of their own of the environment's, so that a
    promotion restarts them on the image they have; what was adopted from it is left as it is.
    """
    chosen = shard.override.image_ref if shard.override is not None else None
    if adopted and (chosen or place.managed.spec.get("imageRef")):
        return place.ground.parameters
    own = {"IMAGE_TAG": tag_of(image), "IMAGE_DIGEST": digest_of(image)}
    return {**place.ground.parameters, **own}


def _stamped(manifest: Manifest, piece: Piece, integration: str, *, adopted: bool) -> Manifest:
    """With where it belongs, whose it is, and what it was made from."""
    metadata = dict(manifest["metadata"])
    labels = {**metadata.get("labels", {}), MANAGED_BY: US}
    if integration:
        labels[INTEGRATION_LABEL] = label_text(integration)
    notes = {**metadata.get("annotations", {})}
    if piece.unit:
        notes[UNIT] = piece.unit
    if piece.shard is not None and piece.shard.where:
        notes[DECLARED_AT] = piece.shard.where
    if adopted:
        notes[ADOPTED] = "true"
    notes[RENDERED] = fingerprint(manifest)
    metadata |= {"namespace": piece.namespace, "labels": labels, "annotations": notes}
    return {**manifest, "metadata": metadata}


def fingerprint(manifest: Mapping[str, Any]) -> str:
    """What distinguishes one manifest from another: a hash of the whole document."""
    plain = msgspec.json.encode(manifest, order="deterministic")
    return blake2b(plain, digest_size=8).hexdigest()


def label_text(text: str) -> str:
    """A text as a label takes it: what does not fit is a hash of it."""
    plain = text.replace("-", "").replace("_", "").replace(".", "")
    if (
        len(text) <= 63
        and plain.isascii()
        and plain.isalnum()
        and text[0].isalnum()
        and text[-1].isalnum()
    ):
        return text
    return blake2b(text.encode(), digest_size=16).hexdigest()
