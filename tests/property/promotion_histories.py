"""Histories of promotions: facts in any order, for laws of the fold and of the decision."""

from collections.abc import Iterable

from hypothesis import strategies as st

from tidegate.git.history import Ancestry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Acted, Asked, TaskOutcome, Verb, Withdrawn
from tidegate.journal.verdict_marks import marks_of
from tidegate.kinds.promotions.core.decide import PromotionDecision, VersionChange, decide
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionRead,
    PromotionRefused,
    PromotionTask,
    Verified,
    VersionRequested,
)
from tidegate.kinds.promotions.core.journal.known import PromotionState, world_of
from tidegate.kinds.promotions.core.journal.record import decided_fact
from tidegate.kinds.promotions.core.journal.state import fold
from tidegate.kinds.promotions.core.model import (
    Artifact,
    CommitForm,
    Promotion,
    PromotionEnvironment,
    WrittenVersion,
)
from tidegate.kinds.promotions.core.world import (
    CheckedIn,
    ImageState,
    OfferState,
    PromotionWorld,
    Relation,
    RequestedReading,
    RunningCheck,
)
from tidegate.model.time import SECOND, Instant

NAMES = ("stage", "first", "second", "third")
PROMOTION = Promotion(
    name="p",
    artifact=Artifact(),
    environments=(
        PromotionEnvironment(name="stage", follows="main"),
        PromotionEnvironment(name="first"),
        PromotionEnvironment(name="second", after=("first",)),
        PromotionEnvironment(name="third", after=("first", "second")),
    ),
    where="here",
)
MOVING = NAMES[1:]
VERSIONS = tuple(f"{number:02x}" * 20 for number in range(4))
PARTITION = "promotions/p"

Step = tuple[str, object]


def relations(version: int) -> dict[str, Relation]:
    """How a version of a line of commits relates to all of them; main has them all."""
    found = {
        VERSIONS[at]: Relation(_ancestry(at, version), abs(version - at))
        for at in range(len(VERSIONS))
    }
    return {**found, "main": Relation(Ancestry.SAME)}


def _ancestry(old: int, new: int) -> Ancestry:
    if old == new:
        return Ancestry.SAME
    return Ancestry.AHEAD if new > old else Ancestry.BEHIND


def written(at: Iterable[int]) -> tuple[WrittenVersion, ...]:
    """One value in each environment."""
    return tuple(
        WrittenVersion(
            environment=name, file=name, line=1, value=VERSIONS[number], form=CommitForm.FULL
        )
        for name, number in zip(MOVING, at, strict=True)
    )


STEPS = st.one_of(
    st.tuples(st.just("read"), st.tuples(*[st.integers(0, 3)] * 4)),
    st.tuples(st.just("newest"), st.integers(0, 3)),
    # Most of all a newer version, and an offer of it: what the laws are about.
    st.tuples(st.just("newer"), st.just(None)),
    st.tuples(st.just("decide"), st.just("offer")),
    st.tuples(st.just("decide"), st.sampled_from(("offer", "fail", "refuse", "drop", "nothing"))),
    st.tuples(
        st.just("request"),
        st.tuples(
            st.sampled_from(MOVING), st.sampled_from(OfferState), st.sampled_from(("", "jdoe"))
        ),
    ),
    st.tuples(
        st.just("check"),
        st.tuples(st.sampled_from(MOVING), st.booleans(), st.sampled_from(CheckedIn)),
    ),
    st.tuples(st.just("asked"), st.sampled_from((Verb.PAUSE, Verb.RESUME, Verb.ABORT, Verb.RETRY))),
    st.tuples(st.just("refused"), st.tuples(st.sampled_from(MOVING), st.booleans())),
    st.tuples(st.just("image"), st.sampled_from(ImageState)),
    # A person wants another version: some environments, the version, whether it may be older.
    st.tuples(
        st.just("want"),
        st.tuples(
            st.lists(st.sampled_from(MOVING), min_size=1, max_size=3, unique=True),
            st.integers(0, 3),
            st.booleans(),
        ),
    ),
    st.tuples(st.just("look"), st.sampled_from(("", "no such commit"))),
    st.tuples(st.just("withdraw"), st.sampled_from(MOVING)),
)
HISTORIES = st.lists(STEPS, min_size=5, max_size=30)


class History:
    """A promotion that is read, decided, offered, merged and checked, as the steps say."""

    def __init__(self) -> None:
        self.state = PromotionState()
        self.now = Instant(0)
        self.facts: list[tuple[Instant, Fact]] = []
        # Every offer that was made, in order.
        self.offers: list[tuple[PromotionWorld, VersionChange]] = []
        self.add(
            PromotionRead(
                promotion=PROMOTION,
                base="b0",
                written=written((0, 0, 0)),
                version=VERSIONS[1],
                relations=relations(1),
            )
        )

    def add(self, fact: Fact) -> None:
        """One more fact, a second later."""
        self.now = Instant(self.now + SECOND)
        self.facts.append((self.now, fact))
        self.state = fold(self.state, self.now, fact, "user:ada")

    @property
    def world(self) -> PromotionWorld:
        """The world as it is now."""
        found = world_of(self.state, None)
        assert found is not None
        return found

    @property
    def version(self) -> int:
        """The number of the newest version."""
        return VERSIONS.index(self.world.version)

    def run(self, steps: Iterable[Step]) -> "History":
        """Take all steps."""
        for word, what in steps:
            getattr(self, f"_{word}")(what)
        return self

    def _read(self, numbers: tuple[int, ...]) -> None:
        newest = numbers[-1]
        self.add(
            PromotionRead(
                base=f"b{len(self.facts)}",
                written=written(numbers[:-1]),
                version=VERSIONS[newest],
                relations=relations(newest),
            )
        )

    def _newest(self, number: int) -> None:
        self.add(PromotionRead(version=VERSIONS[number], relations=relations(number)))

    def _newer(self, _: None) -> None:
        self._newest(min(self.version + 1, len(VERSIONS) - 1))

    def _image(self, image: ImageState) -> None:
        self.add(PromotionRead(image="i", image_state=image))

    def _decide(self, outcome: str) -> None:
        world = self.world
        decision = decide(world, self.now)
        fact = decided_fact(
            PARTITION, len(self.facts), self.state, world, decision, self.now, Mode.ACT
        )
        self.add(fact)
        assert [task.change for task in fact.tasks] == list(decision.changes)
        for task in fact.tasks:
            self.offers.append((world, task.change))
            self._carry_out(outcome, world, decision, task)

    def _carry_out(
        self,
        outcome: str,
        world: PromotionWorld,
        decision: PromotionDecision,
        task: PromotionTask,
    ) -> None:
        if outcome == "offer":
            targets = world.targets()
            verdicts = {
                targets[each.target].name: marks_of(each.verdicts) for each in decision.options
            }
            self.add(
                Offered(
                    environments=task.change.environments,
                    version=task.change.version,
                    branch=task.change.branch or "-".join(task.change.environments),
                    commit="c",
                    number=1,
                    verdicts=verdicts,
                )
            )
        elif outcome != "nothing":
            ended = {
                "fail": TaskOutcome.FAILED,
                "refuse": TaskOutcome.FAILED,
                "drop": TaskOutcome.DROPPED,
            }
            self.add(
                Acted(
                    key=task.key,
                    target=task.target,
                    outcome=ended[outcome],
                    detail="why",
                    refused=outcome == "refuse",
                )
            )

    def _want(self, what: tuple[list[str], int, bool]) -> None:
        names, number, backward = what
        self.add(
            VersionRequested(
                ident=f"r{len(self.facts)}",
                ref=VERSIONS[number],
                environments=tuple(each for each in MOVING if each in names),
                backward=backward,
                reason="why",
            )
        )

    def _look(self, problem: str) -> None:
        """What people requested is read, or cannot be."""
        found = {
            each.ident: RequestedReading(problem=problem)
            if problem
            else RequestedReading(version=each.ref, relations=relations(VERSIONS.index(each.ref)))
            for each in self.state.requests.values()
        }
        self.add(PromotionRead(requested=found))

    def _withdraw(self, name: str) -> None:
        if (request := self.state.requests.get(name)) is not None:
            self.add(Withdrawn(ident=request.ident, reason="why"))

    def _request(self, what: tuple[str, OfferState] | tuple[str, OfferState, str]) -> None:
        name, state, by = (*what, "")[:3]
        offer = self.state.offers.get(name)
        if offer is not None:
            number = offer.number
            self.add(MergeRequestSeen(branch=offer.branch, number=number, state=state, by=by))

    def _check(self, what: tuple[str, bool] | tuple[str, bool, CheckedIn]) -> None:
        name, matches, where = (*what, CheckedIn.CLUSTERS)[:3]
        check = RunningCheck(
            environment=name, version=self.world.version, matches=matches, seen_in=where
        )
        self.add(Verified(checks=(check,)))

    def _asked(self, verb: Verb) -> None:
        self.add(Asked(verb=verb))

    def _refused(self, what: tuple[str, bool]) -> None:
        name, lasts = what
        until = None if lasts else Instant(self.now + 10 * SECOND)
        self.add(
            PromotionRefused(
                environments=(name,), version=self.world.version, by="forge", why="w", until=until
            )
        )
