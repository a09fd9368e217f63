"""The world of a pipeline as its facts have it, under brakes."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.brakes import Brakes, concerning
from tidegate.gates.scope import EVERYTHING
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    Hotfix,
    PublisherTarget,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.channels.pipeline import TRUST_GATE, Pipeline
from tidegate.kinds.promotions.core.channels.sources import (
    PipelineReading,
    SaasSubscriber,
    TargetPlace,
)
from tidegate.kinds.promotions.core.requests.carried import CarriedChannels
from tidegate.kinds.promotions.core.requests.model import combination

Responses = Mapping[str, tuple[Response, ...]]


def labels_of(place: TargetPlace) -> dict[str, str]:
    """The labels by which brakes and grants select a target."""
    found = {
        "environment": place.environment,
        "cluster": place.cluster,
        "namespace": place.namespace,
        "saas": place.saas,
    }
    return {name: value for name, value in found.items() if value}


def trust_gate(version: str) -> str:
    """The name of the gate at which the promotion of a version is approved."""
    return f"{TRUST_GATE}/{version[:SHORT]}"


def channel_world(
    known: PipelineKnown,
    brakes: Brakes,
    responses: Responses,
    *,
    paused: bool = False,
    aborted: frozenset[str] = frozenset(),
) -> ChannelWorld | None:
    """The world as the facts have it; None while nothing was read."""
    reading = known.reading
    if reading is None:
        return None
    pipeline = reading.pipeline
    labels = {each.name: labels_of(each.place) for each in reading.subscribers}
    publishers = {
        e.name: PublisherTarget(e.name, e.version, e.place.saas) for e in reading.publishers
    }
    versions = {each.version for each in publishers.values() if each.version is not None}
    return ChannelWorld(
        subscribers=tuple(_subscriber(pipeline, each, labels) for each in reading.subscribers),
        channels=reading.channels(),
        publishers=publishers,
        # The state goes on changing: a world does not.
        histories=dict(known.histories),
        blocked=_blocked(reading),
        hotfixes=dict(_hotfixes(reading)),
        slos=dict(known.slos),
        brakes=concerning(brakes, labels, labels) or Brakes(),
        under_way=dict(_under_way(known, reading)),
        runs_needed=pipeline.evidence.runs,
        runs=dict(known.runs),
        names_needed=pipeline.evidence.named,
        named={version: dict(some) for version, some in known.named.items()},
        quarantined=dict(known.quarantined),
        quarantine_role=pipeline.quarantine_role,
        tried=dict(_tried(known, reading)),
        went_well=known.well_number,
        trusted_after=pipeline.trust.promotions,
        trust_gates={each: _trust_gate(pipeline, each, responses) for each in versions},
        paused=paused,
        aborted=aborted,
    )


def _subscriber(
    pipeline: Pipeline, one: SaasSubscriber, labels: Mapping[str, Mapping[str, str]]
) -> SubscriberTarget:
    return SubscriberTarget(
        name=one.name,
        version=one.ref,
        channels=one.channels,
        soak=one.soak,
        soak_rule=pipeline.soak_rule,
        schedule=one.schedule,
        zone=pipeline.zone,
        slos=one.slos,
        labels=labels[one.name],
        follows_configs=one.follows_configs,
        configs=one.configs,
        troubles=one.troubles,
    )


def _blocked(reading: PipelineReading) -> dict[str, str]:
    return {each.version: f"blocked by {each.where}" for each in reading.blocked}


def _hotfixes(reading: PipelineReading) -> Iterator[tuple[str, Hotfix]]:
    """Versions that code components name as hotfixes: what they skip the pipeline declares."""
    pipeline = reading.pipeline
    for each in reading.hotfixes:
        yield (
            each.version,
            Hotfix(
                version=each.version,
                owner=pipeline.hotfix_owner,
                why=f"a hotfix of {each.where}",
                skips=frozenset(pipeline.hotfix_skips),
            ),
        )


def _tried(known: PipelineKnown, reading: PipelineReading) -> Iterator[tuple[str, tuple[str, str]]]:
    """Versions that are tried, until their target is written as it was before."""
    refs = {each.name: each.ref for each in reading.publishers}
    for one in known.bisections.values():
        if refs.get(one.target) != one.ref:
            yield from ((each.version, (one.target, one.version)) for each in one.tries)


def _under_way(known: PipelineKnown, reading: PipelineReading) -> Iterator[tuple[str, str]]:
    """Subscribers between the offer of a version and its running, where that is seen."""
    carried = CarriedChannels(known.requests.requests)
    for each in reading.subscribers:
        channels = combination(each.channels)
        held = carried.first(channels) is not None
        history, move = known.histories.get(each.name), known.moves.get(each.name)
        starting = history is not None and move is not None and history.version != each.ref
        if held or starting:
            yield each.name, each.ref


def _trust_gate(pipeline: Pipeline, version: str, responses: Responses) -> ApprovalGate:
    """The gate names its version, so that an answer there is for that version."""
    name, rule = trust_gate(version), pipeline.trust
    given = tuple(replace(each, revision=version) for each in responses.get(name, ()))
    return ApprovalGate(
        name=name,
        scope=EVERYTHING,
        quorum=rule.quorum,
        people=frozenset(rule.people),
        responses=given,
    )
