"""What would be written for each organisation: by our rules, the existing service's, or both."""

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.cli.look.ground import Ground
from tidegate.kinds.upgrades.core.explain.stand import most_telling, stands
from tidegate.kinds.upgrades.core.explain.writes import PlannedWrite, planned_writes
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.agreeing import worth_telling
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import Registration, Rules
from tidegate.kinds.upgrades.core.step import Step
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


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One write that would be made."""

    what: PlannedWrite
    # By which rules: strict, compat, or both.
    by: str
    why: str = ""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """What would be written for one organisation."""

    of: Registration
    mode: str
    made: tuple[Made, ...]


def outcomes_of(ground: Ground, mode: str | None) -> list[Outcomes]:
    """What would be written, organisation by organisation; None: each by the rules it has."""
    wanted = {each.id for each in ground.world.orgs if each.registered}
    modes = {
        each: mode or each.rules.value for each in ground.service.served() if each.id in wanted
    }
    plan = ground.plan()
    ours = _by_our_rules(ground, plan)
    theirs: list[Made] = []
    if set(modes.values()) & {COMPAT, BOTH}:
        theirs = _by_theirs(ground, plan)
    ordered = sorted(modes.items(), key=lambda pair: (pair[0].environment, pair[0].id))
    return [_outcomes(each, name, ours, theirs) for each, name in ordered]


def _outcomes(of: Registration, mode: str, ours: list[Made], theirs: list[Made]) -> Outcomes:
    made = [each for each in ours if mode != COMPAT and _is_of(each, of)]
    others = [each for each in theirs if mode != STRICT and _is_of(each, of)]
    if mode == BOTH:
        theirs_too = [each.what.request for each in others]
        both = [each.what.request for each in made if each.what.request in theirs_too]
        made = [
            msgspec.structs.replace(each, by=BOTH) if each.what.request in both else each
            for each in made
        ]
        others = [each for each in others if each.what.request not in both]
    else:
        others = [msgspec.structs.replace(each, why=each.what.text) for each in others]
    return Outcomes(of=of, mode=mode, made=(*made, *others))


def _is_of(made: Made, of: Registration) -> bool:
    return made.what.cluster is not None and made.what.cluster.org == of.id


def _by_our_rules(ground: Ground, upgrades: UpgradePlan) -> list[Made]:
    """Upgrades and what belongs to them, then agreements, as two services make them."""
    agreements = ground.agreeing()
    told = worth_telling(upgrades, agreements)
    found: list[Made] = []
    for plan in (msgspec.structs.replace(upgrades, tellings=told), agreements):
        whys = [*_whys(plan), *("" for _ in plan.tellings)]
        found += [
            Made(what=what, by=STRICT, why=why or what.text)
            for what, why in zip(planned_writes(plan, ground.world), whys, strict=True)
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
        and (each.gate in _GROUNDS or each.reason is VersionReason.FollowsControlPlane)
        and each.reason not in _NOTHING_SAID
    ]
    return "; ".join(said)


def _by_theirs(ground: Ground, plan: UpgradePlan) -> list[Made]:
    """What the existing service would write, as far as brakes let it."""
    against = _Against(plan)
    return [
        Made(what=what, by=COMPAT, why=what.text or against.of(what))
        for what in planned_writes(ground.plan(Rules.COMPAT), ground.world)
    ]


class _Against:
    """What our rules have to say against what they do not do."""

    def __init__(self, plan: UpgradePlan) -> None:
        self._stands = {each.member.cluster.uuid: each for each in stands(plan)}

    def of(self, what: PlannedWrite) -> str:
        """The gate of ours that says most about it; empty: we would do it, too."""
        stand = self._stands.get(what.cluster.uuid) if what.cluster is not None else None
        if stand is None:
            return ""
        alike = (each.verdicts for each in stand.options if _is_alike(each, what))
        shut = stand.member.aside or most_telling(next(alike, ()))
        return f"ours: {sentence(shut)}" if shut is not None else ""


def _is_alike(option: Option, what: PlannedWrite) -> bool:
    step = option.change
    if not isinstance(step, Step):
        return False
    mine = (step.doing.value, step.pool, step.addon, step.revision)
    return mine == (what.do, what.pool, what.addon, what.after)
