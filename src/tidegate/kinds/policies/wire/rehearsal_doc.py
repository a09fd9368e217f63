"""Rehearsals of policies: a hub, its clusters and agents, and what people do, for `simulate`.

    groups:                                  # decision groups of the placement, in their order
      - {name: dev, clusters: [dev-1, dev-2]}
      - {name: prod, count: 20, labels: {region: eu}}
    policies:
      - name: web
        has: "1"                             # a plain policy that all clusters have; or nothing yet
        wants: "2"                           # what its author wrote; as `has`, unless it is written
        rollout:                             # the spec of the Rollout object
          rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 30m}}
    agents:
      answersAfter: 30s                      # or {from: 5s, to: 5m}, drawn by --seed
      clusters: {dev-2: {fails: {"2": quota exceeded}}, prod-07: {silent: true}}
    events:
      - {at: 2h, approve: [prod]}
      - {when: {cluster: dev-1, is: Soaking}, after: 1m, break: dev-1}
      - {when: {policy: web, is: Failed}, revise: "3"}
    expect:                                  # what `--check` compares
      story: ["▶ dev: dev-1, dev-2 get 2", …]
      clusters: {dev-1: ["1", "2"]}

A revision is named by a text, and by itself it is a ConfigMap with that text as its value;
`revisions: {"2": SPEC}` beside `policies` gives one the whole spec of a Policy.

An event with `at` happens so long after the start. One with `when` or `after` happens after the
event above it: once what it says is so, and so long after that.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.simulated.scenario import (
    OF_CLUSTERS,
    AgentManner,
    Awaited,
    ExpectedStory,
    PolicyEvent,
    PolicyScenario,
    PolicyVerb,
    RehearsedPolicy,
)
from tidegate.kinds.policies.wire.rollout_doc import read_policy_rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.wire.scenario_doc import (
    DEFAULT_START,
    DEFAULT_STOP,
    SimulatedGroup,
    simulated_groups,
)
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest_or_all, shown
from tidegate.model.time import SECOND, Duration

# So often an agent flaps at most: more is a typing mistake.
FLAPS_MAX = 1000
WORDS = ("Waiting", "Updating", "Soaking", "Done", "Failed", "No answer", "Joined later", "Ignored")
_FLAGS = frozenset((PolicyVerb.PAUSE, PolicyVerb.RESUME, PolicyVerb.ABORT))
_RETRIES = ("all", "failed")


def read_rehearsal(document: object, *, of_hub: bool = False) -> PolicyScenario:
    """Read a rehearsal; UserError lists everything that is wrong with it.

    `of_hub`: groups and policies are those of a hub, and are not written here.
    """
    problems = Problems()
    reader = Reader(document, "", problems)
    if not isinstance(document, dict):
        problems.add("", "not a rehearsal", "write groups and policies")
    groups: tuple[SimulatedGroup, ...] = ()
    policies: tuple[RehearsedPolicy, ...] = ()
    if of_hub:
        for each in ("groups", "policies", "expect", "labels", "revisions"):
            if reader.has(each):
                problems.add(each, "is as the hub has it", "leave it out, or leave --hub out")
    else:
        groups, policies = simulated_groups(reader, problems), _policies(reader)
    known = {name for group in groups for name in group.clusters}
    names = _Names(None if of_hub else {group.name for group in groups}, policies)
    events = tuple(
        event for each in reader.children("events") if (event := _event(each, names)) is not None
    )
    known |= {name for event in events if event.verb is PolicyVerb.JOIN for name in event.names}
    agents = reader.child("agents")
    manner = _manner(agents, AgentManner())
    manners, flaps = _manners(agents, manner, None if of_hub else known)
    said = reader.instant("start")
    stop_after = reader.duration("stopAfter") or DEFAULT_STOP
    found = PolicyScenario(
        name=reader.text("name") or "policies",
        start=said if said is not None else DEFAULT_START,
        stop_after=stop_after,
        groups=groups,
        policies=policies,
        revisions={} if of_hub else _revisions(reader),
        labels={} if of_hub else _labels(reader, known),
        manner=manner,
        manners=manners,
        events=(*events, *_flaps(flaps, stop_after)),
        expect=_expected(reader) if reader.has("expect") and not of_hub else None,
        real=tuple(reader.texts("real")),
    )
    agents.close()
    reader.close()
    if not of_hub:
        _check_clusters(events, known, problems)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return found


def _policies(reader: Reader) -> tuple[RehearsedPolicy, ...]:
    if not reader.has("policies"):
        reader.problems.add("policies", "missing", "write a list of {name, wants, rollout}")
    found: list[RehearsedPolicy] = []
    for each in reader.children("policies"):
        name, has = each.text("name") or "", each.text("has") or ""
        wants = each.text("wants") or has
        if not name:
            each.problems.add(each.at("name"), "missing", "name the policy")
        if not wants:
            each.problems.add(each.at("wants"), "missing", "write the revision that is wanted")
        rollout, of = each.raw("rollout"), tuple(each.texts("policySet"))
        if not isinstance(rollout, dict):
            each.problems.add(
                each.at("rollout"), f"{shown(rollout)} is no spec", "write that of a Rollout"
            )
            rollout = {}
        else:
            _check_rollout(each.at("rollout"), rollout, reader.problems, is_set=bool(of))
        found.append(RehearsedPolicy(name, has, wants, each.text("version"), rollout, of))
        each.close()
    return tuple(found)


def _check_rollout(
    path: str, fields: Mapping[str, Any], problems: Problems, *, is_set: bool
) -> None:
    """What is wrong with the spec of a Rollout, with its place in the rehearsal."""
    own = Problems()
    source = {} if fields.get("stage") == StageWay.WAVES.value else {"source": {"namespace": "b"}}
    spec = {"policySet" if is_set else "policy": "a", **source, **fields}
    read_policy_rollout({"metadata": {"namespace": "c", "name": "a"}, "spec": spec}, own)
    for each in own.errors:
        problems.add(f"{path}.{each.path.removeprefix('spec.')}", each.message, each.remedy)


class _Names:
    """What events can name."""

    def __init__(self, groups: set[str] | None, policies: tuple[RehearsedPolicy, ...]) -> None:
        # None: not known before the hub was read.
        self.groups = groups
        self.policies = [each.name for each in policies]


def _event(reader: Reader, names: _Names) -> PolicyEvent | None:
    problems = reader.problems
    verbs = [verb for verb in PolicyVerb if reader.has(verb.value)]
    at, awaited, after = reader.duration("at"), _awaited(reader, names), reader.duration("after")
    if len(verbs) != 1:
        offer = ", ".join(verb.value for verb in PolicyVerb)
        problems.add(reader.path, f"{len(verbs)} things happen", f"write one of {offer}")
        return None
    if (at is None) == (awaited is None and after is None):
        problems.add(reader.path, "no moment, or two", "write `at`, or `when` and `after`")
    verb, field = verbs[0], verbs[0].value
    value = reader.raw(field)
    found = PolicyEvent(
        verb,
        policy=_policy(reader, verb, names),
        at=at,
        awaited=awaited,
        after=after or Duration(0),
    )
    if verb in _FLAGS:
        reader.flag(field)
    elif verb is PolicyVerb.ROLLOUT:
        if not isinstance(value, dict):
            problems.add(reader.at(field), f"{shown(value)} is no spec", "write its fields")
            value = {}
        found = msgspec.structs.replace(found, fields=value)
    else:
        listed = reader.texts(field) if isinstance(value, list) else [reader.text(field) or ""]
        found = msgspec.structs.replace(found, names=tuple(listed))
    if verb is PolicyVerb.REVISE:
        found = msgspec.structs.replace(found, version=reader.text("version"))
    if verb is PolicyVerb.BREAK:
        found = msgspec.structs.replace(found, why=reader.text("why") or "differs")
    if verb is PolicyVerb.JOIN:
        found = msgspec.structs.replace(found, group=reader.text("group") or "")
        _check_named(reader, "group", [found.group], names.groups)
    if verb in (PolicyVerb.APPROVE, PolicyVerb.REVOKE):
        groups = None if names.groups is None else names.groups | {"ungrouped"}
        _check_named(reader, field, found.names, groups)
    if verb is PolicyVerb.RETRY:
        _check_named(reader, field, found.names, set(_RETRIES))
    reader.close()
    return found


def _policy(reader: Reader, verb: PolicyVerb, names: _Names) -> str:
    if verb in OF_CLUSTERS:
        return ""
    named = reader.text("policy") or (names.policies[0] if len(names.policies) == 1 else "")
    if names.groups is not None and named not in names.policies:
        hint = nearest_or_all(named, names.policies)
        reader.problems.add(reader.at("policy"), f"no policy {shown(named)}", hint)
    return named


def _awaited(reader: Reader, names: _Names) -> Awaited | None:
    if not reader.has("when"):
        return None
    when = reader.child("when")
    state = when.text("is") or ""
    what = next((each for each in ("cluster", "group", "policy") if when.has(each)), "")
    name = (when.text(what) or "") if what else ""
    if not what:
        reader.problems.add(when.path, "nothing is named", "write cluster, group or policy")
    known = [each.value for each in Summary] if what in ("group", "policy") else list(WORDS)
    _check_named(when, "is", [state], set(known))
    if what == "group":
        _check_named(when, what, [name], names.groups)
    if what == "policy" and names.groups is not None:
        _check_named(when, what, [name], set(names.policies))
    when.close()
    return Awaited(what, name, state)


def _check_named(reader: Reader, field: str, names: Any, known: set[str] | None) -> None:
    for name in names if known is not None else ():
        if name not in (known or ()):
            hint = nearest_or_all(name, sorted(known or ()))
            reader.problems.add(reader.at(field), f"no {shown(name)} here", hint)


def _check_clusters(events: tuple[PolicyEvent, ...], known: set[str], problems: Problems) -> None:
    for event in events:
        of_cluster = event.awaited is not None and event.awaited.what == "cluster"
        named = list(event.names) if event.verb in OF_CLUSTERS else []
        for name in [*named, *([event.awaited.name] if of_cluster and event.awaited else [])]:
            if name not in known:
                problems.add("events", f"no cluster {shown(name)}", nearest_or_all(name, known))


def _manner(reader: Reader, otherwise: AgentManner) -> AgentManner:
    low, high = reader.span("answersAfter", otherwise.answer_min, otherwise.answer_max)
    fails = reader.child("fails")
    why = {name: fails.text(name) or "" for name in fails.names()}
    return AgentManner(
        low, high, reader.flag("silent", otherwise.silent), {**otherwise.fails, **why}
    )


def _manners(
    agents: Reader, manner: AgentManner, known: set[str] | None
) -> tuple[dict[str, AgentManner], dict[str, Duration]]:
    found: dict[str, AgentManner] = {}
    flaps: dict[str, Duration] = {}
    clusters = agents.child("clusters")
    for name in clusters.names():
        if known is not None and name not in known:
            hint = nearest_or_all(name, known)
            clusters.problems.add(clusters.at(name), "no such cluster", hint)
        each = clusters.child(name)
        found[name] = _manner(each, manner)
        every = each.duration("flaps")
        if every is not None and every < SECOND:
            each.problems.add(
                each.at("flaps"), "shorter than a second", "write how long each lasts"
            )
        elif every is not None:
            flaps[name] = every
        each.close()
    return found, flaps


def _flaps(flaps: Mapping[str, Duration], stop_after: Duration) -> list[PolicyEvent]:
    """An agent that flaps breaks and is well again, in turn, to the end."""
    found: list[PolicyEvent] = []
    for cluster, every in flaps.items():
        for turn in range(1, min(FLAPS_MAX, stop_after // every) + 1):
            verb = PolicyVerb.BREAK if turn % 2 else PolicyVerb.FIX
            at = Duration(turn * every)
            found.append(PolicyEvent(verb, (cluster,), why="flapping", at=at))
    return found


def _revisions(reader: Reader) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    revisions = reader.child("revisions")
    for name in revisions.names():
        value = revisions.raw(name)
        if isinstance(value, dict) and "policy-templates" in value:
            found[name] = value
        else:
            what = f"{shown(value)} is no spec of a Policy"
            revisions.problems.add(revisions.at(name), what, "write policy-templates")
    return found


def _labels(reader: Reader, known: set[str]) -> dict[str, dict[str, str]]:
    labels = reader.child("labels")
    found: dict[str, dict[str, str]] = {}
    for name in labels.names():
        if name not in known:
            labels.problems.add(labels.at(name), "no such cluster", nearest_or_all(name, known))
        each = labels.child(name)
        found[name] = {key: each.text(key) or "" for key in each.names()}
    return found


def _expected(reader: Reader) -> ExpectedStory:
    expected = reader.child("expect")
    clusters = expected.child("clusters")
    found = ExpectedStory(
        tuple(expected.texts("story")),
        {name: tuple(clusters.texts(name)) for name in clusters.names()},
    )
    expected.close()
    return found


def read_edited_policy(document: object) -> Mapping[str, Any]:
    """The spec of a Policy, as its author would write it."""
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict) or not spec.get("policy-templates"):
        what = f"{shown(spec)} is no spec of a Policy"
        raise UserError((Problem("spec", what, "write policy-templates"),))
    return spec
