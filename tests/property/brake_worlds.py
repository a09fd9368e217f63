"""Small rollouts under many brakes, drawn by Hypothesis; times are hours around one noon.

Everything is small on purpose: few targets, few labels, few instants, so that brakes overlap, end
together, and meet what the rollout does.
"""

from typing import Any

import msgspec
from hypothesis import strategies as st

from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.block import Block
from tidegate.gates.brakes import Brakes
from tidegate.gates.budget import Budget
from tidegate.gates.claims import Claim
from tidegate.gates.freeze import Exemption, Freeze, Span, joined
from tidegate.gates.health import Alert, Evidence, HealthGate, HealthRun
from tidegate.gates.hold import Hold
from tidegate.gates.mutex import Mutex
from tidegate.gates.pin import Pin
from tidegate.gates.scope import EVERYTHING, KindOfChange, Scope
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.strategy import (
    Approvals,
    GroupRef,
    OnFailure,
    OnNewRevision,
    Retry,
    Rollout,
    Strategy,
    StrategyType,
)
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.model.limit import Limit
from tidegate.model.problem import Problems
from tidegate.model.selector import Operator, Requirement, Selector
from tidegate.model.target import State, Status, Target
from tidegate.model.time import SECOND, Duration, Instant, parse_instant

NOON = parse_instant("2026-01-05T12:00:00Z")
HOUR = Duration(3600 * SECOND)
NAMES = ("a", "b", "c", "d", "e", "f")
REGIONS = ("eu", "us")
REVISIONS = ("r1", "r2")
PEOPLE = ("ada", "bob", "eve")


class Case(msgspec.Struct, frozen=True):
    """What a world is built from, so that a law can change one thing and build it again."""

    strategy: Strategy
    groups: tuple[Membership, ...]
    statuses: tuple[Target, ...]
    labels: dict[str, dict[str, str]]
    rollout: Rollout
    revision: str | None
    brakes: Brakes | None

    def world(self, **changes: Any) -> RolloutWorld:
        """The world, with some parts changed."""
        case = msgspec.structs.replace(self, **changes)
        return build_world(
            case.strategy,
            case.groups,
            case.statuses,
            problems=Problems(),
            labels=case.labels,
            revision=case.revision,
            rollout=case.rollout,
            brakes=case.brakes,
        )


def at(hours: int) -> Instant:
    """So many hours from noon."""
    return Instant(NOON + hours * HOUR)


moments = st.integers(-6, 6).map(at)
maybe_moments = st.none() | moments
names = st.sampled_from(NAMES)
named_scopes = st.frozensets(names, min_size=1, max_size=3).map(lambda some: Scope(targets=some))
region_scopes = st.sampled_from(REGIONS).map(
    lambda region: Scope(
        selector=Selector((Requirement("region", Operator.IN, frozenset((region,))),))
    )
)
kind_scopes = st.sampled_from(
    (frozenset((KindOfChange.POLICIES,)), frozenset((KindOfChange.UPGRADES,)))
).map(lambda kinds: Scope(kinds=kinds))
scopes = st.just(EVERYTHING) | named_scopes | region_scopes | kind_scopes


def common(**more: Any) -> dict[str, Any]:
    """What every brake has, drawn."""
    words = {"owner": st.just("ops"), "why": st.just("because"), "expires_at": maybe_moments}
    return {"name": st.sampled_from(("x", "y", "z")), "scope": scopes, **words, **more}


def some(
    strategy: st.SearchStrategy[Any], most: int = 2, least: int = 0
) -> st.SearchStrategy[tuple[Any, ...]]:
    """A few with names of their own."""
    unique = st.lists(strategy, min_size=least, max_size=most, unique_by=lambda each: each.name)
    return unique.map(tuple)


spans = st.lists(
    st.tuples(moments, st.integers(1, 3)).map(lambda s: Span(s[0], Instant(s[0] + s[1] * HOUR))),
    max_size=3,
).map(joined)
exemptions = st.builds(
    Exemption,
    scope=scopes,
    owner=st.just("boss"),
    why=st.just("hotfix"),
    expires_at=moments,
    revision=st.none() | st.sampled_from(("r1", "r*")),
)
holds = st.builds(Hold, **common())
pins = st.builds(Pin, **common())
blocks = st.builds(Block, **common(revision=st.sampled_from(("r1", "r2", "r*", "x?"))))
freezes = st.builds(
    Freeze,
    **common(
        spans=spans,
        known_until=st.none() | st.just(at(5)),
        finish_before=st.booleans(),
        exemptions=st.lists(exemptions, max_size=2).map(tuple),
    ),
)
limits = st.integers(0, 4).map(Limit) | st.sampled_from((Limit(34, True), Limit(50, True)))
budgets = st.builds(
    Budget,
    name=st.sampled_from(("x", "y")),
    limit=limits,
    scope=scopes,
    per=st.sampled_from(("", "region")),
)
mutexes = st.builds(Mutex, name=st.sampled_from(("m", "n")), scope=scopes)
claims = st.lists(
    st.builds(
        Claim,
        name=st.sampled_from(("mutex/m", "mutex/n", "budget/x", "budget/y/eu", "budget/x/us")),
        target=st.sampled_from((*NAMES, "far-1", "far-2")),
        partition=st.sampled_from(("mine", "theirs")),
        since=maybe_moments,
        place=st.integers(0, 3),
    ),
    max_size=3,
    unique_by=lambda claim: (claim.name, claim.target, claim.partition),
).map(tuple)
responses = st.builds(
    Response,
    who=st.sampled_from(PEOPLE),
    at=moments,
    revision=st.sampled_from(REVISIONS),
    why=st.sampled_from(("", "fine")),
    rejects=st.booleans(),
    expires_at=maybe_moments,
)
approval_gates = st.builds(
    ApprovalGate,
    name=st.sampled_from(("x", "y")),
    scope=scopes,
    quorum=st.integers(1, 3),
    people=st.frozensets(st.sampled_from(PEOPLE), max_size=2),
    by_author=st.booleans(),
    responses=st.lists(responses, max_size=4).map(tuple),
)
evidence = st.builds(
    Evidence,
    seen_at=maybe_moments,
    revision=st.none() | st.sampled_from(REVISIONS),
    since=maybe_moments,
    runs=st.lists(st.builds(HealthRun, moments, st.booleans()), max_size=4).map(tuple),
    alerts=st.lists(
        st.builds(Alert, st.sampled_from(("Down", "Slow")), maybe_moments), max_size=2
    ).map(tuple),
)
health_gates = st.builds(
    HealthGate,
    name=st.sampled_from(("x", "y")),
    scope=scopes,
    max_age=st.integers(1, 4).map(lambda hours: Duration(hours * HOUR)),
    clean_runs=st.integers(0, 3),
    no_new_alerts=st.booleans(),
    evidence=st.none() | evidence,
)
brakes = st.builds(
    Brakes,
    holds=some(holds),
    freezes=some(freezes),
    blocks=some(blocks, 1),
    pins=some(pins, 1),
    budgets=some(budgets),
    mutexes=some(mutexes),
    approvals=some(approval_gates, 1),
    health=some(health_gates, 1),
    claims=claims,
    kind=st.none() | st.just(KindOfChange.POLICIES),
    partition=st.sampled_from(("", "mine")),
    author=st.none() | st.just("ada"),
    apply_time=st.none() | st.integers(0, 2).map(lambda hours: Duration(hours * HOUR)),
)


_KINDS = {
    "holds": holds,
    "freezes": freezes,
    "blocks": blocks,
    "pins": pins,
    "budgets": budgets,
    "mutexes": mutexes,
    "approvals": approval_gates,
    "health": health_gates,
}


def only(field: str) -> st.SearchStrategy[Brakes]:
    """Brakes of one kind, without doubt about the kind of change."""
    shared = {"claims": claims, "partition": st.sampled_from(("", "mine"))}
    return st.builds(
        Brakes,
        kind=st.just(KindOfChange.POLICIES),
        author=st.none() | st.just("ada"),
        **{field: some(_KINDS[field], least=1)},
        **(shared if field in ("budgets", "mutexes") else {}),
    )


strategies = st.builds(
    Strategy,
    st.sampled_from(StrategyType),
    soak=st.integers(0, 2).map(lambda hours: Duration(hours * HOUR)),
    deadline=st.none() | st.integers(1, 3).map(lambda hours: Duration(hours * HOUR)),
    max_failures=st.integers(0, 3).map(Limit),
    max_concurrency=st.none() | st.integers(0, 4).map(Limit),
    mandatory=st.sampled_from(((), (GroupRef("g0"),))),
    on_failure=st.sampled_from(OnFailure),
    on_new_revision=st.sampled_from(OnNewRevision),
)
rollouts = st.builds(
    Rollout,
    revision=st.none() | st.sampled_from(REVISIONS),
    completed=st.booleans(),
    paused=st.just(False) | st.booleans(),
    aborted=st.just(False) | st.booleans(),
    last_good=st.none() | st.sampled_from(REVISIONS),
    approvals=st.just(Approvals(frozenset(("g0", "g1")))),
    retry=st.just(Retry.NOTHING) | st.sampled_from(Retry),
)


_members = st.lists(names, min_size=1, max_size=6, unique=True)
_cuts = [st.integers(0, size) for size in range(len(NAMES) + 1)]
_seen = st.lists(names, max_size=6, unique=True)
_statuses = st.sampled_from([each for each in Status if each is not Status.Unknown])
_pasts = maybe_moments.filter(lambda moment: moment is None or moment <= NOON)
_revisions = st.sampled_from(REVISIONS)
_where = st.none() | st.sampled_from(({}, *({"region": region} for region in REGIONS)))


@st.composite
def cases(draw: st.DrawFn, under: st.SearchStrategy[Any] = brakes) -> Case:
    """A whole case."""
    members = draw(_members)
    cut = draw(_cuts[len(members)])
    statuses = [
        Target(name, draw(_statuses), draw(_pasts), draw(_revisions)) for name in draw(_seen)
    ]
    labels = {name: draw(_where) for name in NAMES}
    return Case(
        draw(strategies),
        (Membership("g0", 0, tuple(members[:cut])), Membership("g1", 1, tuple(members[cut:]))),
        tuple(statuses),
        {name: its for name, its in labels.items() if its is not None},
        draw(rollouts),
        "r2",
        draw(under),
    )


UNSOAKED = (State.IN_FLIGHT, State.SOAKING, State.HOLDING, State.FAILED, State.TIMED_OUT)


def unsoaked(case: Case, plan: RolloutPlan, target: Target, state: State) -> bool:
    """Whether a target is changed and not yet soaked; a retry makes no target unchanged."""
    if state in UNSOAKED:
        return True
    retried = plan.course.retry is not Retry.NOTHING and state is State.WAITING
    if not retried or target.revision != plan.course.revision:
        return False
    if target.status is Status.Succeeded:
        return target.since is None or target.since + case.strategy.soak > NOON
    return target.status in (Status.Failed, Status.TimeOut, Status.Progressing)


def sure_labels(case: Case) -> Case:
    """The same with labels for all, so that nothing is in doubt."""
    labels = {name: case.labels.get(name, {}) for name in NAMES}
    return msgspec.structs.replace(case, labels=labels)


def is_in(scope: Scope, case: Case, name: str) -> bool:
    """Whether a scope covers a target, in plain terms; only where nothing is in doubt."""
    if scope.kinds and KindOfChange.POLICIES not in scope.kinds:
        return False
    if scope.targets is not None:
        return name in scope.targets
    if scope.selector is None:
        return True
    wanted = scope.selector.requirements[0]
    return case.labels.get(name, {}).get(wanted.key) in wanted.values
