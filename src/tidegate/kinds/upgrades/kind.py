"""Upgrades as a worker runs them: organisations that are surveyed beside the rounds.

A round is called for by a survey, by time, and by a brake; it acts only on a fresh survey, and asks
for one where it is not.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.engine.kind import Kind
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import TaskOutcome
from tidegate.kinds.upgrades.app.news import news_of
from tidegate.kinds.upgrades.app.owners.soak_address import SoakAddresses
from tidegate.kinds.upgrades.app.requests import request
from tidegate.kinds.upgrades.app.service_log import write_log
from tidegate.kinds.upgrades.app.surveys import OrganisationReading, Surveys
from tidegate.kinds.upgrades.core.advance_notice import upcoming
from tidegate.kinds.upgrades.core.journal.facts import Job
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan, OrganisationWorld
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.rules.agreements import due_notices
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice
from tidegate.kinds.upgrades.core.schedule.schedule import LAST_LOOK
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.errors import StaleError
from tidegate.model.time import SECOND, Duration, Instant

if TYPE_CHECKING:
    from tidegate.engine.round import Round

# How old a survey may be that is acted on.
FRESH = Duration(60 * SECOND)


class UpgradeKind(Kind[UpgradeState, OrganisationWorld, OrganisationPlan, OrganisationReading]):
    """The organisations that are served."""

    def __init__(
        self, surveys: Surveys, fresh: Duration = FRESH, addresses: SoakAddresses | None = None
    ) -> None:
        keys = (each.removeprefix(f"{PARTITION}/") for each in surveys.served)
        super().__init__(UpgradeRules(frozenset(keys)))
        self.surveys = surveys
        self._fresh = fresh
        self._addresses = addresses or SoakAddresses()

    async def partitions(self) -> list[str]:
        """Every organisation that is served."""
        return sorted(self.surveys.served)

    def changes(self) -> AsyncIterator[str]:
        """Organisations that were surveyed."""
        return self.surveys.changes()

    async def observe(self, partition: str) -> OrganisationReading | None:
        """The last survey; None: there is none yet, but it is on its way."""
        return self.surveys.reading(partition)

    def news(
        self, state: UpgradeState, seen: OrganisationReading, _now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What a survey shows that is not known; that nothing is new is a fact too."""
        if state.surveyed_at is not None and seen.ended_at <= state.surveyed_at:
            return ()
        registration = self.surveys.served[seen.partition]
        return [(seen.ended_at, news_of(state, seen, registration, seen.ended_at))]

    def acts_until(self, seen: OrganisationReading) -> Instant | None:
        """A survey is acted on for a minute."""
        return Instant(seen.ended_at + self._fresh)

    def observe_soon(self, partition: str) -> None:
        """Survey again."""
        self.surveys.ask(partition)

    def system_of(self, partition: str) -> str:
        """The OpenShift Cluster Manager of an organisation."""
        return self.surveys.served[partition].environment

    async def act(self, partition: str, state: UpgradeState, task: Any) -> str:
        """Ask OpenShift Cluster Manager for one thing."""
        assert isinstance(task, Job)
        try:
            return await request(self.surveys.manager_of(partition), state, task)
        except StaleError:
            # Until it is seen why, the same would be decided again.
            self.observe_soon(partition)
            raise

    async def after_round(self, round_: "Round") -> Mapping[str, str]:
        """Write for owners: to service logs what they can fix and what starts soon, and to a label
        where they read what has soaked.
        """
        made = round_.made
        if made is None or round_.acting is not Mode.ACT:
            return {}
        partition, clock, lease = round_.part.partition, round_.clock, round_.lease
        manager = self.surveys.manager_of(partition)
        entries = self._entries(made.plan, round_)
        unwritten = await write_log(round_.part, manager, clock, lease, entries)
        left_s = (lease.until - clock.now()) / SECOND
        of = self.surveys.served[partition]
        return unwritten | await self._addresses.write(manager, of, clock.now(), left_s)

    def _entries(self, made: OrganisationPlan, round_: "Round") -> tuple[OwnerNotice, ...]:
        found = tuple(due_notices(made.plan, made.agreeing))
        if not self.surveys.served[round_.part.partition].notice:
            return found
        done = [
            (task.target, task.change)
            for task, outcome in round_.outcomes
            if outcome is TaskOutcome.DONE
        ]
        soon = tuple(upcoming(made.plan, done, round_.clock.now()))
        partition = round_.part.partition
        self.surveys.look_at(partition, (Instant(each.starts_at - LAST_LOOK) for each in soon))
        # AUS's rules take nothing back.
        takes_back = made.theirs is None
        return (*found, *(each.owner_notice(takes_back=takes_back) for each in soon))

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads it, and surveys."""
        self.surveys.forget(partition)
