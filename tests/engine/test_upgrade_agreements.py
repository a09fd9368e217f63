"""An agreement that is refused is ours to fix: its owner is not notified, and `why` names it."""

from typing import Any

import msgspec
import pytest

from tests.upgrades_live import Scene
from tidegate.engine.partition import PartitionState
from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.core.faults import FaultParty, fault_of
from tidegate.kinds.upgrades.core.journal.made import organisation_plan, organisation_world
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.agreements import due_notices
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.ocm.documents import GateAgreement
from tidegate.kinds.upgrades.ocm.port import OcmRefusedError
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.rules import UpgradeRules

ORG = "upgrades/prod/o"
OCP, INGRESS = "api.openshift.com/gate-ocp", "api.openshift.com/gate-ingress"


def _document(**labels: str) -> dict[str, Any]:
    due = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *", **labels}
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [
            {
                "name": "a",
                "org": "o",
                "version": "4.16.3",
                "channel": "stable-4.17",
                "available_upgrades": ["4.17.1"],
                "labels": due,
            }
        ],
        "gates": [
            {"id": "g-ocp", "prefix": "4.17", "label": OCP},
            {"id": "g-ing", "prefix": "4.17", "label": INGRESS},
        ],
        "versions": [{"version": "4.16.3"}, {"version": "4.17.1"}],
    }


class Strict(SimulatedClusters):
    """One that refuses agreements."""

    status = 403

    async def agree(self, cluster: str, gate: str) -> GateAgreement:
        """Refused, whatever it is."""
        raise OcmRefusedError(f"HTTP {self.status}: no", self.status, "", "no")


class Refused(Scene):
    """Organisations for which nothing can be agreed to."""

    status = 403

    def manager(self) -> SimulatedClusters:
        """The way in."""
        found = Strict(self.state, self)
        found.status = self.status
        return found


def _lived(status: int, **labels: str) -> tuple[Scene, Any]:
    scene = Refused(_document(**labels))
    scene.status = status
    scene.live(2)
    state = PartitionState(scene.store, ORG, UpgradeRules()).state
    found = organisation_world(state, Brakes(), scene.now(), {})
    assert found is not None
    return scene, organisation_plan(found, scene.now())


def _told(scene: Scene) -> list[str]:
    return [each.body["description"] for each in scene.writes if "cluster_logs" in each.path]


@pytest.mark.parametrize("status", [403, 404, 409])
def test_a_refused_agreement_does_not_notify_the_owner(status: int) -> None:
    """Its labels ask for both gates: there is nothing more for the owner to do."""
    scene, made = _lived(status, **{"version-gate-approvals": f"{OCP},{INGRESS}"})
    assert _told(scene) == []
    assert not due_notices(made.plan, made.agreeing)
    for plan in (made.plan, made.agreeing):
        said = {each.reason for option in plan.options for each in option.verdicts}
        assert VersionReason.AgreementRefused in said
        assert VersionReason.AgreementMissing not in said
    assert fault_of(VersionReason.AgreementRefused) is FaultParty.OURS
    found = [each for each in lint(made.world, scene.now()) if "agreement" in each.code]
    assert {each.code for each in found} == {"refused-agreement"}
    assert all(f"HTTP {status}" in each.message for each in found)


def test_the_owner_is_notified_of_what_was_not_asked_for_alone() -> None:
    """Of two gates one is refused to us, and one is not in the labels: they hear of the latter."""
    scene, made = _lived(403, **{"version-gate-approvals": OCP})
    (text,) = set(_told(scene))
    assert "gate-ingress" in text
    assert "gate-ocp" not in text
    codes = {each.code for each in lint(made.world, scene.now()) if "agreement" in each.code}
    assert codes == {"refused-agreement", "missing-agreement"}


def test_a_hold_on_our_agreement_does_not_notify_the_owner() -> None:
    """What their labels ask for is ours to give, whatever keeps us from it."""
    _, made = _lived(403, **{"version-gate-approvals": f"{OCP},{INGRESS}"})
    world = msgspec.structs.replace(made.world, refused={})
    plan = decide(world, world.now)
    agreeing = decide(msgspec.structs.replace(world, approver=True), world.now)
    held = msgspec.structs.replace(agreeing, actions=[])
    assert plan.owner_notices
    assert not due_notices(plan, held)
