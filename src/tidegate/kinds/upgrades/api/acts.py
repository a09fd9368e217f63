"""What callers do to upgrades, over HTTP."""

from tidegate.access.roles import Right
from tidegate.api.acts import BrakeBody, brake_request, lifter, set_on
from tidegate.api.route import ActRoute, PreparedAct, RouteAct
from tidegate.app.brakes.change import BrakeReport, LiftReport, brake_report
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.brakes.request import check_brake
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.kinds.upgrades.api.label_acts import LABEL_ACTS
from tidegate.kinds.upgrades.app.expedite import ExpediteEffect, expedite_effect


class ExpediteBody(BrakeBody, frozen=True):
    """An expedite: also which version; * and ? match any text. Without one, its name."""

    version: str = ""


def expedite(act: RouteAct[ExpediteBody]) -> PreparedAct:
    """Let a version skip soak and windows in its scope, until a time."""
    journals = act.every
    request = brake_request(act, "expedite", version=act.body.version or act.name)
    checked = check_brake(journals, request)
    effect = expedite_effect(journals, checked)
    covered = [each.partition for each in effect.items]
    return PreparedAct(
        partition=BRAKES,
        facts=(checked.fact(),),
        reach=effect,
        answer=brake_report(journals, checked, covered),
        rows={
            each.partition: f"{len(each.starting)} at once, {len(each.waiting)} waiting"
            for each in effect.items
        },
        reached=set_on(journals, request, checked, act.journals),
    )


UPGRADE_ACTS: tuple[ActRoute, ...] = (
    ActRoute("/expedite/{name}", expedite, (ExpediteEffect, BrakeReport), Right.OPERATE),
    ActRoute(
        "/lift-expedite/{name}",
        lifter("expedite"),
        (BrakeRelease, LiftReport),
        Right.OPERATE,
        stops=True,
    ),
    *LABEL_ACTS,
)
