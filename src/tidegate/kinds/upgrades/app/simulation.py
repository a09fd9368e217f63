"""Simulations: an OpenShift Cluster Manager of a world, and upgrades in virtual time."""

from collections.abc import Iterable, Sequence

import msgspec

from tidegate.kinds.upgrades.app.read.view import views_of
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.explain.words import phase_word
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.tokens import Tokens
from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld, narrowed
from tidegate.kinds.upgrades.ocm.simulated.world_shift import moved
from tidegate.machine.clock import Clock
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.reason import Gate
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.fast_loop import SimulatedClock

FAULT_MAX = 1000
SOAK_DAYS = "soak-days"


class OcmSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """How a world is served."""

    world: OcmWorld
    # How many seconds of the simulation a second lasts.
    speed: int = 1
    # Whether its clock starts now, and all dates of the world move with it.
    from_now: bool = False
    # Only the organisations of this environment; empty: all of them.
    environment: str = ""
    troubles: OcmFaults = OcmFaults()
    seed: int = 0
    token_lasts_s: float = 900.0


def simulated_manager(wanted: OcmSimulation, clock: Clock) -> ManagerServer:
    """A server with the API of OpenShift Cluster Manager."""
    world = narrowed(wanted.world, wanted.environment) if wanted.environment else wanted.world
    if wanted.from_now:
        world = moved(world, Instant(clock.now() // SECOND * SECOND))
    return ManagerServer(
        found(world),
        SimulatedClock(clock, world.now, wanted.speed),
        Tokens(world.credentials, wanted.token_lasts_s),
        FaultDraw(wanted.troubles, wanted.seed),
    )


def fault_shares(faults: Iterable[str]) -> dict[OcmFault, int]:
    """How many of a thousand calls fail, by fault: 429=20; UserError if that cannot be."""
    known = {each.value: each for each in OcmFault}
    shares: dict[OcmFault, int] = {}
    for text in faults:
        name, _, share = text.partition("=")
        if name not in known:
            hint = nearest_or_all(name, known)
            raise UserError((Problem(f"--fault {text}", "unknown fault", hint),))
        if not share.isascii() or not share.isdigit() or int(share) > FAULT_MAX:
            what = f"not a number from 0 to {FAULT_MAX}"
            raise UserError((Problem(f"--fault {text}", what, f"write {name}=20"),))
        shares[known[name]] = int(share)
    if sum(shares.values()) > FAULT_MAX:
        what = "more than a thousand of a thousand calls"
        raise UserError((Problem("--fault", what, "write smaller numbers"),))
    return shares


def served_in(
    world: OcmWorld, listed: Sequence[Registration]
) -> tuple[tuple[Registration, ...], tuple[str, ...]]:
    """The listed organisations that a world has, and a note on each of the others."""
    there = {(each.env, each.id) for each in world.orgs}
    served = tuple(each for each in listed if (each.environment, each.id) in there)
    notes = tuple(
        f"{each.id} is served, but not in environment {each.environment} of this world"
        for each in listed
        if each not in served
    )
    return served, notes


class SimulationHighlights(Part, frozen=True, kw_only=True):
    """Clusters of a simulation that are worth a closer look."""

    # The one with the most shut gates.
    held: str
    # One that waits for soak alone, so that it has a date.
    dated: str
    # One whose soak-days cannot be read; null: there is none.
    unreadable: str | None


def highlights(fleet: FleetReading) -> SimulationHighlights | None:
    """The clusters that are worth a closer look; None: there is no cluster."""
    cluster_summaries = [summary for view in views_of(fleet) for summary in view.cluster_summaries]
    if not cluster_summaries:
        return None
    waiting = [summary for summary in cluster_summaries if phase_word(summary) == "waiting"]
    held = max(waiting or cluster_summaries, key=lambda one: one.others)
    soaking = (one for one in waiting if one.shut is not None and one.shut.gate is Gate.SOAK)
    wrong = next((each for each in cluster_summaries if _is_unreadable(each, SOAK_DAYS)), None)
    return SimulationHighlights(
        held=held.member.cluster.name,
        dated=next(soaking, held).member.cluster.name,
        unreadable=None if wrong is None else wrong.member.cluster.name,
    )


def _is_unreadable(summary: ClusterSummary, label: str) -> bool:
    return any(each.label == label for each in summary.member.label_errors)
