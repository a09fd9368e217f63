"""`plan upgrades`: what would be written for each organisation, and why.

By our rules, by the predecessor's, or by both side by side.
"""

import msgspec
from msgspec import field

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.app.read.world import FleetDocument, FleetReading, WorldReading
from tidegate.kinds.upgrades.core.explain.summary import cluster_summaries, most_telling
from tidegate.kinds.upgrades.core.explain.writes import PlannedWrite, planned_writes
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.requests import Write
from tidegate.kinds.upgrades.core.rules.agreements import due_notices
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import Registration, RuleSet
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.document import Part
from tidegate.model.plan import Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.verdict import all_pass

STRICT, COMPAT, BOTH = "strict", "compat", "both"
# Gates that say why a version is good enough; others only say that nothing is in the way.
_GROUNDS = (Gate.SOAK, Gate.SECTOR, Gate.AGREEMENT, Gate.CHANNEL, Gate.BLOCK)
_NOTHING_SAID = (
    VersionReason.VersionNotBlocked, VersionReason.NoSectorBefore, VersionReason.NoAgreementNeeded,
    VersionReason.VersionTrusted,
)  # fmt: skip


class PlannedAction(Part, frozen=True, kw_only=True):
    """One write that would be made."""

    # What is done (upgrade, pool, channel, cancel, agree, …), or `tell`: a service log.
    do: str
    cluster: str | None
    uuid: str | None
    pool: str | None
    addon: str | None
    before: str | None = field(name="from")
    after: str | None = field(name="to")
    starts_at: str | None
    # By which rules: strict, compat, or both.
    rules: str
    why: str
    # The text of a service log; null: it is none.
    text: str | None
    # The request: method, path, body.
    write: Write


class PlannedUpgrades(Part, frozen=True, kw_only=True):
    """What would be written for one organisation."""

    org: str
    name: str
    environment: str
    mode: str
    actions: tuple[PlannedAction, ...]


class UpgradePlanList(FleetDocument, frozen=True, kw_only=True):
    """What would be written now, organisation by organisation."""

    items: tuple[PlannedUpgrades, ...]


def plan_upgrades(fleet: FleetReading, mode: str | None = None) -> UpgradePlanList:
    """What would be written; without a mode, by the rules each organisation is managed by."""
    return UpgradePlanList(
        errors=fleet.errors(),
        notes=fleet.notes(),
        items=tuple(each for reading in fleet.readings for each in _planned(reading, mode)),
    )


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """One write, the rules that make it, and why."""

    what: PlannedWrite
    by: str
    why: str = ""


def _planned(reading: WorldReading, mode: str | None) -> list[PlannedUpgrades]:
    wanted = {each.id for each in reading.world.orgs if each.registered}
    modes = {
        each: mode or each.rules.value for each in reading.service.served() if each.id in wanted
    }
    plan = reading.plan()
    ours = _by_our_rules(reading, plan)
    theirs: list[_Made] = []
    if set(modes.values()) & {COMPAT, BOTH}:
        theirs = _by_their_rules(reading, plan)
    ordered = sorted(modes.items(), key=lambda pair: (pair[0].environment, pair[0].id))
    return [
        PlannedUpgrades(
            org=each.id,
            name=each.name,
            environment=each.environment,
            mode=name,
            actions=tuple(_action(one) for one in _chosen(each, name, ours, theirs)),
        )
        for each, name in ordered
    ]


def _action(made: _Made) -> PlannedAction:
    what = made.what
    return PlannedAction(
        do=what.do,
        cluster=what.cluster.name if what.cluster is not None else None,
        uuid=what.cluster.uuid if what.cluster is not None else None,
        pool=what.pool or None,
        addon=what.addon or None,
        before=what.before or None,
        after=what.after or None,
        starts_at=what.starts_at or None,
        rules=made.by,
        why=made.why,
        text=what.text or None,
        write=what.request.write(),
    )


def _chosen(of: Registration, mode: str, ours: list[_Made], theirs: list[_Made]) -> list[_Made]:
    """The writes of one organisation by the rules of a mode."""
    made = [each for each in ours if mode != COMPAT and _is_of(each, of)]
    others = [each for each in theirs if mode != STRICT and _is_of(each, of)]
    if mode != BOTH:
        return [*made, *(msgspec.structs.replace(each, why=each.what.text) for each in others)]
    alone = [each for each in others if not any(one.what.is_like(each.what) for one in made)]
    made = [
        msgspec.structs.replace(each, by=BOTH)
        if any(each.what.is_like(one.what) for one in others)
        else each
        for each in made
    ]
    return [*made, *alone]


def _is_of(made: _Made, of: Registration) -> bool:
    return made.what.cluster is not None and made.what.cluster.org == of.id


def _by_our_rules(reading: WorldReading, upgrades: UpgradePlan) -> list[_Made]:
    """Upgrades and what belongs to them, then agreements, as two services make them."""
    agreements = reading.agreement_plan()
    due = due_notices(upgrades, agreements)
    found: list[_Made] = []
    for plan in (msgspec.structs.replace(upgrades, owner_notices=due), agreements):
        whys = [*_whys(plan), *("" for _ in plan.owner_notices)]
        found += [
            _Made(what=what, by=STRICT, why=why or what.text)
            for what, why in zip(planned_writes(plan, reading.world), whys, strict=True)
        ]
    return found


def _whys(plan: UpgradePlan) -> list[str]:
    """The reasons for each action, in their order."""
    chosen: dict[tuple[str, int], Option] = {}
    for option in plan.options:
        if all_pass(option.verdicts):
            uuid = plan.members[option.target].cluster.uuid
            chosen[uuid, id(option.change)] = option
    return [_grounds(chosen[each.target, id(each.change)]) for each in plan.actions]


def _grounds(option: Option) -> str:
    """The verdicts that say why this version is good enough."""
    said = [
        sentence(each)
        for each in option.verdicts
        if each.outcome is Outcome.PASS
        and (each.gate in _GROUNDS or each.reason is VersionReason.FollowsControlPlane)
        and each.reason not in _NOTHING_SAID
    ]
    return "; ".join(said)


def _by_their_rules(reading: WorldReading, plan: UpgradePlan) -> list[_Made]:
    """What the predecessor would write, as far as brakes allow it."""
    objections = _Objections(plan)
    return [
        _Made(what=what, by=COMPAT, why=what.text or objections.to(what))
        for what in planned_writes(reading.plan(RuleSet.COMPAT), reading.world)
    ]


class _Objections:
    """What our rules say against writes that only the predecessor makes."""

    def __init__(self, plan: UpgradePlan) -> None:
        self._stands = {each.member.cluster.uuid: each for each in cluster_summaries(plan)}

    def to(self, what: PlannedWrite) -> str:
        """The gate of ours that says most about it; empty: our rules would do it, too."""
        summary = self._stands.get(what.cluster.uuid) if what.cluster is not None else None
        if summary is None:
            return ""
        alike = (each.verdicts for each in summary.options if _is_alike(each, what))
        shut = summary.member.excluded or most_telling(next(alike, ()))
        return f"ours: {sentence(shut)}" if shut is not None else ""


def _is_alike(option: Option, what: PlannedWrite) -> bool:
    step = option.change
    if not isinstance(step, UpgradeStep):
        return False
    mine = (step.doing.value, step.pool, step.addon, step.revision)
    return mine == (what.do, what.pool, what.addon, what.after)
