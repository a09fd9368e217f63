"""What the journal knows, for commands that read or ask: rollouts by name, targets by name."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec

from tidegate.cli.asking import FREE, asked_about
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.partition import PartitionState
from tidegate.gates.scope import kind_word
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import Note
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.journal.facts import Decided, Observed
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.kinds.upgrades.core.service import PARTITION as UPGRADES
from tidegate.model.plan import Event
from tidegate.model.problem import nearest, nearest_or_all
from tidegate.model.target import Status, bare
from tidegate.model.time import Instant, format_second
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store


class Live(msgspec.Struct):
    """One rollout as the journal has it, decided anew for this very moment."""

    partition: str
    state: RolloutState
    world: RolloutWorld
    plan: RolloutPlan
    now: Instant


@contextmanager
def opened(database: str, *, writes: bool = False) -> Iterator[Store]:
    """The store, for as long as a command needs it; one only read is neither made nor changed."""
    store = open_store(database, writes=writes)
    try:
        yield store
    finally:
        store.close()


def rollouts(store: Store) -> list[Live]:
    """Every rollout in the journal."""
    now = clock().now()
    book = BrakeBook(store)
    found: list[Live] = []
    for partition in store.partitions():
        if partition == BRAKES or kind_word(partition) == UPGRADES:
            continue
        rules = RolloutRules()
        state = PartitionState(store, partition, rules).state
        brakes = book.seen(partition, rules.under_way(state), now)
        world = rules.world(state, brakes, now, lambda _: None)
        if world is not None:
            found.append(Live(partition, state, world, decide(world, now), now))
    return found


def find_rollout(store: Store, name: str) -> Live:
    """One rollout, by its partition or by the end of its name."""
    every = rollouts(store)
    wanted = name.removeprefix("rollout/")
    for live in _called(every, wanted):
        return live
    hint = nearest_or_all(wanted, [live.partition for live in every], "none yet")
    raise click.UsageError(f'no rollout "{wanted}"; {hint}')


def _called(every: list[Live], name: str) -> Iterator[Live]:
    """The rollouts of a name, with or without their kind."""
    found = [one for one in every if name in (one.partition, one.partition.partition("/")[2])]
    if found:
        return iter(found)
    # What runs in one place only needs no place in its name.
    placed = [one for one in every if one.partition.partition("/")[2].startswith(f"{name}@")]
    return iter(placed if len(placed) == 1 else ())


def stopped_by(store: Store, live: Live) -> str:
    """What ended a rollout that is aborted, as its journal has it; empty where nobody knows.

    Whoever failed is back by then, so that no gate has it to say any more.
    """
    if live.plan.summary is not Summary.ABORTED:
        return ""
    failed: dict[str, str] = {}
    told = ""
    for entry in store.read(live.partition):
        fact = entry.fact()
        if isinstance(fact, Observed):
            for each in fact.reports:
                failed.pop(each.name, None)
                if each.status in (Status.Failed, Status.TimeOut):
                    failed[each.name] = each.detail
        elif isinstance(fact, Asked) and fact.verb is Verb.ABORT:
            told = f"{entry.actor} aborted it" + (f": {fact.reason}" if fact.reason else "")
        elif isinstance(fact, Decided) and Event.ABORTED in fact.events and failed:
            some = (f"{name}: {why}" if why else name for name, why in sorted(failed.items()))
            told = f"{format_second(entry.at)} {'; '.join(some)}"
    return told


def _ease(live: Live) -> int:
    """How little a rollout needs looking at."""
    if live.plan.summary in (Summary.FAILED, Summary.ABORTED):
        return 0
    return 2 if live.plan.summary is Summary.SUCCEEDED else 1


def find_target(store: Store, name: str) -> tuple[Live, str | None]:
    """The rollout of this name, or the one a target of this name is in, and the target.

    A target of several rollouts is that of the one in trouble, or of one that is not done with it.
    """
    every = rollouts(store)
    for live in _called(every, name.removeprefix("rollout/")):
        return live, None
    wanted = bare(name)
    found = [live for live in every if wanted in {target.name for target in live.world.targets}]
    found.sort(key=_ease)
    for other in found[1:]:
        click.echo(f"also in {other.partition}: name it first to see it there", err=True)
    for live in found[:1]:
        return live, wanted
    names = {target.name for live in every for target in live.world.targets}
    names |= {live.partition for live in every}
    hint = nearest(wanted, names) or f"`tidegate get rollouts` lists {len(every)} rollouts"
    if not every:
        hint = "nothing was decided yet; `tidegate run` and `tidegate serve` do"
    raise click.UsageError(f'no rollout or target "{wanted}"; {hint}')


def ask(store: Store, live: Live, fact: Asked) -> None:
    """Write down what somebody asks for; whoever leads the rollout notices within a second."""
    store.append(live.partition, [signed(fact, clock().now())])


def signed(fact: Fact, now: Instant) -> Note:
    """A fact to be written down in the name of whoever asks."""
    return Note(now, f"user:{whoami()}", fact)


def whoami() -> str:
    """Who is asking, for the journal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def confirmed(what: str, reach: int, yes: bool, free: int = FREE) -> None:
    """Show what is reached, and ask where it is more than a handful and somebody can answer."""
    click.echo(what, err=True)
    asked_about("Go on?", reach, yes, free)
