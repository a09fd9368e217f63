"""What the journal knows of upgrades: soak, brakes, refusals, and how everything stood at last."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click
import msgspec

from tidegate.cli.live import opened
from tidegate.cli.worker.options import brake_book
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.kinds.upgrades.cli.look.flags import Asked, moment
from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.core.history import History
from tidegate.kinds.upgrades.core.journal.made import other_keys
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, ledgers_of, past_of, world_of
from tidegate.kinds.upgrades.core.rules.soak import Ledger
from tidegate.kinds.upgrades.core.service import PARTITION, Environment, Registration, Service
from tidegate.kinds.upgrades.core.world import World
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.errors import UserError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_age, format_second
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock


class Journal:
    """The journals of organisations, for whoever only reads them."""

    def __init__(self, store: Store, book: BrakeBook) -> None:
        self._store = store
        self._book = book
        self._rules = UpgradeRules()
        self._others = OtherStates(store).of(self._rules)

    def partitions(self) -> list[str]:
        """Every organisation something is known of."""
        return sorted(e for e in self._store.partitions() if e.startswith(f"{PARTITION}/"))

    def state(self, partition: str) -> UpgradeState:
        """How an organisation stood at last."""
        return PartitionState(self._store, partition, self._rules).state

    def world(self, partition: str, now: Instant) -> World | None:
        """An organisation as it was last looked at; None: it never was."""
        state = self.state(partition)
        brakes = self._book.seen(partition, self._rules.under_way(state), now)
        ledgers, kept = self._ledgers(state), self._kept(state)
        return world_of(state, now, ledgers=ledgers, brakes=brakes, kept=kept)

    def _states(self, state: UpgradeState) -> dict[str, UpgradeState]:
        return {key: self._others(f"{PARTITION}/{key}") for key in other_keys(state)}

    def _ledgers(self, state: UpgradeState) -> dict[str, Ledger]:
        several = [ledgers_of(key, each) for key, each in self._states(state).items()]
        return {name: ledger for some in several for name, ledger in some.items()}

    def _kept(self, state: UpgradeState) -> dict[str, History]:
        return {key: past_of(each) for key, each in self._states(state).items()}

    def known_of(self, partition: str, world: World) -> World:
        """A world that was read just now, with all that only the journal knows."""
        state = self.state(partition)
        others = msgspec.structs.replace(state, others=tuple(world.orgs[1:]))
        ledgers, kept = self._ledgers(others), self._kept(others)
        if state.surveyed_at is not None or state.ledger.days:
            key = partition.removeprefix(f"{PARTITION}/")
            ledgers |= ledgers_of(key, state)
            kept[key] = past_of(state)
        brakes = self._book.seen(partition, self._rules.under_way(state), world.now)
        return msgspec.structs.replace(
            world, ledgers=ledgers, kept=kept, brakes=brakes, refused=state.refused
        )


@contextmanager
def journal_of(settings: Settings) -> Iterator[Journal | None]:
    """The journal of the settings; None: there is none where it is when nobody names another."""
    with ExitStack() as stack:
        journal = None
        try:
            store = stack.enter_context(opened(settings.database))
            journal = Journal(store, brake_book(settings, store, None))
        except UserError:
            if settings.database != TABLE["database"].default:
                raise
        yield journal


def is_known(settings: Settings) -> bool:
    """Whether the journal knows of upgrades at all."""
    with journal_of(settings) as journal:
        return journal is not None and bool(journal.partitions())


def as_recorded(asked: Asked) -> Looked:
    """Every organisation as it was last looked at by whoever tends it; nobody is asked."""
    now = moment(asked.at, clock().now())
    with journal_of(asked.settings) as journal:
        if journal is None:
            raise click.UsageError("there is no journal here; name one with --database")
        found = [
            _ground(partition, world, journal.state(partition), asked.settings.database)
            for partition in _wanted(journal, asked.orgs)
            if (world := journal.world(partition, now)) is not None
        ]
    return Looked(tuple(found))


def _wanted(journal: Journal, orgs: tuple[str, ...]) -> list[str]:
    known = journal.partitions()
    names: dict[str, set[str]] = {}
    for each in known:
        org = journal.state(each).org
        names[each] = {each.rpartition("/")[2], *(() if org is None else (org.id, org.name))}
    for name in orgs:
        if not any(name in some for some in names.values()):
            ids = [each.rpartition("/")[2] for each in known]
            hint = nearest_or_all(name, ids, "none was looked at yet")
            raise click.UsageError(f'--org: no organisation "{name}"; {hint}')
    return [each for each in known if not orgs or names[each] & set(orgs)]


def _ground(partition: str, world: World, state: UpgradeState, database: str) -> Ground:
    org = world.orgs[0]
    read_at = world.read_at if world.read_at is not None else world.now
    age = format_age(max(0, world.now - read_at))
    return Ground(
        world=world,
        service=Service(
            (Environment(name=org.env, url=""),),
            (
                Registration(
                    id=org.id,
                    name=org.name,
                    environment=org.env,
                    rules=state.rules,
                    health_checks=org.health_checks,
                    disabled=org.disabled,
                    quarantine_after=org.quarantine_after,
                ),
            ),
        ),
        where=database,
        read_at=read_at,
        notes=(f"{partition} as it was looked at {format_second(read_at)} ({age} ago)",),
    )
