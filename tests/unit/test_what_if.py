"""What other labels result in: nothing where nothing changes, a line for each touched cluster."""

import random

import pytest

from tests.upgraded import world
from tidegate.kinds.upgrades.core.foresight.what_if import WhatIf, what_if
from tidegate.kinds.upgrades.core.labels.label_edit import (
    HolderChange,
    LabelEdit,
    LabelHolder,
    cluster_holders,
    org_holder,
)
from tidegate.kinds.upgrades.wire.modes import read_upgrades

NOTHING = WhatIf((), (), ())
FLEET = read_upgrades(
    world(
        {"name": "a", "labels": {"mutexes": "m"}},
        {"name": "b", "labels": {"mutexes": "m", "soak-days": "1"}},
        {"name": "c", "labels": {"soak-days": "2", "sector": "prod"}},
        labels={"sector-deps.prod": ""},
    )
).world
HOLDERS = {each.called: each for each in cluster_holders(FLEET).values()}


def changing(holder: LabelHolder, label: str, after: str | None) -> WhatIf:
    """What one label results in."""
    labels = next((e.labels for e in FLEET.clusters if e.subscribed_as == holder.id), {})
    edit = LabelEdit(label, labels.get(label), after)
    return what_if(FLEET, [HolderChange(holder, (edit,))], FLEET.now)


def touched(found: WhatIf) -> list[str]:
    """Who is heading elsewhere."""
    return sorted(each.name for each in found.shifts)


def test_no_change_has_no_effect() -> None:
    """Nothing is reported, found anew or gone."""
    assert what_if(FLEET, (), FLEET.now) == NOTHING


@pytest.mark.parametrize("seed", range(10))
def test_writing_what_is_there_has_no_effect(seed: int) -> None:
    """Any label of any cluster, written as it is."""
    lot = random.Random(seed)
    one = lot.choice(FLEET.clusters)
    label, value = lot.choice(sorted(one.labels.items()))
    assert changing(HOLDERS[one.name], label, value) == NOTHING


def test_what_waits_behind_a_change_is_touched_too() -> None:
    """Without its mutex the canary frees the next; its soak is another's, so both come sooner."""
    found = changing(HOLDERS["b"], "soak-days", "0")
    assert touched(found) == ["b", "c"]
    (b, c) = sorted(found.shifts, key=lambda each: each.name)
    for each in (b, c):
        assert each.before is not None
        assert each.after is not None
        assert each.before.done_at is not None
        assert each.after.done_at is not None
        assert each.after.done_at < each.before.done_at


def test_findings_that_appear_and_vanish_are_reported() -> None:
    """Taking the only canary away, and fixing what was found."""
    found = changing(HOLDERS["a"], "soak-days", "1")
    assert [each.code for each in found.appear] == ["no-canary"]
    gone = changing(HOLDERS["a"], "mutexes", None)
    assert [each.code for each in gone.appear] == ["lonely-mutex"]
    assert gone.vanish == ()


def test_a_cluster_without_labels_takes_no_part() -> None:
    """All labels of one taken away: it has no aim, and others do without it."""
    mine = next(each for each in FLEET.clusters if each.name == "c")
    edits = tuple(LabelEdit(label, value, None) for label, value in mine.labels.items())
    found = what_if(FLEET, [HolderChange(HOLDERS["c"], edits)], FLEET.now)
    assert touched(found) == ["c"]
    assert found.shifts[0].after is None


def test_a_label_of_the_organisation_touches_whom_it_is_for() -> None:
    """A limit of 0 closes a sector."""
    found = changing(org_holder(FLEET.orgs[0]), "sector-max-parallel-upgrades.prod", "0")
    assert touched(found) == ["c"]
    assert [each.code for each in found.appear] == ["sector-closed"]
