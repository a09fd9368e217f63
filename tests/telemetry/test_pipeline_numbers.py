"""The numbers of pipelines: how far subscribers are behind, and what became of merge requests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from tests.pipelined import NEW, OLD, PROD, SAAS, bundle_files, reading_in, saas_text
from tidegate.engine.plain.rules import PlainWorld
from tidegate.engine.round import RoundResult
from tidegate.gates.brakes import Brakes
from tidegate.kinds.promotions.core.channels.journal.facts import RequestsSeen
from tidegate.kinds.promotions.core.channels.journal.state import (
    PipelineKnown,
    read_fact,
    requests_news,
    take,
)
from tidegate.kinds.promotions.core.channels.journal.world import channel_world
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import CommitRange, range_key
from tidegate.kinds.promotions.core.requests.data_block import RequestData
from tidegate.kinds.promotions.core.requests.model import (
    CloseCause,
    HeldPromotion,
    RequestOrigin,
    SeenRequest,
)
from tidegate.kinds.promotions.core.requests.record import ClosedRequest, closing_causes
from tidegate.kinds.promotions.telemetry.pipelines import PipelineTelemetry
from tidegate.model.time import SECOND, Instant

NOW = Instant(10**9 * SECOND)


def request(number: int, **more: Any) -> SeenRequest:
    """One that is open."""
    holds = (HeldPromotion(("c",), f"content-{number}"),)
    return SeenRequest(number=number, url="", branch=f"b{number}", holds=holds, **more)


def test_distances_have_the_labels_of_the_existing_exporter(tmp_path: Path) -> None:
    """The application included; and the age of the oldest commit that is not promoted."""
    named = "app: {$ref: /services/payments/app.yml}\nname: saas-payments"
    text = saas_text().replace("name: saas-payments", named, 1)
    reading = reading_in(tmp_path, bundle_files(**{SAAS: text}))
    found = CommitRange(number=7, oldest_at=Instant(5 * SECOND))
    known = PipelineKnown()
    fact = read_fact(known, replace(reading, commits={range_key(OLD, NEW): found}))
    assert fact is not None
    take(known, NOW, fact, "tidegate")
    channels = channel_world(known, Brakes(), {})
    assert channels is not None
    assert known.reading is not None
    inner = PipelineWorld(reading=known.reading, channels=channels, requests=RequestsSeen())
    world = PlainWorld(inner=inner, targets=(PROD,), brakes=Brakes())
    telemetry = PipelineTelemetry()
    result = SimpleNamespace(partition="channels/payments", world=world)
    telemetry.round_ended(cast(RoundResult, result))
    said = telemetry.text().decode()
    labels = (
        'channel="payments-stage",app="payments",publisher="saas-payments",'
        'publisher_namespace="payments-stage",subscriber="saas-payments",'
        'subscriber_namespace="payments-production"'
    )
    assert f"commit_distance{{{labels}}} 7\n" in said
    assert 'oldest_commit_timestamp_seconds{pipeline="payments"} 5' in said


def test_merge_requests_are_counted_once_by_what_became_of_them() -> None:
    """What was open at the first look is not counted as opened, nor what is not ours."""
    known, telemetry = PipelineKnown(), PipelineTelemetry()

    def look(seen: RequestsSeen) -> None:
        news = requests_news(known, seen)
        if news is not None:
            take(known, NOW, news, "tidegate")
            telemetry.written("channels/payments", news)

    def closed(number: int, cause: CloseCause | None) -> ClosedRequest:
        data = RequestData(
            pipeline="payments", holds=request(number).holds, batchable=True, closed=cause
        )
        return ClosedRequest(number, data)

    look(RequestsSeen(requests=(request(1),)))
    theirs = request(9, origin=RequestOrigin.EXISTING)
    look(RequestsSeen(requests=(*map(request, (1, 2, 3, 4)), theirs)))
    causes = closing_causes(
        [closed(2, CloseCause.OUTDATED), closed(3, None), closed(7, CloseCause.FAILED)]
    )
    ended = RequestsSeen(requests=(request(4),), merged=(1,), closed=causes)
    look(ended)
    look(replace(ended, merged=()))
    counted = {
        line.partition('event="')[2].partition('"')[0]: line.split()[-1]
        for line in telemetry.text().decode().splitlines()
        if line.startswith("tidegate_pipeline_requests_total{")
    }
    assert counted == {"opened": "3", "merged": "1", "outdated": "1", "declined": "1"}
