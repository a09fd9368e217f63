"""People of a story: owners who change their labels and clusters, and those who set brakes."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.sim.upgrades import fleets
from tests.sim.upgrades.brakes import Board, Brake
from tests.sim.upgrades.ground import MINUTE
from tests.sim.upgrades.owners import SCHEDULES, ZONES, fires
from tests.sim.upgrades.record import PREFIX, Cluster, Record
from tidegate.kinds.upgrades.ocm.simulated.answers import OcmCall
from tidegate.kinds.upgrades.ocm.simulated.requests import answer
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ALL_CLUSTERS,
    ORGANIZATIONS,
    SUBSCRIPTIONS,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.world_doc import OutcomeDoc
from tidegate.model.time import SECOND, Instant, format_instant
from tidegate.simulation.virtual_loop import VirtualLoop

HOUR = 3600 * SECOND


@dataclass
class People:
    """What they may do, each at some moment."""

    rng: random.Random
    loop: VirtualLoop
    record: Record
    states: dict[str, OcmState]
    board: Board
    # What they are asked to do.
    tell: Callable[[str], None]

    def now(self) -> Instant:
        """What time it is."""
        return self.loop.now()

    def fortunes(self) -> None:
        """How upgrades go from now on."""
        rng = self.rng
        rules = [
            OutcomeDoc(
                clusters=rng.choice((self.some_cluster().name, f"{self.some_cluster().org}-*")),
                versions=rng.choice(("*", "*", "4.17.*", "4.16.5")),
                fails=rng.random() < 0.6,
                delayed=rng.choice((None, "30m", "5h")),
                takes=rng.choice((None, "20m", "8h")),
            )
            for _ in range(rng.choice((0, 1, 2)))
        ]
        self.tell(f"upgrades go {rules}")
        self.set_outcomes(rules)

    def set_outcomes(self, rules: Iterable[OutcomeDoc]) -> None:
        """How upgrades go from now on."""
        for state in self.states.values():
            state.world = msgspec.structs.replace(state.world, outcomes=tuple(rules))

    def ask(self, env: str, method: str, path: str, body: object = None) -> int:
        """An owner asks for something; the status of the answer."""
        self.record.by_others = True
        try:
            return answer(self.states[env], OcmCall(method, path, {}, body), self.now()).status
        finally:
            self.record.by_others = False

    def label(self, cluster: Cluster, name: str, value: str) -> None:
        """The owner of a cluster changes a label; no value takes it away."""
        key = cluster.id.removesuffix("-id")
        self._label(cluster.env, f"{SUBSCRIPTIONS}/{key}-sub", name, value)

    def label_org(self, org: str, name: str, value: str) -> None:
        """An owner of an organisation changes a label."""
        self._label(self.record.env_of(org), f"{ORGANIZATIONS}/{org}", name, value)

    def _label(self, env: str, owner: str, name: str, value: str) -> None:
        self.tell(f"{owner.rpartition('/')[2]}: {name}={value}")
        path, key = f"{owner}/labels", PREFIX + name
        if not value:
            self.ask(env, "DELETE", f"{path}/{key}")
        elif self.ask(env, "PATCH", f"{path}/{key}", {"value": value}) == 404:
            self.ask(env, "POST", path, {"key": key, "value": value})

    def some_cluster(self) -> Cluster:
        """Any."""
        clusters = self.record.clusters
        return clusters[self.rng.choice(sorted(clusters))]

    def change_mind(self) -> None:
        """An owner wants something else."""
        rng, cluster = self.rng, self.some_cluster()
        name, values = rng.choice(
            (
                ("soak-days", ("0", "1", "3")),
                ("workloads", fleets.WORKLOADS),
                ("schedule", SCHEDULES),
                ("mutexes", fleets.MUTEXES),
                ("blocked-versions", fleets.BLOCKED),
                ("sector", ("", "prod", "stage")),
            )
        )
        self.label(cluster, name, rng.choice(values))

    def slip(self) -> None:
        """An owner makes a mistake."""
        name, value = self.rng.choice(fleets.BAD)
        self.label(self.some_cluster(), name, value)

    def mend(self) -> None:
        """Owners fix what is wrong."""
        for cluster in self.record.clusters.values():
            for name, bad in fleets.BAD:
                if cluster.labels.now.get(name) == bad:
                    good = {"soak-days": "1", "workloads": "pay", "schedule": "0 * * * *"}
                    self.label(cluster, name, good.get(name, ""))
        for org in self.record.orgs:
            for name, bad in fleets.BAD_OF_ORGS:
                if self.record.orgs[org].now.get(name) == bad:
                    self.label_org(org, name, "")

    def slip_together(self) -> None:
        """An owner of an organisation makes a mistake."""
        name, value = self.rng.choice(fleets.BAD_OF_ORGS)
        self.label_org(self.rng.choice(sorted(self.record.orgs)), name, value)

    def block_together(self) -> None:
        """An organisation blocks something else."""
        org = self.rng.choice(sorted(self.record.orgs))
        self.label_org(org, "blocked-versions", self.rng.choice(fleets.BLOCKED))

    def nap(self) -> None:
        """A cluster is not ready for a while; or it is again."""
        cluster = self.some_cluster()
        document = self.states[cluster.env].cluster(cluster.id)
        document["state"] = "hibernating" if document["state"] == "ready" else "ready"
        self.tell(f"{cluster.name}: {document['state']}")
        self.ask(cluster.env, "GET", f"{ALL_CLUSTERS}/{cluster.id}")
        self.states[cluster.env].touch()

    def fall_ill(self) -> None:
        """A cluster has an alert; or none any more."""
        cluster = self.some_cluster()
        alerts = () if cluster.alerts.now else ("Down",)
        self.tell(f"{cluster.name}: alerts {alerts}")
        cluster.alerts.note(self.now(), alerts)

    def own_policy(self) -> None:
        """An owner sets an upgrade up by hand, or has it done automatically."""
        cluster = self.some_cluster()
        offers = cluster.offers.now
        body: dict[str, Any] = {"schedule_type": "automatic", "schedule": "0 3 * * 2"}
        if offers and self.rng.random() < 0.6:
            starts_at = Instant(self.now() + self.rng.choice((1, 30)) * HOUR)
            body = {
                "schedule_type": "manual",
                "version": offers[0],
                "next_run": format_instant(starts_at),
            }
        status = self.ask(cluster.env, "POST", cluster.policy_paths[""], body)
        self.tell(f"{cluster.name}: {body}: {status}")

    def tidy(self) -> None:
        """Owners delete what failed, and what they set up."""
        for cluster in self.record.clusters.values():
            for policy in cluster.live(self.now()):
                if policy.automatic or policy.state.now == "failed":
                    path = cluster.policy_paths[policy.pool]
                    status = self.ask(cluster.env, "DELETE", f"{path}/{policy.id}")
                    self.tell(f"{cluster.name}: deletes {policy.id}: {status}")

    def settle(self) -> None:
        """Everything that is only in the way ends."""
        self.set_outcomes(())
        self.tidy()
        if self.rng.random() < 0.6:
            self.mend()
        for cluster in self.record.clusters.values():
            cluster.alerts.note(self.now(), ())
            self.states[cluster.env].cluster(cluster.id)["state"] = "ready"
        for env, state in self.states.items():
            self.ask(env, "GET", ALL_CLUSTERS)
            state.touch()
        for brake in self.board.every:
            if brake.lifted_at is None:
                self.board.lift(brake, self.now())

    def brake(self) -> None:
        """A person holds, freezes, blocks, pins, or is in a hurry."""
        rng, now = self.rng, self.now()
        kind = rng.choice(("hold", *("freeze",) * 3, "block", "pin", "expedite"))
        cluster = self.some_cluster()
        scope: dict[str, Any] = rng.choice(
            (
                {"everything": True},
                {"targets": [cluster.name]},
                {"selector": {"matchLabels": {"org": cluster.org}}},
                {"selector": {"matchLabels": {"sector": "prod"}}},
                {"kinds": ["upgrades"]},
            )
        )
        start = Instant(now + rng.choice((0, 1, 1, 2, 20)) * HOUR)
        if kind == "freeze" and rng.random() < 0.7:
            start = Instant(self._fires(cluster) - 10 * MINUTE)
        brake = Brake(
            kind,
            f"{kind}-{len(self.board.every)}",
            scope,
            now,
            start,
            Instant(start + rng.choice((1, 3, 10, 60)) * HOUR),
            rng.choice(("4.16.4", "4.16.5", "4.17.*", "4.17.1")),
        )
        self.tell(f"{kind}: {brake.document()}")
        self.board.set(brake)

    def _fires(self, cluster: Cluster) -> Instant:
        """When the schedule of a cluster fires, at least an hour from now; if it does in a day."""
        labels, now = cluster.labels.now, self.now() // MINUTE * MINUTE
        if labels.get("schedule") in SCHEDULES and labels.get("schedule-timezone", "") in (
            "",
            *ZONES,
        ):
            for minutes in range(60, 24 * 60):
                if fires(labels, now + minutes * MINUTE):
                    return Instant(now + minutes * MINUTE)
        return Instant(now + HOUR)

    def lift(self) -> None:
        """A person lifts one of them."""
        if on := [each for each in self.board.every if each.lifted_at is None]:
            brake = self.rng.choice(on)
            self.tell(f"{brake.name} is lifted")
            self.board.lift(brake, self.now())

    def doings(self) -> list[Callable[[], None]]:
        """What any of them may do next; what stands there several times is done more often."""
        return [
            *(self.change_mind, self.change_mind, self.slip, self.mend, self.block_together),
            *(self.brake,) * 4,
            *(self.lift, self.lift, self.lift, self.tidy),
            *(self.nap, self.fall_ill, self.own_policy, self.fortunes, self.fortunes),
            self.slip_together,
        ]
