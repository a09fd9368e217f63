"""A decision of a moment ago, used again: what was made of it is what would be made anew."""

import dataclasses

import msgspec
import pytest

from tests.past.test_moments import every_entry, kept, then
from tidegate.engine.past.store import PastMoment
from tidegate.model.time import SECOND, Instant

KEPT = ("rollout-braked", "loop-6", "integrations-shards-3", "upgrades-strict", "upgrades-lived-2")


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_of_a_decision_is_what_would_be_made_again(name: str) -> None:
    """Of every kind: rows, cells, counts and lists, whether its worker moves it or not."""
    with kept(name) as archive:
        every, compared = every_entry(archive), 0
        for _, entry in every[:: max(1, len(every) // 12)]:
            for one in then(archive, PastMoment(entry.at)).all():
                _ = one.rows, one.cells, one.counts, one.holds, one.item, one.reached
                now = Instant(one.now + 40 * SECOND)
                leads = msgspec.structs.replace(one.worker, leader="w", acts=True, stale=False)
                for worker in (one.worker, leads):
                    later = one.later(now, worker)
                    anew = dataclasses.replace(one, now=now, worker=worker)
                    assert (later.view, later.rows) == (anew.view, anew.rows)
                    assert (later.cells, later.counts) == (anew.cells, anew.counts)
                    assert (later.item, later.holds) == (anew.item, anew.holds)
                    assert later.reached == anew.reached
                    compared += 1
        assert compared
