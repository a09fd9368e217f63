"""Clusters that wait for ever, found by running the rules ahead: what they wait for, and why.

A sector is stuck on a cluster that goes no further; a mutex is with a holder that is half upgraded,
or failed, and does not go on; a version never soaks where no cluster will run it. What would open
by time alone, only later than the horizon, is no finding.
"""

from collections.abc import Collection, Iterator

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast
from tidegate.kinds.upgrades.core.lint.findings import LintFinding, names
from tidegate.kinds.upgrades.core.lint.label_text import owner_of
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.agreements import agree
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.reason import Reason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

_MUTEX = frozenset((UpgradeReason.MutexUpgrading, UpgradeReason.MutexUpgradeFailed))
_SECTOR = frozenset((VersionReason.SectorBehind, VersionReason.SectorMemberUnreadable))
_AGREEMENT_LABEL = "version-gate-approvals"


class Stalls:
    """One organisation, as far as it will go."""

    def __init__(self, fleet: OrganisationFleet, outlook: FleetForecast) -> None:
        self._fleet = fleet
        self._by_name = {each.called: each for each in fleet.members}
        self._expected = {
            each.called: outlook.expected[each.cluster.uuid]
            for each in fleet.members
            if each.cluster.uuid in outlook.expected
        }

    def findings(self, lacking: Collection[str]) -> Iterator[LintFinding]:
        """All clusters that wait for ever, reported for what they wait for.

        That workloads lack a canary is a finding of its own.
        """
        yield from self._sectors()
        yield from self._rooms()
        yield from self._mutexes()
        yield from self._soak(lacking)
        yield from self._pre_releases()

    def _held(self, reasons: frozenset[Reason]) -> Iterator[tuple[str, ExpectedUpgrades]]:
        for name, expected in self._expected.items():
            held = expected.held
            if held is not None and held.reason in reasons and not expected.beyond:
                yield name, expected

    def _sectors(self) -> Iterator[LintFinding]:
        waiting: dict[tuple[str, str], list[str]] = {}
        for name, expected in self._held(_SECTOR):
            assert expected.held is not None
            sector, slowest = expected.held.facts[:2]
            waiting.setdefault((str(sector), str(slowest)), []).append(name)
        for (sector, slowest), names_of in waiting.items():
            wanted = self._expected[names_of[0]].wanted
            message = f"keeps {names(names_of)} waiting: sector {sector} must have {wanted} first,"
            message += f" and it goes no further: {self._why(slowest)}"
            yield self._found("stuck-sector", slowest, "sector", message, _LEAVE_SECTOR)

    def _rooms(self) -> Iterator[LintFinding]:
        waiting: dict[tuple[str, str], list[str]] = {}
        for name, expected in self._held(frozenset((UpgradeReason.SectorFull,))):
            assert expected.held is not None
            sector, holder = expected.held.facts[0], _holder(expected.held)
            waiting.setdefault((str(sector), holder), []).append(name)
        for (sector, holder), names_of in waiting.items():
            message = f"keeps {names(names_of)} waiting: there is no more room in sector {sector},"
            message += f" and it goes no further: {self._why(holder)}"
            yield self._found("stuck-sector", holder, "sector", message, _LEAVE_SECTOR)

    def _mutexes(self) -> Iterator[LintFinding]:
        waiting: dict[tuple[str, str], list[str]] = {}
        for name, expected in self._held(_MUTEX):
            assert expected.held is not None
            mutex, holder = expected.held.facts[0], _holder(expected.held)
            waiting.setdefault((holder, str(mutex)), []).append(name)
        for (holder, mutex), names_of in waiting.items():
            message = f"keeps {names(names_of)} waiting: it has mutex {mutex},"
            message += f" and goes no further: {self._why(holder)}"
            yield self._found("mutex-deadlock", holder, "mutexes", message, _FREE_MUTEX)

    def _soak(self, lacking: Collection[str]) -> Iterator[LintFinding]:
        waiting: dict[tuple[str, str], list[str]] = {}
        for name, expected in self._held(frozenset((VersionReason.VersionSoaking,))):
            assert expected.held is not None
            version, workload = expected.held.facts[:2]
            if workload not in lacking:
                waiting.setdefault((str(version), str(workload)), []).append(name)
        for (version, workload), names_of in waiting.items():
            message = f"{workload}: no cluster is expected on {version} for long enough, so"
            message += f" {names(names_of)} will not go there"
            remedy = f"let a cluster with {workload} and soak-days 0 have {version}, or block it"
            yield owner_of(self._fleet).found("no-soak", "", message, remedy)

    def _pre_releases(self) -> Iterator[LintFinding]:
        for name, expected in self._held(frozenset((VersionReason.PreReleaseUnwanted,))):
            offered = names(expected.cluster.available_upgrades)
            message = (
                f"is offered nothing but {offered}, on channel {expected.cluster.updates_from}"
            )
            remedy = "wait for the release, or put it on a candidate channel"
            yield self._found("pre-release-only", name, "", message, remedy)

    def _why(self, name: str) -> str:
        """What a cluster waits for; or that it has all that is offered."""
        expected = self._expected.get(name)
        if expected is None:
            return "it is not decided on"
        if expected.held is not None:
            return sentence(expected.held)
        return f"nothing newer than {expected.version} is wanted or offered there"

    def _found(self, code: str, name: str, label: str, message: str, remedy: str) -> LintFinding:
        member: FleetMember | None = self._by_name.get(name)
        return owner_of(self._fleet, member).found(code, label, message, remedy)


def _holder(one: Verdict) -> str:
    """The cluster that is waited for: the holder, or the first of several."""
    facts = [names[0] if isinstance(names, tuple) else str(names) for names in one.facts]
    at = [name for name, _ in one.reason.entry.facts]
    return facts[at.index("holder" if "holder" in at else "clusters")]


_LEAVE_SECTOR = "fix what keeps it, or take it out of the sector"
_FREE_MUTEX = "fix what keeps it, or remove the mutex from its labels"


def agreements(world: UpgradeWorld, now: Instant) -> Iterator[LintFinding]:
    """Version gates before clusters that are neither approved nor agreed to."""
    plan = agree(world, now)
    fleets = {each.org.id: each for each in plan.fleets}
    for option in plan.options:
        for each in option.verdicts:
            if each.reason is VersionReason.AgreementUnasked:
                member = plan.members[option.target]
                minor, gate = each.facts
                owner = owner_of(fleets[member.cluster.org], member)
                message = f"{gate} is not agreed to, so it goes to no {minor}"
                listed = ",".join((*member.policy.approvals, str(gate)))
                remedy = f'agree to it by hand, or write "{listed}" to have it agreed to'
                yield owner.found("missing-agreement", _AGREEMENT_LABEL, message, remedy)
            elif each.reason is VersionReason.AgreementRefused:
                member = plan.members[option.target]
                owner = owner_of(fleets[member.cluster.org], member)
                remedy = "nothing to change: the operators of Tidegate are paged, and it is retried"
                yield owner.found("refused-agreement", "", sentence(each), remedy)
