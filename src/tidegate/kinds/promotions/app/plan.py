"""Plans a promotion: what every gate says, which lines and shards change, whose work goes out."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from tidegate.edit.edits import Edited
from tidegate.explain.verdict_part import verdict_part
from tidegate.forge.port import Forge
from tidegate.gates.brakes import Brakes
from tidegate.git.history import SHORT
from tidegate.git.port import Repository
from tidegate.journal.facts import HandledObject
from tidegate.journal.verdict_marks import marks_of
from tidegate.kinds.promotions.app.checkout import PromotionCheckout
from tidegate.kinds.promotions.app.documents import (
    AbsentEnvironment,
    EnvironmentPlan,
    FollowedBranch,
    PinnedShard,
    PromotionPlan,
    ReachPart,
    RemainingLine,
    VersionEdit,
    author_part,
)
from tidegate.kinds.promotions.app.ports import ChangeReach, PromotionPorts
from tidegate.kinds.promotions.app.proposal_text import (
    ProposalFacts,
    commit_message,
    description,
    key,
    title,
)
from tidegate.kinds.promotions.app.survey import (
    PromotionRequest,
    PromotionSurvey,
    reading_of,
    survey,
)
from tidegate.kinds.promotions.core.authors import authors_of
from tidegate.kinds.promotions.core.decide import KIND, decide
from tidegate.kinds.promotions.core.journal.facts import Offered
from tidegate.kinds.promotions.core.journal.known import (
    PromotionReading,
    PromotionState,
    with_history,
)
from tidegate.kinds.promotions.core.model import (
    SCHEMAS,
    PromotionEnvironment,
    WrittenVersion,
    compare_link,
)
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.files.remains import RemainingVersion, remains
from tidegate.kinds.promotions.files.versions import Spot, find_versions, rewritten
from tidegate.model.errors import StaleError, UserError
from tidegate.model.plan import Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Instant, format_second
from tidegate.model.verdict import all_pass
from tidegate.propose.change import ProposedChange
from tidegate.propose.offer import Offer

# An environment with one of these needs nothing.
_FINISHED = frozenset((ProgressReason.Done, PromotionReason.FollowsBranch))


# The state of a promotion by its name, as a journal has it; None: nothing is recorded.
StateOf = Callable[[str], PromotionState | None]


async def plan_promotion(
    ports: PromotionPorts,
    request: PromotionRequest,
    brakes: Brakes,
    now: Instant,
    state_of: StateOf = lambda _: None,
) -> "PlannedPromotion":
    """Read everything, and decide. UserError if the bundle would have new errors.

    With `state_of` the decision knows earlier offers, checks and refusals; without it, as for a
    promotion by hand, an open merge request is found and updated.
    """
    checkout = await asyncio.to_thread(_checkout, ports, request)
    found = await survey(checkout, request, brakes)
    state = state_of(checkout.promotion.name)
    if state is not None:
        found = PromotionSurvey(with_history(found.world, state), found.comparisons)
    return await asyncio.to_thread(PlannedPromotion, checkout, found, now)


def _checkout(ports: PromotionPorts, request: PromotionRequest) -> PromotionCheckout:
    return PromotionCheckout(
        ports, request.promotion, request.base, to=request.to, of_schemas=request.of_schemas
    )


class PlannedPromotion:
    """One decision about a promotion: its document, and the change of files to offer."""

    def __init__(self, checkout: PromotionCheckout, found: PromotionSurvey, now: Instant) -> None:
        self.checkout = checkout
        self._survey, self._now = found, now
        self.world = found.world
        self.decision = decide(found.world, now)
        self.moved = tuple(action.target for action in self.decision.actions)
        # What waits is shown as well: what it would change.
        self._shown = tuple(
            environment.name
            for option, environment in self._options()
            if any(each.reason is PromotionReason.PlacesFound for each in option.verdicts)
        )
        self.edited = self._edited(self.moved)
        self._would = self._edited(self._shown) if self._shown != self.moved else self.edited
        self._reach = self._reach_of(self._would)
        if self._would and self._reach.new_errors:
            raise UserError(self._reach.new_errors, where="the bundle would have new errors")
        self.facts = self._facts(self._shown, self._reach)

    def _options(self) -> Iterator[tuple[Option, PromotionEnvironment]]:
        return zip(self.decision.options, self.world.targets(), strict=True)

    def _edited(self, environments: tuple[str, ...]) -> dict[str, Edited]:
        versions = {name: self.world.wanted(name) for name in environments}
        return rewritten(self.checkout.files, self.checkout.written.spots, versions)

    def _reach_of(self, edited: Mapping[str, Edited]) -> ChangeReach:
        if not edited and self.world.promotion.name != SCHEMAS:
            return ChangeReach()
        root = self.checkout.root
        files = {f"{root}{path}": each.data for path, each in edited.items()}
        ports, base = self.checkout.ports, self.checkout.base
        return ports.reach(base, ports.with_holds(base, files))

    @property
    def waits(self) -> bool:
        """Whether a selected environment has to wait, and does not have the version already."""
        return any(state_of(option) == "waits" for option in self.decision.options)

    def _changes(self, environments: tuple[str, ...]) -> tuple[WrittenVersion, ...]:
        """The values that change, in the order of environments."""
        versions = {name: self.world.wanted(name) for name in environments}
        return tuple(
            each
            for each in self.world.written
            if each.environment in versions
            and each.is_commit
            and not each.has(versions[each.environment])
        )

    def _facts(self, environments: tuple[str, ...], reach: ChangeReach) -> ProposalFacts:
        version, changes = self.world.version, self._changes(environments)
        values = dict.fromkeys(each.value for each in changes)
        found = [self._survey.comparisons[value] for value in values]
        address = self.checkout.public_address
        links = {
            name: compare_link(address, name, version)
            for name in dict.fromkeys(each.name for each in found if each.name)
            if name != version and compare_link(address, name, version)
        }
        return ProposalFacts(
            name=self.world.promotion.name,
            version=version,
            environments=environments,
            edits=changes,
            authors=authors_of(commit for each in found for commit in each.brings),
            links=links,
            reached=reach.reached,
            warnings=tuple(self._warnings()),
            remaining=self._remaining(),
        )

    def _warnings(self) -> Iterator[str]:
        """What is unusual and does not keep anything from moving."""
        if self.world.promotion.name == SCHEMAS:
            for name, where in self._reach.pinned:
                yield f"{name} has an image of its own ({where}): it must read the new schemas"
        errors = self._reach.errors_before
        if errors and self._would:
            wrong = f"{errors} errors" if errors > 1 else "an error"
            yield f"the bundle has {wrong}: shards it concerns are not counted (`validate`)"
        comparisons = self._survey.comparisons
        for name in self._shown:
            values = {each.value: each for each in self.world.commits_in(name)}
            if len({comparisons[value].name or value for value in values}) > 1:
                where = ", ".join(
                    f"{w.value[:SHORT]} in {w.file}:{w.line}" for w in values.values()
                )
                yield f"the places of {name} do not agree: {where}"
        for value in sorted({each.value for each in self._changes(self._shown)}):
            if lost := comparisons[value].loses:
                first = f"{lost[0].subject!r} first"
                yield f"{len(lost)} commits of {value[:SHORT]} would be lost, {first}"

    def files_at(self, base: str) -> dict[str, bytes | None]:
        """What to write on a commit; StaleError if its versions are not those that were read."""
        files = self.checkout.files_at(base)
        there = find_versions(files, self.world.promotion)
        read = self.checkout.written.spots
        if _values(there.spots, self.moved) != _values(read, self.moved):
            raise StaleError("the bundle changed what is promoted meanwhile; run the same again")
        versions = dict.fromkeys(self.moved, self.world.version)
        made = rewritten(files, there.spots, versions)
        changed = {f"{self.checkout.root}{path}": each.data for path, each in made.items()}
        return dict(self.checkout.ports.with_holds(base, changed))

    def offer(self, reason: str, picture: str = "") -> Offer:
        """The change, ready to be offered; `picture`: the address of one to show with it."""
        facts = self.facts
        if self.moved != self._shown:
            facts = self._facts(self.moved, self._reach_of(self.edited))
        facts = msgspec.structs.replace(facts, reason=reason, picture=picture)

        async def described(forge: Forge) -> str:
            mentions = {
                author.email: await forge.mention(author.name, author.email)
                for author in facts.authors
            }
            return description(msgspec.structs.replace(facts, mentions=mentions))

        def files(_: Repository, base: str) -> Mapping[str, bytes | None]:
            return self.files_at(base)

        return Offer(
            title=title(facts),
            description=described,
            key=key(facts),
            files=files,
            message=commit_message(facts),
        )

    def offered(self, done: ProposedChange, reason: str) -> Offered:
        """The fact of an offer."""
        request = done.request
        return Offered(
            environments=self.moved,
            version=self.world.version,
            branch=done.branch,
            commit=done.commit,
            url="" if request is None else request.url,
            number=None if request is None else request.number,
            verdicts={
                environment.name: marks_of(option.verdicts)
                for option, environment in self._options()
            },
            reason=reason,
        )

    def reading(self) -> PromotionReading:
        """What was read, as it is recorded."""
        return reading_of(self.checkout, self._survey)

    def handled(self, done: ProposedChange) -> tuple[HandledObject, ...]:
        """What the journal of acts by hand keeps of an offer."""
        where = done.request.url if done.request is not None else done.branch
        return tuple(
            HandledObject(f"{KIND}/{name}", "offered", f"{self.world.version} in {where}")
            for name in self.moved
        )

    def document(self) -> PromotionPlan:
        """All of it."""
        world, facts = self.world, self.facts
        repository = self.checkout.repository
        return PromotionPlan(
            name=world.promotion.name,
            version=world.version,
            base=self.checkout.base,
            repository=repository.url or self.checkout.ports.folder,
            at=format_second(self._now),
            image=world.image or None,
            environments=tuple(self._environments()),
            edits=tuple(self._edits()),
            left_alone=tuple(self._followed()),
            authors=tuple(map(author_part, facts.authors)),
            compare=tuple(facts.links.values()),
            shards=tuple(
                ReachPart(
                    environment=each.environment,
                    shards=each.shards,
                    clusters=each.clusters,
                    pinned=tuple(PinnedShard(shard=n, where=w) for n, w in each.pinned),
                )
                for each in facts.reached
            ),
            warnings=facts.warnings,
            not_found=tuple(self._absent()),
            remaining=tuple(
                RemainingLine(file=each.file, line=each.line, value=each.value)
                for each in self.facts.remaining
            ),
        )

    def _absent(self) -> Iterator[AbsentEnvironment]:
        """Environments that nothing is known of; where some are selected, others are not meant."""
        names = {each.name for each in self.world.targets()}
        for each in () if self.world.to else self.world.promotion.environments:
            if each.name not in names and not each.follows:
                yield AbsentEnvironment(name=each.name, places=tuple(map(str, each.places)))

    def _remaining(self) -> tuple[RemainingVersion, ...]:
        """Where the versions that are replaced still stand afterwards."""
        root = self.checkout.root
        values = dict.fromkeys(each.value for each in self._changes(self.moved))
        return remains(
            self.checkout.repository,
            self.checkout.base,
            {self._survey.comparisons[value].name or value for value in values},
            {f"{root}{path}": each.data for path, each in self.edited.items()},
            {(f"{root}{each.file}", each.line) for each in self.world.written},
        )

    def _environments(self) -> Iterator[EnvironmentPlan]:
        for option, environment in self._options():
            written = self.world.commits_in(environment.name)
            yield EnvironmentPlan(
                name=environment.name,
                moves=all_pass(option.verdicts),
                state=state_of(option),
                version=self.world.wanted(environment.name),
                holds=tuple(dict.fromkeys(each.value for each in written)),
                verdicts=tuple(map(verdict_part, option.verdicts)),
            )

    def _edits(self) -> Iterator[VersionEdit]:
        for each in self.facts.edits:
            yield VersionEdit(
                environment=each.environment,
                moves=each.environment in self.moved,
                file=f"{self.checkout.root}{each.file}",
                line=each.line,
                old=each.value,
                new=each.text_for(self.world.wanted(each.environment)),
                target=each.note or None,
            )

    def _followed(self) -> Iterator[FollowedBranch]:
        for each in self.world.written:
            if not each.is_commit:
                yield FollowedBranch(
                    file=self.checkout.path(each.file, each.line),
                    value=each.value,
                    environment=each.environment,
                    target=each.note or None,
                )


def state_of(option: Option) -> str:
    """An environment in one word: it moves, has the version already, or waits."""
    if all_pass(option.verdicts):
        return "moves"
    return "there" if any(each.reason in _FINISHED for each in option.verdicts) else "waits"


def _values(spots: Iterable[Spot], environments: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for spot in spots:
        if spot.value.environment in environments:
            at = spot.value.environment, spot.value.file
            found.setdefault(at, []).append(spot.value.value)
    return found
