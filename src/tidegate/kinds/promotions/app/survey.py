"""Reads everything that a promotion depends on, history, registry and schemas, into a world."""

import asyncio
import re
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.git.history import FULL, SHORT, Ancestry, Commit
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.checkout import PromotionCheckout
from tidegate.kinds.promotions.app.ports import ImageLookup
from tidegate.kinds.promotions.core.journal.known import PromotionReading
from tidegate.kinds.promotions.core.model import COMMIT, Promotion, WrittenVersion
from tidegate.kinds.promotions.core.world import (
    ImageState,
    PromotionWorld,
    Relation,
    RequestedReading,
    SchemasNeed,
)
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem
from tidegate.registry.port import Registry

# How the commits of an artifact name the schemas that they need.
_TRAILER = re.compile(r"^(?:Requires|Needs|Depends-On)[-: ]+\S*schemas\S*?[:/ ]+([0-9a-f]{7,64})\b",
    re.IGNORECASE | re.MULTILINE)  # fmt: skip
HEAD = "HEAD"
# At most so many commits are recorded with a reading; notices name the first of them.
COMMITS_MAX = 50


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What lies between a written value and a version."""

    # The full name of the written commit; empty: it is not in the repository.
    name: str
    relation: Relation
    # Commits that the version adds, and commits that it would lose; newest first.
    brings: tuple[Commit, ...] = ()
    loses: tuple[Commit, ...] = ()


class PromotionSurvey(msgspec.Struct, frozen=True):
    """A world, and the comparison with each written value behind its numbers."""

    world: PromotionWorld
    comparisons: Mapping[str, Comparison]


class PromotionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller wants to promote."""

    # None: the only one, or the one that has the named environments.
    promotion: str | None = None
    # Empty: every environment.
    to: tuple[str, ...] = ()
    # A commit of the artifact; empty: the newest of its branch.
    ref: str = ""
    # A revision of the bundle; empty: its newest.
    base: str = ""
    allow_backward: bool = False
    check_image: bool = True
    # The schemas of the promotion, and not its artifact.
    of_schemas: bool = False


class ArtifactHistory:
    """The artifact's repository, as far as one promotion reads it."""

    def __init__(self, source: Repository, branch: str = "") -> None:
        self._source = source
        self.branch = branch or source.branch()

    def version(self, ref: str = "") -> str:
        """The commit of a revision; without one the newest of the branch."""
        return self._source.resolve(ref) if ref else self._source.tip(self.branch)

    def name_of(self, value: str) -> str:
        """The full name of a commit, or of the newest of a branch; empty: there is no such."""
        try:
            if COMMIT.fullmatch(value):
                return self._source.resolve(value)
            return self._source.tip(value)
        except UserError:
            return ""

    def merged_in(self, merge: str) -> tuple[str, ...]:
        """The commits that a merge brought in; none: it is no merge, or not here."""
        try:
            name = self._source.resolve(merge)
            found = self._source.between(self._source.resolve(f"{name}^1"), name)
        except UserError:
            return ()
        return tuple(each.sha for each in found)

    def compare(self, old: str, new: str) -> Comparison:
        """How a commit relates to a written value, and the commits between them."""
        name = self.name_of(old)
        ancestry = self._source.ancestry(name, new) if name else Ancestry.UNKNOWN
        brings: tuple[Commit, ...] = ()
        loses: tuple[Commit, ...] = ()
        if ancestry in (Ancestry.AHEAD, Ancestry.APART):
            brings = self._source.between(name, new)
        if ancestry in (Ancestry.BEHIND, Ancestry.APART):
            loses = self._source.between(new, name)
        commits = len(loses) if ancestry is Ancestry.BEHIND else len(brings)
        relation = Relation(ancestry, commits)
        return Comparison(name=name, relation=relation, brings=brings, loses=loses)


async def survey(
    checkout: PromotionCheckout, request: PromotionRequest, brakes: Brakes
) -> PromotionSurvey:
    """The world of a promotion as it is now."""
    found = await asyncio.to_thread(_survey, checkout, request, brakes)
    world = found.world
    if not world.image or not request.check_image:
        return found
    state = await checkout.ports.images.state(world.image)
    return PromotionSurvey(msgspec.structs.replace(world, image_state=state), found.comparisons)


def _survey(
    checkout: PromotionCheckout, request: PromotionRequest, brakes: Brakes
) -> PromotionSurvey:
    written = checkout.written.values
    history = ArtifactHistory(checkout.source, checkout.promotion.artifact.branch)
    promotion = _with_branch(checkout.promotion, history.branch)
    version = history.version(request.ref)
    found = {value: history.compare(value, version) for value in _values(written, promotion)}
    image = promotion.artifact.image
    world = PromotionWorld(
        promotion=promotion,
        written=written,
        version=version,
        to=request.to,
        relations={value: each.relation for value, each in found.items()},
        image=f"{image}:{version[: _tag_length(written)]}" if image else "",
        schemas=_schemas_need(checkout, version, found.values()),
        brakes=brakes,
        backward=request.allow_backward,
        missing=checkout.written.missing,
        unread=frozenset(checkout.written.unread),
    )
    return PromotionSurvey(world, found)


def _tag_length(written: Iterable[WrittenVersion]) -> int:
    """How many digits an image's tag has: as many as the places with short forms have."""
    short = (len(each.value) for each in written if each.is_commit and len(each.value) < FULL)
    return next(short, SHORT)


def _with_branch(promotion: Promotion, branch: str) -> Promotion:
    """The promotion with the name of the artifact's branch in place of HEAD."""
    environments = (
        msgspec.structs.replace(each, follows=branch) if each.follows == HEAD else each
        for each in promotion.environments
    )
    return msgspec.structs.replace(promotion, environments=tuple(environments))


def _values(written: Iterable[WrittenVersion], promotion: Promotion) -> Iterable[str]:
    commits = {each.value for each in written if each.is_commit}
    follows = {each.follows for each in promotion.environments if each.follows}
    return sorted(commits | follows)


def _schemas_need(
    checkout: PromotionCheckout, version: str, found: Iterable[Comparison]
) -> SchemasNeed | None:
    """The newest schemas that anything promoted needs; None: nothing names any."""
    needed = checkout.needed_schemas(version)
    wanted = dict.fromkeys([needed] if needed else [])
    for each in found:
        for commit in each.brings:
            wanted |= dict.fromkeys(_TRAILER.findall(commit.body))
    if not wanted:
        return None
    there = checkout.schemas()
    if there is None:
        what = f"schemas {', '.join(each[:SHORT] for each in wanted)} are needed"
        remedy = "name in the Promotion document where their version is written (schemas.places)"
        raise UserError((Problem("", what, remedy),))
    repository, has = there
    history = ArtifactHistory(repository)
    for name in wanted:
        ancestry = history.compare(has, history.name_of(name) or name).relation.ancestry
        if ancestry not in (Ancestry.SAME, Ancestry.BEHIND):
            return SchemasNeed(name, has, ancestry)
    return SchemasNeed(next(iter(wanted)), has, Ancestry.SAME)


class RegistryImages(ImageLookup):
    """ImageLookup as a registry answers; each answer opens and closes the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def state(self, image: str) -> ImageState:
        """Whether the registry has an image; one it is not to be asked about is not checked."""
        try:
            if not self._registry.asks(image):
                return ImageState.UNASKED
            return ImageState.THERE if await self._registry.digest(image) else ImageState.MISSING
        except OutsideError:
            return ImageState.UNKNOWN
        finally:
            await self._registry.close()


def _brought(found: PromotionSurvey) -> tuple[Commit, ...]:
    """The commits that some environment does not have yet, the newest first."""
    commits: dict[str, Commit] = {
        commit.sha: commit for each in found.comparisons.values() for commit in each.brings
    }
    newest = sorted(commits.values(), key=lambda each: (-each.at, each.sha))
    return tuple(newest[:COMMITS_MAX])


def requested_reading(found: PromotionSurvey) -> RequestedReading:
    """What a survey found of a version that was requested, as it is recorded."""
    world = found.world
    return RequestedReading(
        version=world.version,
        relations=dict(world.relations),
        commits=_brought(found),
        image=world.image,
        image_state=world.image_state,
        schemas=() if world.schemas is None else (world.schemas,),
    )


def reading_of(checkout: PromotionCheckout, found: PromotionSurvey) -> PromotionReading:
    """What a survey found, as it is recorded."""
    world = found.world
    return PromotionReading(
        promotion=world.promotion,
        base=checkout.base,
        written=world.written,
        missing=dict(checkout.unseen),
        unread={
            name: tuple(each.why for each in some) for name, some in checkout.written.unread.items()
        },
        version=world.version,
        relations=dict(world.relations),
        commits=_brought(found),
        image=world.image,
        image_state=world.image_state,
        schemas=() if world.schemas is None else (world.schemas,),
    )
