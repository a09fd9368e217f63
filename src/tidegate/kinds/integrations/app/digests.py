"""Asks a registry for every image of an estate at once, and says what became of each.

An image that is there gets its digest. One that is not there is not used, and is an error where
it is written. If the registry does not answer, what it last said stays, so that a rollout under way
goes on to what it began with; an image it never spoke of keeps its tag. Either is a warning.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tidegate.kinds.integrations.core.workloads.digests import images_of, with_digests, without
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.integrations.estates_port import Estates
from tidegate.model.errors import OutsideError
from tidegate.model.problem import Problem, Problems, nearest, shown
from tidegate.registry.image import repository_of, tag_of
from tidegate.registry.port import Registry

# Questions at once; the registry's own limit may be lower.
AT_ONCE_MAX = 16
# So many last digests are kept for when no registry answers; then the oldest is dropped.
KEPT_MAX = 10_000
# How often a bundle that stays the same is asked about; tags that move are seen after that.
EVERY_S = 10.0


class _Answer(msgspec.Struct, frozen=True):
    """What became of one image."""

    image: str
    # None: there is no such image, or no registry answered.
    digest: str | None = None
    # Why there is no answer; empty: there is.
    trouble: str = ""
    # Of an image that is not there: what may have been meant.
    remedy: str = ""


class Digests:
    """Settles estates, and keeps what was last known; without a registry, nothing changes."""

    def __init__(self, registry: Registry | None) -> None:
        self._registry = registry
        self._last: dict[str, str] = {}

    async def settle(self, estate: Estate, problems: Problems) -> Estate:
        """The estate with every tag that a registry knows pinned to its digest."""
        registry = self._registry
        if registry is None:
            return estate
        wheres = {image: at for image, at in images_of(estate).items() if registry.asks(image)}
        answers = await _all(registry, wheres)
        self._keep(answers)
        missing = [each for each in answers if not each.trouble and each.digest is None]
        for each in missing:
            for where in wheres[each.image]:
                problems.add(where, f"there is no image {each.image}", each.remedy)
        self._warn(answers, wheres, problems)
        digests = {image: self._last[image] for image in wheres if image in self._last}
        return with_digests(without(estate, {each.image for each in missing}), digests)

    async def close(self) -> None:
        """Close the connections to the registry."""
        if self._registry is not None:
            await self._registry.close()

    def _keep(self, answers: Sequence[_Answer]) -> None:
        for each in answers:
            if each.trouble:
                continue
            self._last.pop(each.image, None)
            if each.digest is not None:
                self._last[each.image] = each.digest
        while len(self._last) > KEPT_MAX:
            del self._last[next(iter(self._last))]

    def _warn(
        self, answers: Sequence[_Answer], wheres: Mapping[str, Sequence[str]], problems: Problems
    ) -> None:
        """One warning for each trouble: a registry that is down is not reported image by image."""
        troubles: dict[str, list[str]] = {}
        for each in answers:
            if each.trouble:
                troubles.setdefault(each.trouble, []).append(each.image)
        for trouble, images in troubles.items():
            tags = [image for image in images if image not in self._last]
            shy = f", and {len(images) - 1} more" if len(images) > 1 else ""
            parts = (f"{len(tags)} by tag" if tags else "", _old(len(images) - len(tags)))
            problems.warn(
                wheres[images[0]][0],
                f"{trouble}; asked for {images[0]}{shy}",
                f"goes on with {' and '.join(filter(None, parts))}",
            )


def _old(count: int) -> str:
    return f"{count} by the digest last known" if count else ""


async def _all(registry: Registry, images: Iterable[str]) -> list[_Answer]:
    slots = asyncio.Semaphore(AT_ONCE_MAX)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_one(registry, image, slots)) for image in images]
    return [task.result() for task in tasks]


async def _one(registry: Registry, image: str, slots: asyncio.Semaphore) -> _Answer:
    async with slots:
        try:
            digest = await registry.digest(image)
        except OutsideError as error:
            return _Answer(image, trouble=str(error))
        if digest is not None:
            return _Answer(image, digest)
        return _Answer(image, remedy=await _remedy(registry, image))


async def _remedy(registry: Registry, image: str) -> str:
    """What to write instead: the nearest tag, or what there is at all."""
    try:
        tags = await registry.tags(image)
    except OutsideError as error:
        return f"push it, or write another tag ({error})"
    if not tags:
        return f"nothing was ever pushed to {repository_of(image)}"
    wanted = tag_of(image)
    return nearest(wanted, tags) or f"push {shown(wanted)}, or write one of its {len(tags)} tags"


class SettledEstates:
    """A bundle as it is now, with the digests its tags have.

    Who asks waits for a registry only once a bundle: later answers come in beside, so that a
    registry that hangs delays nothing that is already known.
    """

    def __init__(
        self,
        estates: Estates,
        digests: Digests,
        tell: Callable[[Problem], None] | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self._estates = estates
        self._digests = digests
        # Called with each error and warning when it is new, and again when it returns.
        self._tell = tell or (lambda _: None)
        self._every_s = every_s
        # None: nothing was read yet.
        self._plain: Estate | None = None
        self._settled = Estate(())
        self._said: frozenset[Problem] = frozenset()
        self._asked_at = 0.0
        self._beside: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def read(self) -> Estate:
        """The estate of the bundle; OutsideError if it cannot be read."""
        async with self._lock:
            plain = await self._estates.read()
            now = asyncio.get_running_loop().time()
            if plain is not self._plain:
                await self._stop()
                await self._ask(plain)
            elif self._beside is not None and self._beside.done():
                # A bug in it is seen here.
                done, self._beside = self._beside, None
                done.result()
            elif self._beside is None and now - self._asked_at >= self._every_s:
                self._beside = asyncio.create_task(self._ask(plain))
            return self._settled

    async def close(self) -> None:
        """Ask no more."""
        await self._stop()
        await self._digests.close()

    async def _ask(self, plain: Estate) -> None:
        problems = Problems()
        settled = await self._digests.settle(plain, problems)
        self._plain, self._settled = plain, settled
        self._asked_at = asyncio.get_running_loop().time()
        every = (*plain.problems, *problems.errors, *problems.warnings)
        for each in every:
            if each not in self._said:
                self._tell(each)
        self._said = frozenset(every)

    async def _stop(self) -> None:
        task, self._beside = self._beside, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
