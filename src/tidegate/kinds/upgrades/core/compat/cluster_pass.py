"""One pass over an organisation: who is upgraded to what, and who is passed over."""

import re
from collections import Counter

import msgspec

from tidegate.kinds.upgrades.core.channels import next_channel
from tidegate.kinds.upgrades.core.compat.gates import missing_gates
from tidegate.kinds.upgrades.core.compat.patterns import UnboundedPatternError, is_found
from tidegate.kinds.upgrades.core.compat.record import AbortError, LegacyRecord, cluster_path
from tidegate.kinds.upgrades.core.compat.specs import LegacySpec, OrgSpec
from tidegate.kinds.upgrades.core.history import Minima, SoakHistory, soaked
from tidegate.kinds.upgrades.core.schedule.schedule import NeverFiresError, next_run
from tidegate.kinds.upgrades.core.sectors import Sector, awaited
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep, step_of
from tidegate.kinds.upgrades.core.versions import Key, key_of, minor_of, sort_versions
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

# OCM refuses what starts within five minutes.
_POOL_LEAD = 6 * 60 * SECOND


class LegacyStart(msgspec.Struct, frozen=True):
    """An upgrade to be asked for."""

    cluster: ManagedCluster
    step: UpgradeStep
    log: str


class LegacyPass:
    """The state of a pass: who holds which mutex, and what was decided so far."""

    def __init__(
        self, record: LegacyRecord, spec: OrgSpec, history: SoakHistory, minima: Minima | None
    ) -> None:
        self.record = record
        self.spec = spec
        self.history = history
        self.minima = minima
        self.starts: list[LegacyStart] = []
        self.switches: list[tuple[ManagedCluster, str]] = []
        self._holders: dict[str, str] = {}
        self._upgrading: dict[tuple[str, str], set[str]] = {}
        self._channels: dict[str, tuple[str, ...]] = {}
        self._blocked: dict[tuple[tuple[str, ...] | None, str], bool] = {}
        self._population: dict[str, Counter[str]] = {}
        self._lowest: dict[tuple[str, str], str | None] = {}
        self._runs: dict[str, Instant | None] = {}

    def decide(self) -> None:
        """Look at every cluster in turn; AbortError ends it, and then nothing is done."""
        for one in self.spec.specs:
            if one.cluster.upgrades:
                self._lock(one)
        for one in self.spec.specs:
            self._look_at(one)

    def is_blocked(self, one: LegacySpec, version: str) -> bool:
        """Whether some pattern of its own or of its organisation is found in a version."""
        own = one.wants.blocked_versions
        key = (own, version)
        if key not in self._blocked:
            patterns = dict.fromkeys((*(own or ()), *(self.spec.labels.blocked_versions or ())))
            self._blocked[key] = any(_is_found(pattern, version) for pattern in patterns)
        return self._blocked[key]

    def _look_at(self, one: LegacySpec) -> None:
        cluster = one.cluster
        if cluster.is_hosted and (self._is_locked(one) or self._upgrades_pool(one)):
            return
        if len(cluster.upgrades) > 1:
            who = f"[{self.spec.org.id}/{cluster.name}]"
            raise AbortError("ValueError", f"{who} expected only one upgrade policy")
        if cluster.upgrades:
            self._skip(one, " with existing upgrade policy")
            return
        starts_at = self._next_run(one)
        if starts_at is None:
            self._switch(cluster)
            self._skip(one, " with no upcoming upgrade")
        elif not self._is_locked(one):
            version = self._choose(one)
            if version is None:
                self._switch(cluster)
            elif not self._misses_gates(one, version):
                self._start(one, version, format_second(starts_at))

    def _next_run(self, one: LegacySpec) -> Instant | None:
        """When its window opens; worked out once for all that have the same schedule."""
        schedule = one.wants.schedule
        if schedule not in self._runs:
            try:
                self._runs[schedule] = next_run(one.wants.cron, self.record.world.now)
            except NeverFiresError as error:
                raise AbortError("CroniterBadDateError", str(error)) from None
        return self._runs[schedule]

    def _skip(self, one: LegacySpec, why: str) -> None:
        org = self.spec.org
        self.record.debug(f"[{org.id}/{org.name}/{one.cluster.name}] skipping cluster{why}")

    # Mutexes

    def _lock(self, one: LegacySpec) -> None:
        sector = one.wants.sector
        for mutex in one.mutexes:
            self._holders[mutex] = one.cluster.ident
            if sector:
                self._upgrading.setdefault((sector, mutex), set()).add(one.cluster.ident)

    def _is_locked(self, one: LegacySpec) -> bool:
        sector = self.spec.sectors[one.wants.sector] if one.wants.sector else None
        if sector is not None and sector.max_parallel:
            return self._is_full(one, sector, sector.max_parallel)
        held = {mutex: self._holders[mutex] for mutex in one.mutexes if mutex in self._holders}
        if held:
            self._skip(one, f": locked out by {held}")
        return bool(held)

    def _is_full(self, one: LegacySpec, sector: Sector, limit: str) -> bool:
        under_way = {
            mutex: len(self._upgrading.get((sector.name, mutex), ())) for mutex in one.mutexes
        }
        if not any(under_way.values()):
            return False
        if sector.name not in self._population:
            members = self.spec.members[sector.name].values()
            self._population[sector.name] = Counter(
                mutex for each in members for mutex in each.mutexes
            )
        for mutex, count in under_way.items():
            if count >= _most(limit, self._population[sector.name][mutex]):
                reached = f"has reached max parallel upgrades {limit} for mutex '{mutex}'"
                self._skip(one, f": sector '{sector.name}' {reached}")
                return True
        return False

    # Versions

    def _choose(self, one: LegacySpec) -> str | None:
        for version in reversed(sort_versions(one.candidates)):
            if not self.is_blocked(one, version) and self._is_met(one, version):
                return version
        return None

    def _is_met(self, one: LegacySpec, version: str) -> bool:
        if one.wants.sector and not self._is_in_turn(one, version):
            return False
        return all(
            soaked(self.history, version, workload) >= one.wants.soak_days
            for workload in one.wants.workloads
        )

    def _is_in_turn(self, one: LegacySpec, version: str) -> bool:
        wanted = key_of(version)
        workloads = one.wants.workloads
        if self.minima is not None:
            lowest = self.minima.min_version_per_workload
            known = all(workload in lowest for workload in workloads)
            bounds = [lowest[each] for each in workloads] if known else [self.minima.min_version]
            if any(wanted > key_of(bound) for bound in bounds):
                return False
        return all(self._has_gone(one.wants.sector or "", each, wanted) for each in workloads)

    def _has_gone(self, sector: str, workload: str, wanted: Key) -> bool:
        """Whether every sector it waits for has the version wherever the workload runs."""
        sectors = self.spec.sectors
        before = awaited(
            sectors[sector], sectors, lambda name: self._lowest_of(name, workload) is not None
        )
        return all(key_of(self._lowest_of(name, workload) or "") >= wanted for name in before)

    def _lowest_of(self, sector: str, workload: str) -> str | None:
        key = (sector, workload)
        if key not in self._lowest:
            members = self.spec.members.get(sector, {}).values()
            versions = [one.cluster.version for one in members if workload in one.wants.workloads]
            self._lowest[key] = min(versions, key=key_of) if versions else None
        return self._lowest[key]

    def _misses_gates(self, one: LegacySpec, version: str) -> bool:
        cluster, org = one.cluster, self.spec.org
        minor = minor_of(version)
        self.record.read(cluster_path(cluster.ident, "gate_agreements"))
        missing = [
            gate
            for gate in missing_gates(cluster, one.candidates, self.record.world.gates)
            if gate.prefix == minor
        ]
        if missing:
            # The label says uuid and holds the id, as it always did.
            labels = {"org_id": org.id, "cluster_uuid": cluster.ident, "version_prefix": minor}
            name = "aus_cluster_missing_version_gate_agreements"
            self.record.count(name, org.env, len(missing), **labels)
            self.record.info(
                f"[{org.id}/{org.name}/{cluster.name}] found gates with missing agreements for"
                f" {minor} - {[gate.label for gate in missing]} Skip creation of an upgrade policy"
                " until all of them have been acked by the version-gate-approver integration or a"
                " user."
            )
        return bool(missing)

    # What follows

    def _upgrades_pool(self, one: LegacySpec) -> bool:
        """The first node pool behind its control plane follows it, whatever else is wished."""
        cluster = one.cluster
        behind = [pool for pool in cluster.node_pools if key_of(pool.version) < one.key]
        if not behind:
            return False
        runs_at = format_second(self.record.world.now + _POOL_LEAD)
        facts = {
            "cluster": cluster.name,
            "cluster_id": cluster.ident,
            "node_pool": behind[0].id,
            "version": cluster.version,
            "next_run": runs_at,
        }
        log = f"create node pool upgrade policy - {facts}"
        step = _step(StepKind.POOL, cluster.version, runs_at, behind[0].id)
        self.starts.append(LegacyStart(cluster, step, log))
        self._lock(one)
        return True

    def _start(self, one: LegacySpec, version: str, runs_at: str) -> None:
        cluster = one.cluster
        facts = {"cluster": cluster.name, "cluster_id": cluster.ident}
        if cluster.is_hosted:
            facts |= {"version": version, "next_run": runs_at}
        else:
            facts |= {"from_version": cluster.version, "to_version": version, "next_run": runs_at}
        log = f"create cluster upgrade policy - {facts}"
        self.starts.append(LegacyStart(cluster, _step(StepKind.UPGRADE, version, runs_at), log))
        self._lock(one)

    def _switch(self, cluster: ManagedCluster) -> None:
        """The first cluster of a version that comes here answers for all of that version."""
        if cluster.version not in self._channels:
            try:
                self.record.read(cluster_path(cluster.ident))
                self._channels[cluster.version] = cluster.available_channels
            except AbortError:
                self._channels[cluster.version] = ()
        target = next_channel(cluster.updates_from)
        if target in self._channels[cluster.version]:
            self.switches.append((cluster, str(target)))


def _is_found(pattern: str, version: str) -> bool:
    try:
        return is_found(pattern, version)
    except (re.error, OverflowError, RecursionError, UnboundedPatternError) as error:
        raise AbortError("PatternError", str(error)) from None


def _most(limit: str, population: int) -> int:
    """How many may upgrade at once: halves go to the even neighbour, and 0 is 1."""
    try:
        if limit.endswith("%"):
            return round(population * int(limit[:-1]) / 100) or 1
        return int(limit) or 1
    except ValueError as error:
        raise AbortError("ValueError", str(error)) from None


def _step(doing: StepKind, version: str, runs_at: str, pool: str = "") -> UpgradeStep:
    starts_at = parse_instant(runs_at)
    return msgspec.structs.replace(step_of(doing, version), pool=pool, starts_at=starts_at)
