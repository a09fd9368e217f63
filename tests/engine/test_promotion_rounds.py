"""A promotion observed, decided, offered and merged on real repositories, as its journal has it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.git_repos import clone, commit, git
from tests.promoted import JENKINS, Source, make_bundle, make_source
from tidegate.forge.client.local import LocalForge
from tidegate.gates.brakes import Brakes
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING
from tidegate.git.client.repository import open_repository
from tidegate.git.port import Repository
from tidegate.journal.fact import Fact, Mode
from tidegate.kinds.promotions.app.observation import observe, offer, partitions
from tidegate.kinds.promotions.app.ports import ChangeReach, PromotionPorts
from tidegate.kinds.promotions.core.decide import PromotionDecision, decide
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionRead,
    PromotionRefused,
    Verified,
)
from tidegate.kinds.promotions.core.journal.known import PromotionState, world_of
from tidegate.kinds.promotions.core.journal.record import decided_fact
from tidegate.kinds.promotions.core.journal.state import fold
from tidegate.kinds.promotions.core.world import CheckedIn, ImageState, OfferState
from tidegate.model.problem import Problem
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Instant

NAME = "promotions/qontract-reconcile"


class Outside:
    """The artifact's repository, a registry that has every image, and a bundle without errors."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._folder = clone(source, folder / "source")
        self.errors: tuple[Problem, ...] = ()

    def artifact(self, address: str) -> Repository:
        found = open_repository(self._folder)
        found.fetch()
        return found

    schemas = artifact

    async def state(self, image: str) -> ImageState:
        return ImageState.THERE

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> ChangeReach:
        return ChangeReach(new_errors=self.errors)


class Round:
    """What a worker does, one step at a time."""

    def __init__(self, folder: Path, source: Source) -> None:
        self.bare, self.clone = make_bundle(folder, source)
        self.outside = Outside(source.bare, folder)
        self.forge = LocalForge(self.bare)
        self.ports = PromotionPorts(
            bundle=open_repository(self.clone),
            folder=str(self.clone),
            repositories=self.outside,
            images=self.outside,
            reach=self.outside,
        )
        self.state = PromotionState()
        self.now = Instant(0)

    def record(self, *facts: Fact) -> None:
        """Fold some facts, a second later."""
        self.now = Instant(self.now + SECOND)
        for fact in facts:
            self.state = fold(self.state, self.now, fact, "worker")

    def observe(self) -> tuple[Fact, ...]:
        """Read everything, and record what is new."""
        (partition,) = asyncio.run(partitions(self.ports))
        facts = asyncio.run(observe(self.ports, self.forge, partition, self.state))
        self.record(*facts)
        return facts

    def decide(self) -> PromotionDecision:
        """Decide, and record it."""
        world = world_of(self.state, None)
        assert world is not None
        decision = decide(world, self.now)
        self.record(decided_fact(NAME, 7, self.state, world, decision, self.now, Mode.ACT))
        return decision

    def act(self, decision: PromotionDecision, brakes: Brakes | None = None) -> Fact:
        """Offer what was decided, and record what came of it."""
        assert decision.changes
        made = asyncio.run(
            offer(self.ports, self.forge, NAME, decision.changes[0], brakes or Brakes(), self.now)
        )
        self.record(made)
        return made

    def shut(self) -> set[str]:
        """The reasons for which nothing moves."""
        options = self.decide().options
        return {
            v.reason.value for o in options for v in o.verdicts if v.outcome is not Outcome.PASS
        }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def round_(tmp_path: Path, source: Source) -> Round:
    """A bundle of one's own."""
    return Round(tmp_path, source)


def test_a_promotion_goes_from_a_reading_to_what_is_merged(round_: Round, source: Source) -> None:
    """Read, offered in one merge request, seen merged, read again: done, and nothing is new."""
    (read,) = round_.observe()
    assert isinstance(read, PromotionRead)
    assert read.version == source.newest
    assert round_.observe() == ()
    made = round_.act(round_.decide())
    assert isinstance(made, Offered)
    assert made.number is not None
    assert set(made.verdicts) == set(made.environments)
    assert round_.observe() == ()
    assert "OfferOpen" in round_.shut()

    asyncio.run(round_.forge.merge(made.number))
    reread, verified, seen = round_.observe()
    assert isinstance(reread, PromotionRead)
    assert isinstance(verified, Verified)
    # No cluster is read here: what is seen is that the files have it.
    assert {each.environment for each in verified.checks} == set(made.environments)
    assert {(each.matches, each.seen_in) for each in verified.checks} == {(True, CheckedIn.BUNDLE)}
    assert isinstance(seen, MergeRequestSeen)
    assert (seen.state, seen.environments) == (OfferState.MERGED, made.environments)
    assert round_.shut() <= {"Done", "FollowsBranch"}
    assert isinstance(round_.observe()[0], PromotionRead)  # the reading after the merge
    assert round_.observe() == ()


def test_an_offer_that_was_declined_is_not_made_again(round_: Round) -> None:
    """A person said no; only a newer version, or `retry`, asks again."""
    round_.observe()
    made = round_.act(round_.decide())
    assert isinstance(made, Offered)
    assert made.number is not None
    asyncio.run(round_.forge.decline(made.number))
    (seen,) = round_.observe()
    assert isinstance(seen, MergeRequestSeen)
    assert seen.state is OfferState.CLOSED
    assert "OfferClosed" in round_.shut()


def test_a_change_is_checked_again_before_it_is_made(round_: Round) -> None:
    """A hold that came in between, or an error the change would bring, refuses it."""
    round_.observe()
    decision = round_.decide()
    hold = Hold(name="h", scope=EVERYTHING, why="w", owner="o")
    refused = round_.act(decision, Brakes(holds=(hold,)))
    assert isinstance(refused, PromotionRefused)
    assert refused.by == "gates"
    assert any("Held" in reason for marks in refused.verdicts.values() for _, _, reason, _ in marks)
    assert asyncio.run(round_.forge.find()) == ()
    assert "OfferRefusedForNow" in round_.shut()

    round_.outside.errors = (Problem("data/x.yml:1", "wrong", "write it right"),)
    refused = round_.act(decision)
    assert isinstance(refused, PromotionRefused)
    assert (refused.by, refused.until) == ("bundle", None)
    assert "data/x.yml:1" in refused.why
    assert "OfferRefused" in round_.shut()


def test_what_others_change_meanwhile_is_read_and_not_overwritten(
    round_: Round, source: Source
) -> None:
    """The bundle has another version by the time of the offer: it is decided anew."""
    round_.observe()
    decision = round_.decide()
    text = f"- {{qontract_reconcile_image_tag: {source.newest[:7]}}}\n"
    commit(round_.clone, {JENKINS: text}, "by hand")
    git(round_.clone, "push", "-q", "origin", "HEAD:main")
    refused = round_.act(decision)
    assert isinstance(refused, PromotionRefused)
    assert refused.why == "no longer open for jenkins"
