"""The witness: hears of every write before anyone else does, and holds it to the rules.

It sees what OpenShift Cluster Managers are asked and what they show, and what people set; of
workers it knows only who calls, and when the journal last let them.
"""

import re
from collections import Counter
from typing import Any

from tests.sim.story.life import Life
from tests.sim.story.witness import Witness
from tests.sim.upgrades import owners
from tests.sim.upgrades.ground import DAY, GRACE, Asked, Ground
from tests.sim.upgrades.owners import items, minor
from tests.sim.upgrades.record import Cluster
from tests.sim.upgrades.rules import is_held, moments, shut_out, wrong_with
from tidegate.kinds.upgrades.ocm.simulated.state import ALL_CLUSTERS, CLUSTER_LOGS, OcmState
from tidegate.model.time import SECOND, Instant, format_instant, parse_instant
from tidegate.simulation.virtual_loop import VirtualLoop

_POLICY = re.compile(
    rf"{ALL_CLUSTERS}/([^/]+)(?:/control_plane|/node_pools/([^/]+))?/upgrade_policies(?:/([^/]+))?"
)
_CLUSTER = re.compile(rf"{ALL_CLUSTERS}/([^/]+)")
_AGREEMENT = re.compile(rf"{ALL_CLUSTERS}/([^/]+)/gate_agreements")
# What no owner of a cluster could fix.
_OURS = re.compile(r"simulated|HTTP \d|cannot be read:|answer|429|timed out|Traceback|outage")
# Between the journal's word and the request lies only what the journal takes to answer.
ASKED_WITHIN = 45 * SECOND


class UpgradeWitness(Witness):
    """Watches OpenShift Cluster Managers."""

    def __init__(self, loop: VirtualLoop, ground: Ground, partitions: frozenset[str]) -> None:
        super().__init__(loop)
        self.ground = ground
        self.partitions = partitions
        # When something other than a service log was last asked for.
        self.asked_at = self.start
        # When each thing was last sent, and to which owner.
        self.told: dict[tuple[str, str, str], Instant] = {}

    def is_watched(self, partition: str) -> bool:
        """Whether it is an organisation of the story."""
        return partition in self.partitions

    def called(self, life: Life, method: str, path: str) -> None:
        """A life is about to make a request: before a write it asked whether it still leads."""
        cluster = _CLUSTER.match(path)
        if method == "GET" or cluster is None:
            return
        one = self.ground.record.clusters[cluster[1]]
        self.claim_led(life, f"upgrades/{one.env}/{one.org}", ASKED_WITHIN, f"writes {path}")

    # Of OpenShift Cluster Managers

    def watch(self, env: str, state: OcmState) -> None:
        """Hear of everything that is written."""
        self.ground.record.watch(env, state)
        note = state.note

        def noted(method: str, path: str, body: Any, status: int) -> None:
            note(method, path, body, status)
            if not self.ground.record.by_others:
                self._wrote(state.now, method, path, body or {}, status)

        state.note = noted  # type: ignore[method-assign]

    def _wrote(self, now: Instant, method: str, path: str, body: Any, status: int) -> None:
        record = self.ground.record
        self.seen[f"{method} {status}"] += 1
        if path == CLUSTER_LOGS:
            self._told(now, body, status)
            return
        self.asked_at = now
        if (match := _POLICY.fullmatch(path)) is not None:
            cluster, pool = record.clusters[match[1]], match[2] or ""
            if method == "DELETE":
                self._called_off(now, cluster, match[3], status)
            elif status < 300:
                self._upgraded(now, cluster, pool, body)
            else:
                self._refused(now, cluster, f"{pool} to {body}")
        elif (match := _AGREEMENT.fullmatch(path)) is not None:
            self._agreed(now, record.clusters[match[1]], body["version_gate"]["id"])
        elif (match := _CLUSTER.fullmatch(path)) is not None and method == "PATCH":
            self._switched(now, record.clusters[match[1]], body["channel"], status)
        else:
            self.claim(False, f"{method} {path}: nobody has to ask for that")

    def _upgraded(self, now: Instant, cluster: Cluster, pool: str, body: Any) -> None:
        (policy,) = [
            each
            for each in cluster.policies.values()
            if each.pool == pool and each.made_at == now and each.gone_at is None
        ]
        starts_at = parse_instant(body["next_run"])
        asked = Asked(cluster, pool, body["version"], now, starts_at, policy)
        self.seen["upgrade of a pool" if pool else "upgrade"] += 1
        wrong = wrong_with(self.ground, asked)
        self.claim(not wrong, f"{asked.text} at {format_instant(starts_at)}: {wrong}")

    def _refused(self, now: Instant, cluster: Cluster, what: str) -> None:
        """What is refused was not refused a moment ago; or is there already, and ours."""
        there = [each for each in cluster.policies.values() if each.gone_at is None]
        since = now - GRACE
        changed = any(
            history.changes(since, now)
            for history in (cluster.state, cluster.offers, cluster.version, cluster.agreed)
        )
        self.claim(bool(there) or changed, f"{cluster.name}: {what} had to be refused")

    def _called_off(self, now: Instant, cluster: Cluster, ident: str, status: int) -> None:
        policy = cluster.policies[ident]
        if status == 404 or (status == 400 and policy.state.changes(now - GRACE, now)):
            return
        what = f"{cluster.name}: the policy to {policy.version} is called off"
        self.claim(status == 204, f"{what}, and must not be")
        self.claim(not policy.automatic, f"{what}, and is its owner's")
        self.seen["called off"] += 1
        blocks = self.ground.board.on("block", now - 1)
        unwanted = any(
            each.covers(cluster, now) and each.concerns(policy.version) for each in blocks
        )
        for at in moments(self.ground, now):
            labels = self.ground.labels(cluster, at)
            unwanted = unwanted or any(owners.blocks(each, policy.version) for each in labels)
        self.claim(unwanted, f"{what}, and nobody blocks it")

    def _agreed(self, now: Instant, cluster: Cluster, gate: str) -> None:
        label = next(each.label for each in self.ground.gates if each.id == gate)
        said = []
        for at in moments(self.ground, now):
            labels, org = self.ground.labels(cluster, at)
            wanted = items(labels, "version-gate-approvals")
            wanted = wanted or items(org, "version-gate-approvals") or owners.APPROVED
            said.append(
                is_held(self.ground, cluster, now, at)
                or ("" if label in wanted else "nobody wants that")
                or ("its labels cannot be read" if owners.mistakes(labels, org) else "")
            )
        self.seen["agreement"] += 1
        self.claim(not all(said), f"{cluster.name}: {label} is agreed to: {said[-1]}")

    def _switched(self, now: Instant, cluster: Cluster, channel: str, status: int) -> None:
        said = [
            shut_out(self.ground, cluster, channel, now, at) for at in moments(self.ground, now)
        ]
        self.seen["channel"] += 1
        self.claim(status == 200, f"{cluster.name}: {channel} had to be refused")
        self.claim(not all(said), f"{cluster.name}: is put on {channel}: {said[-1]}")

    def _told(self, now: Instant, body: Any, status: int) -> None:
        self.claim(status == 201, f"a service log had to be refused: {body}")
        key = body["cluster_uuid"], body["summary"], body["description"]
        cluster = self.ground.record.named(key[0])
        before = self.told.get(key)
        again = before is not None and now - before < DAY - 2 * self.ground.off
        self.claim(not again, f"{cluster.name}: is told {key[2]!r} twice a day")
        self.told[key] = now
        self.seen["told"] += 1
        odd = _OURS.search(key[2])
        self.claim(odd is None, f"{cluster.name}: is told of what is not theirs: {key[2]!r}")
        soon = "about to start" in key[1]
        why = self._is_to_start if soon else self._is_to_mend
        explained = any(why(cluster, at) for at in moments(self.ground, now))
        self.claim(explained, f"{cluster.name}: is told {key[2]!r}, and did nothing wrong")

    def _is_to_start(self, cluster: Cluster, at: int) -> bool:
        """Whether its owner wants to know, and there is an upgrade that has not begun."""
        there = (each.state.at(at) in ("pending", "scheduled") for each in cluster.live(at))
        return self.ground.terms[cluster.org].notice and any(there)

    def _is_to_mend(self, cluster: Cluster, at: int) -> bool:
        """Whether there is something that the owner of a cluster can fix."""
        labels, org = self.ground.labels(cluster, at)
        minors = {minor(each) for each in cluster.offers.at(at)} - {minor(cluster.version.at(at))}
        missing = any(
            minor(f"{gate.prefix}.0") in minors and gate.id not in cluster.agreed.at(at)
            for gate in self.ground.gates
        )
        units = Counter(each.pool for each in cluster.live(at))
        return bool(
            owners.mistakes(labels, org)
            or owners.org_mistakes(org)
            or self.ground.sources(cluster.org, at)[1]
            or missing
            or any(count > 1 for count in units.values())
        )
