"""What the journal knows of upgrades: soak, brakes, refusals, and the last recorded survey."""

from collections.abc import Callable, Sequence

import msgspec

from tidegate.app.workers import Attendance, attendance, trouble_lines, verified
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.explain.view import RequestRow
from tidegate.journal.chain import Break
from tidegate.kinds.upgrades.app.read.world import (
    FleetReading,
    WorldReading,
    unknown_organisation,
)
from tidegate.kinds.upgrades.core.declared.organisation_policy import read_organisation_policy
from tidegate.kinds.upgrades.core.explain.label_rows import request_rows
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.journal.made import other_keys
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, ledgers_of, past_of, world_of
from tidegate.kinds.upgrades.core.rules.label_requests import label_plan
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger
from tidegate.kinds.upgrades.core.service import (
    PARTITION,
    OcmEnvironment,
    Registration,
    UpgradeService,
)
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.time import Instant
from tidegate.store.port import Store

PREFIX = f"{PARTITION}/"


class UpgradeJournal:
    """The journals of organisations, to read."""

    def __init__(
        self,
        store: Store,
        book: BrakeBook,
        seen: Sequence[str] | None = None,
        broken: Callable[[str], Break | None] | None = None,
    ) -> None:
        """`seen`: the organisations that are listed; None: all.

        `broken`: where a chain does not hold, as it is known; None: each is verified when asked.
        """
        self._store = store
        self._seen = seen
        self._broken = broken or store.verify
        self._book = book
        self._rules = UpgradeRules()
        self._others = OtherStates(store).of(self._rules)

    def partitions(self) -> list[str]:
        """Every organisation that has a journal."""
        names = self._store.partitions() if self._seen is None else self._seen
        return sorted(each for each in names if each.startswith(PREFIX))

    def state(self, partition: str) -> UpgradeState:
        """The recorded state of an organisation."""
        return PartitionState(self._store, partition, self._rules).state

    def attendance(self, partition: str, now: Instant) -> Attendance:
        """The worker of an organisation, and the moment to decide for."""
        found = attendance(self._store, self._store.leases(), partition, now)
        return verified(found, self._broken)

    def soak(self, key: str) -> dict[str, SoakLedger]:
        """What has soaked in one `env/org`, and by add-on in `env/org/addon`."""
        return ledgers_of(key, self.state(f"{PREFIX}{key}"))

    def inherited(self, key: str) -> tuple[str, ...]:
        """The organisations whose soak counts in one `env/org`, too: both sides agree to it."""
        state = self.state(f"{PREFIX}{key}")
        if state.org is None:
            return ()
        own = state.org.id
        publishing = {
            each.id: f"{each.env}/{each.id}"
            for each in state.others
            if own in read_organisation_policy(each.labels, each.id).publish
        }
        wanted = read_organisation_policy(state.org.labels, own).inherit
        return tuple(publishing[each] for each in wanted if each in publishing)

    def world(self, partition: str, now: Instant) -> UpgradeWorld | None:
        """An organisation as of its last recorded survey; None: there is none."""
        state = self.state(partition)
        brakes = self._book.seen(partition, self._rules.under_way(state), now)
        ledgers, kept = self._ledgers(state), self._kept(state)
        return world_of(state, now, ledgers=ledgers, brakes=brakes, kept=kept)

    def completed(self, partition: str, world: UpgradeWorld) -> UpgradeWorld:
        """A world that was read just now, with all that only the journal knows."""
        state = self.state(partition)
        others = msgspec.structs.replace(state, others=tuple(world.orgs[1:]))
        ledgers, kept = self._ledgers(others), self._kept(others)
        if state.surveyed_at is not None or state.ledger.days:
            key = partition.removeprefix(PREFIX)
            ledgers |= ledgers_of(key, state)
            kept[key] = past_of(state)
        brakes = self._book.seen(partition, self._rules.under_way(state), world.now)
        orgs = world.orgs
        if state.org is not None:  # how far off the service puts upgrades is its own matter
            own = msgspec.structs.replace(orgs[0], notice_lead=state.org.notice_lead)
            orgs = (own, *orgs[1:])
        return msgspec.structs.replace(
            world, orgs=orgs, ledgers=ledgers, kept=kept, brakes=brakes, refused=state.refused
        )

    def _states(self, state: UpgradeState) -> dict[str, UpgradeState]:
        """The recorded states of the organisations that one inherits from, by `env/org`."""
        return {key: self._others(f"{PREFIX}{key}") for key in other_keys(state)}

    def _ledgers(self, state: UpgradeState) -> dict[str, SoakLedger]:
        several = [ledgers_of(key, each) for key, each in self._states(state).items()]
        return {name: ledger for some in several for name, ledger in some.items()}

    def _kept(self, state: UpgradeState) -> dict[str, SoakHistory]:
        return {key: past_of(each) for key, each in self._states(state).items()}


def read_recorded(
    journal: UpgradeJournal,
    orgs: Sequence[str],
    now: Instant,
    where: str,
    at: Instant | None = None,
) -> FleetReading:
    """Every organisation as of its last recorded survey; no API is called.

    Decided for now while a worker looks, else for its last look; or for a moment, if one is named.
    """
    found: list[WorldReading] = []
    for partition in _wanted(journal, orgs):
        attended = journal.attendance(partition, now)
        world = journal.world(partition, attended.at if at is None else at)
        if world is not None:
            reading = recorded_reading(world, journal.state(partition), where)
            notes = tuple(trouble_lines([attended.worker], now))
            found.append(msgspec.structs.replace(reading, notes=notes))
    return FleetReading(tuple(found))


def _wanted(journal: UpgradeJournal, orgs: Sequence[str]) -> list[str]:
    known = journal.partitions()
    names: dict[str, set[str]] = {}
    for each in known:
        org = journal.state(each).org
        names[each] = {each.rpartition("/")[2], *(() if org is None else (org.id, org.name))}
    for name in orgs:
        if not any(name in some for some in names.values()):
            ids = [each.rpartition("/")[2] for each in known]
            raise unknown_organisation(name, ids, "none yet")
    return [each for each in known if not orgs or names[each] & set(orgs)]


def recorded_reading(world: UpgradeWorld, state: UpgradeState, where: str) -> WorldReading:
    """An organisation as of its last recorded survey."""
    org = world.orgs[0]
    read_at = world.read_at if world.read_at is not None else world.now
    registration = Registration(
        id=org.id,
        name=org.name,
        environment=org.env,
        rules=state.rules,
        health_checks=org.health_checks,
        disabled=org.disabled,
        quarantine_after=org.quarantine_after,
    )
    requests: tuple[RequestRow, ...] = ()
    if state.requested:
        unlabelled = tuple(state.unlabelled.values())
        requests = tuple(request_rows(label_plan(world, state.requested, world.now, unlabelled)))
    return WorldReading(
        world=world,
        requests=requests,
        service=UpgradeService((OcmEnvironment(name=org.env, url=""),), (registration,)),
        where=where,
        read_at=read_at,
    )
