"""Upgrades decided again from the journal: with today's rules, and beside AUS's.

Every recorded decision is made of what was looked at, so it can be taken again. What other
organisations had soaked is in their journals, and asked for as of the moment.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Folded
from tidegate.journal.replay import DecisionDifference, Replayed
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.journal.facts import Job, Planned, Standpoint, Surveyed
from tidegate.kinds.upgrades.core.journal.made import (
    OrganisationPlan,
    OrganisationWorld,
    organisation_plan,
    waiting_for,
)
from tidegate.kinds.upgrades.core.journal.record import digest, standpoints
from tidegate.kinds.upgrades.core.journal.state import (
    UpgradeState,
    fold,
    ledgers_of,
    past_of,
    world_of,
)
from tidegate.kinds.upgrades.core.legacy_plan import theirs
from tidegate.kinds.upgrades.core.refusal import what_of
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Action
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant

# The states of other organisations as they were at a moment, by `env/org`.
Others = Callable[[tuple[str, ...], Instant], Mapping[str, UpgradeState]]
# Of upgrades, and of agreements.
Plans = tuple[UpgradePlan, UpgradePlan]


def known(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """The entries from which on there is a state: the first, or the first that holds one."""
    begun = False
    for entry in entries:
        begun = begun or entry.seq == 1 or isinstance(entry.fact(), Folded)
        if begun:
            yield entry


def replay(entries: Iterable[JournalEntry], others: Others) -> Iterator[Replayed]:
    """Take every recorded decision again, in order."""
    state = UpgradeState()
    for entry in known(entries):
        fact = entry.fact()
        if isinstance(fact, Planned):
            made = _again(state, others, fact)
            if made is not None:
                stands = standpoints((made.plan, made.agreeing), made.labelling)
                same = digest(stands, fact.tasks) == fact.digest
                difference = None if same else _difference(state, stands, fact)
                yield Replayed(entry.seq, len(state.clusters), difference)
        state = fold(state, entry.at, fact, entry.actor)


def _again(state: UpgradeState, others: Others, fact: Planned) -> OrganisationPlan | None:
    world = _world(state, others, fact.now)
    if world is None:
        return None
    world = msgspec.structs.replace(waiting_for(world, fact.unseen), edition=fact.edition)
    compat = state.rules is RuleSet.COMPAT
    found = OrganisationWorld(
        world,
        compat,
        state.paused,
        requested=state.requested,
        unlabelled=tuple(state.unlabelled.values()),
    )
    return organisation_plan(found, fact.now)


def _world(
    state: UpgradeState, others: Others, now: Instant, mine: SoakHistory | None = None
) -> UpgradeWorld | None:
    keys = tuple(f"{each.env}/{each.id}" for each in state.others)
    theirs_then = others(keys, now) if keys else {}
    kept = {key: past_of(each) for key, each in theirs_then.items()}
    world = world_of(
        state,
        now,
        ledgers={
            name: ledger
            for key, each in theirs_then.items()
            for name, ledger in ledgers_of(key, each).items()
        },
        brakes=state.brakes,
        kept=kept,
    )
    if world is None or mine is None:
        return world
    org = world.orgs[0]
    return msgspec.structs.replace(world, kept={**kept, f"{org.env}/{org.id}": mine})


def _difference(state: UpgradeState, stands: list[Standpoint], fact: Planned) -> DecisionDifference:
    then = state.stands | {each.target: each for each in fact.changed}
    for each in stands:
        if then.get(each.target) != each:
            name = state.clusters[each.target].name if each.target in state.clusters else "?"
            return DecisionDifference(name, _lines(then.get(each.target)), _lines(each))
    return DecisionDifference(
        "the organisation", _jobs(fact.tasks), ("something else is asked for",)
    )


def _lines(stand: Standpoint | None) -> tuple[str, ...]:
    if stand is None:
        return ("not known",)
    return tuple(
        f"{doing or 'nothing'} {what}: {', '.join(shut) or 'all gates open'}"
        for doing, what, shut in stand.options
    )


def _jobs(jobs: Iterable[Job]) -> tuple[str, ...]:
    return tuple(f"{job.name} {what_of(job.change)}" for job in jobs)


class Wanted(msgspec.Struct):
    """Something one of both rules asked for: since when each did, and why the other did not."""

    cluster: str
    what: str
    ours_at: Instant | None = None
    theirs_at: Instant | None = None
    # What kept the one that came later, or never.
    why: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether both came to ask for it."""
        return self.ours_at is not None and self.theirs_at is not None

    def decision(self) -> ShadowDecision:
        """The same as it is reported."""
        return ShadowDecision(
            target=self.cluster,
            what=self.what,
            ours_at=self.ours_at,
            theirs_at=self.theirs_at,
            why=self.why,
        )


def compare(entries: Iterable[JournalEntry], others: Others) -> Shadowed:
    """Decide every look by both rules, theirs with what they would have kept since the first.

    What is asked for goes on being asked for until it is there; what both ask for, one of them
    a while later than the other, is the same decision.
    """
    wanted: dict[tuple[str, str], Wanted] = {}
    closed: list[Wanted] = []
    kept: SoakHistory | None = None
    looks = 0
    began = ended = None
    state = UpgradeState()
    for entry in known(entries):
        began, ended = began if began is not None else entry.at, entry.at
        fact = entry.fact()
        state = fold(state, entry.at, fact, entry.actor)
        if not isinstance(fact, Surveyed):
            continue
        looks += 1
        if kept is None:
            kept = past_of(state)
        world = _world(state, others, entry.at, kept)
        if world is None:
            continue
        plan = decide(world, entry.at)
        agreeing = decide(msgspec.structs.replace(world, approver=True), entry.at)
        found = theirs(world, entry.at, plan, agreeing)
        org = world.orgs[0]
        kept = found.kept.get(f"{org.env}/{org.id}", kept)
        _note(wanted, closed, entry.at, (plan, agreeing), found.plan)
    decisions = (*closed, *wanted.values())
    return Shadowed(
        decisions=tuple(each.decision() for each in decisions),
        looks=looks,
        began_at=began,
        ended_at=ended,
    )


def _note(
    wanted: dict[tuple[str, str], Wanted],
    closed: list[Wanted],
    at: Instant,
    ours: Plans,
    their: UpgradePlan,
) -> None:
    names = {each.cluster.uuid: each.called for plan in ours for each in plan.members}
    mine = {key: names[key[0]] for plan in ours for key in map(_key, plan.actions)}
    them = {key: names[key[0]] for key in map(_key, their.actions)}
    for key, name in (mine | them).items():
        one = wanted.setdefault(key, Wanted(name, key[1]))
        if key in mine and one.ours_at is None:
            one.ours_at = at
        if key in them and one.theirs_at is None:
            one.theirs_at = at
        if not one.is_equal:
            one.why = _why(key, ours if key in them else (their,))
    over = [each for each in wanted if each not in mine and each not in them]
    closed += [wanted.pop(each) for each in over]


def _key(action: Action) -> tuple[str, str]:
    """The target and the action: a cluster is asked for one upgrade at a time, at any moment."""
    step = action.change
    assert isinstance(step, UpgradeStep)
    return action.target, what_of(step)


def _why(key: tuple[str, str], plans: Iterable[UpgradePlan]) -> str:
    """What the plans that do not ask for it say of it."""
    options = [
        option
        for plan in plans
        for option in plan.options
        if plan.members[option.target].cluster.uuid == key[0]
    ]
    same = [
        each
        for each in options
        if isinstance(each.change, UpgradeStep) and _is(each.change, key[1])
    ]
    for option in same or options:
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if shut:
            return "; ".join(map(sentence, shut))
    asked = next(
        (what_of(each.change) for each in options if isinstance(each.change, UpgradeStep)), ""
    )
    return f"asks for {asked}" if asked else "does not know it"


def _is(step: UpgradeStep, what: str) -> bool:
    return what_of(step) == what
