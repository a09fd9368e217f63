"""Looks at all that a promotion depends on: history, registry, schemas. One reading, one world."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.git.history import Ancestry, Commit
from tidegate.git.port import Repository
from tidegate.kinds.promotions.core.decide import Built, SchemasNeed, Stand, World
from tidegate.kinds.promotions.core.model import COMMIT, FULL, SHORT, Held, Promotion
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem
from tidegate.registry.port import Registry

# What the commits of an artifact say of the schemas they need.
_TRAILER = re.compile(r"^(?:Requires|Needs|Depends-On)[-: ]+\S*schemas\S*?[:/ ]+([0-9a-f]{7,64})\b",
    re.IGNORECASE | re.MULTILINE)  # fmt: skip
HEAD = "HEAD"


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The way from what is held to a version."""

    # The whole name of what is held; empty: nobody knows it.
    name: str
    stand: Stand
    # What the version brings, and what would be lost where it goes back or aside; newest first.
    brings: tuple[Commit, ...] = ()
    loses: tuple[Commit, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """A world, and the way from each value that is held, behind its numbers."""

    world: World
    ways: Mapping[str, Way]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    promotion: Promotion
    held: tuple[Held, ...]
    missing: Mapping[str, tuple[str, ...]] = {}
    unread: frozenset[str] = frozenset()
    to: tuple[str, ...] = ()
    # Empty: the newest of the artifact's branch.
    ref: str = ""
    backward: bool = False
    brakes: Brakes = Brakes()


class History:
    """The artifact's repository, as far as one promotion asks about it."""

    def __init__(self, source: Repository, branch: str = "") -> None:
        self._source = source
        self.branch = branch or source.branch()

    def version(self, ref: str) -> str:
        """The commit that is meant: the newest of the branch unless another is named."""
        return self._source.resolve(ref) if ref else self._source.tip(self.branch)

    def name_of(self, value: str) -> str:
        """The whole name of a commit, or of the newest of a branch; empty: nobody knows it."""
        try:
            if COMMIT.fullmatch(value):
                return self._source.resolve(value)
            return self._source.tip(value)
        except UserError:
            return ""

    def way(self, old: str, new: str) -> Way:
        """How a commit stands to what is held, what it brings, and what would be lost."""
        name = self.name_of(old)
        ancestry = self._source.ancestry(name, new) if name else Ancestry.UNKNOWN
        brings: tuple[Commit, ...] = ()
        loses: tuple[Commit, ...] = ()
        if ancestry in (Ancestry.AHEAD, Ancestry.APART):
            brings = self._source.between(name, new)
        if ancestry in (Ancestry.BEHIND, Ancestry.APART):
            loses = self._source.between(new, name)
        commits = len(loses) if ancestry is Ancestry.BEHIND else len(brings)
        return Way(name=name, stand=Stand(ancestry, commits), brings=brings, loses=loses)


def look(
    asked: Look,
    source: Repository,
    built: Callable[[str], Built],
    schemas: Callable[[], tuple[Repository, str] | None] = lambda: None,
    needed: Callable[[str], str] = lambda _: "",
) -> Seen:
    """The world of a promotion as it is now.

    `built` tells whether there is an image; `schemas` gives their repository and the commit
    of them the bundle has; `needed` tells which a version needs, besides what its commits say.
    """
    history = History(source, asked.promotion.artifact.branch)
    promotion = _following(asked.promotion, history.branch)
    version = history.version(asked.ref)
    ways = {value: history.way(value, version) for value in _values(asked.held, promotion)}
    image = promotion.artifact.image
    image = f"{image}:{version[: _tag_length(asked.held)]}" if image else ""
    world = World(
        promotion=promotion,
        held=asked.held,
        version=version,
        to=asked.to,
        stands={value: way.stand for value, way in ways.items()},
        image=image,
        built=built(image) if image else Built.UNASKED,
        schemas=_need((way.brings for way in ways.values()), schemas, needed(version)),
        brakes=asked.brakes,
        backward=asked.backward,
        missing=asked.missing,
        unread=asked.unread,
    )
    return Seen(world, ways)


def _tag_length(held: Iterable[Held]) -> int:
    """How much of a commit its image is tagged with: as much as places with short forms have."""
    short = (len(each.value) for each in held if each.is_commit and len(each.value) < FULL)
    return next(short, SHORT)


def _following(promotion: Promotion, branch: str) -> Promotion:
    """With the name of the branch where the artifact's own is meant."""
    environments = (
        msgspec.structs.replace(each, follows=branch) if each.follows == HEAD else each
        for each in promotion.environments
    )
    return msgspec.structs.replace(promotion, environments=tuple(environments))


def _values(held: Iterable[Held], promotion: Promotion) -> Iterable[str]:
    commits = {each.value for each in held if each.is_commit}
    follows = {each.follows for each in promotion.environments if each.follows}
    return sorted(commits | follows)


async def is_built(registry: Registry, image: str) -> Built:
    """Whether a registry has an image; whoever is not to be asked about it is not."""
    try:
        if not registry.asks(image):
            return Built.UNASKED
        return Built.THERE if await registry.digest(image) else Built.MISSING
    except OutsideError:
        return Built.UNKNOWN
    finally:
        await registry.close()


def _need(
    brought: Iterable[tuple[Commit, ...]],
    schemas: Callable[[], tuple[Repository, str] | None],
    needed: str,
) -> SchemasNeed | None:
    """The newest schemas that anything that goes out needs; None: nothing names any."""
    wanted = dict.fromkeys([needed] if needed else [])
    for commits in brought:
        for commit in commits:
            wanted |= dict.fromkeys(_TRAILER.findall(commit.body))
    if not wanted:
        return None
    there = schemas()
    if there is None:
        what = f"schemas {', '.join(each[:SHORT] for each in wanted)} are needed"
        remedy = "say in the Promotion document where schemas stand (schemas.places)"
        raise UserError((Problem("", what, remedy),))
    repository, has = there
    history = History(repository)
    for each in wanted:
        ancestry = history.way(has, history.name_of(each) or each).stand.ancestry
        if ancestry not in (Ancestry.SAME, Ancestry.BEHIND):
            return SchemasNeed(each, has, ancestry)
    return SchemasNeed(next(iter(wanted)), has, Ancestry.SAME)
