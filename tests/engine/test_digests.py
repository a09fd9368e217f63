"""Settling an estate: which shard gets which digest, which image is missing, what is said."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.bundles import PRODUCTION, integration, with_integration
from tests.patience import patiently
from tidegate.kinds.integrations.app import digests as settling
from tidegate.kinds.integrations.app.digests import Digests, SettledEstates
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.estate import Estate, estate_of
from tidegate.model.errors import OutsideError
from tidegate.model.problem import Problems

REPOSITORY = "quay.io/app-sre/qontract-reconcile"
ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")


class Shelf:
    """A registry in memory; down on request."""

    def __init__(self, images: dict[str, str]) -> None:
        self.images = images
        self.down = self.shy = False
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0
        self.closed = False
        # None: as it should.
        self.instead: Callable[[], Awaitable[str | None]] | None = None

    def asks(self, image: str) -> bool:
        return image.startswith("quay.io/") and "@" not in image

    async def digest(self, image: str) -> str | None:
        self.asked.append(image)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if self.instead is not None:
            return await self.instead()
        if self.down:
            raise OutsideError("quay.io: HTTP 503 (3 tries)")
        return self.images.get(image)

    async def tags(self, image: str) -> tuple[str, ...]:
        if self.shy:
            raise OutsideError("quay.io: HTTP 403")
        name = image.rpartition(":")[0]
        return tuple(each.rpartition(":")[2] for each in self.images if each.startswith(name))

    async def close(self) -> None:
        self.closed = True


def estate(*pins: str, default: str = "ed21267") -> Estate:
    accounts = ("ter-int-dev", "app-sre")
    overrides = "".join(
        f"    - {{shard: {account}, imageRef: {pin}}}\n"
        for account, pin in zip(accounts, pins, strict=False)
    )
    written = f"""
- namespace: {{$ref: {PRODUCTION}}}
  spec: {{imageRef: {default}, resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}}}
  sharding:
    strategy: per-aws-account
    shardSpecOverrides:
{overrides}"""
    bundle = with_integration(integration(written))
    assert not bundle.errors
    declared = INTEGRATIONS.of(bundle)
    return estate_of(declared.integrations, declared.inventories, Problems())


def settle(shelf: Shelf | None, *estates: Estate) -> tuple[list[Estate], Problems]:
    problems = Problems()

    async def story() -> list[Estate]:
        digests = Digests(shelf)
        found = [await digests.settle(each, problems) for each in estates]
        await digests.close()
        return found

    return patiently(story()), problems


def test_without_a_registry_nothing_changes() -> None:
    plain = estate("f929a38")
    (found,), problems = settle(None, plain)
    assert found == plain
    assert not problems.errors
    assert not problems.warnings


def test_every_image_is_asked_for_once() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE, f"{REPOSITORY}:f929a38": TWO})
    (found,), problems = settle(shelf, estate("f929a38", "f929a38"))
    (place,) = found.places
    assert sorted(shelf.asked) == sorted(shelf.images)
    assert place.revision == f"ed21267@{ONE}"
    assert {place.wanted(unit) for unit in place.units} == {f"ed21267@{ONE}", f"f929a38@{TWO}"}
    assert not problems.errors
    assert shelf.closed


def test_an_image_that_is_not_there_is_reported_and_reaches_nothing() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})
    (found,), problems = settle(shelf, estate("ed21276"))
    (told,) = problems.errors
    assert told.path == "integrations/it.yml:10"
    assert told.message == f"there is no image {REPOSITORY}:ed21276"
    assert told.remedy == 'did you mean "ed21267"?'
    assert len(found.places[0].units) == 2
    assert not found.complete


def test_a_mistake_made_twice_is_reported_twice() -> None:
    """Both are shown at once, and not one after the other."""
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})
    _, problems = settle(shelf, estate("ed21276", "ed21276"))
    assert {each.path for each in problems.errors} == {
        "integrations/it.yml:10",
        "integrations/it.yml:11",
    }


def test_what_may_have_been_meant_depends_on_what_there_is() -> None:
    shelf = Shelf({})
    _, problems = settle(shelf, estate())
    assert problems.errors[0].remedy == f"nothing was ever pushed to {REPOSITORY}"
    shelf = Shelf({f"{REPOSITORY}:v1": ONE, f"{REPOSITORY}:v2": ONE})
    _, problems = settle(shelf, estate())
    assert problems.errors[0].remedy == 'push "ed21267", or write one of its 2 tags'
    shelf.shy = True
    _, problems = settle(shelf, estate())
    assert problems.errors[0].remedy == "push it, or write another tag (quay.io: HTTP 403)"


def test_without_an_answer_what_was_last_known_stays() -> None:
    """A rollout under way must not take a registry that is down for another revision."""
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})
    problems = Problems()

    async def story() -> list[str]:
        digests, revisions = Digests(shelf), []
        for down, now in ((False, ONE), (True, TWO), (False, TWO)):
            shelf.down, shelf.images = down, {f"{REPOSITORY}:ed21267": now}
            revisions.append((await digests.settle(estate(), problems)).places[0].revision)
        return revisions

    assert patiently(story()) == [f"ed21267@{ONE}", f"ed21267@{ONE}", f"ed21267@{TWO}"]
    (told,) = problems.warnings
    assert told.message == f"quay.io: HTTP 503 (3 tries); asked for {REPOSITORY}:ed21267"
    assert told.remedy == "goes on with 1 by the digest last known"


def test_what_was_never_known_keeps_its_tag_and_one_word_is_said() -> None:
    shelf = Shelf({})
    shelf.down = True
    (found,), problems = settle(shelf, estate("f929a38", "a1b2c3d"))
    assert found.places[0].revision == "ed21267"
    assert found.complete
    (told,) = problems.warnings
    assert told.message.endswith(", and 2 more")
    assert told.remedy == "goes on with 3 by tag"
    assert not problems.errors


def test_an_image_that_was_taken_away_is_not_remembered() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})

    async def story() -> list[list[str]]:
        digests, places = Digests(shelf), []
        for images, down in ((dict(shelf.images), False), ({}, False), ({}, True)):
            shelf.images, shelf.down = images, down
            found = await digests.settle(estate(), Problems())
            places.append([place.revision for place in found.places])
        return places

    assert patiently(story()) == [[f"ed21267@{ONE}"], [], ["ed21267"]]


class Shown:
    """A bundle that changes when a test says so."""

    def __init__(self, first: Estate) -> None:
        self.now = first

    async def read(self) -> Estate:
        return self.now


def test_a_bundle_is_settled_when_it_changes_and_looked_at_again_beside() -> None:
    """A tag that moves is seen without waiting for it."""
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE, f"{REPOSITORY}:f929a38": TWO})
    said: list[str] = []

    async def story() -> list[str]:
        shown = Shown(estate())
        estates = SettledEstates(
            shown, Digests(shelf), lambda each: said.append(each.text()), every_s=0
        )
        seen = [(await estates.read()).places[0].revision]
        shelf.images[f"{REPOSITORY}:ed21267"] = TWO
        # Asked beside: this reading still has what was known.
        seen.append((await estates.read()).places[0].revision)
        await asyncio.sleep(0.05)
        seen.append((await estates.read()).places[0].revision)
        shown.now = estate(default="f929a38")
        seen.append((await estates.read()).places[0].revision)
        await estates.close()
        return seen

    assert patiently(story()) == [
        f"ed21267@{ONE}",
        f"ed21267@{ONE}",
        f"ed21267@{TWO}",
        f"f929a38@{TWO}",
    ]
    assert said == []


def test_a_registry_that_hangs_delays_nothing_with_a_known_digest() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})

    async def hang() -> str | None:
        await asyncio.sleep(3600)
        raise AssertionError

    async def story() -> list[str]:
        estates = SettledEstates(Shown(estate()), Digests(shelf), every_s=0)
        seen = [(await estates.read()).places[0].revision]
        shelf.instead = hang
        async with asyncio.timeout(5):
            seen += [(await estates.read()).places[0].revision for _ in range(3)]
            await estates.close()
        return seen

    assert patiently(story()) == [f"ed21267@{ONE}"] * 4


def test_a_trouble_is_reported_once_and_again_when_it_comes_back() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})
    said: list[str] = []

    async def story() -> None:
        shown = Shown(estate())
        estates = SettledEstates(
            shown, Digests(shelf), lambda each: said.append(each.text()), every_s=3600
        )
        for down in (True, True, False, True):
            shelf.down = down
            shown.now = estate()
            await estates.read()
        await estates.close()

    patiently(story())
    assert len(said) == 2
    assert "goes on with 1 by tag" in said[0]
    assert "goes on with 1 by the digest last known" in said[1]


def test_a_bug_beside_is_not_swallowed() -> None:
    shelf = Shelf({f"{REPOSITORY}:ed21267": ONE})

    async def broken() -> str | None:
        raise ZeroDivisionError

    async def story() -> None:
        estates = SettledEstates(Shown(estate()), Digests(shelf), every_s=0)
        await estates.read()
        shelf.instead = broken
        await estates.read()
        await asyncio.sleep(0.05)
        with pytest.raises(ExceptionGroup) as found:
            await estates.read()
        assert found.group_contains(ZeroDivisionError)
        await estates.close()

    patiently(story())


def test_not_all_is_asked_at_once() -> None:
    names = [f"{number:07x}" for number in range(3)]
    shelf = Shelf({f"{REPOSITORY}:{name}": ONE for name in names})
    images = [f"{REPOSITORY}:{number:07x}" for number in range(200)]
    answers = patiently(settling._all(shelf, images))
    assert len(answers) == 200
    assert shelf.most_at_once <= settling.AT_ONCE_MAX
