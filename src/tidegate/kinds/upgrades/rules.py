"""The rules of upgrades, as the engine and readers use them; a partition is an organisation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from tidegate.engine.kind import Others, OthersThen, PlanRecord, Rules, UnderWay
from tidegate.engine.kind import Task as AnyTask
from tidegate.explain.notice import DueNotices
from tidegate.explain.pace import DatePace
from tidegate.explain.view import PartitionView
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import Brakes, Coverages, confined
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import SHARED_FACTS, Asked, Bound, Verb
from tidegate.journal.replay import Replayed
from tidegate.journal.shadow import Shadowed
from tidegate.kinds.upgrades.core.explain.notices import organisation_notices
from tidegate.kinds.upgrades.core.explain.view import organisation_view
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.journal import made as made_of
from tidegate.kinds.upgrades.core.journal import replay, state
from tidegate.kinds.upgrades.core.journal.facts import (
    HistoryNews,
    Imported,
    Job,
    LabelsRequested,
    Planned,
    Surveyed,
)
from tidegate.kinds.upgrades.core.journal.label_state import (
    holder_cluster,
    is_of_labels,
    requested_unlabelled,
    wanted_labels,
)
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan, OrganisationWorld
from tidegate.kinds.upgrades.core.journal.past import news_of
from tidegate.kinds.upgrades.core.journal.record import record_plans
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.rules.brake_gates import HOLDS
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.document import Document
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import TakenPlace

_BACK = (StepKind.CANCEL, StepKind.CANCEL_ADDON)
_ABORT = (
    "`abort` does not apply to upgrades: an upgrade that has started cannot be stopped; use "
    "`pause` so that nothing new starts, or `block add VERSION` to withdraw scheduled upgrades"
)


class UpgradeRules(Rules[UpgradeState, OrganisationWorld, OrganisationPlan]):
    """OpenShift versions across the clusters of an organisation, declared by labels."""

    word: ClassVar[str] = PARTITION
    noun: ClassVar[str] = "organisation"
    target_noun: ClassVar[str] = "cluster"
    facts: ClassVar[tuple[type[Fact], ...]] = (
        Surveyed,
        Planned,
        Imported,
        LabelsRequested,
        *SHARED_FACTS,
    )

    def __init__(self, served: frozenset[str] = frozenset()) -> None:
        # Organisations that are served here, by `env/org`: sooner or later they are observed.
        self._served = served

    def empty(self) -> UpgradeState:
        """Nothing was read."""
        return UpgradeState()

    def fold(self, known: UpgradeState, at: Instant, fact: Fact, actor: str) -> UpgradeState:
        """Take one fact into account."""
        return state.fold(known, at, fact, actor)

    def encode(self, known: UpgradeState) -> bytes:
        """The state, to be kept."""
        return state.encode(known)

    def decode(self, raw: bytes) -> UpgradeState:
        """The state that was kept."""
        return state.decode(raw)

    def under_way(self, known: UpgradeState) -> UnderWay:
        """Each cluster has a version of its own, so there is no revision."""
        return UnderWay(responses=known.responses, brakes=known.brakes)

    def world(
        self, known: UpgradeState, brakes: Brakes, now: Instant, others: Others
    ) -> OrganisationWorld | None:
        """The world, with the soak of organisations it inherits from."""
        keys = made_of.other_keys(known)
        found = {key: others(f"{PARTITION}/{key}") for key in keys}
        mine = confined(brakes, self.named(known), self.labels(known))
        return made_of.organisation_world(known, mine, now, found, self._served)

    def decide(self, world: OrganisationWorld, now: Instant) -> OrganisationPlan:
        """Upgrades and agreements, by the rules the organisation is served by."""
        return made_of.organisation_plan(world, now)

    def bound(self, known: UpgradeState, world: OrganisationWorld) -> Bound | None:
        """The brakes of a decision, where they are new."""
        return made_of.bound_of(known, world.world)

    def record(
        self,
        partition: str,
        seq: int,
        known: UpgradeState,
        world: OrganisationWorld,
        made: OrganisationPlan,
        now: Instant,
        mode: Mode,
    ) -> PlanRecord:
        """Requests with keys, clusters whose gates say something else, claims."""
        plans = (made.plan, made.agreeing)
        kept = _kept(known, made)
        planned = record_plans(
            partition, seq, known, plans, now, mode, kept, made.unseen, made.labelling
        )
        acts = mode is Mode.ACT
        keys = {job.name: job.key for job in planned.tasks if job.change.starts_at is not None}
        claims = [
            TakenPlace(one.name, one.place, partition, keys[one.target], now)
            for one in made.plan.claims
        ]
        return PlanRecord(
            fact=planned,
            tasks=planned.tasks,
            is_news=bool(planned.changed or planned.kept or (planned.tasks and acts)),
            recheck_at=planned.recheck_at,
            claims=claims,
            frees=made_of.freed_keys(partition, world.world.brakes, made.plan),
        )

    def due(self, known: UpgradeState, _now: Instant) -> Sequence[Sequence[AnyTask]]:
        """What is taken back first, then the rest."""
        tasks = list(known.jobs.values())
        back = [one for one in tasks if one.change.doing in _BACK]
        return back, [one for one in tasks if one.change.doing not in _BACK]

    def unwanted(self, known: UpgradeState, task: AnyTask) -> str:
        """Whether another decision took its place, or the cluster is gone."""
        if task.key not in known.jobs:
            return "another decision took its place"
        if is_of_labels(task) and not wanted_labels(known, task):
            return "the request was withdrawn, or another took its place"
        if is_of_labels(task):
            return ""
        return "" if task.target in known.clusters else "the cluster is gone"

    def labels(self, known: UpgradeState) -> Mapping[str, Mapping[str, str]]:
        """The labels of clusters, without prefix, beside `org` and `env`."""
        org = known.org
        if org is None:
            return {}
        # Of two that are called the same, the labels of the one that is a row.
        every = (*requested_unlabelled(known), *known.clusters.values())
        return {each.name: brake_labels(org, each) for each in every}

    def own_labels(self, known: UpgradeState) -> Mapping[str, str] | None:
        """It has labels, and clusters without labels, which are no rows."""
        org = known.org
        return None if org is None else {"org": org.id, "env": org.env}

    def named(self, known: UpgradeState) -> Iterable[str] | None:
        """The clusters; not known where two are called the same, for brakes see both labels."""
        every = (*known.clusters.values(), *requested_unlabelled(known))
        names = {each.name for each in every}
        return None if known.org is None or len(names) < len(every) else names

    def shut(
        self, known: UpgradeState, task: AnyTask, coverages: Coverages, now: Instant
    ) -> Verdict | None:
        """The brake that covers a request; what is taken back is never too soon."""
        assert isinstance(task, Job)
        step = task.change
        if step.doing in _BACK:
            return None
        if step.doing is StepKind.LABELS:
            ask = Ask(purpose=Purpose.ROLL_OUT, now=now, revision="", need=Duration(0))
            return _hold(known, task, coverages, ask)
        name = f"{step.addon}/{step.revision}" if step.addon else step.revision
        ask = Ask(purpose=Purpose.ROLL_OUT, now=now, revision=name, need=Duration(0))
        found = shut_now(coverages.of(known.clusters[task.target].name), ask)
        if found is not None and step.doing is StepKind.AGREE and found.gate not in HOLDS:
            return None
        return found

    def sent(self, known: UpgradeState) -> Mapping[str, Instant]:
        """The keys of notices, and of entries of service logs, that were sent."""
        return known.told

    def notices(
        self,
        partition: str,
        known: UpgradeState,
        _world: OrganisationWorld,
        made: OrganisationPlan,
        now: Instant,
    ) -> DueNotices:
        """Upgrades that start, fail and end, approvals that are missing, a pause."""
        return organisation_notices(partition, made, known.told, now, known.paused)

    def view(
        self,
        partition: str,
        known: UpgradeState,
        _world: OrganisationWorld,
        made: OrganisationPlan,
        now: Instant,
    ) -> PartitionView:
        """The rows of an organisation."""
        return organisation_view(
            partition, made, now, paused=known.paused, recheck_at=known.recheck_at
        )

    def asked(self, fact: Asked, _view: PartitionView) -> str:
        """An upgrade that has started cannot be stopped."""
        return _ABORT if fact.verb is Verb.ABORT else ""

    def dates(
        self,
        partition: str,
        known: UpgradeState,
        world: OrganisationWorld,
        _now: Instant,
        _entries: Iterable[JournalEntry],
        pace: DatePace,
        target: str | None,
    ) -> Document | None:
        """The rules, run ahead on the last recorded survey; other answers bring their own dates."""
        if pace.brief:
            return None
        # The application reads journals by these rules.
        from tidegate.kinds.upgrades.app.forecast import forecast_fleet
        from tidegate.kinds.upgrades.app.read.journal import recorded_reading
        from tidegate.kinds.upgrades.app.read.world import FleetReading

        reading = recorded_reading(world.world, known, partition)
        return forecast_fleet(FleetReading((reading,)), target or partition, pace)

    def shadow(self, entries: Iterable[JournalEntry], others_then: OthersThen) -> Shadowed:
        """Every observation decided by our rules and by those of AUS."""
        return replay.compare(entries, others_then)

    def replay(
        self, entries: Iterable[JournalEntry], others_then: OthersThen
    ) -> Iterable[Replayed]:
        """Every recorded decision, decided again."""
        return replay.replay(entries, others_then)


def _hold(known: UpgradeState, task: Job, coverages: Coverages, ask: Ask) -> Verdict | None:
    """The hold that covers the holder of labels: of an organisation's, all its clusters."""
    cluster = holder_cluster(known, task)
    found: Verdict | None = None
    for each in known.clusters.values() if cluster is None else (cluster,):
        found = shut_now(coverages.of(each.name), ask)
        if found is None or found.gate not in HOLDS:
            return None
    return found


def _kept(known: UpgradeState, made: OrganisationPlan) -> HistoryNews | None:
    """What the predecessor keeps anew, where its rules decided."""
    if made.theirs is None:
        return None
    org = made.world.orgs[0]
    found = made.theirs.kept.get(f"{org.env}/{org.id}")
    return None if found is None else news_of(known.history or SoakHistory(), found)
