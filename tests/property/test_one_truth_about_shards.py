"""Law: `why`, `show` and `when` have the same dates for a target of a rollout, or a bound of them.

Rollouts from a seed, with groups, slots, soak and deadlines, lived through for some rounds. Where
an answer looks less far than `when`, it says "not before", and `when` has nothing earlier. What a
gate says of time, for sure or as an estimate, is not later than what `when` says.
"""

import asyncio
import random
from typing import Any

import pytest

from tests.engine.stage import PARTITION, Process, Tripwire, set_up
from tests.sim import sized
from tidegate.app.documents import RolloutDates, RolloutDetails, TargetDates, TargetDetails
from tidegate.app.partitions.journals import Journals
from tidegate.app.rollouts import rollout_details, why
from tidegate.app.when import when
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.app import dates as dates_module
from tidegate.model.time import SECOND, Instant
from tidegate.wiring import open_store

# Four rollouts reach every branch that the first 40 reach; fresh ones are beside them.
SEEDS = sorted({2, 1, 26, 22, *range(sized(8, 10, 400))})


def scenario(seed: int) -> dict[str, Any]:
    """Shards in two or three groups, as a rollout of images has them."""
    lot = random.Random(seed)
    sizes = [lot.randint(1, 4) for _ in range(lot.randint(2, 3))]
    groups = [
        {"name": f"g{at}", "clusters": [f"s{at}{each}" for each in range(size)]}
        for at, size in enumerate(sizes)
    ]
    kind, key = lot.choice(
        (("ProgressivePerGroup", "progressivePerGroup"), ("Progressive", "progressive"))
    )
    rules: dict[str, Any] = {
        "minSuccessTime": lot.choice(("0s", "5m", "1h")),
        "progressDeadline": lot.choice(("15m", "1h", "2h")),
    }
    if kind == "Progressive" or lot.random() < 0.4:
        rules["maxConcurrency"] = lot.choice((1, 2, "50%"))
    found: dict[str, Any] = {
        "revision": "v2",
        "lastGood": "v1",
        "groups": groups,
        "strategy": {"type": kind, key: rules},
        "fleet": {"applyTime": lot.choice(("2m", "10m"))},
    }
    return found


def lived(seed: int) -> Journals:
    """The journal of a rollout after some rounds."""
    lot = random.Random(seed)
    store = open_store("memory:")
    stage = set_up(store, Tripwire(), scenario(seed))
    process = Process(stage)
    for _ in range(lot.randint(1, 6)):
        asyncio.run(process.round())
        stage.clock.at = Instant(stage.clock.at + lot.choice((1, 4, 11)) * 60 * SECOND)
    asyncio.run(process.round())
    return Journals(store, rules_of, stage.clock.at)


def agree(found: TargetDates | None, said: TargetDates) -> str:
    """An answer and `when` about one target; which of the two it is."""
    assert found is not None
    if found.not_before is None:
        assert found == said
        return "date"
    for one, other in ((found.starts_at, said.starts_at), (found.done_at, said.done_at)):
        assert one in (None, other)
        if one is None and other is not None:
            assert other >= found.not_before
    return "bound"


def check(journals: Journals) -> list[str]:
    """Every answer about a rollout, held against `when`."""
    dates = when(journals, PARTITION)
    assert isinstance(dates, RolloutDates)
    said = {each.target: each for each in dates.items}
    whole, shown = why(journals, PARTITION), rollout_details(journals, PARTITION)
    assert isinstance(whole, RolloutDetails)
    met = []
    for answer in (whole, shown):
        for each in answer.targets:
            met.append(agree(each.expected, said[each.name]))
            if each.state == "Waiting" and each.expected and each.expected.starts_at:
                assert not each.until or each.until <= each.expected.starts_at
    for name, dates_of in said.items():
        one = why(journals, PARTITION, name)
        assert isinstance(one, TargetDetails)
        row = one.target
        met.append(agree(row.expected, dates_of))
        if row.state == "Waiting" and row.expected and row.expected.starts_at:
            untils = [each.until for way in row.options for each in way.verdicts]
            assert max(untils, default="") <= row.expected.starts_at
    return met


def test_all_answers_have_one_date() -> None:
    """Of every target, in every state of its rollout."""
    met = [one for seed in SEEDS for one in check(lived(seed))]
    assert set(met) == {"date"}


def test_an_answer_that_looks_less_far_says_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no steps allowed, bounds take the place of dates, and none is contradicted."""
    monkeypatch.setattr(dates_module, "BRIEF_WORK", 8)
    met = [one for seed in SEEDS for one in check(lived(seed))]
    assert set(met) == {"date", "bound"}
