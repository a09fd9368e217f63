"""All files of a bundle together: names resolved, spellings made one, the model of the core built.

What is wrong with one integration, or with one place it runs in, leaves the others as they are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tidegate.kinds.integrations.bundle.finding import Fault, Finding, Path, in_order, path_text
from tidegate.kinds.integrations.bundle.leaf import Doc, Leaf
from tidegate.kinds.integrations.bundle.links import link_faults
from tidegate.kinds.integrations.bundle.lint import linted
from tidegate.kinds.integrations.bundle.places import Place, Places
from tidegate.kinds.integrations.bundle.promotions import promotion_faults
from tidegate.kinds.integrations.bundle.rollouts import Rollouts
from tidegate.kinds.integrations.bundle.spelling import Spelt, spelt
from tidegate.kinds.integrations.bundle.stock import Stock
from tidegate.kinds.integrations.bundle.upgrades import bundled_upgrades
from tidegate.kinds.integrations.core.sharding.model import (
    Check,
    Integration,
    Key,
    Managed,
    Override,
    Sharding,
)
from tidegate.kinds.integrations.core.sharding.strategies import STATIC
from tidegate.kinds.upgrades.core.labels.bundled import Bundled


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle declares, and what is wrong with it."""

    # By name.
    integrations: tuple[Integration, ...]
    # What integrations can be split by, in order of the files.
    inventories: dict[str, tuple[Key, ...]]
    findings: tuple[Finding, ...]
    # How many documents of each kind there are; those that are none of ours are under "".
    kinds: dict[str, int]
    files: int
    # What it declares of upgrades.
    upgrades: Bundled = Bundled()

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(each.severity == "error" for each in self.findings)


def joined(leaves: Mapping[str, Leaf], places: Places) -> Bundle:
    """The bundle that some files are together."""
    findings: list[Finding] = [
        msgspec.structs.replace(each, file=path)
        for path, leaf in leaves.items()
        for each in leaf.findings
    ]
    findings += (places.found(place, fault) for place, fault in link_faults(leaves, places))
    stock = Stock(leaves)
    findings += (places.found(place, fault) for place, fault in stock.faults)
    builder = _Builder(leaves, stock)
    integrations = tuple(sorted(builder.integrations(), key=lambda each: each.name))
    builder.faults += builder.rollouts.faults
    builder.faults += promotion_faults(leaves)
    builder.faults += linted(integrations, stock.inventories, builder.stands)
    findings += (places.found(place, fault) for place, fault in builder.faults)
    found = in_order(findings)
    return Bundle(
        integrations=integrations,
        inventories=stock.inventories,
        findings=found,
        kinds=dict(sorted(Counter(d.kind for leaf in leaves.values() for d in leaf.docs).items())),
        files=len(leaves),
        upgrades=bundled_upgrades(leaves, found),
    )


class _Builder:
    """Builds integrations, and notes what keeps it from doing so."""

    def __init__(self, leaves: Mapping[str, Leaf], stock: Stock) -> None:
        self._leaves = leaves
        self._stock = stock
        self.rollouts = Rollouts(leaves)
        self.faults: list[tuple[Place, Fault]] = []
        # What the model calls `where`, as a place with a path.
        self.stands: dict[str, tuple[Place, Path]] = {}

    def integrations(self) -> Iterator[Integration]:
        """Every integration that can be used."""
        seen: dict[str, str] = {}
        for path, leaf in self._leaves.items():
            for at, doc in enumerate(leaf.docs):
                if doc.kind != "integration" or doc.data is None:
                    continue
                place, name = Place(path, at), str(doc.data["name"])
                if name in seen:
                    message = f'another integration "{name}" is in {seen[name]}'
                    remedy = "give it another name, or drop it"
                    self._wrong(place, ("name",), message, remedy, "duplicate", name)
                    continue
                seen[name] = path
                yield self._integration(place, name, doc)

    def _integration(self, place: Place, name: str, doc: Doc) -> Integration:
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
        self, place: Place, doc: Doc, path: Path, written: dict[str, Any]
    ) -> Managed | None:
        one = spelt(written, path)
        self.faults += ((place, fault) for fault in one.faults)
        sound = not one.faults
        # A namespace that is not there is told where names of files are looked up.
        namespace = self._stock.namespace(one.managed["namespace"]["$ref"])
        sharding = self._sharding(place, doc, one)
        ruled = self.rollouts.of(place, doc, path)
        if not sound or namespace is None or sharding is None or not ruled.sound:
            return None
        return Managed(
            namespace=namespace,
            spec=one.managed["spec"],
            sharding=sharding,
            rollout=ruled.rules,
            where=self._where(place, doc, path),
        )

    def _sharding(self, place: Place, doc: Doc, one: Spelt) -> Sharding | None:
        written = one.managed.get("sharding") or {}
        strategy = written.get("strategy", STATIC)
        before = len(self.faults)
        overrides = [
            self._override(place, doc, at, each, strategy)
            for at, each in zip(
                one.overrides_at, written.get("shardSpecOverrides") or (), strict=False
            )
        ]
        if len(self.faults) > before:
            return None
        return Sharding(
            strategy=strategy,
            shards=written.get("shards"),
            overrides=tuple(each for each in overrides if each is not None),
            overlap=written.get("overlap", False),
            where=self._where(place, doc, one.sharding_at),
        )

    def _override(
        self, place: Place, doc: Doc, path: Path, written: dict[str, Any], strategy: str
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

    def _where(self, place: Place, doc: Doc, path: Path) -> str:
        where = place.where(doc, path)
        self.stands.setdefault(where, (place, path))
        return where

    def _wrong(
        self, place: Place, path: Path, message: str, remedy: str, rule: str, value: str
    ) -> None:
        fault = Fault(path=path, message=message, rule=rule, remedy=remedy, value=value)
        self.faults.append((place, fault))


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
