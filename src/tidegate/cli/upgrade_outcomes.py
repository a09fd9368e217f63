"""What would be written for each organisation: by our rules, the existing service's, or both."""

import msgspec

from tidegate.cli.upgrade_ground import Ground
from tidegate.core.model.plan import Option
from tidegate.core.model.reasons import Gate, Outcome, Reason
from tidegate.core.model.verdict import all_pass
from tidegate.core.upgrades import compat
from tidegate.core.upgrades.deciding.decide import decide
from tidegate.core.upgrades.deciding.plan import UpgradePlan
from tidegate.core.upgrades.service import Registration
from tidegate.core.upgrades.step import Step
from tidegate.core.upgrades.world import World, only_whole
from tidegate.core.why.sentence import sentence
from tidegate.core.why.upgrade_stand import most_telling, stands
from tidegate.wire.upgrade_answer import Write, writes_of
from tidegate.wire.upgrade_writes import Described, described

STRICT, COMPAT, BOTH = "strict", "compat", "both"
# Gates that say why a version is good enough; others only say that nothing is in the way.
_GROUNDS = (Gate.SOAK, Gate.SECTOR, Gate.AGREEMENT, Gate.CHANNEL, Gate.BLOCK)
_NOTHING_SAID = (
    Reason.VersionNotBlocked, Reason.NoSectorBefore, Reason.NoAgreementNeeded,
    Reason.VersionTrusted,
)  # fmt: skip
_LOUD = "ERROR: "


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One write that would be made."""

    write: Write
    what: Described
    # By which rules: strict, compat, or both.
    by: str
    why: str = ""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """What would be written for one organisation."""

    of: Registration
    mode: str
    made: tuple[Made, ...]
    # What the existing service says of the organisation.
    log: tuple[str, ...] = ()


def outcomes_of(ground: Ground, mode: str | None) -> list[Outcomes]:
    """What would be written, organisation by organisation; None: each by the rules it has."""
    world = ground.world
    wanted = {each.id for each in world.orgs if each.registered}
    modes = {
        each: mode or each.rules.value for each in ground.service.served() if each.id in wanted
    }
    plan = ground.plan()
    ours = _by_our_rules(world, plan)
    theirs: list[Made] = []
    log: tuple[str, ...] = ()
    if set(modes.values()) & {COMPAT, BOTH}:
        theirs, log = _by_theirs(world, plan)
    ordered = sorted(modes.items(), key=lambda pair: (pair[0].environment, pair[0].id))
    return [_outcomes(each, name, ours, theirs, log) for each, name in ordered]


def _outcomes(
    of: Registration, mode: str, ours: list[Made], theirs: list[Made], log: tuple[str, ...]
) -> Outcomes:
    made = [each for each in ours if mode != COMPAT and _is_of(each, of)]
    others = [each for each in theirs if mode != STRICT and _is_of(each, of)]
    if mode == BOTH:
        both = [each.write for each in made if any(each.write == one.write for one in others)]
        made = [
            msgspec.structs.replace(each, by=BOTH) if each.write in both else each for each in made
        ]
        others = [each for each in others if each.write not in both]
    else:
        others = [msgspec.structs.replace(each, why=each.what.text) for each in others]
    told = () if mode == STRICT else tuple(line for line in log if of.id in line)
    return Outcomes(of=of, mode=mode, made=(*made, *others), log=told)


def _is_of(made: Made, of: Registration) -> bool:
    return made.what.cluster is not None and made.what.cluster.org == of.id


def _by_our_rules(world: World, upgrades: UpgradePlan) -> list[Made]:
    """Upgrades and what belongs to them, then agreements, as two services make them."""
    found: list[Made] = []
    agreements = decide(msgspec.structs.replace(world, approver=True), world.now)
    for plan in (upgrades, agreements):
        writes = writes_of(plan)
        whys = [*_whys(plan), *("" for _ in plan.tellings)]
        found += [
            Made(write=write, what=what, by=STRICT, why=why or what.text)
            for write, what, why in zip(writes, described(writes, world), whys, strict=True)
        ]
    return found


def _whys(plan: UpgradePlan) -> list[str]:
    """What speaks for each action, in their order."""
    chosen: dict[tuple[str, int], Option] = {}
    for option in plan.options:
        if all_pass(option.verdicts):
            uuid = plan.members[option.target].cluster.uuid
            chosen[uuid, id(option.change)] = option
    return [_grounds(chosen[each.target, id(each.change)]) for each in plan.actions]


def _grounds(option: Option) -> str:
    """The verdicts that say why this is good enough."""
    said = [
        sentence(each)
        for each in option.verdicts
        if each.outcome is Outcome.PASS
        and (each.gate in _GROUNDS or each.reason is Reason.FollowsControlPlane)
        and each.reason not in _NOTHING_SAID
    ]
    return "; ".join(said)


def _by_theirs(world: World, plan: UpgradePlan) -> tuple[list[Made], tuple[str, ...]]:
    """What the existing service would write, and what it would say loudly."""
    whole, against = only_whole(world), _Against(plan)
    found: list[Made] = []
    log: list[str] = []
    for approver in (False, True):
        record = compat.run(msgspec.structs.replace(whole, approver=approver))
        found += [
            Made(write=write, what=what, by=COMPAT, why=what.text or against.of(what))
            for write, what in zip(record.writes, described(record.writes, world), strict=True)
        ]
        log += [line.removeprefix(_LOUD) for line in record.log if line.startswith(_LOUD)]
    return found, tuple(log)


class _Against:
    """What our rules have to say against what they do not do."""

    def __init__(self, plan: UpgradePlan) -> None:
        self._stands = {each.member.cluster.uuid: each for each in stands(plan)}

    def of(self, what: Described) -> str:
        """The gate of ours that says most about it; empty: we would do it, too."""
        stand = self._stands.get(what.cluster.uuid) if what.cluster is not None else None
        if stand is None:
            return ""
        alike = (each.verdicts for each in stand.options if _is_alike(each, what))
        shut = stand.member.aside or most_telling(next(alike, ()))
        return f"ours: {sentence(shut)}" if shut is not None else ""


def _is_alike(option: Option, what: Described) -> bool:
    step = option.change
    if not isinstance(step, Step):
        return False
    return (step.doing.value, step.pool, step.revision) == (what.do, what.pool, what.after)
