"""World documents: what an OpenShift Cluster Manager knows when a simulation begins.

    now: "2026-03-02T08:00:00Z"
    orgs: [{id: o1, name: Payments, labels: {sector-deps.prod: stage}}]
    clusters:
      - {name: stage-1, org: o1, version: "4.16.3", labels: {soak-days: "0", workloads: pay}}
    versions: [{version: "4.16.4", released_at: "2026-03-03T00:00:00Z"}]
    outcomes: [{clusters: "stage-*", versions: "4.17.*", fails: true}]

Labels are written without the prefix `sre-capabilities.aus.`. Where a cluster does not say what it
can be upgraded to, that follows from the versions that are out. What only a decision needs of such
a document (`health_checks`, `unread`, …) is let pass: the same file serves both, and so does what
`simulate upgrades --save` writes.
"""

from fnmatch import fnmatchcase
from typing import Any, TypeVar

import msgspec

from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.reader import Reader
from tidegate.model.cron.cron import next_after
from tidegate.model.cron.cron_text import parse_cron
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest_or_all, shown
from tidegate.model.time import (
    SECOND,
    Duration,
    Instant,
    parse_duration,
    parse_instant,
)

S = TypeVar("S", bound=msgspec.Struct)

LABEL_PREFIX = "sre-capabilities.aus."
# What the document holds for those who decide; a simulation has no use for it.
_OF_DECISIONS = (
    *("dry_run", "ignore_sts", "approver", "fail", "telemeter_fail", "unread", "refused"),
)
_START = parse_instant("2026-01-05T08:00:00Z")


class OrgDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An organisation and its labels."""

    id: str
    name: str = ""
    env: str = "prod"
    labels: dict[str, str] = {}
    # For those who decide.
    health_checks: list[dict[str, Any]] = []
    disabled: list[str] = []
    registered: bool = True
    quarantine_after: int = 0
    addons: bool = False
    partial: str = ""
    notice_lead: int = 0


class OcmPolicyDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An upgrade policy, or the plan of an add-on, that is there already."""

    # Empty: made from its number.
    id: str = ""
    # Empty: an automatic one does not say to which.
    version: str = ""
    state: str = "scheduled"
    schedule_type: str = "manual"
    schedule: str = ""
    # None: an hour from the beginning.
    next_run: str | None = None
    # None: as it befits where the policy stands.
    upgrade_type: str | None = None


class PoolDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node pool of a cluster with a hosted control plane."""

    id: str
    version: str
    upgrade_policies: tuple[OcmPolicyDoc, ...] = ()


class InstalledDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An add-on on a cluster."""

    id: str
    version: str
    state: str = "ready"
    # The newest version there is of it; None: what `addons` of the world says.
    latest: str | None = None
    upgrade_plans: tuple[OcmPolicyDoc, ...] = ()


class OcmClusterDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster with its subscription, and everything below it."""

    name: str
    org: str
    version: str
    # None: what follows from the versions that are out.
    available_upgrades: tuple[str, ...] | None = None
    available_channels: tuple[str, ...] | None = None
    labels: dict[str, str] = {}
    product: str = "osd"
    hypershift: bool = False
    sts: bool = False
    # None: stable, of its own minor.
    channel: str | None = None
    node_pools: tuple[PoolDoc, ...] = ()
    upgrade_policies: tuple[OcmPolicyDoc, ...] = ()
    gate_agreements: tuple[str, ...] = ()
    addons: tuple[InstalledDoc, ...] = ()
    state: str = "ready"
    subscription_status: str = "Active"
    # None: made from the name.
    id: str | None = None
    external_id: str | None = None
    subscription: str | None = None
    # Fields that its document lacks, as malformed ones do.
    omit: tuple[str, ...] = ()
    # For those who decide.
    alerts: list[Any] = []
    alerts_since: dict[str, str] = {}

    @property
    def key(self) -> str:
        """Its id."""
        return self.id or f"{self.name}-id"


class GateDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be agreed to before a minor version."""

    id: str
    prefix: str
    label: str
    sts_only: bool = False
    value: str = ""
    description: str = ""


class VersionDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version, since when it is out, and until when it is supported."""

    version: str
    # None: candidate, fast and stable of its minor.
    channels: tuple[str, ...] | None = None
    # None: from the beginning.
    released_at: str | None = None
    end_of_life: str | None = None


class AddonDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An add-on, and its newest version."""

    id: str
    version: str
    name: str = ""


class CredentialDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may ask: a service account, or a person with an offline token."""

    client_id: str = ""
    client_secret: str = ""
    token: str = ""
    # The organisation whose data it sees; empty: all.
    org: str = ""

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"CredentialDoc({self.client_id!r}, org={self.org!r})"


class OutcomeDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How upgrades go: of which clusters, to which versions; names may have `*` and `?`."""

    clusters: str = "*"
    versions: str = "*"
    # As durations; None: as usual.
    takes: str | None = None
    delayed: str | None = None
    fails: bool = False


class SimulatedPace(msgspec.Struct, frozen=True):
    """How long things take."""

    # From the policy to its being scheduled.
    pending: Duration = Duration(60 * SECOND)
    # From start to end of an upgrade.
    takes: Duration = Duration(90 * 60 * SECOND)
    pool_takes: Duration = Duration(30 * 60 * SECOND)
    addon_takes: Duration = Duration(10 * 60 * SECOND)
    # How long a completed policy is still shown.
    kept: Duration = Duration(10 * 60 * SECOND)


class SimulatedOutcome(msgspec.Struct, frozen=True):
    """How one upgrade goes."""

    takes: Duration
    delayed: Duration = Duration(0)
    fails: bool = False


class OcmWorld(msgspec.Struct, frozen=True, kw_only=True):
    """What there is in the beginning."""

    now: Instant = _START
    orgs: tuple[OrgDoc, ...] = ()
    clusters: tuple[OcmClusterDoc, ...] = ()
    gates: tuple[GateDoc, ...] = ()
    versions: tuple[VersionDoc, ...] = ()
    addons: tuple[AddonDoc, ...] = ()
    credentials: tuple[CredentialDoc, ...] = ()
    outcomes: tuple[OutcomeDoc, ...] = ()
    pace: SimulatedPace = SimulatedPace()
    # As they are written; for those who decide.
    brakes: dict[str, Any] = {}
    # What has soaked so far, by `env/org`, as it is written.
    soaked: dict[str, Any] = {}

    def outcome(self, cluster: str, version: str, takes: Duration) -> SimulatedOutcome:
        """How an upgrade goes: the last rule that fits has the last word."""
        found = SimulatedOutcome(takes)
        for each in self.outcomes:
            if fnmatchcase(cluster, each.clusters) and fnmatchcase(version, each.versions):
                found = SimulatedOutcome(
                    parse_duration(each.takes) if each.takes else takes,
                    parse_duration(each.delayed) if each.delayed else Duration(0),
                    each.fails,
                )
        return found


def read_world(document: object) -> OcmWorld:
    """Read a world; UserError lists everything that is wrong with it."""
    problems = Problems()
    reader = Reader(document, "", problems)
    for name in _OF_DECISIONS:
        reader.raw(name)
    now = reader.instant("now") or _START
    world = OcmWorld(
        now=now,
        orgs=_all(reader, "orgs", OrgDoc),
        clusters=_all(reader, "clusters", OcmClusterDoc),
        gates=_all(reader, "gates", GateDoc),
        versions=_all(reader, "versions", VersionDoc),
        addons=_all(reader, "addons", AddonDoc),
        credentials=_all(reader, "credentials", CredentialDoc),
        outcomes=_all(reader, "outcomes", OutcomeDoc),
        pace=_pace(reader.child("pace")),
        brakes=_brakes(reader, now),
        soaked=_object(reader, "state"),
    )
    reader.close()
    _check(world, problems)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return world


def narrowed(world: OcmWorld, env: str) -> OcmWorld:
    """Only the organisations of one environment; UserError if it has none."""
    orgs = tuple(each for each in world.orgs if each.env == env)
    if not orgs:
        hint = nearest_or_all(env, sorted({each.env for each in world.orgs}))
        raise UserError((Problem("orgs", f"none in the environment {shown(env)}", hint),))
    ids = {each.id for each in orgs}
    clusters = tuple(each for each in world.clusters if each.org in ids)
    return msgspec.structs.replace(world, orgs=orgs, clusters=clusters)


def _all(reader: Reader, name: str, kind: type[S]) -> tuple[S, ...]:
    found = (_typed(each, kind) for each in reader.children(name))
    return tuple(each for each in found if each is not None)


def _typed(reader: Reader, kind: type[S]) -> S | None:
    """One object by its type; None: something is wrong with it, and reported."""
    before, values = len(reader.problems.errors), {}
    for field in msgspec.structs.fields(kind):
        value = reader.raw(field.name)
        if value is None:
            if field.required:
                reader.problems.add(reader.at(field.name), "missing", f"write {field.name}")
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            what = str(error).replace(" - at `$", ", at `")
            reader.problems.add(reader.at(field.name), f"{shown(value)}: {what}")
    reader.close()
    return kind(**values) if len(reader.problems.errors) == before else None


def _brakes(reader: Reader, now: Instant) -> dict[str, Any]:
    """Holds, freezes and the others, as they are written."""
    if not reader.has("brakes"):
        return {}
    read_brakes(reader.child("brakes"), stretch_from(now))
    found = reader.raw("brakes")
    return found if isinstance(found, dict) else {}


def _object(reader: Reader, name: str) -> dict[str, Any]:
    found = reader.raw(name)
    return found if isinstance(found, dict) else {}


def _pace(reader: Reader) -> SimulatedPace:
    usual = SimulatedPace()
    pace = SimulatedPace(
        *(
            found if (found := reader.duration(name)) is not None else getattr(usual, name)
            for name in SimulatedPace.__struct_fields__
        )
    )
    reader.close()
    return pace


def _check(world: OcmWorld, problems: Problems) -> None:
    """What no single object shows: names that lead nowhere, times that are none, ids used twice."""
    orgs = {each.id for each in world.orgs}
    seen: set[str] = set()
    for i, cluster in enumerate(world.clusters):
        if cluster.org not in orgs:
            hint = nearest_or_all(cluster.org, orgs)
            problems.add(f"clusters[{i}].org", f"no organisation {shown(cluster.org)}", hint)
        if cluster.key in seen:
            problems.add(f"clusters[{i}]", f"a second cluster {cluster.key}", "give it an id")
        seen.add(cluster.key)
        policies = [*cluster.upgrade_policies]
        policies += (policy for pool in cluster.node_pools for policy in pool.upgrade_policies)
        for policy in policies:
            _instant(f"clusters[{i}].upgrade_policies", policy.next_run, problems)
            _schedule(f"clusters[{i}].upgrade_policies", policy.schedule, problems)
    for i, version in enumerate(world.versions):
        _instant(f"versions[{i}].released_at", version.released_at, problems)
        _instant(f"versions[{i}].end_of_life", version.end_of_life, problems)
    for i, rule in enumerate(world.outcomes):
        _duration(f"outcomes[{i}].takes", rule.takes, problems)
        _duration(f"outcomes[{i}].delayed", rule.delayed, problems)


def _instant(path: str, text: str | None, problems: Problems) -> None:
    try:
        parse_instant(text or "2026-01-01T00:00:00Z")
    except ValueError as error:
        problems.add(path, f"{shown(text)}: {error}", 'write "2026-01-31T12:00:00Z"')


def _schedule(path: str, text: str, problems: Problems) -> None:
    try:
        if text and next_after(parse_cron(text), _START) is None:
            problems.add(path, f"schedule {shown(text)} never fires", 'write "0 9 * * 1"')
    except ValueError as error:
        problems.add(path, f"schedule {shown(text)}: {error}", 'write "0 9 * * 1"')


def _duration(path: str, text: str | None, problems: Problems) -> None:
    try:
        parse_duration(text or "0s")
    except ValueError as error:
        problems.add(path, f"{shown(text)}: {error}", 'write "90m"')
