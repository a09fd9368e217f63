"""Documents turned into integrations: names resolved, one spelling for each setting.

An error in one integration, or in one place it runs in, leaves the others as they are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tidegate.bundle.finding import DocumentFault, Path, path_text
from tidegate.bundle.leaf import Doc
from tidegate.bundle.places import DocumentPlace
from tidegate.bundle.section import Documents, Faults
from tidegate.kinds.integrations.bundle.canonical import CanonicalManaged, sharding_of, spelt
from tidegate.kinds.integrations.bundle.lint import linted, linted_shards
from tidegate.kinds.integrations.bundle.rollouts import RolloutRulesReader
from tidegate.kinds.integrations.bundle.stock import Stock
from tidegate.kinds.integrations.core.sharding.model import (
    BranchHead,
    Check,
    Integration,
    Managed,
    Namespace,
    Override,
    Sharding,
    ShardKey,
)
from tidegate.kinds.integrations.core.sharding.strategies import STATIC
from tidegate.kinds.integrations.core.workloads.default_image import no_image

# The rule of findings about it.
DEFAULT_IMAGE = "default-image"


class DeclaredIntegrations(msgspec.Struct, frozen=True, kw_only=True):
    """The integrations that a bundle declares."""

    # By name.
    integrations: tuple[Integration, ...]
    # What integrations can be split by, in order of the files.
    inventories: dict[str, tuple[ShardKey, ...]]
    # The newest commits of branches that default images follow; they are not in the files.
    heads: dict[str, BranchHead] = {}


def read_integrations(documents: Documents, faults: Faults) -> DeclaredIntegrations:
    """The integrations of a bundle; what is wrong with them is added to the faults."""
    stock = Stock(documents)
    faults += stock.faults
    builder = _Builder(documents, stock)
    integrations = tuple(sorted(builder.integrations(), key=lambda each: each.name))
    faults += builder.faults
    faults += builder.rollouts.faults
    faults += linted(integrations, stock.inventories, builder.stands)
    faults += linted_shards(builder.unusable, stock.inventories, builder.stands)
    return DeclaredIntegrations(integrations=integrations, inventories=stock.inventories)


class _Builder:
    """Builds integrations, and collects what is wrong with them."""

    def __init__(self, documents: Documents, stock: Stock) -> None:
        self._documents = documents
        self._stock = stock
        self.rollouts = RolloutRulesReader(documents)
        self.faults: Faults = []
        # What the model calls `where`, as a place with a path.
        self.stands: dict[str, tuple[DocumentPlace, Path]] = {}
        # Places that cannot be used, each with the name of its integration.
        self.unusable: list[tuple[str, Managed]] = []

    def integrations(self) -> Iterator[Integration]:
        """Every integration that can be used."""
        seen: dict[str, str] = {}
        for place, doc in self._documents.of("integration"):
            if doc.data is None:
                self._rejected(place, doc)
                continue
            name = str(doc.data["name"])
            if name in seen:
                message = f'another integration "{name}" is in {seen[name]}'
                remedy = "give it another name, or drop it"
                self._wrong(place, ("name",), message, remedy, "duplicate", name)
                continue
            seen[name] = place.file
            yield self._integration(place, name, doc)

    def _rejected(self, place: DocumentPlace, doc: Doc) -> None:
        """Check the shards of what cannot be used, as far as nothing is wrong with them."""
        every = (doc.rejected or {}).get("managed")
        for at, written in enumerate(every if isinstance(every, list) else ()):
            path: Path = ("managed", at)
            split = sharding_of(written, path, doc.wrong)
            if split is not None:
                sharding, _ = self._sharding(place, doc, spelt(split, path))
                managed = Managed(namespace=_nowhere(""), spec={}, sharding=sharding)
                self.unusable.append((str((doc.rejected or {}).get("name")), managed))

    def _integration(self, place: DocumentPlace, name: str, doc: Doc) -> Integration:
        assert doc.data is not None
        managed = (
            self._managed(place, doc, ("managed", at), each)
            for at, each in enumerate(doc.data.get("managed") or ())
        )
        return Integration(
            name=name,
            upstream=doc.data.get("upstream"),
            schemas=tuple(doc.data.get("schemas") or ()),
            check=_check(doc.data.get("pr_check")),
            managed=tuple(each for each in managed if each is not None),
            where=self._where(place, doc, ()),
        )

    def _managed(
        self, place: DocumentPlace, doc: Doc, path: Path, written: dict[str, Any]
    ) -> Managed | None:
        one = spelt(written, path)
        self.faults += ((place, fault) for fault in one.faults)
        sound = not one.faults
        # A namespace that does not exist is reported where names of files are looked up.
        namespace = self._stock.namespace(one.managed["namespace"]["$ref"])
        sharding, is_whole = self._sharding(place, doc, one)
        ruled = self.rollouts.of(place, doc, path)
        managed = Managed(
            namespace=namespace or _nowhere(one.managed["namespace"]["$ref"]),
            spec=one.managed["spec"],
            sharding=sharding,
            rollout=ruled.rules,
            where=self._where(place, doc, path),
        )
        if not sound or namespace is None or not is_whole or not ruled.sound:
            # Its shards are worked out all the same: what is wrong with them is told at once.
            self.unusable.append((str((doc.data or {})["name"]), managed))
            return None
        if (missing := no_image(one.managed["spec"], namespace)) is not None:
            fault = DocumentFault(
                path=(*path, "namespace"),
                message=missing.why,
                rule=DEFAULT_IMAGE,
                remedy=missing.remedy,
                value=namespace.environment,
            )
            self.faults.append((place, fault))
        return managed

    def _sharding(
        self, place: DocumentPlace, doc: Doc, one: CanonicalManaged
    ) -> tuple[Sharding, bool]:
        """How it is split, and whether that is all that is written."""
        written = one.managed.get("sharding") or {}
        strategy = written.get("strategy", STATIC)
        before = len(self.faults)
        overrides = [
            self._override(place, doc, at, each, strategy)
            for at, each in zip(
                one.overrides_at, written.get("shardSpecOverrides") or (), strict=False
            )
        ]
        found = Sharding(
            strategy=strategy,
            shards=written.get("shards"),
            overrides=tuple(each for each in overrides if each is not None),
            overlap=written.get("overlap", False),
            where=self._where(place, doc, one.sharding_at),
        )
        return found, len(self.faults) == before

    def _override(
        self, place: DocumentPlace, doc: Doc, path: Path, written: dict[str, Any], strategy: str
    ) -> Override | None:
        shard = written["shard"]
        named = self._stock.shard(shard, strategy)
        if named.fault is not None:
            fault = msgspec.structs.replace(named.fault, path=(*path, *named.fault.path))
            self.faults.append((place, fault))
        if named.name is None:
            return None
        return Override(
            shard=named.name,
            image_ref=written.get("imageRef"),
            resources=written.get("resources"),
            disabled=written.get("disabled", False),
            sub_shards=(written.get("subSharding") or {}).get("shards"),
            where=self._where(place, doc, path),
            note=doc.notes.get(path_text((*path, "imageRef")), ""),
        )

    def _where(self, place: DocumentPlace, doc: Doc, path: Path) -> str:
        where = place.where(doc, path)
        self.stands.setdefault(where, (place, path))
        return where

    def _wrong(
        self, place: DocumentPlace, path: Path, message: str, remedy: str, rule: str, value: str
    ) -> None:
        fault = DocumentFault(path=path, message=message, rule=rule, remedy=remedy, value=value)
        self.faults.append((place, fault))


def _nowhere(path: str) -> Namespace:
    """A namespace that does not exist, or cannot be used."""
    return Namespace(path=path, name="", cluster="", environment="")


def _check(written: Mapping[str, Any] | None) -> Check | None:
    """How merge requests are checked; fields that other systems need are left to them."""
    if not written:
        return None
    return Check(
        command=written["cmd"],
        disabled=written.get("disabled", False),
        always=written.get("always_run", False),
        image_ref=written.get("imageRef"),
        order=written.get("run_order", 0),
        affected_only=written.get("check_only_affected_shards", True),
    )
