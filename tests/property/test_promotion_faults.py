"""The laws of promotions are shown able to fail: each finds the fault that is planted for it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.property.planted import assert_found
from tests.property.test_channel_laws import (
    test_nothing_is_promoted_before_its_publishers_evidence as nothing_early,
)
from tests.property.test_pipeline_requests import (
    test_culprits_are_found_by_halves as unbatching_ends,
)
from tests.property.test_pipeline_requests import (
    test_every_wanted_promotion_has_one_answer as none_is_lost,
)
from tests.property.test_pipeline_requests import (
    test_nothing_is_offered_that_an_open_request_holds as none_is_repeated,
)
from tests.property.test_promotion_revert import (
    test_a_promotion_and_its_revert_are_the_identity as revert_is_identity,
)
from tidegate.edit.edit import edit
from tidegate.edit.edits import Edited
from tidegate.kinds.promotions.core.channels import decide
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.requests import plan
from tidegate.kinds.promotions.core.requests.model import RequestAct
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.kinds.promotions.files import subscriber_edits
from tidegate.model.verdict import Verdict, verdict

chunks, opened = plan._chunks, plan._open


def unasked(*_: Any) -> tuple[()]:
    """No publisher is asked what it deployed."""
    return ()


def soaked(*_: Any) -> tuple[Verdict, ...]:
    """No soak is ever asked for."""
    return (verdict(ChannelReason.SoakNotAsked),)


def untidy(*args: Any) -> Edited:
    """An edit that leaves a byte behind."""
    made = edit(*args)
    return replace(made, data=made.data + b" ")


def lossy(promotions: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Batches without their last promotion."""
    return (each[:-1] for each in chunks(promotions, size) if len(each) > 1)


def repeating(promotions: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Every batch twice."""
    return (each for one in chunks(promotions, size) for each in (one, one))


def whole(suspects: dict[Any, list[Any]]) -> Iterator[RequestAct]:
    """A batch that failed is offered again as it is."""
    for batch, promotions in suspects.items():
        facts = len(promotions), len(batch.contents), f"!{batch.number}"
        yield opened(promotions, verdict(RequestReason.RequestHalved, *facts), batchable=False)


@pytest.mark.parametrize(
    "where, name, fault, law",
    [
        (decide, "evidence_verdicts", unasked, nothing_early),
        (decide, "soak_verdicts", soaked, nothing_early),
        (subscriber_edits, "edit", untidy, revert_is_identity),
        (plan, "_chunks", lossy, none_is_lost),
        (plan, "_chunks", repeating, none_is_repeated),
        (plan, "_halves", whole, unbatching_ends),
    ],
    ids=["evidence", "soak", "revert", "lost", "repeated", "unbatching"],
)
def test_a_planted_fault_is_found(
    where: Any, name: str, fault: Any, law: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each law fails once the rule that it is about is broken."""
    monkeypatch.setattr(where, name, fault)
    assert_found(law, monkeypatch)
